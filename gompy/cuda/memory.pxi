# Device memory: one window of addresses a device, with three areas: memory, the heap of device code, and host memory that
# the device can see (pinned, managed).
#
# A device address is the host address of the same bytes (executor.h).  Pages are reserved without access and opened when
# they are first given out, so that a kernel's stray pointer into unused memory faults.  With GOMPY_CHECK=1 every block
# ends at a page without access (to within its alignment: at least 16 bytes), what is freed loses its pages, and a shadow
# tells kernels which bytes are allocated and which have been written (gompy/ptx/executor.h).

cdef enum:
    CHUNK = 1 << 21
    HEAP_SPACE_SHIFT = 32          # addresses reserved for the heap of device code: 4 GiB
    QUARANTINE_RING = 4096
    CHECK_MEMORY = 1               # executor.h
    CHECK_INIT = 2
    CHECK_SYNC = 4
    SHADOW_ALLOCATED = 1
    SHADOW_WRITTEN = 3
    WIDE = 1 << 20
    LEAVING_PIN = 1 << 30          # in a block's pins: it is freed

cdef uint64_t kept_limit() noexcept nogil:
    """How many bytes of pages freed blocks may keep: an eighth of the machine's memory."""
    return <uint64_t>sysconf(_SC_PHYS_PAGES) * <uint64_t>sysconf(_SC_PAGESIZE) >> 3


cdef bint open_area(area *a, uint64_t base, uint64_t size, uint64_t granule, uint64_t limit) noexcept nogil:
    """Make an area of reserved addresses: all free."""
    a.base, a.size, a.granule, a.limit = base, size, granule, limit
    a.root = new_block(base, size)
    a.open_chunks = <uint8_t *>calloc(size / CHUNK + 1, 1)
    if checking:
        a.quarantine = <block **>calloc(QUARANTINE_RING, sizeof(block *))
    if a.root == NULL or a.open_chunks == NULL or (checking and a.quarantine == NULL):
        return False
    renew(a.root)
    return True


cdef extern from *:
    """
    /* Bytes that are not allocated (closed gaps inside a block) stay so.  */
    static void shadow_written (uint8_t *to, size_t size)
    { for (size_t i = 0; i < size; i++) to[i] |= (to[i] & 1) << 1; }
    static void shadow_copied (uint8_t *to, const uint8_t *of, size_t size)
    { for (size_t i = 0; i < size; i++) to[i] = to[i] ? of[i] | 1 : 0; }
    """
    void shadow_written(uint8_t *to, size_t size) nogil
    void shadow_copied(uint8_t *to, const uint8_t *of, size_t size) nogil


cdef void mark(uint64_t address, uint64_t size, int value) noexcept nogil:
    """Write the shadow of device memory; of other addresses nothing."""
    cdef gpu *g
    cdef uint8_t *low
    cdef uint8_t *start
    cdef uint8_t *end
    if not checking:
        return
    g = gpu_of(address)
    if g == NULL:
        return
    low = g.view.shadow + (address - g.base)
    if value == 0 and size >= WIDE:
        start = <uint8_t *>round_up(<uint64_t>low, 4096)
        end = <uint8_t *>(<uint64_t>(low + size) & ~<uint64_t>4095)
        memset(low, 0, start - low)
        madvise(start, end - start, MADV_DONTNEED)
        memset(end, 0, low + size - end)
        return
    if value == SHADOW_WRITTEN:
        shadow_written(low, size)
    else:
        memset(low, value, size)


cdef void mark_copied(uint64_t to, uint64_t of, uint64_t size) noexcept nogil:
    """Bytes were copied: device memory is as written as what it came from."""
    cdef gpu *g = gpu_of(to)
    cdef gpu *other = gpu_of(of)
    if g == NULL:
        return
    if other == NULL:
        shadow_written(g.view.shadow + (to - g.base), size)
    else:
        shadow_copied(g.view.shadow + (to - g.base), other.view.shadow + (of - other.base), size)


