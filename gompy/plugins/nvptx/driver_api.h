/* The part of the CUDA driver interface that the plugin uses, and a table of its functions, filled by dlsym.

   Names and argument lists: CUDA driver API (the functions' documentation), as GCC 12's include/cuda/cuda.h has them.
   */
#ifndef GOMPY_DRIVER_API_H
#define GOMPY_DRIVER_API_H

#include <dlfcn.h>
#include <stddef.h>

#include "gompy/native/cuda.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext;
typedef void *CUmodule;
typedef void *CUfunction;
typedef void *CUstream;
typedef void *CUevent;
typedef void *CUlinkState;

typedef void (*CUstreamCallback) (CUstream, CUresult, void *);
typedef size_t (*CUoccupancyB2DSize) (int);

/* X (field, symbol, arguments).  */
#define GOMPY_CUDA_NEEDED(X) \
  X (init, cuInit, (unsigned)) \
  X (driver_version, cuDriverGetVersion, (int *)) \
  X (device_count, cuDeviceGetCount, (int *)) \
  X (device_get, cuDeviceGet, (CUdevice *, int)) \
  X (device_name, cuDeviceGetName, (char *, int, CUdevice)) \
  X (device_attribute, cuDeviceGetAttribute, (int *, int, CUdevice)) \
  X (device_memory, cuDeviceTotalMem_v2, (size_t *, CUdevice)) \
  X (ctx_current, cuCtxGetCurrent, (CUcontext *)) \
  X (ctx_device, cuCtxGetDevice, (CUdevice *)) \
  X (ctx_push, cuCtxPushCurrent_v2, (CUcontext)) \
  X (ctx_pop, cuCtxPopCurrent_v2, (CUcontext *)) \
  X (ctx_synchronize, cuCtxSynchronize, (void)) \
  X (link_complete, cuLinkComplete, (CUlinkState, void **, size_t *)) \
  X (link_destroy, cuLinkDestroy, (CUlinkState)) \
  X (module_load, cuModuleLoadData, (CUmodule *, const void *)) \
  X (module_unload, cuModuleUnload, (CUmodule)) \
  X (module_function, cuModuleGetFunction, (CUfunction *, CUmodule, const char *)) \
  X (module_global, cuModuleGetGlobal_v2, (CUdeviceptr *, size_t *, CUmodule, const char *)) \
  X (func_attribute, cuFuncGetAttribute, (int *, int, CUfunction)) \
  X (mem_info, cuMemGetInfo_v2, (size_t *, size_t *)) \
  X (mem_alloc, cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
  X (mem_free, cuMemFree_v2, (CUdeviceptr)) \
  X (mem_range, cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr)) \
  X (host_to_device, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) \
  X (device_to_host, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t)) \
  X (device_to_device_async, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
  X (host_to_device_async, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
  X (device_to_host_async, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream)) \
  X (launch, cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			      CUstream, void **, void **)) \
  X (stream_create, cuStreamCreate, (CUstream *, unsigned)) \
  X (stream_destroy, cuStreamDestroy_v2, (CUstream)) \
  X (stream_query, cuStreamQuery, (CUstream)) \
  X (stream_synchronize, cuStreamSynchronize, (CUstream)) \
  X (stream_callback, cuStreamAddCallback, (CUstream, CUstreamCallback, void *, unsigned)) \
  X (stream_wait, cuStreamWaitEvent, (CUstream, CUevent, unsigned)) \
  X (event_create, cuEventCreate, (CUevent *, unsigned)) \
  X (event_destroy, cuEventDestroy_v2, (CUevent)) \
  X (event_record, cuEventRecord, (CUevent, CUstream)) \
  X (event_query, cuEventQuery, (CUevent))

