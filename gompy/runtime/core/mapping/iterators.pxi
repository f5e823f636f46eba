# Map clauses with iterators (libgomp of GCC 16: gomp_merge_iterator_maps).
#
# Such an entry's size is SIZE_MAX, and its address that of {count, (address, size) of each}.  Before anything else it
# is replaced by as many entries of its kind; the region's argument array has a word for the first of them alone.

cdef enum:
    ITERATORS = -1  # the size, as a number with a sign


cdef inline bint has_iterators(const MapList *maps) noexcept nogil:
    """Whether any entry stands for several."""
    cdef size_t i
    for i in range(maps.mapnum):
        if rare(<intptr_t> maps.sizes[i] == ITERATORS):
            return maps.short_kinds
    return False


cdef void *expand_iterators(const MapList *maps, MapList *whole) noexcept nogil:
    """The list without iterators, in memory that is returned and that the caller frees."""
    cdef size_t i, j, count = 0, n = 0
    cdef const uintptr_t *items
    cdef char *block
    cdef unsigned char *later
    cdef unsigned short *kinds
    whole[0] = maps[0]
    for i in range(maps.mapnum):
        if <intptr_t> maps.sizes[i] == ITERATORS:
            count += (<const uintptr_t *> maps.hostaddrs[i])[0]
        else:
            count += 1
    block = <char *> malloc(count * (sizeof(void *) + sizeof(size_t) + sizeof(unsigned short) + 1) + 1)
    if block == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> count)
    whole.mapnum = count
    whole.hostaddrs = <void **> block
    whole.sizes = <size_t *> (whole.hostaddrs + count)
    kinds = <unsigned short *> (whole.sizes + count)
    later = <unsigned char *> (kinds + count)
    whole.kinds = kinds
    whole.later = later
    for i in range(maps.mapnum):
        if <intptr_t> maps.sizes[i] != ITERATORS:
            whole.hostaddrs[n] = maps.hostaddrs[i]
            whole.sizes[n] = maps.sizes[i]
            kinds[n] = (<unsigned short *> maps.kinds)[i]
            later[n] = 0
            n += 1
            continue
        items = <const uintptr_t *> maps.hostaddrs[i]
        for j in range(items[0]):
            whole.hostaddrs[n] = <void *> items[1 + 2 * j]
            whole.sizes[n] = items[2 + 2 * j]
            kinds[n] = (<unsigned short *> maps.kinds)[i]
            later[n] = j > 0
            n += 1
    return block
