"""Clients as they are now, their groups and histories; and one client's model as a file."""

import os
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import torch

import fedclade as fc
from dashboard.making import Written, finished, key
from fedclade.core import Damaged, InputError
from fedclade.dashboard.clients import RunClients, read_clients
from fedclade.dashboard.model import has_models, model_of
from fedclade.dashboard.run_cache import RunCache


def by_name(clients: RunClients) -> dict[str, tuple[int, float | None, int, int]]:
    return {
        member.name: (member.group, member.value and round(member.value, 6), member.bytes, member.took_part)
        for member in clients.members.values()
    }


def test_members_by_hand(tmp_path: Path) -> None:
    """Round 3 of 3 has 0.53 and a quarter of a hundredth more for each next client; 250 bytes in every round."""
    clients = read_clients(finished(tmp_path / "run"))
    assert by_name(clients) == {
        "a": (0, 0.53, 750, 3),
        "b": (0, 0.5325, 750, 3),
        "c": (1, 0.535, 750, 3),
        "d": (1, 0.5375, 750, 3),
    }
    assert [member.name for member in clients.worst_first(False)] == ["a", "b", "c", "d"]
    groups = clients.groups(max_named=1)
    shown = [(group.number, group.size, round(group.value or 0, 6)) for group in groups]
    assert shown == [(0, 2, 0.53125), (1, 2, 0.53625)]
    assert [[member.name for member in group.first_members] for group in groups] == [["a"], ["c"]]
    history = clients.history(key("c"))
    reached = [(moment.round, round(moment.value or 0, 6)) for moment in history]
    assert reached == [(1, 0.515), (2, 0.525), (3, 0.535)]
    with pytest.raises(KeyError):
        clients.history("nobody")


def test_a_log_that_is_being_written(tmp_path: Path) -> None:
    run = Written(tmp_path / "run", rounds=4)
    assert read_clients(tmp_path / "run").members == {}
    run.round(1, 0.25)
    run.round(2, 0.5)
    log = tmp_path / "run" / "clients.arrows"
    whole = log.read_bytes()
    log.write_bytes(whole[:-40])  # the second round is half there
    assert by_name(read_clients(tmp_path / "run"))["a"] == (0, 0.25, 250, 1)
    log.write_bytes(whole)
    assert by_name(read_clients(tmp_path / "run"))["a"] == (0, 0.5, 500, 2)
    log.unlink()
    assert read_clients(tmp_path / "run").members == {}
    run.folder.close()


def test_a_damaged_table_is_told(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    table = path / "clients.parquet"
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(Damaged, match="the clients' table cannot be read"):
        read_clients(path)
    cache = RunCache(tmp_path)
    [run] = cache.listing.runs().values()
    assert cache.clients(run) == (None, "the clients' table cannot be read")


def test_a_model_has_the_tensors_of_its_net(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    found = safetensors.numpy.load(model_of(path, "c"))
    shown = {name: tensor.tolist() for name, tensor in found.items()}
    assert shown == {"layer.weight": [[2.0] * 3] * 2, "layer.bias": [2.0] * 2}


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
    with Written(tmp_path / "run").folder, pytest.raises(InputError, match="there is no final model yet"):
        model_of(tmp_path / "run", "a")


def test_a_model_that_is_damaged_or_behind_a_link_is_not_given_away(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    rows = path / "models" / "rows.safetensors"
    content = rows.read_bytes()
    rows.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(Damaged, match="safetensors is damaged"):
        model_of(path, "a")
    (path / "models").rename(tmp_path / "aside")
    (path / "models").symlink_to(finished(tmp_path / "other") / "models")
    assert has_models(tmp_path / "other")
    assert not has_models(path)


def test_a_model_from_a_folder_whose_name_is_not_text(tmp_path: Path) -> None:
    run = finished(tmp_path / os.fsdecode(b"run-\xff"), ("a",), rounds=1)
    (tmp_path / "model").write_bytes(model_of(run, "a"))
    with safetensors.safe_open(tmp_path / "model", "numpy") as kept:
        assert kept.metadata() == {"client": "a", "run": "run-?"}


def test_a_real_net_gets_its_weights_back(tmp_path: Path) -> None:
    federation = fc.data.build(source="digits", world="iid", clients=3)
    run = fc.train(federation, fc.FedAvg(), net="mlp", rounds=1, lr=0.1, workers=0, out=tmp_path / "run")
    found = safetensors.numpy.load(model_of(tmp_path / "run", "client-01"))
    module = run.model_for("client-01")
    wanted = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    assert set(found) == set(wanted)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    module.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in found.items()})
