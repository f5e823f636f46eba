# Pages of images that have marks (outer_marks.pxi): which they are, and what the device has there.


cdef int outer_page(mic_device *d, uint64_t address) noexcept nogil:
    """The number of the page of an address; -1: it has no marks."""
    cdef int i
    for i in range(<int>d.control.outer.count):
        if d.control.outer.pages[i] == address & ~<uint64_t>(GUARD_PAGE - 1):
            return i
    return -1


cdef uint32_t free_outer_pages(mic_device *d, uint32_t *first) noexcept nogil:
    """How many places for pages are free, and the first of them."""
    cdef uint32_t i, found = <uint32_t>MIC_OUTER_PAGES - d.control.outer.count
    first[0] = d.control.outer.count
    for i in range(d.control.outer.count):
        if d.control.outer.pages[i] == MIC_OUTER_FREE:
            first[0] = min(first[0], i)
            found += 1
    return found


cdef bint is_page_of(host_image *image, uint64_t page) noexcept nogil:
    """Whether a page of the device's belongs to an image."""
    cdef Elf64_Ehdr *elf = <Elf64_Ehdr *>image.bytes
    cdef Elf64_Phdr *segments
    cdef uint64_t begin
    cdef int i
    if not holds_symbol(image, elf.e_phoff, elf.e_phnum * sizeof(Elf64_Phdr)):
        return False
    segments = <Elf64_Phdr *>(image.bytes + elf.e_phoff)
    for i in range(elf.e_phnum):
        begin = (image.base + segments[i].p_vaddr) & ~<uint64_t>(GUARD_PAGE - 1)
        if segments[i].p_type == <uint32_t>PT_LOAD and \
                page - begin < page_up(image.base + segments[i].p_vaddr + segments[i].p_memsz) - begin:
            return True
    return False


cdef bint read_page(mic_device *d, uint64_t page, unsigned char *to) noexcept nogil:
    """Read a page of the device's that may be closed, if the system lets us."""
    cdef iovec here, there
    cdef char path[64]
    cdef ssize_t n = -1
    cdef int fd
    here.iov_base = to
    here.iov_len = GUARD_PAGE
    there.iov_base = <void *>page
    there.iov_len = GUARD_PAGE
    if process_vm_readv(d.control.device_pid, &here, 1, &there, 1, 0) == <ssize_t>GUARD_PAGE:
        return True
    snprintf(path, sizeof(path), b"/proc/%d/mem", <int>d.control.device_pid)
    fd = gompy_open(path, O_RDONLY, 0)
    if fd >= 0:
        n = pread(fd, to, GUARD_PAGE, <off_t>page)
        close(fd)
    return n == <ssize_t>GUARD_PAGE


cdef bint outer_changed(mic_device *d, uint64_t address) noexcept nogil:
    """Whether a region that has read what the host had changed has changed it itself since; also if that is unknown."""
    cdef unsigned char now[4096]
    cdef mic_outer_kept *kept
    cdef int i = outer_page(d, address)
    cdef mic_variable *v
    cdef uint64_t at, end
    cdef uint32_t k
    if i < 0:
        return False
    kept = &d.outer_kept[i]
    if not kept.known:
        return True
    if not read_page(d, d.control.outer.pages[i], now):
        return True
    at = address % <uint64_t>GUARD_PAGE
    end = min(at + 16, <uint64_t>GUARD_PAGE)  # no access is larger, but of vectors
    for k in range(d.control.outer.variable_count):
        v = &d.control.outer.variables[k]
        if address - v.start < v.size:
            end = min(end, at + v.size - (address - v.start))  # the next variable is another matter
    for at in range(at, end):
        if kept.stale[at] and now[at] != kept.had[at]:
            return True
    return False
