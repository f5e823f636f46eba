# The edits: names, flags, the record of the offload tables.  Written are the ELF header and the end of the file.

cdef struct Record:
    uint64_t id
    uint32_t nfuncs
    uint32_t nvars
    char name[48]


cdef void source_name(Object *obj, char *name) noexcept nogil:
    """The STT_FILE symbol's name, cut to 47 bytes."""
    cdef Elf64_Shdr *shdr
    cdef Elf64_Shdr *strings
    cdef Elf64_Sym *sym
    cdef size_t i, j, length
    for i in range(1, obj.count):
        shdr = &obj.sections[i]
        if shdr.sh_type != SHT_SYMTAB or shdr.sh_link >= obj.count or shdr.sh_offset & 7:
            continue
        strings = &obj.sections[shdr.sh_link]
        for j in range(1, shdr.sh_size // 24):
            sym = <Elf64_Sym *> (obj.data + shdr.sh_offset + 24 * j)
            if sym.st_info & 15 == STT_FILE and sym.st_name < strings.sh_size:
                length = 0
                while length < 47 and sym.st_name + length < strings.sh_size:
                    name[length] = obj.data[strings.sh_offset + sym.st_name + length]
                    if name[length] == 0:
                        return
                    length += 1
                return
        return


cdef char hex_digit(uint64_t value) noexcept nogil:
    return <char> (48 + value) if value < 10 else <char> (87 + value)


cdef bint edit_object(Object *obj, int fd, bint rename) noexcept nogil:
    """Make the edits and write them; True if the file is as it should be afterwards."""
    cdef Elf64_Ehdr *header = <Elf64_Ehdr *> obj.data
    cdef Elf64_Shdr *sections
    cdef const char *old = stream_id(obj)
    cdef const char *name
    cdef char *names
    cdef char *out
    cdef char *cursor
    cdef size_t i, j, length, stem, tail, used, total, count, record_at = 0, names_at, headers_at
    cdef uint64_t new_id = 0
    cdef Record record
    cdef bint streams = False, tables = False, has_record = False, retained = False
    cdef uint64_t funcs = 0, variables = 0
    cdef size_t *offsets = <size_t *> calloc(obj.count + 1, sizeof(size_t))
    if offsets == NULL:
        return False
    total = obj.names_size + 64
    for i in range(1, obj.count):
        name = name_of(obj, i)
        total += strlen(name) + 18
        if prefix_length(name) != 0:
            streams = True
        elif strcmp(name, SECTION_FUNCS) == 0:
            tables = True
            funcs += obj.sections[i].sh_size // 8
        elif strcmp(name, SECTION_VARS) == 0:
            tables = True
            variables += obj.sections[i].sh_size // 16
        elif strcmp(name, SECTION_RECORD) == 0:
            has_record = True
    if not streams and not tables:
        return True
    if old != NULL:
        new_id = content_id(obj, old)

    # What follows the last section's contents (the name table and the headers, as gas orders them) is replaced.
    tail = 64
    for i in range(1, obj.count):
        if i != obj.names_index and obj.sections[i].sh_type != SHT_NOBITS:
            tail = max(tail, obj.sections[i].sh_offset + obj.sections[i].sh_size)

    names = <char *> calloc(total, 1)
    sections = <Elf64_Shdr *> calloc(obj.count + 1, 64)
    if names == NULL or sections == NULL:
        return False
    memcpy(sections, obj.sections, 64 * obj.count)
    used = 1
    for i in range(1, obj.count):
        name = name_of(obj, i)
        if sections[i].sh_type == SHT_PROGBITS and (strcmp(name, SECTION_FUNCS) == 0 or strcmp(name, SECTION_VARS) == 0
                                                    or strcmp(name, SECTION_INDIRECT) == 0):
            sections[i].sh_flags |= SHF_GNU_RETAIN
            retained = True
        # ".rela.text" stands right behind ".text": let it have its name's tail, as the assembler does.
        if i + 1 < obj.count and sections[i + 1].sh_type == SHT_RELA and sections[i + 1].sh_info == i:
            if strncmp(name_of(obj, i + 1), b".rela", 5) == 0 and strcmp(name_of(obj, i + 1) + 5, name) == 0:
                memcpy(names + used, b".rela", 5)
                offsets[i + 1] = used
                used += 5
        if offsets[i] != 0:
            sections[i].sh_name = <uint32_t> offsets[i]
            continue
        offsets[i] = used
        sections[i].sh_name = <uint32_t> used
        length = strlen(name)
        memcpy(names + used, name, length)
        if prefix_length(name) != 0:
            if rename and strncmp(name, PREFIX_LTO, 9) == 0:
                memcpy(names + used, PREFIX_IR, 9)
            stem = stem_length(name, old)
            if stem != length:
                for j in range(16):
                    names[used + stem + j] = hex_digit((new_id >> (60 - 4 * j)) & 15)
                length = stem + 16
        names[used + length] = 0
        used += length + 1

    count = obj.count
    memset_record(&record)
    tail = (tail + 7) & ~<size_t> 7
    names_at = tail
    if tables and not has_record:
        record.id = new_id
        record.nfuncs = <uint32_t> funcs
        record.nvars = <uint32_t> variables
        source_name(obj, record.name)
        record_at = tail
        names_at = tail + sizeof(Record)
        sections[count].sh_name = <uint32_t> used
        sections[count].sh_type = SHT_PROGBITS
        sections[count].sh_flags = SHF_ALLOC | SHF_GNU_RETAIN
        sections[count].sh_offset = record_at
        sections[count].sh_size = sizeof(Record)
        sections[count].sh_addralign = 8
        memcpy(names + used, SECTION_RECORD, 22)
        used += 22
        count += 1
        retained = True
    sections[obj.names_index].sh_offset = names_at
    sections[obj.names_index].sh_size = used
    headers_at = (names_at + used + 7) & ~<size_t> 7
    if retained and header.e_ident[7] == ELFOSABI_NONE:
        header.e_ident[7] = ELFOSABI_GNU
    header.e_shoff = headers_at
    if count >= 0xFF00:
        header.e_shnum = 0
        sections[0].sh_size = count
    else:
        header.e_shnum = <uint16_t> count

    # One buffer from the end of the contents to the end of the file.
    total = headers_at + 64 * count - tail
    out = <char *> calloc(total, 1)
    if out == NULL:
        return False
    cursor = out
    if record_at != 0:
        memcpy(cursor, &record, sizeof(Record))
    memcpy(out + (names_at - tail), names, used)
    memcpy(out + (headers_at - tail), sections, 64 * count)
    return (pwrite(fd, out, total, <int64_t> tail) == <int64_t> total
            and ftruncate(fd, <int64_t> (tail + total)) == 0
            and pwrite(fd, obj.data, 64, 0) == 64)


cdef void memset_record(Record *record) noexcept nogil:
    cdef size_t i
    for i in range(sizeof(Record)):
        (<char *> record)[i] = 0
