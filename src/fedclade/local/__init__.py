"""What a client does with its own data: train, evaluate, sketch. Rows and numbers in, rows and numbers out."""

from fedclade.local.client import Client
from fedclade.local.general import Asked
from fedclade.local.kernel import is_built, state_of_kernel
from fedclade.local.plan import path_for
from fedclade.local.threads import one_thread
from fedclade.local.validation import learned

__all__ = ["Asked", "Client", "is_built", "learned", "one_thread", "path_for", "state_of_kernel"]
