# Starting and ending a device process.

cdef extern from *:
    """
    extern int omp_get_num_places (void) __attribute__ ((weak));
    extern int omp_get_place_num_procs (int) __attribute__ ((weak));
    extern void omp_get_place_proc_ids (int, int *) __attribute__ ((weak));

    /* With OMP_PROC_BIND or OMP_PLACES libgomp binds the program's first thread to one place; a device started from
       there would have that place only.  Give the calling thread all places; false: nothing to do.  */
    static int
    mic_all_places (cpu_set_t *before)
    {
      cpu_set_t all;
      int places = omp_get_num_places ? omp_get_num_places () : 0;
      if (places <= 0 || sched_getaffinity (0, sizeof *before, before) != 0)
        return 0;
      CPU_ZERO (&all);
      for (int i = 0; i < places; i++)
        {
          int n = omp_get_place_num_procs (i), ids[n > 0 ? n : 1];
          omp_get_place_proc_ids (i, ids);
          for (int j = 0; j < n; j++)
            CPU_SET (ids[j], &all);
        }
      return sched_setaffinity (0, sizeof all, &all) == 0;
    }

    /* Start a program with four inherited descriptors, default signal handling and an empty mask.  `layout` is the
       personality it gets (-1: ours).  personality() is the thread's own, so others don't notice.  */
    static pid_t
    mic_spawn (char **argv, char **envp, const int *fds, long layout)
    {
      posix_spawn_file_actions_t actions;
      posix_spawnattr_t attributes;
      sigset_t none;
      pid_t pid = -1;
      int error, bound, old = -1;
      cpu_set_t places;
      posix_spawn_file_actions_init (&actions);
      posix_spawnattr_init (&attributes);
      for (int i = 0; i < 4; i++)
        if (fds[i] >= 0)
          posix_spawn_file_actions_adddup2 (&actions, fds[i], fds[i]);
      sigemptyset (&none);
      posix_spawnattr_setsigmask (&attributes, &none);
      posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK);
      if (layout >= 0)
        old = personality (layout);
      bound = mic_all_places (&places);
      error = gompy_spawnp (&pid, argv[0], &actions, &attributes, argv, envp);
      if (bound)
        sched_setaffinity (0, sizeof places, &places);
      if (old >= 0)
        personality (old);
      posix_spawn_file_actions_destroy (&actions);
      posix_spawnattr_destroy (&attributes);
      errno = error;
      return error ? -1 : pid;
    }

    /* Map the device's memory at a multiple of 2 MiB, as huge pages need.  NULL: impossible.  */
    static void *
    mic_map_aligned (size_t size, int fd)
    {
      const size_t align = 2 << 20;
      char *p = mmap (NULL, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED)
        return NULL;
      char *start = (char *) (((uintptr_t) p + align - 1) & -align);
      if (start > p)
        munmap (p, start - p);
      if (start < p + align)
        munmap (start + size, p + align - start);
      if (mmap (start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED)
        {
          munmap (start, size);
          return NULL;
        }
      return start;
    }

    /* ftruncate that fails with EFBIG above a limit on file sizes (ulimit -f), where the kernel sends SIGXFSZ as well.  */
    static int
    mic_resize (int fd, off_t size)
    {
      sigset_t one, old;
      struct timespec now = { 0, 0 };
      int result, error;
      sigemptyset (&one);
      sigaddset (&one, SIGXFSZ);
      pthread_sigmask (SIG_BLOCK, &one, &old);
      result = ftruncate (fd, size);
      error = errno;
      if (result != 0 && error == EFBIG)
        sigtimedwait (&one, NULL, &now);
      pthread_sigmask (SIG_SETMASK, &old, NULL);
      errno = error;
      return result;
    }

    #define MIC_LARGE_BLOCK (1 << 20)
    #define MIC_LEAST_MEMORY (4 << 20)

    /* What has become of the device: 0 it runs, 1 it ended and `*how`, `*status` tell, -1 somebody else reaped it.  */
    static int
    mic_ended (pid_t pid, int *how, int *status)
    {
      siginfo_t info;
      memset (&info, 0, sizeof info);
      if (waitid (P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno == ECHILD ? (kill (pid, 0) == 0 ? 0 : -1) : 0;
      if (info.si_pid == 0)
        return 0;
      *how = info.si_code;
      *status = info.si_status;
      return 1;
    }
    """
    pid_t mic_spawn(char **argv, char **envp, const int *fds, long layout) nogil
    void *map_aligned "mic_map_aligned"(size_t size, int fd) nogil
    size_t LARGE_BLOCK "MIC_LARGE_BLOCK"
    uint64_t LEAST_MEMORY "MIC_LEAST_MEMORY"
    int mic_resize(int fd, off_t size) nogil
    int mic_ended(pid_t pid, int *how, int *status) nogil
    int CLD_EXITED, CLD_KILLED, CLD_DUMPED
    pid_t waitpid(pid_t pid, int *status, int options) nogil
    int PR_SET_PTRACER
    int prctl(int what, ...) nogil
    char *mkdtemp(char *template) nogil
    long mic_physical_memory "get_phys_pages"() nogil


