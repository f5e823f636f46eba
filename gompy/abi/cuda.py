"""Numbers of the CUDA driver interface, under its own names: for the nvptx plugin and for the emulated driver.

Source: CUDA Driver API reference, "Data types used by CUDA driver".  tests/abi/test_cuda_numbers.py compares them with
GCC 12's include/cuda/cuda.h, which has some, and with the header of a CUDA toolkit where one is installed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

DRIVER_VERSION: Final = 13000
"""CUDA_VERSION of the interface that the emulated driver follows."""

RESULTS = {
    "CUDA_SUCCESS": (0, "no error"),
    "CUDA_ERROR_INVALID_VALUE": (1, "invalid argument"),
    "CUDA_ERROR_OUT_OF_MEMORY": (2, "out of memory"),
    "CUDA_ERROR_NOT_INITIALIZED": (3, "initialization error"),
    "CUDA_ERROR_DEINITIALIZED": (4, "driver shutting down"),
    "CUDA_ERROR_STUB_LIBRARY": (34, "CUDA driver is a stub library"),
    "CUDA_ERROR_DEVICE_UNAVAILABLE": (46, "CUDA-capable device(s) is/are busy or unavailable"),
    "CUDA_ERROR_NO_DEVICE": (100, "no CUDA-capable device is detected"),
    "CUDA_ERROR_INVALID_DEVICE": (101, "invalid device ordinal"),
    "CUDA_ERROR_INVALID_IMAGE": (200, "device kernel image is invalid"),
    "CUDA_ERROR_INVALID_CONTEXT": (201, "invalid device context"),
    "CUDA_ERROR_CONTEXT_ALREADY_CURRENT": (202, "context already current"),
    "CUDA_ERROR_MAP_FAILED": (205, "mapping of buffer object failed"),
    "CUDA_ERROR_UNMAP_FAILED": (206, "unmapping of buffer object failed"),
    "CUDA_ERROR_NO_BINARY_FOR_GPU": (209, "no kernel image is available for execution on the device"),
    "CUDA_ERROR_ECC_UNCORRECTABLE": (214, "uncorrectable ECC error encountered"),
    "CUDA_ERROR_UNSUPPORTED_LIMIT": (215, "limit is not supported on this architecture"),
    "CUDA_ERROR_CONTEXT_ALREADY_IN_USE": (216, "exclusive-thread device already in use by a different thread"),
    "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED": (217, "peer access is not supported between these two devices"),
    "CUDA_ERROR_INVALID_PTX": (218, "a PTX JIT compilation failed"),
    "CUDA_ERROR_NVLINK_UNCORRECTABLE": (220, "uncorrectable NVLink error detected during the execution"),
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": (221, "PTX JIT compiler library not found"),
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (222, "the provided PTX was compiled with an unsupported toolchain."),
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": (223, "PTX JIT compilation was disabled"),
    "CUDA_ERROR_INVALID_SOURCE": (300, "device kernel image is invalid"),
    "CUDA_ERROR_FILE_NOT_FOUND": (301, "file not found"),
    "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND": (302, "shared object symbol not found"),
    "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED": (303, "shared object initialization failed"),
    "CUDA_ERROR_OPERATING_SYSTEM": (304, "OS call failed or operation not supported on this OS"),
    "CUDA_ERROR_INVALID_HANDLE": (400, "invalid resource handle"),
    "CUDA_ERROR_ILLEGAL_STATE": (401, "the operation cannot be performed in the present state"),
    "CUDA_ERROR_NOT_FOUND": (500, "named symbol not found"),
    "CUDA_ERROR_NOT_READY": (600, "device not ready"),
    "CUDA_ERROR_ILLEGAL_ADDRESS": (700, "an illegal memory access was encountered"),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (701, "too many resources requested for launch"),
    "CUDA_ERROR_LAUNCH_TIMEOUT": (702, "the launch timed out and was terminated"),
    "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING": (703, "launch uses incompatible texturing mode"),
    "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED": (704, "peer access is already enabled"),
    "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED": (705, "peer access has not been enabled"),
    "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE": (708, "cannot set while device is active in this process"),
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": (709, "context is destroyed"),
    "CUDA_ERROR_ASSERT": (710, "device-side assert triggered"),
    "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED": (712, "part or all of the requested memory range is already mapped"),
    "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED": (713, "pointer does not correspond to a registered memory region"),
    "CUDA_ERROR_HARDWARE_STACK_ERROR": (714, "hardware stack error"),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": (715, "an illegal instruction was encountered"),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (716, "misaligned address"),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": (717, "operation not supported on global/shared address space"),
    "CUDA_ERROR_INVALID_PC": (718, "invalid program counter"),
    "CUDA_ERROR_LAUNCH_FAILED": (719, "unspecified launch failure"),
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": (720, "too many blocks in cooperative launch"),
    "CUDA_ERROR_NOT_PERMITTED": (800, "operation not permitted"),
    "CUDA_ERROR_NOT_SUPPORTED": (801, "operation not supported"),
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": (900, "operation not permitted when stream is capturing"),
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": (901, "operation failed due to a previous error during capture"),
    "CUDA_ERROR_STREAM_CAPTURE_MERGE": (902, "operation would result in a merge of separate capture sequences"),
    "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED": (903, "capture was not ended in the same stream as it began"),
    "CUDA_ERROR_STREAM_CAPTURE_UNJOINED": (904, "capturing stream has unjoined work"),
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": (905, "dependency created on uncaptured work in another stream"),
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": (
        906,
        "operation would make the legacy stream depend on a capturing blocking stream",
    ),
    "CUDA_ERROR_CAPTURED_EVENT": (907, "operation not permitted on an event last recorded in a capturing stream"),
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD": (
        908,
        "attempt to terminate a thread-local capture sequence from another thread",
    ),
    "CUDA_ERROR_TIMEOUT": (909, "wait operation timed out"),
    "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE": (
        910,
        "the graph update was not performed because it included changes which violated constraints specific to "
        "instantiated graph update",
    ),
    "CUDA_ERROR_UNKNOWN": (999, "unknown error"),
}
"""CUresult: number, and the words of cuGetErrorString."""

CUDA_ERROR_CONTAINED: Final = 226
CUDA_ERROR_TENSOR_MEMORY_LEAK: Final = 721
"""Later results, of which the emulated driver has no words."""

# --- CUdevice_attribute ---
CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: Final = 1
CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: Final = 2
CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: Final = 3
CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: Final = 4
CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: Final = 5
CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: Final = 6
CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: Final = 7
CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: Final = 8
CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: Final = 9
CU_DEVICE_ATTRIBUTE_WARP_SIZE: Final = 10
CU_DEVICE_ATTRIBUTE_MAX_PITCH: Final = 11
CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: Final = 12
CU_DEVICE_ATTRIBUTE_CLOCK_RATE: Final = 13
CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: Final = 14
CU_DEVICE_ATTRIBUTE_GPU_OVERLAP: Final = 15
CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: Final = 16
CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT: Final = 17
CU_DEVICE_ATTRIBUTE_INTEGRATED: Final = 18
CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: Final = 19
CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: Final = 20
CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: Final = 30
CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: Final = 31
CU_DEVICE_ATTRIBUTE_ECC_ENABLED: Final = 32
CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: Final = 33
CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: Final = 34
CU_DEVICE_ATTRIBUTE_TCC_DRIVER: Final = 35
CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: Final = 36
CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: Final = 37
CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: Final = 38
CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: Final = 39
CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: Final = 40
CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: Final = 41
CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: Final = 50
CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: Final = 51
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: Final = 75
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: Final = 76
CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED: Final = 78
CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED: Final = 79
CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED: Final = 80
CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: Final = 81
CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: Final = 82
CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: Final = 83
CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD: Final = 84
CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID: Final = 85
CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED: Final = 86
CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: Final = 87
CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: Final = 88
CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: Final = 89
CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED: Final = 90
CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: Final = 91
CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: Final = 95
CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH: Final = 96
CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: Final = 97
CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED: Final = 99
CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: Final = 100
CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: Final = 101
CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: Final = 106
CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: Final = 111
CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: Final = 115
LAST_ATTRIBUTE: Final = 147
"""The largest one of DRIVER_VERSION; the emulated driver says 0 to those that it does not know below it."""

# --- CUfunction_attribute ---
CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: Final = 0
CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: Final = 1
CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: Final = 2
CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: Final = 3
CU_FUNC_ATTRIBUTE_NUM_REGS: Final = 4
CU_FUNC_ATTRIBUTE_PTX_VERSION: Final = 5
CU_FUNC_ATTRIBUTE_BINARY_VERSION: Final = 6
CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: Final = 7
CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: Final = 8
CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: Final = 9
CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: Final = 10
CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: Final = 15

# --- CUpointer_attribute ---
CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: Final = 1
CU_POINTER_ATTRIBUTE_CONTEXT: Final = 1
CU_POINTER_ATTRIBUTE_MEMORY_TYPE: Final = 2
CU_POINTER_ATTRIBUTE_DEVICE_POINTER: Final = 3
CU_POINTER_ATTRIBUTE_HOST_POINTER: Final = 4
CU_POINTER_ATTRIBUTE_BUFFER_ID: Final = 7
CU_POINTER_ATTRIBUTE_IS_MANAGED: Final = 8
CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: Final = 9
CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: Final = 11
CU_POINTER_ATTRIBUTE_RANGE_SIZE: Final = 12
CU_POINTER_ATTRIBUTE_MAPPED: Final = 13

# --- CUlimit ---
CU_LIMIT_STACK_SIZE: Final = 0
CU_LIMIT_PRINTF_FIFO_SIZE: Final = 1
CU_LIMIT_MALLOC_HEAP_SIZE: Final = 2
CU_LIMIT_CIG_ENABLED: Final = 8

# --- CUmemorytype, CUmemLocationType ---
CU_MEMORYTYPE_HOST: Final = 1
CU_MEMORYTYPE_DEVICE: Final = 2
CU_MEMORYTYPE_ARRAY: Final = 3
CU_MEMORYTYPE_UNIFIED: Final = 4
CU_MEM_LOCATION_TYPE_DEVICE: Final = 1
CU_MEM_LOCATION_TYPE_HOST: Final = 2
CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: Final = 4

# --- CUjit_option, CUjitInputType ---
CU_JIT_WALL_TIME: Final = 2
CU_JIT_INFO_LOG_BUFFER: Final = 3
CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: Final = 4
CU_JIT_ERROR_LOG_BUFFER: Final = 5
CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: Final = 6
CU_JIT_OPTIMIZATION_LEVEL: Final = 7
CU_JIT_LOG_VERBOSE: Final = 12
CU_JIT_INPUT_CUBIN: Final = 0
CU_JIT_INPUT_PTX: Final = 1

# --- flags ---
CU_STREAM_NON_BLOCKING: Final = 1
CU_EVENT_BLOCKING_SYNC: Final = 1
CU_EVENT_DISABLE_TIMING: Final = 2
CU_EVENT_INTERPROCESS: Final = 4
CU_MEMHOSTALLOC_PORTABLE: Final = 1
CU_MEMHOSTALLOC_DEVICEMAP: Final = 2
CU_MEMHOSTALLOC_WRITECOMBINED: Final = 4
CU_MEM_ATTACH_GLOBAL: Final = 1
CU_MEM_ATTACH_HOST: Final = 2
CU_MEM_ATTACH_SINGLE: Final = 4
CU_MODULE_EAGER_LOADING: Final = 1
CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM: Final = 2
CU_MEM_ALLOCATION_TYPE_PINNED: Final = 1
CU_MEM_ACCESS_FLAGS_PROT_READWRITE: Final = 3

# --- CUmemPool_attribute ---
CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: Final = 1
CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: Final = 2
CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: Final = 3
CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: Final = 4
CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: Final = 5
CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: Final = 6
CU_MEMPOOL_ATTR_USED_MEM_CURRENT: Final = 7
CU_MEMPOOL_ATTR_USED_MEM_HIGH: Final = 8

# --- graphs, capture ---
CU_STREAM_CAPTURE_STATUS_NONE: Final = 0
CU_STREAM_CAPTURE_STATUS_ACTIVE: Final = 1
CU_STREAM_CAPTURE_STATUS_INVALIDATED: Final = 2
CU_STREAM_CAPTURE_MODE_GLOBAL: Final = 0
CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: Final = 1
CU_STREAM_CAPTURE_MODE_RELAXED: Final = 2
CU_STREAM_SET_CAPTURE_DEPENDENCIES: Final = 1
CU_EVENT_RECORD_EXTERNAL: Final = 1
CU_EVENT_WAIT_EXTERNAL: Final = 1
CU_GRAPH_NODE_TYPE_KERNEL: Final = 0
CU_GRAPH_NODE_TYPE_MEMCPY: Final = 1
CU_GRAPH_NODE_TYPE_MEMSET: Final = 2
CU_GRAPH_NODE_TYPE_HOST: Final = 3
CU_GRAPH_NODE_TYPE_GRAPH: Final = 4
CU_GRAPH_NODE_TYPE_EMPTY: Final = 5
CU_GRAPH_NODE_TYPE_WAIT_EVENT: Final = 6
CU_GRAPH_NODE_TYPE_EVENT_RECORD: Final = 7
CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH: Final = 4
CUDA_GRAPH_INSTANTIATE_SUCCESS: Final = 0
CUDA_GRAPH_INSTANTIATE_ERROR: Final = 1
CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE: Final = 2
CU_GRAPH_EXEC_UPDATE_SUCCESS: Final = 0
CU_GRAPH_EXEC_UPDATE_ERROR: Final = 1
CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED: Final = 2
CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED: Final = 3

# --- textures ---
CU_RESOURCE_TYPE_ARRAY: Final = 0
CU_RESOURCE_TYPE_LINEAR: Final = 2
CU_RESOURCE_TYPE_PITCH2D: Final = 3
CU_TRSF_READ_AS_INTEGER: Final = 1
CU_TRSF_NORMALIZED_COORDINATES: Final = 2
CU_TRSF_SRGB: Final = 16
CU_TRSA_OVERRIDE_FORMAT: Final = 1
CUDA_ARRAY3D_LAYERED: Final = 1
CUDA_ARRAY3D_SURFACE_LDST: Final = 2

# --- CUlaunchAttributeID ---
CU_LAUNCH_ATTRIBUTE_IGNORE: Final = 0
CU_LAUNCH_ATTRIBUTE_COOPERATIVE: Final = 2

# --- cuLaunchKernel's extra ---
CU_LAUNCH_PARAM_END: Final = 0
CU_LAUNCH_PARAM_BUFFER_POINTER: Final = 1
CU_LAUNCH_PARAM_BUFFER_SIZE: Final = 2
"""Pointers in the interface; here the numbers that they are made of."""

POINTERS = ("CU_LAUNCH_PARAM_END", "CU_LAUNCH_PARAM_BUFFER_POINTER", "CU_LAUNCH_PARAM_BUFFER_SIZE")
OWN = ("DRIVER_VERSION", "LAST_ATTRIBUTE")
"""Numbers that are not the interface's own."""

STICKY = (
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "CUDA_ERROR_CONTAINED",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_TENSOR_MEMORY_LEAK",
)
"""Errors of a kernel, and of the hardware, which every later call in the context repeats (CUresult: "leaves the process
in an inconsistent state"; PTX's trap, illegal addresses, and so on)."""
