"""One thread a process: clients are what runs side by side."""

import torch
from threadpoolctl import threadpool_limits


def one_thread() -> None:
    """From here on this process computes with one thread, in torch and in every linear-algebra library."""
    torch.set_num_threads(1)
    threadpool_limits(1)
