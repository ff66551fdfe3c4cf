"""Commands about encoders."""

from pathlib import Path

import pytest

from cli.calling import call, parsed
from fedclade.nets.shelf import read, taken


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
