/* Numbers of the CUDA driver API (public interface: CUDA Driver API reference, "Data types used by CUDA driver"),
 * and the texts that cuGetErrorName and cuGetErrorString give. */
#ifndef GOMPY_CUDA_NUMBERS_H
#define GOMPY_CUDA_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* X(number, name, text) */
#define CUDA_ERRORS(X) \
  X (0, SUCCESS, "no error") \
  X (1, ERROR_INVALID_VALUE, "invalid argument") \
  X (2, ERROR_OUT_OF_MEMORY, "out of memory") \
  X (3, ERROR_NOT_INITIALIZED, "initialization error") \
  X (4, ERROR_DEINITIALIZED, "driver shutting down") \
  X (34, ERROR_STUB_LIBRARY, "CUDA driver is a stub library") \
  X (46, ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable") \
  X (100, ERROR_NO_DEVICE, "no CUDA-capable device is detected") \
  X (101, ERROR_INVALID_DEVICE, "invalid device ordinal") \
  X (200, ERROR_INVALID_IMAGE, "device kernel image is invalid") \
  X (201, ERROR_INVALID_CONTEXT, "invalid device context") \
  X (202, ERROR_CONTEXT_ALREADY_CURRENT, "context already current") \
  X (205, ERROR_MAP_FAILED, "mapping of buffer object failed") \
  X (206, ERROR_UNMAP_FAILED, "unmapping of buffer object failed") \
  X (209, ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device") \
  X (214, ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered") \
  X (215, ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture") \
  X (216, ERROR_CONTEXT_ALREADY_IN_USE, "exclusive-thread device already in use by a different thread") \
  X (217, ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices") \
  X (218, ERROR_INVALID_PTX, "a PTX JIT compilation failed") \
  X (220, ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error detected during the execution") \
  X (221, ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found") \
  X (222, ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain.") \
  X (223, ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled") \
  X (300, ERROR_INVALID_SOURCE, "device kernel image is invalid") \
  X (301, ERROR_FILE_NOT_FOUND, "file not found") \
  X (302, ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found") \
  X (303, ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed") \
  X (304, ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS") \
  X (400, ERROR_INVALID_HANDLE, "invalid resource handle") \
  X (401, ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state") \
  X (500, ERROR_NOT_FOUND, "named symbol not found") \
  X (600, ERROR_NOT_READY, "device not ready") \
  X (700, ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered") \
  X (701, ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch") \
  X (702, ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated") \
  X (703, ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses incompatible texturing mode") \
  X (704, ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled") \
  X (705, ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled") \
  X (708, ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process") \
  X (709, ERROR_CONTEXT_IS_DESTROYED, "context is destroyed") \
  X (710, ERROR_ASSERT, "device-side assert triggered") \
  X (712, ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped") \
  X (713, ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region") \
  X (714, ERROR_HARDWARE_STACK_ERROR, "hardware stack error") \
  X (715, ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered") \
  X (716, ERROR_MISALIGNED_ADDRESS, "misaligned address") \
  X (717, ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space") \
  X (718, ERROR_INVALID_PC, "invalid program counter") \
  X (719, ERROR_LAUNCH_FAILED, "unspecified launch failure") \
  X (720, ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch") \
  X (800, ERROR_NOT_PERMITTED, "operation not permitted") \
  X (801, ERROR_NOT_SUPPORTED, "operation not supported") \
  X (999, ERROR_UNKNOWN, "unknown error")

#define CUDA_ERROR_ENUM(number, name, text) CUDA_##name = number,
enum cuda_result { CUDA_ERRORS (CUDA_ERROR_ENUM) CUDA_RESULT_END };

static inline const char *cuda_error_name (int code)
{
#define CUDA_ERROR_NAME(number, name, text) case number: return "CUDA_" #name;
  switch (code) { CUDA_ERRORS (CUDA_ERROR_NAME) default: return NULL; }
}

static inline const char *cuda_error_text (int code)
{
#define CUDA_ERROR_TEXT(number, name, text) case number: return text;
  switch (code) { CUDA_ERRORS (CUDA_ERROR_TEXT) default: return NULL; }
}

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

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_ARRAY = 3, MEMORY_UNIFIED = 4 };

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

