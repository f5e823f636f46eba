# What the driver uses of the C library and GCC's builtins.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t, intptr_t
from libc.string cimport memchr, memcmp, memcpy, memmove, memset, strchr, strcmp, strlen, strncmp, strrchr

from gompy.native.descriptors cimport gompy_fopen, gompy_open_to_append
from gompy.native.environment cimport secure_getenv

cdef extern from *:
    """
    #include <dlfcn.h>
    #include <errno.h>
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <time.h>
    #include <unistd.h>
    """
    ctypedef long ssize_t
    ctypedef long off_t
    ctypedef long time_t
    ctypedef struct FILE:
        pass
    FILE *stdout
    FILE *stderr
    int fprintf(FILE *f, const char *fmt, ...) nogil
    int snprintf(char *to, size_t n, const char *fmt, ...) nogil
    int fflush(FILE *f) nogil
    size_t fwrite(const void *what, size_t size, size_t n, FILE *f) nogil
    FILE *fdopen(int fd, const char *mode) nogil
    int close(int fd) nogil
    int errno
    const char *strerror(int error) nogil
    size_t fread(void *to, size_t size, size_t n, FILE *f) nogil
    int ferror(FILE *f) nogil
    int fclose(FILE *f) nogil
    long strtol(const char *text, char **end, int base) nogil
    unsigned long long strtoull(const char *text, char **end, int base) nogil
    double strtod(const char *text, char **end) nogil
    void *malloc(size_t n) nogil
    void *calloc(size_t n, size_t m) nogil
    void *realloc(void *p, size_t n) nogil
    void free(void *p) nogil
    void abort() nogil
    int PROT_NONE, PROT_READ, PROT_WRITE
    void *MAP_FAILED
    int MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE
    int MADV_DONTNEED, MADV_HUGEPAGE, MADV_DONTDUMP
    void *mmap(void *where, size_t n, int prot, int flags, int fd, off_t offset) nogil
    int munmap(void *p, size_t n) nogil
    int mprotect(void *p, size_t n, int prot) nogil
    int madvise(void *p, size_t n, int advice) nogil
    int MS_ASYNC
    int msync(void *p, size_t n, int flags) nogil
    int _SC_PHYS_PAGES, _SC_PAGESIZE
    long sysconf(int name) nogil
    ctypedef struct cpu_set_t:
        pass
    int sched_getaffinity(int pid, size_t n, cpu_set_t *set) nogil
    int CPU_COUNT(cpu_set_t *set) nogil
    struct timespec:
        time_t tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec *to) nogil

    ctypedef unsigned long pthread_t
    ctypedef struct pthread_attr_t:
        pass
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef struct sigset_t:
        pass
    int pthread_create(pthread_t *t, pthread_attr_t *attr, void *(*fn)(void *) noexcept nogil, void *arg) nogil
    int pthread_attr_init(pthread_attr_t *attr) nogil
    int pthread_attr_destroy(pthread_attr_t *attr) nogil
    int pthread_attr_setdetachstate(pthread_attr_t *attr, int state) nogil
    int PTHREAD_CREATE_DETACHED
    int pthread_mutex_lock(pthread_mutex_t *m) nogil
    int pthread_mutex_trylock(pthread_mutex_t *m) nogil
    int sched_yield() nogil
    int pthread_mutex_unlock(pthread_mutex_t *m) nogil
    int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) nogil
    int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, int clock, const timespec *until) nogil
    int pthread_cond_signal(pthread_cond_t *c) nogil
    int pthread_cond_broadcast(pthread_cond_t *c) nogil
    int pthread_cond_init(pthread_cond_t *c, void *attr) nogil
    int pthread_cond_destroy(pthread_cond_t *c) nogil
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil, void (*child)() noexcept nogil) nogil
    int sigfillset(sigset_t *s) nogil
    int sigdelset(sigset_t *s, int number) nogil
    int SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP
    int pthread_sigmask(int how, sigset_t *s, sigset_t *old) nogil
    int SIG_SETMASK

    int RTLD_NOW, RTLD_LOCAL, RTLD_NOLOAD
    void *dlopen(const char *path, int flags) nogil
    void *RTLD_DEFAULT
    void *dlsym(void *handle, const char *name) nogil
    const char *dlerror() nogil
    ctypedef struct Dl_info:
        const char *dli_fname
        void *dli_fbase
        const char *dli_sname
        void *dli_saddr
    int dladdr(const void *p, Dl_info *info) nogil

    uint32_t load32 "__atomic_load_n"(uint32_t *p, int order) nogil
    void store32 "__atomic_store_n"(uint32_t *p, uint32_t v, int order) nogil
    uint64_t count_up "__atomic_add_fetch"(uint64_t *p, uint64_t n, int order) nogil
    uint32_t count_up32 "__atomic_add_fetch"(uint32_t *p, uint32_t n, int order) nogil
    uint32_t count_down32 "__atomic_sub_fetch"(uint32_t *p, uint32_t n, int order) nogil
    uint32_t exchange32 "__atomic_exchange_n"(uint32_t *p, uint32_t v, int order) nogil
    int RELAXED "__ATOMIC_RELAXED"
    int ACQUIRE_RELEASE "__ATOMIC_ACQ_REL"
    int ACQUIRE "__ATOMIC_ACQUIRE"
    int RELEASE "__ATOMIC_RELEASE"

