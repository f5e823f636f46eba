# __managed__ variables of programs by gompy cuda cc: the host's own, which device code reaches by pointers
# (managed_code.py).

cdef enum:
    NAME_ROOM = 4096
    ANY_ARCHITECTURE = 0x7fffffff
    REGISTER_FLAGS = 3  # CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_DEVICEMAP

cdef const char *MANAGED_TITLE() noexcept nogil:
    return b"// gompy managed:"


cdef symbol *symbol_named(const fat_binary *b, const char *name) noexcept nogil:
    """A variable of a fat binary by its name in the device code; NULL: it has none.  With runtime_lock held."""
    cdef symbol *s
    cdef int at
    for at in range(1024):
        s = symbol_buckets[at]
        while s != NULL:
            if s.of == b and s.kind == VARIABLE_SYMBOL and strcmp(s.name, name) == 0:
                return s
            s = s.next
    return NULL


cdef const char *next_name(const char *at, char *name) noexcept nogil:
    """The word behind a blank, of NAME_ROOM bytes at most, and where it ends; NULL: the line has no more."""
    cdef size_t n = 0
    if at[0] != 32:
        return NULL
    at += 1
    while at[n] > 32 and n < NAME_ROOM - 16:
        name[n] = at[n]
        n += 1
    name[n] = 0
    return at + n


cdef bint names_managed(const fatbin_wrapper *wrapper) noexcept nogil:
    """Whether device code has managed variables."""
    cdef bint packed = False
    cdef const char *text = best_ptx(wrapper, ANY_ARCHITECTURE, &packed)
    return text != NULL and strncmp(text, MANAGED_TITLE(), strlen(MANAGED_TITLE())) == 0


cdef int register_managed(fat_binary *b, int device, const char *names) noexcept nogil:
    """Register the memory of a fat binary's managed variables.  With runtime_lock held."""
    cdef char name[4096]  # NAME_ROOM
    cdef uintptr_t begin = <uintptr_t> -1
    cdef uintptr_t end = 0
    cdef CUdeviceptr unused = 0
    cdef size_t size = 0
    cdef symbol *s
    cdef int r
    names = next_name(names, name)
    while names != NULL:
        s = symbol_named(b, name)
        if s != NULL:
            r = driver.module_global(&unused, &size, b.modules[device], name)
            if r != CUDA_SUCCESS:
                return r
            s.managed = size
            begin = min(begin, <uintptr_t> s.host)
            end = max(end, <uintptr_t> s.host + size)
        names = next_name(names, name)
    if begin >= end:
        return CUDA_SUCCESS
    r = driver.host_register(<void *> begin, end - begin, REGISTER_FLAGS)
    if r == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
        r = CUDA_SUCCESS  # for another device, or before a reset
    if r == CUDA_SUCCESS:
        b.managed_begin, b.managed_end = begin, end
        if driver_graphs.note_managed != NULL:
            driver_graphs.note_managed(<CUdeviceptr> begin)
    return r


cdef int share_managed(fat_binary *b, int device, const char *text) noexcept nogil:
    """Set the pointers of code that has just been loaded to the host's variables.  With runtime_lock held."""
    cdef char name[4096]  # NAME_ROOM
    cdef const char *names = text + strlen(MANAGED_TITLE())
    cdef CUdeviceptr pointer = 0
    cdef CUdeviceptr value = 0
    cdef size_t size = 0
    cdef symbol *s
    cdef int r
    if strncmp(text, MANAGED_TITLE(), strlen(MANAGED_TITLE())) != 0:
        return CUDA_SUCCESS
    r = register_managed(b, device, names)
    names = next_name(names, name)
    while names != NULL and r == CUDA_SUCCESS:
        s = symbol_named(b, name)
        if s != NULL:
            strcpy(name + strlen(name), b"$managed")
            r = driver.module_global(&pointer, &size, b.modules[device], name)
            if r == CUDA_SUCCESS:
                r = driver.host_pointer(&value, <void *> s.host, 0)
            if r == CUDA_SUCCESS:
                r = driver.copy_in(pointer, &value, sizeof(value))
        names = next_name(names, name)
    return r


cdef bint is_managed(const void *address) noexcept nogil:
    """Whether an address is in a __managed__ variable."""
    cdef const fat_binary *b
    cdef symbol *s
    cdef bint found = False
    cdef int at
    if not managed_changes:
        return False
    pthread_mutex_lock(&runtime_lock)
    b = fat_binaries
    while b != NULL and (b.gone or not b.managed_begin <= <uintptr_t> address < b.managed_end):
        b = b.next
    for at in range(1024 if b != NULL else 0):
        s = symbol_buckets[at]
        while s != NULL:
            found = found or (s.of == b and <uintptr_t> address - <uintptr_t> s.host < s.managed)
            s = s.next
    pthread_mutex_unlock(&runtime_lock)
    return found
