"""A basis for all clients, from sums that say nothing of one of them: principal components of second moments."""

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import InputError, Rows


def principal(
    examples: int, total: NDArray[np.float64], products: NDArray[np.float64], components: int
) -> tuple[Rows, float]:
    """The mean and the first principal components, (1 + components, features), and their share of the variance.

    From the number of examples, their sum (features,) and the sum of their outer products (features, features). There
    are never more components than features. Each one's largest weight is positive, so that its sign is no chance.
    """
    if examples < 2:
        raise InputError("there is no basis of so few examples", got=str(examples), need="2 or more")
    mean = total / examples
    values, vectors = np.linalg.eigh(products / examples - np.outer(mean, mean))
    axes = vectors[:, ::-1][:, : min(components, len(mean))].T
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    explained = np.maximum(values[::-1], 0)
    share = float(explained[: len(axes)].sum() / explained.sum()) if explained.any() else 0.0
    return np.concatenate([mean[None], axes * np.sign(largest)]).astype(np.float32), share
