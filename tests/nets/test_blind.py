"""The transform of blind runs: orthonormal, secret, and never applied to a model that the server knows."""

import numpy as np
import pytest

from fedclade.core import InputError
from fedclade.nets import net_for
from fedclade.nets.blind import Blind, secret

NET = net_for("logistic", (4, 4), 3)


def test_what_is_hidden_comes_back() -> None:
    blind = Blind(NET, 5, "a secret")
    rows = np.stack([NET.initial_row(5, number) for number in range(4)])
    hidden = np.stack([blind.hide(row) for row in rows])
    np.testing.assert_allclose(blind.reveal(hidden), rows, atol=1e-7)
    assert not hidden[0].any()  # the initial model has not moved: nothing known is ever in the secret order


def test_norms_angles_and_means_are_as_they_were() -> None:
    """Equations 41 and 42."""
    blind, first = Blind(NET, 5, "a secret"), NET.initial_row(5)
    updates = np.random.default_rng(0).standard_normal((3, NET.size)).astype(np.float32)
    hidden = np.stack([blind.hide(first + update) for update in updates])
    np.testing.assert_allclose(hidden @ hidden.T, updates @ updates.T, atol=1e-4)
    mean = blind.reveal(hidden.mean(axis=0, keepdims=True))[0]
    np.testing.assert_allclose(mean, first + updates.mean(axis=0), atol=1e-6)


def test_another_secret_or_seed_is_another_order() -> None:
    row = (NET.initial_row(5) + np.arange(NET.size)).astype(np.float32)
    seen = {Blind(NET, 5, known).hide(row).tobytes() for known in ("one", "one", "two")}
    assert len(seen) == 2
    assert not np.array_equal(Blind(NET, 6, "one").hide(row), Blind(NET, 5, "one").hide(row))
    assert sorted(abs(Blind(NET, 5, "one").hide(row)).round()) == list(range(NET.size))


def test_there_must_be_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDCLADE_SECRET", raising=False)
    with pytest.raises(InputError, match="clients have no common secret"):
        secret()
