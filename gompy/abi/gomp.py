"""Numbers of GCC's offloading interface, under GCC's names.

Sources, GCC 12: include/gomp-constants.h; libgomp/libgomp-plugin.h where a section says so.  tests/abi/test_abi.py
compares every one with these headers.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own, without the 10 ms that importing typing costs every compile
if TYPE_CHECKING:
    from typing import Final

# --- versions of the interface and of images ---
GOMP_VERSION: Final = 1
GOMP_VERSION_NVIDIA_PTX: Final = 1
GOMP_VERSION_INTEL_MIC: Final = 0

# --- device types ---
GOMP_DEVICE_HOST: Final = 2
GOMP_DEVICE_NVIDIA_PTX: Final = 5
GOMP_DEVICE_INTEL_MIC: Final = 6
GOMP_DEVICE_HSA: Final = 7
GOMP_DEVICE_GCN: Final = 8

# --- device numbers ---
GOMP_DEVICE_ICV: Final = -1
GOMP_DEVICE_HOST_FALLBACK: Final = -2

# --- flags of GOMP_target_ext, GOMP_target_update_ext, GOMP_target_enter_exit_data ---
GOMP_TARGET_FLAG_NOWAIT: Final = 1
GOMP_TARGET_FLAG_EXIT_DATA: Final = 2

# --- words of GOMP_target_ext's args ---
GOMP_TARGET_ARG_DEVICE_MASK: Final = 0x7F
GOMP_TARGET_ARG_SUBSEQUENT_PARAM: Final = 0x80
GOMP_TARGET_ARG_ID_MASK: Final = 0xFF00
GOMP_TARGET_ARG_NUM_TEAMS: Final = 0x100
GOMP_TARGET_ARG_THREAD_LIMIT: Final = 0x200
GOMP_TARGET_ARG_VALUE_SHIFT: Final = 16

# --- flags of GOMP_task; which, of GOMP_cancellation_point ---
GOMP_TASK_FLAG_DEPEND: Final = 8
GOMP_CANCEL_PARALLEL: Final = 1
GOMP_CANCEL_TASKGROUP: Final = 8

# --- launch words of GOACC_parallel_keyed ---
GOMP_LAUNCH_DIM: Final = 1
GOMP_LAUNCH_ASYNC: Final = 2
GOMP_LAUNCH_WAIT: Final = 3
GOMP_DIM_MAX: Final = 3

# --- capabilities of a device (libgomp-plugin.h) ---
GOMP_OFFLOAD_CAP_SHARED_MEM: Final = 1
GOMP_OFFLOAD_CAP_NATIVE_EXEC: Final = 2
GOMP_OFFLOAD_CAP_OPENMP_400: Final = 4
GOMP_OFFLOAD_CAP_OPENACC_200: Final = 8

# --- properties of an OpenACC device (libgomp-plugin.h) ---
GOACC_PROPERTY_STRING_MASK: Final = 0x10000
GOACC_PROPERTY_MEMORY: Final = 1
GOACC_PROPERTY_FREE_MEMORY: Final = 2
GOACC_PROPERTY_NAME: Final = 0x10001
GOACC_PROPERTY_VENDOR: Final = 0x10002
GOACC_PROPERTY_DRIVER: Final = 0x10003

# --- map kinds ---
GOMP_MAP_ALLOC: Final = 0x00
GOMP_MAP_TO: Final = 0x01
GOMP_MAP_FROM: Final = 0x02
GOMP_MAP_TOFROM: Final = 0x03
GOMP_MAP_POINTER: Final = 0x04
GOMP_MAP_TO_PSET: Final = 0x05
GOMP_MAP_FORCE_PRESENT: Final = 0x06
GOMP_MAP_DELETE: Final = 0x07
GOMP_MAP_FORCE_DEVICEPTR: Final = 0x08
GOMP_MAP_IF_PRESENT: Final = 0x0B
GOMP_MAP_FIRSTPRIVATE: Final = 0x0C
GOMP_MAP_FIRSTPRIVATE_INT: Final = 0x0D
GOMP_MAP_USE_DEVICE_PTR: Final = 0x0E
GOMP_MAP_ZERO_LEN_ARRAY_SECTION: Final = 0x0F
GOMP_MAP_USE_DEVICE_PTR_IF_PRESENT: Final = 0x10
GOMP_MAP_ALWAYS_TO: Final = 0x11
GOMP_MAP_ALWAYS_FROM: Final = 0x12
GOMP_MAP_ALWAYS_TOFROM: Final = 0x13
GOMP_MAP_RELEASE: Final = 0x17
GOMP_MAP_STRUCT: Final = 0x1C
GOMP_MAP_ALWAYS_POINTER: Final = 0x1D
GOMP_MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION: Final = 0x1E
GOMP_MAP_DELETE_ZERO_LEN_ARRAY_SECTION: Final = 0x1F
GOMP_MAP_ATTACH: Final = 0x50
GOMP_MAP_DETACH: Final = 0x51
GOMP_MAP_ATTACH_ZERO_LENGTH_ARRAY_SECTION: Final = 0x52
GOMP_MAP_FORCE_ALLOC: Final = 0x80
GOMP_MAP_FORCE_TO: Final = 0x81
GOMP_MAP_FORCE_FROM: Final = 0x82
GOMP_MAP_FORCE_TOFROM: Final = 0x83
GOMP_MAP_FORCE_DETACH: Final = 0xD1

# --- bits of map kinds ---
GOMP_MAP_FLAG_TO: Final = 0x01
GOMP_MAP_FLAG_FROM: Final = 0x02
GOMP_MAP_FLAG_SPECIAL: Final = 0x0C
GOMP_MAP_FLAG_FORCE: Final = 0x80
GOMP_MAP_IMPLICIT: Final = 0x60
GOMP_MAP_FLAG_SPECIAL_BITS: Final = 0x7C
