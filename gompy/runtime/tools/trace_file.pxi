# The file that GOMPY_TRACE_FILE asks for: events in the JSON array form of Chrome's trace viewer and Perfetto.  Each
# write ends with the array's end, and the next one begins on top of that, so the file is whole whenever the program is
# killed.

from posix.unistd cimport ftruncate, getpid

from gompy.native.clock cimport now_ns

cdef extern from *:
    """
    #include <sys/syscall.h>
    static int gompy_tid (void) { return (int) syscall (SYS_gettid); }
    """
    int gompy_tid() noexcept nogil
    int STT_OBJECT

cdef extern from "tools/file_of_code.h" nogil:
    enum:
        PATH_MAX
    bint gompy_file_of_code(const void *at, char *path, uintptr_t *there)

cdef enum:
    TRACE_BUFFER = 1 << 16
    TRACE_LINE = 2048
    TRACE_LIMIT = 1 << 28  # bytes of the file
    TRACE_LAST = 100  # of these, for the event that says so
    TRACE_NAMES = 1024  # that are kept
    TRACE_THREADS = 256
    TRACE_LATENCY = 1000000  # nanoseconds that events stay in the buffer when a directive ends
    DEVICE_PID = 1000000  # in the trace a device is a process of its own: this and its number
    QUEUE_TID = 1000000

cdef struct TraceName:
    const void *at
    char *text

cdef struct TraceTrack:
    int pid
    int tid

cdef struct TraceFile:
    gompy_written file
    int pid
    bint over
    size_t used
    size_t end  # of the file, without the array's end
    uint64_t begin
    uint64_t flushed
    int num_tracks
    int num_names
    pthread_mutex_t lock  # zeros: PTHREAD_MUTEX_INITIALIZER
    char *buffer
    TraceTrack tracks[256]  # TRACE_THREADS
    TraceName names[1024]  # TRACE_NAMES

cdef TraceFile trace_file


cdef void trace_flush() noexcept nogil:
    """Write what is in the buffer.  The lock is held."""
    cdef size_t size = trace_file.used + 3
    cdef size_t done = 0
    cdef ssize_t n = 1
    cdef int why, fd
    if trace_file.used == 0 or trace_file.over:
        return
    fd = gompy_fd_of_written(&trace_file.file)
    memcpy(trace_file.buffer + trace_file.used, b"\n]\n", 3)
    while done < size and n > 0:
        n = gompy_pwrite(fd, trace_file.buffer + done, size - done, <long> (trace_file.end + done))
        done += n if n > 0 else 0
    if done < size:
        why = errno if n < 0 else ENOSPC
        trace_file.over = True
        trace_file.used = 0
        # What was written in part goes, and the array's end comes back to where there was room for it.
        if fd >= 0 and ftruncate(fd, <long> trace_file.end) == 0:
            gompy_pwrite(fd, b"\n]\n", 3, <long> trace_file.end)
        gompy_note(b"the trace ends here: %s", strerror(why))
        return
    trace_file.end += trace_file.used
    trace_file.used = 0
    trace_file.flushed = now_ns()


cdef void trace_append(const char *text, size_t size) noexcept nogil:
    """One event, as long as the file has room.  The lock is held."""
    cdef const char *last = b"{\"ph\": \"M\", \"name\": \"gompy_limit\", \"pid\": 0, \"tid\": 0, \"args\": {}}"
    if trace_file.over or size >= TRACE_LINE:
        return
    if trace_file.end + trace_file.used + size + TRACE_LAST > TRACE_LIMIT:
        trace_put(last, strlen(last))
        trace_flush()
        trace_file.over = True
        gompy_note(b"the trace ends here: it has %d MiB", TRACE_LIMIT >> 20)
        return
    trace_put(text, size)


cdef void trace_put(const char *text, size_t size) noexcept nogil:
    """One event into the buffer.  The lock is held."""
    if trace_file.used + size + 8 > TRACE_BUFFER:
        trace_flush()
        if trace_file.over:
            return
    if trace_file.end + trace_file.used > 2:
        memcpy(trace_file.buffer + trace_file.used, b",\n", 2)
        trace_file.used += 2
    memcpy(trace_file.buffer + trace_file.used, text, size)
    trace_file.used += size


