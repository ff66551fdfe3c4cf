"""What every registered method must do, whatever it is. A new method is checked here by being registered."""

from pathlib import Path

import pytest

from conformance.every_verb import EveryVerb
from conformance.flt_encoder import FLTEncoder
from fedclade.methods import METHODS, FedAvg, register
from fedclade.testing import CHECKS, check_method
from fedclade.testing.checks import GROUP_CHECKS

register("every-verb", EveryVerb, finds_groups=True)
register("flt-encoder", FLTEncoder)  # the planted groups differ in labels only, which points do not see
ENCODING = ("every-verb", "flt-encoder")  # through an autoencoder, which takes time
EACH = [pytest.param(name, marks=pytest.mark.slow if name in ENCODING else ()) for name in sorted(METHODS)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda name: name.replace(" ", "_"))
@pytest.mark.parametrize("method", EACH)
def test_conforms(method: str, check: str, tmp_path: Path) -> None:
    CHECKS[check](METHODS[method].made(), tmp_path / "run")


@pytest.mark.parametrize("check", GROUP_CHECKS, ids=lambda name: name.replace(" ", "_"))
@pytest.mark.parametrize("name", [name for name, known in METHODS.items() if known.finds_groups])
def test_finds_planted_groups(name: str, check: str, tmp_path: Path) -> None:
    GROUP_CHECKS[check](METHODS[name].made(), tmp_path / "run")


def test_all_that_is_wrong_is_said_at_once() -> None:
    class Careless(FedAvg):
        """no sentence"""

        def start(self, *_):  # type: ignore[no-untyped-def]  # nothing is looked at
            raise ValueError("nobody is here")

    with pytest.raises(AssertionError) as caught:
        check_method(Careless())
    text = str(caught.value)
    assert text.startswith(f"Careless fails {len(CHECKS)} of {len(CHECKS)} checks:\n  says what it is: the first line")
    assert text.count("nobody is here") == len(CHECKS) - 1


def test_a_method_that_draws_by_itself_is_found() -> None:
    """The suite sees what it is for: a state that is changed in place, and randomness that is kept."""
    import numpy as np

    rng = np.random.default_rng(0)

    class Drifting(FedAvg):
        """FedAvg with noise of its own."""

        def round(self, state, fleet, now):  # type: ignore[no-untyped-def]  # passes everything on
            after, facts = super().round(state, fleet, now)
            object.__setattr__(
                after, "model", after.model + rng.normal(scale=1e-3, size=after.model.shape).astype("f4")
            )
            return after, facts

    with pytest.raises(AssertionError, match="resumes byte for byte: another run when stopped after round 1"):
        check_method(Drifting())
