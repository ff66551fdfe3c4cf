"""Fashion-MNIST: 70,000 pieces of clothing in the form of MNIST (Xiao, Rasul, Vollgraf, 2017)."""

from fedclade.data.examples import Source
from fedclade.data.sources.idx import idx_pools
from fedclade.data.sources.mnist import IMAGES, LABELS, NAMES, TEST_IMAGES, TEST_LABELS
from fedclade.data.sources.source_files import Files

FILES = Files(
    source="fashion-mnist",
    layouts=(NAMES,),
    folders=("fashion-mnist",),
    origin="https://github.com/zalandoresearch/fashion-mnist",
    mirrors=(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",  # has no https; the md5 decides
    ),
    official={
        IMAGES: "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        LABELS: "25c81989df183df01b3e8a0aad5dffbe",
        TEST_IMAGES: "bef4ecab320f06d8554ea6380940ec79",
        TEST_LABELS: "bb300cfdad3c16e7a12a480ee83cd310",
    },
)
CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")


def fashion_mnist() -> Source:
    """60,000 and 10,000 images (1, 28, 28), light on dark, of ten kinds of clothing."""
    train, test = idx_pools(FILES.find_or_fetch().values(), classes=10)
    return Source("fashion-mnist", train, classes=10, test=test, class_names=CLASSES)
