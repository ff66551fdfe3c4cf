"""How much memory something takes: of Python and of arrow."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    """Inside, no more than so many bytes are taken."""
    tracemalloc.start()
    held = pa.total_allocated_bytes()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
        assert pa.total_allocated_bytes() - held < limit
    finally:
        tracemalloc.stop()
