# What compilers' code registers: fat binaries, kernels, variables; they are loaded when a device first needs them.

cdef enum:
    WRAPPER_MAGIC = 0x466243b1
    HEAD_MAGIC = 0xba55ed50
    KIND_PTX = 1
    FLAGS_PACKED = 0xf000  # compressed in one way or another

    FUNCTION_SYMBOL = 0
    VARIABLE_SYMBOL = 1
    TEXTURE_SYMBOL = 2
    SURFACE_SYMBOL = 3

    LOG_BYTES = 4096

ctypedef struct fat_binary:
    const fatbin_wrapper *wrapper
    const void *library  # of relocatable code: where the program or library begins that it is linked in; else NULL
    void *modules[32]  # by device
    int answers[32]  # of loading it, once
    bint tried[32]
    bint gone
    bint managed  # it has __managed__ variables
    bint told  # all of its symbols are registered
    uintptr_t managed_begin, managed_end  # where they lie, once they are registered
    fat_binary *next

ctypedef struct symbol:
    const void *host  # address of the kernel's stub, or of the host's variable
    int kind
    const char *name  # in the device code; the compiler's constant
    fat_binary *of
    void *functions[32]
    CUdeviceptr addresses[32]
    size_t sizes[32]
    size_t managed  # bytes of a __managed__ variable, once it is registered: its address is the host's
    symbol *next  # in the bucket

cdef fat_binary *fat_binaries
cdef symbol *symbol_buckets[1024]


cdef inline int bucket_of(const void *host) noexcept nogil:
    return <int> (((<uintptr_t> host >> 4) ^ (<uintptr_t> host >> 14)) & 1023)


cdef const void *library_of(const void *address) noexcept nogil:
    """Where the program or library begins that an address is in; NULL: in none."""
    cdef Dl_info info
    return info.dli_fbase if dladdr(address, &info) else NULL


cdef void *register_binary(const fatbin_wrapper *wrapper, bint managed) noexcept nogil:
    """A fat binary; the handle.  managed: it has __managed__ variables."""
    global fat_binaries
    cdef fat_binary *b = <fat_binary *> calloc(1, sizeof(fat_binary))
    if b == NULL:
        fprintf(stderr, b"libcudart (gompy): error: out of memory\n")
        abort()
    b.wrapper = wrapper
    b.managed = managed
    pthread_mutex_lock(&runtime_lock)
    b.next = fat_binaries
    fat_binaries = b
    pthread_mutex_unlock(&runtime_lock)
    return b


cdef void all_is_told(fat_binary *b) noexcept nogil:
    """Its symbols are registered: before that no call of another thread may load managed variables."""
    if b == NULL or not b.managed:
        return
    pthread_mutex_lock(&runtime_lock)
    b.told = True
    note_managed()
    pthread_mutex_unlock(&runtime_lock)


cdef void *register_linked(const fatbin_wrapper *wrapper, bint managed) noexcept nogil:
    """A fat binary of relocatable code; the handle.  What a library that is gone had there is forgotten."""
    cdef fat_binary *b
    pthread_mutex_lock(&runtime_lock)
    b = fat_binaries
    while b != NULL:
        if b.wrapper == wrapper:
            b.gone = True
        b = b.next
    pthread_mutex_unlock(&runtime_lock)
    b = <fat_binary *> register_binary(wrapper, managed)
    b.library = library_of(wrapper)
    return b


cdef void register_symbol(void *handle, const void *host, int kind, const char *name) noexcept nogil:
    """A kernel or a variable of it."""
    cdef symbol *s = <symbol *> calloc(1, sizeof(symbol))
    cdef int at = bucket_of(host)
    if s == NULL:
        fprintf(stderr, b"libcudart (gompy): error: out of memory\n")
        abort()
    s.host, s.kind, s.name, s.of = host, kind, name, <fat_binary *> handle
    pthread_mutex_lock(&runtime_lock)
    s.next = symbol_buckets[at]
    symbol_buckets[at] = s
    pthread_mutex_unlock(&runtime_lock)


cdef void unregister_binary(void *handle) noexcept nogil:
    """A library goes, or the program: its symbols are known no more.  Modules stay, for the driver may have ended."""
    cdef fat_binary *b = <fat_binary *> handle
    cdef symbol **place
    cdef symbol *s
    cdef int at
    pthread_mutex_lock(&runtime_lock)
    b.gone = True
    if b.managed:
        note_managed()
    for at in range(1024):
        place = &symbol_buckets[at]
        while place[0] != NULL:
            s = place[0]
            if s.of == b:
                place[0] = s.next
                free(s)
            else:
                place = &s.next
    pthread_mutex_unlock(&runtime_lock)


cdef void forget_device(int device) noexcept nogil:
    """After a reset: what was loaded there is gone."""
    cdef fat_binary *b
    cdef symbol *s
    cdef int at
    pthread_mutex_lock(&runtime_lock)
    device_contexts[device] = NULL
    if managed_changes:
        note_managed()
    b = fat_binaries
    while b != NULL:
        b.modules[device] = NULL
        b.tried[device] = False
        b = b.next
    for at in range(1024):
        s = symbol_buckets[at]
        while s != NULL:
            s.functions[device] = NULL
            s.addresses[device] = 0
            s = s.next
    pthread_mutex_unlock(&runtime_lock)


cdef symbol *find_symbol(const void *host, int kind) noexcept nogil:
    """What is registered with an address.  With runtime_lock held."""
    cdef symbol *s = symbol_buckets[bucket_of(host)]
    while s != NULL and (s.host != host or s.kind != kind):
        s = s.next
    return s


cdef const void *host_of_function(const void *loaded) noexcept nogil:
    """The address of a kernel whose function of the driver's is known; NULL: it is none of this program's."""
    cdef symbol *s
    cdef const void *found = NULL
    cdef int at, device
    pthread_mutex_lock(&runtime_lock)
    for at in range(1024):
        s = symbol_buckets[at]
        while s != NULL:
            for device in range(32):
                if s.functions[device] == loaded:
                    found = s.host
            s = s.next
    pthread_mutex_unlock(&runtime_lock)
    return found
