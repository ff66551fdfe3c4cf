"""Settings check themselves, from Python and from TOML alike, and name what is wrong."""

import dataclasses
from collections.abc import Callable
from typing import Annotated

import pytest
from pydantic import Field

from fedclade.nouns import InputError, settings
from fedclade.nouns.settings import frozen, made_from, names_of, plain, unknown


@settings
class Toy:
    mu: Annotated[float, Field(ge=0)] = 0.5
    steps: Annotated[int, Field(ge=1, le=9)] = 3
    name: str = "toy"
    sizes: tuple[int, ...] = ()


@settings
class Demanding:
    needed: int


@settings
class Bare:
    """No settings at all."""


ANY_TOY: Callable[..., Toy] = Toy  # callable with wrong types, which is what some tests do


def test_defaults_fill_what_is_not_said() -> None:
    assert Toy(steps=4) == Toy(mu=0.5, steps=4, name="toy", sizes=())


def test_settings_are_frozen_and_hashable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Toy().mu = 1.0  # type: ignore[misc]  # that it cannot be assigned is what is tested
    assert {Toy(): "a"}[Toy()] == "a"


def test_a_changed_copy_is_checked_too() -> None:
    assert dataclasses.replace(Toy(), steps=9).steps == 9
    with pytest.raises(InputError, match=r"Toy\.steps"):
        dataclasses.replace(Toy(), steps=10)


def test_a_whole_number_serves_as_a_float() -> None:
    """TOML's `mu = 1` is meant as 1.0."""
    mu = made_from(Toy, {"mu": 1}, where="method").mu
    assert mu == 1.0
    assert isinstance(mu, float)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mu", -0.1),
        ("mu", "0.1"),
        ("mu", True),
        ("mu", None),
        ("mu", float("nan")),
        ("mu", float("inf")),
        ("steps", 0),
        ("steps", 10),
        ("steps", 2.0),
        ("steps", "2"),
        ("steps", True),
        ("name", 7),
        ("sizes", 7),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"^{name} is not usable") as caught:
        ANY_TOY(**{name: value})
    assert (caught.value.where, caught.value.got) == (f"Toy.{name}", repr(value))
    assert caught.value.need
    with pytest.raises(InputError, match=f"^{name} is not usable") as caught:
        made_from(Toy, {name: value}, where="method")
    assert (caught.value.where, caught.value.got) == (f"method.{name}", repr(value))


def test_a_range_is_told() -> None:
    with pytest.raises(InputError) as caught:
        Toy(steps=0)
    assert str(caught.value) == "steps is not usable, Toy.steps: got 0, need greater than or equal to 1"


def test_an_unknown_name_gives_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "steps"') as caught:
        ANY_TOY(step=4)
    assert caught.value.got == '"step"'
    with pytest.raises(InputError, match='did you mean "steps"') as caught:
        made_from(Toy, {"stpes": 4}, where="method")
    assert caught.value.what == "method.stpes is not known"
    assert caught.value.need == "one of mu, steps, name, sizes"


def test_an_unknown_name_with_nothing_near_guesses_nothing() -> None:
    assert unknown("the net", "net.name", "qqq", ["mlp", "lenet"]).do == ""


def test_a_key_where_there_are_none_says_so() -> None:
    with pytest.raises(InputError, match="need no key here"):
        made_from(Bare, {"hidden": 3}, where="net")


def test_a_missing_value_is_named() -> None:
    with pytest.raises(InputError, match=r"^needed is missing"):
        made_from(Demanding, {}, where="method")
    assert Demanding(needed=2).needed == 2


def test_positions_are_refused() -> None:
    """Keyword-only: a reader sees what a number is."""
    with pytest.raises(InputError):
        ANY_TOY(0.5)


def test_a_table_and_back() -> None:
    toy = Toy(mu=0.25, steps=2, sizes=(3, 4))
    table = plain(toy)
    assert table == {"mu": 0.25, "steps": 2, "name": "toy", "sizes": (3, 4)}
    assert made_from(Toy, table, where="method") == toy
    assert names_of(Toy) == ("mu", "steps", "name", "sizes")


def test_lists_of_toml_become_tuples_all_the_way_down() -> None:
    assert frozen([1, [2, [3]], "ab"]) == (1, (2, (3,)), "ab")
    assert made_from(Toy, {"sizes": [3, 4]}, where="method").sizes == (3, 4)
