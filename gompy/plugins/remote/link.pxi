# A connection in use: frames out, by way of a buffer; answers in, read by whoever waits.


cdef void lose_device(RemoteDevice *d, const char *what, const void *function) noexcept nogil:
    """End the program: the worker is lost.  Function: the region that is waited for, or NULL."""
    cdef char name[400]
    cdef int i
    if exchange32(&d.lost, 1, SEQ_CST):
        while True:
            usleep(1000000)  # another thread is ending the program
    for i in range(CALLS):
        if function == NULL and d.calls[i].id != 0 and not d.calls[i].done:
            function = d.calls[i].function
    if function == NULL:
        GOMP_PLUGIN_fatal(b"remote device %d (%s): %s", d.number, <const char *>d.host, what)
    region_name(d, function, name, sizeof(name))
    GOMP_PLUGIN_fatal(b"remote device %d (%s): %s, in region %s", d.number, <const char *>d.host, what,
                      <const char *>name)


cdef const char *connection_end() noexcept nogil:
    """What errno says of a connection that can't be used."""
    if errno == ECONNRESET or errno == EPIPE:
        return remote_tls_end(b"lost: its worker has closed the connection")
    return b"lost: nothing comes through to its machine" if errno == ETIMEDOUT else b"lost: the connection has broken"


cdef size_t receive_more(RemoteDevice *d, char *to, size_t room, int flags) noexcept nogil:
    """Wait for bytes; how many have come.  MSG_WAITALL: for all of them, as long as some come."""
    cdef uint64_t since = milliseconds_now()
    cdef ssize_t n
    cdef int tries = 0
    while True:
        n = recv(d.socket.fd, to, room, flags)  # returns after SLICE_MS without any
        if n > 0:
            return <size_t>n
        if n == 0:
            lose_device(d, remote_tls_end(b"lost: its worker has closed the connection"), NULL)
        if errno == EINTR:
            continue
        if errno != EAGAIN:
            lose_device(d, connection_end(), NULL)
        tries += 1
        if milliseconds_now() - since >= lost_after() and tries > 1:
            lose_device(d, b"lost: its worker does not answer", NULL)


cdef void need_bytes(RemoteDevice *d, size_t n) noexcept nogil:
    """Have n bytes in the buffer; n fits in it."""
    if d.last - d.first >= n:
        return
    if d.first:
        memmove(d.received, d.received + d.first, d.last - d.first)
        d.last -= d.first
        d.first = 0
    while d.last < n:
        d.last += receive_more(d, d.received + d.last, IN_ROOM - d.last, 0)


cdef void read_payload(RemoteDevice *d, char *to, uint64_t size) noexcept nogil:
    """The bytes behind a frame's head: from the buffer, then from the socket."""
    cdef size_t n = d.last - d.first
    if n > size:
        n = size
    memcpy(to, d.received + d.first, n)
    d.first += n
    to += n
    size -= n
    while size >= IN_ROOM:
        n = receive_more(d, to, size, MSG_WAITALL)
        to += n
        size -= n
    if size:
        need_bytes(d, size)
        memcpy(to, d.received + d.first, size)
        d.first += size


cdef void print_output(RemoteDevice *d, remote_frame *frame) noexcept nogil:
    """What the device, or the plugin that drives it, has to say."""
    cdef char text[4097]
    cdef size_t done = 0
    cdef ssize_t n
    read_payload(d, text, frame.size)
    text[frame.size] = 0
    if frame.status == 3:
        d.errors += 1
        GOMP_PLUGIN_error(b"%s, on %s", <const char *>text, <const char *>d.host)
        return
    while done < frame.size:
        n = write(<int>frame.status, text + done, frame.size - done)
        if n < 0 and errno != EINTR:
            return
        if n > 0:
            done += <size_t>n


cdef void fail_device(RemoteDevice *d, remote_frame *frame) noexcept nogil:
    """The worker's last words.  Without any: the program is to end with the status of the device's exit."""
    cdef char text[4097]
    read_payload(d, text, frame.size)
    text[frame.size] = 0
    if frame.status & 256:
        exchange32(&d.lost, 1, SEQ_CST)
        exit(<int>(frame.status & 255))
    lose_device(d, text, NULL)


