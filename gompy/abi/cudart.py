"""The CUDA runtime interface: results, numbers and calls under its own names, for libcudart and its headers.

Source: CUDA Runtime API reference, "Data types used by CUDA Runtime" and "Modules".  A result's number and words are
the driver's (gompy/abi/cuda.py) wherever both have it.  tests/cudart/test_cudart_table.py compares the numbers with a
toolkit's header where one is installed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CUDART_VERSION: Final = 12000
"""The version of the interface: cudaRuntimeGetVersion, and CUDART_VERSION of the header."""
SONAME = "libcudart.so.12"

RESULTS = {
    "cudaSuccess": (0, "no error"),
    "cudaErrorInvalidValue": (1, "invalid argument"),
    "cudaErrorMemoryAllocation": (2, "out of memory"),
    "cudaErrorInitializationError": (3, "initialization error"),
    "cudaErrorCudartUnloading": (4, "driver shutting down"),
    "cudaErrorInvalidConfiguration": (9, "invalid configuration argument"),
    "cudaErrorInvalidPitchValue": (12, "invalid pitch argument"),
    "cudaErrorInvalidSymbol": (13, "invalid device symbol"),
    "cudaErrorInvalidHostPointer": (16, "invalid host pointer"),
    "cudaErrorInvalidDevicePointer": (17, "invalid device pointer"),
    "cudaErrorInvalidMemcpyDirection": (21, "invalid copy direction for memcpy"),
    "cudaErrorInvalidTexture": (18, "invalid texture reference"),
    "cudaErrorInvalidChannelDescriptor": (20, "invalid channel descriptor"),
    "cudaErrorStubLibrary": (34, "CUDA driver is a stub library"),
    "cudaErrorInsufficientDriver": (35, "CUDA driver version is insufficient for CUDA runtime version"),
    "cudaErrorDevicesUnavailable": (46, "CUDA-capable device(s) is/are busy or unavailable"),
    "cudaErrorMissingConfiguration": (52, "__global__ function call is not configured"),
    "cudaErrorInvalidDeviceFunction": (98, "invalid device function"),
    "cudaErrorNoDevice": (100, "no CUDA-capable device is detected"),
    "cudaErrorInvalidDevice": (101, "invalid device ordinal"),
    "cudaErrorInvalidKernelImage": (200, "device kernel image is invalid"),
    "cudaErrorDeviceUninitialized": (201, "invalid device context"),
    "cudaErrorMapBufferObjectFailed": (205, "mapping of buffer object failed"),
    "cudaErrorUnmapBufferObjectFailed": (206, "unmapping of buffer object failed"),
    "cudaErrorNoKernelImageForDevice": (209, "no kernel image is available for execution on the device"),
    "cudaErrorECCUncorrectable": (214, "uncorrectable ECC error encountered"),
    "cudaErrorUnsupportedLimit": (215, "limit is not supported on this architecture"),
    "cudaErrorDeviceAlreadyInUse": (216, "exclusive-thread device already in use by a different thread"),
    "cudaErrorPeerAccessUnsupported": (217, "peer access is not supported between these two devices"),
    "cudaErrorInvalidPtx": (218, "a PTX JIT compilation failed"),
    "cudaErrorNvlinkUncorrectable": (220, "uncorrectable NVLink error detected during the execution"),
    "cudaErrorJitCompilerNotFound": (221, "PTX JIT compiler library not found"),
    "cudaErrorUnsupportedPtxVersion": (222, "the provided PTX was compiled with an unsupported toolchain."),
    "cudaErrorJitCompilationDisabled": (223, "PTX JIT compilation was disabled"),
    "cudaErrorInvalidSource": (300, "device kernel image is invalid"),
    "cudaErrorFileNotFound": (301, "file not found"),
    "cudaErrorSharedObjectSymbolNotFound": (302, "shared object symbol not found"),
    "cudaErrorSharedObjectInitFailed": (303, "shared object initialization failed"),
    "cudaErrorOperatingSystem": (304, "OS call failed or operation not supported on this OS"),
    "cudaErrorInvalidResourceHandle": (400, "invalid resource handle"),
    "cudaErrorIllegalState": (401, "the operation cannot be performed in the present state"),
    "cudaErrorSymbolNotFound": (500, "named symbol not found"),
    "cudaErrorNotReady": (600, "device not ready"),
    "cudaErrorIllegalAddress": (700, "an illegal memory access was encountered"),
    "cudaErrorLaunchOutOfResources": (701, "too many resources requested for launch"),
    "cudaErrorLaunchTimeout": (702, "the launch timed out and was terminated"),
    "cudaErrorLaunchIncompatibleTexturing": (703, "launch uses incompatible texturing mode"),
    "cudaErrorPeerAccessAlreadyEnabled": (704, "peer access is already enabled"),
    "cudaErrorPeerAccessNotEnabled": (705, "peer access has not been enabled"),
    "cudaErrorSetOnActiveProcess": (708, "cannot set while device is active in this process"),
    "cudaErrorContextIsDestroyed": (709, "context is destroyed"),
    "cudaErrorAssert": (710, "device-side assert triggered"),
    "cudaErrorHostMemoryAlreadyRegistered": (712, "part or all of the requested memory range is already mapped"),
    "cudaErrorHostMemoryNotRegistered": (713, "pointer does not correspond to a registered memory region"),
    "cudaErrorHardwareStackError": (714, "hardware stack error"),
    "cudaErrorIllegalInstruction": (715, "an illegal instruction was encountered"),
    "cudaErrorMisalignedAddress": (716, "misaligned address"),
    "cudaErrorInvalidAddressSpace": (717, "operation not supported on global/shared address space"),
    "cudaErrorInvalidPc": (718, "invalid program counter"),
    "cudaErrorLaunchFailure": (719, "unspecified launch failure"),
    "cudaErrorCooperativeLaunchTooLarge": (720, "too many blocks in cooperative launch"),
    "cudaErrorNotPermitted": (800, "operation not permitted"),
    "cudaErrorNotSupported": (801, "operation not supported"),
    "cudaErrorStreamCaptureUnsupported": (900, "operation not permitted when stream is capturing"),
    "cudaErrorStreamCaptureInvalidated": (901, "operation failed due to a previous error during capture"),
    "cudaErrorStreamCaptureMerge": (902, "operation would result in a merge of separate capture sequences"),
    "cudaErrorStreamCaptureUnmatched": (903, "capture was not ended in the same stream as it began"),
    "cudaErrorStreamCaptureUnjoined": (904, "capturing stream has unjoined work"),
    "cudaErrorStreamCaptureIsolation": (905, "dependency created on uncaptured work in another stream"),
    "cudaErrorStreamCaptureImplicit": (
        906,
        "operation would make the legacy stream depend on a capturing blocking stream",
    ),
    "cudaErrorCapturedEvent": (907, "operation not permitted on an event last recorded in a capturing stream"),
    "cudaErrorStreamCaptureWrongThread": (
        908,
        "attempt to terminate a thread-local capture sequence from another thread",
    ),
    "cudaErrorTimeout": (909, "wait operation timed out"),
    "cudaErrorGraphExecUpdateFailure": (
        910,
        "the graph update was not performed because it included changes which violated constraints specific to "
        "instantiated graph update",
    ),
    "cudaErrorUnknown": (999, "unknown error"),
}
"""cudaError_t: number, and the words of cudaGetErrorString."""

ENUMERATIONS = {
    "cudaMemcpyKind": {
        "cudaMemcpyHostToHost": 0,
        "cudaMemcpyHostToDevice": 1,
        "cudaMemcpyDeviceToHost": 2,
        "cudaMemcpyDeviceToDevice": 3,
        "cudaMemcpyDefault": 4,
    },
    "cudaMemoryType": {
        "cudaMemoryTypeUnregistered": 0,
        "cudaMemoryTypeHost": 1,
        "cudaMemoryTypeDevice": 2,
        "cudaMemoryTypeManaged": 3,
    },
    "cudaFuncAttribute": {
        "cudaFuncAttributeMaxDynamicSharedMemorySize": 8,
        "cudaFuncAttributePreferredSharedMemoryCarveout": 9,
    },
    "cudaFuncCache": {
        "cudaFuncCachePreferNone": 0,
        "cudaFuncCachePreferShared": 1,
        "cudaFuncCachePreferL1": 2,
        "cudaFuncCachePreferEqual": 3,
    },
    "cudaSharedMemConfig": {
        "cudaSharedMemBankSizeDefault": 0,
        "cudaSharedMemBankSizeFourByte": 1,
        "cudaSharedMemBankSizeEightByte": 2,
    },
    "cudaLimit": {
        "cudaLimitStackSize": 0,
        "cudaLimitPrintfFifoSize": 1,
        "cudaLimitMallocHeapSize": 2,
    },
    "cudaMemoryAdvise": {
        "cudaMemAdviseSetReadMostly": 1,
        "cudaMemAdviseUnsetReadMostly": 2,
        "cudaMemAdviseSetPreferredLocation": 3,
        "cudaMemAdviseUnsetPreferredLocation": 4,
        "cudaMemAdviseSetAccessedBy": 5,
        "cudaMemAdviseUnsetAccessedBy": 6,
    },
    "cudaMemAllocationType": {"cudaMemAllocationTypeInvalid": 0, "cudaMemAllocationTypePinned": 1},
    "cudaMemAllocationHandleType": {"cudaMemHandleTypeNone": 0, "cudaMemHandleTypePosixFileDescriptor": 1},
    "cudaMemLocationType": {"cudaMemLocationTypeInvalid": 0, "cudaMemLocationTypeDevice": 1},
    "cudaMemPoolAttr": {
        "cudaMemPoolReuseFollowEventDependencies": 1,
        "cudaMemPoolReuseAllowOpportunistic": 2,
        "cudaMemPoolReuseAllowInternalDependencies": 3,
        "cudaMemPoolAttrReleaseThreshold": 4,
        "cudaMemPoolAttrReservedMemCurrent": 5,
        "cudaMemPoolAttrReservedMemHigh": 6,
        "cudaMemPoolAttrUsedMemCurrent": 7,
        "cudaMemPoolAttrUsedMemHigh": 8,
    },
    "cudaSurfaceBoundaryMode": {
        "cudaBoundaryModeZero": 0,
        "cudaBoundaryModeClamp": 1,
        "cudaBoundaryModeTrap": 2,
    },
    "cudaResourceType": {
        "cudaResourceTypeArray": 0,
        "cudaResourceTypeMipmappedArray": 1,
        "cudaResourceTypeLinear": 2,
        "cudaResourceTypePitch2D": 3,
    },
    "cudaTextureAddressMode": {
        "cudaAddressModeWrap": 0,
        "cudaAddressModeClamp": 1,
        "cudaAddressModeMirror": 2,
        "cudaAddressModeBorder": 3,
    },
    "cudaTextureFilterMode": {"cudaFilterModePoint": 0, "cudaFilterModeLinear": 1},
    "cudaTextureReadMode": {"cudaReadModeElementType": 0, "cudaReadModeNormalizedFloat": 1},
    "cudaChannelFormatKind": {
        "cudaChannelFormatKindSigned": 0,
        "cudaChannelFormatKindUnsigned": 1,
        "cudaChannelFormatKindFloat": 2,
        "cudaChannelFormatKindNone": 3,
    },
    "cudaStreamCaptureStatus": {
        "cudaStreamCaptureStatusNone": 0,
        "cudaStreamCaptureStatusActive": 1,
        "cudaStreamCaptureStatusInvalidated": 2,
    },
    "cudaStreamCaptureMode": {
        "cudaStreamCaptureModeGlobal": 0,
        "cudaStreamCaptureModeThreadLocal": 1,
        "cudaStreamCaptureModeRelaxed": 2,
    },
    "cudaStreamUpdateCaptureDependenciesFlags": {
        "cudaStreamAddCaptureDependencies": 0,
        "cudaStreamSetCaptureDependencies": 1,
    },
    "cudaGraphNodeType": {
        "cudaGraphNodeTypeKernel": 0,
        "cudaGraphNodeTypeMemcpy": 1,
        "cudaGraphNodeTypeMemset": 2,
        "cudaGraphNodeTypeHost": 3,
        "cudaGraphNodeTypeGraph": 4,
        "cudaGraphNodeTypeEmpty": 5,
        "cudaGraphNodeTypeWaitEvent": 6,
        "cudaGraphNodeTypeEventRecord": 7,
    },
    "cudaGraphInstantiateFlags": {
        "cudaGraphInstantiateFlagAutoFreeOnLaunch": 1,
        "cudaGraphInstantiateFlagUpload": 2,
        "cudaGraphInstantiateFlagDeviceLaunch": 4,
        "cudaGraphInstantiateFlagUseNodePriority": 8,
    },
    "cudaGraphExecUpdateResult": {
        "cudaGraphExecUpdateSuccess": 0,
        "cudaGraphExecUpdateError": 1,
        "cudaGraphExecUpdateErrorTopologyChanged": 2,
        "cudaGraphExecUpdateErrorNodeTypeChanged": 3,
        "cudaGraphExecUpdateErrorFunctionChanged": 4,
        "cudaGraphExecUpdateErrorParametersChanged": 5,
        "cudaGraphExecUpdateErrorNotSupported": 6,
    },
    "cudaGraphDebugDotFlags": {"cudaGraphDebugDotFlagsVerbose": 1},
    "cudaComputeMode": {
        "cudaComputeModeDefault": 0,
        "cudaComputeModeExclusive": 1,
        "cudaComputeModeProhibited": 2,
        "cudaComputeModeExclusiveProcess": 3,
    },
}

FLAGS = {
    "cudaStreamDefault": 0,
    "cudaStreamNonBlocking": 1,
    "cudaEventDefault": 0,
    "cudaEventBlockingSync": 1,
    "cudaEventDisableTiming": 2,
    "cudaEventInterprocess": 4,
    "cudaEventRecordDefault": 0,
    "cudaEventRecordExternal": 1,
    "cudaEventWaitDefault": 0,
    "cudaEventWaitExternal": 1,
    "cudaHostAllocDefault": 0,
    "cudaHostAllocPortable": 1,
    "cudaHostAllocMapped": 2,
    "cudaHostAllocWriteCombined": 4,
    "cudaArrayDefault": 0,
    "cudaArrayLayered": 1,
    "cudaArraySurfaceLoadStore": 2,
    "cudaArrayCubemap": 4,
    "cudaArrayTextureGather": 8,
    "cudaIpcMemLazyEnablePeerAccess": 1,
    "cudaHostRegisterDefault": 0,
    "cudaHostRegisterPortable": 1,
    "cudaHostRegisterMapped": 2,
    "cudaMemAttachGlobal": 1,
    "cudaMemAttachHost": 2,
    "cudaMemAttachSingle": 4,
    "cudaDeviceScheduleAuto": 0,
    "cudaDeviceScheduleSpin": 1,
    "cudaDeviceScheduleYield": 2,
    "cudaDeviceScheduleBlockingSync": 4,
    "cudaDeviceMapHost": 8,
    "cudaDeviceLmemResizeToMax": 16,
    "cudaTextureType1D": 1,
    "cudaTextureType2D": 2,
    "cudaTextureType3D": 3,
    "cudaOccupancyDefault": 0,
    "cudaOccupancyDisableCachingOverride": 1,
    "cudaCpuDeviceId": -1,
    "cudaInvalidDeviceId": -2,
}
"""Macros of the header; streams of a number are pointers, and stand in cuda_runtime_types.h."""

PROPERTIES = (
    ("char", "name[256]", ""),
    ("cudaUUID_t", "uuid", ""),
    ("char", "luid[8]", ""),
    ("unsigned", "luidDeviceNodeMask", ""),
    ("size_t", "totalGlobalMem", ""),
    ("size_t", "sharedMemPerBlock", "MAX_SHARED_MEMORY_PER_BLOCK"),
    ("int", "regsPerBlock", "MAX_REGISTERS_PER_BLOCK"),
    ("int", "warpSize", "WARP_SIZE"),
    ("size_t", "memPitch", "MAX_PITCH"),
    ("int", "maxThreadsPerBlock", "MAX_THREADS_PER_BLOCK"),
    ("int", "maxThreadsDim[3]", "MAX_BLOCK_DIM_X MAX_BLOCK_DIM_Y MAX_BLOCK_DIM_Z"),
    ("int", "maxGridSize[3]", "MAX_GRID_DIM_X MAX_GRID_DIM_Y MAX_GRID_DIM_Z"),
    ("int", "clockRate", "CLOCK_RATE"),
    ("size_t", "totalConstMem", "TOTAL_CONSTANT_MEMORY"),
    ("int", "major", "COMPUTE_CAPABILITY_MAJOR"),
    ("int", "minor", "COMPUTE_CAPABILITY_MINOR"),
    ("size_t", "textureAlignment", "TEXTURE_ALIGNMENT"),
    ("size_t", "texturePitchAlignment", "TEXTURE_PITCH_ALIGNMENT"),
    ("int", "deviceOverlap", "GPU_OVERLAP"),
    ("int", "multiProcessorCount", "MULTIPROCESSOR_COUNT"),
    ("int", "kernelExecTimeoutEnabled", "KERNEL_EXEC_TIMEOUT"),
    ("int", "integrated", "INTEGRATED"),
    ("int", "canMapHostMemory", "CAN_MAP_HOST_MEMORY"),
    ("int", "computeMode", "COMPUTE_MODE"),
    ("int", "maxTexture1D", ""),
    ("int", "maxTexture1DMipmap", ""),
    ("int", "maxTexture1DLinear", ""),
    ("int", "maxTexture2D[2]", ""),
    ("int", "maxTexture2DMipmap[2]", ""),
    ("int", "maxTexture2DLinear[3]", ""),
    ("int", "maxTexture2DGather[2]", ""),
    ("int", "maxTexture3D[3]", ""),
    ("int", "maxTexture3DAlt[3]", ""),
    ("int", "maxTextureCubemap", ""),
    ("int", "maxTexture1DLayered[2]", ""),
    ("int", "maxTexture2DLayered[3]", ""),
    ("int", "maxTextureCubemapLayered[2]", ""),
    ("int", "maxSurface1D", ""),
    ("int", "maxSurface2D[2]", ""),
    ("int", "maxSurface3D[3]", ""),
    ("int", "maxSurface1DLayered[2]", ""),
    ("int", "maxSurface2DLayered[3]", ""),
    ("int", "maxSurfaceCubemap", ""),
    ("int", "maxSurfaceCubemapLayered[2]", ""),
    ("size_t", "surfaceAlignment", "SURFACE_ALIGNMENT"),
    ("int", "concurrentKernels", "CONCURRENT_KERNELS"),
    ("int", "ECCEnabled", "ECC_ENABLED"),
    ("int", "pciBusID", "PCI_BUS_ID"),
    ("int", "pciDeviceID", "PCI_DEVICE_ID"),
    ("int", "pciDomainID", "PCI_DOMAIN_ID"),
    ("int", "tccDriver", "TCC_DRIVER"),
    ("int", "asyncEngineCount", "ASYNC_ENGINE_COUNT"),
    ("int", "unifiedAddressing", "UNIFIED_ADDRESSING"),
    ("int", "memoryClockRate", "MEMORY_CLOCK_RATE"),
    ("int", "memoryBusWidth", "GLOBAL_MEMORY_BUS_WIDTH"),
    ("int", "l2CacheSize", "L2_CACHE_SIZE"),
    ("int", "persistingL2CacheMaxSize", ""),
    ("int", "maxThreadsPerMultiProcessor", "MAX_THREADS_PER_MULTIPROCESSOR"),
    ("int", "streamPrioritiesSupported", "STREAM_PRIORITIES_SUPPORTED"),
    ("int", "globalL1CacheSupported", "GLOBAL_L1_CACHE_SUPPORTED"),
    ("int", "localL1CacheSupported", "LOCAL_L1_CACHE_SUPPORTED"),
    ("size_t", "sharedMemPerMultiprocessor", "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
    ("int", "regsPerMultiprocessor", "MAX_REGISTERS_PER_MULTIPROCESSOR"),
    ("int", "managedMemory", "MANAGED_MEMORY"),
    ("int", "isMultiGpuBoard", "MULTI_GPU_BOARD"),
    ("int", "multiGpuBoardGroupID", "MULTI_GPU_BOARD_GROUP_ID"),
    ("int", "hostNativeAtomicSupported", "HOST_NATIVE_ATOMIC_SUPPORTED"),
    ("int", "singleToDoublePrecisionPerfRatio", "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO"),
    ("int", "pageableMemoryAccess", "PAGEABLE_MEMORY_ACCESS"),
    ("int", "concurrentManagedAccess", "CONCURRENT_MANAGED_ACCESS"),
    ("int", "computePreemptionSupported", "COMPUTE_PREEMPTION_SUPPORTED"),
    ("int", "canUseHostPointerForRegisteredMem", "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM"),
    ("int", "cooperativeLaunch", "COOPERATIVE_LAUNCH"),
    ("int", "cooperativeMultiDeviceLaunch", "COOPERATIVE_MULTI_DEVICE_LAUNCH"),
    ("size_t", "sharedMemPerBlockOptin", "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
    ("int", "pageableMemoryAccessUsesHostPageTables", "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES"),
    ("int", "directManagedMemAccessFromHost", "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST"),
    ("int", "maxBlocksPerMultiProcessor", "MAX_BLOCKS_PER_MULTIPROCESSOR"),
    ("int", "accessPolicyMaxWindowSize", ""),
    ("size_t", "reservedSharedMemPerBlock", "RESERVED_SHARED_MEMORY_PER_BLOCK"),
    ("int", "hostRegisterSupported", "HOST_REGISTER_SUPPORTED"),
    ("int", "sparseCudaArraySupported", ""),
    ("int", "hostRegisterReadOnlySupported", ""),
    ("int", "timelineSemaphoreInteropSupported", ""),
    ("int", "memoryPoolsSupported", "MEMORY_POOLS_SUPPORTED"),
    ("int", "gpuDirectRDMASupported", ""),
    ("unsigned", "gpuDirectRDMAFlushWritesOptions", ""),
    ("int", "gpuDirectRDMAWritesOrdering", ""),
    ("unsigned", "memoryPoolSupportedHandleTypes", ""),
    ("int", "deferredMappingCudaArraySupported", ""),
    ("int", "ipcEventSupported", ""),
    ("int", "clusterLaunch", ""),
    ("int", "unifiedFunctionPointers", ""),
    ("int", "reserved[63]", ""),
)
"""cudaDeviceProp of version 12: type, member, and the driver's attributes (CU_DEVICE_ATTRIBUTE_...) that it is of."""
PROPERTIES_SIZE = 1032
PROPERTIES_SIZE_11 = 728
"""What cudaGetDeviceProperties without _v2 fills: the structure up to version 11 ends earlier."""