cdef bint leave_margin(area *a, uint64_t size) noexcept nogil:
    """Open pages before the first block.  On a GPU small steps below a module's variables end in its other data; GCC's
    own tests take such (libgomp.fortran/pr66199-9.f90: u(0) of u(1024))."""
    cdef block *n = carve(a, size, a.granule)
    if n == NULL:
        return False
    n.use = MARGIN
    return open_pages(a, n.address, n.size)


cdef bint open_pages(area *a, uint64_t address, uint64_t size) noexcept nogil:
    """Give access to a range, in whole chunks."""
    cdef uint64_t chunk = (address - a.base) / CHUNK
    cdef uint64_t last = (address + size - 1 - a.base) / CHUNK
    cdef uint64_t first, start, end
    while chunk <= last:
        if a.open_chunks[chunk]:
            chunk += 1
            continue
        first = chunk
        while chunk <= last and not a.open_chunks[chunk]:
            chunk += 1
        start = a.base + first * CHUNK
        end = a.base + chunk * CHUNK
        if end > a.base + a.size:
            end = a.base + a.size
        if mprotect(<void *>start, end - start, PROT_READ | PROT_WRITE) != 0:
            return False
        memset(a.open_chunks + first, 1, chunk - first)
        if chunk - first >= 2:
            madvise(<void *>start, end - start, MADV_HUGEPAGE)
    return True


cdef block *area_alloc(area *a, uint64_t length, uint64_t align, uint32_t use, void *owner) noexcept nogil:
    """A block of ``length`` visible bytes.  NULL when the area's limit or its addresses are exhausted."""
    cdef uint64_t end, charge
    cdef block *n
    if length > a.limit:
        return NULL
    charge = round_up(length, 16 if checking else a.granule)
    if a.in_use + charge > a.limit:
        return NULL
    if checking:
        n = carve(a, round_up(length, 4096) + 4096, 4096)
        while n == NULL and drop_quarantined(a):
            n = carve(a, round_up(length, 4096) + 4096, 4096)
    elif charge >= CHUNK:
        n = carve(a, round_up(charge, CHUNK), align if align > CHUNK else CHUNK)
        if n == NULL:
            n = carve(a, charge, align)
    else:
        n = carve(a, charge, align)
    if n == NULL:
        return NULL
    n.use = use
    n.owner = owner
    n.length = length
    n.flags = 0
    n.pins = 0
    n.start = n.address
    if checking:
        end = n.address + n.size - 4096
        if length % align != 0:
            align = length & -length
            if align < 16:
                align = 16
        n.start = end - round_up(length, align)
        if mprotect(<void *>n.address, n.size - 4096, PROT_READ | PROT_WRITE) != 0:
            release_block(a, n)
            return NULL
    elif not open_pages(a, n.address, n.size):
        release_block(a, n)
        return NULL
    if n.size >= CHUNK:
        a.kept -= n.size if n.size < a.kept else a.kept
    # The host can write managed and pinned memory at any time.
    mark(n.start, length, SHADOW_ALLOCATED)
    if use == MANAGED or use == HOST_MEMORY:
        mark(n.start, length, SHADOW_WRITTEN)
    n.charge = charge
    a.in_use += charge
    a.blocks_in_use += 1
    return n


cdef void close_pages(block *n) noexcept nogil:
    """With GOMPY_CHECK: a freed block's pages lose their contents and access."""
    madvise(<void *>n.address, n.size, MADV_DONTNEED)
    mprotect(<void *>n.address, n.size, PROT_NONE)


cdef bint drop_quarantined(area *a) noexcept nogil:
    """Let the oldest freed block be given out again.  False if there is none."""
    cdef size_t i
    cdef block *n
    if a.quarantine == NULL:
        return False
    for i in range(QUARANTINE_RING):
        n = a.quarantine[(a.quarantine_next + i) % QUARANTINE_RING]
        if n != NULL:
            a.quarantine[(a.quarantine_next + i) % QUARANTINE_RING] = NULL
            release_block(a, n)
            return True
    return False