cdef size_t utf8_size(const unsigned char *text) noexcept nogil:
    """The bytes of the character beyond ASCII that a text begins with; 0: it is none of UTF-8's (RFC 3629)."""
    cdef unsigned char first = text[0]
    cdef unsigned char second = text[1] if first else 0
    cdef size_t i, n = 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2
    if first < 0xC2 or first > 0xF4 or first == 0xE0 and second < 0xA0 or first == 0xED and second > 0x9F or \
            first == 0xF0 and second < 0x90 or first == 0xF4 and second > 0x8F:
        return 0
    for i in range(1, n):
        if text[i] & 0xC0 != 0x80:
            return 0
    return n


cdef void trace_escape(char *to, size_t room, const char *text) noexcept nogil:
    """The inside of a JSON string; bytes that are not UTF-8 become question marks."""
    cdef size_t used = 0, n
    cdef char c
    while text[0] and used + 7 < room:
        c = text[0]
        n = utf8_size(<const unsigned char *> text)
        if n:
            memcpy(to + used, text, n)
            used += n
            text += n
            continue
        if 0 < c < 32:  # a path may have line breaks
            used += snprintf(to + used, room - used, b"\\u%04x", c)
            text += 1
            continue
        if c == c'"' or c == c'\\':
            to[used] = c'\\'
            used += 1
        to[used] = c if 32 <= c < 127 else c'?'
        used += 1
        text += 1
    to[used] = 0


# --- names
# -------------------------------------------------------------------------------------------------------------------

cdef void find_trace_name(const void *at, int kind, char *to, size_t room) noexcept nogil:
    cdef char name[400]
    cdef uint64_t offset = 0
    cdef Dl_info info
    cdef const char *entry = name_of_entry(at)  # of clang's regions, which are no functions of the program's
    if entry != NULL:
        trace_escape(to, room, entry)
    elif gompy_symbol_of_host(<uint64_t> at, kind, name, sizeof(name), &offset):
        gompy_readable_name(name, sizeof(name))
        trace_escape(to, room, name)
    elif kind == STT_FUNC and dladdr(at, &info) and info.dli_fname != NULL:
        snprintf(to, room, b"%p", at)
    else:
        to[0] = 0


cdef const char *trace_name(const void *at, int kind) noexcept nogil:
    """The function or variable at an address, escaped; empty for memory without a name.  The lock is held."""
    cdef char text[800]
    cdef int i
    for i in range(trace_file.num_names):
        if trace_file.names[i].at == at:
            return trace_file.names[i].text
    find_trace_name(at, kind, text, sizeof(text))
    if trace_file.num_names == TRACE_NAMES:
        for i in range(TRACE_NAMES):
            free(trace_file.names[i].text)
        trace_file.num_names = 0
    i = trace_file.num_names
    trace_file.names[i].at = at
    trace_file.names[i].text = strdup(text)
    if trace_file.names[i].text == NULL:
        return b""
    trace_file.num_names += 1
    return trace_file.names[i].text


cdef void trace_place(const void *at, char *to, size_t room) noexcept nogil:
    """`"at": "FILE+0xOFFSET", ` of an address in code, for `gompy trace`; empty where it is not known."""
    cdef char file[PATH_MAX]
    cdef char path[700]
    cdef uintptr_t there = 0
    to[0] = 0
    if gompy_file_of_code(at, file, &there):
        trace_escape(path, sizeof(path), file)
        snprintf(to, room, b"\"at\": \"%s+%#lx\", ", path, <unsigned long> there)


cdef void construct_name(const Construct *construct, char *to, size_t room) noexcept nogil:
    """`target main._omp_fn.0`, `target update in main`.  The lock is held."""
    if construct.region != NULL:
        snprintf(to, room, b"%s %s", construct.what, trace_name(construct.region, STT_FUNC))
    elif construct.where != NULL:
        snprintf(to, room, b"%s in %s", construct.what, trace_name(construct.where, STT_FUNC))
    else:
        snprintf(to, room, b"%s", construct.what)


