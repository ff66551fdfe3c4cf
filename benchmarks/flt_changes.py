"""What FLT does when clients come late, change, lie or hold the data of two groups: on real data.

FEDCLADE_DATA must hold MNIST and EMNIST. The truth is read here, to judge, and by nothing else.

    python benchmarks/flt_changes.py newcomers|strangers|drift|watching|liars|both --seeds 10 --from 100 [--worlds S1]
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from flt_groups import WORLDS, agreement

import fedclade as fc
from fedclade.core import ClientId, LocalTraining, Round
from fedclade.data import ClientData, Federation, Part, Pool
from fedclade.fleet import Reply
from fedclade.fleet.simulated import Wire, pass_through, simulated_fleet
from fedclade.methods.flt.state import FLTState
from fedclade.nets import net_for

LOCAL = LocalTraining(lr=0.05)
DEFAULT_WORLDS = {"liars": "S1,ROT", "drift": "S1,ROT,PERM", "watching": "S1,ROT,PERM", "both": "S1,S2,ROT,PERM"}


def world(name: str, seed: int, **changes: object) -> Federation:
    return fc.data.build(seed=seed, **WORLDS[name], **changes)  # type: ignore[arg-type]  # each of the right type


def play_rounds(
    method: fc.FLT,
    federation: Federation,
    seed: int,
    rounds: int,
    participation: float = 0.2,
    wire: Wire = pass_through,
) -> Iterator[tuple[FLTState, Mapping[str, Any]]]:
    """State and facts after every round, from round 0 on. Newcomers are placed when they come."""
    net = net_for("logistic", federation.shape, federation.classes)
    with simulated_fleet(federation, net, wire=wire, workers=0) as fleet:
        state = method.start(fleet, partial(net.initial_row, seed), Round(0, seed))[0]
        yield state, {}
        for number in range(1, rounds + 1):
            now = Round(number, seed, participation, LOCAL)
            fleet.begin(number)
            late = tuple(client for client in fleet.clients() if client not in state.models.row_by_client)
            state = method.place(state, late, fleet, now)[0] if late else state
            state, facts = method.round(state, fleet, now)
            yield state, facts


def newcomers(name: str, seed: int, origin: str = "known") -> dict[str, object]:
    """A fifth of the clients, or a whole group, come in round 1: whose group is each placed in, by one message?"""
    federation = world(name, seed, newcomers={"rounds": (1,), "origin": origin})
    (before, _), (after, _) = play_rounds(fc.FLT(), federation, seed, 1, 0.01)
    assert federation.truth is not None
    truth, late = federation.truth.labels, sorted(federation.joins)
    of_group: dict[int, set[int]] = {}
    for client, group in before.group_by_client.items():
        of_group.setdefault(group, set()).add(truth[client])
    right = [
        of_group.get(after.group_by_client[client]) == ({truth[client]} if origin == "known" else None)
        for client in late
    ]
    return {"newcomers": len(late), "right": sum(right), "ari": round(agreement(after.group_by_client, truth), 4)}


def drift(name: str, seed: int, settings: Mapping[str, object]) -> dict[str, object]:
    """A tenth of the clients change group at round 10: who is where after the first clustering that follows?"""
    federation = world(name, seed, drift={"round": 10, "share": 0.1})
    before: FLTState | None = None
    looked = 0
    number = -1
    for state, facts in play_rounds(fc.FLT(**settings), federation, seed, 40):  # type: ignore[arg-type]  # of the right type
        number += 1
        looked += facts.get("looked", 0)
        if facts.get("clustered_again"):
            break
        before = state
    else:
        return {"round": None}
    truth = federation.truth_at(number)
    assert truth is not None
    assert before is not None
    changed = set(federation.changes[0].data)
    majority = majorities(state.group_by_client, truth.labels)
    at_home = {client: majority[group] == truth.labels[client] for client, group in state.group_by_client.items()}
    others = [client for client in federation.clients if client not in changed]
    renamed = majorities(state.group_by_client, before.group_by_client, others)
    moved = [client for client in others if renamed[state.group_by_client[client]] != before.group_by_client[client]]
    return {
        "round": number,
        "changed": len(changed),
        "in their new group": sum(at_home[client] for client in changed),
        "others that moved": len(moved),
        "looked at": looked,
    }


def majorities(
    group: Mapping[ClientId, int], labels: Mapping[ClientId, int], among: list[ClientId] | None = None
) -> dict[int, int]:
    """For each group, the label that most of its clients have."""
    found = {}
    for each in set(group.values()):
        own = [labels[client] for client in (among or group) if group[client] == each]
        found[each] = int(np.bincount(own).argmax()) if own else -1
    return found


def liars(name: str, seed: int) -> dict[str, object]:
    """A fifth of the clients always say that their data changed; groups are found again when one really has."""
    federation = world(name, seed)
    lying = set(np.random.default_rng(seed).choice(federation.clients, len(federation) // 5, replace=False).tolist())

    def wire(replies: Iterator[Reply]) -> Iterator[Reply]:
        for reply in replies:
            liar = reply.verb == "changed" and reply.client in lying
            yield replace(reply, arrays={"changed": np.array(True)}) if liar else reply

    facts_by_round = [facts for _, facts in play_rounds(fc.FLT(flags=1), federation, seed, 30, 0.5, wire)][1:]
    return {
        "flags": sum(facts["flags"] for facts in facts_by_round),
        "clustered again": sum(facts["clustered_again"] for facts in facts_by_round),
    }


def both(name: str, seed: int) -> dict[str, object]:
    """One client more, with all examples of two clients from two groups: are the others' groups as planted?"""
    federation = world(name, seed)
    assert federation.truth is not None
    one, other = (federation[members[0]] for members in federation.truth.members[:2])
    inputs = np.concatenate([one.train.inputs, other.train.inputs])
    pool = Pool(inputs, np.concatenate([one.train.labels, other.train.labels]))
    held = ClientData(Part(pool, np.arange(len(inputs))), one.test)
    wider = fc.Federation("wider", {**federation.data, "x-both": held}, federation.classes)
    found = fc.find_groups(wider)
    return {"ari": round(agreement(found.partition.labels, federation.truth.labels), 4), "groups": found.count}


BENCHMARKS: dict[str, Callable[[str, int], dict[str, object]]] = {
    "newcomers": newcomers,
    "strangers": partial(newcomers, origin="new"),
    "drift": partial(drift, settings={"flags": 2}),
    "watching": partial(drift, settings={"watch_updates": True}),
    "liars": liars,
    "both": both,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=BENCHMARKS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from", type=int, default=100, dest="first")
    parser.add_argument("--worlds")
    asked = parser.parse_args()
    for name in (asked.worlds or DEFAULT_WORLDS.get(asked.what, "S1,S2,ROT,PERM")).split(","):
        lines = [BENCHMARKS[asked.what](name, seed) for seed in range(asked.first, asked.first + asked.seeds)]
        columns = {key: [line.get(key) for line in lines] for key in lines[0]}
        print(asked.what, name, *(f"{key} {values}" for key, values in columns.items()), sep="; ", flush=True)


if __name__ == "__main__":
    main()
