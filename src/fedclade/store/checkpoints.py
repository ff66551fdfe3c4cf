"""Checkpoints of a run: its state after a round, in a folder with a manifest of checksums."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.numpy

from fedclade.core import Damaged, InputError
from fedclade.store import files
from fedclade.store.durable_files import digest, write_folder
from fedclade.store.json_values import as_object
from fedclade.store.manifest import encode_manifest, read_manifest, verify_files
from fedclade.store.state_codec import StateArrays

CHECKPOINT_FORMAT = 4  # another one is refused
MAX_CHECKPOINTS = 2  # older ones are removed


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after a round."""

    round: int
    tree: object
    """The state of the method and of selection, as `fedclade.store.state_codec` packs it; likewise `arrays`."""
    arrays: StateArrays
    totals: Mapping[str, float]
    """Sums over the run so far: seconds, bytes."""


def folders_in(run: Path) -> list[Path]:
    """The folders of a run's checkpoints, the oldest first; other files there are ignored."""
    found = [path for path in (run / files.CHECKPOINTS_FOLDER).glob("round-*") if re.fullmatch(r"round-\d+", path.name)]
    return sorted((path for path in found if path.is_dir()), key=lambda path: int(path.name.removeprefix("round-")))


def write(run: Path, checkpoint: Checkpoint, marks: Mapping[str, object]) -> None:
    """Write a checkpoint, with the marks of the run's other files at this moment, and remove old ones."""
    content = {
        files.STATE_TREE_FILE: json.dumps(checkpoint.tree).encode(),
        files.STATE_ARRAYS_FILE: safetensors.numpy.save(checkpoint.arrays),
    }
    manifest = {
        "format": CHECKPOINT_FORMAT,
        "round": checkpoint.round,
        "files": {name: digest(each) for name, each in content.items()},
        "totals": dict(checkpoint.totals),
        **marks,
    }
    folder = run / files.CHECKPOINTS_FOLDER / f"round-{checkpoint.round:05d}"
    write_folder(folder, {**content, files.MANIFEST_FILE: encode_manifest(manifest)})
    for old in folders_in(run)[:-MAX_CHECKPOINTS]:
        shutil.rmtree(old)


def read(folder: Path) -> tuple[Checkpoint, dict[str, Any]]:
    """A checkpoint and its manifest."""
    manifest = read_manifest(folder / files.MANIFEST_FILE)
    if manifest["format"] != CHECKPOINT_FORMAT:
        raise InputError(
            "the run was made by another version of fedclade",
            where=str(folder),
            got=f"a checkpoint of format {manifest['format']}, fedclade {version_of(folder.parents[1])}",
            need=f"format {CHECKPOINT_FORMAT}",
            do="go on with the version that it was started with, or start it again",
        )
    content = verify_files(folder, manifest["files"])
    arrays = safetensors.numpy.load(content[files.STATE_ARRAYS_FILE])
    totals = {name: float(value) for name, value in manifest["totals"].items()}
    return Checkpoint(int(manifest["round"]), json.loads(content[files.STATE_TREE_FILE]), arrays, totals), manifest


def version_of(run: Path) -> str:
    """The version of fedclade that started a run, if the run has noted it."""
    packages = as_object((run / files.ENVIRONMENT_FILE).read_bytes()).get("packages")
    return str(packages.get("fedclade", "unknown")) if isinstance(packages, Mapping) else "unknown"


def remove_partial(run: Path) -> None:
    """Remove the checkpoint that was being written when the run was killed."""
    for partial in (run / files.CHECKPOINTS_FOLDER).glob(files.partial_name("round-*")):
        shutil.rmtree(partial, ignore_errors=True)


def newest(run: Path, *, repair: bool = False) -> tuple[Checkpoint, dict[str, Any]] | None:
    """The newest checkpoint and its manifest, or with `repair` the newest whole one; None if there is none at all."""
    found = folders_in(run)
    while found:
        try:
            return read(found.pop())
        except Damaged as error:
            if repair and found:
                continue
            whole = f", or go on from {found[-1].name}: fedclade resume --repair {run}" if found else ""
            do = f"restore it{whole}"
            raise Damaged(error.what, where=error.where, got=error.got, need=error.need, do=do) from None
    return None
