# A device's memory: the memfd, its two arenas, blocks.

cdef extern from *:
    """
    #include "gompy/plugins/intelmic/huge_pages.h"
    #define MIC_LARGE_BLOCK (1 << 20)
    #define MIC_LEAST_MEMORY (4 << 20)
    """
    void *map_aligned "mic_map_aligned"(size_t size, int fd, off_t offset) nogil
    size_t LARGE_BLOCK "MIC_LARGE_BLOCK"
    uint64_t LEAST_MEMORY "MIC_LEAST_MEMORY"
    long mic_physical_memory "get_phys_pages"() nogil


cdef bint open_arenas(mic_device *d, uint64_t size) noexcept nogil:
    """Map the device's memory and make its two arenas.  False, with errno set, if there is no room for that."""
    cdef uint64_t keep = <uint64_t>mic_physical_memory() * 4096 // 8
    cdef void *p
    if gompy_resize(d.file.fd, <off_t>(MIC_CONTROL_SIZE + size)) != 0:
        return False
    p = map_aligned(MIC_CONTROL_SIZE + size, d.file.fd, 0)
    if p == NULL:
        return False
    if keep > <uint64_t>4 << 30:
        keep = <uint64_t>4 << 30
    d.control = <mic_control *>p
    d.memory = <char *>p + MIC_CONTROL_SIZE
    d.size = size
    # huge pages (where the system grants them to shared memory) make the first touch of large blocks ten times cheaper,
    # but cost small ones memory: so small and large blocks live apart
    d.split = (size >> 3) & ~<uint64_t>((2 << 20) - 1)
    if arena_open(&d.small, d.split, &d.file, MIC_CONTROL_SIZE, d.memory, keep // 4):
        if arena_open(&d.large, size - d.split, &d.file, MIC_CONTROL_SIZE + d.split, d.memory + d.split, keep):
            return True
    arena_close(&d.small)  # what succeeds leaves errno alone
    munmap(p, MIC_CONTROL_SIZE + size)
    d.control = NULL
    return False


cdef bint make_memory(mic_device *d) noexcept nogil:
    """Make the memfd, map it, open the arena."""
    cdef uint64_t size = arena_size_wanted(kept_of_memory(d), MIC_EXACT_FIXED if checks_exactly(d) else 0)
    gompy_keep(&d.file, gompy_memfd(b"gompy-device"))
    if d.file.fd < 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): cannot make its memory: %s%s", d.number, strerror(errno),
                          gompy_limit_hint(errno))
        return False
    # a limit on address space, private memory or file size may forbid what nobody would use: try less
    while not open_arenas(d, size):
        if size <= LEAST_MEMORY:
            GOMP_PLUGIN_error(b"device %d (intelmic): cannot map %zu MiB of memory for it: %s%s", d.number,
                              <size_t>(size >> 20), strerror(errno), gompy_limit_hint(errno))
            gompy_close_kept(&d.file)
            return False
        size = (size >> 1) & ~<uint64_t>((2 << 20) - 1)
        if size < LEAST_MEMORY:
            size = LEAST_MEMORY
    madvise(d.control, MIC_CONTROL_SIZE + size, MADV_DONTDUMP)
    madvise(d.control, MIC_CONTROL_SIZE + size, MADV_DONTFORK)
    madvise(d.memory + d.split, size - d.split, MADV_HUGEPAGE)
    return True


cdef uint64_t memory_alloc(mic_device *d, size_t size, bint own=True) noexcept nogil:
    """Allocate device memory; own: for the plugin, not the program.  Returns the offset in the arena, or all ones when
    there is no room.
    """
    cdef uint64_t offset = ~<uint64_t>0
    cdef bint fresh
    if d.guarded:
        return guarded_alloc(d, size, own)
    if size > LARGE_BLOCK:
        offset = arena_alloc(&d.large, size)
        if offset != ~<uint64_t>0:
            fresh = arena_fresh(&d.large, offset)
            offset += d.split
            note_block(d, offset, size, fresh)
            return offset
    offset = arena_alloc(&d.small, size)
    if offset & (HUGE_PAGE - 1) == 0:
        grow_hugely(d, offset)
    if offset == ~<uint64_t>0 and size <= LARGE_BLOCK:
        offset = arena_alloc(&d.large, size)
        if offset != ~<uint64_t>0:
            offset += d.split
    elif offset != ~<uint64_t>0 and size >= FIRST_SIZE:
        note_block(d, offset, size, arena_fresh(&d.small, offset))
    return offset


cdef bint memory_free(mic_device *d, uint64_t offset) noexcept nogil:
    """Free device memory.  False: no block in use starts at that offset."""
    if d.guarded:
        return words_free(d, offset) if is_words_block(d, offset) else guarded_free(d, offset)
    return arena_free(&d.small, offset) if offset < d.split else arena_free(&d.large, offset - d.split)


cdef void release_memory(mic_device *d) noexcept nogil:
    """Give everything of make_memory back."""
    arena_close(&d.small)
    arena_close(&d.large)
    munmap(d.control, MIC_CONTROL_SIZE + d.size)
    if d.marks != NULL:
        munmap(d.marks, marks_size(d.size))
    free_outer(d)
    gompy_close_kept(&d.file)
    d.control = NULL
