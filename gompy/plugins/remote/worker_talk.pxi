# What a worker sends: answers, what its device prints, its last words.

from gompy.native.descriptors cimport gompy_again, gompy_close_on_exec, gompy_pipe, gompy_place_for_child

cdef enum:
    CHUNK = 262144

cdef int client  # the socket
cdef int server_pipe  # ends when gompy device serve does
cdef pthread_mutex_t talk_lock, print_lock
cdef int printed[2]  # the read ends of the pipes that are our streams 1 and 2
cdef uint32_t busy  # calls that are being done
cdef bint introduced  # the client knows of us
cdef char reasons[4096]  # what was said before that


cdef void end_worker(int status) noexcept nogil:
    """The device's process notices it."""
    _exit(status)


cdef void send_parts(iovec *at, size_t count) noexcept nogil:
    """Write it all.  A client that has gone ends the worker."""
    cdef msghdr message
    cdef ssize_t n
    memset(&message, 0, sizeof(message))
    pthread_mutex_lock(&talk_lock)
    while count:
        message.msg_iov = at
        message.msg_iovlen = count
        n = sendmsg(client, &message, MSG_NOSIGNAL)
        if n < 0 and errno == EINTR:
            continue
        if n < 0:
            end_worker(1)
        while count and <size_t>n >= at.iov_len:
            n -= <ssize_t>at.iov_len
            at += 1
            count -= 1
        if count:
            at.iov_base = <char *>at.iov_base + n
            at.iov_len -= <size_t>n
    pthread_mutex_unlock(&talk_lock)


cdef void send_answer(remote_frame *frame, const void *data, size_t size) noexcept nogil:
    """Send a frame."""
    cdef iovec parts[2]
    frame.size = size
    parts[0].iov_base = frame
    parts[0].iov_len = sizeof(remote_frame)
    parts[1].iov_base = <void *>data
    parts[1].iov_len = size
    send_parts(parts, 2 if size else 1)


cdef void send_frames(remote_frame *frames, size_t count) noexcept nogil:
    """Send frames that are their heads only."""
    cdef iovec part
    part.iov_base = frames
    part.iov_len = count * sizeof(remote_frame)
    send_parts(&part, 1)


cdef void send_word(uint64_t id, uint32_t status, uint64_t word) noexcept nogil:
    """An answer that is a word."""
    cdef remote_frame frame
    frame.kind = REMOTE_ANSWER
    frame.status = status
    frame.id = id
    send_answer(&frame, &word, sizeof(word))


cdef void send_text(uint32_t kind, uint32_t status, const char *text, size_t size) noexcept nogil:
    cdef remote_frame frame
    frame.kind = kind
    frame.status = status
    frame.id = 0
    send_answer(&frame, text, size)


cdef bint pass_printed(int timeout) noexcept nogil:
    """Send what the device has printed.  False: both streams have ended."""
    cdef pollfd fds[2]
    cdef char text[4096]
    cdef ssize_t n
    cdef int i
    cdef bint more = True
    for i in range(2):
        fds[i].fd = printed[i]
        fds[i].events = POLLIN
        fds[i].revents = 0
    if poll(fds, 2, timeout) <= 0:
        return True
    pthread_mutex_lock(&print_lock)
    while more:
        more = False
        if poll(fds, 2, 0) <= 0:
            break
        for i in range(2):
            if fds[i].revents & POLLIN:
                n = read(printed[i], text, sizeof(text))
                if n > 0:
                    send_text(REMOTE_OUTPUT, <uint32_t>(i + 1), text, <size_t>n)
                    more = True
            elif fds[i].revents:
                fds[i].fd = -1
                printed[i] = -1
    pthread_mutex_unlock(&print_lock)
    return printed[0] >= 0 or printed[1] >= 0


cdef void *pump_printed(void *arg) noexcept nogil:
    """The thread that sends what is printed while nobody asks."""
    while pass_printed(-1):
        pass
    return NULL


