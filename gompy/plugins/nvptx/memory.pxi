# Device memory and copies.  A block that is given back is kept for the next allocation of its size: a construct in a
# loop asks for the same block every time, and the driver takes longer for that than for the launch.

cdef enum:
    SIZE_CLASSES = 256
    KEEP_BYTES = 1 << 28  # blocks of together so much are kept at most
    WORDS_BLOCK = 1024
    KEEP_BLOCKS = 8192  # and so many: 32 for each size class, if all are of different sizes

cdef int check_mode  # GOMPY_CHECK: every block goes back at once, so that its later use is noticed; 1 no, 2 yes


cdef inline bint keeps_blocks() noexcept nogil:
    global check_mode
    cdef const char *value
    if check_mode == 0:
        value = secure_getenv(b"GOMPY_CHECK")
        check_mode = 2 if value != NULL and value[0] and strcmp(value, b"0") else 1
    return check_mode == 1


cdef inline size_t address_hash(CUdeviceptr address) noexcept nogil:
    return <size_t> ((address >> 8) * 0x9E3779B97F4A7C15ULL >> 20)


cdef inline size_t size_class(size_t size) noexcept nogil:
    return (size * <size_t> 0x9E3779B97F4A7C15ULL >> 56) % SIZE_CLASSES


cdef bint grow_table(Device *d) noexcept nogil:
    """Room for one more block in use."""
    cdef size_t mask = 2 * d.live_mask + 1 if d.live != NULL else 255
    cdef Block **table
    cdef Block *b
    cdef Block *next
    cdef size_t i
    if d.live != NULL and d.num_live <= d.live_mask:
        return True
    table = <Block **> calloc(mask + 1, sizeof(Block *))
    if table == NULL:
        return d.live != NULL
    if d.live != NULL:
        for i in range(d.live_mask + 1):
            b = d.live[i]
            while b != NULL:
                next = b.next
                b.next = table[address_hash(b.address) & mask]
                table[address_hash(b.address) & mask] = b
                b = next
        free(d.live)
    d.live = table
    d.live_mask = mask
    return True


cdef inline Block **find_live(Device *d, CUdeviceptr address) noexcept nogil:
    """Where a block in use hangs, by its first address; what it refers to is NULL if there is none."""
    cdef Block **at = &d.live[address_hash(address) & d.live_mask]
    while at[0] != NULL and at[0].address != address:
        at = &at[0].next
    return at


cdef inline void unlink_kept(Device *d, Block *b) noexcept nogil:
    """Take a block out of those kept."""
    if b.before != NULL:
        b.before.next = b.next
    else:
        d.kept[size_class(b.size)] = b.next
    if b.next != NULL:
        b.next.before = b.before
    if b.older != NULL:
        b.older.newer = b.newer
    else:
        d.oldest = b.newer
    if b.newer != NULL:
        b.newer.older = b.older
    else:
        d.newest = b.older
    d.kept_bytes -= b.size
    d.num_kept -= 1


cdef inline void keep_block(Device *d, Block *b) noexcept nogil:
    """A block for a later allocation.  The memory lock is held."""
    b.before = NULL
    b.next = d.kept[size_class(b.size)]
    if b.next != NULL:
        b.next.before = b
    d.kept[size_class(b.size)] = b
    b.older = d.newest
    b.newer = NULL
    if d.newest != NULL:
        d.newest.newer = b
    else:
        d.oldest = b
    d.newest = b
    d.kept_bytes += b.size
    d.num_kept += 1


cdef void keep_later(Device *d, Block *b) noexcept nogil:
    """A block that the driver does not take back now."""
    gompy_quick_acquire(&d.memory_lock)
    keep_block(d, b)
    gompy_quick_release(&d.memory_lock)


