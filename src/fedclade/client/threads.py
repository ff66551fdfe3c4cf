"""One thread a process: clients are what runs side by side."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import torch
from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, this process computes with one thread, in torch and in every linear-algebra library."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with libraries(len(sys.modules)).limit(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


@lru_cache(maxsize=1)
def libraries(modules: int) -> ThreadpoolController:  # noqa: ARG001  # the key of the cache
    """The libraries with threads of their own. Looked for again when more modules are loaded: it takes 5 ms."""
    return ThreadpoolController()
