"""Mistakes of GCC 12's nvptx libgomp that are mended in the PTX of an image.

``gomp_team_barrier_wake (bar, count)`` wakes as many threads as there are new tasks; 0 stands for all.  Its futex_wake
(config/nvptx/bar.c) subtracts count from the number of threads that wait, which may be fewer: the number then is below
zero, the next bar.sync waits for four thousand million threads, and the region hangs, on a GPU as in the emulation.
That is so wherever one thread makes tasks while others have not come to a barrier yet (``taskloop`` in ``single`` or
``master``).  A thread that is woken without need finds no task and waits again (gomp_team_barrier_wait_end), so more
than one are made all: GCC 13 has another implementation of these barriers.
"""

from __future__ import annotations

_WAKE = b"\n.visible .func gomp_team_barrier_wake (.param .u64 %in_ar0, .param .u32 %in_ar1)\n{\n"
_COUNT = b"\nld.param.u32 %ar1,[%in_ar1];\n"
_ALL = b"{\n.reg .pred %gompy_more;\nsetp.gt.s32 %gompy_more,%ar1,1;\nselp.b32 %ar1,0,%ar1,%gompy_more;\n}\n"


def mended(code: bytes) -> bytes:
    """The PTX object with such mistakes mended; the same object if it has none that is known."""
    at = code.find(_WAKE)
    if at < 0:
        return code
    end = code.find(b"\n}\n", at)
    place = code.find(_COUNT, at, end)
    if place < 0:
        return code
    place += len(_COUNT)
    return code[:place] + _ALL + code[place:]
