"""What each map kind means to the runtime: one row a kind; the properties are words and the sets of kinds that follow.

Sources, GCC 12 and 14: include/gomp-constants.h (enum gomp_map_kind, with its comments); libgomp/target.c,
libgomp/oacc-mem.c.
A further kind needs its number in gomp.py, a row here, and, where it is like no other, a line in the mapping's passes.
"""

from __future__ import annotations

from gompy.abi import gomp, gomp_newer

PROPERTIES = {
    "new": "makes a new object on the device of what is not mapped",
    "filled": "that object gets its first contents from the host",
    "to": "update copies to the device",
    "from": "goes back to the host at the end, or in update",
    "always_to": "is copied to the device also where it is mapped",
    "always_from": "goes back also where it stays mapped",
    "new_only": "may not be mapped",
    "pointer": "its size is a bias of the pointer's value",
    "attach": "attaches a pointer that is mapped",
    "detach": "undoes an attachment",
    "use_device": "the host word becomes the device address",
    "bare": "has no object of its own on the device",
    "section": "may have no length: then it means what holds its first byte",
    "exit": "stands in exit data",
    "delete": "takes away all that was counted",
    "present": "has to be mapped",
}
"""Name: what a kind with it does."""

TO = ("new", "filled", "to")
FROM = ("new", "from")
TOFROM = ("new", "filled", "to", "from")

KINDS: dict[int, tuple[str, tuple[str, ...]]] = {
    gomp.GOMP_MAP_ALLOC: ("alloc", ("new",)),
    gomp.GOMP_MAP_TO: ("to", TO),
    gomp.GOMP_MAP_FROM: ("from", (*FROM, "exit")),
    gomp.GOMP_MAP_TOFROM: ("tofrom", TOFROM),
    gomp.GOMP_MAP_POINTER: ("pointer", ("new", "filled", "pointer")),
    gomp.GOMP_MAP_TO_PSET: ("descriptor", ("new", "filled")),
    gomp.GOMP_MAP_FORCE_PRESENT: ("present", ("new", "filled", "present")),
    gomp.GOMP_MAP_DELETE: ("delete", ("exit", "delete")),
    gomp.GOMP_MAP_FORCE_DEVICEPTR: ("deviceptr", ("new", "filled")),
    gomp.GOMP_MAP_IF_PRESENT: ("if present", ()),
    gomp.GOMP_MAP_FIRSTPRIVATE: ("firstprivate", ()),
    gomp.GOMP_MAP_FIRSTPRIVATE_INT: ("firstprivate", ("bare",)),
    gomp.GOMP_MAP_USE_DEVICE_PTR: ("use_device_ptr", ("use_device", "bare")),
    gomp.GOMP_MAP_ZERO_LEN_ARRAY_SECTION: ("section without length", ("section", "exit")),
    gomp.GOMP_MAP_USE_DEVICE_PTR_IF_PRESENT: ("use_device_ptr", ("use_device", "bare")),
    gomp.GOMP_MAP_ALWAYS_TO: ("always, to", (*TO, "always_to")),
    gomp.GOMP_MAP_ALWAYS_FROM: ("always, from", (*FROM, "always_from", "exit")),
    gomp.GOMP_MAP_ALWAYS_TOFROM: ("always, tofrom", (*TOFROM, "always_to", "always_from")),
    gomp.GOMP_MAP_RELEASE: ("release", ("exit",)),
    gomp.GOMP_MAP_STRUCT: ("struct", ("bare",)),
    gomp.GOMP_MAP_ALWAYS_POINTER: ("pointer", ("bare",)),
    gomp.GOMP_MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION: ("pointer", ("new", "filled", "pointer")),
    gomp.GOMP_MAP_DELETE_ZERO_LEN_ARRAY_SECTION: ("delete", ("section", "exit", "delete")),
    gomp.GOMP_MAP_ATTACH: ("attach", ("attach", "bare")),
    gomp.GOMP_MAP_DETACH: ("detach", ("detach", "bare")),
    gomp.GOMP_MAP_ATTACH_ZERO_LENGTH_ARRAY_SECTION: ("attach", ("attach", "bare")),
    gomp.GOMP_MAP_FORCE_ALLOC: ("alloc", ("new", "new_only")),
    gomp.GOMP_MAP_FORCE_TO: ("to", (*TO, "new_only")),
    gomp.GOMP_MAP_FORCE_FROM: ("from", (*FROM, "new_only")),
    gomp.GOMP_MAP_FORCE_TOFROM: ("tofrom", (*TOFROM, "new_only")),
    gomp.GOMP_MAP_FORCE_DETACH: ("detach", ("detach", "bare")),
    gomp_newer.GOMP_MAP_ALWAYS_PRESENT_TO: ("present, always, to", (*TO, "always_to", "present")),
    gomp_newer.GOMP_MAP_ALWAYS_PRESENT_FROM: ("present, always, from", (*FROM, "always_from", "exit", "present")),
    gomp_newer.GOMP_MAP_ALWAYS_PRESENT_TOFROM: (
        "present, always, tofrom",
        (*TOFROM, "always_to", "always_from", "present"),
    ),
}
"""Kind: its name in the words of OpenMP's clauses, where there are such, and its properties."""
