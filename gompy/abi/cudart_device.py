"""What the CUDA runtime tells of a device: cudaDeviceProp and cudaDeviceAttr, made of the driver's attributes.

Source: CUDA Runtime API reference, "cudaDeviceProp" and "cudaDeviceAttr" (version 12).
"""

from __future__ import annotations

import re

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
    ("int", "maxTexture1D", "MAXIMUM_TEXTURE1D_WIDTH"),
    ("int", "maxTexture1DMipmap", ""),
    ("int", "maxTexture1DLinear", ""),
    ("int", "maxTexture2D[2]", "MAXIMUM_TEXTURE2D_WIDTH MAXIMUM_TEXTURE2D_HEIGHT"),
    ("int", "maxTexture2DMipmap[2]", ""),
    ("int", "maxTexture2DLinear[3]", ""),
    ("int", "maxTexture2DGather[2]", ""),
    ("int", "maxTexture3D[3]", "MAXIMUM_TEXTURE3D_WIDTH MAXIMUM_TEXTURE3D_HEIGHT MAXIMUM_TEXTURE3D_DEPTH"),
    ("int", "maxTexture3DAlt[3]", ""),
    ("int", "maxTextureCubemap", "MAXIMUM_TEXTURECUBEMAP_WIDTH"),
    ("int", "maxTexture1DLayered[2]", "MAXIMUM_TEXTURE1D_LAYERED_WIDTH MAXIMUM_TEXTURE1D_LAYERED_LAYERS"),
    (
        "int",
        "maxTexture2DLayered[3]",
        "MAXIMUM_TEXTURE2D_LAYERED_WIDTH MAXIMUM_TEXTURE2D_LAYERED_HEIGHT MAXIMUM_TEXTURE2D_LAYERED_LAYERS",
    ),
    (
        "int",
        "maxTextureCubemapLayered[2]",
        "MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS",
    ),
    ("int", "maxSurface1D", "MAXIMUM_SURFACE1D_WIDTH"),
    ("int", "maxSurface2D[2]", "MAXIMUM_SURFACE2D_WIDTH MAXIMUM_SURFACE2D_HEIGHT"),
    ("int", "maxSurface3D[3]", "MAXIMUM_SURFACE3D_WIDTH MAXIMUM_SURFACE3D_HEIGHT MAXIMUM_SURFACE3D_DEPTH"),
    ("int", "maxSurface1DLayered[2]", "MAXIMUM_SURFACE1D_LAYERED_WIDTH MAXIMUM_SURFACE1D_LAYERED_LAYERS"),
    (
        "int",
        "maxSurface2DLayered[3]",
        "MAXIMUM_SURFACE2D_LAYERED_WIDTH MAXIMUM_SURFACE2D_LAYERED_HEIGHT MAXIMUM_SURFACE2D_LAYERED_LAYERS",
    ),
    ("int", "maxSurfaceCubemap", "MAXIMUM_SURFACECUBEMAP_WIDTH"),
    (
        "int",
        "maxSurfaceCubemapLayered[2]",
        "MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS",
    ),
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
            ours = re.sub(r"Maximum(Texture|Surface)(\dd|cubemap)", _kind_of_memory, ours)
            found[f"cudaDevAttr{SPELLINGS.get(ours, ours)}"] = value
    return found


def _kind_of_memory(found: re.Match[str]) -> str:
    """MaximumTexture2d: MaxTexture2D."""
    return f"Max{found[1]}{found[2].upper() if found[2].endswith('d') else found[2].capitalize()}"
