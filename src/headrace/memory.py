"""How the C library keeps freed memory, for a process that reads and sends buffers of a megabyte all day.

By default glibc returns the top of the heap to the kernel as soon as two of them are free, and gets it back zeroed page by
page for the next fetch. With such settings in the environment consuming took about half the CPU (`bench/README.md`); what
these two calls save by themselves was not isolated.
"""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
KEEP_BYTES = 32 * 1024 * 1024
ON_HEAP_BELOW_BYTES = 8 * 1024 * 1024


def keep_large_buffers() -> bool:
    """Tell malloc to keep freed buffers; false where the C library is not glibc and decides for itself."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, ON_HEAP_BELOW_BYTES)) and bool(mallopt(M_TRIM_THRESHOLD, KEEP_BYTES))
