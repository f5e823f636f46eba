# Entries of target constructs that are the compiler's own variables, mostly gfortran's: pointers to the begin of a
# section, descriptors of arrays, bounds of assumed-shape dummies.  They are on the stack, and with nowait, regions in
# flight are passed the same address with other contents.  So a region gets each as a piece of its own, as if it were
# firstprivate, with what it is when the construct is met.


cdef enum:
    OWN_SCALAR = 16  # bytes: larger ones are objects of the program


cdef bint is_attached(const MapList *maps, size_t i) noexcept nogil:
    """Whether the construct attaches a pointer to an entry, or one that is in it, behind it: GCC 16 attaches at the
    list's end.  Fortran's polymorphic variables are such pointers with their type beside them."""
    cdef uintptr_t value
    cdef size_t j
    for j in range(i + 1, maps.mapnum):
        if is_attach_kind(kind_at(maps, j)) and maps.hostaddrs[j] != NULL:
            value = (<uintptr_t *> maps.hostaddrs[j])[0] + maps.sizes[j]
            if (start_at(maps, i) <= value < end_at(maps, i)
                    or start_at(maps, i) <= start_at(maps, j) < end_at(maps, i)):
                return True
    return False


cdef bint is_part_of_another(const MapList *maps, size_t i) noexcept nogil:
    """Whether the construct maps something of an entry by another one, too.  A map of one of Fortran's EQUIVALENCE'd
    variables has them all beside it, implicitly: they stay one variable."""
    cdef size_t j
    for j in range(maps.mapnum):
        if (j != i and maps.hostaddrs[j] != NULL and has_property(kind_at(maps, j), KIND_NEW)
                and not is_pointer_kind(kind_at(maps, j)) and kind_at(maps, j) != GOMP_MAP_TO_PSET
                and start_at(maps, j) < end_at(maps, i) and start_at(maps, i) < end_at(maps, j)):
            return True
    return False


cdef inline bint is_own_kind(const MapList *maps, size_t i, int kind) noexcept nogil:
    """Whether an entry may be such a variable, by its kind: POINTER, TO_PSET, or a scalar mapped by nobody's clause."""
    return (is_pointer_kind(kind) or kind == GOMP_MAP_TO_PSET
            or (kind == GOMP_MAP_TO and is_implicit_at(maps, i) and maps.sizes[i] <= OWN_SCALAR
                and not is_attached(maps, i) and not is_part_of_another(maps, i)))


cdef inline bint is_own_entry(MapJob *job, size_t i, int kind, const SplayNode *node) noexcept nogil:
    """Whether a region gets an entry as a piece of its own.  node: what has the entry's range mapped, or NULL."""
    if job.pragma != VARS_TARGET or not is_own_kind(&job.maps, i, kind):
        return False
    if is_pointer_kind(kind) and i + 1 < job.maps.mapnum and is_attach_kind(kind_at(&job.maps, i + 1)):
        return False  # g++: a pointer that a member is a reference to, and that is attached to this one
    if node == NULL:
        return True
    # A pointer that an enclosing target data has mapped: this construct's value counts.
    return (is_pointer_kind(kind) and node.ref_kind == REF_COUNTED and node.host_start == start_at(&job.maps, i)
            and node.host_end == end_at(&job.maps, i))


cdef uintptr_t own_place(MapJob *job, size_t i, uintptr_t pointer) noexcept nogil:
    """Where the region's own piece is that a pointer of entry i points to: gfortran lists references to pointers and to
    descriptors right behind those.  0: to none."""
    cdef size_t j = i
    while j:
        j -= 1
        if job.list[j].is_own and start_at(&job.maps, j) <= pointer < end_at(&job.maps, j):
            return job.tgt.tgt_start + job.list[j].planned + (pointer - start_at(&job.maps, j))
        if not job.list[j].is_own and kind_at(&job.maps, j) != GOMP_MAP_ALWAYS_POINTER and not is_pointer_kind(
            kind_at(&job.maps, j)
        ):
            break
    return 0