cdef void area_free(area *a, block *n) noexcept nogil:
    """Free a used block."""
    cdef block **slot
    cdef uint64_t start, end
    a.in_use -= n.charge
    a.blocks_in_use -= 1
    if checking:
        mark(n.start, n.length, 0)
        close_pages(n)
        slot = &a.quarantine[a.quarantine_next]
        a.quarantine_next = (a.quarantine_next + 1) % QUARANTINE_RING
        if slot[0] != NULL:
            release_block(a, slot[0])
        n.use = QUARANTINE
        slot[0] = n
        return
    if n.size >= CHUNK:
        if a.kept + n.size > kept_limit():
            start, end = round_up(n.address, 4096), (n.address + n.size) & ~<uint64_t>4095
            if end > start:
                madvise(<void *>start, end - start, MADV_DONTNEED)
        else:
            a.kept += n.size
    release_block(a, n)


cdef inline bint in_area(area *a, uint64_t address) noexcept nogil:
    """Whether an address is one of an area's."""
    return address - a.base < a.size


cdef area *area_of(gpu *g, uint64_t address) noexcept nogil:
    """The area of an address in a device's window, or NULL."""
    if in_area(&g.memory, address):
        return &g.memory
    if in_area(&g.pinned, address):
        return &g.pinned
    if in_area(&g.heap, address):
        return &g.heap
    return NULL


cdef gpu *gpu_of(uint64_t address) noexcept nogil:
    """The device whose window an address lies in, or NULL."""
    cdef int i
    for i in range(gpu_count):
        if address - gpus[i].base < gpus[i].window:
            return &gpus[i]
    return NULL


cdef block *block_at(uint64_t address, gpu **of, area **within) noexcept nogil:
    """The living block with an address, its device and area; NULL if there is none.  Called with memory_lock held."""
    cdef gpu *g = gpu_of(address)
    cdef area *a
    cdef block *n
    if g == NULL:
        return NULL
    a = area_of(g, address)
    if a == NULL:
        return NULL
    n = block_below(a, address)
    if n == NULL or n.use in (FREE_BLOCK, QUARANTINE, MARGIN, LEAVING) or address - n.start >= n.length:
        return NULL
    if of != NULL:
        of[0] = g
    if within != NULL:
        within[0] = a
    return n


cdef int check_device_range(uint64_t address, uint64_t size) noexcept nogil:
    """CUDA_SUCCESS if all bytes belong to one block of device memory, else CUDA_ERROR_INVALID_VALUE."""
    cdef block *n
    cdef bint good
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    good = n != NULL and size <= n.start + n.length - address
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS if good else CUDA_ERROR_INVALID_VALUE


cdef int pin_range(uint64_t address, uint64_t size, block **pinned) noexcept nogil:
    """As check_device_range, and the block stays until unpin: somebody may free it before the operation is over.  Called with
    memory_lock held."""
    cdef block *n = block_at(address, NULL, NULL)
    if n == NULL or size > n.start + n.length - address:
        return CUDA_ERROR_INVALID_VALUE
    count_up32(&n.pins, 1, RELAXED)
    pinned[0] = n
    return CUDA_SUCCESS


cdef void leave_block(area *a, block *n) noexcept nogil:
    """Free a block now, or when the last operation that is at it is over.  Called with memory_lock held."""
    if count_up32(&n.pins, LEAVING_PIN, ACQUIRE_RELEASE) == LEAVING_PIN:
        area_free(a, n)
    else:
        n.use = LEAVING


cdef void unpin(block *n) noexcept nogil:
    """An operation is over.  Called without memory_lock."""
    if n == NULL or count_down32(&n.pins, 1, ACQUIRE_RELEASE) != LEAVING_PIN:
        return
    pthread_mutex_lock(&memory_lock)
    area_free(area_of(gpu_of(n.address), n.address), n)
    pthread_mutex_unlock(&memory_lock)


