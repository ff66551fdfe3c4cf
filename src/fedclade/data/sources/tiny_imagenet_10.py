"""Tiny-ImageNet-10: ten classes of Tiny-ImageNet that CIFAR-10 does not have, 64 x 64 colour photographs.

A stand-in for CIFAR-100 where an encoder must be pretrained on other things than CIFAR-10.
"""

from pathlib import Path

import numpy as np

from fedclade.core import InputError
from fedclade.data.examples import Pool, Source
from fedclade.data.sources.bounded_reading import json_object, read_bounded, report_broken_file, tar_members
from fedclade.data.sources.pictures import pixels
from fedclade.data.sources.source_files import Files

ARCHIVE = "tiny-imagenet-10.tar.xz"
SIDE = 64
MAX_BYTES = 64 << 20  # bytes; the archive unpacks to 15e6
MAX_PICTURE_BYTES = 1 << 16  # bytes of one JPEG; its pixels are 12e3
CLASSES, ANNOTATIONS = "classes.json", "val_annotations.txt"

FILES = Files(
    source="tiny-imagenet-10",
    layouts=((ARCHIVE,),),
    folders=("tinyimagenet10", "tiny-imagenet-10", ""),
    origin="fedclade's own test data, ten classes of Tiny-ImageNet (http://cs231n.stanford.edu/tiny-imagenet-200.zip)",
)


def tiny_imagenet_10() -> Source:
    """5,000 and 500 images (3, 64, 64) of ten classes, in the order of their WordNet ids."""
    path = FILES.find_or_fetch()[ARCHIVE]
    members = {name.partition("/")[2]: inside for name, inside in tar_members(read_bounded(path, MAX_BYTES), path)}
    for name in (CLASSES, ANNOTATIONS):
        if name not in members:
            raise InputError("a file is missing in the archive", where=str(path), need=name)
    names = json_object(bytes(members[CLASSES]), f"{path}, {CLASSES}")
    number = {wordnet: label for label, wordnet in enumerate(sorted(names))}
    # train/n01443537/images/n01443537_0.JPEG, val/images/val_11.JPEG
    learned = {name: name.split("/")[1] for name in sorted(members) if name.startswith("train/")}
    with report_broken_file(f"{path}, {ANNOTATIONS}"):
        rows = [line.split("\t")[:2] for line in bytes(members[ANNOTATIONS]).decode().splitlines()]
        tested = {f"val/images/{name}": wordnet for name, wordnet in rows}
    train, test = (make_pool(part, members, number, path) for part in (learned, tested))
    called = tuple(str(names[wordnet]).partition(",")[0] for wordnet in number)
    return Source("tiny-imagenet-10", train, classes=len(number), test=test, class_names=called)


def make_pool(part: dict[str, str], members: dict[str, memoryview], number: dict[str, int], path: Path) -> Pool:
    """The pictures of these names and their classes."""
    if not part:
        raise InputError("the archive has no pictures", where=str(path), need="train/ and val/")
    images = np.empty((len(part), 3, SIDE, SIDE), np.uint8)
    for position, (name, wordnet) in enumerate(part.items()):
        where = f"{path}, {name}"
        if wordnet not in number or name not in members or len(members[name]) > MAX_PICTURE_BYTES:
            need = f"a picture under {MAX_PICTURE_BYTES:,} bytes, of a class in {CLASSES}"
            raise InputError("a picture does not fit", where=where, got=f"class {wordnet}", need=need)
        images[position] = pixels(bytes(members[name]), "JPEG", (SIDE, SIDE), where).transpose(2, 0, 1)
    return Pool(images, np.array([number[wordnet] for wordnet in part.values()], np.int64))