cdef CUresult free_now(Device *d, CUdeviceptr address) noexcept nogil:
    """Give memory back to the driver, which waits for what the device has to do: not while a region may call the host
    (CUDA_ERROR_NOT_PERMITTED then), for the caller may hold what that needs."""
    cdef CUresult rc
    if d.calls == NULL:
        return cuda.mem_free(address)
    pthread_mutex_lock(&d.free_lock)
    rc = CUDA_ERROR_NOT_PERMITTED if d.calling else cuda.mem_free(address)
    pthread_mutex_unlock(&d.free_lock)
    return rc


cdef Block *oldest_kept(Device *d, size_t until) noexcept nogil:
    """Take the oldest of the kept blocks out if they are more bytes than that, or more than KEEP_BLOCKS; NULL if
    not."""
    cdef Block *b = NULL
    gompy_quick_acquire(&d.memory_lock)
    if d.oldest != NULL and (d.kept_bytes > until or d.num_kept > KEEP_BLOCKS):
        b = d.oldest
        unlink_kept(d, b)
    gompy_quick_release(&d.memory_lock)
    return b


cdef bint release_kept(Device *d, size_t until) noexcept nogil:
    """Give kept blocks back, the oldest first, down to so many bytes; whether any went.  The context is current.

    The memory lock is not held while the driver frees: that waits for what the device has to do, and the callbacks that
    are among it give blocks, too.
    """
    cdef Block *b = oldest_kept(d, until)
    cdef CUresult rc
    cdef bint any = False
    while b != NULL:
        rc = free_now(d, b.address)
        if rc == CUDA_ERROR_NOT_PERMITTED:
            keep_later(d, b)
            break
        given_back(rc, b"cuMemFree")
        free(b)
        any = True
        b = oldest_kept(d, until)
    return any


cdef void forget_memory(Device *d) noexcept nogil:
    """Free the tables of a device that ends; its memory goes with the context."""
    cdef Block *b
    cdef size_t i
    while d.oldest != NULL:
        b = d.oldest
        d.oldest = b.newer
        free(b)
    while d.words != NULL:
        b = d.words
        d.words = b.next
        free(b)
    if d.live != NULL:
        for i in range(d.live_mask + 1):
            while d.live[i] != NULL:
                b = d.live[i]
                d.live[i] = b.next
                free(b)
        free(d.live)


cdef bint drop_stacks(Device *d) noexcept nogil:
    """Give the stacks back, which the next region has made anew; whether there were any."""
    cdef bint any
    if d.calls == NULL:
        gompy_quick_acquire(&d.launch_lock)
    elif not gompy_quick_try(&d.launch_lock):
        return False  # a region has them, and may wait for what the caller holds
    any = d.stacks != 0
    if any:
        must_succeed(cuda.mem_free(d.stacks), b"cuMemFree")
        d.stacks = 0
        d.stacks_size = 0
    gompy_quick_release(&d.launch_lock)
    return any


cdef Block *new_block(Device *d, size_t size) noexcept nogil:
    """A block from the driver; NULL after a message."""
    cdef CUdeviceptr address = 0
    cdef CUresult rc = CUDA_ERROR_OUT_OF_MEMORY
    cdef Block *b
    if not in_callback:
        release_kept(d, KEEP_BYTES)
    b = <Block *> malloc(sizeof(Block))
    if b != NULL:
        rc = cuda.mem_alloc(&address, size)
        # What is kept for later has to go first, then the stacks.
        if rc == CUDA_ERROR_OUT_OF_MEMORY and release_kept(d, 0):
            rc = cuda.mem_alloc(&address, size)
        if rc == CUDA_ERROR_OUT_OF_MEMORY and drop_stacks(d):
            rc = cuda.mem_alloc(&address, size)
    if call_failed(rc, b"cuMemAlloc"):
        free(b)
        return NULL
    b.address = address
    b.size = size
    b.words = False
    return b


cdef inline void note_live(Device *d, Block *b) noexcept nogil:
    """A block is in use.  The memory lock is held."""
    cdef Block **at
    if not grow_table(d):
        gompy_quick_release(&d.memory_lock)  # the end of the program frees what is there
        GOMP_PLUGIN_fatal(b"nvptx: out of memory")
    at = &d.live[address_hash(b.address) & d.live_mask]
    b.next = at[0]
    at[0] = b
    d.num_live += 1


