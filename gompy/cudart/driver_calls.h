/* The part of the CUDA driver interface that the runtime uses: a table of its functions, filled by dlsym; what a thread
   and a compiler hand to the runtime.

   Names and argument lists: CUDA driver API.  Layouts that compilers write: clang's CGCUDANV.cpp, as facts.  */
#ifndef GOMPY_DRIVER_CALLS_H
#define GOMPY_DRIVER_CALLS_H

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gompy/native/cuda.h"
#include "gompy/native/cuda_structures.h"
#include "gompy/native/cudart.h"

typedef void (*driver_callback) (void *stream, int status, void *data);
typedef void (*host_function) (void *data);

typedef struct dim3 { unsigned x, y, z; } dim3;

typedef struct place { size_t x, y, z; } place; /* cudaPos */
typedef struct pitched_ptr { void *ptr; size_t pitch, xsize, ysize; } pitched_ptr;
typedef struct extent { size_t width, height, depth; } extent;

typedef struct cuboid
{
  void *from_array;
  place from_place;
  pitched_ptr from;
  void *to_array;
  place to_place;
  pitched_ptr to;
  extent size;
  int kind;
} cuboid; /* cudaMemcpy3DParms */

typedef struct peer_cuboid
{
  void *from_array;
  place from_place;
  pitched_ptr from;
  int from_device;
  void *to_array;
  place to_place;
  pitched_ptr to;
  int to_device;
  extent size;
} peer_cuboid; /* cudaMemcpy3DPeerParms */

typedef struct kernel_node
{
  void *function;
  dim3 grid, block;
  unsigned shared;
  void **params, **extra;
} kernel_node; /* cudaKernelNodeParams; the driver's, but for the function */

typedef struct launch_attribute { int id, apart, value[16]; } launch_attribute; /* cudaLaunchAttribute */

typedef struct launch_config
{
  dim3 grid, block;
  size_t shared;
  void *stream;
  const launch_attribute *attributes;
  unsigned count;
} launch_config; /* cudaLaunchConfig_t */

typedef struct any_node
{
  int kind, reserved[3];
  union
  {
    long long room[29];
    kernel_node kernel;
    struct { int flags, unused[3]; cuboid copy; } copy;
    long long fill[5];                  /* cudaMemsetParams */
  };
  long long last;
} any_node; /* cudaGraphNodeParams */
_Static_assert (sizeof (any_node) == 256, "cudaGraphNodeParams");

typedef struct pointer_attributes
{
  int type, device;
  void *device_pointer, *host_pointer;
} pointer_attributes; /* cudaPointerAttributes */

typedef struct function_attributes
{
  size_t shared_size, const_size, local_size;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout, others[22];
} function_attributes; /* cudaFuncAttributes */
_Static_assert (sizeof (function_attributes) == 144, "cudaFuncAttributes");

/* What a compiler hands over: a wrapper that leads to the container, the container's head, and the head of each of its
   files, each followed by that file's contents.  */
typedef struct fatbin_wrapper { unsigned magic, version; const void *data; void *rest; } fatbin_wrapper;
typedef struct fatbin_head { unsigned magic; unsigned short version, head_size; unsigned long long size; } fatbin_head;
typedef struct fatbin_file
{
  unsigned short kind, version;
  unsigned head_size;
  unsigned long long size;
  unsigned packed_size, options, name_at, architecture, bits, name_size;
  unsigned long long flags, zero, unpacked_size;
} fatbin_file;
_Static_assert (sizeof (fatbin_file) == 64, "a fat binary's file");

