"""CIFAR-10 and CIFAR-100: the binary archives, and mosaics of WebP."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from data.sources.making import cut, load, picture, put, tar_bytes
from fedclade.data.registry import SOURCES
from refusals import check_refused

NAMES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
IMAGES = np.random.default_rng(0).integers(0, 256, (12, 3, 32, 32), np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], np.uint8)


def records(images: NDArray[np.uint8], *labels: NDArray[np.uint8]) -> bytes:
    """Each record: its labels, then red, green and blue, row by row."""
    return b"".join(bytes(own) + image.tobytes() for image, *own in zip(images, *labels, strict=True))


def archive10(**other: bytes) -> bytes:
    """Two images in each of the six batches."""
    parts = {name: records(IMAGES[2 * at : 2 * at + 2], LABELS[2 * at : 2 * at + 2]) for at, name in enumerate(NAMES)}
    return tar_bytes({f"cifar-10-batches-bin/{name}.bin": content for name, content in {**parts, **other}.items()})


def put_mosaics(folder: Path) -> None:
    """The same images as mosaics of one row and two columns."""
    for at, name in enumerate(NAMES):
        left, right = IMAGES[2 * at : 2 * at + 2].transpose(0, 2, 3, 1)
        put(folder / f"{name}.webp", picture(np.hstack((left, right)), "WEBP"))
    np.savez(folder / "labels.npz", y_train=LABELS[:10], y_test=LABELS[10:])


@pytest.mark.parametrize("form", ["archive", "mosaics"])
def test_cifar10(folder: Path, form: str) -> None:
    if form == "archive":
        put(folder / "cifar10" / "cifar-10-binary.tar.gz", archive10())
    else:
        put_mosaics(folder / "cifar10")
    source, test = load("cifar10")
    for pool, part in ((source.train, slice(10)), (test, slice(10, None))):
        assert np.array_equal(pool.inputs, IMAGES[part])
        assert pool.labels.tolist() == LABELS[part].tolist()
    assert source.class_names[6] == "frog"


def test_a_mosaic_is_read_row_by_row_and_checked(folder: Path) -> None:
    """Two rows of two: the third image is below the first."""
    put_mosaics(folder / "cifar10")
    mosaic = np.zeros((64, 64, 3), np.uint8)
    mosaic[32:, :32] = 200
    put(folder / "cifar10" / "test_batch.webp", picture(mosaic, "WEBP"))
    np.savez(folder / "cifar10" / "labels.npz", y_train=LABELS[:10], y_test=LABELS[:4])
    assert load("cifar10")[1].inputs.max(axis=(1, 2, 3)).tolist() == [0, 0, 200, 0]
    put_mosaics(folder / "cifar10")
    np.savez(folder / "cifar10" / "labels.npz", y_train=LABELS[:9], y_test=LABELS[10:])
    check_refused(r"do not fit the images, .*labels\.npz: got 9 labels, need 10", SOURCES["cifar10"].load)
    np.savez(folder / "cifar10" / "labels.npz", y_train=LABELS[:10] + 1, y_test=LABELS[10:])
    check_refused(r"out of range, .*labels\.npz", SOURCES["cifar10"].load)
    put(folder / "cifar10" / "data_batch_1.webp", picture(np.zeros((33, 64, 3), np.uint8), "WEBP"))
    check_refused(r"wrong size, .*data_batch_1\.webp", SOURCES["cifar10"].load)


def test_wrong_archives(folder: Path) -> None:
    path = folder / "cifar10" / "cifar-10-binary.tar.gz"
    for content, said in (
        (tar_bytes({"a": b"1"}), "missing in the archive"),
        (archive10(test_batch=b"\0" * 3072), "wrong length"),
        (archive10(test_batch=b""), "wrong length"),
        (archive10(test_batch=b"\x0a" + b"\0" * 3072), "out of range"),
        (tar_bytes({"../data_batch_1.bin": b"1"}), "leads out of the archive"),
    ):
        put(path, content)
        check_refused(rf"{said}, .*cifar-10-binary\.tar\.gz", SOURCES["cifar10"].load)
    put(path, archive10())
    cut(path)
    check_refused("cannot be read", SOURCES["cifar10"].load)


def test_cifar100_takes_the_fine_label(folder: Path) -> None:
    names = [f"thing_{number}" for number in range(100)]
    coarse, fine = np.full(12, 7, np.uint8), LABELS * 11
    members = {
        "cifar-100-binary/train.bin": records(IMAGES[:10], coarse[:10], fine[:10]),
        "cifar-100-binary/test.bin": records(IMAGES[10:], coarse[10:], fine[10:]),
        "cifar-100-binary/fine_label_names.txt": "\n".join([*names, ""]).encode(),
    }
    path = put(folder / "cifar100" / "cifar-100-binary.tar.gz", tar_bytes(members))
    source, test = load("cifar100")
    assert source.train.labels.tolist() == fine[:10].tolist()
    assert np.array_equal(test.inputs, IMAGES[10:])
    assert (source.classes, source.class_names) == (100, tuple(names))
    put(path, tar_bytes({**members, "cifar-100-binary/fine_label_names.txt": b"one two"}))
    check_refused("class names do not fit", SOURCES["cifar100"].load)