cdef CUdeviceptr take_words(Device *d, size_t size) noexcept nogil:
    """With GOMPY_CHECK, a block for argument words alone, 0: from elsewhere.  Only what the compiler makes of a region
    uses it, so it need not go back to the driver each time for its later use to be noticed."""
    cdef Block *b
    if size > WORDS_BLOCK or keeps_blocks():
        return 0
    gompy_quick_acquire(&d.memory_lock)
    b = d.words
    if b != NULL:
        d.words = b.next
    else:
        gompy_quick_release(&d.memory_lock)
        b = new_block(d, WORDS_BLOCK)
        if b == NULL:
            return 0
        b.words = True
        gompy_quick_acquire(&d.memory_lock)
    note_live(d, b)
    gompy_quick_release(&d.memory_lock)
    return b.address


cdef CUdeviceptr take_block(Device *d, size_t size) noexcept nogil:
    """Device memory, a kept block or a new one; 0 after a message."""
    cdef bint keep = keeps_blocks()
    cdef Block *b = NULL
    if size == 0:
        size = 1  # a driver refuses to allocate nothing
    if not keep and not in_callback:
        release_kept(d, 0)  # what a callback of the driver could not give back
    gompy_quick_acquire(&d.memory_lock)
    if keep:
        b = d.kept[size_class(size)]
        while b != NULL and b.size != size:
            b = b.next
    if b != NULL:
        unlink_kept(d, b)
    else:
        gompy_quick_release(&d.memory_lock)
        b = new_block(d, size)
        if b == NULL:
            return 0
        gompy_quick_acquire(&d.memory_lock)
    note_live(d, b)
    gompy_quick_release(&d.memory_lock)
    return b.address


