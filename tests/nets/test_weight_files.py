"""Encoders as files: what was written comes back, and nothing else is let in."""

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fedclade.core import InputError
from fedclade.nets.convae import autoencoder
from fedclade.nets.encoders import encoder_named
from fedclade.nets.pretraining import pretrain_encoder
from fedclade.nets.weight_files import FORMAT, WeightFile, load_encoder, open_encoder, read, write

RNG = np.random.default_rng(0)


def vectors() -> WeightFile:
    return WeightFile("embedding", RNG.normal(size=5 * 32).astype(np.float32), {"source": "words"})


@pytest.mark.parametrize(
    "kept",
    [
        WeightFile("convae", autoencoder("convae").initial_row(1), {"source": "nothing"}),
        WeightFile("standardised", np.array([1, 2, 3, 4], np.float32), {"source": "a table", "examples": 9}),
        vectors(),
    ],
    ids=lambda kept: kept.kind,
)
def test_what_was_written_comes_back(kept: WeightFile, tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", kept)
    again = read(tmp_path / "a.safetensors")
    assert (again.kind, again.recipe, again.weights.tolist()) == (kept.kind, kept.recipe, kept.weights.tolist())


def changed(path: Path, **metadata: str | None) -> None:
    """A good file with other words in it."""
    kept = vectors()
    write(path, kept)
    words = {"format": FORMAT, "kind": kept.kind, "recipe": json.dumps(kept.recipe), "sha256": kept.sha256, **metadata}
    save_file(load_file(path), path, {name: word for name, word in words.items() if word is not None})


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"format": "something else"}, 'got format "something else"'),
        ({"kind": "os.system"}, 'kind "os.system", need "fedclade encoder 1", one of convae'),
        ({"kind": "convae"}, "need"),
        ({"sha256": "0" * 64}, "got weights with checksum"),
        ({"sha256": None}, "got weights with checksum"),
        ({"recipe": "["}, "got no recipe"),
        ({"recipe": "[" * 100_000}, "got no recipe"),
        ({"recipe": "7"}, "got no recipe"),
    ],
)
def test_a_file_that_says_something_else_is_refused(metadata: dict[str, str], message: str, tmp_path: Path) -> None:
    changed(tmp_path / "a.safetensors", **metadata)
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read(tmp_path / "a.safetensors")


@pytest.mark.parametrize(
    ("kind", "numbers", "message"),
    [
        ("standardised", [1, 0], "a scale of 0"),
        ("standardised", [1, np.nan], "need finite float32"),
        ("embedding", [], "0 numbers"),
    ],
)
def test_numbers_that_cannot_be_used_are_refused(kind: str, numbers: list[float], message: str, tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", WeightFile(kind, np.array(numbers, np.float32), {}))
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.safetensors")


def test_of_a_recipe_only_what_can_be_shown_is_kept(tmp_path: Path) -> None:
    odd = {"source": "a\x1b[31m\nb", "in\rside": 3, "mse": float("nan"), "list": [1], "deep": {"a": {}}, "no": None}
    changed(tmp_path / "a.safetensors", recipe=json.dumps(odd))
    assert read(tmp_path / "a.safetensors").recipe == {"source": "a[31mb", "inside": 3}
    changed(tmp_path / "b.safetensors", recipe="{}")
    assert read(tmp_path / "b.safetensors").recipe == {}


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pickle").write_bytes(pickle.dumps({"weights": [1.0]}))
    words = {"format": FORMAT, "kind": "embedding"}
    save_file({"vectors": np.zeros((2, 31), np.float32)}, tmp_path / "narrow", words)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("pickle", "need safetensors"),
        ("narrow", r'got \(2, 31\) for "vectors", need \(2, 32\)'),
        ("missing", "No such file"),
        ("folder", "got a folder, need a file"),
        ("pipe", "got something else, need a file"),
        ("a\0b", "the encoder is not usable"),
        ("a" * 5000, "the encoder is not usable"),
    ):
        with pytest.raises(InputError, match=message):
            read(tmp_path / name)