cdef void finish_call(RemoteDevice *d, remote_frame *frame) noexcept nogil:
    """An answer."""
    cdef RemoteCall *call = &d.calls[frame.id % CALLS]
    if call.id != frame.id or frame.id == 0 or call.done or frame.size > call.room:
        lose_device(d, b"lost: its worker has sent an answer to nothing", NULL)
    read_payload(d, call.to, frame.size)
    call.size = frame.size
    call.status = frame.status
    call.kind = frame.kind
    pthread_mutex_lock(&d.state_lock)
    if call.function != NULL:
        # What was written meanwhile may have come to the device after the bytes that are back were taken.
        call.changes = d.changes + 1 if call.changes == d.changes else 0
        d.flying -= 1
        d.changes += 1
    call.done = True
    pthread_cond_broadcast(&d.news)
    pthread_mutex_unlock(&d.state_lock)


cdef void read_frame(RemoteDevice *d) noexcept nogil:
    """Take one frame in.  The caller is the one who reads."""
    cdef remote_frame frame
    need_bytes(d, sizeof(frame))
    memcpy(&frame, d.received + d.first, sizeof(frame))
    d.first += sizeof(frame)
    if frame.kind == REMOTE_PONG and frame.size == 0:
        return
    if frame.kind == REMOTE_OUTPUT and frame.size <= REMOTE_TEXT and 1 <= frame.status <= 3:
        print_output(d, &frame)
    elif frame.kind == REMOTE_FAILED and frame.size <= REMOTE_TEXT:
        fail_device(d, &frame)
    elif REMOTE_INFO <= frame.kind <= REMOTE_TABLE:
        finish_call(d, &frame)
    else:
        lose_device(d, b"lost: its worker has sent what is no frame of the protocol", NULL)


