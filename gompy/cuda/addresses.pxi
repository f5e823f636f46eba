# What lies at an address, in words: for messages.


cdef const char *kind_of_block(uint32_t use) noexcept nogil:
    """A block in words."""
    if use == VARIABLE:
        return b"variable"
    if use == TEXTURE:
        return b"texture object"
    if use == SURFACE:
        return b"surface object"
    if use == HEAP:
        return b"block of the device's malloc"
    if use == HOST_MEMORY:
        return b"pinned host block"
    if use == MANAGED:
        return b"managed block"
    if use == OPENED:
        return b"block of another process"
    if use == RESERVED:
        return b"range without memory (cuMemMap)"
    if use == CLOSED:
        return b"mapping without access (cuMemSetAccess)"
    if use == MAPPED:
        return b"mapping"
    return b"block"


cdef block *nearest_block(area *a, uint64_t address) noexcept nogil:
    """The block (or recently freed block) closest to an address."""
    cdef block *low = block_below(a, address)
    cdef block *high
    while low != NULL and (low.use == FREE_BLOCK or low.use == MARGIN):
        low = block_below(a, low.address - 1)
    high = block_above(a, address)
    while high != NULL and (high.use == FREE_BLOCK or high.use == MARGIN):
        high = block_above(a, high.address)
    if low == NULL:
        return high
    # The first bytes of what it takes may be nobody's.
    if high == NULL or address < low.start or address - low.start <= high.start - address:
        return low
    return high if high.start - address < (address - low.start - low.length if address - low.start > low.length
                                           else 0) else low


cdef bint describe_host(uint64_t address, char *text, size_t size) noexcept nogil:
    """What lies at an address that is not the device's; False if that is not known."""
    cdef Dl_info info
    cdef const char *file
    if address < 4096:
        snprintf(text, size, b"a null pointer%s", pick_text(address == 0, b"", b" plus an offset"))
        return True
    memset(&info, 0, sizeof(info))
    if dladdr(<void *>address, &info) != 0 and info.dli_fname != NULL:
        file = strrchr(info.dli_fname, 47)
        file = file + 1 if file != NULL else info.dli_fname
        if info.dli_sname != NULL:
            snprintf(text, size, b"not device memory: %s+%llu of the host's %s", info.dli_sname,
                     <unsigned long long>(address - <uint64_t>info.dli_saddr), file)
        else:
            snprintf(text, size, b"not device memory: the host's %s", file)
        return True
    snprintf(text, size, b"not device memory")
    return False


cdef void block_words(block *n, char *text, size_t size) noexcept nogil:
    """A block, its place and its name."""
    cdef const char *freed = pick_text(n.use == QUARANTINE or n.use == LEAVING, b"freed ", b"")
    if n.name != NULL:
        snprintf(text, size, b"%s%s '%s' (%llu bytes at 0x%llx)", freed, kind_of_block(n.use), n.name,
                 <unsigned long long>n.length, <unsigned long long>n.start)
    else:
        snprintf(text, size, b"%s%s of %llu bytes at 0x%llx",
                 pick_text(n.use == QUARANTINE or n.use == LEAVING, b"freed ",
                           b""), kind_of_block(n.use), <unsigned long long>n.length, <unsigned long long>n.start)


cdef uint32_t (*number_in_log)() noexcept nogil  # libgompy's, where it logs (gompy run --check), or NULL


cdef void *find_log() noexcept nogil:
    """What tells the numbers that the program's threads have in that log.  Without a lock of ours: it waits for the
    loader's."""
    return dlsym(RTLD_DEFAULT, b"gompy_check_thread")


cdef void tell_runtime(uint64_t asker, const char *text) noexcept nogil:
    """Let libgompy note what the program has been told (gompy run --check), by the thread that asked for it; 0: by this
    one."""
    cdef void (*note)(uint32_t, const char *) noexcept nogil
    note = <void (*)(uint32_t, const char *) noexcept nogil>dlsym(RTLD_DEFAULT, b"gompy_check_text")
    if note != NULL:
        note(<uint32_t>asker, text)


cdef void tell_failure(uint64_t asker, const char *message) noexcept nogil:
    """The same of what has ended a kernel (gompy/check/analysis.py has these words)."""
    cdef char text[2048]
    snprintf(text, sizeof(text), b"launch failed: %s", message)
    tell_runtime(asker, text)


cdef bint describe_gap(uint64_t address, char *text, size_t size) noexcept nogil:
    """Which mapped object is nearest to an address in a gap that the runtime has closed; False if it isn't libgompy."""
    cdef bint (*nearest)(int, int, uintptr_t, uintptr_t *, size_t *, intptr_t *) noexcept nogil
    cdef uintptr_t host = 0
    cdef size_t length = 0
    cdef intptr_t past = 0
    nearest = <bint (*)(int, int, uintptr_t, uintptr_t *, size_t *, intptr_t *) noexcept nogil>dlsym(RTLD_DEFAULT,
            b"gompy_nearest_object")
    if nearest == NULL or not nearest(GOMP_DEVICE_NVIDIA_PTX, -1, address, &host, &length,
                                      &past) or not -4096 <= past <= 4096:
        return False
    snprintf(text, size, b"%zu bytes %s the %zu bytes that are mapped from the host's %p",
             <size_t>(past if past >= 0 else -past),
             pick_text(past >= 0, b"past the end of", b"before"), length, <void *>host)
    return True


cdef bint lock_soon() noexcept nogil:
    """memory_lock, but not for ever: a signal handler may ask, in a thread that has it."""
    cdef int i
    for i in range(2000):
        if pthread_mutex_trylock(&memory_lock) == 0:
            return True
        sched_yield()
    return False


cdef void describe_address(void *user, uint64_t address, char *text, size_t size) noexcept nogil:
    """One line about where a bad address lies."""
    cdef gpu *g = gpu_of(address)
    cdef area *a
    cdef block *n
    cdef char words[256]
    if size == 0:
        return
    text[0] = 0
    if g == NULL:
        g = <gpu *>user
        if not describe_host(address, text, size) and g != NULL and lock_soon():
            n = nearest_block(&g.memory, address)
            if n != NULL:
                block_words(n, words, sizeof(words))
                snprintf(text + strlen(text), size - strlen(text), b"; nearest: %s", words)
            pthread_mutex_unlock(&memory_lock)
        return
    if not lock_soon():
        return
    a = area_of(g, address)
    n = nearest_block(a, address) if a != NULL else NULL
    if n == NULL:
        snprintf(text, size, b"unused memory of device %d", g.ordinal)
    else:
        block_words(n, words, sizeof(words))
        if checking:
            settle_locked(g, address, 1)
        if address - n.start < n.length and n.use != QUARANTINE and checking and \
                g.view.shadow[address - g.base] == 0 and describe_gap(address, text, size):
            pass
        elif address - n.start < n.length:
            snprintf(text, size, b"%llu bytes into a %s", <unsigned long long>(address - n.start), words)
        elif address > n.start:
            snprintf(text, size, b"%llu bytes past the end of a %s", <unsigned long long>(address - n.start - n.length),
                     words)
        else:
            snprintf(text, size, b"%llu bytes before a %s", <unsigned long long>(n.start - address), words)
        if user != NULL and g != <gpu *>user:
            describe_other(<gpu *>user, g, address, n, text, size)
    pthread_mutex_unlock(&memory_lock)
