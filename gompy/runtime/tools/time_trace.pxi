# The file that LIBOMPTARGET_PROFILE asks for: how long constructs, copies and launches took, as LLVM's time profiler
# writes it (llvm/Support/TimeProfiler.cpp), with libomptarget's names.  It is kept in memory and written at the end.

cdef extern from *:
    """
    /* A text as a string of JSON.  */
    static void
    gompy_json_text (FILE *file, const char *text)
    {
      putc ('"', file);
      for (const unsigned char *p = (const unsigned char *) text; *p; p++)
        if (*p == '"' || *p == '\\\\')
          fprintf (file, "\\\\%c", *p);
        else if (*p < ' ')
          fprintf (file, "\\\\u%04x", *p);
        else
          putc (*p, file);
      putc ('"', file);
    }
    static uint64_t
    gompy_wall_us (void)
    {
      struct timespec now;
      clock_gettime (CLOCK_REALTIME, &now);
      return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
    }
    """
    void json_text "gompy_json_text"(void *file, const char *text) noexcept nogil
    uint64_t wall_us "gompy_wall_us"() noexcept nogil

cdef extern from "<stdio.h>" nogil:
    void *fdopen(int, const char *)
    int fclose(void *)
    int ferror(void *)

cdef enum:
    TIME_NAMES = 64
    TIME_SPANS = 1 << 22  # that are kept
    TIME_GRANULARITY = 500  # microseconds, as LLVM

cdef struct TimeSpan:
    const char *name
    char *detail  # or NULL
    uint64_t begin  # microseconds since the program's begin
    uint64_t duration
    int tid

cdef struct TimeTotal:
    const char *name
    uint64_t count
    uint64_t nanoseconds

cdef struct TimeTrace:
    const char *path
    int pid
    uint64_t granularity  # microseconds: what is shorter counts in the sums alone
    uint64_t begin
    uint64_t wall
    size_t count
    size_t room
    TimeSpan *spans
    int num_totals
    TimeTotal totals[64]  # TIME_NAMES
    pthread_mutex_t lock  # zeros: PTHREAD_MUTEX_INITIALIZER

cdef TimeTrace time_trace


cdef const char *time_name(const HookEvent *event) noexcept nogil:
    """libomptarget's name of what took its time; of routines their own, NULL: not told."""
    if event.kind == HOOK_CONSTRUCT:
        if event.construct.place == NULL:
            return event.construct.what
        return (<const char *> b"Runtime: target exe" if event.region != NULL
                else <const char *> b"Runtime: Data Copy")
    if event.kind == HOOK_LAUNCH:
        return b"Kernel Target"
    if event.kind == HOOK_COPY:
        if event.detail == COPY_WITHIN:
            return b"DevToDev"
        return <const char *> b"HostToDev" if event.detail == COPY_TO_DEVICE else <const char *> b"DevToHost"
    if event.kind == HOOK_IMAGE:
        return <const char *> b"Load image" if event.detail == IMAGE_LOAD else NULL
    return <const char *> b"Init device" if event.detail == DEVICE_INIT else NULL


cdef void time_detail(const HookEvent *event, char *to, size_t room) noexcept nogil:
    """What LLVM's library tells beside the name: the construct's place in the source, and numbers."""
    cdef const Construct *construct = event.construct
    cdef bint placed = construct != NULL and construct.place != NULL
    cdef const char *place = construct.place if placed else <const char *> b""
    to[0] = 0
    if event.kind == HOOK_COPY:
        snprintf(to, room, b"%sSize=%zuB", place, event.size)
    elif event.kind == HOOK_CONSTRUCT and placed and event.region != NULL:
        snprintf(to, room, b"%sNumTeams=%u;NumArgs=%u", place, construct.teams, construct.entries)
    elif event.kind == HOOK_CONSTRUCT and placed:
        snprintf(to, room, b"%sNumArgs=%u", place, construct.entries)
    elif event.kind == HOOK_LAUNCH and placed:
        snprintf(to, room, b"%sNumArguments=%u;NumTeams=%u;TripCount=%lu", place, construct.entries, construct.teams,
                 <unsigned long> construct.rounds)


cdef void time_sum(const char *name, uint64_t nanoseconds) noexcept nogil:
    """Add to a name's sum.  The lock is held."""
    cdef TimeTotal *total
    cdef int i
    for i in range(time_trace.num_totals):
        if strcmp(time_trace.totals[i].name, name) == 0:
            break
    else:
        if time_trace.num_totals == TIME_NAMES:
            return
        i = time_trace.num_totals
        time_trace.totals[i].name = name
        time_trace.num_totals += 1
    total = &time_trace.totals[i]
    total.count += 1
    total.nanoseconds += nanoseconds


cdef void time_keep(const HookEvent *event, const char *name, uint64_t begin, uint64_t duration) noexcept nogil:
    """Keep a span.  The lock is held."""
    cdef char detail[1024]
    cdef TimeSpan *span
    if time_trace.count == time_trace.room:
        if time_trace.room >= TIME_SPANS:
            return
        span = <TimeSpan *> realloc(time_trace.spans, (2 * time_trace.room + 1024) * sizeof(TimeSpan))
        if span == NULL:
            return
        time_trace.spans = span
        time_trace.room = 2 * time_trace.room + 1024
    time_detail(event, detail, sizeof(detail))
    span = &time_trace.spans[time_trace.count]
    span.name = name
    span.detail = strdup(detail) if detail[0] else NULL
    span.begin = (begin - time_trace.begin) // 1000
    span.duration = duration // 1000
    span.tid = gompy_tid()
    time_trace.count += 1