/* X (field, symbol, arguments).  */
#define GOMPY_CUDART_NEEDED(X) \
  X (init, cuInit, (unsigned)) \
  X (driver_version, cuDriverGetVersion, (int *)) \
  X (device_count, cuDeviceGetCount, (int *)) \
  X (device_get, cuDeviceGet, (int *, int)) \
  X (device_name, cuDeviceGetName, (char *, int, int)) \
  X (device_uuid, cuDeviceGetUuid, (char *, int)) \
  X (device_attribute, cuDeviceGetAttribute, (int *, int, int)) \
  X (device_memory, cuDeviceTotalMem_v2, (size_t *, int)) \
  X (device_bus, cuDeviceGetPCIBusId, (char *, int, int)) \
  X (device_of_bus, cuDeviceGetByPCIBusId, (int *, const char *)) \
  X (device_peer, cuDeviceCanAccessPeer, (int *, int, int)) \
  X (primary_retain, cuDevicePrimaryCtxRetain, (void **, int)) \
  X (primary_reset, cuDevicePrimaryCtxReset_v2, (int)) \
  X (primary_flags, cuDevicePrimaryCtxSetFlags_v2, (int, unsigned)) \
  X (primary_state, cuDevicePrimaryCtxGetState, (int, unsigned *, int *)) \
  X (context_current, cuCtxGetCurrent, (void **)) \
  X (context_set, cuCtxSetCurrent, (void *)) \
  X (context_device, cuCtxGetDevice, (int *)) \
  X (context_wait, cuCtxSynchronize, (void)) \
  X (context_set_limit, cuCtxSetLimit, (int, size_t)) \
  X (context_limit, cuCtxGetLimit, (size_t *, int)) \
  X (context_cache, cuCtxGetCacheConfig, (int *)) \
  X (context_set_cache, cuCtxSetCacheConfig, (int)) \
  X (context_banks, cuCtxGetSharedMemConfig, (int *)) \
  X (context_set_banks, cuCtxSetSharedMemConfig, (int)) \
  X (context_priorities, cuCtxGetStreamPriorityRange, (int *, int *)) \
  X (peer_enable, cuCtxEnablePeerAccess, (void *, unsigned)) \
  X (peer_disable, cuCtxDisablePeerAccess, (void *)) \
  X (module_load, cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **)) \
  X (module_unload, cuModuleUnload, (void *)) \
  X (link_create, cuLinkCreate_v2, (unsigned, int *, void **, void **)) \
  X (link_add, cuLinkAddData_v2, (void *, int, const void *, size_t, const char *, unsigned, int *, void **)) \
  X (link_complete, cuLinkComplete, (void *, void **, size_t *)) \
  X (link_destroy, cuLinkDestroy, (void *)) \
  X (module_function, cuModuleGetFunction, (void **, void *, const char *)) \
  X (module_global, cuModuleGetGlobal_v2, (CUdeviceptr *, size_t *, void *, const char *)) \
  X (function_attribute, cuFuncGetAttribute, (int *, int, void *)) \
  X (function_set_attribute, cuFuncSetAttribute, (void *, int, int)) \
  X (function_cache, cuFuncSetCacheConfig, (void *, int)) \
  X (launch, cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
                              void **, void **)) \
  X (occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *, void *, int, size_t, unsigned)) \
  X (occupancy_shared, cuOccupancyAvailableDynamicSMemPerBlock, (size_t *, void *, int, int)) \
  X (mem_info, cuMemGetInfo_v2, (size_t *, size_t *)) \
  X (mem_alloc, cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
  X (mem_pitch, cuMemAllocPitch_v2, (CUdeviceptr *, size_t *, size_t, size_t, unsigned)) \
  X (mem_managed, cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned)) \
  X (mem_free, cuMemFree_v2, (CUdeviceptr)) \
  X (mem_alloc_async, cuMemAllocAsync, (CUdeviceptr *, size_t, void *)) \
  X (mem_free_async, cuMemFreeAsync, (CUdeviceptr, void *)) \
  X (mem_prefetch, cuMemPrefetchAsync, (CUdeviceptr, size_t, int, void *)) \
  X (mem_advise, cuMemAdvise, (CUdeviceptr, size_t, int, int)) \
  X (mem_range, cuMemRangeGetAttributes, (void **, const size_t *, const int *, size_t, CUdeviceptr, size_t)) \
  X (host_alloc, cuMemHostAlloc, (void **, size_t, unsigned)) \
  X (host_free, cuMemFreeHost, (void *)) \
  X (host_pointer, cuMemHostGetDevicePointer_v2, (CUdeviceptr *, void *, unsigned)) \
  X (host_flags, cuMemHostGetFlags, (unsigned *, void *)) \
  X (host_register, cuMemHostRegister_v2, (void *, size_t, unsigned)) \
  X (host_unregister, cuMemHostUnregister, (void *)) \
  X (pointer_attribute, cuPointerGetAttribute, (void *, int, CUdeviceptr)) \
  X (copy, cuMemcpy, (CUdeviceptr, CUdeviceptr, size_t)) \
  X (copy_in, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) \
  X (copy_out, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t)) \
  X (copy_inside, cuMemcpyDtoD_v2, (CUdeviceptr, CUdeviceptr, size_t)) \
  X (copy_async, cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, void *)) \
  X (copy_in_async, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, void *)) \
  X (copy_out_async, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, void *)) \
  X (copy_inside_async, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, void *)) \
  X (copy_peer, cuMemcpyPeer, (CUdeviceptr, void *, CUdeviceptr, void *, size_t)) \
  X (copy_peer_async, cuMemcpyPeerAsync, (CUdeviceptr, void *, CUdeviceptr, void *, size_t, void *)) \
  X (copy_rows, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *)) \
  X (copy_rows_async, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *, void *)) \
  X (fill, cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t)) \
  X (fill_async, cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, void *)) \
  X (fill_rows, cuMemsetD2D8_v2, (CUdeviceptr, size_t, unsigned char, size_t, size_t)) \
  X (fill_rows_async, cuMemsetD2D8Async, (CUdeviceptr, size_t, unsigned char, size_t, size_t, void *)) \
  X (stream_create, cuStreamCreateWithPriority, (void **, unsigned, int)) \
  X (stream_destroy, cuStreamDestroy_v2, (void *)) \
  X (stream_query, cuStreamQuery, (void *)) \
  X (stream_wait, cuStreamSynchronize, (void *)) \
  X (stream_wait_event, cuStreamWaitEvent, (void *, void *, unsigned)) \
  X (stream_callback, cuStreamAddCallback, (void *, driver_callback, void *, unsigned)) \
  X (stream_host, cuLaunchHostFunc, (void *, host_function, void *)) \
  X (stream_flags, cuStreamGetFlags, (void *, unsigned *)) \
  X (stream_priority, cuStreamGetPriority, (void *, int *)) \
  X (stream_attach, cuStreamAttachMemAsync, (void *, CUdeviceptr, size_t, unsigned)) \
  X (event_create, cuEventCreate, (void **, unsigned)) \
  X (event_destroy, cuEventDestroy_v2, (void *)) \
  X (event_record, cuEventRecord, (void *, void *)) \
  X (event_query, cuEventQuery, (void *)) \
  X (event_wait, cuEventSynchronize, (void *)) \
  X (event_elapsed, cuEventElapsedTime, (float *, void *, void *))