cdef extern from *:
    """
    /* Locks made by their initialisers: no code of this library has to run before they are used. */
    static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;   /* initialisation, handles, devices, modules */
    static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;     /* streams and events */
    static pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;
    static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;   /* allocation records of all devices */
    static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;  /* primary contexts */
    #define EXECUTOR "../lib/libgompy-ptx.so.1"
    """
    pthread_mutex_t driver_lock
    pthread_mutex_t work_lock
    pthread_cond_t work_done
    pthread_mutex_t memory_lock
    pthread_mutex_t primary_lock
    const char *EXECUTOR

cdef extern from "numbers.h":
    const char *cuda_error_name(int code) nogil
    const char *cuda_error_text(int code) nogil
    int cuda_constant_attribute(int attribute, int *value) nogil
    ctypedef unsigned long long CUdeviceptr
    ctypedef void (*stream_callback)(void *stream, int status, void *data) noexcept nogil
    ctypedef void (*host_function)(void *data) noexcept nogil
    ctypedef size_t (*shared_of_block)(int threads) noexcept nogil
    int DRIVER_VERSION, LAST_ATTRIBUTE
    int CUDA_SUCCESS
    int CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NO_DEVICE
    int CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_NO_BINARY_FOR_GPU
    int CUDA_ERROR_UNSUPPORTED_LIMIT, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_JIT_COMPILER_NOT_FOUND
    int CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, CUDA_ERROR_INVALID_HANDLE
    int CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_READY, CUDA_ERROR_ILLEGAL_ADDRESS
    int CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    int CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE
    int CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
    int CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_NOT_PERMITTED
    int CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_UNKNOWN
    ctypedef struct CUDA_MEMCPY2D:
        size_t srcXInBytes, srcY
        unsigned srcMemoryType
        const void *srcHost
        unsigned long long srcDevice
        size_t srcPitch
        size_t dstXInBytes, dstY
        unsigned dstMemoryType
        void *dstHost
        unsigned long long dstDevice
        size_t dstPitch
        size_t WidthInBytes, Height
    ctypedef struct CUDA_MEMCPY3D:
        size_t srcXInBytes, srcY, srcZ, srcLOD
        unsigned srcMemoryType
        const void *srcHost
        unsigned long long srcDevice
        size_t srcPitch, srcHeight
        size_t dstXInBytes, dstY, dstZ, dstLOD
        unsigned dstMemoryType
        void *dstHost
        unsigned long long dstDevice
        size_t dstPitch, dstHeight
        size_t WidthInBytes, Height, Depth
    int MEMORY_HOST, MEMORY_DEVICE, MEMORY_ARRAY, MEMORY_UNIFIED
    ctypedef struct CUdevprop:
        int maxThreadsPerBlock
        int *maxThreadsDim
        int *maxGridSize
        int sharedMemPerBlock, totalConstantMemory, SIMDWidth, memPitch, regsPerBlock, clockRate, textureAlign
    ctypedef struct CUlaunchConfig:
        unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes
        void *hStream
        void *attrs
        unsigned numAttrs
    int JIT_WALL_TIME, JIT_INFO_LOG_BUFFER, JIT_INFO_LOG_BUFFER_SIZE, JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE
    int JIT_LOG_VERBOSE
    int JIT_INPUT_CUBIN, JIT_INPUT_PTX, JIT_INPUT_FATBINARY


cdef inline double now_ms() noexcept nogil:
    """Monotonic time in milliseconds."""
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6


cdef inline uint64_t round_up(uint64_t n, uint64_t step) noexcept nogil:
    """The next multiple of step, a power of two."""
    return (n + step - 1) & ~(step - 1)


cdef inline const char *pick(bint first, const char *one, const char *other) noexcept nogil:
    """One of two texts."""
    if first:
        return one
    return other


cdef int available_cpus() noexcept nogil:
    """Processors that this process may use, at least 1."""
    cdef cpu_set_t cpus
    cdef int n
    if sched_getaffinity(0, sizeof(cpus), &cpus) != 0:
        return 1
    n = CPU_COUNT(&cpus)
    return n if n > 0 else 1
