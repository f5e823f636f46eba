# What the plugin uses of the C library and of the host's runtime.

from libc.stdint cimport int32_t, INT32_MAX, int64_t, intptr_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.errno cimport ENOMEM
from libc.stdio cimport fprintf, snprintf, stderr
from libc.stdlib cimport calloc, free, malloc, qsort, realloc, strtol, strtoul
from libc.string cimport memset, strchr, strcmp, strlen, strncmp, strstr
from posix.types cimport pid_t
from posix.unistd cimport getpid

from gompy.native.lock cimport (
    gompy_quick_acquire, gompy_quick_init, gompy_quick_lock, gompy_quick_release, gompy_quick_try
)
from gompy.native.pthread cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock
)
from gompy.native.dlfcn cimport (
    RTLD_DEFAULT, RTLD_LAZY, dlerror, dlopen, dlsym,
)
from gompy.native.cuda cimport (
    CUDA_ERROR_DEINITIALIZED,
    CUDA_ERROR_INVALID_CONTEXT,
    CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_NOT_FOUND,
    CUDA_ERROR_NOT_PERMITTED,
    CUDA_ERROR_NOT_READY,
    CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_OUT_OF_MEMORY,
    CUDA_SUCCESS,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE,
    CU_EVENT_DISABLE_TIMING,
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_FUNC_ATTRIBUTE_NUM_REGS,
    CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    CU_JIT_INFO_LOG_BUFFER,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
    CU_JIT_INPUT_CUBIN,
    CU_JIT_INPUT_PTX,
    CU_JIT_LOG_VERBOSE,
    CU_JIT_OPTIMIZATION_LEVEL,
    CU_JIT_WALL_TIME,
    CU_LAUNCH_PARAM_BUFFER_POINTER,
    CU_LAUNCH_PARAM_BUFFER_SIZE,
    CU_LAUNCH_PARAM_END,
    CU_LIMIT_STACK_SIZE,
    CU_MEMHOSTALLOC_DEVICEMAP,
    CU_MEMHOSTALLOC_PORTABLE,
    CU_MEM_ATTACH_GLOBAL,
    CU_STREAM_NON_BLOCKING,
    cuda_is_sticky,
)
from gompy.native.driver_choice cimport (
    GOMPY_DRIVER_AUTO,
    GOMPY_DRIVER_EMULATED,
    GOMPY_DRIVER_UNKNOWN,
    gompy_driver_choice,
    gompy_emulated_driver,
)
from gompy.native.environment cimport secure_getenv
from gompy.native.limits cimport gompy_limit_hint
from gompy.native.gomp cimport (
    GOACC_PROPERTY_DRIVER,
    GOACC_PROPERTY_FREE_MEMORY,
    GOACC_PROPERTY_MEMORY,
    GOACC_PROPERTY_NAME,
    GOACC_PROPERTY_VENDOR,
    GOMP_DEVICE_NVIDIA_PTX,
    GOMP_OFFLOAD_CAP_OPENACC_200,
    GOMP_OFFLOAD_CAP_OPENMP_400,
    GOMP_VERSION_NVIDIA_PTX,
)
from gompy.native.gomp_newer cimport (
    GOMP_REQUIRES_REVERSE_OFFLOAD, GOMP_REQUIRES_UNIFIED_ADDRESS, GOMP_VERSION_INDIRECT_FUNCS,
    GOMP_VERSION_REQUIRES_MASK,
)
from gompy.native.llvm cimport TGT_INFO_KERNEL
from gompy.native.runtime_interface cimport gompy_answer_count, gompy_answer_version, gompy_newer_runtime
from gompy.native.plugin cimport (
    AddrPair,
    GOMP_PLUGIN_acc_default_dim,
    GOMP_PLUGIN_acc_thread,
    GOMP_PLUGIN_debug,
    GOMP_PLUGIN_error,
    GOMP_PLUGIN_fatal,
    GOMP_PLUGIN_malloc,
    GOMP_PLUGIN_target_rev,
    c_bool,
    gompy_target_rev,
)
from gompy.native.profiling cimport (
    GoaccThread,
    acc_device_api_cuda,
    acc_ev_alloc,
    acc_ev_enqueue_upload_end,
    acc_ev_enqueue_upload_start,
    acc_ev_free,
    acc_event_info,
    profile_data,
    profile_launch,
    profiled,
)

