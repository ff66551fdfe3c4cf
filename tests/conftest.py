"""What many tests share: small federations of real digits."""

import signal

import pytest
from hypothesis import settings

from fedclade.data import Federation, build

# The machine is shared: how long one example takes says nothing about the code.
settings.register_profile("fedclade", deadline=None)
settings.load_profile("fedclade")

# A shell in the background has its children ignore interrupts: tests that send some would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, and in one process: real deployments wait for each other."""
    deployments = ("test_deployment.py", "test_readme.py")
    items.sort(key=lambda item: 0 if item.path.name in deployments else 1 if "e2e" in item.path.parts else 2)


@pytest.fixture(scope="session")
def alike() -> Federation:
    """Six clients that draw from the same digits."""
    return build(source="digits", world="iid", clients=6)


@pytest.fixture(scope="session")
def two_groups() -> Federation:
    """Six clients in two groups with other names for the classes."""
    return build(source="digits", world="label-permutation", clients=6, groups=2)
