"""Models that are mixed from rows: the same in every respect as those models, each a row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.core import Assignment, InputError, Mixture
from fedclade.store.state_codec import pack, unpack

CLIENTS = ("a", "b", "c", "d", "e")


def two_kinds(seed: int) -> tuple[Assignment, Assignment]:
    """Four models of five clients as a mixture of three rows, and the same models, each a row."""
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(3, 1100)).astype(np.float32)
    table = (rng.random((4, 3)) * (rng.random((4, 3)) < 0.6)).astype(np.float32)
    of = {client: int(number) for client, number in zip(CLIENTS, rng.integers(0, 4, 5), strict=True)}
    mixed = Assignment(basis, of, Mixture.of_table(table))
    by_hand = [sum((share * row for share, row in zip(line, basis, strict=True)), np.float32(0)) for line in table]
    return mixed, Assignment(np.array([np.broadcast_to(one, 1100) for one in by_hand], np.float32), of)


def same(mixed: Assignment, plain: Assignment) -> None:
    """Both have the same models, and say the same of them."""
    assert (mixed.clients, mixed.groups(), mixed.model_count) == (plain.clients, plain.groups(), plain.model_count)
    np.testing.assert_allclose(mixed.rows, plain.rows, rtol=0, atol=1e-6)
    for client in plain.clients:
        np.testing.assert_allclose(mixed.row_of(client), plain.row_of(client), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(mixed.row_of(client), mixed.rows[mixed.row_by_client[client]])


@given(st.integers(0, 10_000))
def test_a_mixture_is_its_models(seed: int) -> None:
    mixed, plain = two_kinds(seed)
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(2, 1100)).astype(np.float32)
    same(mixed, plain)
    same(mixed.restrict(CLIENTS[1:3]), plain.restrict(CLIENTS[1:3]))
    same(mixed.with_clients({"f": 3}), plain.with_clients({"f": 3}))
    same(mixed.with_own_rows(("b", "e"), own), plain.with_own_rows(("b", "e"), own))
    same(mixed.with_model(2, own[0]), plain.with_model(2, own[0]))
    same(mixed.select([1, 3, 1], {"a": 2, "z": 0}), plain.select([1, 3, 1], {"a": 2, "z": 0}))
    weights = rng.random(4)
    np.testing.assert_allclose(mixed.mean(weights), weights @ plain.rows.astype(np.float64), rtol=1e-6, atol=1e-6)
    flat = mixed.in_rows()
    assert flat.mixture is None
    assert flat.groups() == plain.groups()
    for client in CLIENTS:
        np.testing.assert_array_equal(flat.row_of(client), mixed.row_of(client))


def test_a_model_has_the_same_bits_whichever_are_asked_for_with_it() -> None:
    mixed, _ = two_kinds(1)
    every = mixed.rows
    for numbers in ([0], [3, 1], [2, 2, 0, 1, 3]):
        np.testing.assert_array_equal(mixed.models(numbers), every[numbers])


def test_it_is_plain_data_and_is_checked() -> None:
    mixed, _ = two_kinds(2)
    tree, arrays = pack(mixed)
    again = unpack(Assignment, tree, arrays)
    np.testing.assert_array_equal(again.rows, mixed.rows)
    assert again.row_by_client == mixed.row_by_client
    with pytest.raises(InputError, match=r"no such model.*got row 4, need 0 to 3"):
        Assignment(mixed.basis, {"a": 4}, mixed.mixture)
    with pytest.raises(InputError, match="rows that are not there"):
        Assignment(mixed.basis[:2], {"a": 0}, mixed.mixture)
    with pytest.raises(InputError, match="does not fit together"):
        Mixture(np.array([0, 2]), np.array([0]), np.array([1.0], np.float32))
