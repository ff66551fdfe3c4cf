"""Calling a command as a user does: its exit code, what it prints, the JSON it gives."""

import json

import pytest

from fedclade.cli.app import code_of


def call(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = code_of(command.split(), debug=False)
    out, err = capsys.readouterr()
    return code, out, err


def parsed(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    code, out, err = call(command, capsys)
    assert (code, err) == (0, "")
    value = json.loads(out)
    assert isinstance(value, dict)
    return value
