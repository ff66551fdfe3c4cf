"""What many tests share: small federations of real digits."""

import pytest

from fedclade.data import Federation, build


@pytest.fixture(scope="session")
def alike() -> Federation:
    """Six clients that draw from the same digits."""
    return build(source="digits", world="iid", clients=6)


@pytest.fixture(scope="session")
def two_groups() -> Federation:
    """Six clients in two groups with other names for the classes."""
    return build(source="digits", world="label-permutation", clients=6, groups=2)