/* One of each pair of link functions must be there, and a way to a context; the others are done without.  */
#define GOMPY_CUDA_OPTIONAL(X) \
  X (error_string, cuGetErrorString, (CUresult, const char **)) \
  X (error_name, cuGetErrorName, (CUresult, const char **)) \
  X (ctx_create, cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice)) \
  X (ctx_destroy, cuCtxDestroy_v2, (CUcontext)) \
  X (ctx_set, cuCtxSetCurrent, (CUcontext)) \
  X (ctx_set_limit, cuCtxSetLimit, (int, size_t)) \
  X (ctx_limit, cuCtxGetLimit, (size_t *, int)) \
  X (primary_retain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) \
  X (primary_release, cuDevicePrimaryCtxRelease_v2, (CUdevice)) \
  X (primary_release_v1, cuDevicePrimaryCtxRelease, (CUdevice)) \
  X (link_create, cuLinkCreate_v2, (unsigned, int *, void **, CUlinkState *)) \
  X (link_create_v1, cuLinkCreate, (unsigned, int *, void **, CUlinkState *)) \
  X (link_add, cuLinkAddData_v2, (CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **)) \
  X (link_add_v1, cuLinkAddData, (CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **)) \
  X (device_uuid, cuDeviceGetUuid_v2, (unsigned char *, CUdevice)) \
  X (device_uuid_v1, cuDeviceGetUuid, (unsigned char *, CUdevice)) \
  X (mem_set, cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t)) \
  X (mem_managed, cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned)) \
  X (host_alloc, cuMemHostAlloc, (void **, size_t, unsigned)) \
  X (host_free, cuMemFreeHost, (void *)) \
  X (close_gap, gompy_close_gap, (CUdeviceptr, size_t)) /* of the emulated driver, as all these */ \
  X (mark_stale, gompy_shadow_stale, (CUdeviceptr, unsigned char *, size_t)) \
  X (stale_left, gompy_shadow_left, (CUdeviceptr, unsigned char *, size_t)) \
  X (find_unset, gompy_shadow_unset, (CUdeviceptr, unsigned char *, size_t)) \
  X (hold_gate, gompy_hold_gate, (int)) \
  X (keep_open, gompy_keep_open, (CUdeviceptr)) \
  X (looks_time, gompy_looks_time, (uint64_t *, CUdevice)) \
  X (rest_looks, gompy_rest_looks, (int)) \
  X (use_memory, gompy_see_memory, (CUdeviceptr, size_t, void (*) (const void *, size_t, void *), void *)) \
  X (occupancy, cuOccupancyMaxPotentialBlockSize, (int *, int *, CUfunction, CUoccupancyB2DSize, size_t, int))

struct cuda_functions
{
#define GOMPY_FIELD(field, symbol, arguments) CUresult (*field) arguments;
  GOMPY_CUDA_NEEDED (GOMPY_FIELD)
  GOMPY_CUDA_OPTIONAL (GOMPY_FIELD)
#undef GOMPY_FIELD
};

static struct cuda_functions cuda;

/* For the few bytes of the plugin's threads: no call for an address of theirs.  */
#define GOMPY_QUICK_TLS __attribute__ ((tls_model ("initial-exec")))

/* Whether this thread is in a callback of the driver's, where none of its functions may be called.  */
static __thread int in_callback GOMPY_QUICK_TLS;

/* Fill the table from a library; NULL, or the name of a function that it lacks.  */
static const char *
cuda_load (void *library)
{
#define GOMPY_LOAD(field, symbol, arguments) \
  *(void **) &cuda.field = dlsym (library, #symbol);
  GOMPY_CUDA_NEEDED (GOMPY_LOAD)
  GOMPY_CUDA_OPTIONAL (GOMPY_LOAD)
#undef GOMPY_LOAD
#define GOMPY_CHECK_LOADED(field, symbol, arguments) \
  if (!cuda.field) \
    return #symbol;
  GOMPY_CUDA_NEEDED (GOMPY_CHECK_LOADED)
#undef GOMPY_CHECK_LOADED
  if (!cuda.link_create)
    cuda.link_create = cuda.link_create_v1;
  if (!cuda.link_add)
    cuda.link_add = cuda.link_add_v1;
  if (!cuda.device_uuid)
    cuda.device_uuid = cuda.device_uuid_v1;
  if (!cuda.primary_release)
    cuda.primary_release = cuda.primary_release_v1;
  if (!(cuda.primary_retain && cuda.primary_release) && !(cuda.ctx_create && cuda.ctx_destroy))
    return "cuDevicePrimaryCtxRetain";
  return !cuda.link_create ? "cuLinkCreate" : !cuda.link_add ? "cuLinkAddData" : NULL;
}

#endif
