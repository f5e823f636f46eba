# The plugin's environment variables and its record of each device.

from gompy.native.descriptors cimport (
    O_RDONLY, gompy_close_kept, gompy_keep, gompy_kept, gompy_open, gompy_socket, gompy_still_ours)
from gompy.native.plugin cimport (
    GOMP_PLUGIN_acc_thread, GOMP_PLUGIN_debug, GOMP_PLUGIN_error, GOMP_PLUGIN_fatal, GOMP_PLUGIN_malloc)

cdef enum:
    DEVICES = 64
    CALLS = 1024  # that wait for an answer
    LATER_CALLS = 768  # of them, regions of nowait
    OUT_ROOM = 65536
    IN_ROOM = 65536
    LEARNED = 256
    CLASSES = 11  # of small blocks: 64 bytes to 64 KiB
    SLAB_LEAST = 1 << 18
    KEPT_LARGE = 8
    KEY_MOST = 4096

cdef struct RemoteCall:
    # What an answer is for.
    uint64_t id
    bint done
    uint32_t status
    uint32_t kind  # of the answer
    char *to
    uint64_t room
    uint64_t size
    const void *function  # the region, or NULL
    uint64_t changes  # of the device's memory, when a region has begun; when it has ended, if nothing else changed it
    int next  # free one

cdef struct RemoteBlock:
    # A range of device memory that the worker gave us: a large block, or small ones of one size.
    uint64_t start
    uint64_t size
    uint32_t *sizes  # of a slab: what was asked for, + 1; 0: free
    int group
    bint kept  # a large one that is free

cdef struct RemoteLearned:
    # What came back after a region's last run, as offsets from its variables.
    const void *function
    uint64_t low
    uint64_t high

cdef struct RemoteLoaded:
    const void *data
    uint64_t number
    AddrPair *functions
    uint64_t count
    RemoteLoaded *next

cdef struct RemoteDevice:
    int number
    bint running
    char host[300]  # host:port
    gompy_kept socket
    remote_info info
    # sending: the socket is written with send_lock held, the buffers change with state_lock held
    pthread_mutex_t send_lock
    pthread_mutex_t state_lock
    pthread_cond_t news
    char *out
    char *spare
    size_t filled
    # receiving: by the thread that has set `reading`
    bint reading
    char *received
    size_t first
    size_t last
    uint32_t lost
    uint32_t errors  # lines that its worker has sent for the user
    RemoteCall calls[1024]
    int free_call
    int used_calls
    int later_calls
    uint64_t next_call
    # regions in flight, and how often the device's memory may have changed
    int flying
    uint64_t changes
    char *snapshot
    uint64_t snapshot_start
    uint64_t snapshot_bytes
    uint64_t snapshot_at
    const void *last_function
    uint64_t last_variables
    uint64_t last_bytes
    RemoteLearned learned[256]
    # memory
    pthread_mutex_t block_lock
    RemoteBlock *blocks
    size_t num_blocks
    size_t block_room
    uint64_t *spares[11]
    size_t num_spares[11]
    size_t spare_room[11]
    int num_kept
    RemoteLoaded *loaded
    uint64_t guard_step  # GOMPY_CHECK: what the worker's device can close; 0: there are no checks
    uint32_t flush_word
    bint flusher

cdef RemoteDevice *remote_devices[64]
cdef int num_devices  # those that were reached
cdef bint devices_known
cdef unsigned char remote_key[4096]
cdef size_t key_size
cdef unsigned patience_ms
cdef const char *given_hosts  # by gompy_remote_use, in place of GOMPY_REMOTE
cdef const char *given_token_file

cdef extern from *:
    """
    /* Set in a forked child: the connections are its parent's.  */
    static int remote_forked;
    static void remote_note_fork (void) { remote_forked = 1; }
    static void remote_watch_forks (void)
    {
      static int watching;
      if (!watching)
        watching = pthread_atfork (NULL, NULL, remote_note_fork) == 0;
    }
    /* Start a thread that takes no signals.  */
    static int
    remote_thread (pthread_t *thread, void *(*run) (void *), void *data)
    {
      sigset_t all, old;
      sigfillset (&all);
      pthread_sigmask (SIG_SETMASK, &all, &old);
      int error = pthread_create (thread, NULL, run, data);
      pthread_sigmask (SIG_SETMASK, &old, NULL);
      return error;
    }
    /* Whether others than the owner may read or write a file.  */
    static int
    remote_open_to_others (int fd)
    {
      struct stat status;
      return fstat (fd, &status) != 0 || (status.st_mode & 077) != 0;
    }
    """
    int remote_forked
    void remote_watch_forks() nogil
    int remote_thread(pthread_t *, void *(*)(void *) noexcept nogil, void *) nogil
    bint remote_open_to_others(int fd) nogil


cdef unsigned lost_after() noexcept nogil:
    """GOMPY_REMOTE_TIMEOUT: after how many milliseconds of silence a worker that has to answer is lost; 3000."""
    global patience_ms
    cdef const char *text
    cdef char *end
    cdef double seconds = 3
    if patience_ms:
        return patience_ms
    text = secure_getenv(b"GOMPY_REMOTE_TIMEOUT")
    if text != NULL and text[0]:
        seconds = strtod(text, &end)
        if end[0] or not 0.1 <= seconds <= 86400:
            GOMP_PLUGIN_error(b"GOMPY_REMOTE_TIMEOUT=%s: not a number of seconds from 0.1 to 86400; using 3", text)
            seconds = 3
    patience_ms = <unsigned>(seconds * 1000)
    return patience_ms


cdef bint read_key() noexcept nogil:
    """The token of GOMPY_REMOTE_TOKEN_FILE, without the white space behind it.  False after a message."""
    global key_size
    cdef const char *path = given_token_file if given_hosts != NULL else secure_getenv(b"GOMPY_REMOTE_TOKEN_FILE")
    cdef int fd
    cdef ssize_t n
    if path == NULL or path[0] == 0:
        GOMP_PLUGIN_error(b"GOMPY_REMOTE_TOKEN_FILE is not set: it names the file with the token of gompy device serve")
        return False
    fd = gompy_open(path, O_RDONLY, 0)
    if fd < 0:
        GOMP_PLUGIN_error(b"GOMPY_REMOTE_TOKEN_FILE=%s: %s", path, strerror(errno))
        return False
    if remote_open_to_others(fd):
        close(fd)
        GOMP_PLUGIN_error(b"GOMPY_REMOTE_TOKEN_FILE=%s: others than its owner may read or write it: chmod 600", path)
        return False
    n = read(fd, remote_key, KEY_MOST)
    close(fd)
    while n > 0 and remote_key[n - 1] <= 32:
        n -= 1
    if n < 16:
        GOMP_PLUGIN_error(b"GOMPY_REMOTE_TOKEN_FILE=%s: holds no token of at least 16 characters", path)
        return False
    key_size = <size_t>n
    return True
