"""FLT with the paper's signature: points of encoded images. Newcomers, changes, presets, and what it cannot see."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import Assignment, Points, Round
from fedclade.core.settings import settings_table
from fedclade.fleet import Fleet, Means, Sketching
from fedclade.methods import method_named
from fedclade.runs.compare import parse_method
from fedclade.runs.experiment import Experiment
from fedclade.store.events import StartEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import Interrupted, play_run
from methods.fleets import fleet_of, now

ENCODER = fc.FLT(signature=fc.Encoder())


def test_it_finds_groups_and_says_one_group() -> None:
    federation = fc.data.build(source="digits", world="classes", clients=20, groups=5)
    found = fc.find_groups(federation, ENCODER)
    assert (found.partition, found.distance) == (federation.truth, "nearest")
    assert fc.find_groups(fc.data.build(source="digits", world="iid", clients=12), ENCODER).count == 1


def test_images_alone_cannot_see_what_labels_mean() -> None:
    """The same images under other labels: class moments tell the groups apart, points do not."""
    for world in ("label-permutation", "label-swap"):
        federation = fc.data.build(source="digits", world=world, clients=16, groups=2)
        assert fc.find_groups(federation, ENCODER).count == 1
        assert fc.find_groups(federation).count == 2


@pytest.mark.slow
@pytest.mark.parametrize("tuning", [fc.Encoder(own_tuning_epochs=1), fc.Encoder(joint_tuning_rounds=1)])
def test_an_encoder_can_be_fine_tuned(tuning: fc.Encoder) -> None:
    """Other weights give other points; the groups stay."""
    federation = fc.data.build(source="digits", world="classes", clients=6, groups=2)
    tuned = fc.find_groups(federation, fc.FLT(signature=tuning, groups=2))
    plain = fc.find_groups(federation, fc.FLT(signature=fc.Encoder(), groups=2))
    assert tuned.partition == plain.partition == federation.truth
    assert tuned.sketches is not None
    assert plain.sketches is not None
    assert np.abs(tuned.sketches.places - plain.sketches.places).max() > 1e-3


@pytest.mark.slow
def test_the_same_data_have_the_same_points_in_every_round() -> None:
    federation = fc.data.build(source="digits", world="iid", clients=2)
    with fleet_of(federation) as (fleet, _, _):
        for epochs in (0, 1):
            early, late = (
                fleet.sketch(fleet.clients(), Sketching("fashion-mnist", 3, epochs=epochs), now(number))
                for number in (0, 7)
            )
            for client in fleet.clients():
                assert early.points[client].tolist() == late.points[client].tolist()


@pytest.mark.slow
def test_tuning_together_draws_other_batches_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = fc.data.build(source="digits", world="iid", clients=2)
    seeds: list[int] = []
    with fleet_of(federation) as (fleet, _, _):
        asked = fleet.train_mean

        def heard(_: Fleet, starts: Assignment, then: Round, encoder: str = "") -> Means:
            seeds.append(then.seed)
            return asked(starts, then, encoder)

        monkeypatch.setattr(Fleet, "train_mean", heard)
        fc.FLT(signature=fc.Encoder(joint_tuning_rounds=3)).find(fleet, now(0))
    assert len(set(seeds)) == 3


def test_only_an_autoencoder_can_be_fine_tuned() -> None:
    tables = {f"c{number}": (np.eye(4, dtype=np.float32), np.arange(4) % 2) for number in range(3)}
    federation = fc.data.from_arrays(tables, test=0.25, seed=0)
    assert fc.find_groups(federation, ENCODER).count == 1
    with pytest.raises(fc.FedcladeError, match="encoder fashion-mnist cannot be fine-tuned, sketch: got kind public"):
        fc.find_groups(federation, fc.FLT(signature=fc.Encoder(own_tuning_epochs=5)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "none.safetensors"}, "the encoder is not usable, none.safetensors: got No such file"),
        ({"name": "fashion"}, "the encoder is not known"),
        ({"name": "words.safetensors"}, "got examples of shape"),
        ({"name": "table.safetensors"}, "got 2 features, need 64"),
        ({"name": "pixels", "joint_tuning_rounds": 5}, "encoder pixels cannot be fine-tuned"),
    ],
)
def test_a_wrong_encoder_is_found_before_anything_is_written(
    settings: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedclade.nets.weight_files import WeightFile, write

    monkeypatch.chdir(tmp_path)
    write(Path("words.safetensors"), WeightFile("embedding", np.ones(64, np.float32), {}))
    write(Path("table.safetensors"), WeightFile("standardised", np.ones(4, np.float32), {}))
    federation = fc.data.build(source="digits", world="iid", clients=3)
    method = method_named("flt", {"signature": {"kind": "encoder", **settings}})
    with pytest.raises(fc.FedcladeError, match=message) as caught:
        fc.train(federation, method, net="logistic", out=Path("run"))
    assert caught.value.do
    assert not Path("run").exists()


def test_an_own_file_can_be_named(tmp_path: Path) -> None:
    from fedclade.nets.convae import autoencoder
    from fedclade.nets.weight_files import WeightFile, write

    file = tmp_path / "own.safetensors"
    write(file, WeightFile("convae", autoencoder("convae").initial_row(0), {"source": "nothing"}))
    federation = fc.data.build(source="digits", world="classes", clients=6, groups=2)
    found = fc.find_groups(federation, fc.FLT(signature=fc.Encoder(name=str(file))))
    other = fc.find_groups(federation, ENCODER)
    assert found.squared.tolist() != other.squared.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["groups", "graph"])
def test_newcomers_join_their_group_or_begin_one(case: str, tmp_path: Path) -> None:
    kinds: dict[str, dict[str, object]] = {
        "planted": {"rounds": (2, 3), "share": 0.25},
        "new": {"rounds": (2,), "origin": "new"},
    }
    for name, newcomers in kinds.items():
        federation = fc.data.build(source="digits", world="classes", clients=12, groups=3, newcomers=newcomers)
        method = fc.FLT(signature=fc.Encoder(), case=case)  # type: ignore[arg-type]  # one of two
        _, models = play_run(method, federation, tmp_path / name)
        assert models.groups() == federation.truth


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"flags": 2}, {"tau": 5, "flags": 99}])
def test_who_changes_group_is_found_again(settings: dict[str, int], tmp_path: Path) -> None:
    drift = {"round": 4, "share": 0.1}
    federation = fc.data.build(source="digits", world="classes", clients=20, groups=5, drift=drift)
    method = fc.FLT(signature=fc.Encoder(), **settings)  # type: ignore[arg-type]  # of the right types
    _, models = play_run(method, federation, tmp_path / "run", rounds=14, participation=0.6)
    assert models.groups() == federation.truth_at(14)


@pytest.mark.slow
def test_a_kill_changes_nothing(tmp_path: Path) -> None:
    """With a tuned encoder, members of groups and a graph in the state; somebody comes after the kill."""
    method = fc.FLT(signature=fc.Encoder(joint_tuning_rounds=1, points=2), case="graph")
    federation = fc.data.build(source="digits", world="classes", clients=8, groups=2, newcomers={"rounds": (3,)})
    whole, _ = play_run(method, federation, tmp_path / "whole", rounds=4)
    with pytest.raises(Interrupted):
        play_run(method, federation, tmp_path / "cut", rounds=4, stop_after=2)
    resumed, _ = play_run(method, federation, tmp_path / "cut", rounds=4)
    assert resumed["model_hash"] == whole["model_hash"]


def test_the_start_tells_what_was_found(tmp_path: Path) -> None:
    federation = fc.data.build(source="digits", world="classes", clients=6, groups=2)
    play_run(fc.FLT(signature=fc.Encoder(points=2)), federation, tmp_path / "run", rounds=1)
    folder = RunFolder.open(tmp_path / "run")
    discovery = folder.facts(next(folder.events(StartEvent)))["discovery"]
    assert isinstance(discovery, dict)
    assert discovery["squared"].shape == (6, 6)
    assert discovery["points"].shape == (6, 2, 128)
    assert discovery["counts"].shape == (6, 2)


PAPER = fc.Encoder(own_tuning_epochs=5, umap_dimensions=2, distance="smallest", cut="ward")
PUBLISHED = fc.Encoder(
    joint_tuning_rounds=5, umap_dimensions=2, umap_start="spectral", distance="matched", cut="components"
)


def test_the_points_of_a_client_can_follow_its_labels() -> None:
    """Clients with two, three and all ten digits send two, three and ten points."""
    digits = fc.data.build(source="digits", world="iid", clients=3)
    labels = {"client-00": (1, 7), "client-01": (0, 4, 9), "client-02": range(10)}
    data = {
        client: replace(
            held, train=replace(held.train, index=held.train.index[np.isin(held.train.labels, labels[client])])
        )
        for client, held in digits.data.items()
    }
    with fleet_of(replace(digits, data=data)) as (fleet, _, _):
        asked = fc.Encoder(points="classes").ask(fleet, fleet.clients(), now(0), fleet.weights("fashion-mnist"))
    assert isinstance(asked.summaries, Points)
    assert (asked.summaries.counts > 0).sum(axis=1).tolist() == [2, 3, 10]
    for wrong in (0, "labels", 1001):
        with pytest.raises(fc.FedcladeError, match="points"):
            fc.Encoder(points=wrong)  # type: ignore[arg-type]  # what is tested


def test_as_printed_the_encoder_is_tuned_when_groups_are_found_again(tmp_path: Path) -> None:
    """MODE = normal at first: 25,956 weights go down; MODE = fine-tune every tau rounds: all 51,577."""
    federation = fc.data.build(source="digits", world="rotation", clients=4, groups=2)
    method = fc.FLT(reclustering="paper", tau=2, signature=fc.Encoder(points=2, own_tuning_epochs=1))
    run = fc.train(federation, method, net="logistic", rounds=2, out=tmp_path / "run")
    assert run.result["bytes_down_sketch"] == 4 * 4 * (25_956 + 51_577)


def test_a_preset_is_where_settings_start() -> None:
    assert fc.FLT(preset="paper") == fc.FLT(preset="paper", signature=PAPER, gamma=1.0)
    published = fc.FLT(preset="published", signature=PUBLISHED, gamma=1.0, case="graph", absent="stale")
    assert fc.FLT(preset="published") == published
    assert method_named("flt", settings_table(published)) == published, "as an experiment that was written down says it"
    with pytest.raises(fc.FedcladeError, match="need 'none', 'paper', 'published' or 'workshop'"):
        fc.FLT(preset="other")  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"gamma": 2.0}, fc.FLT(preset="paper", gamma=2.0)),
        ({"signature": {"points": 2}}, fc.FLT(preset="paper", signature=replace(PAPER, points=2))),
        ({"signature": "class-moments"}, fc.FLT(preset="paper", signature=fc.ClassMoments(), gamma=0.0)),
    ],
)
def test_single_settings_go_over_a_preset(given: dict[str, object], expected: fc.FLT) -> None:
    assert method_named("flt", {"preset": "paper", **given}) == expected


@pytest.mark.parametrize("preset", ["paper", "published", "workshop"])
@pytest.mark.parametrize(
    "setting",
    [
        {"points": 3},
        {"points": "classes"},
        {"own_tuning_epochs": 0},
        {"joint_tuning_rounds": 1},
        {"umap_dimensions": 0},
        {"umap_dimensions": 3},
        {"umap_start": "spectral"},
        {"umap_newcomers": "transform"},
        {"distance": "nearest"},
        {"cut": "average"},
        {"name": "pixels"},
    ],
)
def test_every_preset_takes_other_settings_of_its_signature(preset: str, setting: dict[str, object]) -> None:
    """From a table, and from the command line; all else is the preset's, but for what would do nothing."""
    start = method_named("flt", {"preset": preset})
    assert isinstance(start, fc.FLT)
    assert isinstance(start.signature, fc.Encoder)
    found = method_named("flt", {"preset": preset, "signature": setting})
    assert isinstance(found, fc.FLT)
    without = {"umap_start": "pca"} if setting.get("umap_dimensions") == 0 else {}
    assert found.signature == replace(start.signature, **setting, **without)  # type: ignore[arg-type]  # of the right types
    idle = setting.get("cut") == "average" and start.case == "groups"
    assert found.gamma == (0.0 if idle else 1.0)
    rest = replace(found, signature=start.signature, gamma=start.gamma)
    assert rest == start
    (name, value), other = next(iter(setting.items())), Experiment(data={"source": "digits"}, method=fc.FedAvg())
    assert parse_method(f"flt:preset={preset},signature.{name}={value}", other)[0] == found


