"""Files of weights that are made once: encoders and attention networks."""

from collections.abc import Callable
from pathlib import Path


def kept(path: Path, write: Callable[[Path], None]) -> Path:
    """The file; if it is not there, as it is written now. Somebody who is stopped leaves no half of it behind."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"new-{path.name}")
        write(aside)
        aside.replace(path)
    return path
