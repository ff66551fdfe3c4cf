"""Commands about encoders."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cli.calling import call, parsed
from fedclade.nets.shelf import FORMAT, Kept, read, taken, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    listed = found["fashion-mnist"]
    assert isinstance(listed, dict)
    assert listed["sha256"] == taken("fashion-mnist").sha256
    code, out, _ = call("encoders list", capsys)
    assert code == 0
    assert kept.sha256[:12] in out
    assert call("encoders list -q", capsys)[1].split() == list(found)


def test_wrong_words_say_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call("encoders train digits --out own.pt", capsys)
    assert code == 2
    assert err.startswith("error: the file cannot be written, --out: got own.pt, need FOLDER/NAME.safetensors")
    code, _, err = call("encoders train digts", capsys)
    assert code == 2
    assert 'did you mean "digits"' in err


@pytest.mark.parametrize(
    "recipe", ["{}", '{"epochs": 3}', '{"epochs": "many", "held_out_mse": "low"}', '{"source": [1]}']
)
def test_an_odd_recipe_is_listed(recipe: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = Kept("embedding", np.ones(64, np.float32), {})
    write(here / "odd.safetensors", kept)
    words = {"format": FORMAT, "kind": kept.kind, "recipe": recipe, "sha256": kept.sha256}
    save_file(load_file(here / "odd.safetensors"), here / "odd.safetensors", words)
    code, out, _ = call("encoders list", capsys)
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("odd.safetensors")]
    assert "it does not say" in line
    assert "odd.safetensors" in parsed("encoders list --json", capsys)
