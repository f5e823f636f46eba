# With GOMPY_CHECK: the shadow, which tells kernels what of device memory is allocated, and what of it is written
# (executor.h).
#
# Marks of large blocks are made late: when the next kernel begins, or somebody else looks.  A region that maps its
# arrays anew frees a block, allocates one as large, and copies to most of it; and what was freed has the marks already
# that the new block is to have then.  So pages of the shadow go from one to the other, and only marks that differ are
# made.
#
# Until then the byte that `states` has for each row of 512 bytes says two things: what the row's marks are known to be
# (PTX_WHOLE_*, two bits), and what they are to be (DUE_*, two more).  While a kernel runs nothing is due: all marks are
# made at once, as it may be told of new memory.
#
# What is due is guarded by memory_lock.

cdef enum:
    SHADOW_ALLOCATED = 1
    SHADOW_WRITTEN = 3
    SHADOW_STALE = 5
    SHADOW_STALE_OWN = 13          # of a module's variable
    ROW = 1 << PTX_WHOLE_SHIFT     # bytes of memory with one state
    KNOWN = 3                      # in a state of which something is due: what its row's marks are
    DUE_FREED = 4                  # and are to be
    DUE_ALLOCATED = 8
    DUE_WRITTEN = 12
    DUE = 12
    LATE_LEAST = 64 << 10          # bytes of memory whose marks are made late
    LATE_RANGES = 32               # of rows of which something may be due, at most
    LATE_FREED = 8                 # of them, freed blocks that are known as such
    LATE_PIECE = 64                # rows that are looked at together
    WIDE = 2 << 20

cdef struct late_range:
    gpu *of
    uint64_t first, end            # rows; of a freed block: where in the window

cdef late_range late_ranges[LATE_RANGES]
cdef late_range late_freed[LATE_FREED]
cdef uint32_t late_count, late_freed_count
cdef uint32_t shadow_users         # kernels that run and look at it (looks.pxi)

cdef extern from *:
    """
    #ifndef MREMAP_DONTUNMAP
    #define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
    #endif
    #include "gompy/native/shadow_marks.h"
    /* Copies are large: vectors are worth it.  */
    __attribute__ ((optimize ("O3"))) static void shadow_written (uint8_t *to, size_t size)
    { gompy_mark_written (to, size); }
    __attribute__ ((optimize ("O3"))) static void shadow_copied (uint8_t *to, const uint8_t *of, size_t size)
    { for (size_t i = 0; i < size; i++) to[i] = to[i] ? of[i] | 1 : 0; }
    __attribute__ ((optimize ("O3"))) static void
    shadow_unset (uint8_t *restrict to, const uint8_t *restrict of, size_t n)
    { for (size_t i = 0; i < n; i++) to[i] = of[i] == 1; }
    /* Something else is due; what is known of the marks stays.  */
    __attribute__ ((optimize ("O3"))) static void shadow_due (uint8_t *states, size_t n, uint8_t due)
    { for (size_t i = 0; i < n; i++) states[i] = (states[i] < PTX_WHOLE_LOOKER ? states[i] & 3 : 0) | due; }
    /* How many states from the first on are the same as far as MASK goes, N at most.  */
    static size_t shadow_same (const uint8_t *states, uint8_t mask, size_t n)
    {
      uint64_t all = mask * 0x0101010101010101ull, first = (states[0] & mask) * 0x0101010101010101ull, eight;
      size_t i = 0;
      for (; i + 8 <= n && (memcpy (&eight, states + i, 8), (eight & all) == first); i += 8)
        ;
      for (; i < n && (states[i] & mask) == (states[0] & mask); i++)
        ;
      return i;
    }
    """
    int MREMAP_DONTUNMAP
    void shadow_written(uint8_t *to, size_t size) nogil
    void shadow_copied(uint8_t *to, const uint8_t *of, size_t size) nogil
    void shadow_unset(uint8_t *to, const uint8_t *of, size_t n) nogil
    void shadow_due(uint8_t *states, size_t n, uint8_t due) nogil
    size_t shadow_same(const uint8_t *states, uint8_t mask, size_t n) nogil


