# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The null device: memory is the host's, copies are real, regions do nothing.

It measures what the host side of a construct costs.  An image is loaded into this process, for the addresses and sizes
in its tables; no code of it runs.  GOMPY_NULL_DEVICES gives the number of devices, 1 by default.
"""

from libc.stdint cimport uintptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport atoi
from libc.string cimport memset
from posix.unistd cimport close, write

from gompy.native.descriptors cimport gompy_memfd
from gompy.native.dlfcn cimport RTLD_LAZY, dlerror, dlopen, dlsym
from gompy.native.environment cimport secure_getenv
from gompy.native.gomp cimport GOMP_DEVICE_INTEL_MIC, GOMP_OFFLOAD_CAP_OPENMP_400
from gompy.native.plugin cimport AddrPair, GOMP_PLUGIN_error, GOMP_PLUGIN_malloc, ImageRange, c_bool
from gompy.native.runtime_interface cimport gompy_answer_count, gompy_answer_version

include "../host_memory.pxi"


cdef public unsigned GOMP_OFFLOAD_version() noexcept nogil:
    return gompy_answer_version()


cdef public const char *GOMP_OFFLOAD_get_name() noexcept nogil:
    return b"null"


cdef public unsigned GOMP_OFFLOAD_get_caps() noexcept nogil:
    return GOMP_OFFLOAD_CAP_OPENMP_400


cdef public int GOMP_OFFLOAD_get_type() noexcept nogil:
    """It takes the images that are for the emulated MIC."""
    return GOMP_DEVICE_INTEL_MIC


cdef public int GOMP_OFFLOAD_get_num_devices(unsigned required) noexcept nogil:
    cdef const char *value = secure_getenv(b"GOMPY_NULL_DEVICES")
    return gompy_answer_count(required, 0, 1 if value == NULL else atoi(value))


cdef void *open_image(const ImageRange *image) noexcept nogil:
    """Load an image into this process; it stays, and so does its descriptor, for dlopen knows files by their paths."""
    cdef char path[64]
    cdef void *handle = NULL
    cdef size_t size = image.end - image.start
    cdef int fd = gompy_memfd(b"gompy-null-image")
    if fd >= 0 and write(fd, image.start, size) == <ssize_t> size:
        snprintf(path, sizeof(path), b"/proc/self/fd/%d", fd)
        handle = dlopen(path, RTLD_LAZY)
        if handle == NULL:
            GOMP_PLUGIN_error(b"null device: %s", dlerror())
    if fd >= 0 and handle == NULL:
        close(fd)
    return handle


cdef public c_bool GOMP_OFFLOAD_unload_image(int n, unsigned version, const void *data) noexcept nogil:
    return True


cdef public int GOMP_OFFLOAD_load_image(int n, unsigned version, const void *target_data,
                                        AddrPair **table) noexcept nogil:
    """The pairs of the image's functions, then of its variables, then none for the device's number."""
    cdef void *handle = open_image(<const ImageRange *> target_data)
    cdef uintptr_t **ends
    cdef size_t num_funcs, num_vars, i
    cdef AddrPair *pairs
    if handle == NULL:
        return -1
    ends = <uintptr_t **> dlsym(handle, b"__OFFLOAD_TARGET_TABLE__")
    if ends == NULL:
        GOMP_PLUGIN_error(b"null device: %s", dlerror())
        return -1
    num_funcs = ends[1] - ends[0]
    num_vars = (ends[3] - ends[2]) // 2
    pairs = <AddrPair *> GOMP_PLUGIN_malloc((num_funcs + num_vars + 1) * sizeof(AddrPair))
    for i in range(num_funcs):
        pairs[i].start = ends[0][i]
        pairs[i].end = ends[0][i] + 1
    for i in range(num_vars):
        pairs[num_funcs + i].start = ends[2][2 * i]
        pairs[num_funcs + i].end = ends[2][2 * i] + (ends[2][2 * i + 1] & ~(<uintptr_t> 1 << 63))
    pairs[num_funcs + num_vars].start = pairs[num_funcs + num_vars].end = 0
    table[0] = pairs
    return <int> (num_funcs + num_vars + 1)


cdef public c_bool GOMP_OFFLOAD_memset(int n, void *ptr, int value, size_t size) noexcept nogil:
    memset(ptr, value, size)
    return True


cdef public void GOMP_OFFLOAD_run(int n, void *fn, void *vars, void **args) noexcept nogil:
    """A region: it does nothing."""
