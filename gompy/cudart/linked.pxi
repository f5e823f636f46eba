# Relocatable device code (-rdc=true): the translation units of a program or library become one module when a device
# first needs one of them.  The driver's linker does it; NVIDIA's compiler does it when the program is linked.

cdef enum:
    TITLE = 64


cdef void tell_log(char *log) noexcept nogil:
    """What the driver says of device code (LOG_BYTES)."""
    cdef size_t n
    log[LOG_BYTES - 1] = 0
    n = strlen(log)
    while n and log[n - 1] == 10:
        n -= 1
    if n:
        fprintf(stderr, b"libcudart (gompy): error: %.*s\n", <int> n, log)


cdef void title_of(const char *text, char *to) noexcept nogil:
    """The source's name, for the linker's messages: it stands in the text's first line (`// NAME`)."""
    cdef size_t n = 0
    to[0] = 0
    if text[0] == 47 and text[1] == 47 and text[2] == 32:
        while n < TITLE - 1 and text[3 + n] and text[3 + n] != 10:
            to[n] = text[3 + n]
            n += 1
        to[n] = 0


cdef bint is_of(const fat_binary *b, const void *library) noexcept nogil:
    """Whether a fat binary belongs to a library that is still there."""
    return b.library == library and not b.gone and library_of(b.wrapper) == library


cdef int add_binaries(void *state, const void *library, int architecture) noexcept nogil:
    """Give the linker the PTX of all of a library's fat binaries."""
    cdef char title[64]  # TITLE
    cdef const char *text
    cdef fat_binary *b = fat_binaries
    cdef int r = CUDA_SUCCESS
    while b != NULL and r == CUDA_SUCCESS:
        if is_of(b, library):
            text = find_ptx(b.wrapper, architecture, &r)
            if text == NULL:
                return r
            title_of(text, title)
            r = driver.link_add(state, CU_JIT_INPUT_PTX, text, strlen(text) + 1, title if title[0] else NULL, 0, NULL,
                                NULL)
        b = b.next
    return r


cdef int link_binaries(fat_binary *b, int device, int architecture) noexcept nogil:
    """Link all device code of a fat binary's library, and load it into the current context.  With runtime_lock held."""
    cdef int options[2]
    cdef void *values[2]
    cdef char log[4096]  # LOG_BYTES
    cdef const void *library = b.library
    cdef void *state = NULL
    cdef void *image = NULL
    cdef void *loaded = NULL
    cdef size_t size = 0
    cdef int r
    log[0] = 0
    options[0] = CU_JIT_ERROR_LOG_BUFFER
    options[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
    values[0] = log
    values[1] = <void *> <uintptr_t> LOG_BYTES
    r = driver.link_create(2, options, values, &state)
    if r != CUDA_SUCCESS:
        return r
    r = add_binaries(state, library, architecture)
    if r == CUDA_SUCCESS:
        r = driver.link_complete(state, &image, &size)
    if r == CUDA_SUCCESS:
        r = driver.module_load(&loaded, image, 0, NULL, NULL)
    if r != CUDA_SUCCESS:
        tell_log(log)
    driver.link_destroy(state)
    b = fat_binaries
    while b != NULL:
        if is_of(b, library):
            b.modules[device], b.answers[device], b.tried[device] = loaded, r, True
        b = b.next
    return r