cdef inline uint8_t *shadow_of(gpu *g, uint64_t address) noexcept nogil:
    """Where the marks of device memory are."""
    return g.view.shadow + (address - g.base)


cdef inline uint8_t *state_at(gpu *g, uint64_t address) noexcept nogil:
    """And what is known of its row."""
    return g.view.states + ((address - g.base) >> PTX_WHOLE_SHIFT)


cdef inline uint8_t due_of(uint8_t state) noexcept nogil:
    """What is due of a row: DUE_*, or 0."""
    return state & DUE if state < PTX_WHOLE_LOOKER else 0


cdef inline int mark_of(uint8_t due) noexcept nogil:
    """The mark that is due."""
    return SHADOW_WRITTEN if due == DUE_WRITTEN else SHADOW_ALLOCATED if due == DUE_ALLOCATED else 0


cdef inline int state_of(uint8_t due) noexcept nogil:
    """What is known of a row that has it."""
    return PTX_WHOLE_WRITTEN if due == DUE_WRITTEN else PTX_WHOLE_ALLOCATED if due == DUE_ALLOCATED else 0


cdef void settle_rows(gpu *g, uint64_t row, uint64_t end) noexcept nogil:
    """Make the marks that are due of some rows."""
    cdef uint8_t *states = g.view.states
    cdef uint8_t due
    cdef uint64_t n
    while row < end:
        n = min(end - row, <uint64_t>LATE_PIECE)
        if states[row] == (DUE_WRITTEN | PTX_WHOLE_WRITTEN) and shadow_same(states + row, 0xff, n) == n:
            memset(states + row, PTX_WHOLE_WRITTEN, n)
            row += n
            continue
        due = due_of(states[row])
        n = shadow_same(states + row, <uint8_t>~KNOWN, n)
        if due:
            memset(g.view.shadow + (row << PTX_WHOLE_SHIFT), mark_of(due), n << PTX_WHOLE_SHIFT)
            memset(states + row, state_of(due), n)
        row += n


cdef void settle_all() noexcept nogil:
    """Make all marks that are due.  With memory_lock held."""
    global late_count, late_freed_count
    cdef uint32_t i
    for i in range(late_count):
        settle_rows(late_ranges[i].of, late_ranges[i].first, late_ranges[i].end)
    late_count = late_freed_count = 0


cdef void settle_locked(gpu *g, uint64_t address, uint64_t size) noexcept nogil:
    """Make those that are due of some memory.  With memory_lock held."""
    cdef uint64_t at = address - g.base
    if late_count and size:
        settle_rows(g, at >> PTX_WHOLE_SHIFT, ((at + size - 1) >> PTX_WHOLE_SHIFT) + 1)


cdef void settle_ends(gpu *g, uint64_t address, uint64_t size) noexcept nogil:
    """The same of a block that is marked at once: other bytes may have something of its first and last rows."""
    settle_locked(g, address, 1)
    settle_locked(g, address + size - 1, 1)


cdef void settle_marks(gpu *g, uint64_t address, uint64_t size) noexcept nogil:
    """The same, of memory whose marks somebody looks at, or is to change.  Without memory_lock."""
    if load32(&late_count, RELAXED):
        pthread_mutex_lock(&memory_lock)
        settle_locked(g, address, size)
        pthread_mutex_unlock(&memory_lock)


cdef void note_late(gpu *g, uint64_t first, uint64_t end) noexcept nogil:
    """Something is about to be due of some rows.  With memory_lock held."""
    global late_count
    cdef uint32_t i
    for i in range(late_count):
        if late_ranges[i].of == g and late_ranges[i].first <= first and end <= late_ranges[i].end:
            return
    if late_count == LATE_RANGES:
        settle_all()
    late_ranges[late_count].of, late_ranges[late_count].first, late_ranges[late_count].end = g, first, end
    late_count += 1


cdef bint may_be_late(uint64_t size) noexcept nogil:
    """Whether marks of so many bytes are made late.  With memory_lock held."""
    return size >= LATE_LEAST and shadow_users == 0


