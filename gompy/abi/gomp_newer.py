"""Numbers of GCC's offloading interface that releases after 12 added, under GCC's names; gomp.py has the others.

Sources: include/gomp-constants.h of GCC 13 to 16.  tests/abi/test_abi.py compares them with these headers where they
are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# --- GOMP_VERSION from which objects register with a mask, and with indirect functions ---
GOMP_VERSION_REQUIRES_MASK: Final = 2
GOMP_VERSION_INDIRECT_FUNCS: Final = 3
GOMP_VERSION_NEWEST: Final = 3

# --- bits of the mask of omp requires (GCC 13; the last GCC 15) ---
GOMP_REQUIRES_UNIFIED_ADDRESS: Final = 0x10
GOMP_REQUIRES_UNIFIED_SHARED_MEMORY: Final = 0x20
GOMP_REQUIRES_REVERSE_OFFLOAD: Final = 0x80
GOMP_REQUIRES_TARGET_USED: Final = 0x200
GOMP_REQUIRES_SELF_MAPS: Final = 0x400

# --- map kinds (GCC 14) ---
GOMP_MAP_STRUCT_UNORD: Final = 0x5C
GOMP_MAP_ALWAYS_PRESENT_TO: Final = 0x95
GOMP_MAP_ALWAYS_PRESENT_FROM: Final = 0x96
GOMP_MAP_ALWAYS_PRESENT_TOFROM: Final = 0x97

# --- device numbers (GCC 15) ---
GOMP_DEVICE_DEFAULT_OMP_61: Final = -5

REQUIRES_NAMES: Final[tuple[tuple[int, str], ...]] = (
    (GOMP_REQUIRES_UNIFIED_ADDRESS, "unified_address"),
    (GOMP_REQUIRES_UNIFIED_SHARED_MEMORY, "unified_shared_memory"),
    (GOMP_REQUIRES_SELF_MAPS, "self_maps"),
    (GOMP_REQUIRES_REVERSE_OFFLOAD, "reverse_offload"),
)


def requires_names(mask: int) -> list[str]:
    """The clauses of ``omp requires`` that a mask stands for."""
    return [name for bit, name in REQUIRES_NAMES if mask & bit]