@pytest.mark.parametrize("preset", ["paper", "published", "workshop"])
@pytest.mark.parametrize(
    "given",
    [
        {"gamma": 0.5},
        {"gamma": 0.0},
        {"case": "groups"},
        {"case": "soft-graph"},
        {"max_groups": 9},
        {"min_separation": 0.3},
        {"outlying_newcomers": "global", "tau": 3},
        {"absent": "participants"},
        {"tau": 3},
        {"reclustering": "paper", "flags": 2},
    ],
)
def test_every_preset_takes_other_settings(preset: str, given: dict[str, object]) -> None:
    start = method_named("flt", {"preset": preset})
    found = method_named("flt", {"preset": preset, **given})
    assert isinstance(start, fc.FLT)
    assert found == replace(start, **given)  # type: ignore[arg-type]  # of the right types
    assert method_named("flt", settings_table(found)) == found, "as an experiment that was written down says it"


def test_a_number_of_groups_asks_for_a_tree() -> None:
    """Components are as many as there are: beside these presets a number needs another cut."""
    for preset in ("published", "workshop"):
        with pytest.raises(fc.FedcladeError, match="groups does nothing"):
            method_named("flt", {"preset": preset, "groups": 2})
        assert method_named("flt", {"preset": preset, "groups": 2, "signature": {"cut": "ward"}})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise": 1.0}, 'method.noise is not known, method: got "noise"'),
        ({"signature": {"kind": "encoder", "noise": 1.0}}, "signature.noise is not known, method.signature: got"),
        ({"signature": {"points": 3}}, 'signature.points is not known, method.signature: got "points"'),
        ({"signature": {"kind": ["encoder"]}}, "signature.kind is not known, method.signature"),
        ({"signature": 3}, "signature is not usable, method.signature: got 3, need a table with kind 'class-moments'"),
        ({"signature": {"kind": "encoder", "points": 0}}, "points is not usable, method.signature.points: got 0"),
        ({"gamma": 2.0}, 'gamma does nothing, method.gamma: got 2 with case "groups" and cut "average"'),
        ({"signature": {"kind": "encoder", "cut": "components"}, "groups": 3}, "groups does nothing, method.groups"),
        ({"case": "graph", "gamma": 2e9}, "gamma is not usable, method.gamma"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(fc.FedcladeError, match=message):
        method_named("flt", given)


@pytest.mark.parametrize("gamma", [1e-6, 1e9])
def test_the_least_and_the_largest_gamma_relate_nobody_and_everybody(gamma: float) -> None:
    federation = fc.data.build(source="digits", world="iid", clients=4)
    found = fc.find_groups(federation, fc.FLT(signature=fc.Encoder(cut="components"), gamma=gamma))
    assert len(found.partition) == (4 if gamma < 1 else 1)


@pytest.mark.slow
def test_the_number_of_groups_can_be_given() -> None:
    federation = fc.data.build(source="digits", world="classes", clients=12, groups=4)
    for signature in (fc.ClassMoments(), fc.Encoder()):
        for count in (1, 2, 4):
            found = fc.find_groups(federation, fc.FLT(signature=signature, groups=count))
            assert len(found.partition) == count
        assert found.partition == federation.truth