cdef void mark_late(gpu *g, uint64_t address, uint64_t size, uint8_t due) noexcept nogil:
    """Mark a block late, but for what it has of its first and last rows.  With memory_lock held."""
    cdef uint64_t at = address - g.base
    cdef uint64_t first = round_up(at, ROW), end = (at + size) & ~<uint64_t>(ROW - 1)
    note_late(g, first >> PTX_WHOLE_SHIFT, end >> PTX_WHOLE_SHIFT)
    set_edge(g, at, first - at, mark_of(due))
    shadow_due(g.view.states + (first >> PTX_WHOLE_SHIFT), (end - first) >> PTX_WHOLE_SHIFT, due)
    set_edge(g, end, at + size - end, mark_of(due))


cdef void set_edge(gpu *g, uint64_t at, uint64_t size, int mark) noexcept nogil:
    """Mark a part of a row at once; the rest has other marks."""
    if size:
        settle_rows(g, at >> PTX_WHOLE_SHIFT, (at >> PTX_WHOLE_SHIFT) + 1)
        memset(g.view.shadow + at, mark, size)
        g.view.states[at >> PTX_WHOLE_SHIFT] = 0


cdef inline uint64_t pages_from(gpu *g, uint64_t at) noexcept nogil:
    """Where in a window the first huge page of the shadow begins that has only marks of what follows."""
    return round_up(<uint64_t>g.view.shadow + at, WIDE) - <uint64_t>g.view.shadow


cdef inline uint64_t pages_until(gpu *g, uint64_t at) noexcept nogil:
    """Where the last one ends that has only marks of what comes before."""
    return (<uint64_t>g.view.shadow + at & ~<uint64_t>(WIDE - 1)) - <uint64_t>g.view.shadow


cdef uint64_t move_pages(uint64_t of, uint64_t to, uint64_t size, int access) noexcept nogil:
    """Move huge pages, which have that access and leave zeros; how many bytes have been."""
    cdef uint64_t done = 0, step = size
    cdef int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP
    # Where huge pages have been moved before, from several places, they are of several mappings.  Before Linux 6.17 all
    # of them at once fails when what was there is gone, and another thread's new memory could come to be there.  So
    # first comes what fails in each case, as there is always something behind them, but in this one by EFAULT.
    if mremap(<void *>of, size, size + 4096, 0, NULL) == MAP_FAILED and errno == EFAULT:
        step = WIDE
    while done < size and mremap(<void *>(of + done), step, step, flags, <void *>(to + done)) != MAP_FAILED:
        done += step
    if done == 0 and errno == EINVAL:
        return 0  # the kernel can't: it has done nothing
    if done < size:  # what was there is gone
        mmap(<void *>(to + done), size - done, access,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)
        madvise(<void *>(to + done), size - done, MADV_DONTDUMP)
        madvise(<void *>(to + done), size - done, MADV_HUGEPAGE)
    return done


cdef void forget_freed(gpu *g, block *n) noexcept nogil:
    """Addresses of freed blocks are given out again, and have their own marks.  With memory_lock held."""
    global late_freed_count
    cdef uint64_t at = n.address - g.base
    cdef uint32_t i = 0
    while i < late_freed_count:
        if late_freed[i].of == g and late_freed[i].first < at + n.size and at < late_freed[i].end:
            late_freed_count -= 1
            late_freed[i] = late_freed[late_freed_count]
        else:
            i += 1


