"""The README's fleet, word for word, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from e2e.fleet import events, verdict, wait_until

README = Path(__file__).parents[2] / "README.md"


def has_nginx() -> bool:
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is not None


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not has_nginx() and not os.environ.get("CI"), reason="nginx is not installed")
def test_the_fleet_of_the_readme(tmp_path: Path) -> None:
    section = README.read_text(encoding="utf-8").partition("## A real fleet")[2]
    commands = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert commands is not None
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with (tmp_path / "log").open("wb") as log:
        done = subprocess.run(
            ["bash", "-c", commands.group(1)],
            cwd=tmp_path,
            env=here,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=500,
            check=False,
        )
    assert done.returncode == 0, (tmp_path / "log").read_text(errors="replace")[-3000:]
    folder = tmp_path / "fleet" / "runs" / "first"
    assert verdict(folder)["rounds"] == 3
    rounds = [event for event in events(folder) if event["event"] == "round"]
    assert [event["took_part"] for event in rounds] == [2, 2, 2]
    assert (tmp_path / "fleet" / "report.html").stat().st_size > 10_000
    wait_until("nothing of it is left", lambda: str(tmp_path).encode() not in running(), 60)


def running() -> bytes:
    """The command lines of all processes."""
    return b"\n".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
