"""Commands about attention networks."""

from pathlib import Path

import pytest

from cli.calling import call, parsed
from fedclade.nets.attention_files import open_attention

SMALL = "--clients 4 --examples 60 --rounds 4 --steps 1 --net logistic"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_is_trained_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(f"attention train digits {SMALL} --score attention+ --seed 2 --out own.safetensors", capsys)
    assert code == 0
    kept = open_attention("own.safetensors", "attention+")
    assert out.startswith(
        f"own.safetensors: attention+, temperature {kept.weights[0]:.3f}, checksum {kept.sha256[:12]}"
    )
    assert err.splitlines()[-1] == "digits: round 4/4"
    found = parsed("attention show own.safetensors --json", capsys)
    assert found["temperature"] == float(kept.weights[0])
    assert found["recipe"] == kept.recipe
    assert call("attention show -q", capsys)[1] == "attention+\n"


def test_the_papers_is_trained_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(f"attention train digits {SMALL} --reference 100 --head pooled --project 10 -q", capsys)
    assert (code, out) == (0, "digits-attention.safetensors\n")
    assert open_attention("digits-attention.safetensors").recipe["head"] == "pooled"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--head mean", "head is not usable, attention.head: got 'mean'"),
        ("--score best", "kind is not usable, attention.kind: got 'best'"),
        ("--out own.pt", "the file cannot be written, --out: got own.pt"),
        ("--net mlpp", 'did you mean "mlp"'),
    ],
)
def test_wrong_words_say_what_is_needed(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(f"attention train digits {words} --examples 60 --reference 100", capsys)
    assert code == 2
    assert message in err
