# What both sides use of the C library, the kernel and GCC's atomics.

from libc.errno cimport (
    EAGAIN, EBADF, ECHILD, EEXIST, EFAULT, EINTR, EINVAL, ENOMEM, ENOSYS, EPERM, ESRCH, errno)
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uintptr_t, intptr_t
from libc.stdio cimport FILE, SEEK_SET, fflush, fputs, snprintf, stderr, stdout
from libc.stdlib cimport abort, atoi, calloc, exit, free, malloc, strtol, strtoull
from libc.string cimport (
    memcmp, memcpy, memmove, memset, strchr, strcmp, strdup, strerror, strlen, strncmp, strrchr, strstr)
from posix.stdlib cimport posix_memalign, realpath, setenv
from posix.types cimport off_t, pid_t
from posix.unistd cimport (
    X_OK, _exit, close, execve, ftruncate, getpid, getppid, lseek, pause, pread, pwrite, read, rmdir, unlink, usleep,
    write)

from gompy.native.atomics cimport (
    ACQUIRE, RELAXED, RELEASE, SEQ_CST, add32, add64, and32, cas32, cas64, clz64, ctz64, exchange32, load32, load64,
    load8, or32, or64, store32, store64, store8,
)
from gompy.native.clock cimport now_ns, process_ns, thread_ns
from gompy.native.descriptors cimport (
    O_CREAT, O_EXCL, O_RDONLY, O_WRONLY, gompy_close_kept, gompy_close_on_exec, gompy_keep, gompy_kept,
    gompy_memfd, gompy_path_of,
    gompy_open, gompy_pidfd, gompy_pipe, gompy_still_ours)
from gompy.native.dlfcn cimport (
    Dl_info, RTLD_DEFAULT, RTLD_LOCAL, RTLD_NEXT, RTLD_NOLOAD, RTLD_NOW, dladdr, dlclose, dlerror, dlopen, dlsym)
from gompy.native.file_size cimport gompy_resize
from gompy.native.environment cimport gompy_child_environ, secure_getenv
from gompy.native.futex cimport gompy_futex_wait, gompy_futex_wake
from gompy.native.limits cimport gompy_limit_hint
from gompy.native.mman cimport (
    MADV_DONTDUMP, MADV_DONTFORK, MADV_HUGEPAGE, MADV_POPULATE_READ, MADV_REMOVE, MAP_ANONYMOUS, MAP_FIXED,
    MAP_FIXED_NOREPLACE, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED, PROT_EXEC, PROT_NONE, PROT_READ, PROT_WRITE, madvise,
    mmap, mprotect, munmap)
from gompy.native.sparse_map cimport gompy_map_sparse
from gompy.native.poll cimport POLLIN, poll, pollfd
from gompy.native.processors cimport available_cpus
from gompy.native.pthread cimport (
    pthread_attr_destroy, pthread_attr_getstacksize, pthread_attr_init, pthread_attr_setstacksize, pthread_attr_t,
    pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_init, pthread_cond_signal, pthread_cond_t,
    pthread_cond_wait, pthread_create, pthread_detach, pthread_equal, pthread_join, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_trylock, pthread_mutex_unlock, pthread_self,
    pthread_setname_np, pthread_t)
from gompy.native.signals cimport (
    SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSEGV, SIGSYS, SIGTRAP, SIG_SETMASK,
    pthread_sigmask, sigemptyset, sigfillset, sigset_t)

cdef extern from *:
    """
    #include <errno.h>
    #include <dlfcn.h>
    #include <elf.h>
    #include <fcntl.h>
    #include <limits.h>
    #include <link.h>
    #include <malloc.h>
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <spawn.h>
    #include <stdarg.h>
    #include <stdio.h>
    #include <stdio_ext.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/personality.h>
    #include <sys/prctl.h>
    #include <sys/resource.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #include <sys/sysinfo.h>
    #include <sys/uio.h>
    #include <sys/wait.h>
    #include <time.h>
    #include <unistd.h>
    /* A signal handler's context: where it happened. */
    #include <ucontext.h>
    """
    bint likely "__builtin_expect"(bint c, int v) nogil
    int FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE
    int fallocate(int fd, int mode, off_t offset, off_t n) nogil
    const char *strsignal(int signo) nogil
    size_t __fpending(FILE *f) nogil
    int eaccess(const char *path, int mode) nogil
    int kill(pid_t pid, int signo) nogil
    long syscall(long number, ...) nogil
    long SYS_gettid, SYS_pwrite64
    char **environ
    int personality(unsigned long which) nogil
    unsigned long ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT
    int sched_yield() nogil
    struct iovec:
        void *iov_base
        size_t iov_len
    ssize_t process_vm_readv(
        pid_t pid, iovec *local, unsigned long nl, iovec *remote, unsigned long nr, unsigned long flags
    ) nogil
    ssize_t process_vm_writev(
        pid_t pid, iovec *local, unsigned long nl, iovec *remote, unsigned long nr, unsigned long flags
    ) nogil
    int SEGV_MAPERR, SEGV_ACCERR, SI_KERNEL
    int RTLD_DI_LINKMAP
    struct link_map:
        unsigned long l_addr
        char *l_name
        void *l_ld
    int dlinfo(void *handle, int request, void *to) nogil

