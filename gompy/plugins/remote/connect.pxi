# A connection and its handshake.

cdef extern from "<netdb.h>" nogil:
    int AF_UNSPEC
    struct addrinfo:
        int ai_family
        int ai_socktype
        sockaddr *ai_addr
        unsigned ai_addrlen
        addrinfo *ai_next
    int getaddrinfo(const char *, const char *, const addrinfo *, addrinfo **)
    void freeaddrinfo(addrinfo *)
    const char *gai_strerror(int)

cdef extern from "<sys/random.h>" nogil:
    ssize_t getrandom(void *, size_t, unsigned)

cdef extern from "tls.h" nogil:
    int remote_tls_begin(int network, const char *name, const char *ca, uint64_t until_ns, char *why, size_t room)
    const char *remote_tls_end(const char *text)


cdef int refuse_host(int fd, const char *host, const char *what, const char *why) noexcept nogil:
    """Say why a host gives no device."""
    if fd >= 0:
        close(fd)
    GOMP_PLUGIN_error(b"remote device %s: %s%s", host, what, why)
    return -1


cdef bint await_socket(int fd, short events, uint64_t until) noexcept nogil:
    """Whether a socket can be read or written before a time."""
    cdef pollfd one
    cdef uint64_t now = milliseconds_now()
    cdef int ready = 0
    one.fd = fd
    one.events = events
    one.revents = 0
    while now < until:
        ready = poll(&one, 1, <int>(until - now))
        if ready > 0:
            return True
        if ready < 0 and errno != EINTR:
            return False
        now = milliseconds_now()
    return False


cdef int exchange_all(int fd, void *data, size_t size, bint sending, uint64_t until) noexcept nogil:
    """Send or receive so many bytes before a time.  0; 1: silence; 2: the other end has closed; -1: errno tells."""
    cdef char *at = <char *>data
    cdef ssize_t n
    cdef iovec part
    cdef msghdr message
    while size:
        if sending:
            memset(&message, 0, sizeof(message))
            part.iov_base = at
            part.iov_len = size
            message.msg_iov = &part
            message.msg_iovlen = 1
            n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
        else:
            n = recv(fd, at, size, MSG_DONTWAIT)
        if n == 0:
            return 2
        if n > 0:
            at += n
            size -= <size_t>n
        elif errno == EAGAIN:
            if not await_socket(fd, POLLOUT if sending else POLLIN, until):
                return 1
        elif errno != EINTR:
            return -1
    return 0


cdef int open_address(const addrinfo *address, uint64_t until) noexcept nogil:
    """A connected socket, or an error's number, negative."""
    cdef int fd = gompy_socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK)
    cdef int error = 0
    cdef unsigned size = sizeof(error)
    if fd < 0:
        return -errno
    if connect(fd, address.ai_addr, address.ai_addrlen) == 0:
        return fd
    error = errno
    if error == EINPROGRESS:
        if not await_socket(fd, POLLOUT, until):
            error = ETIMEDOUT
        elif getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0:
            error = errno
    if error == 0:
        return fd
    close(fd)
    return -error


cdef int open_connection(const char *host, char *name, size_t room, uint64_t until) noexcept nogil:
    """Connect to ``host:port``, ``[address]:port``; ``name`` becomes the host's.  -1 after a message."""
    cdef addrinfo wanted
    cdef addrinfo *found = NULL
    cdef addrinfo *at
    cdef const char *port = strrchr(host, c':')
    cdef const char *start = host
    cdef size_t length
    cdef int fd, error
    if port == NULL or port == host or port[1] == 0:
        return refuse_host(-1, host, b"GOMPY_REMOTE needs host:port", b"")
    length = <size_t>(port - host)
    if host[0] == c'[' and (port - 1)[0] == c']':
        start += 1
        length -= 2
    snprintf(name, room, b"%.*s", <int>length, start)
    memset(&wanted, 0, sizeof(wanted))
    wanted.ai_family = AF_UNSPEC
    wanted.ai_socktype = SOCK_STREAM
    error = getaddrinfo(name, port + 1, &wanted, &found)
    if error:
        return refuse_host(-1, host, b"cannot look its name up: ", gai_strerror(error))
    at = found
    fd = -ETIMEDOUT
    while at != NULL and fd < 0:
        fd = open_address(at, until)
        at = at.ai_next
    freeaddrinfo(found)
    if fd < 0:
        return refuse_host(-1, host, b"cannot connect: ", strerror(-fd))
    return fd


cdef const char *wanted_authority() noexcept nogil:
    """The file of GOMPY_REMOTE_CA, or NULL: there is no TLS."""
    cdef const char *ca = secure_getenv(b"GOMPY_REMOTE_CA") if given_hosts == NULL else NULL
    return ca if ca != NULL and ca[0] else NULL


