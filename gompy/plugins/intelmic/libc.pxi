# What both sides use of the C library, the kernel and GCC's atomics.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t, intptr_t
from libc.string cimport memcmp, memcpy, memmove, memset, strchr, strcmp, strlen, strncmp, strrchr, strstr

from gompy.native.descriptors cimport (
    O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_WRONLY, gompy_close_kept, gompy_close_on_exec, gompy_keep, gompy_kept,
    gompy_memfd,
    gompy_open, gompy_pidfd, gompy_pipe, gompy_still_ours)
from gompy.native.environment cimport gompy_child_environ, gompy_privileged, secure_getenv
from gompy.native.limits cimport gompy_limit_hint

cdef extern from *:
    """
    #include <errno.h>
    #include <dlfcn.h>
    #include <elf.h>
    #include <fcntl.h>
    #include <limits.h>
    #include <link.h>
    #include <linux/futex.h>
    #include <malloc.h>
    #include <poll.h>
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
    #include "gompy/native/descriptors.h"
    #include "gompy/native/environment.h"
    """
    int errno
    int EBADF, EINTR, EAGAIN, EPERM, ENOSYS, EFAULT, ECHILD, EEXIST, ENOMEM, ESRCH, ETIMEDOUT, EACCES, EINVAL
    ctypedef long ssize_t
    ctypedef int pid_t
    ctypedef long off_t
    ctypedef long time_t

    # atomics (generic builtins: each name here is one width)
    uint32_t load32 "__atomic_load_n"(uint32_t *p, int order) nogil
    void store32 "__atomic_store_n"(uint32_t *p, uint32_t v, int order) nogil
    uint32_t exchange32 "__atomic_exchange_n"(uint32_t *p, uint32_t v, int order) nogil
    uint64_t load64 "__atomic_load_n"(uint64_t *p, int order) nogil
    uint64_t or64 "__atomic_fetch_or"(uint64_t *p, uint64_t v, int order) nogil
    uint64_t and64 "__atomic_fetch_and"(uint64_t *p, uint64_t v, int order) nogil
    bint cas64 "__atomic_compare_exchange_n"(
        uint64_t *p, uint64_t *expected, uint64_t v, bint weak, int ok, int no
    ) nogil
    bint cas32 "__atomic_compare_exchange_n"(
        uint32_t *p, uint32_t *expected, uint32_t v, bint weak, int ok, int no
    ) nogil
    uint32_t or32 "__atomic_fetch_or"(uint32_t *p, uint32_t v, int order) nogil
    uint32_t and32 "__atomic_fetch_and"(uint32_t *p, uint32_t v, int order) nogil
    uint32_t add32 "__atomic_add_fetch"(uint32_t *p, uint32_t v, int order) nogil
    char load8 "__atomic_load_n"(char *p, int order) nogil
    void store8 "__atomic_store_n"(char *p, char v, int order) nogil
    int RELAXED "__ATOMIC_RELAXED"
    int ACQUIRE "__ATOMIC_ACQUIRE"
    int RELEASE "__ATOMIC_RELEASE"
    int SEQ_CST "__ATOMIC_SEQ_CST"
    int ctz64 "__builtin_ctzll"(uint64_t v) nogil
    int clz64 "__builtin_clzll"(uint64_t v) nogil
    bint likely "__builtin_expect"(bint c, int v) nogil

    # memory
    ctypedef struct FILE:
        pass
    FILE *stdout
    FILE *stderr
    void *malloc(size_t n) nogil
    void *calloc(size_t n, size_t m) nogil
    int posix_memalign(void **p, size_t align, size_t n) nogil
    void *realloc(void *p, size_t n) nogil
    void free(void *p) nogil
    int PROT_NONE, PROT_READ, PROT_WRITE, PROT_EXEC
    int MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FIXED_NOREPLACE, MAP_FIXED
    int MADV_DONTDUMP, MADV_HUGEPAGE, MADV_DONTFORK, MADV_POPULATE_READ, MADV_REMOVE
    void *mmap(void *where, size_t n, int prot, int flags, int fd, off_t offset) nogil
    int munmap(void *p, size_t n) nogil
    int mprotect(void *p, size_t n, int access) nogil
    int madvise(void *p, size_t n, int advice) nogil
    int ftruncate(int fd, off_t n) nogil
    int SEEK_SET, SEEK_END
    off_t lseek(int fd, off_t n, int whence) nogil
    int FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE
    int fallocate(int fd, int mode, off_t offset, off_t n) nogil

    # text
    int snprintf(char *to, size_t n, const char *fmt, ...) nogil
    int sscanf(const char *text, const char *fmt, ...) nogil
    long strtol(const char *text, char **end, int base) nogil
    unsigned long long strtoull(const char *text, char **end, int base) nogil
    const char *strsignal(int signo) nogil
    const char *strerror(int error) nogil
    char *strdup(const char *text) nogil
    char *strtok_r(char *text, const char *sep, char **state) nogil
    int setenv(const char *name, const char *value, int replace) nogil
    int atoi(const char *text) nogil
    void exit(int status) nogil
    void abort() nogil
    int fflush(FILE *f) nogil
    int fputs(const char *s, FILE *f) nogil
    size_t __fpending(FILE *f) nogil

    # files and processes
    int close(int fd) nogil
    ssize_t read(int fd, void *to, size_t n) nogil
    ssize_t write(int fd, const void *what, size_t n) nogil
    ssize_t pread(int fd, void *to, size_t n, off_t offset) nogil
    ssize_t pwrite(int fd, const void *what, size_t n, off_t offset) nogil
    int unlink(const char *path) nogil
    char *realpath(const char *path, char *resolved) nogil
    int rmdir(const char *path) nogil
    int eaccess(const char *path, int mode) nogil
    int X_OK
    pid_t getpid() nogil
    pid_t getppid() nogil
    int kill(pid_t pid, int signo) nogil
    void _exit(int status) nogil
    int pause() nogil
    long syscall(long number, ...) nogil
    long SYS_futex, SYS_gettid, SYS_pwrite64
    int FUTEX_WAIT, FUTEX_WAKE
    int execve(const char *path, char **argv, char **envp) nogil
    char **environ
    int personality(unsigned long which) nogil
    unsigned long ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT
    int sched_yield() nogil
    int usleep(unsigned us) nogil
    ctypedef struct cpu_set_t:
        pass
    int sched_getaffinity(pid_t pid, size_t n, cpu_set_t *set) nogil
    int CPU_COUNT(cpu_set_t *set) nogil
    struct timespec:
        time_t tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec *to) nogil
    struct iovec:
        void *iov_base
        size_t iov_len
    ssize_t process_vm_readv(
        pid_t pid, iovec *local, unsigned long nl, iovec *remote, unsigned long nr, unsigned long flags
    ) nogil
    ssize_t process_vm_writev(
        pid_t pid, iovec *local, unsigned long nl, iovec *remote, unsigned long nr, unsigned long flags
    ) nogil
    struct pollfd:
        int fd
        short events
        short revents
    int POLLIN, POLLHUP, POLLERR, POLLNVAL
    int poll(pollfd *fds, unsigned long n, int timeout) nogil

    # threads
    ctypedef unsigned long pthread_t
    ctypedef struct pthread_attr_t:
        pass
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    int pthread_create(pthread_t *t, pthread_attr_t *attr, void *(*fn)(void *) noexcept nogil, void *arg) nogil
    int pthread_detach(pthread_t t) nogil
    int pthread_join(pthread_t t, void **result) nogil
    pthread_t pthread_self() nogil
    bint pthread_equal(pthread_t a, pthread_t b) nogil
    int pthread_attr_init(pthread_attr_t *attr) nogil
    int pthread_attr_destroy(pthread_attr_t *attr) nogil
    int pthread_attr_setstacksize(pthread_attr_t *attr, size_t n) nogil
    int pthread_attr_getstacksize(pthread_attr_t *attr, size_t *n) nogil
    int pthread_mutex_lock(pthread_mutex_t *m) nogil
    int pthread_mutex_trylock(pthread_mutex_t *m) nogil
    int pthread_mutex_unlock(pthread_mutex_t *m) nogil
    int pthread_mutex_init(pthread_mutex_t *m, void *attr) nogil
    int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) nogil
    int pthread_cond_signal(pthread_cond_t *c) nogil
    int pthread_cond_broadcast(pthread_cond_t *c) nogil
    int pthread_cond_init(pthread_cond_t *c, void *attr) nogil
    int pthread_cond_destroy(pthread_cond_t *c) nogil
    int pthread_mutex_destroy(pthread_mutex_t *m) nogil

    # signals
    ctypedef struct sigset_t:
        pass
    int sigemptyset(sigset_t *s) nogil
    int sigfillset(sigset_t *s) nogil
    int pthread_sigmask(int how, sigset_t *s, sigset_t *old) nogil
    int SIG_SETMASK, SIG_BLOCK
    int SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGKILL, SIGTERM
    int SEGV_MAPERR, SEGV_ACCERR, SI_USER, SI_TKILL, SI_KERNEL

    # dynamic linking
    int RTLD_NOW, RTLD_LOCAL, RTLD_NOLOAD, RTLD_DI_LINKMAP
    void *RTLD_NEXT
    void *RTLD_DEFAULT
    void *dlopen(const char *path, int flags) nogil
    int dlclose(void *handle) nogil
    void *dlsym(void *handle, const char *name) nogil
    const char *dlerror() nogil
    ctypedef struct Dl_info:
        const char *dli_fname
        void *dli_fbase
        const char *dli_sname
        void *dli_saddr
    int dladdr(const void *p, Dl_info *info) nogil
    struct link_map:
        unsigned long l_addr
        char *l_name
        void *l_ld
    int dlinfo(void *handle, int request, void *to) nogil

