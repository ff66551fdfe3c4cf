"""Real measurements of cells, benign or malignant (Wolberg et al., 1995), which come with scikit-learn."""

import numpy as np

from fedclade.data import Pool, Source


def cells() -> Source:
    """569 samples of breast cells, 30 measurements, 2 classes (scikit-learn; nothing is fetched)."""
    from sklearn.datasets import load_breast_cancer  # only when it is asked for

    found = load_breast_cancer()
    inputs = (found.data - found.data.mean(axis=0)) / found.data.std(axis=0)
    pool = Pool(inputs.astype(np.float32), found.target.astype(np.int64))
    return Source("cells", pool, classes=2, class_names=tuple(map(str, found.target_names)))
