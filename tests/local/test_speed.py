"""Fast paths are fast: processor time against a plain loop in the same process, with a wide margin for a busy machine.

On a quiet machine the kernel takes about a sixth of the plain loop's time, and five clients at once take a quarter.
"""

from collections.abc import Callable
from time import process_time

import pytest

from fedclade.data import Part
from fedclade.local import is_built, one_thread
from fedclade.local.batched import Batched
from fedclade.local.convolution import Convolution, convolutional
from fedclade.local.general import General, Training
from fedclade.local.kernel import Kernel, library
from fedclade.local.stack import stack_of
from fedclade.nets import Net, net_for
from fedclade.nouns import Round
from local.plain import examples, plain_sgd

pytestmark = pytest.mark.slow

NET = net_for("mlp", (1, 28, 28), 10, {"dropout": 0.0})
PART = examples(200, (1, 28, 28), 10, as_bytes=True)
CLIENTS = [Training(NET.first(0), PART, Round(1, 0), f"client-{number}") for number in range(5)]


def ratio(fast: Callable[[], object], net: Net = NET, part: Part = PART) -> float:
    """How many times faster than the plain loop, at their best of five turns each."""
    best = [float("inf")] * 2
    with one_thread():
        for _ in range(5):
            for number, trains in enumerate((lambda: plain_sgd(net, net.first(0), part, Round(1, 0), "a"), fast)):
                before = process_time()
                trains()
                best[number] = min(best[number], process_time() - before)
    return best[0] / best[1]


@pytest.mark.skipif(not is_built(), reason="the kernel is not built here")
def test_the_kernel_is_at_least_three_times_as_fast() -> None:
    stack, functions = stack_of(NET), library()
    assert stack is not None
    assert functions is not None
    if functions.kind == "plain":
        pytest.skip("this processor has no AVX2")
    path = Kernel(stack, functions, General(NET))
    assert ratio(lambda: path.train_all(CLIENTS[:1])) > 3


@pytest.mark.skipif(not is_built(), reason="the kernel is not built here")
def test_a_convolutional_net_is_faster_than_the_plain_loop() -> None:
    """On a quiet machine by half."""
    net, part = net_for("leaf_cnn", (1, 28, 28), 10), examples(20, (1, 28, 28), 10)
    form, functions = convolutional(net), library()
    assert form is not None
    assert functions is not None
    if functions.kind == "plain":
        pytest.skip("this processor has no AVX2")
    path, now = Convolution(form, functions, General(net)), Round(1, 0)
    assert ratio(lambda: path.train(net.first(0), part, now, "a"), net, part) > 1.1


def test_clients_at_once_are_at_least_half_as_fast_again() -> None:
    stack = stack_of(NET)
    assert stack is not None
    path = Batched(stack, General(NET))
    assert ratio(lambda: path.train_all(CLIENTS)) > 1.5 / len(CLIENTS)
