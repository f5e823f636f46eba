# Copies to the device of FIRST_SIZE and more: what they do about page tables.
#
# The device's memory is a file of the kernel's (memfd), mapped twice.  The first copy to a part of it makes the pages;
# then our page tables need them, for the next copy, and the device's, for the first region.
# docs/performance-programs.md has the measurements.  There are two ways:
#
#   huge pages     Only whole ones of which the copy writes every byte: none is used that wasn't asked for.  One access
#                  makes a page of 4 KiB, MADV_COLLAPSE a page of 2 MiB of it, in our page tables as well.
#   write ()       Pages of 4 KiB that are written whole aren't cleared, and there is no fault.  Meanwhile the device
#                  has them entered in its page tables, and we in ours (MADV_POPULATE_READ), which takes a quarter of
#                  what faults would take.
#
# Huge pages may be slow to come: where memory is in pieces, or where this is a virtual machine whose own memory isn't
# there yet (several ms each).  So a few are tried, with a look at the thread's time; if they are slow, the next
# ones are tried further on.  Where they are refused (old kernels, limits of a group of processes), it is write ().

cdef extern from *:
    """
    #define MIC_HUGE_STEP (2 * MIC_HUGE) /* made at once: a slow one takes 5 ms */
    #define MIC_WRITE_STEP (4ull << 20)
    #define MIC_FIRST_PATIENCE (16ull << 20)
    #define MIC_MOST_PATIENCE (256ull << 20)
    /* Whether the program may write files of any size: else write () would end it with SIGXFSZ.  */
    static int mic_files_unlimited (void)
    {
      struct rlimit r;
      return getrlimit (RLIMIT_FSIZE, &r) == 0 && r.rlim_cur == RLIM_INFINITY;
    }
    """
    uint64_t HUGE_STEP "MIC_HUGE_STEP"
    uint64_t WRITE_STEP "MIC_WRITE_STEP"
    uint64_t FIRST_PATIENCE "MIC_FIRST_PATIENCE"
    uint64_t MOST_PATIENCE "MIC_MOST_PATIENCE"
    bint files_unlimited "mic_files_unlimited"() nogil


cdef struct fresh_copy:
    # A copy to memory without pages, while it is made.
    mic_device *device
    uint64_t offset
    const char *what
    size_t n
    size_t done
    uint64_t low, high  # where the run begins, as pages are closed until they are used (guards.pxi); its block's end
    size_t entered  # what the device has been asked to enter in its page tables
    uint32_t asked  # by this request
    bint asking


cdef void enter_meanwhile(fresh_copy *c) noexcept nogil:
    """Have the device enter what has been copied, one piece while the next one is copied.

    If its main thread is busy, the pages wait for the next time, or for the region's faults.  So do pages that are
    closed until a region uses them (guards.pxi).
    """
    if c.device.marks != NULL or c.n < WRITE_STEP or c.done - c.entered < WRITE_STEP and c.done < c.n:
        return  # a command is worth it for so many
    if c.asking:
        await_command(c.device, c.asked)
    c.asking = begin_command(c.device, MIC_OP_POPULATE, c.offset + c.entered, c.done - c.entered, &c.asked)
    if c.asking:
        c.entered = c.done


cdef bint make_huge_in_time(mic_device *d, uint64_t offset, size_t n, bint *slow) noexcept nogil:
    """make_huge, and what is to be known of how long it takes."""
    cdef uint64_t begin = thread_ns(), patience
    if not make_huge(d, offset, n):
        d.no_huge = errno == EINVAL  # the kernel can't, or shall not
        d.huge_patience = MOST_PATIENCE
        return False
    patience = load64(&d.huge_patience, RELAXED)  # read once: other threads copy, too
    slow[0] = thread_ns() - begin > n // HUGE_PAGE * HUGE_NS
    if slow[0]:
        patience = min(max(2 * patience, FIRST_PATIENCE), MOST_PATIENCE)
    else:
        patience -= min(patience, n)
    store64(&d.huge_patience, patience, RELAXED)
    return True


