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
from fedclade.data.sources.source_files import Files
from refusals import check_refused

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
    assert FILES.find() is None
    touch(FILES.cache / "a", FILES.cache / "b")
    assert FILES.find() == {"a": FILES.cache / "a", "b": FILES.cache / "b"}
    touch(folder / "all.zip")
    assert FILES.find() == {"all.zip": folder / "all.zip"}
    touch(folder / "small" / "a", folder / "small" / "b")
    assert FILES.find() == {"a": folder / "small" / "a", "b": folder / "small" / "b"}
    assert FILES.location() == str(folder / "small")
    assert FILES.find_or_fetch() == FILES.find()  # nothing is asked of the network


def test_incomplete_places_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a layout; only the cache, without the variable; a variable that names no folder."""
    touch(folder / "small" / "a", FILES.cache / "b")
    assert FILES.find() is None
    check_refused(f"got {folder / 'small'} without b", FILES.find_or_fetch)
    touch(folder / "all.zip")
    monkeypatch.setenv("FEDCLADE_DATA", "")
    assert FILES.find() is None
    monkeypatch.delenv("FEDCLADE_DATA")
    assert FILES.find() is None
    assert FILES.location() == str(FILES.cache)
    check_refused("the folder small_folder of a folder that FEDCLADE_DATA names", FILES.find_or_fetch)
    monkeypatch.setenv("FEDCLADE_DATA", str(folder / "none"))
    check_refused("FEDCLADE_DATA is not a folder", FILES.find)


def test_a_file_is_fetched_once_and_checked(mirror: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = replace(FILES, mirrors=(mirror,))
    assert files.find_or_fetch() == {"all.zip": files.cache / "all.zip"}
    assert (files.cache / "all.zip").read_bytes() == CONTENT
    (tmp_path / "served" / "all.zip").unlink()
    assert files.find_or_fetch() == files.find()
    assert capfd.readouterr() == ("", "")  # no bar without a terminal


@pytest.mark.usefixtures("folder")
def test_no_network() -> None:
    error = check_refused(r"all\.zip: no connection", FILES.find_or_fetch)
    assert "small_folder" in str(error)
    assert str(FILES.cache) in str(error)
    assert FILES.find() is None


def test_mirrors_are_tried_in_turn(mirror: str, tmp_path: Path) -> None:
    """One without the file, one with another file than the published one, and then a good one."""
    files = replace(FILES, mirrors=(f"{mirror}nowhere/", mirror))
    served = tmp_path / "served" / "all.zip"
    served.write_bytes(b"something else")
    check_refused("404 Client Error.*not the published file", files.find_or_fetch)
    assert files.find() is None
    served.write_bytes(CONTENT)
    assert files.find_or_fetch() == files.find()


def test_a_bar_on_a_terminal(mirror: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    replace(FILES, mirrors=(mirror,)).find_or_fetch()
    shown = capsys.readouterr()
    assert "all.zip" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "digits"])
def test_every_source_says_what_to_put_where(name: str, folder: Path, tmp_path: Path) -> None:
    known = SOURCES[name]
    assert not known.is_available()
    assert str(folder) in known.location()
    for act in (known.load, known.fetch):
        said = str(check_refused("files are not here", act))
        assert "\n" not in said
        assert str(folder) in said
        assert str(tmp_path / "cache") in said


def test_digits_need_no_files_and_a_pickle_is_not_read(folder: Path) -> None:
    assert SOURCES["digits"].is_available()
    assert SOURCES["digits"].location() == "an installed package"
    SOURCES["digits"].fetch()
    touch(folder / "cifar10" / "cifar-10-python.tar.gz")
    check_refused(r"only pickle reads.*cifar-10-binary\.tar\.gz", CIFAR10.find_or_fetch)
