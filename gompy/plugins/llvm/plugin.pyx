# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""libgomp-plugin-llvm.so.1: a device plugin of LLVM's libomptarget, 14 to 18, as devices of libgompy.

GOMPY_LLVM_RTL names it: x86_64, which runs regions in the program, by default.  It takes images for x86_64 by clang,
whose kernels it launches; and, from 16's newer plugin on, by gcc.  cuda takes images for GPUs by clang.  Sources of the
interface: omptargetplugin.h of LLVM 14 to 17, PluginManager.h of 18 (openmp/libomptarget/include).
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset, strchr, strcmp

from gompy.native.dlfcn cimport RTLD_LOCAL, RTLD_NOW, Dl_info, dladdr, dlerror, dlopen, dlsym
from gompy.native.environment cimport secure_getenv
from gompy.native.gomp cimport (
    GOMP_DEVICE_INTEL_MIC,
    GOMP_DEVICE_NVIDIA_PTX,
    GOMP_OFFLOAD_CAP_OPENMP_400,
    GOMP_VERSION,
)
from gompy.native.gpu_image cimport GpuImage, GpuObject
from gompy.native.launch_words cimport KERNEL_BY_CLANG, KernelLaunch
from gompy.native.llvm cimport ACCEL_LLVM, TGT_KERNEL_ARGS_NEWEST_16
from gompy.native.omptarget cimport TgtDeviceImage, TgtEntry, TgtKernelArgs, TgtTable
from gompy.native.plugin cimport (
    AddrPair,
    GOMP_PLUGIN_error,
    GOMP_PLUGIN_fatal,
    GOMP_PLUGIN_malloc,
    ImageRange,
    c_bool,
)
from gompy.native.pthread cimport *
from gompy.native.wrapped_ptx cimport GOMPY_WRAPPED_PTX_HEAD, gompy_wrap_ptx

include "../target_data.pxi"
include "library.pxi"
include "files.pxi"
include "binaries.pxi"
include "gpu_images.pxi"
include "images.pxi"
include "launch.pxi"


cdef public unsigned GOMP_OFFLOAD_version() noexcept nogil:
    return GOMP_VERSION


cdef public const char *GOMP_OFFLOAD_get_name() noexcept nogil:
    return b"llvm"


cdef public unsigned GOMP_OFFLOAD_get_caps() noexcept nogil:
    return GOMP_OFFLOAD_CAP_OPENMP_400


cdef public int GOMP_OFFLOAD_get_type() noexcept nogil:
    """It takes the images for x86_64, or for GPUs."""
    open_library()
    return GOMP_DEVICE_NVIDIA_PTX if rtl_for_gpus else GOMP_DEVICE_INTEL_MIC


cdef public int GOMP_OFFLOAD_get_num_devices() noexcept nogil:
    """As many as LLVM's plugin has; 0 after a message if it cannot be used."""
    return count_devices() if open_library() else 0


cdef public c_bool GOMP_OFFLOAD_init_device(int n) noexcept nogil:
    """Start a device."""
    return start_device(n)


cdef public c_bool GOMP_OFFLOAD_fini_device(int n) noexcept nogil:
    """It ends with the program."""
    return True


cdef public void *GOMP_OFFLOAD_alloc(int n, size_t size) noexcept nogil:
    return rtl.data_alloc(n, <int64_t> size, NULL, KIND_DEFAULT)


cdef public c_bool GOMP_OFFLOAD_free(int n, void *ptr) noexcept nogil:
    return rtl.data_delete(n, ptr, KIND_DEFAULT) == 0


cdef public c_bool GOMP_OFFLOAD_host2dev(int n, void *dst, const void *src, size_t size) noexcept nogil:
    return rtl.data_submit(n, dst, <void *> src, <int64_t> size) == 0


cdef public c_bool GOMP_OFFLOAD_dev2host(int n, void *dst, const void *src, size_t size) noexcept nogil:
    return rtl.data_retrieve(n, dst, <void *> src, <int64_t> size) == 0


cdef public c_bool GOMP_OFFLOAD_dev2dev(int n, void *dst, const void *src, size_t size) noexcept nogil:
    """By way of the program."""
    cdef void *between = malloc(size)
    cdef bint good
    if between == NULL:
        return size == 0
    good = (rtl.data_retrieve(n, between, <void *> src, <int64_t> size) == 0
            and rtl.data_submit(n, dst, between, <int64_t> size) == 0)
    free(between)
    return good
