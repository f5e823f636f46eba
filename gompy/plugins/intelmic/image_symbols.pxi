# Names and lines of addresses in an image, for messages.  Nothing here runs while all is well.

cdef extern from *:
    ctypedef struct Elf64_Ehdr:
        uint16_t e_type
        uint64_t e_shoff
        uint16_t e_shnum
        uint16_t e_shentsize
        uint16_t e_phnum
        uint64_t e_phoff
    ctypedef struct Elf64_Phdr:
        uint32_t p_type
        uint32_t p_flags
        uint64_t p_vaddr
        uint64_t p_memsz
    int SHT_SYMTAB, SHT_DYNSYM, STT_FUNC, STT_OBJECT, PT_LOAD

cdef extern from "gompy/native/host_symbols.h" nogil:
    const char *gompy_symbol_in(const char *bytes, uint64_t size, uint64_t value, unsigned table_type, int kind,
                                uint64_t *offset)


cdef bint holds_symbol(host_image *image, uint64_t offset, uint64_t n) noexcept nogil:
    """Whether n bytes at a file offset are inside the image: it may be damaged."""
    return offset <= image.size and n <= image.size - offset


cdef host_image *image_at(mic_device *d, uint64_t address) noexcept nogil:
    """The image that a device address lies in, or NULL."""
    cdef host_image *image = d.images
    cdef Elf64_Ehdr *elf
    cdef Elf64_Phdr *segments
    cdef int i
    while image != NULL:
        elf = <Elf64_Ehdr *>image.bytes
        if holds_symbol(image, elf.e_phoff, elf.e_phnum * sizeof(Elf64_Phdr)):
            segments = <Elf64_Phdr *>(image.bytes + elf.e_phoff)
            for i in range(elf.e_phnum):
                if segments[i].p_type == <uint32_t>PT_LOAD and address - image.base >= segments[i].p_vaddr and \
                        address - image.base - segments[i].p_vaddr < segments[i].p_memsz:
                    return image
        image = image.next
    return NULL


cdef inline const char *symbol_in(host_image *image, uint64_t value, int table_type, int kind,
                                  uint64_t *offset) noexcept nogil:
    """The function or variable (kind: STT_*) that covers a link-time address in a symbol table, or NULL."""
    return gompy_symbol_in(image.bytes, image.size, value, table_type, kind, offset)


cdef void name_of(mic_device *d, uint64_t address, char *to, size_t room) noexcept nogil:
    """The name of the function at a device address; the address itself if the image doesn't tell.

    What LTO appended to keep local names apart is left out.
    """
    cdef host_image *image = image_at(d, address)
    cdef const char *name = NULL
    cdef uint64_t offset
    cdef char *suffix
    if image != NULL:
        name = symbol_in(image, address - image.base, SHT_SYMTAB, STT_FUNC, &offset)
        if name == NULL:
            name = symbol_in(image, address - image.base, SHT_DYNSYM, STT_FUNC, &offset)
    if name == NULL:
        snprintf(to, room, b"%p", <void *>address)
        return
    snprintf(to, room, b"%s", name)
    suffix = strstr(to, b".lto_priv.")
    if suffix != NULL:
        suffix[0] = 0


cdef extern from "gompy/native/line_tables.h" nogil:
    void gompy_read_lines(int fd, void (*fn)(void *data, uint64_t begin, uint64_t end, const char *file,
                                             int line) noexcept nogil, void *data)

cdef struct LineWanted:
    uint64_t address
    char *to
    size_t room


cdef void take_line(void *data, uint64_t begin, uint64_t end, const char *name, int line) noexcept nogil:
    cdef LineWanted *wanted = <LineWanted *> data
    if begin <= wanted.address and wanted.address < end and wanted.to[0] == 0:
        snprintf(wanted.to, wanted.room, b"%s:%d", name, line)


cdef void line_of(mic_device *d, uint64_t address, char *to, size_t room) noexcept nogil:
    """``file:line`` of a device address from the image's DWARF, empty if that isn't known."""
    cdef host_image *image = image_at(d, address)
    cdef LineWanted wanted
    cdef int fd
    to[0] = 0
    if image == NULL:
        return
    fd = file_in_memory(image.bytes, image.size)
    if fd < 0:
        return
    wanted.address = address - image.base
    wanted.to = to
    wanted.room = room
    gompy_read_lines(fd, take_line, &wanted)
    close(fd)
