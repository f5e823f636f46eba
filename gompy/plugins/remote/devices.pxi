# Devices begin and end.


cdef void free_device(RemoteDevice *d) noexcept nogil:
    """What a device's record holds."""
    free(d.out)
    free(d.spare)
    free(d.received)
    free(d.snapshot)
    free(d)


cdef RemoteDevice *new_device(const char *host, int fd) noexcept nogil:
    """A record with its buffers; NULL: no memory."""
    cdef RemoteDevice *d = <RemoteDevice *>calloc(1, sizeof(RemoteDevice))
    cdef int i
    if d == NULL:
        return NULL
    snprintf(d.host, sizeof(d.host), b"%s", host)
    gompy_keep(&d.socket, fd)
    d.out = <char *>malloc(OUT_ROOM)
    d.spare = <char *>malloc(OUT_ROOM)
    d.received = <char *>malloc(IN_ROOM)
    d.snapshot = <char *>malloc(REMOTE_SNAPSHOT)
    if d.out == NULL or d.spare == NULL or d.received == NULL or d.snapshot == NULL:
        free_device(d)
        return NULL
    pthread_mutex_init(&d.send_lock, NULL)
    pthread_mutex_init(&d.state_lock, NULL)
    pthread_mutex_init(&d.block_lock, NULL)
    pthread_cond_init(&d.news, NULL)
    for i in range(CALLS):
        d.calls[i].next = i + 1 if i + 1 < CALLS else -1
    return d


cdef bint learn_kind(RemoteDevice *d) noexcept nogil:
    """What the worker says of itself, the first that it sends.  False after a message: it is not like the others."""
    cdef uint64_t until = milliseconds_now() + 4 * <uint64_t>lost_after()
    cdef remote_frame frame
    cdef int how = exchange_all(d.socket.fd, &frame, sizeof(frame), False, until)
    cdef char text[4097]
    if how == 0 and frame.kind == REMOTE_FAILED and frame.size <= REMOTE_TEXT:
        how = exchange_all(d.socket.fd, text, frame.size, False, until)
        text[frame.size] = 0
        if how == 0:
            refuse_host(-1, d.host, text, b"")
            return False
    if how == 0 and frame.kind == REMOTE_INFO and frame.size == sizeof(remote_info):
        how = exchange_all(d.socket.fd, &d.info, sizeof(remote_info), False, until)
        if how == 0:
            d.info.name[sizeof(d.info.name) - 1] = 0
            if num_devices == 0 or d.info.type == remote_devices[0].info.type:
                return True
            refuse_host(-1, d.host, b"its device is of another kind than the first one's", b"")
            return False
    if how:
        refuse_exchange(-1, d.host, how)
    else:
        refuse_host(-1, d.host, b"its worker has sent what is no frame of the protocol", b"")
    return False


cdef void reach_host(const char *host) noexcept nogil:
    """Connect to a worker; its device is the next."""
    global num_devices
    cdef RemoteDevice *d
    cdef int fd
    if num_devices == DEVICES:
        refuse_host(-1, host, b"more than 64 devices", b"")
        return
    fd = shake_hands(host)
    if fd < 0:
        return
    d = new_device(host, fd)
    if d == NULL:
        refuse_host(fd, host, b"out of memory", b"")
        return
    if not learn_kind(d):
        close(fd)
        free_device(d)
        return
    remote_let_wait(fd)
    d.number = num_devices
    remote_devices[num_devices] = d
    num_devices += 1


