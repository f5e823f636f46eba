# Load and end of the library, and the line that GOMPY_STATS asks for.


cdef void forget_counts() noexcept nogil:
    """A forked child counts its own regions."""
    global host_regions, first_host_reason
    host_regions = 0
    first_host_reason = NULL


cdef void library_loaded "gompy_library_loaded"() noexcept nogil:
    find_stock()
    read_environment()
    choose_default_device()
    read_icvs(&initial_icvs)
    display_at_start()


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
        if fd < 0 or write(fd, line, used) != <ssize_t> used:
            gompy_note(b"GOMPY_STATS=%s: cannot be written: %s", where, strerror(errno))
        if fd >= 0:
            close(fd)
    else:
        fwrite(line, 1, used, stderr)


cdef void library_ends "gompy_library_ends"() noexcept nogil:
    cdef const char *where = secure_getenv(b"GOMPY_STATS")
    if where != NULL and where[0] and strcmp(where, b"0") != 0:
        write_stats(where)
