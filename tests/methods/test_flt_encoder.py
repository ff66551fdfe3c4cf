"""FLT with the paper's signature: points of encoded images. Newcomers, changes, presets, and what it cannot see."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.fleet import Fleet, Means, Sketching
from fedclade.methods.presets import SAYS
from fedclade.nouns import Assignment, Round
from fedclade.runs.folder import RunFolder
from fedclade.testing import Interrupted, play_run
from methods.fleets import fleet_of, now

ENCODER = fc.FLT(signature="encoder")


def test_it_finds_groups_and_says_one_group() -> None:
    federation = fc.data.build(source="digits", world="classes", clients=20, groups=5)
    found = fc.find_groups(federation, ENCODER)
    assert found.partition == federation.truth
    assert found.kind == "nearest"
    assert fc.find_groups(fc.data.build(source="digits", world="iid", clients=12), ENCODER).count == 1


def test_images_alone_cannot_see_what_labels_mean() -> None:
    """The same images under other labels: class moments tell the groups apart, points do not."""
    for world in ("label-permutation", "label-swap"):
        federation = fc.data.build(source="digits", world=world, clients=16, groups=2)
        assert fc.find_groups(federation, ENCODER).count == 1
        assert fc.find_groups(federation).count == 2


@pytest.mark.slow
@pytest.mark.parametrize("tuning", ["clients", "together"])
def test_an_encoder_can_be_fine_tuned(tuning: str) -> None:
    """Other weights give other points; the groups stay."""
    federation = fc.data.build(source="digits", world="classes", clients=6, groups=2)
    method = fc.FLT(signature="encoder", tuning=tuning, tuning_epochs=1, groups=2)  # type: ignore[arg-type]  # of three
    tuned, plain = fc.find_groups(federation, method), fc.find_groups(federation, fc.FLT(signature="encoder", groups=2))
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
        fc.FLT(signature="encoder", tuning="together", tuning_epochs=3).find(fleet, now(0))
    assert len(set(seeds)) == 3


def test_only_an_autoencoder_can_be_fine_tuned() -> None:
    tables = {f"c{number}": (np.eye(4, dtype=np.float32), np.arange(4) % 2) for number in range(3)}
    federation = fc.data.from_arrays(tables, test=0.25, seed=0)
    assert fc.find_groups(federation, ENCODER).count == 1
    with pytest.raises(fc.FedcladeError, match="encoder fashion-mnist cannot be fine-tuned, sketch: got kind public"):
        fc.find_groups(federation, fc.FLT(signature="encoder", tuning="clients"))


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"encoder": "none.safetensors"}, "the encoder is not usable, none.safetensors: got No such file"),
        ({"encoder": "fashion"}, "the encoder is not known"),
        ({"encoder": "words.safetensors"}, "got examples of shape"),
        ({"encoder": "table.safetensors"}, "got 2 features, need 64"),
        ({"encoder": "pixels", "tuning": "together"}, "encoder pixels cannot be fine-tuned"),
    ],
)
def test_a_wrong_encoder_is_found_before_anything_is_written(
    settings: dict[str, str], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedclade.nets.shelf import Kept, write

    monkeypatch.chdir(tmp_path)
    write(Path("words.safetensors"), Kept("embedding", np.ones(64, np.float32), {}))
    write(Path("table.safetensors"), Kept("standardised", np.ones(4, np.float32), {}))
    federation = fc.data.build(source="digits", world="iid", clients=3)
    with pytest.raises(fc.FedcladeError, match=wrong) as told:
        fc.train(federation, fc.FLT(signature="encoder", **settings), net="logistic", out=Path("run"))  # type: ignore[arg-type]
    assert told.value.do
    assert not Path("run").exists()


def test_an_own_file_can_be_named(tmp_path: Path) -> None:
    from fedclade.nets.convae import autoencoder
    from fedclade.nets.shelf import Kept, write

    file = tmp_path / "own.safetensors"
    write(file, Kept("convae", autoencoder("convae").first(0), {"source": "nothing"}))
    federation = fc.data.build(source="digits", world="classes", clients=6, groups=2)
    found = fc.find_groups(federation, fc.FLT(signature="encoder", encoder=str(file)))
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
        method = fc.FLT(signature="encoder", case=case)  # type: ignore[arg-type]  # one of two
        _, models = play_run(method, federation, tmp_path / name)
        assert models.groups() == federation.truth


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"flags": 2}, {"tau": 5, "flags": 99}])
def test_who_changes_group_is_found_again(settings: dict[str, int], tmp_path: Path) -> None:
    drift = {"round": 4, "share": 0.1}
    federation = fc.data.build(source="digits", world="classes", clients=20, groups=5, drift=drift)
    method = fc.FLT(signature="encoder", **settings)  # type: ignore[arg-type]  # of the right types
    _, models = play_run(method, federation, tmp_path / "run", rounds=14, participation=0.6)
    assert models.groups() == federation.truth_at(14)


@pytest.mark.slow
def test_a_kill_changes_nothing(tmp_path: Path) -> None:
    """With a tuned encoder, members of groups and a graph in the state; somebody comes after the kill."""
    method = fc.FLT(signature="encoder", tuning="together", tuning_epochs=1, case="graph", points=2)
    federation = fc.data.build(source="digits", world="classes", clients=8, groups=2, newcomers={"rounds": (3,)})
    whole, _ = play_run(method, federation, tmp_path / "whole", rounds=4)
    with pytest.raises(Interrupted):
        play_run(method, federation, tmp_path / "cut", rounds=4, stop_after=2)
    resumed, _ = play_run(method, federation, tmp_path / "cut", rounds=4)
    assert resumed["model_hash"] == whole["model_hash"]


def test_the_start_tells_what_was_found(tmp_path: Path) -> None:
    federation = fc.data.build(source="digits", world="classes", clients=6, groups=2)
    play_run(fc.FLT(signature="encoder", points=2), federation, tmp_path / "run", rounds=1)
    folder = RunFolder.open(tmp_path / "run")
    discovery = folder.facts(next(folder.events()))["discovery"]
    assert isinstance(discovery, dict)
    assert discovery["squared"].shape == (6, 6)
    assert discovery["points"].shape == (6, 2, 128)
    assert discovery["counts"].shape == (6, 2)


@pytest.mark.parametrize("preset", SAYS)
def test_a_preset_sets_what_it_says(preset: str) -> None:
    made = fc.FLT(preset=preset)  # type: ignore[arg-type]  # one of two
    for name, value in SAYS[preset].items():
        assert getattr(made, name) == value
    everything = {field.name: getattr(made, field.name) for field in fields(made)}
    assert fc.FLT(**everything) == made, "as an experiment that was written down says it"


def test_a_preset_is_not_contradicted() -> None:
    with pytest.raises(fc.FedcladeError, match=r"points contradicts the preset, FLT\.points: got 2, need 5"):
        fc.FLT(preset="paper", points=2)
    assert fc.FLT(preset="paper", case="graph").case == "graph"
    with pytest.raises(fc.FedcladeError, match="need 'none', 'paper' or 'published'"):
        fc.FLT(preset="other")  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"signature": "encoder", "noise": 1.0}, ("noise", "signature")),
        ({"signature": "encoder", "fewest": 2}, ("fewest", "signature")),
        ({"encoder": "pixels"}, ("encoder", "signature")),
        ({"points": 3}, ("points", "signature")),
        ({"tuning": "clients"}, ("tuning", "signature")),
        ({"embedding": "umap"}, ("embedding", "signature")),
        ({"distance": "matched"}, ("distance", "signature")),
        ({"cut": "ward"}, ("cut", "signature")),
        ({"signature": "encoder", "tuning_epochs": 2}, ("tuning_epochs", "tuning")),
        ({"signature": "encoder", "dimensions": 3}, ("dimensions", "embedding")),
        ({"soft": True}, ("soft", "case")),
        ({"gamma": 2.0}, ("gamma", "case = 'groups' and cut")),
        ({"groups": 3, "gate": 0.5}, ("gate", "groups")),
        ({"signature": "encoder", "cut": "components", "groups": 3}, ("groups", "cut")),
        ({"preset": "paper", "noise": 1.0}, ("noise", "signature")),
    ],
)
def test_a_setting_that_does_nothing_is_refused(given: dict[str, object], named: tuple[str, str]) -> None:
    setting, beside = named
    with pytest.raises(fc.FedcladeError, match=rf"{setting} does nothing, FLT\.{setting}: got .* with {beside} = "):
        fc.FLT(**given)  # type: ignore[arg-type]  # of the right types


def test_no_more_groups_are_given_than_looked_for() -> None:
    with pytest.raises(fc.FedcladeError, match=r"groups exceeds most, FLT\.groups: got 60 with most = 50"):
        fc.FLT(groups=60)
    assert fc.FLT(groups=60, most=60).groups == 60


@pytest.mark.parametrize("gamma", [1e-200, 1e-7, 2e9, 1e200])
def test_gamma_is_a_distance_whose_square_is_a_number(gamma: float) -> None:
    with pytest.raises(fc.FedcladeError, match="gamma"):
        fc.FLT(case="graph", gamma=gamma)


@pytest.mark.parametrize("gamma", [1e-6, 1e9])
def test_the_least_and_the_largest_gamma_relate_nobody_and_everybody(gamma: float) -> None:
    federation = fc.data.build(source="digits", world="iid", clients=4)
    found = fc.find_groups(federation, fc.FLT(signature="encoder", cut="components", gamma=gamma))
    assert len(found.partition) == (4 if gamma < 1 else 1)


@pytest.mark.slow
def test_the_number_of_groups_can_be_given() -> None:
    federation = fc.data.build(source="digits", world="classes", clients=12, groups=4)
    for signature in ("class-moments", "encoder"):
        for count in (1, 2, 4):
            found = fc.find_groups(federation, fc.FLT(signature=signature, groups=count))
            assert len(found.partition) == count
        assert found.partition == federation.truth