cdef void reach_hosts() noexcept nogil:
    """GOMPY_REMOTE: host:port, separated by commas.  Each that answers is a device."""
    global devices_known
    cdef const char *text
    cdef const char *comma
    cdef char host[300]
    cdef size_t length
    if devices_known:
        return
    devices_known = True
    text = given_hosts if given_hosts != NULL else secure_getenv(b"GOMPY_REMOTE")
    if text == NULL or text[0] == 0:
        GOMP_PLUGIN_error(b"GOMPY_REMOTE is not set: it names the workers, as host:port,host:port")
        return
    if not read_key():
        return
    remote_watch_forks()
    while text[0]:
        comma = strchr(text, c',')
        length = <size_t>(comma - text) if comma != NULL else strlen(text)
        if length >= sizeof(host):
            GOMP_PLUGIN_error(b"GOMPY_REMOTE: an entry of %zu characters", length)
        elif length:
            snprintf(host, sizeof(host), b"%.*s", <int>length, text)
            reach_host(host)
        text += length + (comma != NULL)


cdef RemoteDevice *device_of(int number) noexcept nogil:
    """A running device; any other number is the caller's mistake and fatal."""
    if number < 0 or number >= num_devices or not remote_devices[number].running:
        GOMP_PLUGIN_fatal(b"remote device %d is not initialised", number)
    if remote_forked:
        GOMP_PLUGIN_fatal(b"remote device %d belongs to the parent of this forked process", number)
    return remote_devices[number]


cdef bint is_forwarded(const char *entry) noexcept nogil:
    """Whether a variable of the environment is for the device."""
    return strncmp(entry, b"OMP_", 4) == 0 or strncmp(entry, b"GOMP_NVPTX_*", 11) == 0 or \
        strncmp(entry, b"GOMPY_CHECK=", 12) == 0


cdef bint checks_wanted() noexcept nogil:
    """GOMPY_CHECK is set, and not to 0."""
    cdef const char *text = secure_getenv(b"GOMPY_CHECK")
    return text != NULL and text[0] != 0 and strcmp(text, b"0") != 0


cdef bint start_device(RemoteDevice *d) noexcept nogil:
    """Have the worker start its device.  False after a message of the worker's."""
    cdef char words[4096]
    cdef uint64_t value = 0
    cdef size_t used = 0, length
    cdef uint32_t errors = d.errors
    cdef remote_frame frame
    cdef RemoteCall *call
    cdef char **entry = gompy_child_environ()
    while entry != NULL and entry[0] != NULL:
        length = strlen(entry[0]) + 1
        if is_forwarded(entry[0]) and used + length <= sizeof(words):
            memcpy(words + used, entry[0], length)
            used += length
        entry += 1
    call = new_call(d, &value, sizeof(value), NULL, False)
    frame.kind = REMOTE_START
    frame.status = <uint32_t>d.number
    frame.id = call.id
    post_frame(d, &frame, words, used, NULL, 0)
    flush_frames(d)
    await_call(d, call)
    d.running = call.status == 0
    d.guard_step = value
    if not d.running and d.errors == errors:
        GOMP_PLUGIN_error(b"remote device %d (%s): its worker does not start its device and does not say why",
                          d.number, <const char *>d.host)
    if d.running and value == 0 and checks_wanted():
        GOMP_PLUGIN_error(b"remote device %d (%s): not checked: GOMPY_CHECK has to be set for its gompy device serve",
                          d.number, <const char *>d.host)
    end_call(d, call, False)
    return d.running


cdef bint start_again(RemoteDevice *d) noexcept nogil:
    """A device that was ended: another worker."""
    cdef int fd = shake_hands(d.host)
    if fd < 0:
        return False
    gompy_keep(&d.socket, fd)
    if not learn_kind(d):
        gompy_close_kept(&d.socket)
        return False
    remote_let_wait(fd)
    d.filled = 0
    d.first = 0
    d.last = 0
    d.snapshot_bytes = 0
    store32(&d.lost, 0, SEQ_CST)
    return start_device(d)


cdef void end_device(RemoteDevice *d) noexcept nogil:
    """Have the worker end its device, and itself."""
    cdef uint32_t status
    if not load32(&d.lost, SEQ_CST):
        ask_worker(d, REMOTE_BYE, NULL, 0, &status)
        exchange32(&d.lost, 1, SEQ_CST)
    d.running = False
    forget_blocks(d)
    gompy_close_kept(&d.socket)
