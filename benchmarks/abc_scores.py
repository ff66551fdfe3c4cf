"""How well each of ABC's scores tells planted groups apart, on real data.

All clients train in every round (FedAvg); at some rounds their drifts are scored. Printed: the adjusted Rand index of
k-means on the scores in one dimension, which is told the number of groups, mean and least of the seeds; `groups` have
labels of their own, and `clear groups` may be one. The truth is read here, to judge, and by nothing else.
FEDCLADE_DATA must hold MNIST and Fashion-MNIST.

    fedclade attention train mnist --out mnist.safetensors
    python benchmarks/abc_scores.py --network attention=mnist.safetensors [--clients 10] [--steps 5] [--at 1,51,101]
"""

import argparse
from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from fedclade.clustering.group_number import adjusted_rand
from fedclade.core import ClientId, LocalTraining, Row, Rows
from fedclade.core.training import SGD
from fedclade.data import Federation
from fedclade.data.registry import source_named
from fedclade.methods.abc import attention, cosine_attention
from fedclade.methods.abc.drifts import cosine_scores, drift_groups, principal_scores
from fedclade.nets import net_for
from fedclade.nets.attention_files import open_attention
from fedclade_papers.attention_training.drift_recording import DriftRun, reference_of, run_with_server
from fedclade_papers.worlds.dominant import Dominant

Scorer = Callable[[Rows], NDArray[np.float64]]


def in_groups(clients: tuple[ClientId, ...], scores: NDArray[np.float64], count: int) -> dict[ClientId, int]:
    """k-means in one dimension."""
    labels = KMeans(min(count, len(np.unique(scores))), n_init=10, random_state=0).fit_predict(scores[:, None])
    return dict(zip(clients, labels.tolist(), strict=True))


def rand_indices(federation: Federation, drifts: Rows, scorers: dict[str, Scorer]) -> dict[str, float]:
    """The adjusted Rand index of every score."""
    assert federation.truth is not None
    truth, clients = federation.truth.labels, federation.clients
    found = {
        name: adjusted_rand(in_groups(clients, scorer(drifts), len(federation.truth)), truth)
        for name, scorer in scorers.items()
    }
    found["groups"] = adjusted_rand(drift_groups(clients, drifts, sure=False).labels, truth)
    found["clear groups"] = adjusted_rand(drift_groups(clients, drifts).labels, truth)
    return found


def score_rounds(
    run: DriftRun, federation: Federation, rounds: list[int], scorers: dict[str, Scorer]
) -> dict[int, dict[str, float]]:
    """How every score does in these rounds of a run."""
    found: dict[int, dict[str, float]] = {}

    def keep(number: int, drifts: Rows, _: Row) -> None:
        if number in rounds:
            found[number] = rand_indices(federation, drifts, scorers)

    run(keep=keep)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", default="mnist,fashion-mnist")
    parser.add_argument("--mixes", default="2C-1,2C-2,5C")
    parser.add_argument(
        "--network", action="append", default=[], help="a scorer more: name=file, of the kind attention"
    )
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--from", type=int, default=200, dest="first")
    parser.add_argument("--at", default="1,51,101", help="rounds")
    asked = parser.parse_args()
    rounds = [int(each) for each in asked.at.split(",")]
    files = dict(each.split("=") for each in asked.network)
    scorers: dict[str, Scorer] = {
        name: partial(attention.scores, open_attention(file, "attention").weights) for name, file in files.items()
    }
    temperature = float(open_attention("attention+").weights[0])
    scorers |= {"attention+": partial(cosine_attention.scores, temperature)}
    scorers |= {"pca": principal_scores, "cosine": cosine_scores}
    local = LocalTraining(steps=asked.steps, batch=10, lr=0.01, optimizer=SGD(momentum=0.9))
    for name in asked.sources.split(","):
        source = source_named(name).load()
        for mix in asked.mixes.split(","):
            begin, lines = perf_counter(), []
            for seed in range(asked.first, asked.first + asked.seeds):
                federation = Dominant(clients=asked.clients, mix=mix).spread(source, seed)
                net = net_for("abc_cnn", federation.shape, federation.classes, {"start": "he"})
                reference = reference_of(source, federation, 1000, seed)
                run = partial(run_with_server, federation, reference, net, local=local, rounds=max(rounds), seed=seed)
                lines.append(score_rounds(run, federation, rounds, scorers))
            for number in rounds:
                some = [found[number] for found in lines]
                means = {each: np.mean([found[each] for found in some]) for each in some[0]}
                least = {each: min(found[each] for found in some) for each in some[0]}
                summary = "; ".join(f"{each} {means[each]:.2f} ({least[each]:.2f})" for each in means)
                print(
                    f"{name}, {mix}, {asked.clients} clients, {asked.steps} steps, round {number}: {summary}",
                    flush=True,
                )
            print(f"= {perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
