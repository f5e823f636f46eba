# The environment: OMP_TARGET_OFFLOAD (the stock libgomp complains about a bad value, so this does not), GOMP_DEBUG,
# GOMPY_PLUGINS, GOMPY_STATS, GOMPY_UNMAPPED.

cdef int target_offload  # OFFLOAD_*
cdef uintptr_t unmapped_offset  # OFFSET_*: the argument word of a section of no length that is not mapped


cdef bint word_is(const char *value, const char *word) noexcept nogil:
    """Whether a value is a word, in any case, with blanks around it."""
    cdef size_t n = strlen(word)
    while isspace(value[0]):
        value += 1
    if strncasecmp(value, word, n) != 0:
        return False
    value += n
    while isspace(value[0]):
        value += 1
    return value[0] == 0


cdef void read_environment() noexcept nogil:
    cdef const char *value = secure_getenv(b"OMP_TARGET_OFFLOAD")
    set_debug_level(0)
    target_offload_is(OFFLOAD_DEFAULT)
    if value != NULL:
        if word_is(value, b"disabled"):
            target_offload_is(OFFLOAD_DISABLED)
        elif word_is(value, b"mandatory"):
            target_offload_is(OFFLOAD_MANDATORY)
    # libasan puts every process's heap at the same addresses: the host's pointers would be good ones on such a device.
    unmapped_is_null(dlsym(NULL, b"__asan_init") != NULL)
    value = secure_getenv(b"GOMPY_UNMAPPED")
    if value != NULL:
        unmapped_is_null(word_is(value, b"null"))
    value = secure_getenv(b"GOMP_DEBUG")
    if value != NULL and atoi(value) > 0:
        set_debug_level(1)


cdef void target_offload_is(int value) noexcept nogil:
    global target_offload
    target_offload = value


cdef void set_debug_level(int level) noexcept nogil:
    global gompy_debug_level
    gompy_debug_level = level
    if level:
        want_entries()


cdef void unmapped_is_null(bint null) noexcept nogil:
    """What a pointer to what is not mapped is on the device: NULL (OpenMP 5.0) or what it is on the host (5.1)."""
    global unmapped_offset
    unmapped_offset = OFFSET_POINTER if null else OFFSET_INLINED


cdef inline uintptr_t unmapped_value(uintptr_t pointer) noexcept nogil:
    """The device's value of such a pointer."""
    return 0 if unmapped_offset == OFFSET_POINTER else pointer


cdef bint checks_wanted() noexcept nogil:
    """GOMPY_CHECK: not only the log is asked for, but checks."""
    cdef const char *text = secure_getenv(b"GOMPY_CHECK")
    return text != NULL and text[0] and strcmp(text, b"0") != 0