def test_vectors_of_words_are_for_texts(tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", vectors())
    assert open_encoder(str(tmp_path / "a.safetensors"), (9,)).width == 32
    with pytest.raises(InputError, match=r"got examples of shape \(1, 28, 28\), need texts"):
        open_encoder(str(tmp_path / "a.safetensors"), (1, 28, 28))


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "fashion-mnist"'):
        open_encoder("fashion-mnst", (1, 28, 28))


def test_the_shipped_one_is_what_its_recipe_says() -> None:
    kept = load_encoder("fashion-mnist")
    assert kept.kind == "convae"
    assert kept.recipe["source"] == "fashion-mnist"
    assert kept.recipe["examples"] == 60_000
    assert float(str(kept.recipe["held_out_mse"])) < 0.015
    found = open_encoder("fashion-mnist", (1, 28, 28))
    assert (found.kind, found.width, len(found.weights), found.encoder_size) == ("convae", 128, 51_577, 25_956)


def test_where_there_are_no_images_examples_are_taken_as_they_are() -> None:
    found = open_encoder("fashion-mnist", (7,))
    assert (found.kind, found.width, len(found.weights)) == ("public", 7, 0)


def test_tables_are_standardised(tmp_path: Path) -> None:
    """By hand: means 2 and 5, deviations 1 and 0, which counts as 1."""
    kept = pretrain_encoder(np.array([[1, 5], [3, 5]], np.float32), source="a table", epochs=1, seed=0, progress=print)
    assert (kept.kind, kept.weights.tolist()) == ("standardised", [2, 5, 1, 1])
    encoded = encoder_named("standardised", kept.weights).encode(np.array([[4, 5], [2, 7]], np.float32))
    assert encoded.tolist() == [[2, 0], [0, 2]]
    write(tmp_path / "a.safetensors", kept)
    assert open_encoder(str(tmp_path / "a.safetensors"), (2,)).width == 2
    with pytest.raises(InputError, match="got 2 features, need 3"):
        open_encoder(str(tmp_path / "a.safetensors"), (3,))


def test_texts_are_the_mean_of_their_words() -> None:
    """Words that stand in the same texts have near vectors; fillers and unknown words count nowhere.

    By hand: words 1 and 2 stand (2, 1) and (1, 3) times in two texts, log(1 + n) of which have a cosine of 0.855.
    """
    texts = np.array([[1, 2, 1, 0], [2, 1, 2, 2], [3, 4, 0, 0], [4, 3, 3, 0]] * 3, np.int64)
    kept = pretrain_encoder(texts, source="texts", epochs=1, seed=0, progress=print)
    words = kept.weights.reshape(-1, 32)
    assert words.shape == (5, 32)
    likeness = words @ words.T
    assert likeness[1, 2] == pytest.approx(0.8555, abs=1e-4)
    assert abs(likeness[1, 3]) < 1e-5
    encoded = encoder_named("embedding", kept.weights).encode(np.array([[1, 2, 0, 99], [0, 0, 0, 0]], np.int64))
    np.testing.assert_allclose(encoded, [(words[1] + words[2]) / 2, np.zeros(32)], rtol=0, atol=1e-6)


def test_pretraining_learns_and_is_a_function_of_its_seed() -> None:
    """Stripes in four directions: the error falls with every epoch, and the last one is kept."""
    ramp = np.sin(np.arange(28) / 2)[None].repeat(28, axis=0) / 2 + 0.5
    some = np.stack([np.rot90(ramp, turns) for turns in RNG.integers(4, size=140)]).astype(np.float32)[:, None]
    errors: dict[int, float] = {}
    one = pretrain_encoder(some, source="stripes", epochs=6, seed=1, progress=errors.__setitem__)
    again = pretrain_encoder(some, source="stripes", epochs=6, seed=1, progress=lambda *_: None)
    assert one.sha256 == again.sha256
    assert list(errors) == list(range(1, 7))
    assert one.recipe["held_out_mse"] == errors[6]
    assert list(errors.values()) == sorted(errors.values(), reverse=True)
    other = pretrain_encoder(some, source="stripes", epochs=1, seed=2, progress=lambda *_: None)
    assert other.sha256 != one.sha256
