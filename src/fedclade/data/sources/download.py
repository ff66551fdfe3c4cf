"""Official files over the network, checked against their published md5 before they get their name."""

import sys
from collections.abc import Sequence
from pathlib import Path

CHUNK = 1 << 18  # bytes


def fetch(name: str, md5: str, mirrors: Sequence[str], folder: Path) -> None:
    """Put this file into this folder, from the first mirror that gives it whole; OSError if none does."""
    import pooch  # 0.2 s with requests: only when something is fetched

    pooch.get_logger().setLevel("WARNING")
    reasons = []
    for mirror in mirrors:
        bar = Bar(name) if sys.stderr.isatty() else None
        downloader = pooch.HTTPDownloader(progressbar=bar or False, chunk_size=CHUNK, timeout=30)
        try:
            pooch.retrieve(f"{mirror}{name}", f"md5:{md5}", fname=name, path=folder, downloader=downloader)
            return
        except (OSError, ValueError) as error:  # no network, no such file, no room; another checksum
            reasons.append(f"{mirror}{name}: {failure_reason(error)}")
        finally:
            if bar:
                bar.close()
    raise OSError("; ".join(reasons))


def failure_reason(error: Exception) -> str:
    """Why a file could not be fetched, in few words."""
    if isinstance(error, ValueError):
        return "not the published file (md5)"
    from requests import ConnectionError, Timeout

    if isinstance(error, ConnectionError | Timeout):
        return "no connection"
    return str(error).partition(" for url")[0]


class Bar:
    """A line of progress on stderr, with the four names that pooch calls."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self.progress = Progress(*columns, console=Console(stderr=True))
        self.task = self.progress.add_task(name, total=None)
        self.total = 0
        self.progress.start()

    def update(self, more: int) -> None:
        """So many bytes more."""
        self.progress.update(self.task, advance=more, total=self.total or None)

    def reset(self) -> None:
        """From the start."""
        self.progress.reset(self.task)

    def close(self) -> None:
        """No more to come."""
        self.progress.stop()
