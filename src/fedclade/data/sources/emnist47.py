"""EMNIST-47: EMNIST's 47 merged classes, upright, in another split than the official 'balanced' one."""

from pathlib import Path

from fedclade.core import InputError
from fedclade.data.examples import Source
from fedclade.data.sources.bounded_reading import read_text, report_broken_file
from fedclade.data.sources.emnist import PARTS
from fedclade.data.sources.idx import idx_pools
from fedclade.data.sources.source_files import Files

MAPPING = "emnist47-mapping.txt"

FILES = Files(
    source="emnist47",
    layouts=((*(f"emnist47-{part}-ubyte.gz" for part in PARTS), MAPPING),),
    folders=("emnist", "emnist47", ""),
    origin="fedclade's own test data, made from EMNIST (the source emnist has the official split)",
)


def emnist47() -> Source:
    """95,495 and 7,050 images (1, 28, 28), light on dark, of 47 classes with 767 to 2,400 training images each."""
    *paths, mapping = FILES.find_or_fetch().values()
    names = read_mapping(mapping)
    train, test = idx_pools(paths, classes=len(names))
    return Source("emnist47", train, classes=len(names), test=test, class_names=names)


def read_mapping(path: Path) -> tuple[str, ...]:
    """The character of each class: a line has the class and the character's number in Unicode."""
    with report_broken_file(path):
        rows = [line.split() for line in read_text(path, 1 << 16).splitlines()]
        pairs = [(int(number), chr(int(code))) for number, code in rows]
    if not pairs or [number for number, _ in pairs] != list(range(len(pairs))):
        raise InputError("the classes are not numbered", where=str(path), need="0, 1, 2 ... one a line")
    return tuple(character for _, character in pairs)
