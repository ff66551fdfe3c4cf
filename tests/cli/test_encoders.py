"""Commands about encoders."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cli.calling import call, error_of, output_of, parsed
from fedclade.nets.weight_files import FORMAT, WeightFile, load_encoder, read, write


def test_one_is_trained_listed_and_used(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call("encoders train digits --epochs 1 --seed 3 --out own.safetensors", capsys)
    assert code == 0
    assert out.startswith("own.safetensors: convae, 51,577 weights, digits, 1 epochs, error 0.")
    assert err.startswith("digits: epoch 1/1, error on held-out images 0.")
    kept = read(here / "own.safetensors")
    assert (kept.recipe["source"], kept.recipe["epochs"], kept.recipe["seed"]) == ("digits", 1, 3)
    (here / "other.safetensors").write_bytes(b"something else")
    found = parsed("encoders list --json", capsys)
    assert list(found) == ["pixels", "public", "fashion-mnist", "own.safetensors"]
    assert found["fashion-mnist"]["sha256"] == load_encoder("fashion-mnist").sha256  # type: ignore[index]
    assert kept.sha256[:12] in output_of("encoders list", capsys)
    assert call("encoders list -q", capsys)[1].split() == list(found)


def test_a_kind_can_be_chosen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call("encoders train digits --kind convae-colour --epochs 1 --out own.safetensors", capsys)
    assert code == 0
    assert out.startswith("own.safetensors: convae-colour, 67,415 weights")
    assert read(here / "own.safetensors").kind == "convae-colour"
    assert 'did you mean "resae"' in error_of("encoders train digits --kind resea", capsys)


def test_wrong_words_say_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    err = error_of("encoders train digits --out own.pt", capsys)
    assert err.startswith("error: the file cannot be written, --out: got own.pt, need FOLDER/NAME.safetensors")
    assert 'did you mean "digits"' in error_of("encoders train digts", capsys)


@pytest.mark.parametrize(
    "recipe", ["{}", '{"epochs": 3}', '{"epochs": "many", "held_out_mse": "low"}', '{"source": [1]}']
)
def test_an_odd_recipe_is_listed(recipe: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = WeightFile("embedding", np.ones(64, np.float32), {})
    write(here / "odd.safetensors", kept)
    words = {"format": FORMAT, "kind": kept.kind, "recipe": recipe, "sha256": kept.sha256}
    save_file(load_file(here / "odd.safetensors"), here / "odd.safetensors", words)
    out = output_of("encoders list", capsys)
    (line,) = [line for line in out.splitlines() if line.startswith("odd.safetensors")]
    assert "it does not say" in line
    assert "odd.safetensors" in parsed("encoders list --json", capsys)
