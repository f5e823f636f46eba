# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""libgomp-plugin-shared.so.1: a device that shares the program's memory, as an APU does.

Regions are the program's own functions; they run in threads of the device's, in the program's process.  So every
pointer and every variable is the host's, nothing is mapped, and `omp requires unified_shared_memory` and `self_maps`
are fulfilled.  It needs no image.  What a region asks of the runtime is answered as on a device (gompy_enter_device).

Programs by clang do not tell where the host's code of a region is.  Their images for x86_64 are loaded into the program
(images.pxi), and their kernels run in the thread that launches them, whose libomp has its control variables.
"""

from libc.errno cimport EINTR, errno
from libc.stdint cimport intptr_t, uint32_t, uint64_t, uintptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc
from libc.string cimport strerror
from posix.unistd cimport close, getpid

from gompy.native.descriptors cimport gompy_memfd
from gompy.native.dlfcn cimport RTLD_LOCAL, RTLD_NOW, dlclose, dlerror, dlopen, dlsym
from gompy.native.gomp cimport (
    GOMP_DEVICE_HOST,
    GOMP_OFFLOAD_CAP_NATIVE_EXEC,
    GOMP_OFFLOAD_CAP_OPENMP_400,
    GOMP_OFFLOAD_CAP_SHARED_MEM,
    GOMP_TARGET_ARG_THREAD_LIMIT,
    GOMP_VERSION,
)
from gompy.native.gomp_newer cimport (
    GOMP_REQUIRES_REVERSE_OFFLOAD,
    GOMP_REQUIRES_SELF_MAPS,
    GOMP_REQUIRES_UNIFIED_ADDRESS,
    GOMP_REQUIRES_UNIFIED_SHARED_MEMORY,
)
from gompy.native.launch_words cimport LaunchWord, take_word
from gompy.native.limits cimport gompy_limit_hint
from gompy.native.llvm cimport ACCEL_LLVM
from gompy.native.plugin cimport AddrPair, GOMP_PLUGIN_error, GOMP_PLUGIN_fatal, GOMP_PLUGIN_malloc, c_bool
from gompy.native.pthread cimport *

cdef extern from *:
    """
    extern void gompy_enter_device (int type, int number);
    extern void GOMP_teams (unsigned, unsigned);
    """
    void gompy_enter_device(int type, int number) noexcept nogil
    void GOMP_teams(unsigned, unsigned) noexcept nogil

cdef enum:
    STACK_SIZE = 16 << 20  # regions keep private arrays there

cdef struct Launch:
    void (*fn)(void *) noexcept nogil
    void *vars
    unsigned limit
    int number


include "../host_memory.pxi"
include "../memory_file.pxi"
include "../kernels.pxi"
include "../target_data.pxi"
include "images.pxi"


cdef public unsigned GOMP_OFFLOAD_version() noexcept nogil:
    return GOMP_VERSION


cdef public const char *GOMP_OFFLOAD_get_name() noexcept nogil:
    return b"shared"


cdef public unsigned GOMP_OFFLOAD_get_caps() noexcept nogil:
    return GOMP_OFFLOAD_CAP_OPENMP_400 | GOMP_OFFLOAD_CAP_SHARED_MEM | GOMP_OFFLOAD_CAP_NATIVE_EXEC


cdef public int GOMP_OFFLOAD_get_type() noexcept nogil:
    """The host's: the program's code serves, but for programs by clang."""
    return GOMP_DEVICE_HOST


cdef public int GOMP_OFFLOAD_get_num_devices() noexcept nogil:
    return 1


cdef public unsigned gompy_fulfils() noexcept nogil:
    """All of `omp requires`."""
    return (GOMP_REQUIRES_UNIFIED_ADDRESS | GOMP_REQUIRES_UNIFIED_SHARED_MEMORY | GOMP_REQUIRES_SELF_MAPS
            | GOMP_REQUIRES_REVERSE_OFFLOAD)


cdef unsigned thread_limit_of(void **args) noexcept nogil:
    """The thread limit in a launch's words; 0: there is none."""
    cdef LaunchWord word
    while take_word(&args, &word):
        if word.device == 0 and word.value > 0 and word.id == GOMP_TARGET_ARG_THREAD_LIMIT:
            return <unsigned> min(word.value, <intptr_t> 0x7fffffff)
    return 0


cdef void *device_thread(void *data) noexcept nogil:
    """A region, in a thread whose control variables are those of the environment."""
    cdef Launch *launch = <Launch *> data
    gompy_enter_device(GOMP_DEVICE_HOST, launch.number)
    if launch.limit:
        GOMP_teams(0, launch.limit)
    launch.fn(launch.vars)
    return NULL


cdef public void GOMP_OFFLOAD_run(int n, void *fn, void *vars, void **args) noexcept nogil:
    """Run a region; returns when it has ended.  A kernel by clang runs in this thread."""
    cdef Launch launch
    cdef pthread_t thread
    cdef pthread_attr_t attributes
    cdef size_t size = 0
    cdef int error
    if fn == <void *> call_kernel:
        call_kernel(vars)
        return
    launch.fn = <void (*)(void *) noexcept nogil> fn
    launch.vars = vars
    launch.limit = thread_limit_of(args)
    launch.number = n
    pthread_attr_init(&attributes)
    pthread_attr_getstacksize(&attributes, &size)
    if size < STACK_SIZE:
        pthread_attr_setstacksize(&attributes, STACK_SIZE)
    error = pthread_create(&thread, &attributes, device_thread, &launch)
    pthread_attr_destroy(&attributes)
    if error:
        GOMP_PLUGIN_fatal(b"device %d (shared): cannot start a thread: %s%s", n, strerror(error),
                          gompy_limit_hint(error))
    pthread_join(thread, NULL)


cdef public int GOMP_OFFLOAD_is_accessible_ptr(int n, const void *p, size_t size) noexcept nogil:
    """All of the program's memory."""
    return True
