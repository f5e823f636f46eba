"""Numbers of OpenMP's interoperability objects as GCC has them from release 15 on, under GCC's names in capitals.

Sources, GCC 15 and 16: libgomp/omp.h.in (omp_interop_fr_t, omp_interop_property_t, omp_interop_rc_t),
libgomp/libgomp-plugin.h (enum gomp_interop_flag), include/gomp-constants.h (GOMP_INTEROP_*).  tests/abi/test_abi.py
compares them with an omp.h that has them.  What begins with GOMPY is ours.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# --- foreign runtimes ---
OMP_IFR_CUDA: Final = 1
OMP_IFR_CUDA_DRIVER: Final = 2
OMP_IFR_HIP: Final = 5
OMP_IFR_LAST: Final = 7

# --- properties: all that there are, from the last to the first ---
OMP_IPR_FR_ID: Final = -1
OMP_IPR_FR_NAME: Final = -2
OMP_IPR_VENDOR: Final = -3
OMP_IPR_VENDOR_NAME: Final = -4
OMP_IPR_DEVICE_NUM: Final = -5
OMP_IPR_PLATFORM: Final = -6
OMP_IPR_DEVICE: Final = -7
OMP_IPR_DEVICE_CONTEXT: Final = -8
OMP_IPR_TARGETSYNC: Final = -9
OMP_IPR_FIRST: Final = -9

# --- what the routines answer beside a value ---
OMP_IRC_NO_VALUE: Final = 1
OMP_IRC_SUCCESS: Final = 0
OMP_IRC_EMPTY: Final = -1
OMP_IRC_OUT_OF_RANGE: Final = -2
OMP_IRC_TYPE_INT: Final = -3
OMP_IRC_TYPE_PTR: Final = -4
OMP_IRC_TYPE_STR: Final = -5
OMP_IRC_OTHER: Final = -6

# --- arguments of GOMP_interop; the byte between the parts of a list of preferences ---
GOMP_INTEROP_TARGET: Final = 1
GOMP_INTEROP_TARGETSYNC: Final = 2
GOMP_INTEROP_FLAG_NOWAIT: Final = 1
GOMP_INTEROP_IFR_SEPARATOR: Final = -128

# --- what a plugin's GOMP_OFFLOAD_interop is asked for ---
GOMP_INTEROP_FLAG_INIT: Final = 0
GOMP_INTEROP_FLAG_USE: Final = 1
GOMP_INTEROP_FLAG_DESTROY: Final = 2

# --- vendors (OpenMP's additional definitions) ---
VENDOR_NVIDIA: Final = 11

# --- the emulated MIC's foreign runtime, and its vendor; both beyond what is given out ---
GOMPY_INTEROP_ID: Final = 100
