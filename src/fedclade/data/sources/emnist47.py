"""EMNIST-47: EMNIST's 47 merged classes, upright, in another split than the official 'balanced' one."""

from pathlib import Path

from fedclade.data.examples import Source
from fedclade.data.sources.finding import Files
from fedclade.data.sources.idx import idx_pools
from fedclade.data.sources.reading import reading, text
from fedclade.nouns import InputError

IMAGES, LABELS = "emnist47-train-images-idx3-ubyte.gz", "emnist47-train-labels-idx1-ubyte.gz"
TEST_IMAGES, TEST_LABELS = "emnist47-test-images-idx3-ubyte.gz", "emnist47-test-labels-idx1-ubyte.gz"
MAPPING = "emnist47-mapping.txt"

FILES = Files(
    source="emnist47",
    layouts=((IMAGES, LABELS, TEST_IMAGES, TEST_LABELS, MAPPING),),
    folders=("emnist", "emnist47", ""),
    origin="fedclade's own test data, made from EMNIST (the source emnist has the official split)",
)


def emnist47() -> Source:
    """95,495 and 7,050 images (1, 28, 28), light on dark, of 47 classes with 767 to 2,400 training images each."""
    paths = FILES.fetched()
    names = mapping(paths[MAPPING])
    files = (paths[IMAGES], paths[LABELS], paths[TEST_IMAGES], paths[TEST_LABELS])
    train, test = idx_pools(files, classes=len(names))
    return Source("emnist47", train, classes=len(names), test=test, class_names=names)


def mapping(path: Path) -> tuple[str, ...]:
    """The character of each class: a line has the class and the character's number in Unicode."""
    with reading(path):
        pairs = [(int(number), chr(int(code))) for number, code in map(str.split, text(path, 1 << 16).splitlines())]
    if not pairs or [number for number, _ in pairs] != list(range(len(pairs))):
        raise InputError("the classes are not numbered", where=str(path), need="0, 1, 2 ... one a line")
    return tuple(character for _, character in pairs)