cdef bint device_program(char *path, size_t n) noexcept nogil:
    """The path of offload_target_main: beside this library."""
    cdef Dl_info info
    cdef const char *slash
    if dladdr(<const void *>device_program, &info) == 0 or info.dli_fname == NULL:
        return False
    slash = strrchr(info.dli_fname, c'/')
    snprintf(path, n, b"%.*s%s", <int>(slash - info.dli_fname + 1 if slash != NULL else 0), info.dli_fname,
             <const char *>b"offload_target_main")
    return eaccess(path, X_OK) == 0


cdef const char *device_value(const char *name, size_t length, int number) noexcept nogil:
    """The value that OMP_<name> has on a device by OpenMP 5.1 (5.2: _ALL): the most specific of
    OMP_<name>_DEV_<number>, OMP_<name>_DEV, OMP_<name>_ALL.  NULL: none of them is set."""
    cdef char key[160]
    cdef const char *value
    if length > 100:
        return NULL
    snprintf(key, sizeof(key), b"%.*s_DEV_%d", <int>length, name, number)
    value = secure_getenv(key)
    if value == NULL:
        snprintf(key, sizeof(key), b"%.*s_DEV", <int>length, name)
        value = secure_getenv(key)
    if value == NULL:
        snprintf(key, sizeof(key), b"%.*s_ALL", <int>length, name)
        value = secure_getenv(key)
    return value


cdef size_t device_suffix(const char *entry) noexcept nogil:
    """Length of NAME in an entry ``NAME_DEV=``, ``NAME_DEV_<n>=`` or ``NAME_ALL=`` of the environment, 0: another."""
    cdef const char *end = strchr(entry, c'=')
    cdef const char *p
    if end == NULL or strncmp(entry, b"OMP_", 4) != 0:
        return 0
    p = end
    while p > entry and (p - 1)[0] >= c'0' and (p - 1)[0] <= c'9':
        p -= 1
    if p < end and p - entry > 9 and memcmp(p - 5, b"_DEV_", 5) == 0:
        return <size_t>(p - 5 - entry)
    if end - entry > 8 and (memcmp(end - 4, b"_DEV", 4) == 0 or memcmp(end - 4, b"_ALL", 4) == 0):
        return <size_t>(end - 4 - entry)
    return 0


