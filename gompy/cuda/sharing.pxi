# Device memory that another process may open: cuIpc*.
#
# A block's pages become those of a file in memory, one for each device, at the place that they have in its area.  The
# handle says which process has the file open, and where.  The other process maps the pages at an address of its own
# device's.  Pages that were shared once stay so: what lies in them later is this process's all the same, and nobody
# looks there who keeps to the rule that a handle is closed before its memory is freed.
#
# All of this is guarded by memory_lock.

cdef enum:
    SHARED_MAGIC = 0x67706970

cdef struct shared_handle:     # CUipcMemHandle
    uint32_t magic
    int pid, fd
    uint32_t skipped           # bytes before the block in its first page
    uint64_t device, inode     # of the file
    uint64_t place, length     # of the first page in it; of the block
    uint64_t rest[2]


cdef bint open_shared_file(gpu *g) noexcept nogil:
    """Make the device's file, if it is not there."""
    cdef int fd
    if g.shared_pages != NULL:
        return gompy_still_ours(&g.shared_file)
    fd = gompy_memfd(b"gompy-cuda-ipc")
    if fd < 0 or not lengthen_file(fd, g.memory.size):
        if fd >= 0:
            close(fd)
        return False
    g.shared_pages = <uint8_t *>calloc(g.memory.size / 4096 + 1, 1)
    if g.shared_pages == NULL:
        close(fd)
        return False
    gompy_keep(&g.shared_file, fd)
    return True


cdef bint share_pages(gpu *g, uint64_t first, uint64_t after) noexcept nogil:
    """Make pages, by their numbers in the area, those of the file."""
    cdef uint64_t run
    cdef void *at
    while first < after:
        run = first
        while run < after and not g.shared_pages[run]:
            run += 1
        if run > first:
            at = <void *>(g.memory.base + first * 4096)
            if not write_range(g.shared_file.fd, <char *>g.memory.base, first * 4096, run * 4096):
                return False
            if mmap(at, (run - first) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, g.shared_file.fd,
                    first * 4096) == MAP_FAILED:
                return False
            madvise(at, (run - first) * 4096, MADV_DONTDUMP)
            memset(g.shared_pages + first, 1, run - first)
        first = run + 1
    return True


cdef int share_block(gpu *g, block *n, shared_handle *to) noexcept nogil:
    """Let other processes open a block."""
    cdef uint64_t first = (n.start - g.memory.base) / 4096
    cdef uint64_t after = (n.start + n.length - g.memory.base + 4095) / 4096
    leave_gate_open()
    if not open_shared_file(g) or not share_pages(g, first, after):
        return CUDA_ERROR_OUT_OF_MEMORY
    memset(to, 0, sizeof(shared_handle))
    to.magic, to.pid, to.fd = SHARED_MAGIC, getpid(), g.shared_file.fd
    to.device, to.inode = kept_device(&g.shared_file), kept_inode(&g.shared_file)
    to.place, to.skipped, to.length = first * 4096, n.start - g.memory.base - first * 4096, n.length
    return CUDA_SUCCESS


cdef block *opened_before(block *n, const shared_handle *h, void *owner) noexcept nogil:
    """What a context has opened by the same handle, in a subtree."""
    cdef block *found
    if n == NULL:
        return NULL
    if n.use == OPENED and n.owner == owner and n.opened_file == h.inode and n.opened_place == h.place + h.skipped:
        return n
    found = opened_before(n.left, h, owner)
    return found if found != NULL else opened_before(n.right, h, owner)


cdef int open_shared_block(gpu *g, void *owner, const shared_handle *h, uint64_t *to) noexcept nogil:
    """Map another process's block."""
    cdef char path[64]
    cdef uint64_t size = (h.skipped + h.length + 4095) & ~<uint64_t>4095
    cdef block *n
    cdef void *at
    cdef int fd
    if h.length == 0 or h.length > g.bytes or h.skipped >= 4096 or h.place & 4095 or h.place >> 48:
        return CUDA_ERROR_INVALID_VALUE
    snprintf(path, sizeof(path), b"/proc/%d/fd/%d", h.pid, h.fd)
    fd = gompy_open(path, O_RDWR, 0)
    if fd < 0 or not same_file(fd, h.device, h.inode):
        if fd >= 0:
            close(fd)
        return CUDA_ERROR_MAP_FAILED
    n = area_alloc(&g.memory, size, 4096, OPENED, owner)
    if n == NULL:
        close(fd)
        return CUDA_ERROR_OUT_OF_MEMORY
    at = mmap(<void *>n.address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, h.place)
    close(fd)
    if at == MAP_FAILED:
        area_free(&g.memory, n, False)
        return CUDA_ERROR_MAP_FAILED
    madvise(at, size, MADV_DONTDUMP)
    n.opened = 1
    g.memory.in_use -= n.charge  # it is the other's
    n.charge = 0
    mark_locked(n.start, n.length, 0)
    n.start, n.length = n.address + h.skipped, h.length
    mark_locked(n.start, n.length, SHADOW_ALLOCATED)
    mark_locked(n.start, n.length, SHADOW_WRITTEN)
    n.opened_file, n.opened_place = h.inode, h.place + h.skipped
    to[0] = n.start
    return CUDA_SUCCESS
