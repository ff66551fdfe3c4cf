"""Time and memory of FLT's one-shot step on the server, for many clients: drawn moments of planted groups.

python benchmarks/flt_scale.py 10000
"""

import resource
import sys
from time import perf_counter

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fedclade.nouns import Moments
from fedclade.relate.discovery import discover

LABELS, FEATURES, GROUPS, EXAMPLES = 47, 32, 10, 40


def drawn(clients: int, seed: int = 0) -> tuple[Moments, np.ndarray]:
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
        told = own[counts[client, own] > 0]
        each = counts[client, told]
        means[client, told] = centres[told] + rng.normal(size=(len(told), FEATURES)) / np.sqrt(each)[:, None]
        variances[client, told] = np.where(each > 1, FEATURES / each, 0)
    return Moments(tuple(f"c{number:06}" for number in range(clients)), counts, means, variances), group


def main() -> None:
    clients = int(sys.argv[1])
    landmarks = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    moments, group = drawn(clients)
    begin = perf_counter()
    found = discover(moments, landmarks=landmarks)
    seconds = perf_counter() - begin
    labels = found.partition.labels
    agreed = adjusted_rand_score(group, [labels[client] for client in moments.clients])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{clients} clients, {seconds:.1f} s, {memory:.2f} GB, {found.count} groups, ARI {agreed:.4f}")


if __name__ == "__main__":
    main()
