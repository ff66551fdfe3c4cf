"""How the files in `shipped/` were made, so that anybody can make them again from the public data.

The autoencoder: `fedclade encoders train fashion-mnist --epochs 5 --out fashion-mnist-convae.safetensors`. The basis:
"""

import numpy as np
from numpy.typing import NDArray

from fedclade.nets.encoders import COMPONENTS


def basis_of(images: NDArray[np.uint8]) -> dict[str, NDArray[np.float16]]:
    """The mean and the first principal components of these images, pixels from 0 to 1; largest entries are positive."""
    flat = images.reshape(len(images), -1).astype(np.float64) / 255
    _, vectors = np.linalg.eigh(np.cov(flat.T))
    components = vectors[:, ::-1].T[:COMPONENTS]
    signs = np.sign(components[np.arange(COMPONENTS), np.abs(components).argmax(axis=1)])
    arrays = {"mean": flat.mean(axis=0), "components": signs[:, None] * components}
    return {name: np.ascontiguousarray(array, np.float16) for name, array in arrays.items()}
