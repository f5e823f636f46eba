# Pointers of a struct that a construct attaches without listing them.
#
# Of `map(to: s.n) map(to: s.p[:s.n])` GCC 12 lists STRUCT s with one member, s.n, the section, and ATTACH &s.p: nothing
# maps s.p, and libgomp 12 drops the attachment in silence.  (GCC 14 lists s.p as a member.)  Here such pointers become
# members of the struct: the nearest one of the construct that begins before them.


cdef enum:
    STRUCT_REACH = 1 << 20  # how far behind the struct's begin: its size is not known


cdef int pointer_dropped_told


cdef inline MapList directive_of(const MapJob *job) noexcept nogil:
    """All entries of the directive that a job belongs to."""
    return job.maps if job.dev.whole == NULL else job.dev.whole[0]


cdef bint listed_before(const MapList *maps, uintptr_t start, uintptr_t end) noexcept nogil:
    """Whether an entry of the directive has a byte of a host range."""
    cdef size_t i, size
    cdef int kind
    for i in range(maps.mapnum):
        kind = kind_at(maps, i)
        if has_property(kind, KIND_BARE):
            continue
        size = sizeof(void *) if is_pointer_kind(kind) else maps.sizes[i]
        if <uintptr_t> maps.hostaddrs[i] < end and start < <uintptr_t> maps.hostaddrs[i] + size:
            return True
    return False


cdef uintptr_t unlisted_pointer(MapJob *job, const MapList *maps, size_t i, uintptr_t base) noexcept nogil:
    """The address of the pointer that entry i attaches, if it is one of the struct at base that nothing maps; else 0.
    """
    cdef uintptr_t pointer = <uintptr_t> maps.hostaddrs[i]
    cdef size_t j
    if not is_attach_kind(kind_at(maps, i)) or pointer < base or pointer - base > STRUCT_REACH:
        return 0
    for j in range(maps.mapnum):
        if kind_at(maps, j) == GOMP_MAP_STRUCT and base < <uintptr_t> maps.hostaddrs[j] <= pointer:
            return 0
    if listed_before(maps, pointer, pointer + sizeof(void *)) \
            or lookup_mapped(&job.dev.mem_map, pointer, pointer + sizeof(void *)) != NULL:
        return 0
    return pointer


cdef size_t plan_struct_pointers(MapJob *job, uintptr_t base, uintptr_t *begin, uintptr_t *end) noexcept nogil:
    """How many pointers the struct at base takes in; what it spans grows to hold them."""
    cdef MapList maps
    cdef uintptr_t pointer
    cdef size_t i, found = 0
    if job.openacc:
        return 0  # GCC lists them, and one that is not mapped ends the program
    maps = directive_of(job)
    for i in range(maps.mapnum):
        pointer = unlisted_pointer(job, &maps, i, base)
        if pointer:
            begin[0] = min(begin[0], pointer)
            end[0] = max(end[0], pointer + sizeof(void *))
            found += 1
    return found


cdef int build_struct_pointers(MapJob *job, uintptr_t base, size_t planned, SplayNode *first) noexcept nogil:
    """Make the keys of what plan_struct_pointers found, as further members of the struct whose first key is given."""
    cdef MapList maps
    cdef SplayNode *key
    cdef uintptr_t pointer
    cdef size_t i
    maps = directive_of(job)
    for i in range(maps.mapnum):
        pointer = unlisted_pointer(job, &maps, i, base)
        if pointer == 0:
            continue
        key = take_node(job)
        key.host_start = pointer
        key.host_end = pointer + sizeof(void *)
        key.tgt = job.tgt
        key.tgt_offset = key_offset(job, pointer, key.host_end, planned + (pointer - base))
        key.ref_kind = REF_STRUCT_ELEMENT
        key.siblings = <int32_t> (first - key)
        key.taken_in = 1
        first.siblings += 1
        if range_insert(&job.dev.mem_map, key):
            return -1
    return 0


cdef void tell_dropped_pointers(MapJob *job, uintptr_t base) noexcept nogil:
    """The struct was mapped before, without a pointer that is to be attached now: there is no room for it.

    Said once.
    """
    cdef char construct[500]
    cdef MapList maps
    cdef uintptr_t pointer
    cdef size_t i
    if job.openacc or gompy_load(&pointer_dropped_told):
        return
    maps = directive_of(job)
    for i in range(maps.mapnum):
        pointer = unlisted_pointer(job, &maps, i, base)
        if pointer:
            gompy_store(&pointer_dropped_told, 1)
            name_construct(job.dev.what, job.dev.where, construct, sizeof(construct))
            gompy_note(b"%s: the pointer at %p (map entry %zu of %zu) has no place on device %d, and does not get the "
                       b"address of its section: its struct, from %p, is mapped without it; map all of them at once",
                       construct, <void *> pointer, i + 1, maps.mapnum, job.dev.number, <void *> base)
            return


cdef void place_struct_sections(MapJob *job) noexcept nogil:
    """Sections without length at the begin of one of the construct's structs: the region's pointer to that struct.

    GCC 12 lists them (for `q` of `q->n`) where it has no other word for the pointer.
    """
    cdef size_t i, j
    for i in range(job.maps.mapnum):
        if (job.list[i].key != NULL or kind_at(&job.maps, i) != GOMP_MAP_ZERO_LEN_ARRAY_SECTION
                or job.maps.hostaddrs[i] == NULL):
            continue
        j = 0
        while j < job.maps.mapnum:
            if kind_at(&job.maps, j) == GOMP_MAP_STRUCT:
                if job.maps.hostaddrs[j] == job.maps.hostaddrs[i]:
                    job.list[i].offset = argument_word(job, j) - job.tgt.tgt_start
                    break
                j += job.maps.sizes[j]
            j += 1
