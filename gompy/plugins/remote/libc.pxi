# What both ends use of the C library, the kernel and the protocol.

from libc.errno cimport EAGAIN, ECONNRESET, EINPROGRESS, EINTR, EPIPE, ETIMEDOUT, errno
from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport atoi, calloc, exit, free, malloc, realloc, strtod
from libc.string cimport memcmp, memcpy, memmove, memset, strchr, strcmp, strerror, strlen, strncmp, strrchr, strstr
from posix.unistd cimport _exit, close, read, usleep, write

from gompy.native.atomics cimport ACQUIRE, RELAXED, SEQ_CST, exchange32, load32, store32
from gompy.native.blake2b cimport GOMPY_BLAKE_KEY, GOMPY_DIGEST, gompy_blake, gompy_codes_equal, gompy_keyed_blake
from gompy.native.clock cimport now_ns
from gompy.native.environment cimport gompy_child_environ, secure_getenv
from gompy.native.futex cimport FUTEX_PRIVATE_FLAG, gompy_futex_wait, gompy_futex_wake
from gompy.native.gomp cimport (
    GOACC_PROPERTY_NAME,
    GOACC_PROPERTY_STRING_MASK,
    GOACC_PROPERTY_VENDOR,
    GOMP_DEVICE_INTEL_MIC,
    GOMP_DEVICE_NVIDIA_PTX,
    GOMP_OFFLOAD_CAP_OPENACC_200,
    GOMP_OFFLOAD_CAP_OPENMP_400,
    GOMP_TARGET_ARG_SUBSEQUENT_PARAM,
    GOMP_VERSION,
)
from gompy.native.gomp_newer cimport GOMP_VERSION_INDIRECT_FUNCS
from gompy.native.llvm cimport ACCEL_LLVM
from gompy.native.plugin cimport AddrPair, c_bool
from gompy.native.poll cimport POLLIN, POLLOUT, poll, pollfd
from gompy.native.pthread cimport (
    pthread_cond_broadcast,
    pthread_cond_init,
    pthread_cond_signal,
    pthread_cond_t,
    pthread_cond_wait,
    pthread_create,
    pthread_detach,
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_t,
    pthread_mutex_unlock,
    pthread_t,
)

cdef extern from *:
    """
    #include <errno.h>
    #include <limits.h>
    #include <netdb.h>
    #include <netinet/in.h>
    #include <netinet/tcp.h>
    #include <signal.h>
    #include <stdarg.h>
    #include <sys/ioctl.h>
    #include <sys/random.h>
    #include <sys/socket.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #include <sys/uio.h>
    #include <unistd.h>
    """
cdef extern from "<sys/socket.h>" nogil:
    int MSG_DONTWAIT, MSG_NOSIGNAL, MSG_WAITALL, SOCK_STREAM, SOCK_NONBLOCK, SOL_SOCKET, SO_KEEPALIVE
    int SO_ERROR, SHUT_WR
    struct iovec:
        void *iov_base
        size_t iov_len
    struct msghdr:
        iovec *msg_iov
        size_t msg_iovlen
    struct sockaddr:
        pass
    ssize_t recv(int, void *, size_t, int)
    ssize_t sendmsg(int, const msghdr *, int)
    int connect(int, const sockaddr *, unsigned)
    int setsockopt(int, int, int, const void *, unsigned)
    int getsockopt(int, int, int, void *, unsigned *)
    int shutdown(int, int)

cdef extern from "<netinet/tcp.h>" nogil:
    int IPPROTO_TCP, TCP_NODELAY, TCP_USER_TIMEOUT, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT

cdef extern from "protocol.h" nogil:
    uint64_t REMOTE_MAGIC, REMOTE_BLOCK_MOST
    uint32_t REMOTE_VERSION, REMOTE_NONCE, REMOTE_MAC, REMOTE_WORDS, REMOTE_TEXT, REMOTE_SNAPSHOT, REMOTE_IMAGE_MOST
    uint32_t REMOTE_PAIRS_MOST, REMOTE_ARGUMENTS
    uint32_t REMOTE_ACCEPTED, REMOTE_WRONG_TOKEN, REMOTE_OTHER_VERSION, REMOTE_NO_WORKER
    uint32_t REMOTE_START, REMOTE_ALLOC, REMOTE_FREE, REMOTE_WRITE, REMOTE_READ, REMOTE_COPY, REMOTE_RUN, REMOTE_LATER
    uint32_t REMOTE_ACC_RUN, REMOTE_LOAD, REMOTE_IMAGE, REMOTE_UNLOAD, REMOTE_PROPERTY, REMOTE_PING, REMOTE_BYE
    uint32_t REMOTE_GUARD
    uint32_t REMOTE_INFO, REMOTE_ANSWER, REMOTE_DATA, REMOTE_TABLE, REMOTE_OUTPUT, REMOTE_FAILED, REMOTE_PONG
    struct remote_greeting:
        uint64_t magic
        uint32_t version
        unsigned char nonce[32]
    struct remote_claim:
        uint64_t magic
        uint32_t version
        uint32_t reserved
        unsigned char nonce[32]
        unsigned char mac[32]
    struct remote_verdict:
        uint32_t refused
        unsigned char mac[32]
    struct remote_frame:
        uint32_t kind
        uint32_t status
        uint64_t id
        uint64_t size
    struct remote_launch:
        uint64_t function
        uint64_t variables
        uint64_t start
        uint64_t bytes
    struct remote_image:
        unsigned char hash[32]
        uint64_t size
        uint32_t version
        uint32_t indirect
    struct remote_info:
        uint32_t type
        uint32_t caps
        char name[24]
    struct remote_packed:
        uint32_t type
        uint32_t abi
        uint32_t accel
        uint32_t named
        uint64_t functions
        uint64_t variables
        uint64_t symbols
        uint64_t bytes
        uint32_t objects
        uint32_t indirect
        uint64_t texts


cdef inline int futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns) noexcept nogil:
    """Sleep while ``*word == value``, at most timeout_ns (< 0: for ever)."""
    return gompy_futex_wait(word, value, timeout_ns, FUTEX_PRIVATE_FLAG)


cdef inline int futex_wake(uint32_t *word, int count) noexcept nogil:
    """Wake as many that sleep on the word."""
    return gompy_futex_wake(word, count, FUTEX_PRIVATE_FLAG)


cdef uint64_t milliseconds_now() noexcept nogil:
    return now_ns() // 1000000


cdef void tune_socket(int fd, unsigned silence_ms) noexcept nogil:
    """Small frames go at once; a machine that has gone is noticed after so many milliseconds."""
    cdef int on = 1, idle = 2, every = 1, count = 3
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on))
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle))
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every))
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count))
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof(silence_ms))
