# Checks (GOMPY_CHECK, images made with -fsanitize=address) on devices whose plugin can close memory (gompy_guard):
# between the objects of a construct there are gaps that the device may not access.  A plugin that closes pages (its
# step is 4096) gets each object into pages of its own, at their end, as near as its alignment allows; one that closes
# bytes (step 1) a gap of GUARD_GAP bytes behind each.


cdef extern from *:
    """
    /* A block with gaps, while it is taken: what the program would have been given without them.  */
    struct gompy_gaps { size_t align, first, bytes; };
    static __thread const struct gompy_gaps *gompy_gaps_now;
    """
    ctypedef struct Gaps "struct gompy_gaps":
        size_t align  # of the block
        size_t first  # where in the aligned block it would begin
        size_t bytes
    const Gaps *gaps_now "gompy_gaps_now"  # NULL: the thread takes no such block


cdef enum:
    GUARD_GAP = 64


cdef size_t guard_step(DeviceDescr *dev) noexcept nogil:
    """In what steps the device's memory can be closed; 0: not at all, or nobody asked for it."""
    return device_guard_step(dev) if device_closes_memory(dev) else 0


cdef void reserve_guarded(MapJob *job, MapEntry *entry, size_t from_base, size_t size, size_t align) noexcept nogil:
    """Give a new object a place with a gap behind it.

    It begins from_base bytes after what `planned` is the place of.
    """
    cdef size_t begin, top, step = job.guard
    job.asked_size = align_up(job.asked_size - from_base, align) + from_base + size
    if job.asked_align < align:
        job.asked_align = align
    if job.align < align:
        job.align = align
    if job.align < step:
        job.align = step
    entry.large = 1
    entry.length = from_base + size
    if step == 1:
        if job.large_size == 0:
            job.large_size = GUARD_GAP
        entry.planned = align_up(job.large_size - from_base, align)
        job.large_size = entry.planned + entry.length + GUARD_GAP
        return
    begin = align_up(job.large_size, align if align > step else step)
    top = align_up(begin + size, step)
    if from_base and top - size - begin < align:
        top += step
    entry.planned = (top - size - from_base) & ~(align - 1)
    job.large_size = top + step


cdef void *gapped_memory(MapJob *job, size_t total) noexcept nogil:
    """A construct's block with gaps.  Who is told of it hears what it would be without them (OpenACC's profiling).

    A region's begins with the argument words, others' with the first object.
    """
    global gaps_now
    cdef Gaps gaps
    cdef void *block
    cdef size_t i
    gaps.align = job.align
    gaps.bytes = job.asked_size + job.asked_align - 1
    gaps.first = 0
    if job.pragma != VARS_TARGET:
        gaps.first = total
        for i in range(job.maps.mapnum):
            if job.list[i].large and job.list[i].planned < gaps.first:
                gaps.first = job.list[i].planned
    gaps_now = &gaps
    block = device_alloc(job.dev, total + job.align - 1)
    gaps_now = NULL
    return block


cdef void close_gaps(MapJob *job, size_t first) noexcept nogil:
    """Close the gap behind each new object of the construct, and, if gaps are of bytes, that before the first one."""
    cdef MapEntry *entry
    cdef uintptr_t end
    cdef size_t i, size = GUARD_GAP if job.guard == 1 else job.guard
    if job.guard == 1 and job.large_size:
        device_guard(job.dev, job.tgt.tgt_start + first, size)
    for i in range(job.maps.mapnum):
        entry = &job.list[i]
        if entry.large:
            end = align_up(job.tgt.tgt_start + entry.planned + entry.length, job.guard)
            device_guard(job.dev, end, size)
