# Starting and ending a device process.

cdef extern from *:
    """
    /* Start a tool with four inherited descriptors, default signal handling and an empty mask.  */
    static int
    mic_spawn_tool (pid_t *pid, char **argv, char **envp, const int *fds)
    {
      posix_spawn_file_actions_t actions;
      posix_spawnattr_t attributes;
      sigset_t none;
      int error;
      posix_spawn_file_actions_init (&actions);
      posix_spawnattr_init (&attributes);
      for (int i = 0; i < 4; i++)
        if (fds[i] >= 0)
          posix_spawn_file_actions_adddup2 (&actions, fds[i], fds[i]);
      sigemptyset (&none);
      posix_spawnattr_setsigmask (&attributes, &none);
      posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK);
      error = gompy_spawnp (pid, argv[0], &actions, &attributes, argv, envp);
      posix_spawn_file_actions_destroy (&actions);
      posix_spawnattr_destroy (&attributes);
      return error;
    }

    /* Start our own program in the same way, but for the mask: it blocks all signals, and takes them as its first act
       (target_main.pyx).  So no handler of the program's can run in the child, and none has to be looked for:
       posix_spawn asks for each of 64 signals, twice.  Until execve the child has our memory, and this thread
       waits.  */
    static __attribute__ ((noinline)) int
    mic_spawn_own (pid_t *pid, char **argv, char **envp, const int *fds)
    {
      sigset_t all, old;
      int cancel;
      volatile int error = 0;
      pid_t child;
      sigfillset (&all);
      pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, &cancel);
      pthread_sigmask (SIG_SETMASK, &all, &old);
      child = vfork ();
      if (child == 0)
        {
          for (int i = 0; i < 4; i++)
            if (fds[i] >= 0)
              gompy_place_for_child (fds[i], fds[i]);
          execve (argv[0], argv, envp);
          error = errno;
          _exit (127);
        }
      if (child < 0)
        error = errno;
      else if (error)
        while (waitpid (child, NULL, 0) < 0 && errno == EINTR)
          ;
      pthread_sigmask (SIG_SETMASK, &old, NULL);
      pthread_setcancelstate (cancel, NULL);
      *pid = child;
      return error;
    }

    /* `layout` is the personality that the child gets (-1: ours).  personality() is the thread's own, so others don't
       notice.  -1 with errno set: it failed.  */
    static pid_t
    mic_spawn (int tool, char **argv, char **envp, const int *fds, long layout)
    {
      pid_t pid = -1;
      int error, old = layout >= 0 ? personality (layout) : -1;
      error = (tool ? mic_spawn_tool : mic_spawn_own) (&pid, argv, envp, fds);
      if (old >= 0)
        personality (old);
      errno = error;
      return error ? -1 : pid;
    }
    """
    pid_t mic_spawn(bint tool, char **argv, char **envp, const int *fds, long layout) nogil
    int PR_SET_PTRACER
    int prctl(int what, ...) nogil
    char *mkdtemp(char *template) nogil


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
    """The environment of a device process, which is ours but for:

    OMP_<name>_DEV, OMP_<name>_DEV_<number>   become OMP_<name>
    OMP_DISPLAY_ENV                           not there: libgomp would print a second time
    LD_PRELOAD of libgompy, ACC_PROFLIB       not there: they are for the host
    GOMPY_TRACE, _TRACE_FILE, _CHECK_LOG, _RECORD_FILE, _STATS, LIBOMPTARGET_PROFILE
                                              not there: images of clang's bring libgompy, which would write them anew
    OMP_TARGET_OFFLOAD=disabled               libgomp looks for no devices
    OMP_TOOL=disabled                         libomp does not start the host's tool
    GFORTRAN_ERROR_BACKTRACE=1                libgfortran shows where an error was, as in a program whose main function
                                              is Fortran's (libgfortran: set_options)

    The device of a privileged program gets nothing of its caller's.  NULL: there is no memory for it.
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
        elif (strncmp(e[0], b"OMP_TARGET_OFFLOAD=", 19) == 0 or strncmp(e[0], b"OMP_DISPLAY_ENV=", 16) == 0
              or strncmp(e[0], b"OMP_TOOL=", 9) == 0):
            pass
        elif strncmp(e[0], b"ACC_PROFLIB=", 12) == 0 or strncmp(e[0], b"GOMPY_TRACE_FILE=", 17) == 0 \
                or strncmp(e[0], b"GOMPY_TRACE=", 12) == 0 \
                or strncmp(e[0], b"GOMPY_CHECK_LOG=", 16) == 0 or strncmp(e[0], b"GOMPY_RECORD_FILE=", 18) == 0 \
                or strncmp(e[0], b"GOMPY_STATS=", 12) == 0 or strncmp(e[0], b"LIBOMPTARGET_PROFILE=", 21) == 0:
            pass
        elif strncmp(e[0], b"LD_PRELOAD=", 11) == 0 and strstr(e[0], b"libgompy") != NULL:
            pass
        elif strncmp(e[0], b"OMP_", 4) == 0 and value != NULL and device_value(
            e[0], <size_t>(value - e[0]), number
        ) != NULL:
            pass
        else:
            result[n] = e[0]
            n += 1
        e += 1
    result[n] = <char *>b"OMP_TARGET_OFFLOAD=disabled"
    n += 1
    result[n] = <char *>b"OMP_TOOL=disabled"
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


cdef char *next_word(char **rest) noexcept nogil:
    """A text's next word, in place, as a shell's: blanks end it but behind a backslash or between quotes, which go.
    Between double quotes a backslash stays before what needs none.  NULL: there is none."""
    cdef char *p = rest[0]
    cdef char *word
    cdef char *to
    cdef char quote = 0
    while p[0] in (b' ', b'\t', b'\n'):
        p += 1
    if p[0] == 0:
        return NULL
    word = to = p
    while p[0] and (quote or p[0] not in (b' ', b'\t', b'\n')):
        if p[0] == quote:
            quote = 0
        elif quote == 0 and p[0] in (b'"', b"'"):
            quote = p[0]
        else:
            if p[0] == b'\\' and p[1] and (quote == 0 or quote == b'"' and p[1] in (b'\\', b'"', b'$', b'`')):
                p += 1
            to[0] = p[0]
            to += 1
        p += 1
    rest[0] = p + 1 if p[0] else p
    to[0] = 0
    return word


cdef char **tool_command(char *text, char **program) noexcept nogil:
    """The words of OFFLOAD_EMUL_RUN before those of the program.  NULL: there is no memory."""
    cdef size_t n = 0, room = (strlen(text) if text != NULL else 0) // 2 + 8
    cdef char **words = <char **>malloc(room * sizeof(char *))
    cdef char *word
    if text == NULL or words == NULL:
        free(words)
        return NULL
    word = next_word(&text)
    while word != NULL:
        words[n] = word
        n += 1
        word = next_word(&text)
    while program[0] != NULL:
        words[n] = program[0]
        n += 1
        program += 1
    words[n] = NULL
    return words


cdef void fill_control(mic_device *d) noexcept nogil:
    """What the device process reads first."""
    d.control.magic = MIC_MAGIC
    d.control.abi = MIC_ABI
    d.guarded = checks_wanted() or d.preload[0] != 0
    d.control.guarded = checks_wanted() and d.preload[0] == 0
    d.control.spread = d.control.guarded and secure_getenv(b"GOMPY_CHECK_LOG") != NULL
    d.words_size = 0
    d.control.device = d.number
    memcpy(d.control.preload, d.preload, sizeof(d.preload))
    d.control.host_pid = getpid()
    d.control.arena_size = d.size
    d.control.split = d.split
    d.control.spins = available_cpus()
    d.control.teams = teams_at_a_time()
    d.control.threads = device_value(b"OMP_NUM_THREADS", 15, d.number) != NULL
    publish_processor(&d.control.slots[MIC_COMMAND_SLOT].host_cpu)  # beside us it need not look for its first command


cdef int spawn_process(mic_device *d, char **words, int pipe_end) noexcept nogil:
    """Start the device process with its four descriptors, whose numbers are its arguments: the last four words,
    with room for 16 bytes each.  0, or an error's number."""
    cdef char **environment
    cdef char **arguments = words
    cdef int fds[4]
    cdef int i, error = ENOMEM
    d.pid = -1
    while arguments[4] != NULL:
        arguments += 1
    fds[0] = d.file.fd
    fds[1] = pipe_end
    fds[2] = gompy_pidfd(getpid())
    fds[3] = gompy_open(b"/proc/self/maps", O_RDONLY, 0)
    for i in range(4):
        snprintf(arguments[i], 16, b"%d", fds[i])
    environment = device_environment(d.number)
    if environment != NULL:
        d.pid = mic_spawn(d.control.tool != 0, words, environment, fds, device_layout(d.memory))
        error = errno
    for i in range(2, 4):
        if fds[i] >= 0:
            close(fds[i])
    free(environment)
    return 0 if d.pid >= 0 else error


