# Bytes that grow, and the records that go to the compiling process and come back (gompy/abi/nvrtc.py).

cdef struct byte_buffer:
    char *data
    size_t size, room

cdef struct byte_record:
    char letter
    const char *data
    uint64_t size

cdef enum:
    RECORD_HEAD = 9  # the letter, eight bytes of length


cdef bint append_bytes(byte_buffer *to, const void *data, size_t size) noexcept nogil:
    """More bytes, and a NUL behind them that is not counted; false without memory."""
    cdef size_t room = to.room
    cdef char *grown
    if to.size + size + 1 > room:
        room = (to.size + size + 1) * 3 // 2
        grown = <char *> realloc(to.data, room)
        if grown == NULL:
            return False
        to.data, to.room = grown, room
    if size:
        memcpy(to.data + to.size, data, size)
    to.size += size
    to.data[to.size] = 0
    return True


cdef void free_bytes(byte_buffer *buffer) noexcept nogil:
    """Nothing in it any more."""
    free(buffer.data)
    buffer.data, buffer.size, buffer.room = NULL, 0, 0


cdef bint append_record(byte_buffer *to, int letter, const char *text) noexcept nogil:
    """A record of a string; what there is of it without memory is taken back."""
    cdef uint64_t size = strlen(text)
    cdef size_t before = to.size
    cdef char kind = letter
    if append_bytes(to, &kind, 1) and append_bytes(to, &size, sizeof(size)) and append_bytes(to, text, size):
        return True
    to.size = before
    return False


cdef bint next_record(const byte_buffer *buffer, size_t *at, byte_record *found) noexcept nogil:
    """The record at a place, which moves behind it; false at the end, or if it is not whole."""
    if buffer.size - at[0] < RECORD_HEAD:
        return False
    found.letter = buffer.data[at[0]]
    memcpy(&found.size, buffer.data + at[0] + 1, sizeof(found.size))
    if found.size > buffer.size - at[0] - RECORD_HEAD:
        return False
    found.data = buffer.data + at[0] + RECORD_HEAD
    at[0] += RECORD_HEAD + found.size
    return True


cdef int memory_file() noexcept nogil:
    """An empty file in memory; -1 with errno."""
    return gompy_raised(gompy_memfd(b"gompy-nvrtc"), FIRST_FD)


cdef bint write_bytes(int fd, const byte_buffer *buffer) noexcept nogil:
    """All of it."""
    cdef size_t done = 0
    cdef ssize_t count
    while done < buffer.size:
        count = write(fd, buffer.data + done, buffer.size - done)
        if count <= 0:
            return False
        done += count
    return True


cdef bint read_bytes(int fd, byte_buffer *buffer) noexcept nogil:
    """A file from its begin."""
    cdef char part[16384]
    cdef ssize_t count
    if lseek(fd, 0, 0) != 0:
        return False
    while True:
        count = read(fd, part, sizeof(part))
        if count <= 0:
            return count == 0
        if not append_bytes(buffer, part, count):
            return False
