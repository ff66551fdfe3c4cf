"""Attention networks as files: what was written comes back, and nothing else is let in."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from fedclade.core import InputError
from fedclade.nets import net_for
from fedclade.nets.attention_files import ATTENTION, open_attention
from fedclade.nets.weight_files import WeightFile, open_encoder, read, write
from fedclade_papers.attention_training.network import AttentionNetwork, row_of


def network() -> WeightFile:
    return WeightFile("attention", row_of(AttentionNetwork(3)), {"source": "nothing"})


def temperature(number: float = 2.5) -> WeightFile:
    return WeightFile("attention+", np.array([number], np.float32), {"source": "nothing"})


@pytest.mark.parametrize("kept", [network(), temperature()], ids=lambda kept: kept.kind)
def test_what_was_written_comes_back(kept: WeightFile, tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", kept, ATTENTION)
    again = open_attention(str(tmp_path / "a.safetensors"))
    assert (again.kind, again.recipe, again.weights.tolist()) == (kept.kind, kept.recipe, kept.weights.tolist())
    with pytest.raises(InputError, match='got a network of the kind "attention'):
        open_attention(str(tmp_path / "a.safetensors"), "attention+" if kept.kind == "attention" else "attention")


def test_tensors_have_the_names_and_forms_of_the_module(tmp_path: Path) -> None:
    module = AttentionNetwork(3)
    write(tmp_path / "a.safetensors", WeightFile("attention", row_of(module), {}), ATTENTION)
    found = load_file(tmp_path / "a.safetensors")
    state = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    assert set(found) == {name for name in state if name.split(".")[0] in ("encoder", "query", "key")}
    assert all(np.array_equal(found[name], state[name]) for name in found)


def forged(path: Path, kept: WeightFile, **changed: NDArray[np.float32]) -> None:
    """A file with other tensors, whose checksum is right for them."""
    write(path, kept, ATTENTION)
    tensors = {**load_file(path), **changed}
    row = np.concatenate([tensors[name].reshape(-1) for name in tensors])
    sha256 = WeightFile(kept.kind, row.astype(np.float32), {}).sha256
    metadata = {"format": ATTENTION.format, "kind": kept.kind, "recipe": "{}", "sha256": sha256}
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, path, metadata)


@pytest.mark.parametrize(
    ("kept", "changed", "message"),
    [
        (network(), {"query.weight": np.zeros((32, 31), np.float32)}, r'got \(32, 31\) for "query.weight", need \(32,'),
        (network(), {"encoder.0.weight": np.zeros(4, np.float32)}, r'for "encoder.0.weight", need \(512, 1\)'),
        (network(), {"more": np.zeros(4, np.float32)}, r'got \(4,\) for "more", need None'),
        (network(), {"key.bias": np.full(32, np.nan, np.float32)}, "need finite float32"),
        (network(), {"key.bias": np.zeros(32, np.float64)}, "float64, need finite float32"),
        (temperature(), {"temperature": np.zeros(1, np.float32)}, "got a temperature of 0, need over 0"),
        (temperature(), {"temperature": np.ones(2, np.float32)}, r'got \(2,\) for "temperature"'),
    ],
)
def test_what_does_not_fit_is_refused(
    kept: WeightFile, changed: dict[str, NDArray[np.float32]], message: str, tmp_path: Path
) -> None:
    forged(tmp_path / "a.safetensors", kept, **changed)
    with pytest.raises(InputError, match=message) as caught:
        open_attention(str(tmp_path / "a.safetensors"))
    assert caught.value.what == "the attention network is not usable"
    assert "fedclade attention train" in caught.value.do


def test_changed_weights_do_not_have_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write(path, temperature(), ATTENTION)
    metadata = {"format": ATTENTION.format, "kind": "attention+", "recipe": "{}", "sha256": temperature().sha256}
    save_file({"temperature": np.array([9], np.float32)}, path, metadata)
    with pytest.raises(InputError, match="got weights with checksum"):
        open_attention(str(path))


def test_an_encoder_is_no_attention_and_the_other_way_round(tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", WeightFile("embedding", np.ones(64, np.float32), {}))
    with pytest.raises(InputError, match='need "fedclade attention 1", one of attention, attention'):
        open_attention(str(tmp_path / "a.safetensors"))
    write(tmp_path / "b.safetensors", temperature(), ATTENTION)
    for use in (lambda path: read(path), lambda path: open_encoder(str(path), (1, 28, 28))):
        with pytest.raises(InputError, match='need "fedclade encoder 1"'):
            use(tmp_path / "b.safetensors")
    with pytest.raises(InputError, match="No such file"):
        open_attention(str(tmp_path / "c.safetensors"))


def test_the_shipped_one_is_what_its_recipe_says() -> None:
    kept = open_attention("attention+", "attention+")
    assert (kept.recipe["source"], kept.recipe["mix"], kept.recipe["rounds"]) == ("mnist", "2C-1", 300)
    assert 1 < kept.weights[0] < 10
    assert float(str(kept.recipe["held_out_error"])) < 0.85
    with pytest.raises(InputError, match=r'did you mean "attention'):
        open_attention("attentoin")


def test_the_shipped_paper_network_is_for_the_default_net_and_small() -> None:
    """mlp on digits: 64 x 200 + 200 weights and 200 x 10 + 10, which are projected to 128 numbers."""
    kept = open_attention("attention", "attention")
    assert (kept.recipe["net"], kept.recipe["source"], kept.recipe["seed"]) == ("mlp", "digits", 7)
    assert kept.recipe["numbers"] == 64 * 200 + 200 + 200 * 10 + 10 == net_for("mlp", (8, 8), 10).size
    layers = [(128, 512), (512, 128), (128, 32), (32, 32), (32, 32)]
    assert len(kept.weights) == sum((reads + 1) * outputs for reads, outputs in layers)
    assert 4 * len(kept.weights) < 600_000
    assert float(str(kept.recipe["held_out_mse"])) < 0.95