cdef bint await_start(mic_device *d, const char *program) noexcept nogil:
    """Wait until the device is ready.  False after a message if it ended instead."""
    cdef int how = 0, status = 0
    cdef uint32_t *here = &d.control.slots[MIC_COMMAND_SLOT].host_cpu
    publish_processor(here)
    while load32(&d.control.state, ACQUIRE) == MIC_STARTING:
        futex_wait(&d.control.state, MIC_STARTING, START_NS if d.control.narrow else 50000000)
        spread_start(d)
        publish_processor(here)
        if load32(&d.control.state, ACQUIRE) == MIC_STARTING and mic_ended(d.pid, &how, &status) != 0:
            break
    if load32(&d.control.state, ACQUIRE) == MIC_READY:
        return True
    if d.control.state == MIC_FAILED:
        GOMP_PLUGIN_error(b"device %d (intelmic): %s", d.number, d.control.text)
    # Without the memory that it needs, the kernel or the dynamic loader ends it before a line of ours has run.
    elif how == CLD_EXITED:
        GOMP_PLUGIN_error(b"device %d (intelmic): %s ended at its start with status %d%s", d.number, program, status,
                          gompy_limit_hint(ENOMEM))
    elif how == 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): %s ended at its start%s", d.number, program, gompy_limit_hint(ENOMEM))
    else:
        GOMP_PLUGIN_error(b"device %d (intelmic): %s was ended at its start by signal %d (%s)%s", d.number, program,
                          status, strsignal(status), gompy_limit_hint(ENOMEM))
    return False


