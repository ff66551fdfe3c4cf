"""A client's work on its own data: train, evaluate, sketch. Rows and numbers in, rows and numbers out."""

from fedclade.client.client import Client
from fedclade.client.examples import trained_examples
from fedclade.client.general import PathChoice
from fedclade.client.kernel import is_built, state_of_kernel
from fedclade.client.plan import path_name_for
from fedclade.client.threads import one_thread

__all__ = ["Client", "PathChoice", "is_built", "one_thread", "path_name_for", "state_of_kernel", "trained_examples"]
