# What the runtime uses of the C library, and its table of the driver's functions.

from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdio cimport FILE, fprintf, snprintf, stderr
from libc.stdlib cimport abort, calloc, free, malloc
from libc.string cimport memcpy, memset, strcmp, strcpy, strlen, strncmp

from gompy.native.cuda_structures cimport (
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUdeviceptr, CUipcMemHandle,
)
from gompy.native.cuda cimport (
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_NO_DEVICE, CUDA_SUCCESS,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_BINARY_VERSION, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_FUNC_ATTRIBUTE_PTX_VERSION,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INPUT_PTX,
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB,
    cuda_is_sticky,
)
from gompy.native.cudart cimport (
    cudaChannelFormatKindFloat, cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned,
    cudaErrorInvalidChannelDescriptor, cudaErrorInvalidResourceHandle, cudaErrorInvalidTexture, cudaResourceTypeArray,
    cudaErrorInvalidSurface, cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear, cudaResourceTypePitch2D,
    CUDART_VERSION, cudaDeviceMapHost, cudaDeviceProp, cudaDeviceScheduleAuto, cudaErrorInitializationError,
    cudaErrorInsufficientDriver, cudaErrorInvalidConfiguration, cudaErrorInvalidDevice,
    cudaErrorInvalidDeviceFunction, cudaErrorInvalidMemcpyDirection, cudaErrorInvalidPitchValue,
    cudaErrorInvalidPtx, cudaErrorInvalidSymbol,
    cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorMissingConfiguration, cudaErrorNoDevice,
    cudaErrorNoKernelImageForDevice, cudaErrorNotSupported, cudaEventDefault, cudaGraphNodeTypeKernel,
    cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset, cudaLaunchAttributeClusterDimension,
    cudaLaunchAttributeCooperative, cudaLaunchAttributeProgrammaticEvent, cudaMemcpyDefault,
    cudaMemcpyDeviceToDevice, cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice, cudaMemcpyHostToHost,
    cudaMemoryTypeDevice, cudaMemoryTypeHost, cudaMemoryTypeManaged, cudaMemoryTypeUnregistered, cudart_error_name,
    cudart_error_text,
)
from gompy.native.dlfcn cimport RTLD_LAZY, Dl_info, dladdr, dlerror, dlopen
from gompy.native.driver_choice cimport (
    GOMPY_DRIVER_AUTO,
    GOMPY_DRIVER_EMULATED,
    GOMPY_DRIVER_REAL,
    GOMPY_DRIVER_UNKNOWN,
    gompy_driver_choice,
    gompy_emulated_driver,
)
from gompy.native.environment cimport secure_getenv
from gompy.native.limits cimport gompy_limit_hint
from gompy.native.pthread cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

