# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""libomptarget.rtl.x86_64.so: the devices of libgompy as a plugin of LLVM's own libomptarget, releases 14 to 18.

libomptarget maps; memory, copies and regions are libgompy's, so that its devices, checks, statistics and traces serve.
Sources of the interface: omptargetplugin.h of LLVM 14 to 17, PluginManager.h of 18 (openmp/libomptarget/include).
Each function answers 0 when all is well.  The forms with an async_info are done at once: nothing is left for a queue,
and the record stays as it was.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdio cimport fprintf, stderr
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset, strcmp

from gompy.native.dlfcn cimport RTLD_LAZY, RTLD_NOLOAD, Dl_info, dladdr, dlclose, dlopen, dlsym
from gompy.native.environment cimport secure_getenv
from gompy.native.llvm cimport (
    TGT_ENTRY_CTOR,
    TGT_ENTRY_DTOR,
    TGT_KERNEL_ARGS_NEWEST_16,
    TGT_MAP_LITERAL,
    TGT_MAP_TARGET_PARAM,
    TGT_REQUIRES_UNIFIED_SHARED_MEMORY,
)
from gompy.native.omptarget cimport TgtDescriptor, TgtDeviceImage, TgtEntry, TgtIdent, TgtKernelArgs, TgtTable
from gompy.native.pthread cimport *

cdef extern from *:
    """
    #define rtl_caller() __builtin_return_address (0)
    static pthread_mutex_t rtl_lock = PTHREAD_MUTEX_INITIALIZER;
    """
    void *rtl_caller() nogil
    pthread_mutex_t rtl_lock

cdef extern from "core.h":
    int core_num_devices "gompy_llvm_omp_get_num_devices"() noexcept nogil
    int core_initial_device "gompy_llvm_omp_get_initial_device"() noexcept nogil
    void *core_alloc "gompy_llvm_omp_target_alloc"(size_t, int) noexcept nogil
    void core_free "gompy_llvm_omp_target_free"(void *, int) noexcept nogil
    void *core_alloc_host "gompy_llvm_llvm_omp_target_alloc_host"(size_t, int) noexcept nogil
    void *core_alloc_shared "gompy_llvm_llvm_omp_target_alloc_shared"(size_t, int) noexcept nogil
    void core_free_host "gompy_llvm_llvm_omp_target_free_host"(void *, int) noexcept nogil
    void core_free_shared "gompy_llvm_llvm_omp_target_free_shared"(void *, int) noexcept nogil
    void *core_mapped "gompy_llvm_omp_get_mapped_ptr"(const void *, int) noexcept nogil
    int core_copy "gompy_llvm_omp_target_memcpy"(void *, const void *, size_t, size_t, size_t, int,
                                                int) noexcept nogil
    void core_register "gompy_llvm___tgt_register_lib"(const TgtDescriptor *) noexcept nogil
    void core_unregister "gompy_llvm___tgt_unregister_lib"(const TgtDescriptor *) noexcept nogil
    void core_set_info "gompy_llvm___tgt_set_info_flag"(uint32_t) noexcept nogil
    int core_print_info "gompy_llvm___tgt_print_device_info"(int64_t) noexcept nogil
    void core_begin_data "gompy_llvm___tgt_target_data_begin"(int64_t, int32_t, void **, void **, int64_t *,
                                                              int64_t *) noexcept nogil
    int core_kernel "gompy_llvm___tgt_target_kernel"(const TgtIdent *, int64_t, int, int, const void *,
                                                    TgtKernelArgs *) noexcept nogil
    int core_kernel_18 "gompy_llvm_18___tgt_target_kernel"(const TgtIdent *, int64_t, int, int, const void *,
                                                          TgtKernelArgs *) noexcept nogil

include "images.pxi"
include "memory.pxi"
include "launch.pxi"


cdef public int32_t rtl_init_plugin "__tgt_rtl_init_plugin"() noexcept nogil:
    """The first call (since 15).  What LIBOMPTARGET_INFO wants to know libomptarget tells."""
    core_set_info(0)
    return GOOD


cdef public int32_t rtl_is_gompy "__tgt_rtl_is_gompy"() noexcept nogil:
    """By this name our plugin for LLVM's plugins (gompy/plugins/llvm) knows this one."""
    return 1


cdef public int32_t rtl_deinit_plugin "__tgt_rtl_deinit_plugin"() noexcept nogil:
    """Devices end with the program."""
    return GOOD


cdef public int32_t rtl_number_of_devices "__tgt_rtl_number_of_devices"() noexcept nogil:
    """Those of libgompy: of the emulated MIC, or what GOMPY_PLUGINS names."""
    core_set_info(0)
    return core_num_devices()


cdef public int32_t rtl_set_device_offset "__tgt_rtl_set_device_offset"(int32_t first) noexcept nogil:
    """18: the program's number of device 0."""
    return GOOD


cdef public int64_t rtl_init_requires "__tgt_rtl_init_requires"(int64_t flags) noexcept nogil:
    """`omp requires` of the whole program, before the first device starts."""
    global rtl_requires
    rtl_requires = flags
    return GOOD


cdef public int32_t rtl_init_device "__tgt_rtl_init_device"(int32_t device) noexcept nogil:
    """A device of ours starts with its first use; one that cannot be what the program requires does not."""
    cdef const char *shared = secure_getenv(b"GOMPY_SHARED_MEMORY")
    if rtl_requires & TGT_REQUIRES_UNIFIED_SHARED_MEMORY and (shared == NULL or strcmp(shared, b"1")):
        fprintf(stderr, b"libgompy: device %d: the program requires unified_shared_memory, and the device has memory "
                        b"of its own; GOMPY_SHARED_MEMORY=1 gives one that shares the program's\n", device)
        return BAD
    return GOOD


cdef public int32_t rtl_deinit_device "__tgt_rtl_deinit_device"(int32_t device) noexcept nogil:
    """Devices end with the program."""
    return GOOD


cdef public void rtl_set_info_flag "__tgt_rtl_set_info_flag"(uint32_t flag) noexcept nogil:
    """LIBOMPTARGET_INFO from the program: libomptarget's own matter."""
    pass


cdef public void rtl_print_device_info "__tgt_rtl_print_device_info"(int32_t device) noexcept nogil:
    """For llvm-omp-device-info."""
    core_print_info(device)
