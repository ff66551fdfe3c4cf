"""Settings check themselves, from Python and from TOML alike, and name what is wrong."""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Literal

import pytest
from pydantic import Field

from fedclade.core import InputError, settings
from fedclade.core.settings import build_settings, lists_to_tuples, names_of, settings_table, unknown_name_error


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


def test_a_changed_copy_is_checked_too_and_the_error_has_the_range() -> None:
    assert dataclasses.replace(Toy(), steps=9).steps == 9
    with pytest.raises(InputError, match=r"^steps is not usable, Toy\.steps: got 0, need greater than or equal to 1$"):
        dataclasses.replace(Toy(), steps=0)


def test_a_whole_number_serves_as_a_float() -> None:
    """TOML's `mu = 1` is meant as 1.0."""
    mu = build_settings(Toy, {"mu": 1}, where="method").mu
    assert mu == 1.0
    assert isinstance(mu, float)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("mu", value) for value in (-0.1, "0.1", True, None, float("nan"), float("inf"))),
        *(("steps", value) for value in (0, 10, 2.0, "2", True)),
        *(("name", 7), ("sizes", 7)),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"^{name} is not usable") as caught:
        ANY_TOY(**{name: value})
    assert (caught.value.where, caught.value.got) == (f"Toy.{name}", repr(value))
    assert caught.value.need
    with pytest.raises(InputError, match=f"^{name} is not usable") as caught:
        build_settings(Toy, {name: value}, where="method")
    assert (caught.value.where, caught.value.got) == (f"method.{name}", repr(value))


def test_an_unknown_name_gives_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "steps"') as caught:
        ANY_TOY(step=4)
    assert caught.value.got == '"step"'
    with pytest.raises(InputError, match='did you mean "steps"') as caught:
        build_settings(Toy, {"stpes": 4}, where="method")
    assert (caught.value.what, caught.value.need) == ("method.stpes is not known", "one of mu, steps, name, sizes")

    assert unknown_name_error("the net", "net.name", "qqq", ["mlp", "lenet"]).do == ""


def test_a_key_too_many_a_value_too_few_and_a_position_are_refused() -> None:
    with pytest.raises(InputError, match="need no key here"):
        build_settings(Bare, {"hidden": 3}, where="net")
    with pytest.raises(InputError, match=r"^needed is missing"):
        build_settings(Demanding, {}, where="method")
    with pytest.raises(InputError, match=r"need Toy\(name=value\)"):  # a reader sees what a number is
        ANY_TOY(0.5)


def test_a_table_and_back() -> None:
    toy = Toy(mu=0.25, steps=2, sizes=(3, 4))
    table = settings_table(toy)
    assert table == {"mu": 0.25, "steps": 2, "name": "toy", "sizes": (3, 4)}
    assert build_settings(Toy, table, where="method") == toy
    assert names_of(Toy) == ("mu", "steps", "name", "sizes")


def test_lists_of_toml_become_tuples_all_the_way_down() -> None:
    assert lists_to_tuples([1, [2, [3]], "ab"]) == (1, (2, (3,)), "ab")
    assert build_settings(Toy, {"sizes": [3, 4]}, where="method").sizes == (3, 4)


def test_a_setting_of_several_kinds_names_them_all() -> None:
    @settings
    class Either:
        when: Annotated[int, Field(ge=1)] | Literal["change"] = 1

    with pytest.raises(InputError, match=r"^when is not usable, Either\.when: got 'never', need .* or 'change'$"):
        Either(when="never")  # type: ignore[arg-type]  # what is tested