cdef void take_marks(gpu *g, block *n) noexcept nogil:
    """A new block gets the pages of the shadow that a freed one has, which has none then: nothing of it is allocated.
    With memory_lock held."""
    cdef uint64_t at = n.start - g.base, first = pages_from(g, at), end = pages_until(g, at + n.length)
    cdef uint64_t of = 0, size = 0, here
    cdef late_range *best = NULL
    cdef late_range *f
    cdef uint8_t *states = g.view.states
    cdef uint32_t i
    for i in range(late_freed_count):
        f = &late_freed[i]
        here = pages_from(g, f.first)
        if f.of == g and pages_until(g, f.end) > here + size:
            best, of, size = f, here, pages_until(g, f.end) - here
    if best == NULL or end <= first:
        return
    size = min(size, end - first)
    best.first = of + size
    here = move_pages(<uint64_t>g.view.shadow + of, <uint64_t>g.view.shadow + first, size, PROT_READ | PROT_WRITE)
    memcpy(states + (first >> PTX_WHOLE_SHIFT), states + (of >> PTX_WHOLE_SHIFT), here >> PTX_WHOLE_SHIFT)
    memset(states + (first + here >> PTX_WHOLE_SHIFT), 0, size - here >> PTX_WHOLE_SHIFT)
    memset(states + (of >> PTX_WHOLE_SHIFT), 0, here >> PTX_WHOLE_SHIFT)


cdef bint all_written(gpu *g, uint64_t address, uint64_t size) noexcept nogil:
    """Whether it is known of memory that all of it is written."""
    cdef uint64_t at = address - g.base
    cdef uint64_t rows = ((at + size - 1) >> PTX_WHOLE_SHIFT) + 1 - (at >> PTX_WHOLE_SHIFT)
    cdef const uint8_t *states = state_at(g, address)
    return size != 0 and states[0] == PTX_WHOLE_WRITTEN and shadow_same(states, 0xff, rows) == rows


cdef void set_marks(gpu *g, uint64_t address, uint64_t size, int value) noexcept nogil:
    """Mark memory at once of which nothing is due."""
    if value == SHADOW_WRITTEN and all_written(g, address, size):
        return
    if value == SHADOW_WRITTEN:
        shadow_written(shadow_of(g, address), size)
        note_written(g, address, size)
    else:
        set_shadow(shadow_of(g, address), size, value)
        note_marked(g, address, size, PTX_WHOLE_ALLOCATED if value == SHADOW_ALLOCATED else 0)


cdef void mark_shadow(uint64_t address, uint64_t size, int value) noexcept nogil:
    """Mark device memory at once; other addresses have no marks.  Without memory_lock."""
    cdef gpu *g = gpu_of(address) if checking else NULL
    if g != NULL:
        settle_marks(g, address, size)
        set_marks(g, address, size, value)


cdef void mark_locked(uint64_t address, uint64_t size, int value) noexcept nogil:
    """mark_shadow, with memory_lock held."""
    cdef gpu *g = gpu_of(address) if checking else NULL
    if g != NULL:
        settle_locked(g, address, size)
        set_marks(g, address, size, value)


cdef void mark_new(block *n) noexcept nogil:
    """The marks of a block that is given out.  With memory_lock held."""
    cdef gpu *g = gpu_of(n.start)
    forget_freed(g, n)
    if n.use == ALLOCATION and may_be_late(n.length):
        if n.length >= 2 * WIDE:
            take_marks(g, n)
        mark_late(g, n.start, n.length, DUE_WRITTEN if blind_kernels else DUE_ALLOCATED)
        return
    settle_ends(g, n.start, n.length)
    set_marks(g, n.start, n.length, SHADOW_ALLOCATED)
    # The host can write managed and pinned memory at any time, and a kernel that makes no marks may write any.
    if n.use == MANAGED or n.use == HOST_MEMORY or blind_kernels:
        set_marks(g, n.start, n.length, SHADOW_WRITTEN)


cdef void mark_freed(block *n) noexcept nogil:
    """The marks of a freed block, which keeps their pages where the block does.  With memory_lock held."""
    global late_freed_count
    cdef gpu *g = gpu_of(n.start)
    cdef late_range *f
    if n.flags & HAS_PAGES and n.use == ALLOCATION and may_be_late(n.length):
        mark_late(g, n.start, n.length, DUE_FREED)
        if n.length >= 2 * WIDE and late_freed_count < LATE_FREED:
            f = &late_freed[late_freed_count]
            f.of, f.first, f.end = g, n.start - g.base, n.start - g.base + n.length
            late_freed_count += 1
        return
    settle_ends(g, n.start, n.length)
    if n.flags & HAS_PAGES:
        memset(shadow_of(g, n.start), 0, n.length)
        note_marked(g, n.start, n.length, 0)
    else:
        set_marks(g, n.start, n.length, 0)