cdef extern from "driver_api.h" nogil:
    ctypedef int CUresult
    ctypedef int CUdevice
    ctypedef unsigned long long CUdeviceptr
    ctypedef void *CUcontext
    ctypedef void *CUmodule
    ctypedef void *CUfunction
    ctypedef void *CUstream
    ctypedef void *CUevent
    ctypedef void *CUlinkState
    ctypedef void (*CUstreamCallback)(CUstream, CUresult, void *) noexcept nogil
    struct cuda_functions:
        CUresult (*init)(unsigned) noexcept nogil
        CUresult (*driver_version)(int *) noexcept nogil
        CUresult (*device_count)(int *) noexcept nogil
        CUresult (*device_get)(CUdevice *, int) noexcept nogil
        CUresult (*device_name)(char *, int, CUdevice) noexcept nogil
        CUresult (*device_attribute)(int *, int, CUdevice) noexcept nogil
        CUresult (*device_memory)(size_t *, CUdevice) noexcept nogil
        CUresult (*ctx_create)(CUcontext *, unsigned, CUdevice) noexcept nogil
        CUresult (*ctx_destroy)(CUcontext) noexcept nogil
        CUresult (*ctx_current)(CUcontext *) noexcept nogil
        CUresult (*ctx_device)(CUdevice *) noexcept nogil
        CUresult (*ctx_push)(CUcontext) noexcept nogil
        CUresult (*ctx_pop)(CUcontext *) noexcept nogil
        CUresult (*ctx_set)(CUcontext) noexcept nogil
        CUresult (*ctx_set_limit)(int, size_t) noexcept nogil
        CUresult (*ctx_limit)(size_t *, int) noexcept nogil
        CUresult (*primary_retain)(CUcontext *, CUdevice) noexcept nogil
        CUresult (*primary_release)(CUdevice) noexcept nogil
        CUresult (*ctx_synchronize)() noexcept nogil
        CUresult (*link_create)(unsigned, int *, void **, CUlinkState *) noexcept nogil
        CUresult (*link_add)(CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **) noexcept nogil
        CUresult (*link_complete)(CUlinkState, void **, size_t *) noexcept nogil
        CUresult (*link_destroy)(CUlinkState) noexcept nogil
        CUresult (*module_load)(CUmodule *, const void *) noexcept nogil
        CUresult (*module_unload)(CUmodule) noexcept nogil
        CUresult (*module_function)(CUfunction *, CUmodule, const char *) noexcept nogil
        CUresult (*module_global)(CUdeviceptr *, size_t *, CUmodule, const char *) noexcept nogil
        CUresult (*func_attribute)(int *, int, CUfunction) noexcept nogil
        CUresult (*mem_info)(size_t *, size_t *) noexcept nogil
        CUresult (*mem_alloc)(CUdeviceptr *, size_t) noexcept nogil
        CUresult (*mem_free)(CUdeviceptr) noexcept nogil
        CUresult (*mem_range)(CUdeviceptr *, size_t *, CUdeviceptr) noexcept nogil
        CUresult (*host_to_device)(CUdeviceptr, const void *, size_t) noexcept nogil
        CUresult (*device_to_host)(void *, CUdeviceptr, size_t) noexcept nogil
        CUresult (*device_to_device_async)(CUdeviceptr, CUdeviceptr, size_t, CUstream) noexcept nogil
        CUresult (*host_to_device_async)(CUdeviceptr, const void *, size_t, CUstream) noexcept nogil
        CUresult (*device_to_host_async)(void *, CUdeviceptr, size_t, CUstream) noexcept nogil
        CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                           void **, void **) noexcept nogil
        CUresult (*stream_create)(CUstream *, unsigned) noexcept nogil
        CUresult (*stream_destroy)(CUstream) noexcept nogil
        CUresult (*stream_query)(CUstream) noexcept nogil
        CUresult (*stream_synchronize)(CUstream) noexcept nogil
        CUresult (*stream_callback)(CUstream, CUstreamCallback, void *, unsigned) noexcept nogil
        CUresult (*stream_wait)(CUstream, CUevent, unsigned) noexcept nogil
        CUresult (*event_create)(CUevent *, unsigned) noexcept nogil
        CUresult (*event_destroy)(CUevent) noexcept nogil
        CUresult (*event_record)(CUevent, CUstream) noexcept nogil
        CUresult (*event_query)(CUevent) noexcept nogil
        CUresult (*error_string)(CUresult, const char **) noexcept nogil
        CUresult (*error_name)(CUresult, const char **) noexcept nogil
        CUresult (*occupancy)(int *, int *, CUfunction, void *, size_t, int) noexcept nogil
        CUresult (*device_uuid)(unsigned char *, CUdevice) noexcept nogil
        CUresult (*mem_set)(CUdeviceptr, unsigned char, size_t) noexcept nogil
        CUresult (*mem_managed)(CUdeviceptr *, size_t, unsigned) noexcept nogil
        CUresult (*host_alloc)(void **, size_t, unsigned) noexcept nogil
        CUresult (*host_free)(void *) noexcept nogil
        CUresult (*close_gap)(CUdeviceptr, size_t) noexcept nogil
        CUresult (*mark_stale)(CUdeviceptr, unsigned char *, size_t) noexcept nogil
        CUresult (*stale_left)(CUdeviceptr, unsigned char *, size_t) noexcept nogil
        CUresult (*find_unset)(CUdeviceptr, unsigned char *, size_t) noexcept nogil
        CUresult (*hold_gate)(int) noexcept nogil
        CUresult (*keep_open)(CUdeviceptr) noexcept nogil
        CUresult (*looks_time)(uint64_t *, CUdevice) noexcept nogil
        CUresult (*rest_looks)(int) noexcept nogil
        CUresult (*use_memory)(CUdeviceptr, size_t, void (*)(const void *, size_t, void *) noexcept nogil,
                               void *) noexcept nogil
    cuda_functions cuda
    const char *cuda_load(void *)
    bint in_callback