cdef extern from "driver_calls.h" nogil:
    ctypedef void (*driver_callback)(void *stream, int status, void *data) noexcept nogil
    ctypedef void (*host_function)(void *data) noexcept nogil
    ctypedef struct dim3:
        unsigned x, y, z
    ctypedef struct pitched_ptr:
        void *ptr
        size_t pitch, xsize, ysize
    ctypedef struct extent:
        size_t width, height, depth
    struct driver_array_calls "driver_arrays":
        int (*create)(void **, const CUDA_ARRAY3D_DESCRIPTOR *) noexcept nogil
        int (*destroy)(void *) noexcept nogil
        int (*describe)(CUDA_ARRAY3D_DESCRIPTOR *, void *) noexcept nogil
        int (*surface_create)(uint64_t *, const void *) noexcept nogil
        int (*surface_destroy)(uint64_t) noexcept nogil
        int (*mipmap_create)(void **, const CUDA_ARRAY3D_DESCRIPTOR *, unsigned) noexcept nogil
        int (*mipmap_level)(void **, void *, unsigned) noexcept nogil
        int (*mipmap_destroy)(void *) noexcept nogil
        int (*surface_reference)(void **, void *, const char *) noexcept nogil
        int (*surface_bind)(void *, void *, unsigned) noexcept nogil
        int (*set_array)(void *, void *, unsigned) noexcept nogil
        int (*ipc_open)(CUdeviceptr *, CUipcMemHandle, unsigned) noexcept nogil
        int (*event_open)(void **, CUipcMemHandle) noexcept nogil
    driver_array_calls driver_arrays
    ctypedef struct place:
        size_t x, y, z
    ctypedef struct cuboid:
        void *from_array
        place from_place
        pitched_ptr from_memory "from"
        void *to_array
        place to_place
        pitched_ptr to
        extent size
        int kind
    ctypedef struct peer_cuboid:
        void *from_array
        place from_place
        pitched_ptr from_memory "from"
        int from_device
        void *to_array
        place to_place
        pitched_ptr to
        int to_device
        extent size
    ctypedef struct kernel_node:
        void *function
    ctypedef struct any_copy:
        cuboid copy
    ctypedef struct any_node:
        int kind
        kernel_node kernel
        any_copy copy
        int64_t *fill
    ctypedef struct launch_attribute:
        int id
        int value[16]
    ctypedef struct launch_config:
        dim3 grid, block
        size_t shared
        void *stream
        const launch_attribute *attributes
        unsigned count
    struct driver_graphs_t "driver_graphs":
        int (*add_kernel)(void **, void *, const void *, size_t, const kernel_node *) noexcept nogil
        int (*get_kernel)(void *, kernel_node *) noexcept nogil
        int (*set_kernel)(void *, const kernel_node *) noexcept nogil
        int (*exec_kernel)(void *, void *, const kernel_node *) noexcept nogil
        int (*add_copy)(void **, void *, const void *, size_t, const CUDA_MEMCPY3D *, void *) noexcept nogil
        int (*get_copy)(void *, CUDA_MEMCPY3D *) noexcept nogil
        int (*set_copy)(void *, const CUDA_MEMCPY3D *) noexcept nogil
        int (*exec_copy)(void *, void *, const CUDA_MEMCPY3D *, void *) noexcept nogil
        int (*add_fill)(void **, void *, const void *, size_t, const void *, void *) noexcept nogil
        int (*exec_fill)(void *, void *, const void *, void *) noexcept nogil
        int (*launch_together)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                               void **) noexcept nogil
        int (*copy_now)(const CUDA_MEMCPY3D *) noexcept nogil
        int (*copy_later)(const CUDA_MEMCPY3D *, void *) noexcept nogil
        int (*copy_peer_now)(const CUDA_MEMCPY3D *) noexcept nogil
        int (*copy_peer_later)(const CUDA_MEMCPY3D *, void *) noexcept nogil
        int (*note_managed)(CUdeviceptr) noexcept nogil
        int (*add_any)(void **, void *, const void *, size_t, void *) noexcept nogil
        int (*condition)(uint64_t *, void *, void *, unsigned, unsigned) noexcept nogil
        int (*address_of)(const char *, void **, int, uint64_t, int *) noexcept nogil
        int (*function_name)(const char **, void *) noexcept nogil
    driver_graphs_t driver_graphs
    ctypedef struct channel_format:
        int x, y, z, w, kind
    ctypedef struct resource:
        int kind
        void *device
        channel_format format
        size_t width, height, pitch
    ctypedef struct texture_settings:
        int modes[3]
        int filter, read_mode, srgb
        float border[4]
        int normalized
        unsigned anisotropy
        int mipmap_filter
        float bias
        float levels[2]
    ctypedef struct texture_reference:
        int normalized, filter
        int modes[3]
        int read_mode
    struct driver_textures_t "driver_textures":
        int (*object_create)(uint64_t *, const void *, const void *, const void *) noexcept nogil
        int (*object_destroy)(uint64_t) noexcept nogil
        int (*object_resource)(void *, uint64_t) noexcept nogil
        int (*object_settings)(void *, uint64_t) noexcept nogil
        int (*surface_resource)(void *, uint64_t) noexcept nogil
        int (*reference)(void **, void *, const char *) noexcept nogil
        int (*set_format)(void *, unsigned, int) noexcept nogil
        int (*set_flags)(void *, unsigned) noexcept nogil
        int (*set_mode)(void *, int, int) noexcept nogil
        int (*set_filter)(void *, int) noexcept nogil
        int (*set_address)(size_t *, void *, CUdeviceptr, size_t) noexcept nogil
        int (*set_rows)(void *, const void *, CUdeviceptr, size_t) noexcept nogil
        int (*range)(CUdeviceptr *, size_t *, CUdeviceptr) noexcept nogil
    driver_textures_t driver_textures
    ctypedef struct pointer_attributes:
        int type, device
        void *device_pointer
        void *host_pointer
    ctypedef struct function_attributes:
        size_t shared_size, const_size, local_size
        int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout
    ctypedef struct fatbin_wrapper:
        unsigned magic, version
        const void *data
    ctypedef struct fatbin_head:
        unsigned magic
        unsigned short version, head_size
        uint64_t size
    ctypedef struct fatbin_file:
        unsigned short kind
        unsigned head_size, packed_size, architecture
        uint64_t size, flags, unpacked_size
    ctypedef struct driver_functions:
        int (*init)(unsigned) noexcept nogil
        int (*driver_version)(int *) noexcept nogil
        int (*device_count)(int *) noexcept nogil
        int (*device_get)(int *, int) noexcept nogil
        int (*device_name)(char *, int, int) noexcept nogil
        int (*device_uuid)(char *, int) noexcept nogil
        int (*device_attribute)(int *, int, int) noexcept nogil
        int (*device_memory)(size_t *, int) noexcept nogil
        int (*device_bus)(char *, int, int) noexcept nogil
        int (*device_of_bus)(int *, const char *) noexcept nogil
        int (*device_peer)(int *, int, int) noexcept nogil
        int (*primary_retain)(void **, int) noexcept nogil
        int (*primary_reset)(int) noexcept nogil
        int (*primary_flags)(int, unsigned) noexcept nogil
        int (*primary_state)(int, unsigned *, int *) noexcept nogil
        int (*context_current)(void **) noexcept nogil
        int (*context_set)(void *) noexcept nogil
        int (*context_device)(int *) noexcept nogil
        int (*context_wait)() noexcept nogil
        int (*context_set_limit)(int, size_t) noexcept nogil
        int (*context_limit)(size_t *, int) noexcept nogil
        int (*context_cache)(int *) noexcept nogil
        int (*context_set_cache)(int) noexcept nogil
        int (*context_banks)(int *) noexcept nogil
        int (*context_set_banks)(int) noexcept nogil
        int (*context_priorities)(int *, int *) noexcept nogil
        int (*peer_enable)(void *, unsigned) noexcept nogil
        int (*peer_disable)(void *) noexcept nogil
        int (*module_load)(void **, const void *, unsigned, int *, void **) noexcept nogil
        int (*module_unload)(void *) noexcept nogil
        int (*link_create)(unsigned, int *, void **, void **) noexcept nogil
        int (*link_add)(void *, int, const void *, size_t, const char *, unsigned, int *, void **) noexcept nogil
        int (*link_complete)(void *, void **, size_t *) noexcept nogil
        int (*link_destroy)(void *) noexcept nogil
        int (*module_function)(void **, void *, const char *) noexcept nogil
        int (*module_global)(CUdeviceptr *, size_t *, void *, const char *) noexcept nogil
        int (*function_attribute)(int *, int, void *) noexcept nogil
        int (*function_set_attribute)(void *, int, int) noexcept nogil
        int (*function_cache)(void *, int) noexcept nogil
        int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                      void **) noexcept nogil
        int (*occupancy)(int *, void *, int, size_t, unsigned) noexcept nogil
        int (*occupancy_shared)(size_t *, void *, int, int) noexcept nogil
        int (*mem_info)(size_t *, size_t *) noexcept nogil
        int (*mem_alloc)(CUdeviceptr *, size_t) noexcept nogil
        int (*mem_pitch)(CUdeviceptr *, size_t *, size_t, size_t, unsigned) noexcept nogil
        int (*mem_managed)(CUdeviceptr *, size_t, unsigned) noexcept nogil
        int (*mem_free)(CUdeviceptr) noexcept nogil
        int (*mem_alloc_async)(CUdeviceptr *, size_t, void *) noexcept nogil
        int (*mem_free_async)(CUdeviceptr, void *) noexcept nogil
        int (*mem_prefetch)(CUdeviceptr, size_t, int, void *) noexcept nogil
        int (*mem_advise)(CUdeviceptr, size_t, int, int) noexcept nogil
        int (*mem_range)(void **, const size_t *, const int *, size_t, CUdeviceptr, size_t) noexcept nogil
        int (*host_alloc)(void **, size_t, unsigned) noexcept nogil
        int (*host_free)(void *) noexcept nogil
        int (*host_pointer)(CUdeviceptr *, void *, unsigned) noexcept nogil
        int (*host_flags)(unsigned *, void *) noexcept nogil
        int (*host_register)(void *, size_t, unsigned) noexcept nogil
        int (*host_unregister)(void *) noexcept nogil
        int (*pointer_attribute)(void *, int, CUdeviceptr) noexcept nogil
        int (*copy)(CUdeviceptr, CUdeviceptr, size_t) noexcept nogil
        int (*copy_in)(CUdeviceptr, const void *, size_t) noexcept nogil
        int (*copy_out)(void *, CUdeviceptr, size_t) noexcept nogil
        int (*copy_inside)(CUdeviceptr, CUdeviceptr, size_t) noexcept nogil
        int (*copy_async)(CUdeviceptr, CUdeviceptr, size_t, void *) noexcept nogil
        int (*copy_in_async)(CUdeviceptr, const void *, size_t, void *) noexcept nogil
        int (*copy_out_async)(void *, CUdeviceptr, size_t, void *) noexcept nogil
        int (*copy_inside_async)(CUdeviceptr, CUdeviceptr, size_t, void *) noexcept nogil
        int (*copy_peer)(CUdeviceptr, void *, CUdeviceptr, void *, size_t) noexcept nogil
        int (*copy_peer_async)(CUdeviceptr, void *, CUdeviceptr, void *, size_t, void *) noexcept nogil
        int (*copy_rows)(const CUDA_MEMCPY2D *) noexcept nogil
        int (*copy_rows_async)(const CUDA_MEMCPY2D *, void *) noexcept nogil
        int (*fill)(CUdeviceptr, unsigned char, size_t) noexcept nogil
        int (*fill_async)(CUdeviceptr, unsigned char, size_t, void *) noexcept nogil
        int (*fill_rows)(CUdeviceptr, size_t, unsigned char, size_t, size_t) noexcept nogil
        int (*fill_rows_async)(CUdeviceptr, size_t, unsigned char, size_t, size_t, void *) noexcept nogil
        int (*stream_create)(void **, unsigned, int) noexcept nogil
        int (*stream_destroy)(void *) noexcept nogil
        int (*stream_query)(void *) noexcept nogil
        int (*stream_wait)(void *) noexcept nogil
        int (*stream_wait_event)(void *, void *, unsigned) noexcept nogil
        int (*stream_callback)(void *, driver_callback, void *, unsigned) noexcept nogil
        int (*stream_host)(void *, host_function, void *) noexcept nogil
        int (*stream_flags)(void *, unsigned *) noexcept nogil
        int (*stream_priority)(void *, int *) noexcept nogil
        int (*stream_attach)(void *, CUdeviceptr, size_t, unsigned) noexcept nogil
        int (*event_create)(void **, unsigned) noexcept nogil
        int (*event_destroy)(void *) noexcept nogil
        int (*event_record)(void *, void *) noexcept nogil
        int (*event_query)(void *) noexcept nogil
        int (*event_wait)(void *) noexcept nogil
        int (*event_elapsed)(float *, void *, void *) noexcept nogil
    driver_functions driver
    const char *driver_load(void *library)
    int fill_properties(cudaDeviceProp *to, int device)
    int CALL_DEPTH
    ctypedef struct call_configuration:
        dim3 grid, block
        size_t shared
        void *stream
    ctypedef struct runtime_thread_state "struct runtime_thread":
        int last_error, device, depth
        call_configuration *calls
        void *managed_in
        uint64_t managed_seen
    runtime_thread_state runtime_thread
    pthread_mutex_t runtime_lock


cdef inline int note_error(int r) noexcept nogil:
    """What a call returns: an error is kept for cudaGetLastError."""
    if r != CUDA_SUCCESS:
        runtime_thread.last_error = r
    return r