cdef int encrypt_connection(int fd, const char *host, const char *name, uint64_t until) noexcept nogil:
    """GOMPY_REMOTE_CA: TLS, with certificates that these have signed.  The descriptor to use; -1 after a message."""
    cdef const char *ca = wanted_authority()
    cdef char why[600]
    if ca == NULL:
        return fd
    fd = remote_tls_begin(fd, name, ca, until * 1000000, why, sizeof(why))
    return fd if fd >= 0 else refuse_host(-1, host, why, b"")


cdef int refuse_exchange(int fd, const char *host, int how) noexcept nogil:
    """A part of the handshake has failed."""
    cdef const char *ca = wanted_authority()
    if how == 1:
        return refuse_host(fd, host, b"no answer: no gompy device serve there?",
                           b"" if ca != NULL else b" If it is one with --tls-cert, set GOMPY_REMOTE_CA")
    if how == 2:
        return refuse_host(fd, host, b"it closed the connection during the handshake", b"")
    return refuse_host(fd, host, b"handshake: ", strerror(errno))


cdef void prove_token(const char *role, const unsigned char *theirs, const unsigned char *ours,
                      unsigned char *mac) noexcept nogil:
    """What only somebody who knows the token can say to these nonces: gompy/remote/handshake.py, ``code``."""
    cdef unsigned char key[GOMPY_BLAKE_KEY]
    cdef unsigned char text[128]
    cdef size_t length = strlen(role), size = key_size
    if size <= sizeof(key):
        memcpy(key, remote_key, size)
    else:
        gompy_blake(remote_key, size, key)
        size = GOMPY_DIGEST
    memcpy(text, role, length)
    memcpy(text + length, theirs, REMOTE_NONCE)
    memcpy(text + length + REMOTE_NONCE, ours, REMOTE_NONCE)
    gompy_keyed_blake(key, size, text, length + 2 * REMOTE_NONCE, mac)


cdef int shake_hands(const char *host) noexcept nogil:
    """A connection to a worker that knows the token and has seen that we do.  -1 after a message."""
    cdef uint64_t until = milliseconds_now() + lost_after()
    cdef remote_greeting greeting
    cdef remote_claim claim
    cdef remote_verdict verdict
    cdef unsigned char mac[32]
    cdef char name[300]
    cdef int fd = open_connection(host, name, sizeof(name), until), how
    if fd < 0:
        return -1
    tune_socket(fd, lost_after())
    fd = encrypt_connection(fd, host, name, until)
    if fd < 0:
        return -1
    how = exchange_all(fd, &greeting, sizeof(greeting), False, until)
    if how:
        return refuse_exchange(fd, host, how)
    if greeting.magic != REMOTE_MAGIC:
        return refuse_host(fd, host, b"what answers there is no gompy device serve", b"")
    if greeting.version != REMOTE_VERSION:
        return refuse_host(fd, host, b"its gompy speaks another version of the protocol", b"")
    memset(&claim, 0, sizeof(claim))
    claim.magic = REMOTE_MAGIC
    claim.version = REMOTE_VERSION
    if getrandom(claim.nonce, REMOTE_NONCE, 0) != <ssize_t>REMOTE_NONCE:
        return refuse_host(fd, host, b"no random numbers: ", strerror(errno))
    prove_token(b"client", greeting.nonce, claim.nonce, claim.mac)
    how = exchange_all(fd, &claim, sizeof(claim), True, until)
    if how == 0:
        how = exchange_all(fd, &verdict, sizeof(verdict), False, until)
    if how:
        return refuse_exchange(fd, host, how)
    if verdict.refused == REMOTE_WRONG_TOKEN:
        return refuse_host(fd, host, b"wrong token (GOMPY_REMOTE_TOKEN_FILE)", b"")
    if verdict.refused == REMOTE_OTHER_VERSION:
        return refuse_host(fd, host, b"its gompy speaks another version of the protocol", b"")
    if verdict.refused != REMOTE_ACCEPTED:
        return refuse_host(fd, host, b"it cannot start a worker; its own output tells why", b"")
    prove_token(b"server", greeting.nonce, claim.nonce, mac)
    if not gompy_codes_equal(mac, verdict.mac, REMOTE_MAC):
        return refuse_host(fd, host, b"it does not know the token (GOMPY_REMOTE_TOKEN_FILE)", b"")
    return fd


cdef extern from *:
    """
    #define SLICE_MS 200
    /* From now on calls wait, those that receive for a slice of time.  */
    static void
    remote_let_wait (int fd)
    {
      struct timeval slice = { 0, SLICE_MS * 1000 };
      int off = 0;
      ioctl (fd, FIONBIO, &off);
      setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
    }
    """
    void remote_let_wait(int fd) nogil
