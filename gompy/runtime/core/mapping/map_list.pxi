# The entries of a directive as a list: address, size, kind and alignment of each.

from gompy.native.map_kinds cimport *


cdef inline MapList map_list(size_t mapnum, void **hostaddrs, const size_t *sizes,
                             const unsigned short *kinds) noexcept nogil:
    """What GCC passes, as a list."""
    cdef MapList maps
    maps.mapnum = mapnum
    maps.hostaddrs = hostaddrs
    maps.sizes = <size_t *> sizes
    maps.kinds = <void *> kinds
    maps.short_kinds = True
    maps.later = NULL
    return maps


cdef inline MapList byte_map_list(size_t mapnum, void **hostaddrs, size_t *sizes,
                                  unsigned char *kinds) noexcept nogil:
    """What GCC 4.9 passes: kinds of one byte."""
    cdef MapList maps
    maps.mapnum = mapnum
    maps.hostaddrs = hostaddrs
    maps.sizes = sizes
    maps.kinds = kinds
    maps.short_kinds = False
    maps.later = NULL
    return maps


cdef inline MapList part_of(const MapList *maps, size_t first, size_t mapnum) noexcept nogil:
    """Some entries of a list, of short kinds, as a list."""
    return map_list(mapnum, maps.hostaddrs + first, maps.sizes + first, <unsigned short *> maps.kinds + first)


cdef inline int raw_kind(const MapList *maps, size_t i) noexcept nogil:
    """The kind with its alignment bits, without the flag of an implicit map."""
    cdef int kind
    if not maps.short_kinds:
        return (<unsigned char *> maps.kinds)[i]
    kind = (<unsigned short *> maps.kinds)[i]
    return kind & ~0xFF | plain_kinds[kind & 0xFF]


cdef inline int kind_at(const MapList *maps, size_t i) noexcept nogil:
    """GOMP_MAP_*."""
    if not maps.short_kinds:
        return (<unsigned char *> maps.kinds)[i] & 7
    return plain_kinds[(<unsigned short *> maps.kinds)[i] & 0xFF]


cdef inline bint is_implicit_at(const MapList *maps, size_t i) noexcept nogil:
    """Whether no clause of the program asks for the entry."""
    return maps.short_kinds and ((<unsigned short *> maps.kinds)[i] & GOMP_MAP_FLAG_SPECIAL_BITS) == GOMP_MAP_IMPLICIT


cdef inline bint is_unordered_at(const MapList *maps, size_t i) noexcept nogil:
    """Whether a STRUCT's members stand in the order of the program's words (GCC 14: indices that are not constants)."""
    return maps.short_kinds and (<unsigned short *> maps.kinds)[i] & 0xFF == GOMP_MAP_STRUCT_UNORD


cdef inline bint is_empty_member(const MapList *maps, size_t i) noexcept nogil:
    """Whether a STRUCT's member only counts, where it is mapped (GCC 14: the pointer of a section, in enter data)."""
    return maps.sizes[i] == 0 and kind_at(maps, i) == GOMP_MAP_ZERO_LEN_ARRAY_SECTION


cdef inline size_t alignment_at(const MapList *maps, size_t i) noexcept nogil:
    """Bytes."""
    if not maps.short_kinds:
        return <size_t> 1 << ((<unsigned char *> maps.kinds)[i] >> 3)
    return <size_t> 1 << ((<unsigned short *> maps.kinds)[i] >> 8)


cdef inline size_t align_up(size_t n, size_t align) noexcept nogil:
    return (n + align - 1) & ~(align - 1)


# What kinds are, by gompy/abi/map_kinds.py; kind: as kind_at gives it.

cdef inline bint has_property(int kind, unsigned properties) noexcept nogil:
    """Whether a kind has any of some properties (KIND_*)."""
    return (kind_properties[kind & 0xFF] & properties) != 0


cdef inline bint is_pointer_kind(int kind) noexcept nogil:
    return has_property(kind, KIND_POINTER)


cdef inline bint is_attach_kind(int kind) noexcept nogil:
    return has_property(kind, KIND_ATTACH)


cdef inline bint is_detach_kind(int kind) noexcept nogil:
    return has_property(kind, KIND_DETACH)


cdef inline bint is_use_device_kind(int kind) noexcept nogil:
    return has_property(kind, KIND_USE_DEVICE)


cdef inline uintptr_t start_at(const MapList *maps, size_t i) noexcept nogil:
    """Begin of the entry's host range."""
    return <uintptr_t> maps.hostaddrs[i]


cdef inline uintptr_t end_at(const MapList *maps, size_t i) noexcept nogil:
    """End of the entry's host range; the size of a pointer entry is a bias."""
    if is_pointer_kind(kind_at(maps, i)):
        return <uintptr_t> maps.hostaddrs[i] + sizeof(void *)
    return <uintptr_t> maps.hostaddrs[i] + maps.sizes[i]


cdef inline bint lies_inside(uintptr_t pointer, uintptr_t start, uintptr_t end) noexcept nogil:
    return start <= pointer and pointer + sizeof(void *) <= end


cdef size_t descriptor_pointers(const MapList *maps, size_t i) noexcept nogil:
    """How many pointer entries after a TO_PSET stand for pointers in the descriptor."""
    cdef size_t j = i + 1
    cdef int kind
    while j < maps.mapnum:
        kind = kind_at(maps, j)
        if kind != GOMP_MAP_ALWAYS_POINTER and not is_pointer_kind(kind):
            break
        if not lies_inside(<uintptr_t> maps.hostaddrs[j], start_at(maps, i), end_at(maps, i)):
            break
        j += 1
    return j - i - 1