cdef void *send_beats(void *arg) noexcept nogil:
    """The thread by which the client knows, while it waits, that we live; it ends us when the server has ended."""
    cdef remote_frame frame
    cdef pollfd server
    memset(&frame, 0, sizeof(frame))
    frame.kind = REMOTE_PONG
    server.fd = server_pipe
    server.events = POLLIN
    while True:
        server.revents = 0
        if poll(&server, 1, 250) > 0:
            end_worker(1)
        if introduced and load32(&busy, RELAXED):
            send_answer(&frame, NULL, 0)
    return NULL


cdef void take_leave(int status) noexcept nogil:
    """End when the client has read all that was sent: unread bytes of it would take ours back."""
    cdef char rest[4096]
    cdef pollfd one
    cdef int i
    shutdown(client, SHUT_WR)
    one.fd = client
    one.events = POLLIN
    for i in range(200):
        one.revents = 0
        if poll(&one, 1, 100) > 0 and recv(client, rest, sizeof(rest), MSG_DONTWAIT) <= 0:
            break
    end_worker(status)


cdef extern from *:
    """
    static void remote_say (int fatal, const char *format, va_list arguments);
    void
    GOMP_PLUGIN_error (const char *format, ...)
    {
      va_list arguments;
      va_start (arguments, format);
      remote_say (0, format, arguments);
      va_end (arguments);
    }
    void
    GOMP_PLUGIN_fatal (const char *format, ...)
    {
      va_list arguments;
      va_start (arguments, format);
      remote_say (1, format, arguments);
      va_end (arguments);
      _exit (1);
    }
    void GOMP_PLUGIN_debug (int kind, const char *format, ...) { (void) kind, (void) format; }
    void *GOMP_PLUGIN_goacc_thread (void) { return NULL; }
    static void remote_pass_on (int fatal, const char *text, uint64_t size);
    static void
    remote_say (int fatal, const char *format, va_list arguments)
    {
      char text[REMOTE_TEXT];
      int size = vsnprintf (text, sizeof text, format, arguments);
      remote_pass_on (fatal, text, size < 0 ? 0 : size < (int) sizeof text ? (uint64_t) size : sizeof text - 1);
    }
    """


cdef void pass_on "remote_pass_on"(int fatal, const char *text, uint64_t size) noexcept nogil:
    """What the plugin says: to the client."""
    if not introduced:
        snprintf(reasons, sizeof(reasons), b"%s", text)
        if not fatal:
            return
    pass_printed(0)
    if not fatal:
        send_text(REMOTE_OUTPUT, 3, text, size)
        return
    send_text(REMOTE_FAILED, 0, text, size)
    take_leave(1)


cdef extern from "<stdlib.h>" nogil:
    int on_exit(void (*)(int, void *) noexcept nogil, void *)


cdef void tell_exit(int status, void *arg) noexcept nogil:
    """exit was called for us: a region has, and its program ends so (Fortran's stop under OpenACC)."""
    pass_printed(0)
    send_text(REMOTE_FAILED, <uint32_t>(256 | status & 255), NULL, 0)
    take_leave(status)


cdef bint open_streams() noexcept nogil:
    """Our streams 1 and 2 become pipes that we read; the device's process has them from us.

    On 0 the server tells that the client has heard of us, and later of its own end.
    """
    global server_pipe
    cdef int ends[2]
    cdef int i
    cdef char go
    if read(0, &go, 1) != 1:
        end_worker(1)
    server_pipe = gompy_again(0, 3)
    if server_pipe < 0 or gompy_place_for_child(-1, 0) < 0:
        return False
    gompy_close_on_exec(server_pipe)
    for i in range(2):
        if gompy_pipe(ends) != 0:
            return False
        printed[i] = ends[0]
        if gompy_place_for_child(ends[1], i + 1) < 0:
            return False
        close(ends[1])
    return True
