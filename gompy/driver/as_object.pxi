# An object in memory: its sections, the id of its streams, and the id that their contents give.

cdef struct Object:
    char *data          # private writable mapping of the whole file
    size_t size
    Elf64_Shdr *sections
    size_t count
    size_t names_index
    const char *names   # .shstrtab
    size_t names_size


cdef bint parse_object(Object *obj) noexcept nogil:
    """Check that the file is a relocatable we understand and fill in the rest of ``obj``."""
    cdef Elf64_Ehdr *header = <Elf64_Ehdr *> obj.data
    cdef Elf64_Shdr *shdr
    cdef size_t i
    if obj.size < 64 or memcmp(obj.data, b"\x7fELF", 4) != 0:
        return False
    if header.e_ident[4] != ELFCLASS64 or header.e_ident[5] != ELFDATA2LSB or header.e_type != ET_REL:
        return False
    if header.e_shoff == 0 or header.e_shoff > obj.size - 64 or header.e_shentsize != 64 or header.e_shoff & 7:
        return False
    obj.sections = <Elf64_Shdr *> (obj.data + header.e_shoff)
    obj.count = header.e_shnum if header.e_shnum != 0 else obj.sections[0].sh_size
    obj.names_index = header.e_shstrndx if header.e_shstrndx != SHN_XINDEX else obj.sections[0].sh_link
    if obj.count == 0 or obj.count > (obj.size - header.e_shoff) // 64 or obj.names_index >= obj.count:
        return False
    for i in range(1, obj.count):
        shdr = &obj.sections[i]
        if shdr.sh_type != SHT_NOBITS and (shdr.sh_offset > obj.size or shdr.sh_size > obj.size - shdr.sh_offset):
            return False
    shdr = &obj.sections[obj.names_index]
    obj.names = obj.data + shdr.sh_offset
    obj.names_size = shdr.sh_size
    if obj.names_size == 0 or obj.names[obj.names_size - 1] != 0:
        return False
    for i in range(obj.count):
        if obj.sections[i].sh_name >= obj.names_size:
            return False
    return True


cdef const char *name_of(Object *obj, size_t i) noexcept nogil:
    return obj.names + obj.sections[i].sh_name


cdef size_t prefix_length(const char *name) noexcept nogil:
    """Length of the stream prefix that ``name`` starts with, 0 if it is no stream's."""
    if strncmp(name, PREFIX_LTO, 9) == 0 or strncmp(name, PREFIX_IR, 9) == 0:
        return 9
    return 17 if strncmp(name, PREFIX_OFFLOAD, 17) == 0 else 0


cdef const char *stream_id(Object *obj) noexcept nogil:
    """The object's stream id as text: what follows ``<prefix>.symtab.``.  NULL if there is none, or several."""
    cdef const char *found = NULL
    cdef const char *name
    cdef size_t i, length
    for i in range(1, obj.count):
        name = name_of(obj, i)
        length = prefix_length(name)
        if length == 0 or strncmp(name + length, ".symtab.", 8) != 0:
            continue
        name += length + 8
        if found != NULL and strcmp(found, name) != 0:
            return NULL
        found = name
    if found == NULL or found[0] == 0 or strlen(found) > 16:
        return NULL
    return found


cdef size_t stem_length(const char *name, const char *old) noexcept nogil:
    """Length of a stream section's name up to and with the point before the id; the whole length if no id ends it."""
    cdef size_t length = strlen(name), tail
    if old == NULL:
        return length
    tail = strlen(old)
    if length > tail and name[length - tail - 1] == 46 and strcmp(name + length - tail, old) == 0:
        return length - tail
    return length


cdef uint64_t mix_hash(uint64_t h, const char *data, size_t size) noexcept nogil:
    """Hash of bytes: multiply and fold, eight bytes at a time.  Not for security: only to tell objects apart."""
    cdef uint64_t word
    cdef size_t i = 0
    h = (h ^ size) * <uint64_t> 0x9E3779B97F4A7C15
    while i + 8 <= size:
        memcpy(&word, data + i, 8)
        h = (h ^ word) * <uint64_t> 0xD6E8FEB86659FD93
        h ^= h >> 32
        i += 8
    word = 0
    if i < size:
        memcpy(&word, data + i, size - i)
    h = (h ^ word) * <uint64_t> 0xD6E8FEB86659FD93
    return h ^ (h >> 29)


cdef uint64_t content_id(Object *obj, const char *old) noexcept nogil:
    """The new stream id: a hash of the streams' names and contents, with a first hex digit other than 0.

    GCC prints ids without leading zeros; a full 16 digits give every object the same layout.
    """
    cdef uint64_t h = 0x676F6D7079
    cdef const char *name
    cdef size_t i, length
    for i in range(1, obj.count):
        name = name_of(obj, i)
        length = prefix_length(name)
        if length == 0 or obj.sections[i].sh_type == SHT_NOBITS:
            continue
        h = mix_hash(h, name + length, stem_length(name, old) - length)
        h = mix_hash(h, obj.data + obj.sections[i].sh_offset, obj.sections[i].sh_size)
    if h >> 60 == 0:
        h |= <uint64_t> 1 << 60
    return h
