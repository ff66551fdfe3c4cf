"""Pictures as bytes (height, width, 3); the size that the header tells is checked before anything is decoded."""

import io
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.data.sources.reading import reading
from fedclade.nouns import InputError


def pixels(picture: Path | bytes, kind: str, sizes: tuple[int, int], where: Path | str) -> NDArray[np.uint8]:
    """The picture in colours, of this kind ("JPEG"), each side a multiple of the first size and at most the second."""
    from PIL import Image  # 0.1 s: only when pictures are read

    step, most = sizes
    with reading(where), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # ours is the stricter check
        try:
            opened = Image.open(io.BytesIO(picture) if isinstance(picture, bytes) else picture, formats=(kind,))
        except Image.DecompressionBombError as wrong:
            raise ValueError(str(wrong)) from None
        with opened:
            if any(side % step or not 0 < side <= most for side in opened.size):
                need = f"sides of {step}" if step == most else f"sides of {step}, {2 * step} ... {most}"
                raise InputError("the picture has the wrong size", where=str(where), got=str(opened.size), need=need)
            return np.asarray(opened.convert("RGB"))
