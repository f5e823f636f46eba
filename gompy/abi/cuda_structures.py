"""Structures of the CUDA driver interface that programs, the driver and the runtime know alike.

Of it are made gompy_cuda_structures.h for programs, and gompy/native/cuda_structures.h and .pxd for our libraries.
(CUDA Driver API reference, "Data types used by CUDA driver".)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CUBOID: Final = (
    "size_t srcXInBytes, srcY, srcZ, srcLOD; CUmemorytype srcMemoryType; const void *srcHost; "
    "CUdeviceptr srcDevice; CUarray srcArray; %s; size_t srcPitch, srcHeight; "
    "size_t dstXInBytes, dstY, dstZ, dstLOD; CUmemorytype dstMemoryType; void *dstHost; "
    "CUdeviceptr dstDevice; CUarray dstArray; %s; size_t dstPitch, dstHeight; "
    "size_t WidthInBytes, Height, Depth"
)
"""What describes a copy of a cuboid, with a member for each of the two sides."""

STRUCTURES: Final = {
    "CUipcMemHandle": "char reserved[64]",
    "CUdevprop": (
        "int maxThreadsPerBlock; int maxThreadsDim[3]; int maxGridSize[3]; "
        "int sharedMemPerBlock, totalConstantMemory, SIMDWidth, memPitch, regsPerBlock, clockRate, textureAlign"
    ),
    "CUDA_MEMCPY2D": (
        "size_t srcXInBytes, srcY; CUmemorytype srcMemoryType; const void *srcHost; CUdeviceptr srcDevice; "
        "CUarray srcArray; size_t srcPitch; "
        "size_t dstXInBytes, dstY; CUmemorytype dstMemoryType; void *dstHost; CUdeviceptr dstDevice; "
        "CUarray dstArray; size_t dstPitch; size_t WidthInBytes, Height"
    ),
    "CUDA_MEMCPY3D": CUBOID % ("void *reserved0", "void *reserved1"),
    "CUDA_MEMCPY3D_PEER": CUBOID % ("CUcontext srcContext", "CUcontext dstContext"),
    "CUDA_ARRAY_DESCRIPTOR": "size_t Width, Height; CUarray_format Format; unsigned NumChannels",
    "CUDA_ARRAY3D_DESCRIPTOR": "size_t Width, Height, Depth; CUarray_format Format; unsigned NumChannels, Flags",
    "CUlaunchConfig": (
        "unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes; "
        "CUstream hStream; CUlaunchAttribute *attrs; unsigned numAttrs"
    ),
}
"""A structure: its members in C, in their order."""

PLAIN: Final = {
    "CUdeviceptr": "unsigned long long ",
    "CUmemorytype": "unsigned ",
    "CUarray_format": "unsigned ",
    "CUarray": "void *",
    "CUcontext": "void *",
    "CUstream": "void *",
    "CUlaunchAttribute": "void ",
}
"""The types of their members as our libraries have them: handles are any words, enumerations may have any value."""