cdef uint64_t alloc_in(gpu *g, area *a, uint64_t length, uint64_t align, uint32_t use, void *owner, const char *name, uint32_t flags) noexcept nogil:
    """An address, or 0.  ``name`` is copied."""
    cdef block *n
    cdef uint64_t address = 0
    pthread_mutex_lock(&memory_lock)
    n = area_alloc(a, length, align, use, owner)
    if n != NULL:
        n.flags = flags
        if name != NULL:
            n.name = <char *>malloc(strlen(name) + 1)
            if n.name != NULL:
                memcpy(n.name, name, strlen(name) + 1)
        address = n.start
    pthread_mutex_unlock(&memory_lock)
    return address


cdef int free_block_at(uint64_t address, uint32_t use, uint32_t other_use) noexcept nogil:
    """Free the block that starts at an address and has one of two uses; else CUDA_ERROR_INVALID_VALUE."""
    cdef area *a = NULL
    cdef block *n
    cdef int answer = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, &a)
    if n != NULL and n.start == address and (n.use == use or n.use == other_use):
        leave_block(a, n)
        answer = CUDA_SUCCESS
    pthread_mutex_unlock(&memory_lock)
    return answer


cdef block *owned_by(block *n, void *owner) noexcept nogil:
    """Any block of an owner in a subtree."""
    cdef block *found
    if n == NULL:
        return NULL
    if n.owner == owner and n.use not in (FREE_BLOCK, QUARANTINE, LEAVING):
        return n
    found = owned_by(n.left, owner)
    return found if found != NULL else owned_by(n.right, owner)


cdef void free_owned(gpu *g, void *owner) noexcept nogil:
    """A context ends: what it allocated is freed."""
    cdef block *n
    pthread_mutex_lock(&memory_lock)
    while True:
        n = owned_by(g.memory.root, owner)
        if n == NULL:
            break
        leave_block(&g.memory, n)
    while True:
        n = owned_by(g.pinned.root, owner)
        if n == NULL:
            break
        leave_block(&g.pinned, n)
    pthread_mutex_unlock(&memory_lock)


# What the executor calls (executor.h: ptx_memory).

cdef uint64_t variable_alloc(void *user, size_t size, size_t align, const char *name) noexcept nogil:
    """Memory for a module's variable."""
    cdef gpu *g = <gpu *>user
    return alloc_in(g, &g.memory, size if size else 1, align if align > 256 else 256, VARIABLE, NULL, name, 0)


cdef void variable_free(void *user, uint64_t address) noexcept nogil:
    """A module's variable goes."""
    free_block_at(address, VARIABLE, VARIABLE)


cdef uint64_t heap_alloc(void *user, size_t size) noexcept nogil:
    """malloc of device code."""
    cdef gpu *g = <gpu *>user
    g.heap_begun = True
    return alloc_in(g, &g.heap, size if size else 1, 16, HEAP, NULL, NULL, 0)


cdef void heap_release(void *user, uint64_t address) noexcept nogil:
    """free of device code.  A bad address is told; the device goes on, as a GPU does."""
    if address != 0 and free_block_at(address, HEAP, HEAP) != CUDA_SUCCESS:
        fprintf(stderr, b"libcuda (gompy): error: device code frees 0x%llx, which its malloc did not return\n", <unsigned long long>address)


cdef const char *kind_of_block(uint32_t use) noexcept nogil:
    """A block in words."""
    if use == VARIABLE:
        return b"variable"
    if use == HEAP:
        return b"block of the device's malloc"
    if use == HOST_MEMORY:
        return b"pinned host block"
    if use == MANAGED:
        return b"managed block"
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
    if high == NULL or address - low.start <= high.start - address:
        return low
    return high if high.start - address < (address - low.start - low.length if address - low.start > low.length else 0) else low


