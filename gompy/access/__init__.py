"""``-foffload-check``: programs, and images for the emulated MIC, that tell of each access to memory.

GCC makes a call at each access (-fsanitize=thread); hooks.c has what is called.  It also stands in front of the
functions of WRAPPED.
"""

from __future__ import annotations

OPTION = "-foffload-check"
DEVICE_WORDS = (
    "-fsanitize=thread",
    "-fno-tree-loop-distribute-patterns",
    *("-mmemset-strategy=libcall:-1:align", "-mmemcpy-strategy=libcall:-1:align"),
)
"""What the device's compiler is told, as gompy/driver/check.specs has it for the host's: accesses that the compiler
would make of memset and the like have no calls.
"""
HOOKS = "access.o"

_LOOPS = ("static", "dynamic", "guided", "nonmonotonic_dynamic", "nonmonotonic_guided")
_RUNTIME_LOOPS = ("runtime", "nonmonotonic_runtime", "maybe_nonmonotonic_runtime")
WRAPPED = (
    *("memcpy", "memmove", "memset", "free", "realloc", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm"),
    *("GOMP_parallel", "GOMP_parallel_reductions", "GOMP_parallel_sections"),
    *(f"GOMP_parallel_loop_{kind}" for kind in (*_LOOPS, *_RUNTIME_LOOPS)),
    *("GOMP_barrier", "GOMP_loop_end", "GOMP_sections_end"),
    *("GOMP_barrier_cancel", "GOMP_loop_end_cancel", "GOMP_sections_end_cancel"),
    *("GOMP_single_copy_start", "GOMP_single_copy_end"),
    *("GOMP_critical_start", "GOMP_critical_end", "GOMP_critical_name_start", "GOMP_critical_name_end"),
    *("GOMP_atomic_start", "GOMP_atomic_end", "GOMP_ordered_start", "GOMP_ordered_end"),
    *("omp_set_lock", "omp_unset_lock", "omp_set_nest_lock", "omp_unset_nest_lock"),
    *("omp_test_lock", "omp_test_nest_lock"),
)
"""Functions that hooks.c stands in front of."""

UNSEEN = (
    *("GOMP_task", "GOMP_doacross_", "GOMP_workshare_task_reduction_", "GOMP_cancel", "omp_fulfill_event"),
    *("omp_set_lock_", "omp_set_nest_lock_", "omp_test_lock_", "omp_test_nest_lock_"),
    *("pthread_", "sem_", "mtx_", "cnd_", "__atomic_"),
)
"""Beginnings of names of functions that order threads, too: races are not looked for where one is called.

The last is libatomic's.
"""


def wrap_words() -> list[str]:
    """For ld."""
    return [f"--wrap={name}" for name in WRAPPED]


def is_ordered_unseen(undefined: list[str]) -> bool:
    """Whether code that refers to these orders its threads in a way that the hooks do not see."""
    return any(name.startswith(UNSEEN) for name in undefined)