cdef void mark_written(uint64_t address, uint64_t size) noexcept nogil:
    """Device memory is written by a copy, or filled; other addresses have no marks.  Without memory_lock."""
    cdef gpu *g = gpu_of(address)
    cdef uint64_t at = address - g.base if g != NULL else 0
    cdef uint64_t first = round_up(at, ROW), end = (at + size) & ~<uint64_t>(ROW - 1)
    if g == NULL or size == 0:
        return
    if size < LATE_LEAST:
        settle_marks(g, address, size)
        set_marks(g, address, size, SHADOW_WRITTEN)
        return
    pthread_mutex_lock(&memory_lock)
    if shadow_users:  # nothing is due
        pthread_mutex_unlock(&memory_lock)
        set_marks(g, address, size, SHADOW_WRITTEN)
        return
    if first > at:
        settle_locked(g, address, first - at)
        shadow_written(shadow_of(g, address), first - at)
    note_late(g, first >> PTX_WHOLE_SHIFT, end >> PTX_WHOLE_SHIFT)
    write_rows(g, first >> PTX_WHOLE_SHIFT, end >> PTX_WHOLE_SHIFT)
    if at + size > end:
        settle_locked(g, g.base + end, at + size - end)
        shadow_written(g.view.shadow + end, at + size - end)
    pthread_mutex_unlock(&memory_lock)


cdef void write_rows(gpu *g, uint64_t row, uint64_t end) noexcept nogil:
    """Rows are to be marked as written, but for those that are not allocated.  With memory_lock held."""
    cdef uint8_t *states = g.view.states
    cdef uint8_t state
    cdef uint64_t n
    while row < end:
        state = states[row]
        n = shadow_same(states + row, 0xff, end - row)
        if due_of(state) == DUE_ALLOCATED or state == PTX_WHOLE_ALLOCATED:
            memset(states + row, DUE_WRITTEN | (state & KNOWN), n)
        elif due_of(state) == 0 and state != PTX_WHOLE_WRITTEN:
            shadow_written(g.view.shadow + (row << PTX_WHOLE_SHIFT), n << PTX_WHOLE_SHIFT)
        row += n


cdef void note_marked(gpu *g, uint64_t address, uint64_t size, int state) noexcept nogil:
    """Bytes of the shadow have another value than SHADOW_WRITTEN now: behind that, what their rows are."""
    cdef uint64_t at = address - g.base
    cdef uint64_t first = at >> PTX_WHOLE_SHIFT, last = (at + size - 1) >> PTX_WHOLE_SHIFT
    if size == 0:
        return
    memset(g.view.states + first, state, last - first + 1)
    if at % ROW:
        g.view.states[first] = 0
    if (at + size) % ROW:
        g.view.states[last] = 0


cdef void note_written(gpu *g, uint64_t address, uint64_t size) noexcept nogil:
    """They have that: rows that were allocated are all written."""
    cdef uint64_t at = address - g.base
    cdef uint64_t i = round_up(at, ROW) >> PTX_WHOLE_SHIFT
    while i < (at + size) >> PTX_WHOLE_SHIFT:
        if g.view.states[i] == PTX_WHOLE_ALLOCATED:
            g.view.states[i] = PTX_WHOLE_WRITTEN
        i += 1


cdef void set_shadow(uint8_t *low, uint64_t size, int value) noexcept nogil:
    """Give bytes of the shadow one value."""
    cdef uint8_t *start
    cdef uint8_t *end
    if value == 0 and size >= WIDE:
        start = <uint8_t *>round_up(<uint64_t>low, 4096)
        end = <uint8_t *>(<uint64_t>(low + size) & ~<uint64_t>4095)
        memset(low, 0, start - low)
        madvise(start, end - start, MADV_DONTNEED)
        memset(end, 0, low + size - end)
    else:
        memset(low, value, size)
