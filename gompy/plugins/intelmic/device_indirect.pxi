# Calls by pointers of the host's: functions of `declare target indirect` (OpenMP 5.1, 7.8.2).
#
# gcc's own lto1, which makes the image, calls by a pointer as it is, and the pointer is the host's.  So there is code
# at that address: the host's zones are reserved here anyway (device_layout.pxi), and each indirect function's host
# address gets a jump to the device's function.  A call costs that jump, no compiler has to help, and virtual calls
# through vtables that were copied from the host work, too.  Any other call there meets a breakpoint, and is told as a
# call of the host's code.
#
# Host functions may stand as close as 7 bytes (-O0): the jump of 5 bytes goes to one of 13 in a page near by, below or
# above the host's mappings there.  Below a library the host may have gigabytes of device memory.

cdef enum:
    NEAR_JUMP = 5  # jmp rel32
    NEAR_STEP = 16 << 20
    NEAR_STEPS = 120  # which such a jump reaches
    FAR_JUMP = 16  # movabs $…, %r11; jmp *%r11; padded
    BREAKPOINT = 0xCC

cdef bint open_jump_page(uintptr_t page) noexcept nogil:
    """Make a page of breakpoints that can be written, or open it again."""
    global jump_page_count
    cdef int flags = MAP_PRIVATE | MAP_ANONYMOUS
    if is_jump_page(page):
        return mprotect(<void *>page, PAGE, PROT_READ | PROT_WRITE) == 0
    if jump_page_count == JUMP_PAGES or meets_range(mic_own, own_count, page, page + PAGE):
        return False
    # What is reserved of the host's zones is this process's to use; elsewhere something else may be.
    if control.tool == 0 and meets_range(mic_zones, zone_count, page, page + PAGE):
        flags |= MAP_FIXED
    else:
        flags |= MAP_FIXED_NOREPLACE
    if mmap(<void *>page, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) != <void *>page:
        return False
    memset(<void *>page, BREAKPOINT, PAGE)
    jump_pages[jump_page_count] = page
    jump_page_count += 1
    return True


cdef uintptr_t near_page(uintptr_t host, int number) noexcept nogil:
    """A page for far jumps, within reach of a near one; 0: there is none."""
    cdef uintptr_t first = (host & ~<uintptr_t>(PAGE - 1)) - <uintptr_t>number * PAGE
    cdef uintptr_t page
    cdef int i
    for i in range(2 * NEAR_STEPS):
        if i < NEAR_STEPS:
            page = first - <uintptr_t>(i + 1) * NEAR_STEP
        else:
            page = first + <uintptr_t>(i - NEAR_STEPS + 1) * NEAR_STEP
        if page < 65536 or is_jump_page(page) or meets_range(mic_exact, exact_count, page, page + PAGE):
            continue
        if meets_range(mic_own, own_count, page, page + PAGE + MIC_STACK_ROOM):  # a stack grows
            continue
        if open_jump_page(page):
            return page
    return 0


cdef inline bint in_reach(uintptr_t from_address, uintptr_t to) noexcept nogil:
    """Whether a near jump leads there."""
    cdef int64_t distance = <int64_t>(to - from_address)
    return -<int64_t>0x7f000000 < distance < <int64_t>0x7f000000


cdef const char *redirect_calls(const uint64_t *hosts, void **functions, size_t count) noexcept nogil:
    """Put a jump to each function at its host address.  NULL, or why that cannot be."""
    cdef size_t i, used = PAGE
    cdef uintptr_t far = 0, host
    cdef unsigned char *p
    cdef int n
    for i in range(count):
        host = hosts[i]
        if used + FAR_JUMP > PAGE:
            far = near_page(hosts[0], <int>(i // (PAGE // FAR_JUMP)))
            used = 0
        if far == 0 or not in_reach(host, far):
            return b"no room for jumps near the host's indirect functions"
        if not open_jump_page(host & ~<uintptr_t>(PAGE - 1)) \
                or not open_jump_page((host + NEAR_JUMP - 1) & ~<uintptr_t>(PAGE - 1)):
            return b"the address of an indirect function of the host's is in use on the device"
        p = <unsigned char *>(far + used)
        p[0] = 0x49
        p[1] = 0xBB
        memcpy(p + 2, &functions[i], sizeof(void *))
        p[10] = 0x41
        p[11] = 0xFF
        p[12] = 0xE3
        n = <int>(<int64_t>(far + used) - <int64_t>(host + NEAR_JUMP))
        p = <unsigned char *>host
        p[0] = 0xE9
        memcpy(p + 1, &n, sizeof(n))
        used += FAR_JUMP
    for n in range(jump_page_count):
        mprotect(<void *>jump_pages[n], PAGE, PROT_READ | PROT_EXEC)
    return NULL


cdef void redirect_indirect(mic_slot *slot) noexcept nogil:
    """MIC_OP_INDIRECT: args[1] host addresses at arena offset args[0], of the functions of image args[2] in its order.
    """
    cdef mic_image *image = &mic_images[slot.args[2]]
    cdef const char *problem
    problem = redirect_calls(<const uint64_t *>arena_at(slot.args[0]), image.indirect, slot.args[1])
    slot.result[0] = 0
    if problem != NULL:
        refuse_image(slot, problem)
