"""Scikit-learn's digits: real hand-written digits of 43 people, in the package, so that nothing is fetched."""

import numpy as np

from fedclade.data.examples import Pool, Source

MAX_PIXEL = 16  # each pixel counts the ink in a 4 x 4 block


def digits() -> Source:
    """1,797 images (1, 8, 8), from 0 to 1, of the classes 0 to 9."""
    from sklearn.datasets import load_digits  # 2 s: only when asked for

    images, labels = load_digits(return_X_y=True)
    inputs = (images / MAX_PIXEL).astype(np.float32).reshape(-1, 1, 8, 8)
    return Source("digits", Pool(inputs, labels.astype(np.int64)), classes=10)
