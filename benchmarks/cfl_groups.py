"""Whether CFL splits where it should, does not where it should not, and what that is worth: on real data.

FEDCLADE_DATA must hold MNIST and CIFAR-10. The truth is read here, to judge, and by nothing else.

    python benchmarks/cfl_groups.py [--worlds swap,...] [--nets mlp,...] [--seeds 5] [--from 100] [--set validation=0.1]
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np

import fedclade as fc
from fedclade.store.events import RoundEvent

WORLDS: dict[str, dict[str, object]] = {
    "swap": {"source": "mnist", "world": "label-swap", "clients": 20, "groups": 4},
    "permutation": {"source": "mnist", "world": "label-permutation", "clients": 20, "groups": 4},
    "iid": {"source": "mnist", "world": "iid", "clients": 20},
    "congruent": {"source": "mnist", "world": "congruent", "clients": 20},
    "cifar": {"source": "cifar10", "world": "label-permutation", "clients": 12, "groups": 4},
}
NETS: dict[str, tuple[str, dict[str, object]]] = {
    "mlp": ("mlp", {}),
    "mlp32": ("mlp", {"hidden": 32, "dropout": 0.0}),
    "cnn": ("abc_cnn", {}),
    "lenet": ("lenet", {}),
    "cfl_cnn": ("cfl_cnn", {}),
}


def cut(federation: fc.Federation, examples: int) -> fc.Federation:
    """Everybody with so many training examples at the most."""
    data = {
        client: replace(held, train=replace(held.train, index=held.train.index[:examples]))
        for client, held in federation.data.items()
    }
    return replace(federation, data=data)


def by_client(run: fc.Run) -> dict[str, float]:
    """The accuracy of every client after the last round."""
    table = run.folder.clients()
    last = max(table["round"].to_pylist())
    rows = zip(table["round"].to_pylist(), table["client"].to_pylist(), table["accuracy"].to_pylist(), strict=True)
    return {client: accuracy for number, client, accuracy in rows if number == last and accuracy is not None}


def worst_difference(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """How many points the client that fares worst has more, or fewer, by the one than by the other."""
    return round(100 * min(one[client] - other[client] for client in one), 1)


def share_placed_right(run: fc.Run, federation: fc.Federation) -> float:
    """The share of those who came late that are with those of their own planted group."""
    assert federation.truth is not None
    truth, right = federation.truth.labels, 0
    for members in run.groups.members:
        there = [truth[client] for client in members if client not in federation.joins]
        usual = max(set(there), key=there.count) if there else -1
        right += sum(truth[client] == usual for client in members if client in federation.joins)
    return right / len(federation.joins)


def evaluate_world(world: str, net: str, seed: int, asked: argparse.Namespace) -> dict[str, object]:
    """One world: what CFL makes of it, beside FedAvg."""
    made = dict(WORLDS[world])
    if asked.late:  # as many again, who come ten rounds before the end
        made |= {"clients": 40, "newcomers": {"share": 0.5, "rounds": [asked.rounds - 10]}}
    federation = cut(fc.data.build(seed=seed, **made), asked.examples)  # type: ignore[arg-type]  # as they are
    name, settings = NETS[net]
    changes: Mapping[str, object] = dict(each.split("=") for each in asked.set)
    method = fc.CFL(**{key: number(str(value)) for key, value in changes.items()})  # type: ignore[arg-type]  # checked there
    begin = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, object] = {}
        runs = {}
        methods: dict[str, fc.CFL | fc.FedAvg] = {"cfl": method}
        if not asked.alone:
            methods["fedavg"] = fc.FedAvg()
        if not asked.alone and method.validation:  # no norm is under 0: never split, and the same examples kept aside
            methods["same examples"] = fc.CFL(rule="absolute", validation=method.validation)
        for label, one in methods.items():
            runs[label] = fc.train(
                federation,
                one,
                net=name,
                net_settings=settings,
                rounds=asked.rounds,
                participation=asked.participation,
                epochs=3,
                batch=asked.batch,
                lr=asked.lr,
                seed=seed,
                workers=asked.workers,
                evaluate_every=asked.rounds,
                out=f"{folder}/{label}",
            )
        run = runs["cfl"]
        facts = [(event.round, event.facts) for event in run.folder.events(RoundEvent)]
        found["right"] = run.groups == federation.truth
        found["groups"] = len(run.groups)
        found["splits"] = [number for number, round_facts in facts for _ in round_facts["splits"]]
        found["undone"] = [number for number, round_facts in facts for _ in round_facts.get("undone", ())]
        if asked.late:
            found["newcomers placed right"] = share_placed_right(run, federation)
        found["cfl"] = round(100 * run.accuracy, 1)
        if "fedavg" in runs:
            one, other = by_client(run), by_client(runs["fedavg"])
            found["fedavg"] = round(100 * runs["fedavg"].accuracy, 1)
            found["worst client"] = worst_difference(one, other)
            if "same examples" in runs:
                found["worst client, of the same examples"] = worst_difference(one, by_client(runs["same examples"]))
        if asked.signs:
            for at, round_facts in facts:
                print(
                    at,
                    [
                        {k: round(v, 3) if isinstance(v, float) else v for k, v in each.items()}
                        for each in round_facts["clusters"]
                    ],
                )
    found["seconds"] = round(perf_counter() - begin)
    return found


def number(text: str) -> object:
    """A setting of the method, from the command line."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", default="swap,permutation,iid,congruent")
    parser.add_argument("--nets", default="mlp,cnn")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--from", type=int, default=100, dest="first")
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--participation", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=100, help="the paper's; it has 3 epochs too")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a setting of CFL: name=value")
    parser.add_argument("--late", action="store_true", help="20 clients more, who come when the others are done")
    parser.add_argument("--alone", action="store_true", help="without FedAvg beside it")
    parser.add_argument("--signs", action="store_true", help="print what every cluster showed in every round")
    asked = parser.parse_args()
    for world in asked.worlds.split(","):
        for net in asked.nets.split(","):
            lines = []
            for seed in range(asked.first, asked.first + asked.seeds):
                lines.append(evaluate_world(world, net, seed, asked))
                print(world, net, seed, *(f"{name} {value}" for name, value in lines[-1].items()), sep="; ", flush=True)
            right = sum(bool(line["right"]) for line in lines)
            means = {
                name: round(float(np.mean([line[name] for line in lines])), 1)
                for name in ("cfl", "fedavg")
                if name in lines[0]
            }
            print(f"= {world}, {net}: {right} of {len(lines)} right; {means}", flush=True)


if __name__ == "__main__":
    main()
