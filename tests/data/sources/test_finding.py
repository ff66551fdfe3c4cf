"""Files are looked for in FEDCLADE_DATA, then in the cache, then on the network; else the error says what to do."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fedclade.data.registry import SOURCES
from fedclade.data.sources.cifar10 import FILES as CIFAR10
from fedclade.data.sources.finding import Files
from fedclade.nouns import InputError

CONTENT = b"official bytes"
FILES = Files(
    source="small",
    layouts=(("a", "b"), ("all.zip",)),
    folders=("small_folder", "small", ""),
    origin="its authors",
    official={"all.zip": hashlib.md5(CONTENT).hexdigest()},
    mirrors=("http://127.0.0.1:9/",),
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def mirror(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A real server of one file, and its address."""
    assert folder
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "all.zip").write_bytes(CONTENT)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_the_order_of_places(folder: Path) -> None:
    assert FILES.found() is None
    touch(FILES.cache / "a", FILES.cache / "b")
    assert FILES.found() == {"a": FILES.cache / "a", "b": FILES.cache / "b"}
    touch(folder / "all.zip")
    assert FILES.found() == {"all.zip": folder / "all.zip"}
    touch(folder / "small" / "a", folder / "small" / "b")
    assert FILES.found() == {"a": folder / "small" / "a", "b": folder / "small" / "b"}
    assert FILES.home() == str(folder / "small")
    assert FILES.fetched() == FILES.found()  # nothing is asked of the network


def test_half_a_layout_is_none(folder: Path) -> None:
    touch(folder / "small" / "a", FILES.cache / "b")
    assert FILES.found() is None
    with pytest.raises(InputError, match=f"got {folder / 'small'} without b"):
        FILES.fetched()


def test_without_the_variable_only_the_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(folder / "all.zip")
    monkeypatch.setenv("FEDCLADE_DATA", "")
    assert FILES.found() is None
    monkeypatch.delenv("FEDCLADE_DATA")
    assert FILES.found() is None
    assert FILES.home() == str(FILES.cache)
    with pytest.raises(InputError, match="the folder small_folder of a folder that FEDCLADE_DATA names"):
        FILES.fetched()


def test_a_variable_that_leads_nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDCLADE_DATA", str(folder / "none"))
    with pytest.raises(InputError, match="FEDCLADE_DATA is not a folder"):
        FILES.found()


def test_a_file_is_fetched_once_and_checked(mirror: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = replace(FILES, mirrors=(mirror,))
    assert files.fetched() == {"all.zip": files.cache / "all.zip"}
    assert (files.cache / "all.zip").read_bytes() == CONTENT
    (tmp_path / "served" / "all.zip").unlink()
    assert files.fetched() == files.found()
    assert capfd.readouterr() == ("", "")  # no bar where nobody looks


def test_the_next_mirror_is_tried(mirror: str) -> None:
    replace(FILES, mirrors=(f"{mirror}nowhere/", mirror)).fetched()


@pytest.mark.usefixtures("folder")
def test_no_network() -> None:
    with pytest.raises(InputError, match=r"all\.zip: no connection") as caught:
        FILES.fetched()
    assert "small_folder" in str(caught.value)
    assert str(FILES.cache) in str(caught.value)
    assert FILES.found() is None


def test_another_file_than_the_published_one(mirror: str, tmp_path: Path) -> None:
    (tmp_path / "served" / "all.zip").write_bytes(b"something else")
    files = replace(FILES, mirrors=(mirror,))
    with pytest.raises(InputError, match="not the published file"):
        files.fetched()
    assert files.found() is None


def test_no_such_file_on_the_mirror(mirror: str) -> None:
    with pytest.raises(InputError, match="404 Client Error"):
        replace(FILES, mirrors=(f"{mirror}nowhere/",)).fetched()


def test_a_bar_where_somebody_looks(
    mirror: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    replace(FILES, mirrors=(mirror,)).fetched()
    shown = capsys.readouterr()
    assert "all.zip" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "digits"])
def test_every_source_says_what_to_put_where(name: str, folder: Path, tmp_path: Path) -> None:
    known = SOURCES[name]
    assert not known.here()
    assert str(folder) in known.where()
    for act in (known.load, known.fetch):
        with pytest.raises(InputError, match="files are not here") as caught:
            act()
        said = str(caught.value)
        assert "\n" not in said
        assert str(folder) in said
        assert str(tmp_path / "cache") in said


def test_digits_need_no_files() -> None:
    assert SOURCES["digits"].here()
    assert SOURCES["digits"].where() == "an installed package"
    SOURCES["digits"].fetch()


def test_the_pickled_archive_is_not_read(folder: Path) -> None:
    touch(folder / "cifar10" / "cifar-10-python.tar.gz")
    with pytest.raises(InputError, match=r"only pickle reads.*cifar-10-binary\.tar\.gz"):
        CIFAR10.fetched()
