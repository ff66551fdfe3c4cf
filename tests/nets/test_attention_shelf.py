"""Attention networks as files: what was written comes back, and nothing else is let in."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fedclade.nets.attention import Network, row_of
from fedclade.nets.attention_shelf import ATTENTION, attending
from fedclade.nets.shelf import Kept, opened, read, write
from fedclade.nouns import InputError


def network() -> Kept:
    return Kept("attention", row_of(Network(3)), {"source": "nothing"})


def temperature(number: float = 2.5) -> Kept:
    return Kept("attention+", np.array([number], np.float32), {"source": "nothing"})


@pytest.mark.parametrize("kept", [network(), temperature()], ids=lambda kept: kept.kind)
def test_what_was_written_comes_back(kept: Kept, tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", kept, ATTENTION)
    again = attending(str(tmp_path / "a.safetensors"))
    assert (again.kind, again.recipe, again.weights.tolist()) == (kept.kind, kept.recipe, kept.weights.tolist())
    with pytest.raises(InputError, match='got a network of the kind "attention'):
        attending(str(tmp_path / "a.safetensors"), "attention+" if kept.kind == "attention" else "attention")


def test_tensors_have_the_names_and_forms_of_the_module(tmp_path: Path) -> None:
    module = Network(3)
    write(tmp_path / "a.safetensors", Kept("attention", row_of(module), {}), ATTENTION)
    found = load_file(tmp_path / "a.safetensors")
    state = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    assert set(found) == {name for name in state if name.split(".")[0] in ("encoder", "query", "key")}
    assert all(np.array_equal(found[name], state[name]) for name in found)


def forged(path: Path, kept: Kept, **changed: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    """A file with other tensors, whose checksum is right for them."""
    write(path, kept, ATTENTION)
    tensors = {**load_file(path), **changed}
    row = np.concatenate([tensors[name].reshape(-1) for name in tensors])
    sha256 = Kept(kept.kind, row.astype(np.float32), {}).sha256
    told = {"format": ATTENTION.format, "kind": kept.kind, "recipe": "{}", "sha256": sha256}
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, path, told)


@pytest.mark.parametrize(
    ("kept", "changed", "wrong"),
    [
        (
            network(),
            {"query.weight": np.zeros((32, 31), np.float32)},
            r'got \(32, 31\) for "query.weight", need \(32, 32\)',
        ),
        (network(), {"encoder.0.weight": np.zeros(4, np.float32)}, r'for "encoder.0.weight", need \(512, 1\)'),
        (network(), {"more": np.zeros(4, np.float32)}, r'got \(4,\) for "more", need None'),
        (network(), {"key.bias": np.full(32, np.nan, np.float32)}, "need finite float32"),
        (network(), {"key.bias": np.zeros(32, np.float64)}, "float64, need finite float32"),
        (temperature(), {"temperature": np.zeros(1, np.float32)}, "got a temperature of 0, need over 0"),
        (temperature(), {"temperature": np.ones(2, np.float32)}, r'got \(2,\) for "temperature"'),
    ],
)
def test_what_does_not_fit_is_refused(
    kept: Kept, changed: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]], wrong: str, tmp_path: Path
) -> None:
    forged(tmp_path / "a.safetensors", kept, **changed)
    with pytest.raises(InputError, match=wrong) as caught:
        attending(str(tmp_path / "a.safetensors"))
    assert caught.value.what == "the attention network is not usable"
    assert "fedclade attention train" in caught.value.do


def test_changed_weights_do_not_have_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write(path, temperature(), ATTENTION)
    told = {"format": ATTENTION.format, "kind": "attention+", "recipe": json.dumps({}), "sha256": temperature().sha256}
    save_file({"temperature": np.array([9], np.float32)}, path, told)
    with pytest.raises(InputError, match="got weights with checksum"):
        attending(str(path))


def test_an_encoder_is_no_attention_and_the_other_way_round(tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", Kept("embedding", np.ones(64, np.float32), {}))
    with pytest.raises(InputError, match='need "fedclade attention 1", one of attention, attention'):
        attending(str(tmp_path / "a.safetensors"))
    write(tmp_path / "b.safetensors", temperature(), ATTENTION)
    for use in (lambda path: read(path), lambda path: opened(str(path), (1, 28, 28))):
        with pytest.raises(InputError, match='need "fedclade encoder 1"'):
            use(tmp_path / "b.safetensors")
    with pytest.raises(InputError, match="No such file"):
        attending(str(tmp_path / "c.safetensors"))


def test_the_shipped_one_is_what_its_recipe_says() -> None:
    kept = attending("attention+", "attention+")
    assert (kept.recipe["source"], kept.recipe["mix"], kept.recipe["rounds"]) == ("mnist", "2C-1", 300)
    assert 1 < kept.weights[0] < 10
    assert float(str(kept.recipe["held_out_error"])) < 0.85
    with pytest.raises(InputError, match=r'did you mean "attention\+"'):
        attending("attention")
