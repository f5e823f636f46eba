# Custom mappers: functions of the program that push the parts of what they map (LLVM: targetDataMapper).

cdef struct TgtComponent:
    void *base
    void *begin
    int64_t size
    int64_t type
    void *name

cdef struct TgtComponents:
    # What a mapper has pushed: LLVM's is a SmallVector of such, and all zeros is an empty one.
    TgtComponent *items
    unsigned used
    unsigned room


cdef public int64_t tgt_mapper_num_components "gompy_llvm___tgt_mapper_num_components"(void *handle) noexcept nogil:
    """How many components a mapper has pushed so far."""
    return <int64_t> (<TgtComponents *> handle).used


cdef public void tgt_push_mapper_component "gompy_llvm___tgt_push_mapper_component"(
        void *handle, void *base, void *begin, int64_t size, int64_t type, void *name) noexcept nogil:
    """A mapper pushes a component."""
    cdef TgtComponents *c = <TgtComponents *> handle
    cdef TgtComponent *more
    if c.used == c.room:
        more = <TgtComponent *> realloc(c.items, (2 * <size_t> c.room + 16) * sizeof(TgtComponent))
        if more == NULL:
            gompy_fatal(
                b"Out of memory allocating %lu bytes", <unsigned long> (2 * <size_t> c.room * sizeof(TgtComponent))
            )
        c.items = more
        c.room = 2 * c.room + 16
    c.items[c.used].base = base
    c.items[c.used].begin = begin
    c.items[c.used].size = size
    c.items[c.used].type = type
    c.items[c.used].name = name
    c.used += 1


cdef bint as_maps(const TgtComponents *c, TgtMaps *maps) noexcept nogil:
    """Components as the entries of a construct; free(maps.bases) frees all its arrays."""
    cdef size_t i, n = c.used
    cdef void **words = <void **> malloc((5 * n + 1) * sizeof(void *))
    if words == NULL:
        return False
    maps[0] = tgt_maps(<int> n, words, words + n, <int64_t *> (words + 2 * n), <int64_t *> (words + 3 * n),
                       words + 4 * n,
                       NULL)
    for i in range(n):
        maps.bases[i] = c.items[i].base
        maps.begins[i] = c.items[i].begin
        maps.sizes[i] = c.items[i].size
        maps.types[i] = c.items[i].type
        maps.names[i] = c.items[i].name
    maps.from_mapper = True
    return True


ctypedef int (*maps_fn)(DeviceDescr *dev, TgtMaps *maps) noexcept nogil


cdef int by_mapper(DeviceDescr *dev, const TgtMaps *maps, int i, maps_fn work) noexcept nogil:
    """Do something with the components of an entry that has a mapper."""
    cdef TgtComponents c
    cdef TgtMaps parts
    cdef int rc
    memset(&c, 0, sizeof(c))
    (<mapper_fn> maps.mappers[i])(&c, maps.bases[i], maps.begins[i], maps.sizes[i], maps.types[i],
                                  <void *> name_at(maps, i))
    if not as_maps(&c, &parts):
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (c.used * sizeof(TgtComponent)))
    free(c.items)
    parts.pending = maps.pending
    parts.removed = maps.removed
    rc = work(dev, &parts)
    free(parts.bases)
    return rc


cdef inline bint has_mapper(const TgtMaps *maps, int i) noexcept nogil:
    return maps.mappers != NULL and maps.mappers[i] != NULL
