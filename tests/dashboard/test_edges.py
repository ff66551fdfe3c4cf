"""What is rare and right: the port that browsers leave out, and a folder whose name is not text."""

import os
from pathlib import Path

import pytest
import safetensors
from starlette.applications import Starlette
from starlette.types import Message, Scope

from dashboard.making import finished
from fedclade.dashboard.guard import Guard
from fedclade.dashboard.model import model_of


@pytest.mark.parametrize(
    ("port", "host", "status"),
    [
        (80, "127.0.0.1", 401),
        (80, "localhost", 401),
        (80, "127.0.0.1:80", 401),
        (80, "evil.example", 421),
        (8080, "127.0.0.1", 421),
        (8080, "localhost", 421),
        (8080, "127.0.0.1:8080", 401),
    ],
)
def test_browsers_leave_port_80_out(port: int, host: str, status: int) -> None:
    """401: the host is right, only the token is missing."""
    scope: Scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
    scope["headers"] = [(b"host", host.encode())]
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(message: Message) -> None:
        sent.append(message)

    done = Guard(Starlette(), token="x" * 43, port=port)(scope, receive, send)
    with pytest.raises(StopIteration):
        done.send(None)
    assert sent[0]["status"] == status


def test_a_model_from_a_folder_whose_name_is_not_text(tmp_path: Path) -> None:
    run = finished(tmp_path / os.fsdecode(b"run-\xff"), ("a",), rounds=1)
    (tmp_path / "model").write_bytes(model_of(run, "a"))
    with safetensors.safe_open(tmp_path / "model", "numpy") as kept:
        assert kept.metadata() == {"client": "a", "run": "run-?"}
