"""What a client does with its own data: train, evaluate, sketch. Rows and numbers in, rows and numbers out."""

from fedclade.local.client import Client
from fedclade.local.threads import one_thread

__all__ = ["Client", "one_thread"]