CALLS = {
    "Devices": {
        "cudaGetDeviceCount": "int *count",
        "cudaGetDevice": "int *device",
        "cudaSetDevice": "int device",
        "cudaSetDeviceFlags": "unsigned flags",
        "cudaGetDeviceFlags": "unsigned *flags",
        "cudaGetDeviceProperties_v2": "struct cudaDeviceProp *to, int device",
        "cudaDeviceGetAttribute": "int *value, enum cudaDeviceAttr attribute, int device",
        "cudaChooseDevice": "int *device, const struct cudaDeviceProp *wanted",
        "cudaDeviceGetPCIBusId": "char *to, int size, int device",
        "cudaDeviceGetByPCIBusId": "int *device, const char *id",
        "cudaDeviceSynchronize": "void",
        "cudaDeviceReset": "void",
        "cudaDeviceSetLimit": "enum cudaLimit limit, size_t value",
        "cudaDeviceGetLimit": "size_t *value, enum cudaLimit limit",
        "cudaDeviceGetCacheConfig": "enum cudaFuncCache *config",
        "cudaDeviceSetCacheConfig": "enum cudaFuncCache config",
        "cudaDeviceGetSharedMemConfig": "enum cudaSharedMemConfig *config",
        "cudaDeviceSetSharedMemConfig": "enum cudaSharedMemConfig config",
        "cudaDeviceGetStreamPriorityRange": "int *least, int *greatest",
        "cudaDeviceCanAccessPeer": "int *can, int device, int peer",
        "cudaDeviceEnablePeerAccess": "int peer, unsigned flags",
        "cudaDeviceDisablePeerAccess": "int peer",
        "cudaThreadSynchronize": "void",
        "cudaThreadExit": "void",
    },
    "Errors and versions": {
        "cudaGetLastError": "void",
        "cudaPeekAtLastError": "void",
        "cudaGetErrorName": "cudaError_t error",
        "cudaGetErrorString": "cudaError_t error",
        "cudaDriverGetVersion": "int *version",
        "cudaRuntimeGetVersion": "int *version",
        "cudaProfilerStart": "void",
        "cudaProfilerStop": "void",
    },
    "Memory": {
        "cudaMalloc": "void **to, size_t size",
        "cudaMallocPitch": "void **to, size_t *pitch, size_t width, size_t height",
        "cudaMallocManaged": "void **to, size_t size, unsigned flags",
        "cudaMallocHost": "void **to, size_t size",
        "cudaHostAlloc": "void **to, size_t size, unsigned flags",
        "cudaHostGetDevicePointer": "void **to, void *host, unsigned flags",
        "cudaHostGetFlags": "unsigned *flags, void *host",
        "cudaHostRegister": "void *host, size_t size, unsigned flags",
        "cudaHostUnregister": "void *host",
        "cudaFree": "void *device",
        "cudaFreeHost": "void *host",
        "cudaMallocAsync": "void **to, size_t size, cudaStream_t stream",
        "cudaFreeAsync": "void *device, cudaStream_t stream",
        "cudaMemGetInfo": "size_t *free, size_t *total",
        "cudaPointerGetAttributes": "struct cudaPointerAttributes *to, const void *pointer",
        "cudaMemPrefetchAsync": "const void *device, size_t size, int to, cudaStream_t stream",
        "cudaMemAdvise": "const void *device, size_t size, enum cudaMemoryAdvise advice, int of",
        "cudaMalloc3D": "struct cudaPitchedPtr *to, struct cudaExtent extent",
    },
    "Copies and fills": {
        "cudaMemcpy": "void *to, const void *from, size_t size, enum cudaMemcpyKind kind",
        "cudaMemcpyAsync": "void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream",
        "cudaMemcpyPeer": "void *to, int to_device, const void *from, int from_device, size_t size",
        "cudaMemcpyPeerAsync": (
            "void *to, int to_device, const void *from, int from_device, size_t size, cudaStream_t stream"
        ),
        "cudaMemcpy2D": (
            "void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DAsync": (
            "void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpyToSymbol": (
            "const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind"
        ),
        "cudaMemcpyFromSymbol": "void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind",
        "cudaMemcpyToSymbolAsync": (
            "const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, "
            "cudaStream_t stream"
        ),
        "cudaMemcpyFromSymbolAsync": (
            "void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpy3D": "const struct cudaMemcpy3DParms *params",
        "cudaMemcpy3DAsync": "const struct cudaMemcpy3DParms *params, cudaStream_t stream",
        "cudaGetSymbolAddress": "void **to, const void *symbol",
        "cudaGetSymbolSize": "size_t *size, const void *symbol",
        "cudaMemset": "void *device, int value, size_t size",
        "cudaMemsetAsync": "void *device, int value, size_t size, cudaStream_t stream",
        "cudaMemset2D": "void *device, size_t pitch, int value, size_t width, size_t height",
        "cudaMemset2DAsync": (
            "void *device, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream"
        ),
        "cudaMemset3D": "struct cudaPitchedPtr device, int value, struct cudaExtent extent",
        "cudaMemset3DAsync": ("struct cudaPitchedPtr device, int value, struct cudaExtent extent, cudaStream_t stream"),
    },
    "Streams": {
        "cudaStreamCreate": "cudaStream_t *to",
        "cudaStreamCreateWithFlags": "cudaStream_t *to, unsigned flags",
        "cudaStreamCreateWithPriority": "cudaStream_t *to, unsigned flags, int priority",
        "cudaStreamDestroy": "cudaStream_t stream",
        "cudaStreamQuery": "cudaStream_t stream",
        "cudaStreamSynchronize": "cudaStream_t stream",
        "cudaStreamWaitEvent": "cudaStream_t stream, cudaEvent_t event, unsigned flags",
        "cudaStreamAddCallback": "cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags",
        "cudaLaunchHostFunc": "cudaStream_t stream, cudaHostFn_t function, void *data",
        "cudaStreamGetFlags": "cudaStream_t stream, unsigned *flags",
        "cudaStreamGetPriority": "cudaStream_t stream, int *priority",
        "cudaStreamAttachMemAsync": "cudaStream_t stream, void *device, size_t size, unsigned flags",
    },
    "Events": {
        "cudaEventCreate": "cudaEvent_t *to",
        "cudaEventCreateWithFlags": "cudaEvent_t *to, unsigned flags",
        "cudaEventDestroy": "cudaEvent_t event",
        "cudaEventRecord": "cudaEvent_t event, cudaStream_t stream",
        "cudaEventRecordWithFlags": "cudaEvent_t event, cudaStream_t stream, unsigned flags",
        "cudaEventQuery": "cudaEvent_t event",
        "cudaEventSynchronize": "cudaEvent_t event",
        "cudaEventElapsedTime": "float *milliseconds, cudaEvent_t start, cudaEvent_t end",
    },
    "Kernels": {
        "cudaLaunchKernel": (
            "const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, "
            "cudaStream_t stream"
        ),
        "cudaLaunchCooperativeKernel": (
            "const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, "
            "cudaStream_t stream"
        ),
        "cudaFuncGetAttributes": "struct cudaFuncAttributes *to, const void *function",
        "cudaFuncSetAttribute": "const void *function, enum cudaFuncAttribute attribute, int value",
        "cudaFuncSetCacheConfig": "const void *function, enum cudaFuncCache config",
        "cudaFuncSetSharedMemConfig": "const void *function, enum cudaSharedMemConfig config",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor": (
            "int *blocks, const void *function, int threads, size_t shared"
        ),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": (
            "int *blocks, const void *function, int threads, size_t shared, unsigned flags"
        ),
        "cudaOccupancyAvailableDynamicSMemPerBlock": "size_t *size, const void *function, int blocks, int threads",
    },
    "Capture": {
        "cudaStreamBeginCapture": "cudaStream_t stream, enum cudaStreamCaptureMode mode",
        "cudaStreamEndCapture": "cudaStream_t stream, cudaGraph_t *to",
        "cudaStreamIsCapturing": "cudaStream_t stream, enum cudaStreamCaptureStatus *status",
        "cudaStreamGetCaptureInfo_v2": (
            "cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t "
            "*graph, const cudaGraphNode_t **before, size_t *count"
        ),
        "cudaStreamUpdateCaptureDependencies": (
            "cudaStream_t stream, cudaGraphNode_t *before, size_t count, unsigned flags"
        ),
        "cudaThreadExchangeStreamCaptureMode": "enum cudaStreamCaptureMode *mode",
    },
    "Graphs": {
        "cudaGraphCreate": "cudaGraph_t *to, unsigned flags",
        "cudaGraphDestroy": "cudaGraph_t graph",
        "cudaGraphClone": "cudaGraph_t *to, cudaGraph_t graph",
        "cudaGraphNodeFindInClone": "cudaGraphNode_t *to, cudaGraphNode_t node, cudaGraph_t clone",
        "cudaGraphNodeGetType": "cudaGraphNode_t node, enum cudaGraphNodeType *type",
        "cudaGraphGetNodes": "cudaGraph_t graph, cudaGraphNode_t *to, size_t *count",
        "cudaGraphGetRootNodes": "cudaGraph_t graph, cudaGraphNode_t *to, size_t *count",
        "cudaGraphGetEdges": "cudaGraph_t graph, cudaGraphNode_t *first, cudaGraphNode_t *then, size_t *count",
        "cudaGraphNodeGetDependencies": "cudaGraphNode_t node, cudaGraphNode_t *to, size_t *count",
        "cudaGraphNodeGetDependentNodes": "cudaGraphNode_t node, cudaGraphNode_t *to, size_t *count",
        "cudaGraphAddDependencies": (
            "cudaGraph_t graph, const cudaGraphNode_t *first, const cudaGraphNode_t *then, size_t count"
        ),
        "cudaGraphRemoveDependencies": (
            "cudaGraph_t graph, const cudaGraphNode_t *first, const cudaGraphNode_t *then, size_t count"
        ),
        "cudaGraphDestroyNode": "cudaGraphNode_t node",
        "cudaGraphDebugDotPrint": "cudaGraph_t graph, const char *path, unsigned flags",
        "cudaGraphInstantiate": "cudaGraphExec_t *to, cudaGraph_t graph, unsigned long long flags",
        "cudaGraphInstantiateWithFlags": "cudaGraphExec_t *to, cudaGraph_t graph, unsigned long long flags",
        "cudaGraphExecGetFlags": "cudaGraphExec_t graph, unsigned long long *flags",
        "cudaGraphUpload": "cudaGraphExec_t graph, cudaStream_t stream",
        "cudaGraphLaunch": "cudaGraphExec_t graph, cudaStream_t stream",
        "cudaGraphExecDestroy": "cudaGraphExec_t graph",
        "cudaGraphExecUpdate": "cudaGraphExec_t graph, cudaGraph_t other, struct cudaGraphExecUpdateResultInfo *result",
    },
    "Graphs' nodes": {
        "cudaGraphAddEmptyNode": "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count",
        "cudaGraphAddKernelNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaKernelNodeParams *params"
        ),
        "cudaGraphKernelNodeGetParams": "cudaGraphNode_t node, struct cudaKernelNodeParams *params",
        "cudaGraphKernelNodeSetParams": "cudaGraphNode_t node, const struct cudaKernelNodeParams *params",
        "cudaGraphAddMemcpyNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaMemcpy3DParms *params"
        ),
        "cudaGraphAddMemcpyNode1D": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, void *target,"
            " const void *from, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaGraphAddMemcpyNodeToSymbol": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const void "
            "*symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind"
        ),
        "cudaGraphAddMemcpyNodeFromSymbol": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, void *target,"
            " const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind"
        ),
        "cudaGraphMemcpyNodeGetParams": "cudaGraphNode_t node, struct cudaMemcpy3DParms *params",
        "cudaGraphMemcpyNodeSetParams": "cudaGraphNode_t node, const struct cudaMemcpy3DParms *params",
        "cudaGraphMemcpyNodeSetParams1D": (
            "cudaGraphNode_t node, void *target, const void *from, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaGraphAddMemsetNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaMemsetParams *params"
        ),
        "cudaGraphMemsetNodeGetParams": "cudaGraphNode_t node, struct cudaMemsetParams *params",
        "cudaGraphMemsetNodeSetParams": "cudaGraphNode_t node, const struct cudaMemsetParams *params",
        "cudaGraphAddHostNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaHostNodeParams *params"
        ),
        "cudaGraphHostNodeGetParams": "cudaGraphNode_t node, struct cudaHostNodeParams *params",
        "cudaGraphHostNodeSetParams": "cudaGraphNode_t node, const struct cudaHostNodeParams *params",
        "cudaGraphAddChildGraphNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, cudaGraph_t child"
        ),
        "cudaGraphChildGraphNodeGetGraph": "cudaGraphNode_t node, cudaGraph_t *to",
        "cudaGraphAddEventRecordNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, cudaEvent_t event"
        ),
        "cudaGraphEventRecordNodeGetEvent": "cudaGraphNode_t node, cudaEvent_t *to",
        "cudaGraphEventRecordNodeSetEvent": "cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphAddEventWaitNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, cudaEvent_t event"
        ),
        "cudaGraphEventWaitNodeGetEvent": "cudaGraphNode_t node, cudaEvent_t *to",
        "cudaGraphEventWaitNodeSetEvent": "cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphExecKernelNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaKernelNodeParams *params"
        ),
        "cudaGraphExecMemcpyNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaMemcpy3DParms *params"
        ),
        "cudaGraphExecMemcpyNodeSetParams1D": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, void *target, const void *from, size_t size, enum "
            "cudaMemcpyKind kind"
        ),
        "cudaGraphExecMemsetNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaMemsetParams *params"
        ),
        "cudaGraphExecHostNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaHostNodeParams *params"
        ),
        "cudaGraphExecChildGraphNodeSetParams": "cudaGraphExec_t graph, cudaGraphNode_t node, cudaGraph_t child",
        "cudaGraphExecEventRecordNodeSetEvent": "cudaGraphExec_t graph, cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphExecEventWaitNodeSetEvent": "cudaGraphExec_t graph, cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphNodeSetEnabled": "cudaGraphExec_t graph, cudaGraphNode_t node, unsigned enabled",
        "cudaGraphNodeGetEnabled": "cudaGraphExec_t graph, cudaGraphNode_t node, unsigned *enabled",
    },
    "Textures": {
        "cudaCreateTextureObject": (
            "cudaTextureObject_t *to, const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture, "
            "const struct cudaResourceViewDesc *view"
        ),
        "cudaDestroyTextureObject": "cudaTextureObject_t texture",
        "cudaBindTexture": (
            "size_t *offset, const struct textureReference *texture, const void *device, "
            "const struct cudaChannelFormatDesc *format, size_t size"
        ),
        "cudaBindTexture2D": (
            "size_t *offset, const struct textureReference *texture, const void *device, "
            "const struct cudaChannelFormatDesc *format, size_t width, size_t height, size_t pitch"
        ),
        "cudaUnbindTexture": "const struct textureReference *texture",
        "cudaBindTextureToArray": (
            "const struct textureReference *texture, cudaArray_const_t array, "
            "const struct cudaChannelFormatDesc *format"
        ),
    },
    "Arrays": {
        "cudaMallocArray": (
            "cudaArray_t *to, const struct cudaChannelFormatDesc *format, size_t width, size_t height, unsigned flags"
        ),
        "cudaMalloc3DArray": (
            "cudaArray_t *to, const struct cudaChannelFormatDesc *format, struct cudaExtent extent, unsigned flags"
        ),
        "cudaFreeArray": "cudaArray_t array",
        "cudaArrayGetInfo": (
            "struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned *flags, cudaArray_t array"
        ),
        "cudaGetChannelDesc": "struct cudaChannelFormatDesc *format, cudaArray_const_t array",
        "cudaMemcpyToArray": (
            "cudaArray_t to, size_t x, size_t y, const void *from, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaMemcpyFromArray": (
            "void *to, cudaArray_const_t from, size_t x, size_t y, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DToArray": (
            "cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DToArrayAsync": (
            "cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpy2DFromArray": (
            "void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, "
            "enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DFromArrayAsync": (
            "void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, "
            "enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpy2DArrayToArray": (
            "cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t x, size_t y, size_t width, "
            "size_t height, enum cudaMemcpyKind kind"
        ),
    },
    "Surfaces": {
        "cudaCreateSurfaceObject": "cudaSurfaceObject_t *to, const struct cudaResourceDesc *resource",
        "cudaDestroySurfaceObject": "cudaSurfaceObject_t surface",
    },
    "Memory pools": {
        "cudaDeviceGetDefaultMemPool": "cudaMemPool_t *pool, int device",
        "cudaDeviceGetMemPool": "cudaMemPool_t *pool, int device",
        "cudaDeviceSetMemPool": "int device, cudaMemPool_t pool",
        "cudaMemPoolCreate": "cudaMemPool_t *pool, const struct cudaMemPoolProps *properties",
        "cudaMemPoolDestroy": "cudaMemPool_t pool",
        "cudaMemPoolSetAttribute": "cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value",
        "cudaMemPoolGetAttribute": "cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value",
        "cudaMemPoolTrimTo": "cudaMemPool_t pool, size_t keep",
        "cudaMallocFromPoolAsync": "void **to, size_t size, cudaMemPool_t pool, cudaStream_t stream",
    },
    "Other processes": {
        "cudaIpcGetMemHandle": "cudaIpcMemHandle_t *handle, void *device",
        "cudaIpcOpenMemHandle": "void **to, cudaIpcMemHandle_t handle, unsigned flags",
        "cudaIpcCloseMemHandle": "void *device",
    },
}
"""What libcudart has: subject, name, parameters.  All return a cudaError_t but for those of TEXTS."""
PASSED = {
    "cudaIpcGetMemHandle": "cuIpcGetMemHandle",
    "cudaIpcCloseMemHandle": "cuIpcCloseMemHandle",
    "cudaDeviceGetDefaultMemPool": "cuDeviceGetDefaultMemPool",
    "cudaDeviceGetMemPool": "cuDeviceGetMemPool",
    "cudaDeviceSetMemPool": "cuDeviceSetMemPool",
    "cudaMemPoolCreate": "cuMemPoolCreate",
    "cudaMemPoolDestroy": "cuMemPoolDestroy",
    "cudaMemPoolSetAttribute": "cuMemPoolSetAttribute",
    "cudaMemPoolGetAttribute": "cuMemPoolGetAttribute",
    "cudaMemPoolTrimTo": "cuMemPoolTrimTo",
    "cudaMallocFromPoolAsync": "cuMemAllocFromPoolAsync",
    "cudaGraphCreate": "cuGraphCreate",
    "cudaGraphDestroy": "cuGraphDestroy",
    "cudaGraphClone": "cuGraphClone",
    "cudaGraphNodeFindInClone": "cuGraphNodeFindInClone",
    "cudaGraphNodeGetType": "cuGraphNodeGetType",
    "cudaGraphGetNodes": "cuGraphGetNodes",
    "cudaGraphGetRootNodes": "cuGraphGetRootNodes",
    "cudaGraphGetEdges": "cuGraphGetEdges",
    "cudaGraphNodeGetDependencies": "cuGraphNodeGetDependencies",
    "cudaGraphNodeGetDependentNodes": "cuGraphNodeGetDependentNodes",
    "cudaGraphAddDependencies": "cuGraphAddDependencies",
    "cudaGraphRemoveDependencies": "cuGraphRemoveDependencies",
    "cudaGraphDestroyNode": "cuGraphDestroyNode",
    "cudaGraphDebugDotPrint": "cuGraphDebugDotPrint",
    "cudaGraphInstantiate": "cuGraphInstantiateWithFlags",
    "cudaGraphInstantiateWithFlags": "cuGraphInstantiateWithFlags",
    "cudaGraphExecGetFlags": "cuGraphExecGetFlags",
    "cudaGraphUpload": "cuGraphUpload",
    "cudaGraphLaunch": "cuGraphLaunch",
    "cudaGraphExecDestroy": "cuGraphExecDestroy",
    "cudaGraphExecUpdate": "cuGraphExecUpdate_v2",
    "cudaGraphAddEmptyNode": "cuGraphAddEmptyNode",
    "cudaGraphMemsetNodeGetParams": "cuGraphMemsetNodeGetParams",
    "cudaGraphMemsetNodeSetParams": "cuGraphMemsetNodeSetParams",
    "cudaGraphAddHostNode": "cuGraphAddHostNode",
    "cudaGraphHostNodeGetParams": "cuGraphHostNodeGetParams",
    "cudaGraphHostNodeSetParams": "cuGraphHostNodeSetParams",
    "cudaGraphAddChildGraphNode": "cuGraphAddChildGraphNode",
    "cudaGraphChildGraphNodeGetGraph": "cuGraphChildGraphNodeGetGraph",
    "cudaGraphAddEventRecordNode": "cuGraphAddEventRecordNode",
    "cudaGraphEventRecordNodeGetEvent": "cuGraphEventRecordNodeGetEvent",
    "cudaGraphEventRecordNodeSetEvent": "cuGraphEventRecordNodeSetEvent",
    "cudaGraphAddEventWaitNode": "cuGraphAddEventWaitNode",
    "cudaGraphEventWaitNodeGetEvent": "cuGraphEventWaitNodeGetEvent",
    "cudaGraphEventWaitNodeSetEvent": "cuGraphEventWaitNodeSetEvent",
    "cudaGraphExecHostNodeSetParams": "cuGraphExecHostNodeSetParams",
    "cudaGraphExecChildGraphNodeSetParams": "cuGraphExecChildGraphNodeSetParams",
    "cudaGraphExecEventRecordNodeSetEvent": "cuGraphExecEventRecordNodeSetEvent",
    "cudaGraphExecEventWaitNodeSetEvent": "cuGraphExecEventWaitNodeSetEvent",
    "cudaGraphNodeSetEnabled": "cuGraphNodeSetEnabled",
    "cudaGraphNodeGetEnabled": "cuGraphNodeGetEnabled",
    "cudaStreamBeginCapture": "cuStreamBeginCapture_v2",
    "cudaStreamEndCapture": "cuStreamEndCapture",
    "cudaStreamIsCapturing": "cuStreamIsCapturing",
    "cudaStreamGetCaptureInfo_v2": "cuStreamGetCaptureInfo_v2",
    "cudaStreamUpdateCaptureDependencies": "cuStreamUpdateCaptureDependencies",
    "cudaThreadExchangeStreamCaptureMode": "cuThreadExchangeStreamCaptureMode",
    "cudaEventRecordWithFlags": "cuEventRecordWithFlags",
}
"""Calls that are the driver's own with the same parameters: its name there."""
TEXTS = ("cudaGetErrorName", "cudaGetErrorString")
"""Those that return a text."""
OLD_NAMES = {"cudaGetDeviceProperties": "struct cudaDeviceProp *to, int device"}
"""Exported beside CALLS; the header's macros lead to the newer name."""

COMPILER_CALLS = {
    "__cudaRegisterFatBinary": "a translation unit's device code; it is loaded when a device first needs it",
    "__cudaRegisterFatBinaryEnd": "nothing more comes",
    "__cudaUnregisterFatBinary": "the program or library goes",
    "__cudaRegisterFunction": "a kernel: the host's address, the name in the device code",
    "__cudaRegisterVar": "a variable, likewise",
    "__cudaRegisterManagedVar": "a managed variable: not supported, the program ends with a line",
    "__cudaRegisterTexture": "a texture reference",
    "__cudaRegisterSurface": "a surface: not supported, the program ends with a line",
    "__cudaInitModule": "always 1",
    "__cudaPushCallConfiguration": "what stands between <<< and >>>",
    "__cudaPopCallConfiguration": "the same, for the kernel's stub",
}
"""What a compiler's code calls."""

ABSENT = {
    "Arrays, textures and surfaces": (
        "cudaMallocMipmappedArray",
        "cudaGetMipmappedArrayLevel",
        "cudaFreeMipmappedArray",
        "cudaGetTextureObjectResourceDesc",
        "cudaGetSurfaceObjectResourceDesc",
    ),
    "Launches of several devices or with clusters": (
        "cudaLaunchCooperativeKernelMultiDevice",
        "cudaLaunchKernelExC",
        "cudaOccupancyMaxActiveClusters",
        "cudaOccupancyMaxPotentialClusterSize",
    ),
    "Graphs' memory and conditions": (
        "cudaGraphAddMemAllocNode",
        "cudaGraphAddMemFreeNode",
        "cudaGraphConditionalHandleCreate",
        "cudaDeviceGraphMemTrim",
        "cudaUserObjectCreate",
        "cudaGraphRetainUserObject",
    ),
    "Other processes' events": (
        "cudaIpcGetEventHandle",
        "cudaIpcOpenEventHandle",
    ),
    "Graphics": (
        "cudaGraphicsMapResources",
        "cudaGraphicsUnmapResources",
        "cudaGraphicsResourceGetMappedPointer",
        "cudaGraphicsUnregisterResource",
    ),
}
"""What is exported, writes a line and returns cudaErrorNotSupported."""


SPELLINGS = {
    "MultiprocessorCount": "MultiProcessorCount",
    "MaxThreadsPerMultiprocessor": "MaxThreadsPerMultiProcessor",
}
"""Words that the runtime writes in another way than the driver's names give."""


def attributes() -> dict[str, int]:
    """cudaDeviceAttr: cudaDevAttrMaxThreadsPerBlock and so on, the numbers of the driver's attributes."""
    from gompy.abi import cuda

    found = {}
    for name, value in vars(cuda).items():
        words = name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        if words != name and type(value) is int:
            ours = "".join(word.capitalize() for word in words.split("_"))
            found[f"cudaDevAttr{SPELLINGS.get(ours, ours)}"] = value
    return found
