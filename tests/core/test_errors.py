"""Errors say what, where, got, need and do on one line, and each kind has its exit code."""

import copy

import pytest

from fedclade.core import Damaged, FedcladeError, InputError, Stopped


@pytest.mark.parametrize(("kind", "code"), [(FedcladeError, 1), (InputError, 2), (Stopped, 3), (Damaged, 4)])
def test_each_kind_has_the_exit_code_of_the_design(kind: type[FedcladeError], code: int) -> None:
    assert kind("x").exit_code == code
    assert isinstance(kind("x"), FedcladeError)


def test_a_wrong_input_is_a_value_error_too() -> None:
    """Code that knows nothing of fedclade can catch it."""
    assert issubclass(InputError, ValueError)
    assert not issubclass(Damaged, ValueError)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("the seed is negative"), "the seed is negative"),
        (InputError("the seed is negative", where="seed"), "the seed is negative, seed"),
        (InputError("bad", got="-1"), "bad: got -1"),
        (InputError("bad", need="0 or more"), "bad: need 0 or more"),
        (InputError("bad", do="give a seed"), "bad; do: give a seed"),
        (InputError("bad", where="seed", got="-1", need="0", do="it"), "bad, seed: got -1, need 0; do: it"),
        (InputError("one\nline", got="[[1]\n [3]]", do="look\tagain"), "one line: got [[1] [3]]; do: look again"),
    ],
)
def test_the_line_holds_what_is_known_and_nothing_else(error: InputError, line: str) -> None:
    assert str(error) == line


def test_an_error_crosses_a_process_whole() -> None:
    """A worker's error reaches the parent as a copy by the pickle protocol, as copy.copy makes one."""
    error = copy.copy(Damaged("w", where="a", got="b", need="c", do="d"))
    assert type(error) is Damaged
    assert (error.what, error.where, error.got, error.need, error.do) == ("w", "a", "b", "c", "d")
