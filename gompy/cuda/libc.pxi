# What the driver uses of the C library and GCC's builtins.

from libc.errno cimport EFAULT, EINVAL, errno
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t, intptr_t
from libc.stdio cimport (
    FILE, fclose, fdopen, ferror, fflush, fprintf, fread, fwrite, snprintf, stderr, stdout)
from libc.stdlib cimport abort, calloc, free, malloc, realloc, strtod, strtol, strtoull
from libc.string cimport (
    memchr, memcmp, memcpy, memmove, memset, strchr, strcmp, strerror, strlen, strncmp, strrchr, strstr)
from posix.unistd cimport close

from gompy.native.pthread cimport (
    PTHREAD_CREATE_DETACHED, pthread_atfork, pthread_attr_destroy, pthread_attr_init, pthread_attr_setdetachstate,
    pthread_attr_t, pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_init, pthread_cond_signal,
    pthread_cond_t, pthread_cond_wait, pthread_create, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_trylock,
    pthread_mutex_unlock, pthread_setname_np, pthread_t,
)
from gompy.native.signals cimport (
    SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, SIG_SETMASK, pthread_sigmask, sigdelset, sigfillset, sigset_t,
)
from gompy.native.mman cimport (
    MADV_DONTDUMP, MADV_DONTNEED, MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE,
    MAP_SHARED, MREMAP_FIXED, MREMAP_MAYMOVE, PROT_NONE, PROT_READ, PROT_WRITE, madvise, mmap, mprotect, mremap,
    munlock, munmap,
)
from gompy.native.atomics cimport (
    ACQUIRE, ACQUIRE_RELEASE, RELAXED, RELEASE, add32, add64, exchange32, load32, load64, store32, store64, sub32,
)
from gompy.native.dlfcn cimport (
    Dl_info, RTLD_DEFAULT, RTLD_LOCAL, RTLD_NOLOAD, RTLD_NOW, dladdr, dlerror, dlopen, dlsym,
)
from gompy.native.own_threads cimport gompy_own_begins, gompy_own_ends, gompy_own_rests, gompy_own_wakes
from gompy.native.ptx cimport GOMPY_SHARED_LIMIT
from gompy.native.cuda_structures cimport (
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY_DESCRIPTOR, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUdeviceptr, CUdevprop,
    CUipcMemHandle, CUlaunchConfig,
)
from gompy.native.cuda cimport (
    CUDA_ERROR_ASSERT,
    CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    CUDA_ERROR_FILE_NOT_FOUND,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    CUDA_ERROR_INVALID_CONTEXT,
    CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_INVALID_IMAGE,
    CUDA_ERROR_INVALID_PTX,
    CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    CUDA_ERROR_MAP_FAILED,
    CUDA_ERROR_NOT_FOUND,
    CUDA_ERROR_NOT_INITIALIZED,
    CUDA_ERROR_NOT_PERMITTED,
    CUDA_ERROR_NOT_READY,
    CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_OUT_OF_MEMORY,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
    CUDA_ERROR_TOO_MANY_PEERS,
    CUDA_ERROR_UNKNOWN,
    CUDA_ERROR_UNSUPPORTED_LIMIT,
    CUDA_SUCCESS,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
    CU_DEVICE_ATTRIBUTE_MAX_PITCH,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID,
    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
    CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
    CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE,
    CU_EVENT_BLOCKING_SYNC,
    CU_EVENT_DISABLE_TIMING,
    CU_EVENT_INTERPROCESS,
    CU_FUNC_ATTRIBUTE_BINARY_VERSION,
    CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
    CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_FUNC_ATTRIBUTE_NUM_REGS,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    CU_FUNC_ATTRIBUTE_PTX_VERSION,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS,
    CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    CU_JIT_INFO_LOG_BUFFER,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
    CU_JIT_INPUT_PTX,
    CU_JIT_LOG_VERBOSE,
    CU_JIT_WALL_TIME,
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_IGNORE,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CU_LAUNCH_PARAM_BUFFER_POINTER,
    CU_LAUNCH_PARAM_BUFFER_SIZE,
    CU_LIMIT_CIG_ENABLED,
    CU_LIMIT_MALLOC_HEAP_SIZE,
    CU_LIMIT_PRINTF_FIFO_SIZE,
    CU_LIMIT_STACK_SIZE,
    CU_MEMHOSTALLOC_DEVICEMAP,
    CU_MEMORYTYPE_ARRAY,
    CU_MEMORYTYPE_DEVICE,
    CU_MEMORYTYPE_HOST,
    CU_MEMORYTYPE_UNIFIED,
    CU_MEM_ADVISE_SET_READ_MOSTLY,
    CU_MEM_ADVISE_UNSET_READ_MOSTLY,
    CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
    CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
    CU_MEM_ADVISE_SET_ACCESSED_BY,
    CU_MEM_ADVISE_UNSET_ACCESSED_BY,
    CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
    CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
    CU_MEM_ATTACH_GLOBAL,
    CU_MEM_ATTACH_HOST,
    CU_MEM_ATTACH_SINGLE,
    CU_MEM_LOCATION_TYPE_DEVICE,
    CU_MEM_LOCATION_TYPE_HOST,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
    CU_MODULE_EAGER_LOADING,
    CU_POINTER_ATTRIBUTE_BUFFER_ID,
    CU_POINTER_ATTRIBUTE_CONTEXT,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
    CU_POINTER_ATTRIBUTE_HOST_POINTER,
    CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
    CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
    CU_POINTER_ATTRIBUTE_MAPPED,
    CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
    CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
    CU_RESOURCE_TYPE_ARRAY,
    CU_RESOURCE_TYPE_LINEAR,
    CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
    CU_RESOURCE_TYPE_PITCH2D,
    CU_STREAM_MEM_OP_WAIT_VALUE_32,
    CU_STREAM_MEM_OP_WRITE_VALUE_32,
    CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES,
    CU_STREAM_MEM_OP_WAIT_VALUE_64,
    CU_STREAM_MEM_OP_WRITE_VALUE_64,
    CU_STREAM_MEM_OP_BARRIER,
    CU_STREAM_WAIT_VALUE_GEQ,
    CU_STREAM_WAIT_VALUE_EQ,
    CU_STREAM_WAIT_VALUE_AND,
    CU_STREAM_WAIT_VALUE_NOR,
    CU_STREAM_WAIT_VALUE_FLUSH,
    CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER,
    CU_STREAM_MEMORY_BARRIER_TYPE_GPU,
    CU_STREAM_NON_BLOCKING,
    CU_TRSF_NORMALIZED_COORDINATES,
    CU_TRSF_READ_AS_INTEGER,
    CU_TRSA_OVERRIDE_FORMAT,
    CUDA_ARRAY3D_CUBEMAP,
    CUDA_ARRAY3D_LAYERED,
    CUDA_ARRAY3D_SURFACE_LDST,
    CUDA_ARRAY3D_TEXTURE_GATHER,
    CUDA_ERROR_CAPTURED_EVENT,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
    CUDA_ERROR_ILLEGAL_STATE,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_OPERATING_SYSTEM,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
    CUDA_ERROR_STREAM_CAPTURE_MERGE,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
    CUDA_GRAPH_INSTANTIATE_ERROR,
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH,
    CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE,
    CUDA_GRAPH_INSTANTIATE_SUCCESS,
    CU_EVENT_RECORD_EXTERNAL,
    CU_EVENT_WAIT_EXTERNAL,
    CU_GRAPH_EXEC_UPDATE_ERROR,
    CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
    CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
    CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
    CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
    CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
    CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
    CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
    CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
    CU_GRAPH_COND_ASSIGN_DEFAULT,
    CU_GRAPH_COND_TYPE_IF,
    CU_GRAPH_COND_TYPE_SWITCH,
    CU_GRAPH_COND_TYPE_WHILE,
    CU_GRAPH_NODE_TYPE_CONDITIONAL,
    CU_GRAPH_NODE_TYPE_EMPTY,
    CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_GRAPH,
    CU_GRAPH_NODE_TYPE_HOST,
    CU_GRAPH_NODE_TYPE_KERNEL,
    CU_GRAPH_NODE_TYPE_MEM_ALLOC,
    CU_GRAPH_NODE_TYPE_MEM_FREE,
    CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT,
    CU_GRAPH_USER_OBJECT_MOVE,
    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC,
    CU_STREAM_CAPTURE_MODE_GLOBAL,
    CU_STREAM_CAPTURE_MODE_RELAXED,
    CU_STREAM_CAPTURE_STATUS_ACTIVE,
    CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    CU_STREAM_SET_CAPTURE_DEPENDENCIES,
    CU_STREAM_CAPTURE_STATUS_NONE,
    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
    CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE,
    CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
    CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
    CU_MEM_ACCESS_FLAGS_PROT_NONE,
    CU_MEM_ACCESS_FLAGS_PROT_READ,
    CU_MEM_ALLOCATION_COMP_GENERIC,
    CU_MEM_ALLOCATION_TYPE_PINNED,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
    CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
    CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
    CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
    CU_MEMPOOL_ATTR_USED_MEM_HIGH,
    DRIVER_VERSION,
    LAST_ATTRIBUTE,
    cuda_error_name,
    cuda_error_text,
)
from gompy.native.clock cimport CLOCK_MONOTONIC, CLOCK_REALTIME, add_time, clock_gettime, now_ns, timespec
from gompy.native.descriptors cimport (
    O_RDWR, gompy_again, gompy_close_kept, gompy_fopen, gompy_keep, gompy_kept, gompy_memfd, gompy_open,
    gompy_open_to_append, gompy_open_to_replace, gompy_still_ours,
)
from gompy.native.environment cimport secure_getenv
from gompy.native.gomp cimport GOMP_DEVICE_NVIDIA_PTX
from gompy.native.limits cimport gompy_few_addresses, gompy_limit_hint
from gompy.native.sparse_map cimport gompy_map_sparse
from gompy.native.processors cimport available_cpus

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <sched.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <unistd.h>
    """
    int MS_ASYNC
    int msync(void *p, size_t n, int flags) nogil
    int _SC_PHYS_PAGES, _SC_PAGESIZE
    long sysconf(int name) nogil
    int sched_yield() nogil
    int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, int clock, const timespec *until) nogil


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
    size_t MAX_ROW "CUDA_MAX_ROW"
    size_t MAX_ROWS "CUDA_MAX_ROWS"
    size_t MAX_SLICES "CUDA_MAX_SLICES"
    struct cuda_shared_row:
        int arch
        int processor
        int block
    const cuda_shared_row *cuda_shared_size(int arch) nogil
    int cuda_reserved_shared(int arch) nogil
    int cuda_constant_attribute(int attribute, int *value) nogil
    ctypedef void (*stream_callback)(void *stream, int status, void *data) noexcept nogil
    ctypedef void (*host_function)(void *data) noexcept nogil
    ctypedef size_t (*shared_of_block)(int threads) noexcept nogil


cdef extern from *:
    """
    #include "gompy/native/file_size.h"
    /* Make a file as long as that; what is new costs nothing.  */
    static inline int lengthen_file (int fd, uint64_t size) { return gompy_resize (fd, (off_t) size) == 0; }

    /* All of a range of memory into a file, at the same place of it as in FROM.  */
    static inline int write_range (int fd, const char *from, uint64_t start, uint64_t end)
    {
      while (start < end)
        {
          ssize_t n = gompy_pwrite (fd, from + start, end - start, (off_t) start);
          if (n <= 0)
            return 0;
          start += (uint64_t) n;
        }
      return 1;
    }

    /* A file by which it is known, wherever it is opened.  */
    static inline int same_file (int fd, uint64_t device, uint64_t inode)
    {
      struct stat about;
      return fstat (fd, &about) == 0 && (uint64_t) about.st_dev == device && (uint64_t) about.st_ino == inode;
    }

    /* Give a part of a file in memory back.  */
    static inline void drop_bytes (int fd, uint64_t start, uint64_t size)
    {
      fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) start, (off_t) size);
    }

    /* SIZE bytes that say what a file is, behind the first AT; PAGE bytes from its end.  */
    static inline int write_about (int fd, const void *about, size_t size, uint64_t at)
    {
      return gompy_pwrite (fd, about, size, (off_t) at) == (ssize_t) size;
    }

    static inline int read_about (int fd, void *about, size_t size, size_t page)
    {
      struct stat status;
      return fstat (fd, &status) == 0 && S_ISREG (status.st_mode) && status.st_size > (off_t) page
             && pread (fd, about, size, status.st_size - (off_t) page) == (ssize_t) size;
    }

    static inline uint64_t kept_device (const struct gompy_kept *kept) { return (uint64_t) kept->device; }
    static inline uint64_t kept_inode (const struct gompy_kept *kept) { return (uint64_t) kept->inode; }
    """
    bint lengthen_file(int fd, uint64_t size) nogil
    bint write_about(int fd, const void *about, size_t size, uint64_t at) nogil
    bint read_about(int fd, void *about, size_t size, size_t page) nogil
    void drop_bytes(int fd, uint64_t start, uint64_t size) nogil
    bint write_range(int fd, const char *of, uint64_t start, uint64_t end) nogil
    bint same_file(int fd, uint64_t device, uint64_t inode) nogil
    uint64_t kept_device(const gompy_kept *kept) nogil
    uint64_t kept_inode(const gompy_kept *kept) nogil
    int getpid() nogil


cdef inline double now_ms() noexcept nogil:
    """Monotonic time in milliseconds."""
    return now_ns() * 1e-6


cdef inline uint64_t round_up(uint64_t n, uint64_t step) noexcept nogil:
    """The next multiple of step, a power of two."""
    return (n + step - 1) & ~(step - 1)


cdef inline const char *pick_text(bint first, const char *one, const char *other) noexcept nogil:
    """One of two texts."""
    if first:
        return one
    return other
