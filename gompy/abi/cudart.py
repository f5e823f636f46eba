"""The CUDA runtime interface: its version, results, enumerations and flags, for libcudart and its headers.

Source: CUDA Runtime API reference, "Data types used by CUDA Runtime".  A result's number and words are the driver's
(gompy/abi/cuda.py) wherever both have it.  tests/cudart/test_cudart_table.py compares the numbers with a toolkit's
header where one is installed.  What a device is asked for is in cudart_device.py, the calls are in cudart_calls.py.
"""

from __future__ import annotations

import math

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
        "cudaGraphNodeTypeMemAlloc": 10,
        "cudaGraphNodeTypeMemFree": 11,
    },
    "cudaGraphMemAttributeType": {
        "cudaGraphMemAttrUsedMemCurrent": 0,
        "cudaGraphMemAttrUsedMemHigh": 1,
        "cudaGraphMemAttrReservedMemCurrent": 2,
        "cudaGraphMemAttrReservedMemHigh": 3,
    },
    "cudaMemAccessFlags": {
        "cudaMemAccessFlagsProtNone": 0,
        "cudaMemAccessFlagsProtRead": 1,
        "cudaMemAccessFlagsProtReadWrite": 3,
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

FORWARDED = {
    "cuda_runtime_api.h": (
        *("builtin_types.h", "cuda_profiler_api.h", "cuda_texture_types.h", "driver_types.h", "surface_types.h"),
        *("texture_types.h", "vector_types.h"),
    ),
    "cuda_runtime.h": (
        *("channel_descriptor.h", "common_functions.h", "cuda_device_runtime_api.h", "device_atomic_functions.h"),
        *("device_double_functions.h", "device_functions.h", "host_defines.h", "math_functions.h"),
        *("sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_35_intrinsics.h", "sm_60_atomic_functions.h"),
        *("surface_indirect_functions.h", "texture_fetch_functions.h", "texture_indirect_functions.h"),
        *("vector_functions.h", "vector_functions.hpp"),
    ),
}
"""Headers of CUDA that have a part of another one's: programs include them by name."""

STANDARD = (
    *("algorithm", "array", "bit", "bitset", "cassert", "cfloat", "chrono", "climits", "cmath", "complex", "cstddef"),
    *("cstdint", "cstdlib", "cstring", "functional", "initializer_list", "iterator", "limits", "numeric", "optional"),
    *("ratio", "tuple", "type_traits", "utility", "variant"),
)
"""cuda/std/...: the host's own headers, whose constexpr functions clang compiles for the device, too."""

CONSTANTS = {
    "ZERO": 0.0,
    "ONE": 1.0,
    "SQRT_HALF": math.sqrt(0.5),
    "SQRT_TWO": math.sqrt(2),
    "THIRD": 1 / 3,
    "PIO4": math.pi / 4,
    "PIO2": math.pi / 2,
    "3PIO4": 3 * math.pi / 4,
    "2_OVER_PI": 2 / math.pi,
    "SQRT_2_OVER_PI": math.sqrt(2 / math.pi),
    "PI": math.pi,
    "L2E": math.log2(math.e),
    "L2T": math.log2(10),
    "LG2": math.log10(2),
    "LGE": math.log10(math.e),
    "LN2": math.log(2),
    "LNT": math.log(10),
    "LNPI": math.log(math.pi),
}
"""math_constants.h: CUDART_NAME for double, CUDART_NAME_F for float."""
