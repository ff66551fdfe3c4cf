"""MNIST: 70,000 hand-written digits (LeCun, Cortes, Burges)."""

from fedclade.data.examples import Source
from fedclade.data.sources.idx import idx_pools
from fedclade.data.sources.source_files import Files

IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
NAMES = (IMAGES, LABELS, TEST_IMAGES, TEST_LABELS)

FILES = Files(
    source="mnist",
    layouts=(NAMES,),
    folders=("mnist",),
    origin="https://ossci-datasets.s3.amazonaws.com/mnist/",
    mirrors=("https://ossci-datasets.s3.amazonaws.com/mnist/",),
    official={
        IMAGES: "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        LABELS: "d53e105ee54ea40749a09fcbcd1e9432",
        TEST_IMAGES: "9fb629c4189551a2d022fa330f9573f3",
        TEST_LABELS: "ec29112dd5afa0611ce80d1b7f02629c",
    },
)


def mnist() -> Source:
    """60,000 and 10,000 images (1, 28, 28), light on dark, of the classes 0 to 9."""
    train, test = idx_pools(FILES.find_or_fetch().values(), classes=10)
    return Source("mnist", train, classes=10, test=test, class_names=tuple("0123456789"))