/* CUjit_option */
enum
{
  JIT_WALL_TIME = 2, JIT_INFO_LOG_BUFFER = 3, JIT_INFO_LOG_BUFFER_SIZE = 4, JIT_ERROR_LOG_BUFFER = 5,
  JIT_ERROR_LOG_BUFFER_SIZE = 6, JIT_LOG_VERBOSE = 12
};
/* CUjitInputType */
enum { JIT_INPUT_CUBIN = 0, JIT_INPUT_PTX = 1, JIT_INPUT_FATBINARY = 2, JIT_INPUT_OBJECT = 3, JIT_INPUT_LIBRARY = 4 };

/* What a device answers to cuDeviceGetAttribute where it is the same for all: CUdevice_attribute, value. */
static const int cuda_attributes[][2] = {
  { 1, 1024 },        /* MAX_THREADS_PER_BLOCK */
  { 2, 1024 }, { 3, 1024 }, { 4, 64 }, /* MAX_BLOCK_DIM_X, Y, Z */
  { 5, 2147483647 }, { 6, 65535 }, { 7, 65535 }, /* MAX_GRID_DIM_X, Y, Z */
  { 8, 49152 },       /* MAX_SHARED_MEMORY_PER_BLOCK */
  { 9, 65536 },       /* TOTAL_CONSTANT_MEMORY */
  { 10, 32 },         /* WARP_SIZE */
  { 11, 2147483647 }, /* MAX_PITCH */
  { 12, 65536 },      /* MAX_REGISTERS_PER_BLOCK */
  { 14, 512 },        /* TEXTURE_ALIGNMENT */
  { 15, 1 },          /* GPU_OVERLAP */
  { 17, 0 },          /* KERNEL_EXEC_TIMEOUT */
  { 18, 0 },          /* INTEGRATED */
  { 19, 1 },          /* CAN_MAP_HOST_MEMORY */
  { 20, 0 },          /* COMPUTE_MODE: default */
  { 30, 512 },        /* SURFACE_ALIGNMENT */
  { 31, 1 },          /* CONCURRENT_KERNELS */
  { 32, 0 },          /* ECC_ENABLED */
  { 33, 0 },          /* PCI_BUS_ID */
  { 35, 0 },          /* TCC_DRIVER */
  { 36, 1000000 },    /* MEMORY_CLOCK_RATE, kHz */
  { 37, 256 },        /* GLOBAL_MEMORY_BUS_WIDTH, bits */
  { 38, 4194304 },    /* L2_CACHE_SIZE */
  { 40, 2 },          /* ASYNC_ENGINE_COUNT */
  { 41, 1 },          /* UNIFIED_ADDRESSING */
  { 50, 0 },          /* PCI_DOMAIN_ID */
  { 51, 32 },         /* TEXTURE_PITCH_ALIGNMENT */
  { 78, 1 },          /* STREAM_PRIORITIES_SUPPORTED */
  { 79, 1 },          /* GLOBAL_L1_CACHE_SUPPORTED */
  { 80, 1 },          /* LOCAL_L1_CACHE_SUPPORTED */
  { 81, 102400 },     /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
  { 82, 65536 },      /* MAX_REGISTERS_PER_MULTIPROCESSOR */
  { 83, 1 },          /* MANAGED_MEMORY */
  { 84, 0 },          /* MULTI_GPU_BOARD */
  { 86, 0 },          /* HOST_NATIVE_ATOMIC_SUPPORTED */
  { 87, 2 },          /* SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO */
  { 88, 0 },          /* PAGEABLE_MEMORY_ACCESS */
  { 89, 0 },          /* CONCURRENT_MANAGED_ACCESS */
  { 90, 0 },          /* COMPUTE_PREEMPTION_SUPPORTED */
  { 91, 0 },          /* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
  { 95, 0 },          /* COOPERATIVE_LAUNCH */
  { 96, 0 },          /* COOPERATIVE_MULTI_DEVICE_LAUNCH */
  { 97, 49152 },      /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
  { 99, 1 },          /* HOST_REGISTER_SUPPORTED */
  { 100, 0 },         /* PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES */
  { 101, 0 },         /* DIRECT_MANAGED_MEM_ACCESS_FROM_HOST */
  { 106, 32 },        /* MAX_BLOCKS_PER_MULTIPROCESSOR */
  { 111, 1024 },      /* RESERVED_SHARED_MEMORY_PER_BLOCK */
  { 115, 0 },         /* MEMORY_POOLS_SUPPORTED */
};

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
/* The largest CUdevice_attribute of the API that cuDriverGetVersion answers; the emulator says 0 to what it doesn't know below it. */
enum { DRIVER_VERSION = 12000, LAST_ATTRIBUTE = 131 };

#endif