# --- tracks
# ------------------------------------------------------------------------------------------------------------------

cdef void name_track(int pid, int tid, const char *process, const char *thread) noexcept nogil:
    """Tell a track's name at its first event.  The lock is held."""
    cdef char line[TRACE_LINE]
    cdef int i
    cdef bint known = False
    for i in range(trace_file.num_tracks):
        if trace_file.tracks[i].pid == pid:
            if trace_file.tracks[i].tid == tid:
                return
            known = True
    if trace_file.num_tracks == TRACE_THREADS:
        return
    trace_file.tracks[trace_file.num_tracks].pid = pid
    trace_file.tracks[trace_file.num_tracks].tid = tid
    trace_file.num_tracks += 1
    if not known:
        trace_append(line, snprintf(line, sizeof(line), b"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, "
                                    b"\"tid\": %d, \"args\": {\"name\": \"%s\"}}", pid, tid, process))
    trace_append(line, snprintf(line, sizeof(line), b"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, "
                                b"\"tid\": %d, \"args\": {\"name\": \"%s\"}}", pid, tid, thread))


cdef void trace_track(const HookEvent *event, int *pid, int *tid) noexcept nogil:
    """Which track an event stands on: its thread's, or, of copies and launches, the device's.  The lock is held."""
    cdef char process[100]
    cdef char thread[100]
    pid[0] = trace_file.pid
    tid[0] = gompy_tid()
    if event.device >= 0 and event.kind & (HOOK_COPY | HOOK_LAUNCH):
        pid[0] = DEVICE_PID + event.device
        snprintf(process, sizeof(process), b"device %d (%s)", event.device, event.device_name)
        if event.queue != NULL:
            tid[0] = QUEUE_TID + trace_queue(event)
            snprintf(thread, sizeof(thread), b"queue %d", tid[0] - QUEUE_TID)
        else:
            snprintf(thread, sizeof(thread), b"work for thread %d", tid[0])
    else:
        snprintf(process, sizeof(process), b"host")
        snprintf(thread, sizeof(thread), b"thread %d", tid[0])
    name_track(pid[0], tid[0], process, thread)


cdef int trace_queue(const HookEvent *event) noexcept nogil:
    """The program's number of a queue: that of async (n), -1 for async without one; -2 for one that has gone."""
    cdef DeviceDescr *dev = &devices[event.device]
    cdef int i
    for i in range(dev.num_queues):
        if dev.queues[i] == event.queue:
            return i - 1
    return -2


# --- events
# ------------------------------------------------------------------------------------------------------------------

cdef size_t trace_arguments(const HookEvent *event, char *to, size_t room) noexcept nogil:
    """The members of an event's `args`.  The lock is held."""
    cdef char of[600]
    cdef const char *name
    cdef size_t used = 0
    if event.kind == HOOK_FALLBACK:
        return snprintf(
            to, room, b"\"reason\": \"%s\", \"region\": \"%s\"", event.reason, trace_name(event.region, STT_FUNC)
        )
    if event.kind == HOOK_LAUNCH:
        return snprintf(to, room, b"\"region\": \"%s\", \"device\": %d%s", trace_name(event.region, STT_FUNC),
                        event.device,
                        <const char *> b"" if event.detail == LAUNCH_NOW else <const char *> b", \"later\": true")
    used = snprintf(to, room, b"\"device\": %d", event.device)
    if event.kind & (HOOK_COPY | HOOK_ALLOC | HOOK_MAP):
        used += snprintf(to + used, room - used, b", \"size\": %zu", event.size)
    if event.kind & (HOOK_COPY | HOOK_MAP):
        used += snprintf(
            to + used, room - used, b", \"bytes\": %zu, \"host\": \"%#lx\"", event.bytes, <unsigned long> event.host
        )
        name = trace_name(<void *> event.host, STT_OBJECT)
        if name[0]:
            used += snprintf(to + used, room - used, b", \"variable\": \"%.200s\"", name)
    if event.kind & (HOOK_COPY | HOOK_MAP | HOOK_ALLOC | HOOK_FREE):
        used += snprintf(to + used, room - used, b", \"target\": \"%#lx\"", <unsigned long> event.target)
    if event.kind == HOOK_MAP:
        used += snprintf(
            to + used, room - used, b", \"map\": \"%s\", \"count\": %lu", event.map_words, <unsigned long> event.count
        )
    if event.construct != NULL:
        construct_name(event.construct, of, sizeof(of))
        used += snprintf(to + used, room - used, b", \"of\": \"%.500s\"", of)
    if not event.good:
        used += snprintf(to + used, room - used, b", \"failed\": true")
    return used


