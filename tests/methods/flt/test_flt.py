"""FLT: its two cases against what they must equal, who comes late, and what changes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import fedclade as fc
from fedclade.core import ClientId, Groups, InputError
from fedclade.data import ClientData, Federation
from fedclade.store.events import EventFacts, RoundEvent, StartEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import Interrupted, play_run
from fedclade.wire import Reply
from methods.fleets import fleet_of, now


def models_of(method: object, federation: Federation, path: Path, **settings: object) -> dict[ClientId, list[float]]:
    _, models = play_run(method, federation, path, **settings)  # type: ignore[arg-type]  # any method, any setting
    return {client: models.row_of(client).tolist() for client in models.clients}


def apart(one: dict[ClientId, list[float]], other: dict[ClientId, list[float]]) -> float:
    assert one.keys() == other.keys()
    return max(float(np.abs(np.subtract(one[client], other[client])).max()) for client in one)


def facts_of(path: Path) -> list[EventFacts]:
    return [event.facts for event in RunFolder.open(path).events(RoundEvent)]


@pytest.mark.parametrize("absent", ["participants", "stale"])
def test_case_one_with_everybody_related_is_fedavg(absent: str, two_groups: Federation, tmp_path: Path) -> None:
    method = fc.FLT(case="graph", gamma=1e6, absent=absent)  # type: ignore[arg-type]  # one of two
    averaged = fc.FedAvg(absent=absent)  # type: ignore[arg-type]  # one of two
    flt = models_of(method, two_groups, tmp_path / "flt")
    assert apart(flt, models_of(averaged, two_groups, tmp_path / "fedavg")) < 1e-6


def test_case_one_with_nobody_related_is_local(alike: Federation, tmp_path: Path) -> None:
    """Clients of one group, whom only a tiny gamma keeps apart."""
    method = fc.FLT(signature=fc.Encoder(), case="graph", gamma=1e-3)
    assert fc.find_groups(alike, method).count == 1
    flt = models_of(method, alike, tmp_path / "flt")
    assert apart(flt, models_of(fc.Local(), alike, tmp_path / "local")) < 1e-6


def test_one_group_is_fedavg(alike: Federation, tmp_path: Path) -> None:
    averaged = models_of(fc.FedAvg(), alike, tmp_path / "fedavg")
    for case in ("groups", "graph"):
        assert apart(models_of(fc.FLT(case=case), alike, tmp_path / case), averaged) < 1e-6


def test_case_two_is_fedavg_inside_each_group(two_groups: Federation, tmp_path: Path) -> None:
    assert two_groups.truth is not None
    together = models_of(fc.FLT(), two_groups, tmp_path / "flt", participation=1.0)
    for number, members in enumerate(two_groups.truth.members):
        inside = replace(two_groups, data={each: two_groups[each] for each in members}, truth=None)
        alone = models_of(fc.FedAvg(), inside, tmp_path / str(number), participation=1.0)
        assert apart({client: together[client] for client in members}, alone) < 1e-6


def test_members_of_a_group_share_every_bit(two_groups: Federation, tmp_path: Path) -> None:
    """Published FLT averages in place: members end with different models."""
    for case in ("groups", "graph"):
        _, models = play_run(fc.FLT(case=case), two_groups, tmp_path / case)
        assert models.groups() == two_groups.truth


def test_the_start_tells_what_was_found(two_groups: Federation, tmp_path: Path) -> None:
    play_run(fc.FLT(case="graph"), two_groups, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    discovery = folder.facts(next(folder.events(StartEvent)))["discovery"]
    assert isinstance(discovery, dict)
    assert discovery["count"] == 2
    assert discovery["squared"].shape == discovery["weights"].shape == (6, 6)
    assert discovery["tree"].shape == (5, 4)
    assert all("discovery" not in each for each in facts_of(tmp_path / "run"))
    first_line = (tmp_path / "run" / "events.jsonl").read_text().partition("\n")[0]
    assert len(first_line) < 2_000  # bytes: arrays stand beside the events


def test_a_discovery_is_no_part_of_what_is_remembered(tmp_path: Path) -> None:
    """Of 60 clients, all squared distances take 60 x 60 x 4 bytes; a checkpoint has none of them."""
    federation = fc.data.build(source="digits", world="label-permutation", clients=60, groups=2)
    play_run(fc.FLT(), federation, tmp_path / "run", rounds=1)
    state = (tmp_path / "run" / "checkpoint" / "round-00000" / "state.safetensors").read_bytes()
    assert b"squared" not in state
    assert (tmp_path / "run" / "arrays" / "00000-start.safetensors").stat().st_size > 60 * 60 * 4


def test_soft_relatedness_leaves_everybody_a_model_of_its_own(two_groups: Federation, tmp_path: Path) -> None:
    _, models = play_run(fc.FLT(case="soft-graph"), two_groups, tmp_path / "run", rounds=6, participation=1.0)
    assert len({models.row_of(client).tobytes() for client in models.clients}) == len(two_groups)
    rows = models.rows[[models.row_by_client[client] for client in models.clients]].astype(np.float64)
    assert two_groups.truth is not None
    labels = np.array([two_groups.truth.labels[client] for client in models.clients])
    distance = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    same = np.equal.outer(labels, labels) & ~np.eye(len(labels), dtype=bool)
    assert distance[same].max() < distance[~np.equal.outer(labels, labels)].min()


def test_who_is_away_at_first_is_placed_when_it_comes(two_groups: Federation, tmp_path: Path) -> None:
    """Nothing of client-03 arrives before round 2."""

    def late(replies: Iterator[Reply]) -> Iterator[Reply]:
        return (reply for reply in replies if reply.client != "client-03" or reply.round >= 2)

    _, models = play_run(fc.FLT(), two_groups, tmp_path / "run", wire=late, participation=1.0)
    assert models.groups() == two_groups.truth


def test_nobody_answers_at_first(two_groups: Federation, tmp_path: Path) -> None:
    def late(replies: Iterator[Reply]) -> Iterator[Reply]:
        return (reply for reply in replies if reply.round)

    _, models = play_run(fc.FLT(), two_groups, tmp_path / "run", wire=late, participation=1.0)
    assert models.groups() == two_groups.truth


@pytest.mark.parametrize("case", ["groups", "graph"])
def test_newcomers_join_their_group(case: str, tmp_path: Path) -> None:
    federation = fc.data.build(
        source="digits", world="rotation", clients=16, groups=4, newcomers={"rounds": (2, 3), "share": 0.25}
    )
    _, models = play_run(fc.FLT(case=case), federation, tmp_path / "run")  # type: ignore[arg-type]  # one of two
    assert models.groups() == federation.truth


@pytest.mark.parametrize("case", ["groups", "graph"])
def test_a_group_that_nobody_has_met_begins_a_new_one(case: str, tmp_path: Path) -> None:
    federation = fc.data.build(
        source="digits", world="rotation", clients=16, groups=4, newcomers={"rounds": (2,), "origin": "new"}
    )
    _, models = play_run(fc.FLT(case=case), federation, tmp_path / "own")  # type: ignore[arg-type]  # one of two
    assert models.groups() == federation.truth
    method = fc.FLT(case=case, outlying_newcomers="global", tau=50)  # type: ignore[arg-type]  # one of two
    _, models = play_run(method, federation, tmp_path / "global")
    outliers = sorted(federation.joins)
    others = [client for client in federation.clients if client not in outliers]
    assert all((client,) in models.groups().members for client in outliers), (
        "clients that share an untrained model are no group"
    )
    mean = np.mean([models.row_of(client) for client in others], axis=0)
    np.testing.assert_allclose(models.row_of(outliers[0]), mean, rtol=0, atol=1e-5)


@pytest.mark.parametrize("settings", [{"outlying_newcomers": "global"}, {"reclustering": "paper"}])
def test_newcomers_of_a_new_kind_do_not_stay_untrained(settings: dict[str, object], tmp_path: Path) -> None:
    """They have the model of all until groups are found again, with them; then they train."""
    federation = fc.data.build(
        source="digits", world="rotation", clients=16, groups=4, newcomers={"rounds": (2,), "origin": "new"}
    )
    method = fc.FLT(tau=12, **settings)  # type: ignore[arg-type]  # of the right types
    waits, _ = play_run(method, federation, tmp_path / "waits", rounds=11)
    verdict, models = play_run(method, federation, tmp_path / "run", rounds=16)
    assert (models.groups(), verdict["ari"]) == (federation.truth, 1.0)
    assert waits["ari"] < 1.0  # type: ignore[operator]  # a number
    trained = pq.read_table(tmp_path / "run" / "clients.parquet").to_pylist()
    rounds = {line["round"] for line in trained if line["client"] in federation.joins and line["took_part"]}
    assert rounds == {13, 14, 15, 16}


@pytest.mark.parametrize("reclustering", ["checked", "paper"])
def test_silent_clients_are_no_group(reclustering: str, two_groups: Federation, tmp_path: Path) -> None:
    """Two clients that miss the first question train as soon as they answer; until then each is alone."""
    late = {"client-00", "client-01"}

    def wire(replies: Iterator[Reply]) -> Iterator[Reply]:
        return (reply for reply in replies if reply.client not in late or reply.round > 2)

    method = fc.FLT(tau=50, reclustering=reclustering)  # type: ignore[arg-type]  # one of two
    first, _ = play_run(method, two_groups, tmp_path / "first", rounds=2, wire=wire)
    assert [sorted(late)[:1], sorted(late)[1:]] == [each for each in first["groups"] if set(each) & late]  # type: ignore[attr-defined]  # a list
    later, _ = play_run(method, two_groups, tmp_path / "later", rounds=4, wire=wire)
    assert later["ari"] == 1.0


def test_what_algorithm_3_goes_by() -> None:
    for given in ({}, {"tau": 5, "watch_updates": True}):
        with pytest.raises(InputError, match='reclustering "paper" needs a reason'):
            fc.FLT(reclustering="paper", **given)  # type: ignore[arg-type]  # what is tested


def test_algorithm_3_clusters_again_whether_or_not_data_changed(two_groups: Federation, tmp_path: Path) -> None:
    """Every tau rounds; and once over lambda clients have raised their delta, which stays up."""
    play_run(fc.FLT(reclustering="paper", tau=4), two_groups, tmp_path / "tau", rounds=9)
    facts = facts_of(tmp_path / "tau")
    assert [number for number, each in enumerate(facts, start=1) if each["clustered_again"]] == [4, 8]
    for limit, again in ((1, 1), (2, 0)):  # two of 20 clients drift in round 4
        folder = tmp_path / f"lambda-{limit}"
        play_run(fc.FLT(reclustering="paper", flags=limit), drifting(), folder, rounds=12, participation=0.6)
        assert sum(bool(each["clustered_again"]) for each in facts_of(folder)) == again


def drifting(clients: int = 20) -> Federation:
    return fc.data.build(source="digits", world="rotation", clients=clients, groups=4, drift={"round": 4, "share": 0.1})


@pytest.mark.parametrize(
    "settings",
    [
        {"flags": 2},
        {"tau": 5, "flags": 99},
        {"flags": 1, "case": "graph"},
        {"watch_updates": True},
        {"watch_updates": True, "case": "graph"},
    ],
)
def test_who_changes_group_is_found_again(settings: dict[str, object], tmp_path: Path) -> None:
    federation = drifting()
    method = fc.FLT(**settings)  # type: ignore[arg-type]  # of the right types
    _, models = play_run(method, federation, tmp_path / "run", rounds=14, participation=0.6)
    assert models.groups() == federation.truth_at(14)
    facts = facts_of(tmp_path / "run")
    again = [number for number, each in enumerate(facts, start=1) if each.get("clustered_again")]
    assert len(again) == 1
    assert again[0] >= 10, "not within 10 rounds of the first clustering"


def test_without_a_change_nothing_is_done_again(two_groups: Federation, tmp_path: Path) -> None:
    play_run(fc.FLT(tau=2, flags=1, watch_updates=True), two_groups, tmp_path / "run", rounds=12)
    facts = facts_of(tmp_path / "run")
    assert not any(each.get("clustered_again") for each in facts)
    assert all(each["flags"] == 0 for each in facts)


def crying(clients: set[ClientId]) -> Callable[[Iterator[Reply]], Iterator[Reply]]:
    """A wire on which these clients always say that their data changed."""

    def wire(replies: Iterator[Reply]) -> Iterator[Reply]:
        for reply in replies:
            liar = reply.verb == "changed" and reply.client in clients
            yield replace(reply, arrays={"changed": np.array(True)}) if liar else reply

    return wire


def test_flags_that_lie_move_nobody(tmp_path: Path) -> None:
    federation = fc.data.build(source="digits", world="rotation", clients=20, groups=4)
    liars = set(federation.clients[:4])
    _, models = play_run(
        fc.FLT(flags=1), federation, tmp_path / "run", rounds=22, participation=1.0, wire=crying(liars)
    )
    facts = facts_of(tmp_path / "run")
    assert models.groups() == federation.truth
    assert not any(each["clustered_again"] for each in facts)
    assert [number for number, each in enumerate(facts, start=1) if each["flags"]] == [1, 11, 21], "one in ten rounds"


def test_drift_is_found_among_liars(tmp_path: Path) -> None:
    federation = drifting()
    liars = set(federation.clients) - set(federation.changes[0].data)
    wire = crying(set(sorted(liars)[:4]))
    _, models = play_run(fc.FLT(flags=2), federation, tmp_path / "run", rounds=14, participation=0.6, wire=wire)
    assert models.groups() == federation.truth_at(14)


def test_only_who_has_other_data_has_moved(two_groups: Federation) -> None:
    """a and d trade places in the state: a with another token, d with its old one. Who has left has not moved."""
    with fleet_of(two_groups) as (fleet, _, first):
        method = fc.FLT()
        state = method.start(fleet, first, now(0))[0]
        one, other = (
            "client-00",
            next(c for c in state.group_by_client if state.group_by_client[c] != state.group_by_client["client-00"]),
        )
        swapped = {**state.group_by_client, one: state.group_by_client[other], other: state.group_by_client[one]}
        state = replace(state, group_by_client=swapped, tokens={**state.tokens, one: 0})
        sketched = method.ask(state, fleet, fleet.clients(), now(10))
        state = state.update_moved(sketched)
    assert state.moved == (one,)
    assert state.update_moved(sketched).moved == (one,), "until groups are found again"
    assert state.without_absent([other]).moved == ()


@pytest.mark.parametrize("settings", [{"case": "graph", "flags": 1}, {"tau": 5, "outlying_newcomers": "global"}])
def test_a_kill_changes_nothing(settings: dict[str, object], tmp_path: Path) -> None:
    """Around newcomers, a drift and a new clustering; with a graph in the state, and without."""
    method = fc.FLT(**settings)  # type: ignore[arg-type]  # of the right types
    federation = fc.data.build(
        source="digits", world="rotation", clients=12, groups=3, drift={"round": 4}, newcomers={"rounds": (2,)}
    )
    whole, _ = play_run(method, federation, tmp_path / "whole", rounds=11)
    for after in (1, 3, 10):
        with pytest.raises(Interrupted):
            play_run(method, federation, tmp_path / f"cut-{after}", rounds=11, stop_after=after)
        resumed, _ = play_run(method, federation, tmp_path / f"cut-{after}", rounds=11)
        assert resumed["model_hash"] == whole["model_hash"]


def test_find_groups_reads_no_truth(two_groups: Federation) -> None:
    found = fc.find_groups(two_groups)
    assert found.partition == two_groups.truth
    turned = Groups.from_labels({client: number % 3 for number, client in enumerate(two_groups.clients)})
    other = fc.find_groups(replace(two_groups, truth=turned))
    assert other.partition == found.partition
    assert repr(found).startswith("FoundGroups(2 groups of 3, 3 clients, 0 outliers")


def test_where_nothing_can_be_judged_nothing_is_sure(two_groups: Federation) -> None:
    for clients in (1, 2):
        federation = fc.data.build(source="digits", world="iid", clients=clients)
        found = fc.find_groups(federation)
        assert (found.groups, found.confidence) == ((federation.clients,), 0)
    assert fc.find_groups(two_groups, fc.FLT(groups=1)).confidence == 0


def test_find_groups_wants_a_federation_and_flt(two_groups: Federation) -> None:
    with pytest.raises(fc.FedcladeError, match="this method has no one-shot step, find_groups: got FedAvg"):
        fc.find_groups(two_groups, fc.FedAvg())  # type: ignore[arg-type]  # what is tested
    with pytest.raises(fc.FedcladeError, match=r"there is no such file or folder, data\.path: got 'mnist'"):
        fc.find_groups("mnist")
    with pytest.raises(fc.FedcladeError, match="neither a federation nor a table, find_groups: got int"):
        fc.find_groups(7)


def test_more_groups_than_clients_cannot_be(two_groups: Federation, tmp_path: Path) -> None:
    with pytest.raises(fc.FedcladeError, match=r"fewer clients than groups, FLT\.groups: got 7 groups, 6 clients"):
        fc.find_groups(two_groups, fc.FLT(groups=7))
    with pytest.raises(fc.FedcladeError, match="there are fewer clients than groups"):
        play_run(fc.FLT(groups=7), two_groups, tmp_path / "run")


def test_tables_and_texts_have_groups_too() -> None:
    rng = np.random.default_rng(0)
    tables = {}
    for number in range(12):
        inputs = rng.normal(size=(80, 3)).astype(np.float32)
        labels = (inputs[:, number % 2] > 0).astype(np.int64)
        tables[f"site-{number:02}"] = (inputs, labels)
    found = fc.find_groups(fc.data.from_arrays(tables, test=0.2, seed=0))
    assert found.groups == (tuple(sorted(tables)[::2]), tuple(sorted(tables)[1::2]))


def test_rare_labels_can_stay_untold(two_groups: Federation) -> None:
    method = fc.FLT(signature=fc.ClassMoments(min_label_examples=5))
    assert fc.find_groups(two_groups, method).partition == two_groups.truth


@pytest.mark.parametrize("name", ["classes", "rotation", "label-permutation"])
def test_groups_are_found_behind_noise(name: str) -> None:
    federation = fc.data.build(source="digits", world=name, clients=20, groups=4)
    assert fc.find_groups(federation, fc.FLT(signature=fc.ClassMoments(noise=1.0))).partition == federation.truth


def test_noise_makes_no_groups() -> None:
    federation = fc.data.build(source="digits", world="iid", clients=20)
    for noise in (1.0, 3.0):
        found = fc.find_groups(federation, fc.FLT(signature=fc.ClassMoments(noise=noise)))
        assert found.groups == (federation.clients,)


def test_a_client_that_tells_of_no_label_waits(two_groups: Federation, tmp_path: Path) -> None:
    held = two_groups["client-05"]
    one = replace(held.train, index=held.train.index[:3])
    data = {**two_groups.data, "client-05": ClientData(one, held.test)}
    method = fc.FLT(signature=fc.ClassMoments(min_label_examples=4))
    _, models = play_run(method, replace(two_groups, data=data), tmp_path / "run")
    assert ("client-05",) in models.groups().members