cdef char **device_environment(int number) noexcept nogil:
    """The environment of a device process: ours, with these changes.

    OMP_<name>_DEV and its kind become OMP_<name>.  OMP_DISPLAY_ENV is dropped (libgomp would print a second time), so
    is a preloaded libgompy.  OMP_TARGET_OFFLOAD=disabled keeps libgomp there from looking for devices.
    GFORTRAN_ERROR_BACKTRACE=1 has libgfortran there show where an error was, as it does in a gfortran program, whose main
    function asks for it (libgfortran: set_options).  The device of a privileged program gets nothing of its caller's.
    NULL: there is no memory for it.
    """
    cdef size_t count = 0, n = 0, length
    cdef char **result
    cdef char **e = gompy_child_environ()
    cdef const char *value
    cdef char *text
    cdef size_t i
    cdef bint known
    while e[count] != NULL:
        count += 1
    result = <char **>malloc((2 * count + 4) * sizeof(char *))
    if result == NULL:
        return NULL
    while e[0] != NULL:
        length = device_suffix(e[0])
        value = strchr(e[0], c'=')
        if length:
            known = False
            for i in range(n):
                if strncmp(result[i], e[0], length) == 0 and result[i][length] == c'=':
                    known = True
            value = device_value(e[0], length, number)
            if not known and value != NULL:
                text = <char *>malloc(length + strlen(value) + 2)
                if text == NULL:
                    free(result)
                    return NULL
                memcpy(text, e[0], length)
                text[length] = c'='
                memcpy(text + length + 1, value, strlen(value) + 1)
                result[n] = text
                n += 1
        elif strncmp(e[0], b"OMP_TARGET_OFFLOAD=", 19) == 0 or strncmp(e[0], b"OMP_DISPLAY_ENV=", 16) == 0:
            pass
        elif strncmp(e[0], b"LD_PRELOAD=", 11) == 0 and strstr(e[0], b"libgompy") != NULL:
            pass
        elif strncmp(e[0], b"OMP_", 4) == 0 and value != NULL and device_value(e[0], <size_t>(value - e[0]), number) != NULL:
            pass
        else:
            result[n] = e[0]
            n += 1
        e += 1
    result[n] = <char *>b"OMP_TARGET_OFFLOAD=disabled"
    n += 1
    if secure_getenv(b"GFORTRAN_ERROR_BACKTRACE") == NULL:
        result[n] = <char *>b"GFORTRAN_ERROR_BACKTRACE=1"
        n += 1
    result[n] = NULL
    return result


cdef long device_layout(void *ours) noexcept nogil:
    """The personality for the device: random addresses, and mmap growing the other way than here."""
    cdef long now = personality(0xffffffff)
    if now < 0:
        return -1
    now &= ~<long>ADDR_NO_RANDOMIZE
    if <uintptr_t>ours > <uintptr_t>0x6000 << 32:
        now |= <long>ADDR_COMPAT_LAYOUT
    else:
        now &= ~<long>ADDR_COMPAT_LAYOUT
    return now


cdef bint open_arenas(mic_device *d, uint64_t size) noexcept nogil:
    """Map the device's memory and make its two arenas.  False, with errno set, if there is no room for that."""
    cdef uint64_t keep = <uint64_t>mic_physical_memory() * 4096 // 8
    cdef void *p
    if mic_resize(d.file.fd, <off_t>(MIC_CONTROL_SIZE + size)) != 0:
        return False
    p = map_aligned(MIC_CONTROL_SIZE + size, d.file.fd)
    if p == NULL:
        return False
    if keep > <uint64_t>4 << 30:
        keep = <uint64_t>4 << 30
    d.control = <mic_control *>p
    d.memory = <char *>p + MIC_CONTROL_SIZE
    d.size = size
    # huge pages (where the system grants them to shared memory) make the first touch of large blocks ten times cheaper,
    # but cost small ones memory: so small and large blocks live apart
    d.split = (size >> 3) & ~<uint64_t>((2 << 20) - 1)
    if arena_open(&d.small, d.split, &d.file, MIC_CONTROL_SIZE, d.memory, keep // 4):
        if arena_open(&d.large, size - d.split, &d.file, MIC_CONTROL_SIZE + d.split, d.memory + d.split, keep):
            return True
    arena_close(&d.small)  # what succeeds leaves errno alone
    munmap(p, MIC_CONTROL_SIZE + size)
    d.control = NULL
    return False


cdef bint make_memory(mic_device *d) noexcept nogil:
    """Make the memfd, map it, open the arena."""
    cdef uint64_t size = arena_size_wanted()
    gompy_keep(&d.file, gompy_memfd(b"gompy-device"))
    if d.file.fd < 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): cannot make its memory: %s%s", d.number, strerror(errno),
                          gompy_limit_hint(errno))
        return False
    # a limit on address space, private memory or file size may forbid what nobody would use: try less
    while not open_arenas(d, size):
        if size <= LEAST_MEMORY:
            GOMP_PLUGIN_error(b"device %d (intelmic): cannot map %zu MiB of memory for it: %s%s", d.number,
                              <size_t>(size >> 20), strerror(errno), gompy_limit_hint(errno))
            gompy_close_kept(&d.file)
            return False
        size = (size >> 1) & ~<uint64_t>((2 << 20) - 1)
        if size < LEAST_MEMORY:
            size = LEAST_MEMORY
    madvise(d.control, MIC_CONTROL_SIZE + size, MADV_DONTDUMP)
    madvise(d.control, MIC_CONTROL_SIZE + size, MADV_DONTFORK)
    madvise(d.memory + d.split, size - d.split, MADV_HUGEPAGE)
    return True


