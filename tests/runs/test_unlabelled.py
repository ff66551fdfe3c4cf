"""Reconstruction and next words from arrays alone."""

from pathlib import Path

import numpy as np
from torch import nn

import fedclade as fc
from refusals import check_refused


def bottleneck() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 1), nn.Linear(1, 4))


def test_an_autoencoder_learns_to_give_inputs_back(tmp_path: Path) -> None:
    """All inputs are multiples of (1, 2, -1, 0): one number is enough to give them back, and the mean is not."""
    rng = np.random.default_rng(0)
    arrays = {f"site-{number}": rng.normal(size=(100, 1)) * [1.0, 2.0, -1.0, 0.0] for number in range(4)}
    federation = fc.data.from_arrays(arrays, task="reconstruction")
    run = fc.train(federation, fc.FedAvg(), net=bottleneck, rounds=30, lr=0.1, workers=0, out=tmp_path / "run")
    spread = np.mean([held.test.inputs.var(axis=0).mean() for held in federation.data.values()])
    assert run.result["metric"] == "mse"
    assert isinstance(metrics := run.result["metrics"], dict)
    assert metrics["mse"] < 0.01 * spread
    again = fc.resume(run.path, federation=federation, net=bottleneck)
    assert again.result["model_hash"] == run.result["model_hash"]


def test_an_autoencoder_gives_as_many_numbers_as_it_gets(tmp_path: Path) -> None:
    federation = fc.data.from_arrays({"a": np.eye(4), "b": np.eye(4)}, task="reconstruction")
    said = r"does not fit the task: got outputs \(1, 1\), need \(1, 4\): as the inputs"
    check_refused(said, fc.train, federation, fc.FedAvg(), net=lambda: nn.Linear(4, 1), out=tmp_path / "run")
    run = fc.train(federation, fc.Local(), net="logistic", rounds=1, workers=0, out=tmp_path / "named")
    assert run.model_for("a")[1].out_features == 4  # type: ignore[index]  # a Sequential


def test_a_language_model_learns_what_follows(tmp_path: Path) -> None:
    """Words count up and begin again: what follows is known. Guessing among 10 words has perplexity 10."""
    starts = np.arange(60)[:, None] % 10
    texts = {name: 2 + (starts + np.arange(8)) % 10 for name in "ab"}
    federation = fc.data.from_arrays(texts, task="next-word")
    settings = {"predicts": "next-word", "vocabulary": 12, "embedding": 8, "hidden": 16}
    run = fc.train(
        *(federation, fc.FedAvg()),
        net="lstm",
        net_settings=settings,
        rounds=60,
        lr=1.0,
        workers=0,
        out=tmp_path / "run",
    )
    assert isinstance(metrics := run.result["metrics"], dict)
    assert metrics["perplexity"] < 5
    assert metrics["accuracy"] > 0.5
    plain = fc.data.from_arrays(texts, task="next-word")
    said = 'does not fit the task: .*need a language model: lstm with predicts = "next-word"'
    check_refused(
        said, fc.train, plain, fc.FedAvg(), net="lstm", net_settings={"vocabulary": 12}, out=tmp_path / "other"
    )
