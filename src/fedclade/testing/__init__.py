"""The conformance suite: the checks that every method must pass, your own too.

from fedclade.testing import check_method

def test_my_method():
    check_method(MyMethod())

It takes some seconds, needs no data and no network, and reports all faults at once.
"""

from fedclade.testing.checks import CHECKS, check_method
from fedclade.testing.play import Interrupted, play_run
from fedclade.testing.wires import LIES, drop_replies, lie, reverse_replies

__all__ = ["CHECKS", "LIES", "Interrupted", "check_method", "drop_replies", "lie", "play_run", "reverse_replies"]