cdef bint start_in(mic_device *d, char **words, const char *path) noexcept nogil:
    """Start the process that the words name, in memory that is there.

    False after a message; the memory is gone then.
    """
    cdef int ends[2]
    cdef int error
    if gompy_pipe(ends) != 0:
        GOMP_PLUGIN_error(
            b"device %d (intelmic): cannot make a pipe: %s%s", d.number, strerror(errno), gompy_limit_hint(errno)
        )
        release_memory(d)
        return False
    error = spawn_process(d, words, ends[0]) if words != NULL else ENOMEM
    if error:
        GOMP_PLUGIN_error(b"device %d (intelmic): cannot start %s: %s%s", d.number, <const char *>words[0]
                          if words != NULL else path,
                          strerror(error), gompy_limit_hint(error))
        close(ends[0])
        close(ends[1])
        release_memory(d)
        return False
    close(ends[0])
    gompy_keep(&d.pipe, ends[1])
    if not await_start(d, words[0]):
        d.free_slots = ~<uint64_t>0
        stop_device(d, False)
        return False
    return True


cdef bint start_device(mic_device *d) noexcept nogil:
    """Start the device process and wait until it is ready."""
    cdef char path[4096]
    cdef char numbers[4][16]
    cdef char *argv[6]
    cdef char **words = argv
    cdef char *tool = secure_getenv(b"OFFLOAD_EMUL_RUN")
    cdef unsigned long own[128]
    cdef bint good, changed
    cdef int i
    if not device_program(path, sizeof(path)):
        GOMP_PLUGIN_error(b"device %d (intelmic): %s: %s", d.number, path, strerror(errno))
        return False
    if not make_memory(d):
        return False
    fill_control(d)
    argv[0] = path
    for i in range(4):
        numbers[i][0] = 0
        argv[i + 1] = numbers[i]
    argv[5] = NULL
    if tool != NULL and tool[0]:
        d.control.tool = 1
        tool = strdup(tool)
        words = tool_command(tool, argv)
        if words != NULL and words[0] == path:
            d.control.tool = 0
    open_marks(d)
    changed = begin_start(d, own)
    good = start_in(d, words, path)
    if changed:
        take_mask(own)
    if words != argv:
        free(words)
        free(tool)
    if not good:
        return False
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
    cdef int status = 0, how
    cdef unsigned long own[128]
    cdef bint beside
    if politely and not d.gone:
        # the command may be under way in a thread that called exit from inside: don't wait for its lock
        beside = begin_end(d, own)
        slot.op = MIC_OP_QUIT
        exchange32(&slot.request, load32(&slot.request, RELAXED) + 1, SEQ_CST)
        futex_wake(&slot.request)
        if beside:
            spread_end(d, own, await_end(d.pid, START_NS // 1000000))
        await_end(d.pid, 2000 if d.control.tool == 0 else 60000)
    if load32(&d.control.dead, SEQ_CST) != 0 and d.control.death.core != 0:
        await_end(d.pid, 60000)
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