struct driver_functions
{
#define GOMPY_FIELD(field, symbol, arguments) int (*field) arguments;
  GOMPY_CUDART_NEEDED (GOMPY_FIELD)
#undef GOMPY_FIELD
};

static struct driver_functions driver;

/* X (field, symbol, arguments): what a driver need not have; NULL then.  */
#define GOMPY_CUDART_TEXTURES(X) \
  X (object_create, cuTexObjectCreate, (uint64_t *, const void *, const void *, const void *)) \
  X (object_destroy, cuTexObjectDestroy, (uint64_t)) \
  X (object_resource, cuTexObjectGetResourceDesc, (void *, uint64_t)) \
  X (object_settings, cuTexObjectGetTextureDesc, (void *, uint64_t)) \
  X (surface_resource, cuSurfObjectGetResourceDesc, (void *, uint64_t)) \
  X (reference, cuModuleGetTexRef, (void **, void *, const char *)) \
  X (set_format, cuTexRefSetFormat, (void *, unsigned, int)) \
  X (set_flags, cuTexRefSetFlags, (void *, unsigned)) \
  X (set_mode, cuTexRefSetAddressMode, (void *, int, int)) \
  X (set_filter, cuTexRefSetFilterMode, (void *, int)) \
  X (set_address, cuTexRefSetAddress_v2, (size_t *, void *, CUdeviceptr, size_t)) \
  X (set_rows, cuTexRefSetAddress2D_v3, (void *, const void *, CUdeviceptr, size_t)) \
  X (range, cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr))

struct driver_textures
{
#define GOMPY_FIELD(field, symbol, arguments) int (*field) arguments;
  GOMPY_CUDART_TEXTURES (GOMPY_FIELD)
#undef GOMPY_FIELD
};

static struct driver_textures driver_textures;

