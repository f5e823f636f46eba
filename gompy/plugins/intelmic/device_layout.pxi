# Addresses of the host and of the device never coincide, so that a host pointer used on the device faults.
#
# The program is started with the other mmap layout than the host's (bottom up instead of top down) and random
# addresses. At start-up it compares its own mappings with the host's, with room for growth around those; where they
# meet, it starts over.  Then it occupies the host's zones, so that nothing of the device can be mapped there later.

cdef extern from *:
    """
    #define MIC_ZONES 64
    struct mic_zone { uintptr_t begin, end; };
    static struct mic_zone mic_zones[MIC_ZONES];      /* of the host, widened and merged */
    static struct mic_zone mic_exact[MIC_ZONES * 64]; /* mappings of the host */
    static struct mic_zone mic_own[1024];
    static char mic_maps_text[1 << 20];
    #define MIC_STACK_ROOM (1ull << 20) /* of the main thread, which runs commands but no regions */
    """
    uintptr_t MIC_STACK_ROOM
    struct mic_zone:
        uintptr_t begin
        uintptr_t end
    mic_zone mic_zones[64]
    mic_zone mic_exact[4096]
    mic_zone mic_own[1024]
    char mic_maps_text[1048576]

cdef int zone_count
cdef int exact_count
cdef int own_count
cdef uintptr_t own_top  # from here on: stack, vdso (they share the top of the address space with the host's)


cdef extern from *:
    """
    /* Where libasan puts its shadow and its heap, whatever the host has there.  */
    #define MIC_SHADOW_BEGIN 0x7fff8000ull
    #define MIC_SHADOW_END 0x10007fff8000ull
    #define MIC_ASAN_HEAP_BEGIN 0x600000000000ull
    #define MIC_ASAN_HEAP_END 0x641000000000ull
    """
    uintptr_t MIC_SHADOW_BEGIN, MIC_SHADOW_END, MIC_ASAN_HEAP_BEGIN, MIC_ASAN_HEAP_END

cdef bint sanitized      # libasan is in this process


cdef size_t read_maps(int fd) noexcept nogil:
    """The text of a process's maps into mic_maps_text.  Returns its length, 0 if it can't be read."""
    cdef size_t done = 0
    cdef ssize_t n
    if fd < 0 or lseek(fd, 0, SEEK_SET) != 0:
        return 0
    while done < sizeof(mic_maps_text) - 1:
        n = read(fd, mic_maps_text + done, sizeof(mic_maps_text) - 1 - done)
        if n < 0 and errno == EINTR:
            continue
        if n <= 0:
            break
        done += <size_t>n
    mic_maps_text[done] = 0
    return done


cdef char *next_mapping(char *line, mic_zone *zone, bint *top) noexcept nogil:
    """Parse a line of maps: its range, and whether it is the stack or the vdso.  Returns the next line or NULL."""
    cdef char *p
    cdef char *end = strchr(line, c'\n')
    if end == NULL:
        return NULL
    end[0] = 0
    zone.begin = strtoull(line, &p, 16)
    zone.end = strtoull(p + 1, &p, 16)
    top[0] = strstr(p, b"[stack]") != NULL or strstr(p, b"[vdso]") != NULL or strstr(p, b"[vvar") != NULL
    return end + 1


cdef void note_host(uintptr_t slack) noexcept nogil:
    """Fill mic_exact and mic_zones with the host's mappings; zones have ``slack`` bytes of room at both ends."""
    global zone_count, exact_count
    cdef mic_zone one
    cdef mic_zone *last
    cdef bint top = False
    cdef char *line = mic_maps_text
    zone_count = 0
    exact_count = 0
    if read_maps(host_maps) == 0:
        return
    while True:
        line = next_mapping(line, &one, &top)
        if line == NULL:
            return
        if one.begin >= <uintptr_t>1 << 47:
            continue
        if top:
            one.begin -= 16 << 20  # a stack grows
        if exact_count < 4096:
            mic_exact[exact_count] = one
            exact_count += 1
        one.begin = one.begin - slack if one.begin > slack + 65536 else 65536
        one.end = one.end + slack if one.end + slack < (<uintptr_t>1 << 47) - 4096 else (<uintptr_t>1 << 47) - 4096
        last = &mic_zones[zone_count - 1] if zone_count > 0 else NULL
        if last != NULL and one.begin <= last.end:
            if one.end > last.end:
                last.end = one.end
        elif zone_count < 64:
            mic_zones[zone_count] = one
            zone_count += 1
        else:
            last.end = one.end


cdef void note_own() noexcept nogil:
    """Fill mic_own with this process's mappings."""
    global own_count, own_top
    cdef mic_zone one
    cdef bint top = False
    cdef char *line = mic_maps_text
    cdef int fd = gompy_open(b"/proc/self/maps", O_RDONLY, 0)
    own_count = 0
    own_top = <uintptr_t>1 << 47
    read_maps(fd)
    if fd < 0:
        return
    close(fd)
    while own_count < 1024:
        line = next_mapping(line, &one, &top)
        if line == NULL or one.begin >= <uintptr_t>1 << 47:
            return
        if top and one.begin < own_top:
            own_top = one.begin
        mic_own[own_count] = one
        own_count += 1


