"""What mends a finding, in the words of the program: OpenMP's or OpenACC's, of C or of Fortran."""

from __future__ import annotations

from functools import cache

from gompy.check.dwarf import ELEMENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

ACC: Final = frozenset(("data", "parallel", "kernels", "serial", "host_data", "enter data", "exit data", "update"))
"""Constructs as OpenACC calls them; its routines begin with acc_.  Those of OpenMP begin with target, or omp_."""
FORTRAN: Final = (".f", ".for", ".ftn", ".fpp", ".f90", ".f95", ".f03", ".f08")
POLYMORPHIC: Final = "%_data"
"""gfortran's name of the pointer in a class variable."""

OPENMP: Final = {
    "unmapped": "map {} at the region's directive, or before (target data, target enter data)",
    "unmapped-class": "copy what the region uses of {} to variables, or name arrays of it by associate: of a "
    "polymorphic variable gfortran maps the descriptor alone",
    "unnamed": "map {} at the region's directive, not is_device_ptr, or the pointer and {} by one directive, "
    "which attaches it",
    "stale-host": "{sentinel} target update from({}) before it",
    "stale-host-gone": "map(tofrom: {}), or map(from: {})",
    "stale-device": "{sentinel} target update to({}) before the region, or map(always, to: {})",
    "unset": "map(to: {}) or map(tofrom: {}), or write it first",
    "unset-associated": "{sentinel} target update to({}) before the region, or write it first",
    "unset-host": "have the region write all of it, or map(tofrom: {}), which keeps what the host had",
    "race": "{sentinel} atomic, reduction(…: {}), a barrier between, or memory of their own for the threads",
    "race-host": "{sentinel} taskwait before it, or depend clauses",
    "race-host-task": "{sentinel} taskwait before it, or a task around it with a depend clause",
    "race-queues": "{sentinel} taskwait between them, or depend clauses",
    "redundant-to": "a target data around the regions that keeps it on the device",
    "redundant-from": "map(to: {}), if no region changes it",
    "not-present": "map {} before (target data or target enter data)",
    "allocated": "use {} in a region with is_device_ptr, or copy it to the host (omp_target_memcpy)",
    "mapped": "use {} at its address on the host",
}
OPENACC: Final = OPENMP | {
    "unmapped": "copy({}) at the region's directive, or before (data, enter data)",
    "unnamed": "present({}) or copy({}) at the region's directive: only a pointer that it names is translated",
    "stale-host": "{sentinel} update self({}) before it",
    "stale-host-gone": "copy({}), or copyout({})",
    "stale-device": "{sentinel} update device({}) before the region",
    "unset": "copyin({}) or copy({}), or write it first",
    "unset-associated": "{sentinel} update device({}) before the region, or write it first",
    "unset-host": "have the region write all of it, or copy({}), which keeps what the host had",
    "race-host": "{sentinel} wait before it",
    "race-queues": "{sentinel} wait between them, a wait clause, or the same queue",
    "redundant-to": "a data construct around the regions that keeps it on the device",
    "redundant-from": "copyin({}), if no region changes it",
    "not-present": "copy({}) before (data or enter data)",
    "allocated": "use {} in a region with deviceptr, or copy it to the host (acc_memcpy_from_device)",
}


@cache  # asked at each of a million records; there are few constructs
def is_openacc(what: str) -> bool:
    """Whether a construct, or routine, is OpenACC's."""
    return what in ACC or what.startswith("acc_")


def mend(kind: str, item: str, file: str, acc: bool) -> str:
    """What is to be done about ``item``, a variable or a list item of a clause; empty: it has no name."""
    fortran = file.lower().endswith(FORTRAN)
    sentinel = ("!$" if fortran else "#pragma ") + ("acc" if acc else "omp")
    if kind == "unmapped" and item.endswith(POLYMORPHIC):
        kind, item = "unmapped-class", item.removesuffix(POLYMORPHIC)
    vector, called, section = item.partition(ELEMENTS)
    if called:  # a clause takes no call: a pointer has to be named
        item = f"p{section or '[:n]'}"
    text = (OPENACC if acc else OPENMP)[kind].replace("{sentinel}", sentinel).replace("{}", item or "…")
    return f"{text}, with p = {vector}{called}" if called else text