cdef bint give_block(Device *d, CUdeviceptr address) noexcept nogil:
    """Memory is used no more.  In a callback nothing of the driver's may be called: the next allocation gives it
    back.  The context is made current where the driver is called: most blocks are kept."""
    cdef Block **at
    cdef Block *b = NULL
    cdef bint keep
    cdef CUresult rc
    gompy_quick_acquire(&d.memory_lock)
    if d.live != NULL:
        at = find_live(d, address)
        b = at[0]
    if b == NULL:
        gompy_quick_release(&d.memory_lock)
        GOMP_PLUGIN_error(b"invalid device address")
        return False
    at[0] = b.next
    d.num_live -= 1
    if b.words:
        b.next = d.words
        d.words = b
        gompy_quick_release(&d.memory_lock)
        return True
    keep = in_callback or (keeps_blocks() and b.size <= KEEP_BYTES // 4)
    if keep:
        keep_block(d, b)
    gompy_quick_release(&d.memory_lock)
    if keep:
        return True
    if not enter_context(d):
        keep_later(d, b)
        return False
    rc = free_now(d, address)  # without the lock: see release_kept
    if rc == CUDA_ERROR_NOT_PERMITTED:  # a callback, or a call of the host: at the next allocation
        keep_later(d, b)
        return True
    free(b)
    return not call_failed(rc, b"cuMemFree")


cdef bint copy_misfits(const void *host, CUdeviceptr device) noexcept nogil:
    """Say why copy_fits says no: the messages are those of GCC's plugin.  False."""
    if device == 0:
        GOMP_PLUGIN_error(b"invalid device address")
    elif host == NULL:
        GOMP_PLUGIN_error(b"invalid host address")
    elif <CUdeviceptr> <uintptr_t> host == device:
        GOMP_PLUGIN_error(b"invalid host or device address")
    else:
        GOMP_PLUGIN_error(b"invalid size")
    return False


cdef inline bint copy_fits(Device *d, const void *host, CUdeviceptr device, size_t size) noexcept nogil:
    """What can be told of a copy without asking the driver; false after a message."""
    cdef Block *b = NULL
    if device == 0 or host == NULL or <CUdeviceptr> <uintptr_t> host == device:
        return copy_misfits(host, device)
    gompy_quick_acquire(&d.memory_lock)
    if d.live != NULL:
        b = find_live(d, device)[0]
    gompy_quick_release(&d.memory_lock)
    return b == NULL or size <= b.size or copy_misfits(host, device)


cdef bint copy_failed(CUresult rc, const char *what, CUdeviceptr device, size_t size) noexcept nogil:
    """A copy went wrong: ask the driver why it may have, and say so.  False."""
    cdef CUdeviceptr base = 0
    cdef size_t length = 0
    if rc == CUDA_ERROR_INVALID_VALUE:
        if cuda.mem_range(&base, &length, device) != CUDA_SUCCESS:
            GOMP_PLUGIN_error(b"invalid device address")
        elif device + size > base + length:
            GOMP_PLUGIN_error(b"invalid size")
    call_failed(rc, what)
    return False


cdef inline bint copy_succeeded(CUresult rc, const char *what, CUdeviceptr device, size_t size) noexcept nogil:
    """Whether a copy went well; false after a message."""
    return rc == CUDA_SUCCESS or copy_failed(rc, what, device, size)


cdef inline bint host_to_device(int n, CUdeviceptr device, const void *host, size_t size, CUstream stream,
                                bint waits) noexcept nogil:
    """Copy; ``waits``: until the host's memory has been read, else in the order of a stream."""
    cdef Device *d = device_of(n)
    if d == NULL or not enter_context(d):
        return False
    if size == 0:
        return True
    if not copy_fits(d, host, device, size):
        return False
    if waits:
        return copy_succeeded(cuda.host_to_device(device, host, size), b"cuMemcpyHtoD", device, size)
    return copy_succeeded(cuda.host_to_device_async(device, host, size, stream), b"cuMemcpyHtoDAsync", device, size)


cdef inline bint device_to_host(int n, void *host, CUdeviceptr device, size_t size, CUstream stream,
                                bint waits) noexcept nogil:
    cdef Device *d = device_of(n)
    if d == NULL or not enter_context(d):
        return False
    if size == 0:
        return True
    if not copy_fits(d, host, device, size):
        return False
    if waits:
        return copy_succeeded(cuda.device_to_host(host, device, size), b"cuMemcpyDtoH", device, size)
    return copy_succeeded(cuda.device_to_host_async(host, device, size, stream), b"cuMemcpyDtoHAsync", device, size)


cdef bint device_to_device(int n, CUdeviceptr target, CUdeviceptr source, size_t size,
                           CUstream stream) noexcept nogil:
    cdef Device *d = device_of(n)
    if d == NULL or not enter_context(d):
        return False
    if size == 0:
        return True
    return not call_failed(cuda.device_to_device_async(target, source, size, stream), b"cuMemcpyDtoDAsync")


cdef bint fill_device(int n, CUdeviceptr target, int value, size_t size) noexcept nogil:
    """Give bytes of device memory a value."""
    cdef Device *d = device_of(n)
    if d == NULL or not enter_context(d):
        return False
    if size == 0:
        return True
    if cuda.mem_set == NULL:
        GOMP_PLUGIN_error(b"nvptx: the driver has no cuMemsetD8_v2")
        return False
    return not call_failed(cuda.mem_set(target, <unsigned char> value, size), b"cuMemsetD8")


cdef bint is_device_memory(int n, CUdeviceptr address, size_t size) noexcept nogil:
    """Whether a range lies in a block that the driver knows."""
    cdef Device *d = device_of(n)
    cdef CUdeviceptr base = 0
    cdef size_t length = 0
    if d == NULL or not enter_context(d) or cuda.mem_range(&base, &length, address) != CUDA_SUCCESS:
        return False
    return base <= address and address - base <= length and size <= length - (address - base)
