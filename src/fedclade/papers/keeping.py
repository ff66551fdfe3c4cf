"""Files of weights that are made once: encoders and attention networks."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from fedclade.runs.durable import write_file


def kept(path: Path, write: Callable[[Path], None]) -> Path:
    """The file; if it is not there, as it is written now. Somebody who is stopped leaves no half of it behind."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:
            aside = Path(folder) / path.name
            write(aside)
            write_file(path, aside.read_bytes())
    return path
