"""Time and memory of FLT's one-shot step on the server, for many clients.

python benchmarks/flt_scale.py 100000                       drawn moments of planted groups
python benchmarks/flt_scale.py 5000 --landmarks 1000 --exact      beside what all distances give
python benchmarks/flt_scale.py 5000 --landmarks 1000 --exact --world S1    real images, a world of flt_groups.py
"""

import argparse
import resource
from time import perf_counter, process_time

import numpy as np
from flt_groups import WORLDS
from sklearn.metrics import adjusted_rand_score

import fedclade as fc
from fedclade.client.moments import moments
from fedclade.core import Moments
from fedclade.methods.flt.class_moments import groups_of_moments, moment_places
from fedclade.methods.flt.found_groups import MAX_COMPARED, GroupSearch

LABELS, FEATURES, GROUPS, EXAMPLES = 47, 32, 10, 40


def draw_moments(clients: int, seed: int = 0) -> tuple[Moments, np.ndarray]:
    """Clients in ten groups of five labels each, as in FLT's scenario 4."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(LABELS, FEATURES)) * 2
    group = rng.integers(GROUPS, size=clients)
    counts = np.zeros((clients, LABELS), np.int64)
    means = np.zeros((clients, LABELS, FEATURES), np.float32)
    variances = np.zeros((clients, LABELS), np.float32)
    for client in range(clients):
        own = np.arange(5 * group[client], min(5 * group[client] + 5, LABELS))
        counts[client, own] = rng.multinomial(EXAMPLES, np.full(len(own), 1 / len(own)))
        summaries = own[counts[client, own] > 0]
        each = counts[client, summaries]
        means[client, summaries] = (
            centres[summaries] + rng.normal(size=(len(summaries), FEATURES)) / np.sqrt(each)[:, None]
        )
        variances[client, summaries] = np.where(each > 1, FEATURES / each, 0)
    return Moments(tuple(f"c{number:06}" for number in range(clients)), counts, means, variances), group


def real_moments(world: str, clients: int, seed: int = 0) -> tuple[Moments, np.ndarray]:
    """So many clients with real images, a few for each of them."""
    world_of = WORLDS[world] | {"clients": clients}
    federation = fc.data.build(seed=seed, **world_of)  # type: ignore[arg-type]  # settings, by their names
    sizes = [len(federation[client].train) for client in federation.clients]
    print(f"{np.median(sizes):.0f} examples with a usual client, {min(sizes)} with the smallest")
    begin = perf_counter()
    summaries = [moments(federation[client].train, "public", federation.classes, 1) for client in federation.clients]
    print(f"sketches of {clients} clients: {perf_counter() - begin:.1f} s")
    assert federation.truth is not None
    truth = federation.truth.labels
    found = Moments(federation.clients, *(np.array(each) for each in zip(*summaries, strict=True)))
    return found, np.array([truth[client] for client in federation.clients])


def time_discovery(summaries: Moments, group: np.ndarray, landmarks: int) -> np.ndarray:
    """What is found, as labels in the order of the clients; and how it went."""
    begin, begun = perf_counter(), process_time()
    found = groups_of_moments(summaries, GroupSearch(max_compared=landmarks))
    moment_places(found.distance, summaries, found.partition.members)  # where newcomers will be placed
    seconds, worked = perf_counter() - begin, process_time() - begun
    of_client = found.partition.labels
    labels = np.array([of_client[client] for client in summaries.clients])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{len(labels)} clients, {min(landmarks, len(labels))} compared: {seconds:.1f} s (CPU {worked:.1f}),"
        f" {memory:.2f} GB so far, {found.count} groups, {len(found.outliers)} outliers,"
        f" ARI {adjusted_rand_score(group, labels):.4f}",
        flush=True,
    )
    return labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", type=int)
    parser.add_argument("--landmarks", type=int, default=MAX_COMPARED)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--world", choices=WORLDS)
    asked = parser.parse_args()
    summaries, group = (
        real_moments(asked.world, asked.clients, asked.seed) if asked.world else draw_moments(asked.clients, asked.seed)
    )
    labels = time_discovery(summaries, group, asked.landmarks)
    if asked.exact:
        print(f"ARI of both {adjusted_rand_score(labels, time_discovery(summaries, group, asked.clients)):.4f}")


if __name__ == "__main__":
    main()
