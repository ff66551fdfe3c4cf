"""A data folder and a cache of the test's own, and the real data where FEDCLADE_DATA names them."""

import os
from pathlib import Path

import pytest

from fedclade.data.sources import source_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty FEDCLADE_DATA; the cache is beside it, and no network can be reached."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("FEDCLADE_DATA", str(data))
    monkeypatch.setattr(source_files, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(variable, "localhost")
    return data


@pytest.fixture
def real() -> Path:
    """The folder with the real data; a name that leads nowhere is an error, not a reason to skip."""
    if not os.environ.get("FEDCLADE_DATA"):
        pytest.skip("FEDCLADE_DATA is not set: the real data are not here")
    found = source_files.data_folder()
    assert found is not None
    return found