cdef void send_parts(RemoteDevice *d, iovec *parts, size_t count) noexcept nogil:
    """Write it all.  The caller has the send lock."""
    cdef msghdr message
    cdef pollfd one
    cdef ssize_t n
    cdef bint reader
    cdef uint64_t since = 0
    memset(&message, 0, sizeof(message))
    while count:
        message.msg_iov = parts
        message.msg_iovlen = count
        n = sendmsg(d.socket.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
        if n < 0 and errno == EINTR:
            continue
        if n < 0 and errno != EAGAIN:
            lose_device(d, connection_end(), NULL)
        if n < 0:
            # the worker may be unable to read because nobody here does
            one.fd = d.socket.fd
            one.events = POLLOUT | POLLIN
            one.revents = 0
            if since == 0:
                since = milliseconds_now()
            if poll(&one, 1, 250) == 0 and milliseconds_now() - since >= lost_after():
                lose_device(d, b"lost: its worker takes no more", NULL)
            if one.revents & POLLOUT == 0 and one.revents & POLLIN:
                pthread_mutex_lock(&d.state_lock)
                reader = not d.reading
                if reader:
                    d.reading = True
                pthread_mutex_unlock(&d.state_lock)
                if reader:
                    read_frame(d)
                    pthread_mutex_lock(&d.state_lock)
                    d.reading = False
                    pthread_cond_broadcast(&d.news)
                    pthread_mutex_unlock(&d.state_lock)
                else:
                    usleep(200)
            continue
        since = 0
        while count and <size_t>n >= parts[0].iov_len:
            n -= <ssize_t>parts[0].iov_len
            parts += 1
            count -= 1
        if count:
            parts[0].iov_base = <char *>parts[0].iov_base + n
            parts[0].iov_len -= <size_t>n


cdef size_t take_filled(RemoteDevice *d, iovec *part) noexcept nogil:
    """What has been gathered, to be sent; the caller has the send lock.  The number of parts, 0 or 1."""
    cdef char *swapped
    pthread_mutex_lock(&d.state_lock)
    part.iov_base = d.out
    part.iov_len = d.filled
    swapped = d.out
    d.out = d.spare
    d.spare = swapped
    d.filled = 0
    pthread_mutex_unlock(&d.state_lock)
    return part.iov_len != 0


cdef void flush_frames(RemoteDevice *d) noexcept nogil:
    """Send what has been gathered."""
    cdef iovec part
    if load32(&d.lost, RELAXED):
        return
    pthread_mutex_lock(&d.send_lock)
    if take_filled(d, &part):
        send_parts(d, &part, 1)
    pthread_mutex_unlock(&d.send_lock)


cdef void post_frame(RemoteDevice *d, remote_frame *frame, const void *head, size_t head_size,
                     const void *tail, size_t tail_size) noexcept nogil:
    """Put a frame into the buffer; frame.size is made here.  A long one is sent at once, with all before it."""
    cdef iovec parts[4]
    cdef size_t total = sizeof(remote_frame) + head_size + tail_size, first
    cdef char *at
    frame.size = head_size + tail_size
    if load32(&d.lost, RELAXED):
        return
    if total <= OUT_ROOM // 2:
        while True:
            pthread_mutex_lock(&d.state_lock)
            if d.filled + total <= OUT_ROOM:
                at = d.out + d.filled
                d.filled += total
                memcpy(at, frame, sizeof(remote_frame))
                if head_size:
                    memcpy(at + sizeof(remote_frame), head, head_size)
                if tail_size:
                    memcpy(at + sizeof(remote_frame) + head_size, tail, tail_size)
                pthread_mutex_unlock(&d.state_lock)
                return
            pthread_mutex_unlock(&d.state_lock)
            flush_frames(d)
    pthread_mutex_lock(&d.send_lock)
    first = take_filled(d, &parts[0])
    parts[first].iov_base = frame
    parts[first].iov_len = sizeof(remote_frame)
    parts[first + 1].iov_base = <void *>head
    parts[first + 1].iov_len = head_size
    parts[first + 2].iov_base = <void *>tail
    parts[first + 2].iov_len = tail_size
    send_parts(d, parts, first + 3)
    pthread_mutex_unlock(&d.send_lock)


cdef RemoteCall *new_call(RemoteDevice *d, void *to, uint64_t room, const void *function, bint later) noexcept nogil:
    """A place for an answer.  NULL, for a region of nowait: there are too many."""
    cdef RemoteCall *call
    cdef int i
    pthread_mutex_lock(&d.state_lock)
    if later and d.later_calls >= LATER_CALLS:
        pthread_mutex_unlock(&d.state_lock)
        return NULL
    while d.free_call < 0:
        pthread_cond_wait(&d.news, &d.state_lock)
    i = d.free_call
    call = &d.calls[i]
    d.free_call = call.next
    d.next_call += 1
    d.later_calls += later
    if function != NULL:
        d.flying += 1
        d.changes += 1
    call.done = False
    call.to = <char *>to
    call.room = room
    call.function = function
    call.changes = d.changes
    call.id = d.next_call * CALLS + <uint64_t>i
    pthread_mutex_unlock(&d.state_lock)
    return call


cdef void end_call(RemoteDevice *d, RemoteCall *call, bint later) noexcept nogil:
    """Its answer has been read."""
    pthread_mutex_lock(&d.state_lock)
    call.id = 0
    call.next = d.free_call
    d.free_call = <int>(call - &d.calls[0])
    d.later_calls -= later
    if call.next < 0:
        pthread_cond_broadcast(&d.news)
    pthread_mutex_unlock(&d.state_lock)


cdef void await_call(RemoteDevice *d, RemoteCall *call) noexcept nogil:
    """Wait for an answer: read, or leave the reading to the thread that does."""
    pthread_mutex_lock(&d.state_lock)
    while not call.done:
        if d.reading:
            pthread_cond_wait(&d.news, &d.state_lock)
            continue
        d.reading = True
        pthread_mutex_unlock(&d.state_lock)
        while not call.done:
            read_frame(d)
        pthread_mutex_lock(&d.state_lock)
        d.reading = False
        pthread_cond_broadcast(&d.news)
    pthread_mutex_unlock(&d.state_lock)


cdef uint64_t ask_worker(RemoteDevice *d, uint32_t kind, uint64_t *words, size_t count,
                         uint32_t *status) noexcept nogil:
    """Send a call with words, and wait; the word that is its answer."""
    cdef uint64_t value = 0
    cdef remote_frame frame
    cdef RemoteCall *call
    status[0] = 1
    if load32(&d.lost, RELAXED):
        return 0
    call = new_call(d, &value, sizeof(value), NULL, False)
    frame.kind = kind
    frame.status = 0
    frame.id = call.id
    post_frame(d, &frame, words, count * sizeof(uint64_t), NULL, 0)
    flush_frames(d)
    await_call(d, call)
    status[0] = call.status
    end_call(d, call, False)
    return value


cdef void tell_worker(RemoteDevice *d, uint32_t kind, uint64_t *words, size_t count, const void *data,
                      size_t size) noexcept nogil:
    """Send what has no answer, sooner or later."""
    cdef remote_frame frame
    frame.kind = kind
    frame.status = 0
    frame.id = 0
    post_frame(d, &frame, words, count * sizeof(uint64_t), data, size)


cdef void note_change(RemoteDevice *d) noexcept nogil:
    """The device's memory will change: what came back with a region is no longer what it has."""
    pthread_mutex_lock(&d.state_lock)
    d.changes += 1
    pthread_mutex_unlock(&d.state_lock)
