"""Calling a command as a user does: its exit code, what it prints, the JSON it gives."""

import json

import pytest

from fedclade.cli.app import code_of


def call(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = code_of(command.split(), debug=False)
    out, err = capsys.readouterr()
    return code, out, err


def output_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints that goes well."""
    code, out, err = call(command, capsys)
    assert (code, err) == (0, "")
    return out


def parsed(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The JSON object of a command that goes well."""
    value = json.loads(output_of(command, capsys))
    assert isinstance(value, dict)
    return value


def error_of(command: str, capsys: pytest.CaptureFixture[str], code: int = 2) -> str:
    """The one line of an error: nothing else is printed."""
    got, out, err = call(command, capsys)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert err.startswith("error: ")
    return err
