# The line that GOMPY_STATS asks for.


cdef void write_stats(const char *where) noexcept nogil:
    """One line to stderr, or appended to a file if `where` is an absolute path."""
    cdef char line[4096]
    cdef size_t room = sizeof(line) - 2
    cdef size_t used
    cdef int i, fd
    used = snprintf(line, room, b"libgompy: regions: ")
    for i in range(num_devices_openmp):
        if used < room:
            used += snprintf(line + used, room - used, b"%lu on device %d (%s), ",
                             <unsigned long> gompy_read_count(&devices[i].launches), i, devices[i].name)
    if used < room:
        used += snprintf(line + used, room - used, b"%lu on the host", <unsigned long> gompy_read_count(&host_regions))
    if used < room and first_host_reason != NULL:
        used += snprintf(line + used, room - used, b": %s", first_host_reason)
    if used > room:
        used = room
    line[used] = c'\n'
    used += 1
    if where[0] == c'/':
        fd = gompy_open_to_append(where)
        if fd < 0 or gompy_write(fd, line, used) != <ssize_t> used:
            gompy_note(b"GOMPY_STATS=%s: cannot be written: %s", where, strerror(errno))
        if fd >= 0:
            close(fd)
    else:
        fwrite(line, 1, used, stderr)