cdef void time_hook(HookEvent *event, int slot) noexcept nogil:
    """Something begins, or has ended.  Not in a forked child."""
    cdef uint64_t now = now_ns()
    cdef const char *name
    if event.phase != PHASE_END:
        event.own[slot] = now
        return
    name = time_name(event)
    if name == NULL or getpid() != time_trace.pid:
        return
    pthread_mutex_lock(&time_trace.lock)
    time_sum(name, now - event.own[slot])
    if now - event.own[slot] >= time_trace.granularity * 1000:
        time_keep(event, name, event.own[slot], now - event.own[slot])
    pthread_mutex_unlock(&time_trace.lock)


cdef void begin_time_trace() noexcept nogil:
    """LIBOMPTARGET_PROFILE=file: subscribe."""
    cdef const char *path = secure_getenv(b"LIBOMPTARGET_PROFILE")
    cdef const char *granularity
    if path == NULL or not path[0]:
        return
    granularity = secure_getenv(b"LIBOMPTARGET_PROFILE_GRANULARITY")
    time_trace.path = strdup(path)
    time_trace.granularity = TIME_GRANULARITY
    if granularity != NULL and granularity[0]:
        time_trace.granularity = <uint64_t> max(atoi(granularity), 0)
    time_trace.pid = getpid()
    time_trace.begin = now_ns()
    time_trace.wall = wall_us()
    if time_trace.path != NULL:
        gompy_subscribe(HOOK_CONSTRUCT | HOOK_LAUNCH | HOOK_COPY | HOOK_IMAGE | HOOK_DEVICE, time_hook)


cdef void write_spans(void *file) noexcept nogil:
    """The spans, in the order of their ends; then the sums, each as a thread of its own, the longest first."""
    cdef const TimeSpan *span
    cdef TimeTotal total
    cdef size_t i
    cdef int j, k
    for i in range(time_trace.count):
        span = &time_trace.spans[i]
        fprintf(file, b"%s{\"pid\":%d,\"tid\":%d,\"ts\":%lu,\"ph\":\"X\",\"dur\":%lu,\"name\":",
                <const char *> (b"," if i else b""), time_trace.pid, span.tid, <unsigned long> span.begin,
                <unsigned long> span.duration)
        json_text(file, span.name)
        if span.detail != NULL:
            fprintf(file, b",\"args\":{\"detail\":")
            json_text(file, span.detail)
            fprintf(file, b"}")
        fprintf(file, b"}")
    for j in range(time_trace.num_totals):
        for k in range(j + 1, time_trace.num_totals):
            if time_trace.totals[k].nanoseconds > time_trace.totals[j].nanoseconds:
                total = time_trace.totals[j]
                time_trace.totals[j] = time_trace.totals[k]
                time_trace.totals[k] = total
        total = time_trace.totals[j]
        fprintf(file, b"%s{\"pid\":%d,\"tid\":%d,\"ph\":\"X\",\"ts\":0,\"dur\":%lu,\"name\":\"Total %s\","
                b"\"args\":{\"count\":%lu,\"avg ms\":%lu}}", <const char *> (b"," if j or time_trace.count else b""),
                time_trace.pid, time_trace.pid + 1 + j, <unsigned long> (total.nanoseconds // 1000), total.name,
                <unsigned long> total.count, <unsigned long> (total.nanoseconds // total.count // 1000000))


cdef void end_time_trace() noexcept nogil:
    """The program ends: write the file."""
    cdef const char *name = strrchr(program_name, c'/')
    cdef void *file
    cdef int fd
    cdef bint bad = True
    cdef sigset_t before
    if time_trace.path == NULL or getpid() != time_trace.pid:
        return
    gompy_size_begin(&before)
    fd = gompy_open_to_replace(time_trace.path)
    file = fdopen(fd, b"w") if fd >= 0 else NULL
    if file != NULL:
        pthread_mutex_lock(&time_trace.lock)
        fprintf(file, b"{\"traceEvents\":[")
        write_spans(file)
        fprintf(file, b"%s{\"cat\":\"\",\"pid\":%d,\"tid\":%d,\"ts\":0,\"ph\":\"M\",\"name\":\"process_name\","
                b"\"args\":{\"name\":\"libomptarget\"}},{\"cat\":\"\",\"pid\":%d,\"tid\":%d,\"ts\":0,\"ph\":\"M\","
                b"\"name\":\"thread_name\",\"args\":{\"name\":",
                <const char *> (b"," if time_trace.num_totals else b""), time_trace.pid, time_trace.pid,
                time_trace.pid, time_trace.pid)
        json_text(file, name + 1 if name != NULL else program_name)
        fprintf(file, b"}}],\"beginningOfTime\":%lu}", <unsigned long> time_trace.wall)
        pthread_mutex_unlock(&time_trace.lock)
        bad = ferror(file) != 0
        bad = fclose(file) != 0 or bad
    if bad:
        gompy_note(b"LIBOMPTARGET_PROFILE=%s: cannot be written: %s", time_trace.path,
                   <const char *> b"not a regular file" if errno == ESPIPE else strerror(errno))
    gompy_size_end(&before, True)
    time_trace.path = NULL
