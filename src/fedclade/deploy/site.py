"""A site's own examples: loaded by the user's function, checked, and kept for as long as a run goes on.

Flower starts a new process for every message. So that a table is not parsed a hundred times, what `load_data` gave is
written to the site's own disk once a run, and read from there afterwards. It also means that a run sees the same
examples from its first round to its last.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from platformdirs import user_cache_path

from fedclade.data import ClientData
from fedclade.data.arrays import held_by
from fedclade.data.examples import Part, Pool
from fedclade.fleet.site import Held
from fedclade.nouns import ClientId, InputError, checked_ids

Loaded = ClientData | tuple[ArrayLike, ArrayLike]
LoadData = Callable[[Mapping[str, object]], Loaded]
"""From a SuperNode's node-config to the examples of its site: (inputs, labels), or both parts as a `ClientData`."""
UNFINISHED = "new-"  # how the name of a folder begins that is still being written
A_DAY = 86400.0  # seconds
TEST_SHARE = 0.2  # of (inputs, labels)


def find(load_data: LoadData, config: Mapping[str, object], run: str) -> Held:
    """The client that this node is."""
    name = config.get("name")
    if not isinstance(name, str):
        raise InputError(
            "the site has no name", where="--node-config", got=repr(name), need='name="...", the client\'s stable name'
        )
    checked_ids([name], where="--node-config")
    data = kept(name, run, lambda: made_of(load_data(config), name))
    return Held(name, lambda _: data)


def made_of(loaded: Loaded, name: ClientId) -> ClientData:
    """What `load_data` gave, as a client's data. That they fit the experiment is checked at the enrolment."""
    if isinstance(loaded, ClientData):
        return loaded
    if not isinstance(loaded, tuple) or len(loaded) != 2:
        raise InputError(
            "load_data gave something else", got=type(loaded).__name__, need="(inputs, labels) or a ClientData"
        )
    return held_by(name, loaded, test=TEST_SHARE, seed=0, where="load_data")


def kept(name: ClientId, run: str, load: Callable[[], ClientData]) -> ClientData:
    """The examples of a run: from the disk, or loaded and written there. The last run of a site is kept."""
    home = cache() / hashlib.sha256(name.encode()).hexdigest()[:16]
    place = home / hashlib.sha256(run.encode()).hexdigest()[:16]
    with suppress(FileNotFoundError):  # not there yet, or another run has just taken its place
        return ClientData(read(place, "train"), read(place, "test"))
    data = load()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = Path(tempfile.mkdtemp(dir=home, prefix=UNFINISHED))  # readable for this user alone
    for use, part in (("train", data.train), ("test", data.test)):
        np.save(aside / f"{use}-inputs.npy", stored(part))
        np.save(aside / f"{use}-labels.npy", part.labels)
    try:
        aside.rename(place)
    except OSError:  # another process of this site was faster
        shutil.rmtree(aside, ignore_errors=True)
    for old in home.iterdir():
        if old != place and not (old.name.startswith(UNFINISHED) and age(old) < A_DAY):
            shutil.rmtree(old, ignore_errors=True)
    return data


def age(path: Path) -> float:
    """Seconds since something was written there; none if it is gone."""
    with suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime
    return 0.0


def cache() -> Path:
    """Where a site keeps its examples: beside Flower's own files, or in the user's cache."""
    flower = os.environ.get("FLWR_HOME")
    return (Path(flower) if flower else user_cache_path("fedclade")) / "fedclade-sites"


def stored(part: Part) -> np.ndarray:
    """Inputs as a pool holds them: words in four bytes."""
    inputs = part.inputs
    return inputs.astype(np.int32) if inputs.dtype == np.int64 else inputs


def read(place: Path, use: str) -> Part:
    """One part, from its files."""
    inputs = np.load(place / f"{use}-inputs.npy", mmap_mode="r")
    labels = np.load(place / f"{use}-labels.npy")
    return Part(Pool(inputs, labels), np.arange(len(labels), dtype=np.int64))
