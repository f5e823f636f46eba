# The entries of a construct that a region has the host run (reverse offload; libgomp of GCC 13: gomp_target_rev).
#
# They are the device's: addresses, sizes and kinds are fetched, and each address becomes a word that the host's
# function can use.  What is mapped is the host's own object, and is not copied unless `always` says so.  Of all else
# (the region's own variables, memory that the device has allocated) there is a copy on the host while it runs.

cdef struct ReverseEntry:
    uintptr_t device  # begin of the object there; 0: the entry has none, or it has not been looked at yet
    uintptr_t size
    uintptr_t host  # where the host has it
    void *block  # memory of its own, or NULL
    bint fresh  # it is a copy: its contents come and go with the function

cdef struct ReverseJob:
    DeviceDescr *dev  # locked
    uintptr_t list  # the device's address of the words
    MapList maps  # fetched; the addresses become the host's words
    uintptr_t *devices  # the words as the device gave them
    ReverseEntry *entries


cdef SplayNode *node_on_device(DeviceDescr *dev, uintptr_t start, uintptr_t end) noexcept nogil:
    """The mapped object that holds a range of the device's memory, or NULL."""
    cdef RangeCursor place = all_ranges(&dev.mem_map)
    cdef SplayNode *node
    cdef uintptr_t begin
    while True:
        node = next_range(&place)
        if node == NULL:
            return NULL
        if node.tgt == NULL or node.ref_kind == REF_LINK:
            continue
        begin = node.tgt.tgt_start + node.tgt_offset
        if begin <= start and end <= begin + (node.host_end - node.host_start):
            return node


cdef bint find_on_host(ReverseJob *job, size_t before, uintptr_t start, uintptr_t size,
                       ReverseEntry *found) noexcept nogil:
    """Where the host has a range of the device's memory: in an entry before, else in what is mapped."""
    cdef ReverseEntry *entry
    cdef SplayNode *node
    cdef uintptr_t end = start + (size if size else 1)
    cdef size_t i
    for i in range(before):
        entry = &job.entries[i]
        if entry.device and entry.device <= start and end <= entry.device + entry.size:
            found.host = entry.host + (start - entry.device)
            found.fresh = entry.fresh
            return True
    node = node_on_device(job.dev, start, end)
    if node == NULL:
        return False
    found.host = node.host_start + (start - node.tgt.tgt_start - node.tgt_offset)
    found.fresh = False
    return True


cdef int make_copy(ReverseEntry *entry, uintptr_t start, uintptr_t size, size_t align) noexcept nogil:
    """Memory of the host's for an object of the device's; -1 with a failure text."""
    cdef uintptr_t room = size + align
    entry.block = malloc(room)
    if entry.block == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> room)
    entry.device = start
    entry.size = size
    entry.host = align_up(<uintptr_t> entry.block, align)
    entry.fresh = True
    return 0


cdef int fetch_contents(ReverseJob *job, size_t i) noexcept nogil:
    return copy_to_host(job.dev, <void *> job.entries[i].host, job.entries[i].device, job.entries[i].size)


cdef int reverse_private(ReverseJob *job, size_t i) noexcept nogil:
    """firstprivate: a copy that does not come back."""
    if make_copy(&job.entries[i], job.devices[i], job.maps.sizes[i], alignment_at(&job.maps, i)):
        return -1
    job.maps.hostaddrs[i] = <void *> job.entries[i].host
    return fetch_contents(job, i)


cdef int reverse_object(ReverseJob *job, size_t i, bint member) noexcept nogil:
    """A variable or section.  member: of a struct of which there is a copy (reverse_struct)."""
    cdef int kind = kind_at(&job.maps, i)
    cdef ReverseEntry *entry = &job.entries[i]
    cdef uintptr_t start = job.devices[i], size = job.maps.sizes[i]
    cdef bint present = find_on_host(job, i, start, size, entry)
    if not present and has_property(kind, KIND_PRESENT):
        return gompy_fail(b"present clause: no corresponding data on parent device at %p with size %lu",
                          <void *> start, <unsigned long> size)
    if not present and not has_property(kind, KIND_NEW):
        return 0  # a section of no length, or one that goes: the function gets the word as it is
    if not present and make_copy(entry, start, size, alignment_at(&job.maps, i)):
        return -1
    entry.device = start
    entry.size = size
    entry.fresh = not present or member
    job.maps.hostaddrs[i] = <void *> entry.host
    if size and (entry.fresh and has_property(kind, KIND_FILLED) and not has_property(kind, KIND_PRESENT)
                 or has_property(kind, KIND_ALWAYS_TO)
                 or has_property(kind, KIND_NEW_ONLY) and has_property(kind, KIND_FILLED)):
        return fetch_contents(job, i)
    return 0


cdef int translate_pointer(ReverseJob *job, size_t i, uintptr_t place, size_t bias) noexcept nogil:
    """Give a pointer in a copy, which has the device's value, the host's; one to what the host has not keeps its own.
    """
    cdef ReverseEntry target
    cdef uintptr_t value = (<uintptr_t *> place)[0]
    if value and find_on_host(job, i, value + bias, 0, &target):
        (<uintptr_t *> place)[0] = target.host - bias
    return 0


