# Physical memory of cuMemCreate: pages of a file in memory, so that one may be mapped at several addresses.
#
# What stays in this process has a place in one file for each device, as descriptors are few.  What others may import
# has a file of its own; behind its bytes lies a page that says what it is.  It counts as the device's memory in use
# where it was made.  It goes with the last of its handles and mappings.
#
# All of this is guarded by memory_lock.

cdef enum:
    PHYSICAL_MAGIC = 0x67706d76
    ABOUT_PAGE = 4096              # bytes behind a file's memory

cdef struct memory_place:          # CUmemLocation
    int kind
    int number

cdef struct memory_properties:     # CUmemAllocationProp
    int kind
    int handles                    # CUmemAllocationHandleType, a set
    memory_place place
    void *security
    uint8_t compression, rdma
    uint16_t usage
    uint8_t reserved[4]

cdef struct physical_about:        # in a file that others may import
    uint32_t magic
    int ordinal                    # of the device
    uint64_t size
    memory_properties properties

cdef struct physical_handle        # what the program has

cdef struct physical:
    gpu *device
    uint64_t size
    memory_properties properties
    block *extent                  # its place in the device's file; NULL: a file of its own
    gompy_kept file
    bint imported                  # another has made it: it is not counted here
    uint64_t mappings
    physical_handle *handle        # or NULL: released

cdef struct physical_handle:
    handle_head head
    physical *of
    uint64_t count                 # cuMemCreate, cuMemImport... and cuMemRetainAllocationHandle, less cuMemRelease


cdef bint open_extents(area *a, uint64_t base, uint64_t size) noexcept nogil:
    """Make an area of numbers that are given out in chunks: addresses without pages, or places in a file."""
    a.base, a.size, a.granule, a.limit = base, size, CHUNK, size
    if size == 0:
        return True
    a.root = new_block(base, size)
    if a.root == NULL:
        return False
    renew_node(a.root)
    return True


cdef bint open_store(gpu *g) noexcept nogil:
    """Make the device's file, if it is not there."""
    cdef int fd
    if g.store_begun:
        return gompy_still_ours(&g.store_file)
    fd = gompy_memfd(b"gompy-cuda-memory")
    if fd < 0 or not lengthen_file(fd, round_up(g.bytes, CHUNK)) or \
            not open_extents(&g.store, 0, round_up(g.bytes, CHUNK)):
        if fd >= 0:
            close(fd)
        return False
    gompy_keep(&g.store_file, fd)
    g.store_begun = True
    return True


cdef bint own_file(physical *m) noexcept nogil:
    """Give memory a file of its own that says what it is."""
    cdef int fd = gompy_memfd(b"gompy-cuda-shared-memory")
    cdef physical_about about
    memset(&about, 0, sizeof(about))
    about.magic, about.ordinal, about.size, about.properties = PHYSICAL_MAGIC, m.device.ordinal, m.size, m.properties
    about.properties.security = NULL
    if fd < 0 or not lengthen_file(fd, m.size + ABOUT_PAGE) or not write_about(fd, &about, sizeof(about), m.size):
        if fd >= 0:
            close(fd)
        return False
    gompy_keep(&m.file, fd)
    return True


cdef bint give_place(physical *m) noexcept nogil:
    """A place in the device's file, or a file."""
    cdef gpu *g = m.device
    if m.properties.handles == 0 and open_store(g):
        m.extent = carve_extent(&g.store, m.size, CHUNK)
    return m.extent != NULL or own_file(m)


cdef void drop_physical(physical *m) noexcept nogil:
    """Free it, if there is neither a handle nor a mapping of it."""
    if m.handle != NULL or m.mappings:
        return
    if m.extent != NULL:
        if gompy_still_ours(&m.device.store_file):
            drop_bytes(m.device.store_file.fd, m.extent.address, m.size)
        release_block(&m.device.store, m.extent)
    else:
        gompy_close_kept(&m.file)
    if not m.imported:
        m.device.memory.in_use -= m.size
    free(m)


cdef int give_handle(physical *m, physical_handle **to) noexcept nogil:
    """A handle of memory; it is one and the same while it lives."""
    cdef physical_handle *h = m.handle
    if h == NULL:
        h = <physical_handle *>new_handle(PHYSICAL_HANDLE)
        if h == NULL:
            return CUDA_ERROR_OUT_OF_MEMORY
        h.of = m
        m.handle = h
    h.count += 1
    to[0] = h
    return CUDA_SUCCESS


cdef int make_physical(gpu *g, uint64_t size, const memory_properties *wanted, physical_handle **to) noexcept nogil:
    """New memory, and its handle."""
    cdef physical *m
    cdef int r
    if size > g.memory.limit or g.memory.in_use > g.memory.limit - size:
        return CUDA_ERROR_OUT_OF_MEMORY
    m = <physical *>calloc(1, sizeof(physical))
    if m == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    m.device, m.size, m.properties, m.file.fd = g, size, wanted[0], -1
    m.properties.compression = 0  # as the reference says: if it is not had, the properties of the handle tell
    if not give_place(m):
        free(m)
        return CUDA_ERROR_OUT_OF_MEMORY
    g.memory.in_use += size
    r = give_handle(m, to)
    if r != CUDA_SUCCESS:
        drop_physical(m)
    return r


cdef int import_physical(int given, physical_handle **to) noexcept nogil:
    """Memory of a descriptor that cuMemExportToShareableHandle has given, here or in another process."""
    cdef physical_about about
    cdef physical *m
    cdef int fd, r
    if not read_about(given, &about, sizeof(about), ABOUT_PAGE) or about.magic != PHYSICAL_MAGIC or \
            about.size == 0 or about.size % CHUNK:
        return CUDA_ERROR_INVALID_VALUE
    if not 0 <= about.ordinal < gpu_count or device_number(&gpus[about.ordinal]) < 0:
        return CUDA_ERROR_INVALID_DEVICE
    fd = gompy_again(given, 3)
    m = <physical *>calloc(1, sizeof(physical)) if fd >= 0 else NULL
    if m == NULL:
        if fd >= 0:
            close(fd)
        return CUDA_ERROR_OUT_OF_MEMORY
    m.device, m.size, m.properties, m.imported = &gpus[about.ordinal], about.size, about.properties, True
    m.properties.place.number = device_number(m.device)
    gompy_keep(&m.file, fd)
    r = give_handle(m, to)
    if r != CUDA_SUCCESS:
        drop_physical(m)
    return r


cdef bint show_physical(physical *m, uint64_t address) noexcept nogil:
    """Put its pages at an address, without access."""
    cdef bint own = m.extent == NULL
    cdef gompy_kept *file = &m.file if own else &m.device.store_file
    if not gompy_still_ours(file) or mmap(<void *>address, m.size, PROT_NONE, MAP_SHARED | MAP_FIXED, file.fd,
                                          0 if own else m.extent.address) == MAP_FAILED:
        return False
    madvise(<void *>address, m.size, MADV_DONTDUMP)
    m.mappings += 1
    return True
