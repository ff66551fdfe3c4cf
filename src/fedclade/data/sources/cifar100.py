"""CIFAR-100: 60,000 small colour photographs of a hundred things (Krizhevsky, 2009), by their fine labels."""

from fedclade.core import InputError
from fedclade.data.examples import Source
from fedclade.data.sources.bounded_reading import report_broken_file
from fedclade.data.sources.cifar import cifar_members, cifar_pool
from fedclade.data.sources.source_files import Files

ARCHIVE = "cifar-100-binary.tar.gz"
TRAIN, TEST, NAMES = "train.bin", "test.bin", "fine_label_names.txt"
CLASSES = 100

FILES = Files(
    source="cifar100",
    layouts=((ARCHIVE,),),
    folders=("cifar100", ""),
    origin="https://www.cs.toronto.edu/~kriz/cifar.html ('binary version')",
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    official={ARCHIVE: "03b5dce01913d631647c71ecec9e9cb8"},
    pickle_files=("cifar-100-python.tar.gz", "cifar-100-python"),
)


def cifar100() -> Source:
    """50,000 and 10,000 images (3, 32, 32) of a hundred classes."""
    path = FILES.find_or_fetch()[ARCHIVE]
    members = cifar_members(path, (TRAIN, TEST, NAMES))
    with report_broken_file(path):
        names = tuple(bytes(members[NAMES]).decode().split())
    if len(names) != CLASSES:
        raise InputError("the class names do not fit", where=str(path), got=str(len(names)), need=str(CLASSES))
    # A record begins with the coarse label and the fine one.
    train, test = (cifar_pool([members[name]], 2, CLASSES, path) for name in (TRAIN, TEST))
    return Source("cifar100", train, classes=CLASSES, test=test, class_names=names)