cdef int reverse_pointer(ReverseJob *job, size_t i) noexcept nogil:
    """A pointer: in what is mapped it is right already, in a copy it is translated, else it gets a copy of its own."""
    cdef ReverseEntry *entry = &job.entries[i]
    if not find_on_host(job, i, job.devices[i], sizeof(void *), entry):
        if has_property(kind_at(&job.maps, i), KIND_ATTACH):
            return 0
        if make_copy(entry, job.devices[i], sizeof(void *), sizeof(void *)) or fetch_contents(job, i):
            return -1
    job.maps.hostaddrs[i] = <void *> entry.host
    return translate_pointer(job, i, entry.host, job.maps.sizes[i]) if entry.fresh else 0


cdef int reverse_descriptor(ReverseJob *job, size_t i) noexcept nogil:
    """Fortran's array descriptor; a copy has the pointers of the entries behind it translated."""
    cdef ReverseEntry *entry = &job.entries[i]
    cdef uintptr_t start = job.devices[i], size = job.maps.sizes[i]
    cdef bint present = find_on_host(job, i, start, size, entry)
    if not present and make_copy(entry, start, size, alignment_at(&job.maps, i)):
        return -1
    entry.device = start
    entry.size = size
    job.maps.hostaddrs[i] = <void *> entry.host
    return 0 if present else fetch_contents(job, i)


cdef int reverse_struct(ReverseJob *job, size_t i) noexcept nogil:
    """A struct of which members follow: the host's, or one copy from the first to the end of the last."""
    cdef ReverseEntry *entry = &job.entries[i]
    cdef size_t j, last = i + job.maps.sizes[i]
    cdef uintptr_t begin = job.devices[i + 1], end = begin
    for j in range(i + 1, last + 1):
        begin = min(begin, job.devices[j])
        end = max(end, job.devices[j] + job.maps.sizes[j])
    if not find_on_host(job, i, begin, end - begin, entry):
        if make_copy(entry, begin, end - begin, max(alignment_at(&job.maps, i), sizeof(void *))):
            return -1
    job.maps.hostaddrs[i] = <void *> (entry.host - (begin - job.devices[i]))
    for j in range(i + 1, last + 1):
        if job.devices[j] and reverse_object(job, j, entry.fresh):
            return -1
    return 0


cdef int reverse_private_pointer(ReverseJob *job, size_t i) noexcept nogil:
    """Fortran's firstprivate of an allocatable: the copy of its descriptor points to that of its data (entry i - 1).

    The address is that of the descriptor's word in the list, or of one with the descriptor's address.
    """
    cdef uintptr_t descriptor = 0, at = job.devices[i] - job.list
    cdef size_t j
    if at < job.maps.mapnum * sizeof(void *):
        descriptor = job.devices[at // sizeof(void *)]
    elif copy_to_host(job.dev, &descriptor, job.devices[i], sizeof(void *)):
        return -1
    for j in range(i):
        if job.entries[j].block != NULL and job.devices[j] == descriptor:
            (<uintptr_t *> (job.entries[j].host + job.maps.sizes[i]))[0] = job.entries[i - 1].host
    return 0


cdef int reverse_begin(ReverseJob *job) noexcept nogil:
    """Before the function: all words become the host's.  -1 with a failure text."""
    cdef size_t i = 0
    cdef int kind, failed
    while i < job.maps.mapnum:
        kind = kind_at(&job.maps, i)
        failed = 0
        if job.devices[i] == 0 or kind == GOMP_MAP_FIRSTPRIVATE_INT:
            pass
        elif kind == GOMP_MAP_FIRSTPRIVATE:
            failed = reverse_private(job, i)
        elif kind == GOMP_MAP_STRUCT:
            failed = reverse_struct(job, i)
            i += job.maps.sizes[i]
        elif kind == GOMP_MAP_TO_PSET:
            failed = reverse_descriptor(job, i)
        elif i and kind == GOMP_MAP_ATTACH and kind_at(&job.maps, i - 1) == GOMP_MAP_FIRSTPRIVATE:
            failed = reverse_private_pointer(job, i)
        elif is_pointer_kind(kind) or is_attach_kind(kind) or kind == GOMP_MAP_ALWAYS_POINTER:
            failed = reverse_pointer(job, i)
        elif has_property(kind, KIND_NEW | KIND_EXIT) and kind != GOMP_MAP_FORCE_DEVICEPTR:
            failed = reverse_object(job, i, False)
        else:
            failed = gompy_fail(b"libgompy: reverse offload: a map entry of kind %#x is not implemented", kind)
        if failed:
            return -1
        i += 1
    return 0


cdef int reverse_end(ReverseJob *job) noexcept nogil:
    """Behind it: what goes back to the device."""
    cdef size_t i
    cdef int kind
    cdef ReverseEntry *entry
    for i in range(job.maps.mapnum):
        entry = &job.entries[i]
        kind = kind_at(&job.maps, i)
        if entry.device == 0 or entry.size == 0 or kind == GOMP_MAP_FIRSTPRIVATE or not has_property(kind, KIND_FROM):
            continue
        if entry.fresh or has_property(kind, KIND_ALWAYS_FROM | KIND_NEW_ONLY):
            if copy_to_device(job.dev, entry.device, <void *> entry.host, entry.size, NULL):
                return -1
    return 0
