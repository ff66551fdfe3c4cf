"""Randomness is a function of (seed, round, purpose, client), and sampling follows max(int(rho M), 1)."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclade.core import InputError, LocalTraining, Round, generator
from fedclade.core.settings import build_settings
from fedclade.core.training import SGD

keys = st.lists(st.integers(0, 2**63) | st.text(max_size=5), max_size=4).map(tuple)


def draw(*key: int | str) -> list[int]:
    return [int(number) for number in generator(*key).integers(2**63, size=4)]


@given(keys, keys)
def test_the_same_key_gives_the_same_numbers_and_another_key_others(
    one: tuple[int | str, ...], other: tuple[int | str, ...]
) -> None:
    assert draw(*one) == draw(*one)
    assert (draw(*one) == draw(*other)) == (one == other)


def test_keys_that_look_alike_differ() -> None:
    alike: list[tuple[int | str, ...]]
    alike = [(1, 23), (12, 3), (123,), ("1", "23"), ("1, 23",), (1, "23"), ("a", ""), ("a",)]
    assert len({tuple(draw(*key)) for key in alike}) == len(alike)


def test_numbers_do_not_depend_on_history() -> None:
    expected = draw(0, "a")
    generator(0, "a").random(100)
    generator(0, "b").random(100)
    random.seed(5)
    assert draw(0, "a") == expected


def test_each_part_of_a_rounds_key_counts() -> None:
    now = Round(1, 7)
    mine, *others = (
        tuple(each.integers(2**63, size=4))
        for each in (
            *(now.generator("batches", "a"), Round(2, 7).generator("batches", "a")),
            *(Round(1, 8).generator("batches", "a"), now.generator("dropout", "a")),
            *(now.generator("batches", "b"), now.generator("batches")),
        )
    )
    assert mine == tuple(Round(1, 7).generator("batches", "a").integers(2**63, size=4))
    assert len({mine, *others}) == 6


@pytest.mark.parametrize(
    ("rho", "clients", "wanted"),
    [(1.0, 7, 7), (0.2, 20, 4), (0.29, 100, 29), (0.5, 3, 1), (0.1, 5, 1), (0.001, 10, 1), (0.7, 10, 7), (0.99, 10, 9)],
)
def test_so_many_take_part(rho: float, clients: int, wanted: int) -> None:
    """By hand: max(int(rho M), 1), with rho as it is written and not as binary rounds it."""
    everybody = [f"{number:03d}" for number in range(clients)]
    assert len(Round(1, 0, participation=rho).sample(everybody)) == wanted


@given(st.sets(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=20), st.floats(0.01, 1), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_a_sample_is_sorted_distinct_and_blind_to_order(everybody: set[str], rho: float, seed: int) -> None:
    now = Round(3, seed, participation=rho)
    sample = now.sample(sorted(everybody))
    assert set(sample) <= everybody
    assert list(sample) == sorted(set(sample))
    assert now.sample(sorted(everybody, reverse=True)) == sample


def test_nobody_there_nobody_sampled_and_the_chosen_are_those_that_are_there() -> None:
    assert Round(1, 0).sample([]) == ()
    assert Round(1, 0, 0.1, chosen=("c", "z", "a")).sample("bac") == ("a", "c")


def test_everybody_is_sampled_equally_often() -> None:
    """1,000 rounds at 0.2 of 10: 200 each on average, deviation sqrt(1000 * 0.2 * 0.8) = 12.6; five of them allowed."""
    samples = (Round(number, 0, participation=0.2).sample("abcdefghij") for number in range(1000))
    count = Counter(client for sample in samples for client in sample)
    assert sum(count.values()) == 2000
    assert all(abs(count[client] - 200) < 63 for client in "abcdefghij")


def test_local_training_has_the_designs_defaults() -> None:
    assert LocalTraining() == LocalTraining(epochs=1, batch=10, lr=0.01, optimizer=SGD(momentum=0.0, weight_decay=0.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epochs", value) for value in (0, 1.0, True)),
        *(("batch", value) for value in (0, "10")),
        *(("lr", value) for value in (0.0, float("inf"), float("nan"))),
        ("clip_norm", -0.1),
        *(("class_weights", value) for value in ("even", (), (1.0, 0.0), 2)),
    ],
)
def test_local_training_out_of_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        build_settings(LocalTraining, {name: value}, where="local")
    assert (caught.value.where, caught.value.got) == (f"local.{name}", repr(value))