cdef int build_own_entry(MapJob *job, size_t i, int kind) noexcept nogil:
    """Fill the region's own piece."""
    cdef MapEntry *entry = &job.list[i]
    cdef uintptr_t place = job.tgt.tgt_start + entry.planned
    cdef uintptr_t value
    cdef size_t j
    entry.offset = entry.planned
    if is_pointer_kind(kind):
        value = (<uintptr_t *> job.maps.hostaddrs[i])[0]
        if value:
            value = own_place(job, i, value + job.maps.sizes[i])
            if value:
                return copy_word(job.dev, place, value - job.maps.sizes[i], &job.stage)
        return map_pointer(job, place, (<uintptr_t *> job.maps.hostaddrs[i])[0], job.maps.sizes[i],
                           kind == GOMP_MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION)
    if job.maps.sizes[i] and copy_value(job.dev, place, job.maps.hostaddrs[i], job.maps.sizes[i], &job.stage):
        return -1
    if kind == GOMP_MAP_TO_PSET:
        entry.follow = descriptor_pointers(&job.maps, i)
        for j in range(i + 1, i + 1 + entry.follow):
            job.list[j].offset = entry.offset
            if map_pointer(job, place + (start_at(&job.maps, j) - start_at(&job.maps, i)),
                           (<uintptr_t *> job.maps.hostaddrs[j])[0], job.maps.sizes[j], False):
                return -1
    return 0


# --- of deferred regions ---------------------------------------------------------------------------------------------

cdef struct KeptEntry:
    # One of them, and behind it its contents.
    size_t entry
    size_t size
    char *original
    size_t next  # bytes from here to the next one; 0: this was the last


cdef inline size_t descriptor_follow(const MapList *maps, size_t i) noexcept nogil:
    """How many pointers of the descriptor at entry i follow it; 0 if it is none."""
    return descriptor_pointers(maps, i) if kind_at(maps, i) == GOMP_MAP_TO_PSET else 0


cdef inline void move_entry(size_t i, size_t follow, void **hostaddrs, char *to) noexcept nogil:
    """Let an entry, and those for pointers in it, stand for the same contents elsewhere."""
    cdef ptrdiff_t distance = to - <char *> hostaddrs[i]
    cdef size_t j
    for j in range(i, i + follow + 1):
        hostaddrs[j] = <char *> hostaddrs[j] + distance


cdef inline void redirect_entry(KeptEntry *pointer, const char *of, size_t size, char *to) noexcept nogil:
    """Have a kept pointer to a piece of memory point to its copy."""
    cdef char **value = <char **> (pointer + 1)
    if <size_t> (value[0] - of) < size:
        value[0] = to + (value[0] - of)


cdef size_t keep_entries(char *to, const MapList *maps) noexcept nogil:
    """Copy them, and point the list at the copies; the bytes that this takes, 0 if there are none.

    to: room for them; NULL: only count.
    """
    cdef KeptEntry *kept = NULL
    cdef KeptEntry *before
    cdef size_t used = 0
    cdef size_t i = 0
    cdef size_t follow, size
    while i < maps.mapnum:
        follow = 0
        if kind_at(maps, i) == GOMP_MAP_STRUCT:
            i += maps.sizes[i]
        elif maps.hostaddrs[i] != NULL and is_own_kind(maps, i, kind_at(maps, i)) \
                and not (i + 1 < maps.mapnum and is_attach_kind(kind_at(maps, i + 1))):
            follow = descriptor_follow(maps, i)
            size = sizeof(void *) if is_pointer_kind(kind_at(maps, i)) else maps.sizes[i]
            if to != NULL:
                before = kept
                kept = <KeptEntry *> (to + used)
                kept.entry = i
                kept.size = size
                kept.original = <char *> maps.hostaddrs[i]
                kept.next = align_up(sizeof(KeptEntry) + size, 16)
                memcpy(kept + 1, kept.original, size)
                move_entry(i, follow, maps.hostaddrs, <char *> (kept + 1))
                if before != NULL and is_pointer_kind(kind_at(maps, i)):
                    redirect_entry(kept, before.original, before.size, <char *> (before + 1))
            used += align_up(sizeof(KeptEntry) + size, 16)
        i += follow + 1
    if kept != NULL:
        kept.next = 0
    return used


cdef void prefer_mapped(DeviceDescr *dev, char *to, const MapList *maps) noexcept nogil:
    """Before the region is mapped: what is mapped under its own address keeps that.  The device is locked."""
    cdef KeptEntry *kept
    cdef size_t i
    while True:
        kept = <KeptEntry *> to
        i = kept.entry
        if not is_pointer_kind(kind_at(maps, i)) and lookup_mapped(&dev.mem_map, <uintptr_t> kept.original,
                                                                  <uintptr_t> kept.original + maps.sizes[i]) != NULL:
            move_entry(i, descriptor_follow(maps, i), maps.hostaddrs, kept.original)
            if kept.next and is_pointer_kind(kind_at(maps, (<KeptEntry *> (to + kept.next)).entry)):
                redirect_entry(<KeptEntry *> (to + kept.next), <char *> (kept + 1), kept.size, kept.original)
        if kept.next == 0:
            break
        to += kept.next
