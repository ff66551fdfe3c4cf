"""Serving the page on this machine, and nowhere else, until somebody ends it."""

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from fedclade.dashboard.app import page_of
from fedclade.nouns import InputError

HOST = "127.0.0.1"
PATIENCE = 2  # seconds for what is open when the page is ended


def bound(port: int) -> socket.socket:
    """A socket on this machine's own address; port 0: any that is free."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen(128)
    except OSError as wrong:
        made.close()
        raise InputError(
            "the port cannot be used",
            where=f"--port {port}",
            got=wrong.strerror or str(wrong),
            need="a free one",
            do="give another --port, or 0 for any",
        ) from None
    return made


def serve(folder: Path, port: int, tell: Callable[[str], None]) -> None:
    """Serve the page about these runs until interrupted; `tell` gets its address once it answers."""
    if not folder.is_dir():
        raise InputError("there is no such folder", where=str(folder), need="a folder with runs in it")
    token = secrets.token_urlsafe(32)
    with bound(port) as listening:
        port = listening.getsockname()[1]
        settings = uvicorn.Config(
            page_of(folder, token, port),
            http="h11",
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,  # the token stands in an address
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        try:
            tell(f"http://{HOST}:{port}/?token={token}")
            uvicorn.Server(settings).run(sockets=[listening])
        except KeyboardInterrupt:  # the way to end it
            return