cdef const char *trace_word(const HookEvent *event) noexcept nogil:
    """What an event is called that has no name of the program's."""
    if event.kind == HOOK_ALLOC:
        return b"alloc"
    if event.kind == HOOK_FREE:
        return b"free"
    if event.kind == HOOK_FALLBACK:
        return b"region on the host"
    if event.detail == COPY_TO_DEVICE:
        return b"copy to device"
    if event.detail == COPY_TO_HOST:
        return b"copy to host"
    if event.detail == COPY_WITHIN:
        return b"copy on device"
    if event.detail == IMAGE_LOAD:
        return b"load image"
    if event.detail == IMAGE_UNLOAD:
        return b"unload image"
    if event.detail == DEVICE_INIT:
        return b"start device"
    if event.detail == DEVICE_FINI:
        return b"end device"
    if event.detail == QUEUE_MAKE:
        return b"new queue"
    if event.detail == QUEUE_DROP:
        return b"end queue"
    if event.detail == QUEUE_WAIT:
        return b"wait"
    if event.detail == QUEUE_ORDER:
        return b"order queues"
    return map_state_word(event.detail)


cdef const char *map_state_word(int detail) noexcept nogil:
    """What became of an entry."""
    if detail == MAP_NEW:
        return b"new"
    if detail == MAP_PRESENT:
        return b"present"
    if detail == MAP_KEPT:
        return b"kept"
    if detail == MAP_REMOVED:
        return b"removed"
    if detail == MAP_UPDATED:
        return b"updated"
    if detail == MAP_OWN:
        return b"firstprivate"
    if detail == MAP_ATTACHED:
        return b"attached"
    return b"not present"


cdef void trace_nested(HookEvent *event, int pid, int tid, uint64_t now) noexcept nogil:
    """The begin or the end of what shows even if the program ends in it.  The lock is held."""
    cdef char line[TRACE_LINE]
    cdef char name[700]
    cdef char at[800]
    cdef char arguments[900]
    cdef double time = <double> (now - trace_file.begin) / 1000
    if event.phase == PHASE_END:
        trace_append(
            line,
            snprintf(line, sizeof(line), b"{\"ph\": \"E\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f}", pid, tid, time)
        )
        return
    at[0] = 0
    arguments[0] = 0
    if event.kind == HOOK_CONSTRUCT:
        construct_name(event.construct, name, sizeof(name))
        trace_place(event.construct.where, at, sizeof(at))
        snprintf(arguments, sizeof(arguments), b"\"device\": %d", event.device)
    else:
        snprintf(name, sizeof(name), b"%s", trace_name(event.region, STT_FUNC) if event.kind == HOOK_LAUNCH
                 else <const char *> b"region on the host")
        trace_arguments(event, arguments, sizeof(arguments))
    trace_append(line, snprintf(line, sizeof(line),
                                b"{\"ph\": \"B\", \"name\": \"%s\", \"cat\": \"%s\", \"pid\": %d, \"tid\": %d, "
                                b"\"ts\": %.3f, \"args\": {%s%s}}", name, trace_category(
                                    event.kind
                                ), pid, tid, time, at,
                                arguments))


cdef const char *trace_category(int kind) noexcept nogil:
    if kind == HOOK_CONSTRUCT:
        return b"construct"
    if kind == HOOK_FALLBACK:
        return b"fallback"
    if kind == HOOK_LAUNCH:
        return b"launch"
    if kind == HOOK_COPY:
        return b"copy"
    if kind == HOOK_MAP:
        return b"map"
    if kind & (HOOK_ALLOC | HOOK_FREE):
        return b"memory"
    if kind == HOOK_IMAGE:
        return b"image"
    return b"queue" if kind == HOOK_QUEUE else b"device"


