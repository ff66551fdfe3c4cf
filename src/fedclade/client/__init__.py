"""A client's work on its own data: train, evaluate, sketch. Rows and numbers in, rows and numbers out."""

from fedclade.client.class_weights import check_class_weights
from fedclade.client.client import Client
from fedclade.client.devices import DeviceChoice, device_of
from fedclade.client.examples import trained_examples
from fedclade.client.general import PathChoice
from fedclade.client.kernel import is_built, state_of_kernel
from fedclade.client.plan import PathFacts, path_facts, path_name_for
from fedclade.client.threads import one_thread

__all__ = [
    "Client",
    "DeviceChoice",
    "PathChoice",
    "PathFacts",
    "check_class_weights",
    "device_of",
    "is_built",
    "one_thread",
    "path_facts",
    "path_name_for",
    "state_of_kernel",
    "trained_examples",
]