cdef bint describe_host(uint64_t address, char *text, size_t size) noexcept nogil:
    """What lies at an address that is not the device's; False if that is not known."""
    cdef Dl_info info
    cdef host_range *r
    cdef const char *file
    if address < 4096:
        snprintf(text, size, b"a null pointer%s", pick(address == 0, b"", b" plus an offset"))
        return True
    r = registered_at(address)
    if r != NULL:
        snprintf(text, size, b"host memory that cuMemHostRegister pinned; the emulated device can't reach it")
        return True
    memset(&info, 0, sizeof(info))
    if dladdr(<void *>address, &info) != 0 and info.dli_fname != NULL:
        file = strrchr(info.dli_fname, 47)
        file = file + 1 if file != NULL else info.dli_fname
        if info.dli_sname != NULL:
            snprintf(text, size, b"not device memory: %s+%llu of the host's %s", info.dli_sname, <unsigned long long>(address - <uint64_t>info.dli_saddr), file)
        else:
            snprintf(text, size, b"not device memory: the host's %s", file)
        return True
    snprintf(text, size, b"not device memory")
    return False


cdef void block_words(block *n, char *text, size_t size) noexcept nogil:
    """A block, its place and its name."""
    if n.name != NULL:
        snprintf(text, size, b"%s%s '%s' (%llu bytes at 0x%llx)", pick(n.use == QUARANTINE or n.use == LEAVING, b"freed ", b""), kind_of_block(n.use), n.name, <unsigned long long>n.length, <unsigned long long>n.start)
    else:
        snprintf(text, size, b"%s%s of %llu bytes at 0x%llx", pick(n.use == QUARANTINE or n.use == LEAVING, b"freed ", b""), kind_of_block(n.use), <unsigned long long>n.length, <unsigned long long>n.start)


cdef bint describe_gap(uint64_t address, char *text, size_t size) noexcept nogil:
    """Which mapped object is nearest to an address in a gap that the runtime has closed; False if it isn't libgompy."""
    cdef bint (*nearest)(int, int, uintptr_t, uintptr_t *, size_t *, intptr_t *) noexcept nogil
    cdef uintptr_t host = 0
    cdef size_t length = 0
    cdef intptr_t past = 0
    nearest = <bint (*)(int, int, uintptr_t, uintptr_t *, size_t *, intptr_t *) noexcept nogil>dlsym(RTLD_DEFAULT, b"gompy_nearest_object")
    if nearest == NULL or not nearest(5, -1, address, &host, &length, &past) or not -4096 <= past <= 4096:
        return False
    snprintf(text, size, b"%zu bytes %s the %zu bytes that are mapped from the host's %p", <size_t>(past if past >= 0 else -past),
             pick(past >= 0, b"past the end of", b"before"), length, <void *>host)
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
        if address - n.start < n.length and n.use != QUARANTINE and checking and \
                g.view.shadow[address - g.base] == 0 and describe_gap(address, text, size):
            pass
        elif address - n.start < n.length:
            snprintf(text, size, b"%llu bytes into a %s", <unsigned long long>(address - n.start), words)
        elif address > n.start:
            snprintf(text, size, b"%llu bytes past the end of a %s", <unsigned long long>(address - n.start - n.length), words)
        else:
            snprintf(text, size, b"%llu bytes before a %s", <unsigned long long>(n.start - address), words)
    pthread_mutex_unlock(&memory_lock)


cdef void warn_text(void *user, const char *text) noexcept nogil:
    """A kernel's mistake after which it goes on (GOMPY_CHECK)."""
    count_up(&(<gpu *>user).warnings, 1, RELAXED)
    fprintf(stderr, b"libcuda (gompy): warning: %s\n", text)


cdef uint32_t printed


cdef void print_text(void *user, const char *text, size_t length) noexcept nogil:
    """Device code prints: to the program's stdout, in order with its own output; flushed when the kernel ends."""
    global printed
    printed = 1
    fwrite(text, 1, length, stdout)
