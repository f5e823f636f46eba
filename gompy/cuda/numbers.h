/* Structures of the CUDA driver API (public interface: CUDA Driver API reference, "Data types used by CUDA driver"),
   and
 * what all emulated devices answer about themselves.  */
#ifndef GOMPY_CUDA_NUMBERS_H
#define GOMPY_CUDA_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "gompy/native/cuda.h"

typedef struct { char reserved[64]; } CUipcMemHandle;

typedef unsigned long long CUdeviceptr;
typedef void (*stream_callback) (void *stream, int status, void *data);
typedef void (*host_function) (void *data);
typedef size_t (*shared_of_block) (int threads);

/* Parameter structures of the API, their own names and layouts. */
typedef struct CUDA_MEMCPY2D
{
  size_t srcXInBytes, srcY;
  unsigned srcMemoryType;
  const void *srcHost;
  unsigned long long srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  unsigned dstMemoryType;
  void *dstHost;
  unsigned long long dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D
{
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void *srcHost;
  unsigned long long srcDevice;
  void *srcArray;
  void *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void *dstHost;
  unsigned long long dstDevice;
  void *dstArray;
  void *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct CUdevprop
{
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int sharedMemPerBlock, totalConstantMemory, SIMDWidth, memPitch, regsPerBlock, clockRate, textureAlign;
} CUdevprop;

typedef struct CUlaunchConfig
{
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void *hStream;
  void *attrs;
  unsigned numAttrs;
} CUlaunchConfig;

/* Elements of an array's row, rows of a slice, slices: of what textures and surfaces can be.  */
#define CUDA_MAX_ROW 131072
#define CUDA_MAX_ROWS 65536
#define CUDA_MAX_SLICES 16384

/* What a device answers to cuDeviceGetAttribute where it is the same for all. */
static const int cuda_attributes[][2] = {
  { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
  { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024 },
  { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024 },
  { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64 },
  { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647 },
  { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535 },
  { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535 },
  { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152 },
  { CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536 },
  { CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
  { CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647 },
  { CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536 },
  { CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512 },
  { CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1 },
  { CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0 },
  { CU_DEVICE_ATTRIBUTE_INTEGRATED, 0 },
  { CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1 },
  { CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0 }, /* default */
  { CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512 },
  { CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1 },
  { CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 0 },
  { CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0 },
  { CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 0 },
  { CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000 }, /* kHz */
  { CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256 }, /* bits */
  { CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4194304 },
  { CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2 },
  { CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
  { CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0 },
  { CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32 },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, CUDA_MAX_SLICES },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, CUDA_MAX_SLICES },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, CUDA_MAX_SLICES },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, CUDA_MAX_SLICES / 6 },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, CUDA_MAX_SLICES },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS, CUDA_MAX_SLICES },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, CUDA_MAX_ROW },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, CUDA_MAX_SLICES },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, CUDA_MAX_ROWS },
  { CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, CUDA_MAX_SLICES / 6 },
  { CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1 },
  { CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1 },
  { CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1 },
  { CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 },
  { CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1 },
  { CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0 },
  { CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0 },
  { CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2 },
  { CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0 },
  { CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0 },
  { CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 0 },
  { CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1 },
  { CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1 },
  { CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 0 },
  { CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1 },
  { CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0 },
  { CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0 },
  { CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1 },
  { CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1 },
  { CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32 },
  { CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1 },
};

/* KiB of shared memory, from an architecture on (CUDA programming guide, technical specifications). */
static const struct cuda_shared_row
{
  int arch, processor, block;           /* of a multiprocessor; of a block whose kernel asked for more than 48 */
} cuda_shared_sizes[] = {
  { 0, 48, 48 },    { 37, 112, 48 },  { 50, 64, 48 },    { 52, 96, 48 },    { 53, 64, 48 },  { 61, 96, 48 },
  { 62, 64, 48 },   { 70, 96, 96 },   { 75, 64, 64 },    { 80, 164, 163 },  { 86, 100, 99 }, { 87, 164, 163 },
  { 88, 100, 99 },  { 90, 228, 227 }, { 120, 100, 99 },
};

static inline const struct cuda_shared_row *cuda_shared_size (int arch)
{
  size_t i = sizeof cuda_shared_sizes / sizeof *cuda_shared_sizes - 1;
  while (cuda_shared_sizes[i].arch > arch)
    i--;
  return &cuda_shared_sizes[i];
}

/* Bytes of each block's shared memory that are the system's. */
static inline int cuda_reserved_shared (int arch) { return arch >= 80 ? 1024 : 0; }

static inline int cuda_constant_attribute (int attribute, int *value)
{
  for (size_t i = 0; i < sizeof cuda_attributes / sizeof *cuda_attributes; i++)
    if (cuda_attributes[i][0] == attribute)
      {
        *value = cuda_attributes[i][1];
        return 1;
      }
  return 0;
}

#endif