/* The same for graphs, cuboids and cooperative launches; nodes begin with where to, the graph, what comes before.  */
#define GOMPY_CUDART_GRAPHS(X) \
  X (add_kernel, cuGraphAddKernelNode, (void **, void *, const void *, size_t, const kernel_node *)) \
  X (get_kernel, cuGraphKernelNodeGetParams, (void *, kernel_node *)) \
  X (set_kernel, cuGraphKernelNodeSetParams, (void *, const kernel_node *)) \
  X (exec_kernel, cuGraphExecKernelNodeSetParams, (void *, void *, const kernel_node *)) \
  X (add_copy, cuGraphAddMemcpyNode, (void **, void *, const void *, size_t, const CUDA_MEMCPY3D *, void *)) \
  X (get_copy, cuGraphMemcpyNodeGetParams, (void *, CUDA_MEMCPY3D *)) \
  X (set_copy, cuGraphMemcpyNodeSetParams, (void *, const CUDA_MEMCPY3D *)) \
  X (exec_copy, cuGraphExecMemcpyNodeSetParams, (void *, void *, const CUDA_MEMCPY3D *, void *)) \
  X (add_fill, cuGraphAddMemsetNode, (void **, void *, const void *, size_t, const void *, void *)) \
  X (exec_fill, cuGraphExecMemsetNodeSetParams, (void *, void *, const void *, void *)) \
  X (launch_together, cuLaunchCooperativeKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                                  unsigned, void *, void **)) \
  X (copy_now, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *)) \
  X (copy_later, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *, void *)) \
  X (copy_peer_now, cuMemcpy3DPeer, (const CUDA_MEMCPY3D *)) \
  X (copy_peer_later, cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D *, void *)) \
  X (note_managed, gompy_note_managed, (CUdeviceptr)) /* of the emulated driver */ \
  X (add_any, cuGraphAddNode, (void **, void *, const void *, size_t, void *)) \
  X (condition, cuGraphConditionalHandleCreate, (uint64_t *, void *, void *, unsigned, unsigned)) \
  X (address_of, cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *)) \
  X (function_name, cuFuncGetName, (const char **, void *))

struct driver_graphs
{
#define GOMPY_FIELD(field, symbol, arguments) int (*field) arguments;
  GOMPY_CUDART_GRAPHS (GOMPY_FIELD)
#undef GOMPY_FIELD
};

static struct driver_graphs driver_graphs;

/* The same for arrays, surfaces, and what other processes share.  */
#define GOMPY_CUDART_ARRAYS(X) \
  X (create, cuArray3DCreate_v2, (void **, const CUDA_ARRAY3D_DESCRIPTOR *)) \
  X (destroy, cuArrayDestroy, (void *)) \
  X (describe, cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR *, void *)) \
  X (surface_create, cuSurfObjectCreate, (uint64_t *, const void *)) \
  X (surface_destroy, cuSurfObjectDestroy, (uint64_t)) \
  X (set_array, cuTexRefSetArray, (void *, void *, unsigned)) \
  X (mipmap_create, cuMipmappedArrayCreate, (void **, const CUDA_ARRAY3D_DESCRIPTOR *, unsigned)) \
  X (mipmap_level, cuMipmappedArrayGetLevel, (void **, void *, unsigned)) \
  X (mipmap_destroy, cuMipmappedArrayDestroy, (void *)) \
  X (surface_reference, cuModuleGetSurfRef, (void **, void *, const char *)) \
  X (surface_bind, cuSurfRefSetArray, (void *, void *, unsigned)) \
  X (ipc_open, cuIpcOpenMemHandle_v2, (CUdeviceptr *, CUipcMemHandle, unsigned)) \
  X (event_open, cuIpcOpenEventHandle, (void **, CUipcMemHandle))

struct driver_arrays
{
#define GOMPY_FIELD(field, symbol, arguments) int (*field) arguments;
  GOMPY_CUDART_ARRAYS (GOMPY_FIELD)
#undef GOMPY_FIELD
};

static struct driver_arrays driver_arrays;

/* Calls that are the driver's own, with the same parameters.  */
static struct
{
#define GOMPY_FIELD(name, symbol, takes, gives) int (*name) takes;
  GOMPY_CUDART_PASSED (GOMPY_FIELD)
#undef GOMPY_FIELD
} driver_passed;

