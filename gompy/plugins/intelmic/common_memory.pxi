# Memory that the program and a device reach at the same address (llvm_omp_target_alloc_host): a run of the arena's
# pages, which both processes map there besides.  The addresses are below those of the arenas (device_layout.pxi), where
# a process has nothing else.

cdef extern from *:
    """
    #define COMMON_BEGIN (0x11ull << 40)
    #define COMMON_END (0x18ull << 40)
    #define COMMON_STEP (2ull << 20)
    struct mic_common
    {
      struct mic_common *next;
      char *address;
      uint64_t offset; /* in the large arena */
      size_t size;
      int device;
    };
    static struct mic_common *mic_common_blocks; /* under common_lock */
    static uint64_t mic_common_next = COMMON_BEGIN;
    static pthread_mutex_t mic_common_lock = PTHREAD_MUTEX_INITIALIZER;
    """
    uint64_t COMMON_BEGIN, COMMON_END, COMMON_STEP
    struct mic_common:
        mic_common *next
        char *address
        uint64_t offset
        size_t size
        int device
    mic_common *mic_common_blocks
    uint64_t mic_common_next
    pthread_mutex_t mic_common_lock

cdef enum:
    COMMON_TRIES = 64


cdef int64_t map_on_device(mic_device *d, char *address, uint64_t offset, size_t size) noexcept nogil:
    """Have the device map its memory's file at an address; offset 0: take the mapping away.  0 or an errno value."""
    cdef int64_t error
    pthread_mutex_lock(&d.commands)
    error = run_command(d, MIC_OP_MAP, <uint64_t>address, offset, size)
    pthread_mutex_unlock(&d.commands)
    return error


cdef char *map_on_both(mic_device *d, uint64_t offset, size_t size) noexcept nogil:
    """Map a part of the memory's file at an address that is free in both processes, or NULL.  The lock is held."""
    global mic_common_next
    cdef uint64_t room = (size + COMMON_STEP - 1) & ~(COMMON_STEP - 1)
    cdef char *place
    cdef void *p
    cdef int i
    for i in range(COMMON_TRIES):
        if mic_common_next + room > COMMON_END:
            mic_common_next = COMMON_BEGIN
            if mic_common_next + room > COMMON_END:
                return NULL
        place = <char *>mic_common_next
        mic_common_next += room
        p = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, d.file.fd,
                 <off_t>offset)
        if p == <void *>-1:
            continue
        if p == <void *>place and map_on_device(d, place, offset, size) == 0:
            madvise(p, size, MADV_DONTDUMP)
            madvise(p, size, MADV_DONTFORK)
            return place
        munmap(p, size)
    return NULL


cdef public void *gompy_alloc_common(int number, size_t size, int managed) noexcept nogil:
    """Memory of a device that the program reaches at the same address, or NULL.  Not part of GCC's interface."""
    global mic_common_blocks
    cdef mic_device *d = device_of(number)
    cdef size_t bytes = page_up(size if size else 1)
    cdef uint64_t offset
    cdef mic_common *block
    if size > d.size:
        return NULL
    block = <mic_common *>malloc(sizeof(mic_common))
    offset = arena_alloc(&d.large, max(bytes, <size_t>ARENA_SMALL + 1))  # a run, whose pages are its own
    if block == NULL or offset == ~<uint64_t>0:
        free(block)
        return NULL
    pthread_mutex_lock(&mic_common_lock)
    block.address = map_on_both(d, MIC_CONTROL_SIZE + d.split + offset, bytes)
    if block.address != NULL:
        block.offset = offset
        block.size = bytes
        block.device = number
        block.next = mic_common_blocks
        mic_common_blocks = block
    pthread_mutex_unlock(&mic_common_lock)
    if block.address == NULL:
        arena_free(&d.large, offset)
        free(block)
        return NULL
    return block.address


cdef public c_bool gompy_free_common(int number, void *address, int managed) noexcept nogil:
    """Give it back.  False: no such memory begins there.  Not part of GCC's interface."""
    cdef mic_device *d = device_of(number)
    cdef mic_common **at = &mic_common_blocks
    cdef mic_common *block
    pthread_mutex_lock(&mic_common_lock)
    while at[0] != NULL and not (at[0].address == <char *>address and at[0].device == number):
        at = &at[0].next
    block = at[0]
    if block != NULL:
        at[0] = block.next
    pthread_mutex_unlock(&mic_common_lock)
    if block == NULL:
        return False
    map_on_device(d, block.address, 0, block.size)
    munmap(block.address, block.size)
    arena_free(&d.large, block.offset)
    free(block)
    return True


cdef bint is_common_memory(int number, const void *p, size_t size) noexcept nogil:
    """Whether a range lies in such a block of a device's."""
    cdef mic_common *block
    pthread_mutex_lock(&mic_common_lock)
    block = mic_common_blocks
    while block != NULL and not (
        block.device == number
        and <char *>p >= block.address
        and size <= block.size
        and <size_t>(<char *>p - block.address) <= block.size - size
    ):
        block = block.next
    pthread_mutex_unlock(&mic_common_lock)
    return block != NULL
