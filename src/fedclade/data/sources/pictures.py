"""Pictures as bytes (height, width, 3); the size that the header tells is checked before anything is decoded."""

import io
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.sources.bounded_reading import report_broken_file


def pixels(picture: Path | bytes, kind: str, sizes: tuple[int, int], where: Path | str) -> NDArray[np.uint8]:
    """The picture in colours, of this kind ("JPEG"), each side a multiple of the first size and at most the second."""
    from PIL import Image  # 0.1 s: only when pictures are read

    step, max_side = sizes
    with report_broken_file(where), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # ours is the stricter check
        try:
            opened = Image.open(io.BytesIO(picture) if isinstance(picture, bytes) else picture, formats=(kind,))
        except Image.DecompressionBombError as error:
            raise ValueError(str(error)) from None
        with opened:
            if any(side % step or not 0 < side <= max_side for side in opened.size):
                need = f"sides of {step}" if step == max_side else f"sides of {step}, {2 * step} ... {max_side}"
                raise InputError("the picture has the wrong size", where=str(where), got=str(opened.size), need=need)
            return np.asarray(opened.convert("RGB"))