extern int gompy_enter_device (void);
extern int gompy_note_error (int error);
#define GOMPY_PASS(name, symbol, takes, gives) \
  int name takes \
  { \
    int r = gompy_enter_device (); \
    if (r == 0) \
      r = driver_passed.name ? driver_passed.name gives : cudaErrorNotSupported; \
    return gompy_note_error (r); \
  }
GOMPY_CUDART_PASSED (GOMPY_PASS)
#undef GOMPY_PASS

typedef struct channel_format { int x, y, z, w, kind; } channel_format; /* cudaChannelFormatDesc */

typedef struct resource
{
  int kind;
  void *device;
  channel_format format;
  size_t width, height, pitch;          /* linear memory: the width is its bytes */
} resource; /* cudaResourceDesc */

typedef struct texture_settings
{
  int modes[3], filter, read_mode, srgb;
  float border[4];
  int normalized;
  unsigned anisotropy;
  int mipmap_filter;
  float bias, levels[2];
} texture_settings; /* cudaTextureDesc */

typedef struct texture_reference
{
  int normalized, filter, modes[3];
  channel_format format;
  int srgb;
  unsigned anisotropy;
  int mipmap_filter;
  float bias, levels[2];
  int disabled, read_mode;
} texture_reference; /* textureReference of gompy's header */

/* Fill the table from a library; NULL, or the name of a function that it lacks.  */
static const char *
driver_load (void *library)
{
#define GOMPY_LOAD(field, symbol, arguments) \
  if (!(*(void **) &driver.field = dlsym (library, #symbol))) \
    return #symbol;
  GOMPY_CUDART_NEEDED (GOMPY_LOAD)
#undef GOMPY_LOAD
#define GOMPY_LOAD(field, symbol, arguments) *(void **) &driver_textures.field = dlsym (library, #symbol);
  GOMPY_CUDART_TEXTURES (GOMPY_LOAD)
#undef GOMPY_LOAD
#define GOMPY_LOAD(field, symbol, arguments) *(void **) &driver_graphs.field = dlsym (library, #symbol);
  GOMPY_CUDART_GRAPHS (GOMPY_LOAD)
#undef GOMPY_LOAD
#define GOMPY_LOAD(field, symbol, arguments) *(void **) &driver_arrays.field = dlsym (library, #symbol);
  GOMPY_CUDART_ARRAYS (GOMPY_LOAD)
#undef GOMPY_LOAD
#define GOMPY_LOAD(name, symbol, takes, gives) *(void **) &driver_passed.name = dlsym (library, #symbol);
  GOMPY_CUDART_PASSED (GOMPY_LOAD)
#undef GOMPY_LOAD
  return NULL;
}

/* cudaDeviceProp's members that are the driver's attributes.  */
static int
fill_properties (struct cudaDeviceProp *to, int device)
{
  int value, r;
#define GOMPY_FILL(member, attribute) \
  if ((r = driver.device_attribute (&value, attribute, device))) \
    return r; \
  to->member = value;
  GOMPY_CUDART_PROPERTIES (GOMPY_FILL)
#undef GOMPY_FILL
  return 0;
}

#define CALL_DEPTH 16

/* What stood between <<< and >>>.  */
typedef struct call_configuration
{
  dim3 grid, block;
  size_t shared;
  void *stream;
} call_configuration;

struct runtime_thread
{
  int last_error;
  int device;
  int depth;
  call_configuration calls[CALL_DEPTH];
  void *managed_in;             /* where code with managed variables was last loaded, and which (managed.pxi) */
  uint64_t managed_seen;
};
static __thread struct runtime_thread runtime_thread;

static pthread_mutex_t runtime_lock = PTHREAD_MUTEX_INITIALIZER;   /* the driver, devices, the registry's tables */

/* Calls that are not there.  */
static int
absent_call (const char *name)
{
  fprintf (stderr, "libcudart (gompy): error: %s is not implemented (cudaErrorNotSupported)\n", name);
  runtime_thread.last_error = cudaErrorNotSupported;
  return cudaErrorNotSupported;
}
#define GOMPY_STUB(name) int name (void) { return absent_call (#name); }
GOMPY_CUDART_ABSENT (GOMPY_STUB)
#undef GOMPY_STUB

#endif