cdef bint meets_range(mic_zone *zones, int count, uintptr_t begin, uintptr_t end) noexcept nogil:
    """Whether a range overlaps one of the zones."""
    cdef int i
    for i in range(count):
        if begin < zones[i].end and zones[i].begin < end:
            return True
    return False


cdef inline bint of_sanitizer(mic_zone *zone) noexcept nogil:
    """Whether a mapping of this process is where it is because libasan has to have it there."""
    return sanitized and (MIC_SHADOW_BEGIN <= zone.begin and zone.end <= MIC_SHADOW_END or
                              MIC_ASAN_HEAP_BEGIN <= zone.begin and zone.end <= MIC_ASAN_HEAP_END)


cdef bint addresses_meet() noexcept nogil:
    """Whether a mapping of this process lies where the host has, or soon may have, one.  Fills the tables.

    The kernel enlarges the stack for an access anywhere below it, so the room for that counts as well.
    """
    cdef int i
    note_host(<uintptr_t>16 << 30)
    note_own()
    for i in range(own_count):
        if mic_own[i].begin >= own_top:
            if meets_range(mic_exact, exact_count, mic_own[i].begin - MIC_STACK_ROOM, mic_own[i].end):
                return True
        elif of_sanitizer(&mic_own[i]):
            pass
        elif meets_range(mic_zones, zone_count, mic_own[i].begin, mic_own[i].end):
            return True
    return False


cdef void start_over(char **argv) noexcept nogil:
    """Execute this program once more, on all its processors again.  Returns if that fails."""
    take_mask(control.processors)  # libgomp may have bound this thread to one place, and counts the mask that it finds
    execve(b"/proc/self/exe", argv, environ)
    execve(argv[0], argv, environ)  # without /proc


cdef void occupy_range(uintptr_t begin, uintptr_t end) noexcept nogil:
    """Reserve a range without memory; where the kernel refuses, it stays free."""
    if end > begin:
        mmap(<void *>begin, end - begin, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)


cdef void occupy_host_zones() noexcept nogil:
    """Reserve the host's zones, but for what this process has there itself and the room of its own stack."""
    cdef int i, j
    cdef uintptr_t at, begin
    for i in range(zone_count):
        at = mic_zones[i].begin
        for j in range(own_count):
            begin = mic_own[j].begin
            if mic_own[j].end <= at or begin >= mic_zones[i].end:
                continue
            if begin >= own_top:
                begin -= MIC_STACK_ROOM
            occupy_range(at, begin)
            at = mic_own[j].end
        occupy_range(at, mic_zones[i].end)


cdef void close_program_heap() noexcept nogil:
    """Make malloc leave the program break alone: it would grow beside the program, near the host's own heap.

    With a page in its way brk fails, and malloc's main arena goes on with mmap.
    """
    cdef uintptr_t end = (<uintptr_t>program_break() + 4095) & ~<uintptr_t>4095
    mmap(<void *>end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)


cdef extern from *:
    """
    static void *mic_program_break (void) { return sbrk (0); }
    """
    void *program_break "mic_program_break"() nogil


cdef void *map_arena() noexcept nogil:
    """Map the arena at an address of this device's own: different devices' pointers differ too.  NULL if impossible."""
    cdef uintptr_t place = (<uintptr_t>0x18 << 40) + (<uintptr_t>control.device << 38)
    cdef uintptr_t size = control.arena_size
    cdef int attempt, access = PROT_NONE if control.guarded else PROT_READ | PROT_WRITE
    cdef void *p
    for attempt in range(64):
        if not meets_range(mic_zones, zone_count, place, place + size):
            p = mmap(<void *>place, size, access, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                     memory_fd, <off_t>MIC_CONTROL_SIZE)
            if p == <void *>place:
                return p
            if p != <void *>-1:
                munmap(p, size)
        place += <uintptr_t>1 << 40
    return map_anywhere(access)


cdef void *map_anywhere(int access) noexcept nogil:
    """Map the arena in the first gap that the host leaves; ThreadSanitizer's shadow leaves few.  NULL: none."""
    cdef uintptr_t place = <uintptr_t>0x08 << 40
    cdef uintptr_t size = control.arena_size
    cdef void *p
    while place + size < <uintptr_t>0x7f << 40:
        if not meets_range(mic_zones, zone_count, place, place + size):
            p = mmap(<void *>place, size, access, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                     memory_fd, <off_t>MIC_CONTROL_SIZE)
            if p == <void *>place:
                return p
            if p != <void *>-1:
                munmap(p, size)
        place += <uintptr_t>1 << 36
    return NULL
