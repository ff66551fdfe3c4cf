"""Wrong input is refused with an `InputError` that says what is wrong."""

from collections.abc import Callable
from typing import ParamSpec

import pytest

from fedclade.core import InputError

P = ParamSpec("P")


def check_refused(said: str, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> InputError:
    """Call it, and give back its error, the text of which must match `said`."""
    with pytest.raises(InputError, match=said) as caught:
        call(*args, **kwargs)
    return caught.value
