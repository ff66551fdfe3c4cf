"""Tiny-ImageNet-10: classes by WordNet id, test labels by their list, pictures that do not fit."""

import lzma
from pathlib import Path

import numpy as np
import pytest

from data.sources.making import load, picture, tar_bytes
from fedclade.data.registry import SOURCES
from refusals import check_refused


def plain(grey: int, side: int = 64) -> bytes:
    return picture(np.full((side, side, 3), grey, np.uint8), "JPEG")


GOOD = {
    "classes.json": b'{"n2": "koala, koala bear", "n1": "goldfish"}',
    "val_annotations.txt": b"val_7.JPEG\tn2\t0\t0\t9\t9\nval_3.JPEG\tn1\t0\t0\t9\t9\n",
    "train/n2/images/n2_0.JPEG": plain(20),
    "train/n1/images/n1_1.JPEG": plain(11),
    "train/n1/images/n1_0.JPEG": plain(10),
    "val/images/val_3.JPEG": plain(3),
    "val/images/val_7.JPEG": plain(7),
}


def put_tar(folder: Path, members: dict[str, bytes]) -> None:
    (folder / "tinyimagenet10").mkdir(exist_ok=True)
    packed = lzma.compress(tar_bytes({f"tiny-imagenet-10/{name}": content for name, content in members.items()}))
    (folder / "tinyimagenet10" / "tiny-imagenet-10.tar.xz").write_bytes(packed)


def test_pictures_and_classes(folder: Path) -> None:
    put_tar(folder, GOOD)
    source, test = load("tiny-imagenet-10")
    assert source.train.inputs.dtype == np.uint8
    assert source.shape == (3, 64, 64)
    assert source.train.inputs[:, 0, 0, 0].tolist() == [10, 11, 20]
    assert source.train.labels.tolist() == [0, 0, 1]
    assert test.inputs[:, 2, 63, 63].tolist() == [7, 3]
    assert test.labels.tolist() == [1, 0]
    assert source.class_names == ("goldfish", "koala")
    red = np.zeros((64, 64, 3), np.uint8)
    red[..., 0] = 255
    put_tar(folder, {**GOOD, "train/n1/images/n1_0.JPEG": picture(red, "JPEG")})
    first = SOURCES["tiny-imagenet-10"].load().train.inputs[0].astype(int).mean(axis=(1, 2))
    assert first[0] > 250
    assert first[1:].max() < 5


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"train/n1/images/n1_0.JPEG": plain(1, side=128)}, "wrong size"),
        ({"train/n1/images/n1_0.JPEG": plain(1)[:200]}, "cannot be read"),
        ({"train/n1/images/n1_0.JPEG": b"no picture"}, "cannot be read"),
        ({"train/n1/images/n1_0.JPEG": plain(1) + b"\0" * 70_000}, "does not fit"),
        ({"train/n3/images/n3_0.JPEG": plain(1)}, "does not fit"),
        ({"train/stray": b""}, "does not fit"),
        ({"val_annotations.txt": b"val_9.JPEG\tn1\n"}, "does not fit"),
        ({"val_annotations.txt": b""}, "has no pictures"),
        ({"val_annotations.txt": b"one\n"}, "cannot be read"),
        ({"classes.json": b"["}, "cannot be read"),
        ({"classes.json": b"[]"}, "not a JSON object"),
        ({"../out": b""}, "leads out of the archive"),
    ],
)
def test_what_does_not_fit(folder: Path, other: dict[str, bytes], said: str) -> None:
    put_tar(folder, {**GOOD, **other})
    check_refused(rf"{said}, .*tiny-imagenet-10\.tar\.xz", SOURCES["tiny-imagenet-10"].load)


def test_lists_must_be_there(folder: Path) -> None:
    for name in ("classes.json", "val_annotations.txt"):
        put_tar(folder, {member: content for member, content in GOOD.items() if member != name})
        check_refused(f"missing in the archive, .*need {name}", SOURCES["tiny-imagenet-10"].load)
