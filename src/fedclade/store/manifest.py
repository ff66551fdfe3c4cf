"""Manifests: the files that a folder must have, with their checksums, and a checksum of the manifest."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedclade.core import Damaged
from fedclade.store.durable_files import digest


def encode_manifest(manifest: Mapping[str, object]) -> bytes:
    """A manifest with its own checksum on the last line."""
    content = json.dumps(manifest, sort_keys=True).encode()
    return content + b"\n" + digest(content).encode() + b"\n"


def read_manifest(path: Path) -> dict[str, Any]:
    """A manifest. It is our own file: its form is known once its checksum is right."""
    try:
        content, seal, nothing = path.read_bytes().split(b"\n")
        if digest(content).encode() == seal and not nothing:
            manifest: dict[str, Any] = json.loads(content)
            return manifest
    except (OSError, ValueError):
        pass
    got = "content that does not match its checksum"
    raise Damaged("a manifest is damaged", where=str(path), got=got, need="it whole")


def verify_files(folder: Path, wanted: Mapping[str, object]) -> dict[str, bytes]:
    """The files of a folder, each read once and compared with its checksum."""
    files: dict[str, bytes] = {}
    for name, checksum in wanted.items():
        path = folder / name
        content = path.read_bytes() if path.is_file() else b""
        if digest(content) != checksum:
            got = f"SHA-256 {digest(content)[:12]}..." if path.is_file() else "no file"
            raise Damaged(f"{name} is damaged", where=str(path), got=got, need=f"{str(checksum)[:12]}...")
        files[name] = content
    return files
