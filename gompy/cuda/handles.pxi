# Handles: what the program holds of contexts, streams, events, modules, functions and link states.
#
# Each kind has a reserved range of equal slots, so that any word a program passes can be tested without being followed:
# in the range, at a slot's start, and alive.  Freed slots are reused last-in-first-out only after all others (a queue),
# which keeps stale handles recognisable for long.

cdef enum:
    CONTEXT
    STREAM
    EVENT
    MODULE
    FUNCTION
    LINK
    LIBRARY
    KERNEL
    POOL
    GRAPH
    NODE
    EXECUTABLE
    ARRAY
    USER_OBJECT
    PHYSICAL_HANDLE
    MIPMAP
    HANDLE_KINDS

cdef struct handle_head:
    uint32_t live      # 1 from creation to destruction
    uint32_t held      # reasons besides the handle for which the slot must not be reused
    uint64_t serial    # differs between two uses of one slot
    handle_head *next_free

cdef struct handle_range:
    char *base
    size_t step
    uint64_t inverse   # of the step's odd part, modulo 2^64
    uint64_t most      # the most that a multiple of the step gives (is_slot)
    int even           # bits of the step's other factor, a power of two
    size_t used, capacity
    size_t alive
    handle_head *first_free
    handle_head *last_free

cdef handle_range handle_ranges[HANDLE_KINDS]
cdef uint64_t handle_serial


cdef void note_step(handle_range *r) noexcept nogil:
    """What tells multiples of the step from other numbers without a division (Warren, Hacker's Delight, 10-17)."""
    cdef uint64_t odd = r.step
    cdef int i
    while odd % 2 == 0:
        odd //= 2
        r.even += 1
    r.inverse = odd
    for i in range(5):  # Newton: twice as many bits are right each time, three to begin with
        r.inverse *= 2 - odd * r.inverse
    r.most = <uint64_t>-1 / r.step


cdef inline bint is_slot(const handle_range *r, size_t offset) noexcept nogil:
    """Whether a slot begins there."""
    cdef uint64_t n = offset * r.inverse
    return (n >> r.even | n << (64 - r.even)) <= r.most


cdef bint reserve_handles(int kind, size_t size, size_t capacity) noexcept nogil:
    """Set a kind's range up."""
    cdef handle_range *r = &handle_ranges[kind]
    r.step = round_up(size, 64)
    r.capacity = capacity
    note_step(r)
    r.base = <char *>gompy_map_sparse(NULL, r.step * capacity, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    return <void *>r.base != MAP_FAILED


cdef void *new_handle(int kind) noexcept nogil:
    """A zeroed slot, alive.  NULL when there are none left."""
    global handle_serial
    cdef handle_range *r = &handle_ranges[kind]
    cdef handle_head *h
    pthread_mutex_lock(&driver_lock)
    if r.first_free != NULL and (r.used >= 1024 or r.used == r.capacity):
        h = r.first_free
        r.first_free = h.next_free
        if r.first_free == NULL:
            r.last_free = NULL
    elif r.used < r.capacity:
        h = <handle_head *>(r.base + r.used * r.step)
        r.used += 1
    else:
        pthread_mutex_unlock(&driver_lock)
        return NULL
    memset(h, 0, r.step)
    handle_serial += 1
    h.serial = handle_serial
    r.alive += 1
    store32(&h.live, 1, RELEASE)
    pthread_mutex_unlock(&driver_lock)
    return h


cdef inline bint is_handle(int kind, const void *p) noexcept nogil:
    """Whether a word that the program passed is a living handle of a kind."""
    cdef handle_range *r = &handle_ranges[kind]
    cdef size_t offset = <size_t>p - <size_t>r.base
    if r.base == NULL or offset >= r.used * r.step or not is_slot(r, offset):
        return False
    return load32(&(<handle_head *>p).live, ACQUIRE) != 0


cdef bint bury_handle(int kind, void *p) noexcept nogil:
    """From now on the program can't use it; the slot stays until free_handle.  False if another thread was quicker."""
    return exchange32(&(<handle_head *>p).live, 0, ACQUIRE_RELEASE) != 0


cdef void free_handle(int kind, void *p) noexcept nogil:
    """Give a slot back."""
    cdef handle_range *r = &handle_ranges[kind]
    cdef handle_head *h = <handle_head *>p
    pthread_mutex_lock(&driver_lock)
    store32(&h.live, 0, RELEASE)
    h.serial = 0
    h.next_free = NULL
    if r.last_free != NULL:
        r.last_free.next_free = h
    else:
        r.first_free = h
    r.last_free = h
    r.alive -= 1
    pthread_mutex_unlock(&driver_lock)