cdef void trace_whole(HookEvent *event, int slot, int pid, int tid, uint64_t now) noexcept nogil:
    """An event with its duration, or without one.  The lock is held."""
    cdef char line[TRACE_LINE]
    cdef char arguments[1200]
    cdef uint64_t begin = event.own[slot] if event.phase == PHASE_END else now
    trace_arguments(event, arguments, sizeof(arguments))
    if event.phase == PHASE_ONCE:
        trace_append(line, snprintf(line, sizeof(line),
                                    b"{\"ph\": \"i\", \"s\": \"t\", \"name\": \"%s\", \"cat\": \"%s\", "
                                    b"\"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"args\": {%s}}", trace_word(event),
                                    trace_category(event.kind), pid, tid, <double> (begin - trace_file.begin) / 1000,
                                    arguments))
    else:
        trace_append(line, snprintf(line, sizeof(line),
                                    b"{\"ph\": \"X\", \"name\": \"%s\", \"cat\": \"%s\", \"pid\": %d, "
                                    b"\"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {%s}}", trace_word(event),
                                    trace_category(event.kind), pid, tid, <double> (begin - trace_file.begin) / 1000,
                                    <double> (now - begin) / 1000, arguments))


cdef void trace_hook(HookEvent *event, int slot) noexcept nogil:
    """An event for the file.  Not in a forked child, whose events would come between the parent's."""
    cdef uint64_t now = now_ns()
    cdef int pid, tid
    if getpid() != trace_file.pid:
        return
    if event.phase == PHASE_BEGIN:
        event.own[slot] = now
        if not event.kind & (HOOK_CONSTRUCT | HOOK_LAUNCH | HOOK_FALLBACK):
            return
    pthread_mutex_lock(&trace_file.lock)
    trace_track(event, &pid, &tid)
    if event.kind & (HOOK_CONSTRUCT | HOOK_LAUNCH | HOOK_FALLBACK):
        trace_nested(event, pid, tid, now)
    else:
        trace_whole(event, slot, pid, tid, now)
    # A region may be the program's end.
    cdef bint begins = event.kind != HOOK_CONSTRUCT and event.phase == PHASE_BEGIN
    cdef bint ends = gompy_checking and event.kind == HOOK_CONSTRUCT and event.phase == PHASE_END
    if ends:
        gompy_log_flush()  # gompy run --show-maps reads both
    if begins or ends or now - trace_file.flushed > <uint64_t> TRACE_LATENCY:
        trace_flush()
    pthread_mutex_unlock(&trace_file.lock)


cdef void begin_trace() noexcept nogil:
    """GOMPY_TRACE_FILE=/file: open it, and subscribe."""
    cdef const char *path = trace_path()
    cdef int fd
    if path == NULL:
        return
    if path[0] != c'/':
        gompy_note(b"GOMPY_TRACE_FILE=%s: not an absolute path; no trace is written", path)
        return
    trace_file.buffer = <char *> malloc(TRACE_BUFFER + 16)
    fd = gompy_open_to_replace(path) if trace_file.buffer != NULL else -1
    if not gompy_begin_written(&trace_file.file, path, fd, O_WRONLY) or gompy_pwrite(fd, b"[\n]\n", 4, 0) != 4:
        gompy_note(b"GOMPY_TRACE_FILE=%s: cannot be written: %s", path,
                   <const char *> b"not a regular file" if errno == ESPIPE else strerror(errno))
        return
    trace_file.pid = getpid()
    trace_file.end = 2
    trace_file.begin = now_ns()
    trace_file.flushed = trace_file.begin
    gompy_subscribe(HOOK_ALL, trace_hook)


cdef void end_trace() noexcept nogil:
    """The program ends."""
    if trace_file.end and getpid() == trace_file.pid:
        pthread_mutex_lock(&trace_file.lock)
        trace_flush()
        pthread_mutex_unlock(&trace_file.lock)