cdef uint64_t memory_alloc(mic_device *d, size_t size) noexcept nogil:
    """Allocate device memory.  Returns the offset in the arena, or all ones when there is no room."""
    cdef uint64_t offset = ~<uint64_t>0
    cdef bint fresh
    if d.guarded:
        return guarded_alloc(d, size)
    if size > LARGE_BLOCK:
        offset = arena_alloc(&d.large, size)
        if offset != ~<uint64_t>0:
            fresh = arena_fresh(&d.large, offset)
            offset += d.split
            note_block(d, offset, size, fresh)
            return offset
    offset = arena_alloc(&d.small, size)
    if offset == ~<uint64_t>0 and size <= LARGE_BLOCK:
        offset = arena_alloc(&d.large, size)
        if offset != ~<uint64_t>0:
            offset += d.split
    elif offset != ~<uint64_t>0 and size >= FIRST_SIZE:
        note_block(d, offset, size, arena_fresh(&d.small, offset))
    return offset


cdef bint memory_free(mic_device *d, uint64_t offset) noexcept nogil:
    """Free device memory.  False: no block in use starts at that offset."""
    if d.guarded:
        return guarded_free(d, offset)
    return arena_free(&d.small, offset) if offset < d.split else arena_free(&d.large, offset - d.split)


cdef void release_memory(mic_device *d) noexcept nogil:
    """Give everything of make_memory back."""
    arena_close(&d.small)
    arena_close(&d.large)
    munmap(d.control, MIC_CONTROL_SIZE + d.size)
    gompy_close_kept(&d.file)
    d.control = NULL


cdef char **tool_command(char *text, char **program) noexcept nogil:
    """The words of OFFLOAD_EMUL_RUN, split at blanks, before those of the program.  NULL: there is no memory."""
    cdef size_t n = 0, room = (strlen(text) if text != NULL else 0) // 2 + 8
    cdef char **words = <char **>malloc(room * sizeof(char *))
    cdef char *state = NULL
    cdef char *word
    if text == NULL or words == NULL:
        free(words)
        return NULL
    word = strtok_r(text, b" \t\n", &state)
    while word != NULL:
        words[n] = word
        n += 1
        word = strtok_r(NULL, b" \t\n", &state)
    while program[0] != NULL:
        words[n] = program[0]
        n += 1
        program += 1
    words[n] = NULL
    return words


