"""Ids of clients: usable names, each once, in sorted order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.core import InputError, checked_ids


@given(st.permutations(["site 1", "Zürich", "北京", "a/b", "0", "x" * 200]))
def test_ids_come_back_sorted(ids: list[str]) -> None:
    assert checked_ids(ids, where="here") == ("0", "Zürich", "a/b", "site 1", "x" * 200, "北京")


@pytest.mark.parametrize("bad", ["", " ", "a ", "\ta", "a\nb", "a\x00b", "\ud800", "x" * 201])
def test_a_name_that_is_not_usable_is_refused(bad: str) -> None:
    with pytest.raises(InputError, match="not a usable name") as caught:
        checked_ids(["good", bad], where="here")
    assert caught.value.where == "here"
    assert "1 to 200 printable characters" in caught.value.need
    assert len(caught.value.got) < 220, "a very long name is not printed whole"


@pytest.mark.parametrize("bad", [7, None, b"a", ("a",)])
def test_an_id_that_is_not_text_is_refused(bad: object) -> None:
    """The type says str; data from a table may hold anything."""
    ids: list[object] = ["good", bad]
    with pytest.raises(InputError, match="not text") as caught:
        checked_ids(ids, where="here")  # type: ignore[arg-type]  # the wrong type is what is tested
    assert caught.value.got == repr(bad)


def test_a_client_that_is_there_twice_and_no_client_are_refused() -> None:
    with pytest.raises(InputError, match='client "a" is there twice, here'):
        checked_ids(["a", "b", "a"], where="here")
    with pytest.raises(InputError, match="there are no clients, here: got 0, need at least 1"):
        checked_ids([], where="here")
