# GOMPY_CUDA_STATS: what the devices did, in one line when the program ends.

cdef extern from *:
    """
    static void cuda_library_ends (void) __attribute__ ((destructor));
    """


cdef void write_stats(FILE *to) noexcept nogil:
    """A line for the devices that were used, or for none."""
    cdef int i
    cdef bint first = True
    fprintf(to, b"libcuda (gompy):")
    for i in range(gpu_count):
        if gpus[i].launches or gpus[i].copied_in or gpus[i].copied_out:
            fprintf(
                to, b"%s device %d: %llu kernel%s, %llu bytes in, %llu bytes out", pick_text(first, b"", b";"), i,
                <unsigned long long>gpus[i].launches, pick_text(gpus[i].launches == 1, b"", b"s"), <unsigned long
                long>gpus[i].copied_in, <unsigned long long>gpus[i].copied_out,
            )
            if gpus[i].warnings:
                fprintf(to, b", %llu warning%s", <unsigned long long>gpus[i].warnings,
                        pick_text(gpus[i].warnings == 1, b"", b"s"))
            first = False
    fprintf(to, b"%s\n", pick_text(first, b" no device was used", b""))


cdef void library_ends "cuda_library_ends"() noexcept nogil:
    """The program ends: 1 writes to stderr, /file is appended to."""
    cdef const char *where = secure_getenv(b"GOMPY_CUDA_STATS")
    cdef FILE *f
    cdef int fd
    tell_leaks(NULL)
    end_kernel_recording()
    if where == NULL or where[0] == 0 or strcmp(where, b"0") == 0:
        return
    if where[0] != 47:
        write_stats(stderr)
        return
    fd = gompy_open_to_append(where)
    f = fdopen(fd, b"a") if fd >= 0 else NULL
    if f == NULL:
        fprintf(stderr, b"libcuda (gompy): GOMPY_CUDA_STATS=%s: cannot be written: %s\n", where, strerror(errno))
        if fd >= 0:
            close(fd)
    else:
        write_stats(f)
        fclose(f)