cdef bint start_device(mic_device *d) noexcept nogil:
    """Start the device process and wait until it is ready."""
    cdef char path[4096]
    cdef char numbers[4][16]
    cdef char *argv[6]
    cdef char **words = argv
    cdef char **environment
    cdef char *tool = secure_getenv(b"OFFLOAD_EMUL_RUN")
    cdef int ends[2]
    cdef int fds[4]
    cdef int i, error, how = 0, status = 0
    cdef long layout
    if not device_program(path, sizeof(path)):
        GOMP_PLUGIN_error(b"device %d (intelmic): %s: %s", d.number, path, strerror(errno))
        return False
    if not make_memory(d):
        return False
    if gompy_pipe(ends) != 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): cannot make a pipe: %s%s", d.number, strerror(errno), gompy_limit_hint(errno))
        release_memory(d)
        return False
    d.control.magic = MIC_MAGIC
    d.control.abi = MIC_ABI
    d.guarded = checks_wanted() or d.preload[0] != 0
    d.control.guarded = checks_wanted() and d.preload[0] == 0
    d.control.device = d.number
    memcpy(d.control.preload, d.preload, sizeof(d.preload))
    d.control.host_pid = getpid()
    d.control.arena_size = d.size
    d.control.split = d.split
    d.control.spins = available_cpus()
    d.control.teams = teams_at_a_time()
    d.control.threads = device_value(b"OMP_NUM_THREADS", 15, d.number) != NULL
    fds[0] = d.file.fd
    fds[1] = ends[0]
    fds[2] = gompy_pidfd(getpid())
    argv[0] = path
    fds[3] = gompy_open(b"/proc/self/maps", O_RDONLY, 0)
    for i in range(4):
        snprintf(numbers[i], 16, b"%d", fds[i])
        argv[i + 1] = numbers[i]
    argv[5] = NULL
    layout = device_layout(d.memory)
    if tool != NULL and tool[0]:
        d.control.tool = 1
        tool = strdup(tool)
        words = tool_command(tool, argv)
        if words != NULL and words[0] == path:
            d.control.tool = 0
    environment = device_environment(d.number)
    error = ENOMEM
    d.pid = -1
    if environment != NULL and words != NULL:
        d.pid = mic_spawn(words, environment, fds, layout)
        error = errno
    for i in range(1, 4):
        if fds[i] >= 0:
            close(fds[i])
    gompy_keep(&d.pipe, ends[1])
    free(environment)
    if d.pid < 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): cannot start %s: %s%s", d.number,
                          words[0] if words != NULL else <char *>path, strerror(error),
                          gompy_limit_hint(error))
        gompy_close_kept(&d.pipe)
        release_memory(d)
        return False
    while load32(&d.control.state, ACQUIRE) == MIC_STARTING:
        futex_wait(&d.control.state, MIC_STARTING, 50000000)
        if load32(&d.control.state, ACQUIRE) == MIC_STARTING and mic_ended(d.pid, &how, &status) != 0:
            break
    if load32(&d.control.state, ACQUIRE) != MIC_READY:
        if d.control.state == MIC_FAILED:
            GOMP_PLUGIN_error(b"device %d (intelmic): %s", d.number, d.control.text)
        elif how == CLD_EXITED:
            GOMP_PLUGIN_error(b"device %d (intelmic): %s ended at its start with status %d", d.number, words[0], status)
        elif how == 0:
            GOMP_PLUGIN_error(b"device %d (intelmic): %s ended at its start", d.number, words[0])
        else:
            GOMP_PLUGIN_error(b"device %d (intelmic): %s was ended at its start by signal %d (%s)", d.number, words[0],
                              status, strsignal(status))
        d.free_slots = ~<uint64_t>0
        stop_device(d, False)
        return False
    if words != argv:
        free(words)
        free(tool)
    d.base = d.control.arena_base
    d.free_slots = ~<uint64_t>0
    d.started_slots = 0
    d.gone = 0
    pthread_mutex_init(&d.commands, NULL)
    pthread_mutex_init(&d.zones_lock, NULL)
    pthread_mutex_init(&d.queue_lock, NULL)
    return True


cdef void stop_device(mic_device *d, bint politely) noexcept nogil:
    """End the device process, reap it, give its memory back."""
    cdef mic_slot *slot = &d.control.slots[MIC_COMMAND_SLOT]
    cdef int status = 0, i, how
    if politely and not d.gone:
        # the command may be under way in a thread that called exit from inside: don't wait for its lock
        slot.op = MIC_OP_QUIT
        exchange32(&slot.request, load32(&slot.request, RELAXED) + 1, SEQ_CST)
        futex_wake(&slot.request)
        await_end(d.pid, 2000 if d.control.tool == 0 else 60000)
    if mic_ended(d.pid, &how, &status) == 0:
        kill(d.control.device_pid if d.control.device_pid else d.pid, SIGKILL)
        if d.control.tool != 0:
            await_end(d.pid, 2000)
            kill(d.pid, SIGKILL)
    gompy_close_kept(&d.pipe)
    while waitpid(d.pid, &status, 0) < 0 and errno == EINTR:
        pass
    if load64(&d.free_slots, SEQ_CST) == ~<uint64_t>0 and d.queues == 0 and load32(&d.unawaited, SEQ_CST) == 0:
        release_memory(d)  # else exit was called while other threads run regions: they look at it until we are gone


cdef void await_end(pid_t pid, int milliseconds) noexcept nogil:
    """Wait until a child has ended, not longer than so many milliseconds."""
    cdef int fd = gompy_pidfd(pid)
    cdef pollfd one
    cdef int how, status
    cdef uint64_t end = now_ns() + <uint64_t>milliseconds * 1000000
    one.fd = fd
    one.events = POLLIN
    while now_ns() < end and mic_ended(pid, &how, &status) == 0:
        if fd >= 0:
            poll(&one, 1, 50)
        else:
            usleep(200)
    if fd >= 0:
        close(fd)
