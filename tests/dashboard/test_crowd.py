"""Clients as they are now, their groups and histories; and one client's model as a file."""

from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from dashboard.making import Written, finished
from fedclade.dashboard.crowd import Crowd, crowd_of
from fedclade.dashboard.listing import key_of
from fedclade.dashboard.model import has_models, model_of
from fedclade.dashboard.watching import Desk
from fedclade.nouns import Damaged, InputError


def by_name(crowd: Crowd) -> dict[str, tuple[int, float | None, int, int]]:
    return {
        member.name: (
            member.group,
            None if member.accuracy is None else round(member.accuracy, 6),
            member.bytes,
            member.took_part,
        )
        for member in crowd.members.values()
    }


def test_members_by_hand(tmp_path: Path) -> None:
    """Round 3 of 3 has 0.53 and a quarter of a hundredth more for each next client; 250 bytes in every round."""
    crowd = crowd_of(finished(tmp_path / "run"))
    assert by_name(crowd) == {
        "a": (0, 0.53, 750, 3),
        "b": (0, 0.5325, 750, 3),
        "c": (1, 0.535, 750, 3),
        "d": (1, 0.5375, 750, 3),
    }
    assert [member.name for member in crowd.worst_first()] == ["a", "b", "c", "d"]
    groups = crowd.groups(named=1)
    assert [(group.number, group.size, round(group.accuracy or 0, 6)) for group in groups] == [
        (0, 2, 0.53125),
        (1, 2, 0.53625),
    ]
    assert [[member.name for member in group.some] for group in groups] == [["a"], ["c"]]
    history = crowd.history(key_of(b"c"))
    assert [(moment.round, round(moment.accuracy or 0, 6)) for moment in history] == [
        (1, 0.515),
        (2, 0.525),
        (3, 0.535),
    ]
    with pytest.raises(KeyError):
        crowd.history("nobody")


def test_a_log_that_is_being_written(tmp_path: Path) -> None:
    run = Written(tmp_path / "run", rounds=4)
    assert crowd_of(tmp_path / "run").members == {}
    run.round(1, 0.25)
    run.round(2, 0.5)
    log = tmp_path / "run" / "clients.arrows"
    whole = log.read_bytes()
    log.write_bytes(whole[:-40])  # the second round is half there
    assert by_name(crowd_of(tmp_path / "run"))["a"] == (0, 0.25, 250, 1)
    log.write_bytes(whole)
    assert by_name(crowd_of(tmp_path / "run"))["a"] == (0, 0.5, 500, 2)
    log.unlink()
    assert crowd_of(tmp_path / "run").members == {}
    run.folder.close()


def test_a_damaged_table_is_told(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    table = path / "clients.parquet"
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(Damaged, match="the clients' table cannot be read"):
        crowd_of(path)
    desk = Desk(tmp_path)
    [run] = desk.runs().values()
    assert desk.crowd(run) == (None, "the clients' table cannot be read")


def test_a_model_has_the_tensors_of_its_net(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    found = safetensors.numpy.load(model_of(path, "c"))
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        "layer.weight": [[2.0] * 3] * 2,
        "layer.bias": [2.0] * 2,
    }


@pytest.mark.parametrize(
    "noted", ['"x"', '["layer.weight 2x3"]', '["a 4", "a 4"]', '["a -8"]', "[8]", '["a 99999999999"]', "null"]
)
def test_without_true_notes_a_model_is_one_row(noted: str, tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    (path / "environment.json").write_text(f'{{"tensors": {noted}}}')
    found = safetensors.numpy.load(model_of(path, "b"))
    assert list(found) == ["row"]
    assert found["row"].tolist() == [1.0] * 8


def test_there_is_no_model_before_the_end(tmp_path: Path) -> None:
    run = Written(tmp_path / "run")
    with pytest.raises(InputError, match="there is no final model yet"):
        model_of(tmp_path / "run", "a")
    run.folder.close()


def test_a_damaged_model_is_not_given_away(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    rows = path / "models" / "rows.safetensors"
    content = bytearray(rows.read_bytes())
    content[-1] ^= 1
    rows.write_bytes(content)
    with pytest.raises(Damaged, match="safetensors is damaged"):
        model_of(path, "a")


def test_models_behind_a_link_are_none(tmp_path: Path) -> None:
    path, other = finished(tmp_path / "run"), finished(tmp_path / "other")
    (path / "models").rename(tmp_path / "aside")
    (path / "models").symlink_to(other / "models")
    assert not has_models(path)
    assert has_models(other)


def test_a_real_net_gets_its_weights_back(tmp_path: Path) -> None:
    import torch

    import fedclade as fc

    federation = fc.data.build(source="digits", world="iid", clients=3)
    run = fc.train(federation, fc.FedAvg(), net="mlp", rounds=1, lr=0.1, workers=0, out=tmp_path / "run")
    file = tmp_path / "model.safetensors"
    file.write_bytes(model_of(tmp_path / "run", "client-01"))
    module = run.model_for("client-01")
    wanted = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    found = safetensors.numpy.load_file(file)
    assert set(found) == set(wanted)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    module.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in found.items()})