cdef extern from "protocol.h":
    uint64_t MIC_MAGIC
    uint32_t MIC_ABI
    int MIC_SLOTS, MIC_COMMAND_SLOT, MIC_TEAMS, MIC_TEXT_SIZE
    uint64_t MIC_CONTROL_SIZE, MIC_SCRATCH
    int MIC_OP_RUN, MIC_OP_THREAD, MIC_OP_LOAD, MIC_OP_UNLOAD, MIC_OP_READ, MIC_OP_WRITE, MIC_OP_QUIT, MIC_OP_PROTECT
    int MIC_OP_POISON, MIC_OP_INDIRECT, MIC_OP_POPULATE
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
    int MIC_READS, MIC_MARK_CLOSED, MIC_MARK_GOOD, MIC_MARK_UNSET, MIC_MARK_STALE
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
    struct mic_death:
        uint32_t kind
        int32_t signo
        int32_t code
        int32_t slot
        uint64_t address
        uint64_t pc
        uint64_t stack
        uint64_t image_pc
        int32_t tid
        int32_t sender
    struct mic_read:
        uint32_t mark
        int32_t slot
        uint64_t address
        uint64_t pc
        uint64_t stack
        uint64_t image_pc
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
        char preload[64]
        int32_t guarded
        uint32_t state
        uint32_t dead
        mic_death death
        uint32_t reads_seen
        mic_read reads[16]
        char directory[256]
        char text[8192]
        mic_slot slots[97]
        mic_queue queue
    void mic_relax() nogil
    uint64_t mic_ticks() nogil
    uint32_t mic_processor() nogil


cdef inline uint64_t now_ns() noexcept nogil:
    """Monotonic time in nanoseconds."""
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return <uint64_t>t.tv_sec * 1000000000 + <uint64_t>t.tv_nsec


cdef inline int futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns) noexcept nogil:
    """Sleep while ``*word == value``, at most timeout_ns (< 0: for ever).

    Shared between processes: no PRIVATE flag.
    """
    cdef timespec t
    if timeout_ns < 0:
        return <int>syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0)
    t.tv_sec = timeout_ns // 1000000000
    t.tv_nsec = timeout_ns % 1000000000
    return <int>syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0)


cdef inline void futex_wake(uint32_t *word) noexcept nogil:
    """Wake all that sleep on the word."""
    syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0)


cdef inline void futex_wake_one(uint32_t *word) noexcept nogil:
    """Wake one that sleeps on the word."""
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0)