cdef void copy_some(fresh_copy *c, size_t n) noexcept nogil:
    """Copy the next n bytes."""
    memcpy(c.device.memory + c.offset + c.done, c.what + c.done, n)
    c.done += n
    enter_meanwhile(c)


cdef bint copy_to_part(fresh_copy *c, size_t n) noexcept nogil:
    """Copy n bytes to a new huge page of which they are a part.  False, without an effect: it is not to be one."""
    cdef mic_device *d = c.device
    cdef uint64_t page = (c.offset + c.done) & ~(HUGE_PAGE - 1)
    cdef bint slow = False
    if page < c.low or page + HUGE_PART > c.high or d.no_huge or d.huge_patience:
        return False
    if not has_page(d.memory + page + HUGE_PAGE - 4096) and not make_huge_in_time(d, page, HUGE_PAGE, &slow):
        return False
    copy_some(c, n)
    return True


cdef void copy_hugely(fresh_copy *c) noexcept nogil:
    """Copy to new huge pages as long as they come fast."""
    cdef mic_device *d = c.device
    cdef size_t part = HUGE_PAGE
    cdef bint slow = False
    while c.n - c.done >= HUGE_PAGE and not d.no_huge:
        part = min(part, (c.n - c.done) & ~(HUGE_PAGE - 1))
        if not make_huge_in_time(d, c.offset + c.done, part, &slow):
            return
        copy_some(c, part)
        if slow:
            return
        part = min(2 * part, HUGE_STEP)


cdef void write_first(fresh_copy *c, size_t n) noexcept nogil:
    """Write the next n bytes to the memfd, as many as can be written; the rest is copied."""
    cdef mic_device *d = c.device
    cdef size_t end = c.done + n
    cdef uint64_t begin
    cdef ssize_t part
    while c.done < end and files_unlimited() and gompy_still_ours(&d.file):
        part = pwrite(d.file.fd, c.what + c.done, min(end - c.done, WRITE_STEP),
                      <off_t>(MIC_CONTROL_SIZE + c.offset + c.done))
        if part < 0 and errno == EINTR:
            continue
        if part <= 0:
            break
        begin = (c.offset + c.done) & ~<uint64_t>4095
        c.done += <size_t>part
        madvise(d.memory + begin, c.offset + c.done - begin, MADV_POPULATE_READ)
        enter_meanwhile(c)
    if c.done < end:
        copy_some(c, end - c.done)


cdef void copy_fresh(mic_device *d, uint64_t offset, const char *what, size_t n) noexcept nogil:
    """Copy to memory without pages."""
    cdef fresh_copy c
    cdef size_t part
    memset(&c, 0, sizeof(c))
    c.device = d
    c.offset = offset
    c.what = what
    c.n = n
    if d.marks != NULL:
        block_around(d, offset, &c.low, &c.high)
    while c.done < n:
        part = <size_t>(-(offset + c.done) & (HUGE_PAGE - 1))  # to the next huge page
        if part == 0:
            copy_hugely(&c)
            if 0 < n - c.done < HUGE_PAGE and copy_to_part(&c, n - c.done):
                break
            part = max(d.huge_patience, HUGE_PAGE) & ~(HUGE_PAGE - 1)
        elif copy_to_part(&c, min(part, n - c.done)):
            continue
        if d.no_huge or n - c.done < part + HUGE_PAGE:
            part = n - c.done
        write_first(&c, part)
    if c.asking:
        await_command(d, c.asked)


cdef void copy_in(mic_device *d, char *to, const char *what, size_t n) noexcept nogil:
    """Copy to a device address in the arena, a large piece of memory."""
    cdef uint64_t offset = <uintptr_t>to - d.base
    if take_fresh(d, offset, n):
        copy_fresh(d, offset, what, n)
    else:
        memcpy(d.memory + offset, what, n)
