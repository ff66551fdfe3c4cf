"""Manifests: what files a folder must have, with their checksums, sealed by one of its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedclade.nouns import Damaged
from fedclade.runs.durable import digest


def sealed(manifest: Mapping[str, object]) -> bytes:
    """A manifest with its own checksum on the last line."""
    content = json.dumps(manifest, sort_keys=True).encode()
    return content + b"\n" + digest(content).encode() + b"\n"


def unsealed(path: Path) -> dict[str, Any]:
    """A manifest that is what was written: our own file, so its form is known once its checksum is right."""
    try:
        content, seal, nothing = path.read_bytes().split(b"\n")
        if digest(content).encode() == seal and not nothing:
            manifest: dict[str, Any] = json.loads(content)
            return manifest
    except (OSError, ValueError):
        pass
    raise Damaged(
        "a manifest is damaged", where=str(path), got="content that does not match its checksum", need="it whole"
    )


def verified(folder: Path, wanted: Mapping[str, object]) -> dict[str, bytes]:
    """The files of a folder, each read once and compared with its checksum."""
    files: dict[str, bytes] = {}
    for name, checksum in wanted.items():
        path = folder / name
        content = path.read_bytes() if path.is_file() else b""
        if digest(content) != checksum:
            raise Damaged(
                f"{name} is damaged",
                where=str(path),
                got=f"SHA-256 {digest(content)[:12]}..." if path.is_file() else "no file",
                need=f"{str(checksum)[:12]}...",
            )
        files[name] = content
    return files