cdef extern from "protocol.h":
    uint64_t launch_sizes "mic_launch_sizes"(const unsigned *dims) nogil
    int launched_size "mic_launched_size"(uint64_t sizes, int dimension) nogil
    uint64_t MIC_MAGIC
    uint32_t MIC_ABI
    int MIC_SLOTS, MIC_COMMAND_SLOT, MIC_TEAMS, MIC_TEXT_SIZE
    uint64_t MIC_CONTROL_SIZE, MIC_SCRATCH
    int MIC_OP_RUN, MIC_OP_THREAD, MIC_OP_LOAD, MIC_OP_UNLOAD, MIC_OP_READ, MIC_OP_WRITE, MIC_OP_QUIT, MIC_OP_PROTECT
    int MIC_OP_KERNEL, MIC_OP_POISON, MIC_OP_INDIRECT, MIC_OP_POPULATE, MIC_OP_MAP
    uint32_t MIC_STARTING, MIC_READY, MIC_FAILED
    int MIC_DEATH_NONE, MIC_DEATH_SIGNAL, MIC_DEATH_EXIT, MIC_DEATH_SANITIZER
    struct mic_slot:
        uint32_t request
        uint32_t host_sleeps
        uint32_t op
        uint32_t host_cpu
        uint64_t args[6]
        uint32_t done
        uint32_t device_sleeps
        uint32_t device_cpu
        uint32_t caller_sleeps
        int64_t result[6]
        uint64_t call[5]
    uint32_t MIC_CALL
    int MIC_RACE_WRITE_WRITE, MIC_RACE_WRITE_READ, MIC_RACE_READ_WRITE
    int MIC_READS, MIC_MARK_CLOSED, MIC_MARK_GOOD, MIC_MARK_UNSET, MIC_MARK_STALE, MIC_MARK_COPIED, MIC_FILL
    int MIC_CHANGES, MIC_CHANGE_SHIFT
    int MIC_FIRST_WORKER, MIC_WORKERS, MIC_ALL_SLOTS, MIC_CELLS
    uint32_t MIC_LOOKS, MIC_PATROLS
    struct mic_cell:
        uint64_t function
        uint64_t variables
        uint64_t teams
        uint64_t limit
        uint32_t host_sleeps
        uint32_t host_cpu
        uint32_t done
        uint32_t device_cpu
    struct mic_queue:
        uint32_t tail
        uint32_t host_cpu
        uint32_t calls
        uint32_t watch
        uint32_t head
        uint32_t answered
        uint32_t device_cpu
        mic_cell cells[256]
    int MIC_GUARDS
    struct mic_guard:
        uint64_t offset
        uint64_t size
        uint64_t access
    struct mic_guards:
        uint32_t stay_open
        uint32_t tail
        uint32_t head
        uint32_t error
        uint64_t ns
        mic_guard list[256]
    uint32_t MIC_OUTER_PAGES, MIC_OUTER_VARIABLES
    uint64_t MIC_OUTER_BYTES, MIC_OUTER_FREE
    unsigned MIC_EXACT_BYTES
    uint64_t MIC_EXACT_FIXED
    struct mic_variable:
        uint64_t start
        uint64_t size
    struct mic_outer:
        uint32_t count
        uint32_t variable_count
        uint64_t *pages
        mic_variable *variables
    struct mic_death:
        uint32_t kind
        int32_t signo
        int32_t code
        int32_t slot
        uint64_t address
        uint64_t pc
        uint64_t stack
        uint64_t image_pc
        uint64_t outer_pc
        int32_t tid
        int32_t sender
        int32_t overflow
        int32_t core
    struct mic_read:
        uint32_t mark
        int32_t slot
        uint64_t address
        uint64_t pc
        uint64_t stack
        uint64_t image_pc
        uint64_t other_pc
    struct mic_control:
        uint64_t magic
        uint32_t abi
        int32_t device
        int32_t host_pid
        int32_t tool
        uint64_t arena_size
        uint64_t split
        uint64_t arena_base
        int32_t device_pid
        uint32_t restarts
        int32_t spins
        int32_t teams
        int32_t threads
        int32_t marked
        int32_t exact
        int32_t spread
        char preload[64]
        int32_t guarded
        unsigned long processors[128]
        int32_t begun_narrow
        int32_t narrow
        int32_t ending
        uint32_t state
        uint32_t dead
        mic_death death
        uint32_t reads_seen
        mic_read reads[16]
        char directory[256]
        char text[8192]
        mic_slot slots[97]
        mic_queue queue
        mic_guards guards
        uint32_t *changes
        mic_outer outer
    void mic_relax() nogil
    uint64_t mic_ticks() nogil
    uint32_t mic_processor() nogil


cdef inline int futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns) noexcept nogil:
    """Sleep while ``*word == value``, at most timeout_ns (< 0: for ever).  Processes share the word."""
    return gompy_futex_wait(word, value, timeout_ns, 0)


cdef inline void futex_wake(uint32_t *word) noexcept nogil:
    """Wake all that sleep on the word."""
    gompy_futex_wake(word, 0x7fffffff, 0)


cdef inline void futex_wake_one(uint32_t *word) noexcept nogil:
    """Wake one that sleeps on the word."""
    gompy_futex_wake(word, 1, 0)
