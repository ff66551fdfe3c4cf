"""The ClientApp of a site, and the site's own examples.

`app = client_app(load_data)`: examples are loaded by the user's function, checked, and kept while a run goes on. Flower
starts a new process for every message. So that a table is not parsed a hundred times, what `load_data` gave is written
to the site's own disk once a run, and read from there afterwards. It also means that a run sees the same examples from
its first round to its last.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
from platformdirs import user_cache_path
from pyarrow import feather

from fedclade.core import ClientId, InputError, checked_ids
from fedclade.data import ClientData
from fedclade.data.arrays import make_client_data
from fedclade.data.examples import Part, Pool
from fedclade.data.frames import arrow_table
from fedclade.data.sites import SiteData
from fedclade.data.tables import read_table
from fedclade.fleet.site import OwnNet, SiteClient

if TYPE_CHECKING:
    from fedclade.fleet.flower.apps import ClientApp

LoadedData: TypeAlias = object
LoadData = Callable[[Mapping[str, object]], LoadedData]
"""From a SuperNode's node-config to the examples of its site: a table, as a frame or as the path of a file; or (inputs,
labels); or both parts as a `ClientData`."""
TABLE_FILE = "table.arrow"
UNFINISHED_PREFIX = "new-"  # of a folder that is still being written
DAY_SECONDS = 86400.0  # seconds
TEST_SHARE = 0.2  # of (inputs, labels)


def client_app(load_data: LoadData, net: OwnNet | None = None) -> "ClientApp":
    """The ClientApp of a site. `net`: the function that makes the module, where the experiment names none."""
    from fedclade.fleet.flower import apps

    return apps.client_app(partial(find_client, load_data), net)


def find_client(load_data: LoadData, config: Mapping[str, object], run: str) -> SiteClient:
    """The client that this node is."""
    name = config.get("name")
    if not isinstance(name, str):
        need = 'name="...", the client\'s stable name'
        raise InputError("the site has no name", where="--node-config", got=repr(name), need=need)
    checked_ids([name], where="--node-config")
    data = load_once(name, run, lambda: to_site_data(load_data(config), name))
    return SiteClient(name, lambda _: data)


def to_site_data(loaded: LoadedData, name: ClientId) -> SiteData:
    """The result of `load_data` as a site's data. The enrolment checks that they fit the experiment."""
    if isinstance(loaded, ClientData):
        return loaded
    if isinstance(loaded, tuple):
        if len(loaded) != 2:
            got, need = f"{len(loaded)} parts", "(inputs, labels), a table or a ClientData"
            raise InputError("load_data gave something else", got=got, need=need)
        return make_client_data(name, loaded, test=TEST_SHARE, seed=0, where="load_data")
    if isinstance(loaded, str | Path):
        return read_table(Path(loaded))
    return arrow_table(loaded, "load_data")


def load_once(name: ClientId, run: str, load: Callable[[], SiteData]) -> SiteData:
    """The data of a run: from the disk, or loaded and written there. The last run of a site is kept."""
    site_folder = cache_folder() / hashlib.sha256(name.encode()).hexdigest()[:16]
    run_folder = site_folder / hashlib.sha256(run.encode()).hexdigest()[:16]
    with suppress(FileNotFoundError):  # not there yet, or another run has just taken its place
        return read_data(run_folder)
    data = load()
    site_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = Path(tempfile.mkdtemp(dir=site_folder, prefix=UNFINISHED_PREFIX))  # readable for this user alone
    write_data(aside, data)
    try:
        aside.rename(run_folder)
    except OSError:  # another process of this site was faster
        shutil.rmtree(aside, ignore_errors=True)
    for old in site_folder.iterdir():
        if old != run_folder and not (old.name.startswith(UNFINISHED_PREFIX) and age(old) < DAY_SECONDS):
            shutil.rmtree(old, ignore_errors=True)
    return data


def write_data(folder: Path, data: SiteData) -> None:
    """A site's data as files."""
    if isinstance(data, pa.Table):
        feather.write_feather(data, folder / TABLE_FILE)
        return
    for use, part in (("train", data.train), ("test", data.test)):
        np.save(folder / f"{use}-inputs.npy", storable_inputs(part))
        np.save(folder / f"{use}-labels.npy", part.labels)


def read_data(folder: Path) -> SiteData:
    """A site's data from these files."""
    if (folder / TABLE_FILE).exists():
        return feather.read_table(folder / TABLE_FILE)
    return ClientData(read_part(folder, "train"), read_part(folder, "test"))


def age(path: Path) -> float:
    """Seconds since a file was written there; 0 if it is gone."""
    with suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime
    return 0.0


def cache_folder() -> Path:
    """The folder for a site's examples: beside Flower's own files, or in the user's cache."""
    flower = os.environ.get("FLWR_HOME")
    return (Path(flower) if flower else user_cache_path("fedclade")) / "fedclade-sites"


def storable_inputs(part: Part) -> np.ndarray:
    """Inputs as a pool holds them: words in four bytes."""
    inputs = part.inputs
    return inputs.astype(np.int32) if inputs.dtype == np.int64 else inputs


def read_part(run_folder: Path, use: str) -> Part:
    """One part, from its files."""
    inputs = np.load(run_folder / f"{use}-inputs.npy", mmap_mode="r")
    labels = np.load(run_folder / f"{use}-labels.npy")
    return Part(Pool(inputs, labels), np.arange(len(labels), dtype=np.int64))
