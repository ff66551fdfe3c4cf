"""Serve the pages on this machine only, until the user ends it."""

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from fedclade.core import InputError
from fedclade.dashboard.app import build_app

HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 2  # for open connections when the dashboard is ended


def bind_socket(port: int) -> socket.socket:
    """A socket on this machine's own address; port 0: any that is free."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen(128)
    except OSError as error:
        bound.close()
        got, do = error.strerror or str(error), "give another --port, or 0 for any"
        where = f"--port {port}"
        raise InputError("the port cannot be used", where=where, got=got, need="a free one", do=do) from None
    return bound


def serve(folder: Path, port: int, tell: Callable[[str], None]) -> None:
    """Serve pages about these runs until interrupted; `tell` gets their address once they can be asked for."""
    if not folder.is_dir():
        raise InputError("there is no such folder", where=str(folder), need="a folder with runs in it")
    token = secrets.token_urlsafe(32)
    with bind_socket(port) as listening:
        port = listening.getsockname()[1]
        settings = uvicorn.Config(
            build_app(folder, token, port),
            http="h11",
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,  # the token is part of an address
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        try:
            tell(f"http://{HOST}:{port}/?token={token}")
            uvicorn.Server(settings).run(sockets=[listening])
        except KeyboardInterrupt:  # Ctrl-C ends it
            return
