"""EMNIST: turned upright, out of files or out of the official zip; EMNIST-47 as it is."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from data.sources.making import cut, load, put, put_idx
from fedclade.data.registry import SOURCES
from refusals import check_refused

OFFICIAL = tuple(
    f"emnist-balanced-{part}-ubyte.gz"
    for part in ("train-images-idx3", "train-labels-idx1", "test-images-idx3", "test-labels-idx1")
)
FORTY_SEVEN = tuple(name.replace("-balanced", "47") for name in OFFICIAL)


def zip_official(folder: Path, names: tuple[str, ...] = OFFICIAL) -> Path:
    with zipfile.ZipFile(folder / "gzip.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(f"gzip/{name}", (folder / name).read_bytes())
    for name in OFFICIAL:
        (folder / name).unlink()
    return folder / "gzip.zip"


@pytest.mark.parametrize("zipped", [False, True])
def test_rows_and_columns_are_exchanged_back(folder: Path, zipped: bool) -> None:
    images, _, test_images, _ = put_idx(folder / "emnist", OFFICIAL, train=47)
    if zipped:
        zip_official(folder / "emnist")
    source, test = load("emnist")
    assert source.classes == 47
    assert source.train.inputs[2, 0, 5, 20] == images[2, 20, 5]
    assert np.array_equal(source.train.inputs[:, 0], np.transpose(images, (0, 2, 1)))
    assert np.array_equal(test.inputs[:, 0], np.transpose(test_images, (0, 2, 1)))
    assert source.train.labels.tolist() == list(range(47))
    assert (source.class_names[10], source.class_names[36], source.class_names[46]) == ("A", "a", "t")


def test_broken_zips(folder: Path) -> None:
    """A file is missing; cut short; with a password."""
    put_idx(folder / "emnist", OFFICIAL)
    path = zip_official(folder / "emnist", OFFICIAL[:3])
    check_refused(r"missing in the archive, .*gzip\.zip: need emnist-balanced-test-labels", SOURCES["emnist"].load)
    cut(path)
    check_refused(r"cannot be read, .*gzip\.zip", SOURCES["emnist"].load)
    put_idx(folder / "emnist", OFFICIAL)
    path = zip_official(folder / "emnist")
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := content.find(signature, start + 1)) >= 0:
            content[start + flags] |= 1
    path.write_bytes(content)
    check_refused(r"cannot be read, .*gzip\.zip", SOURCES["emnist"].load)


def test_emnist47_is_upright_already(folder: Path) -> None:
    images, _, _, _ = put_idx(folder / "emnist", FORTY_SEVEN, train=3, test=2)
    mapping = put(folder / "emnist" / "emnist47-mapping.txt", b"0 48\n1 65\n2 97\n")
    source = SOURCES["emnist47"].load()
    assert np.array_equal(source.train.inputs[:, 0], images)
    assert (source.classes, source.class_names) == (3, ("0", "A", "a"))
    for content in (b"", b"0 48\n2 50\n", b"0 48 9\n", b"0 x\n", b"0 99999999999999999999\n"):
        mapping.write_bytes(content)
        check_refused(r"emnist47-mapping\.txt", SOURCES["emnist47"].load)
