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
    ctypedef struct Elf64_Shdr:
        uint32_t sh_type
        uint32_t sh_link
        uint64_t sh_offset
        uint64_t sh_size
    ctypedef struct Elf64_Sym:
        uint32_t st_name
        unsigned char st_info
        uint16_t st_shndx
        uint64_t st_value
        uint64_t st_size
    int SHT_SYMTAB, SHT_DYNSYM, STT_FUNC, STT_OBJECT, SHN_UNDEF, PT_LOAD, ET_EXEC
    int ELF64_ST_TYPE(unsigned char info) nogil


cdef bint holds(host_image *image, uint64_t offset, uint64_t n) noexcept nogil:
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
        if holds(image, elf.e_phoff, elf.e_phnum * sizeof(Elf64_Phdr)):
            segments = <Elf64_Phdr *>(image.bytes + elf.e_phoff)
            for i in range(elf.e_phnum):
                if segments[i].p_type == <uint32_t>PT_LOAD and address - image.base >= segments[i].p_vaddr and \
                        address - image.base - segments[i].p_vaddr < segments[i].p_memsz:
                    return image
        image = image.next
    return NULL


cdef const char *symbol_in(host_image *image, uint64_t value, int table_type, int kind, uint64_t *offset) noexcept nogil:
    """The function or variable (kind: STT_*) that covers a link-time address in a symbol table, or NULL."""
    cdef Elf64_Ehdr *elf = <Elf64_Ehdr *>image.bytes
    cdef Elf64_Shdr *sections
    cdef Elf64_Shdr *strings
    cdef Elf64_Sym *symbols
    cdef uint64_t i, j
    if elf.e_shentsize != sizeof(Elf64_Shdr) or not holds(image, elf.e_shoff, elf.e_shnum * sizeof(Elf64_Shdr)):
        return NULL
    sections = <Elf64_Shdr *>(image.bytes + elf.e_shoff)
    for i in range(elf.e_shnum):
        if sections[i].sh_type != <uint32_t>table_type or sections[i].sh_link >= elf.e_shnum:
            continue
        strings = &sections[sections[i].sh_link]
        if not holds(image, sections[i].sh_offset, sections[i].sh_size) or \
                not holds(image, strings.sh_offset, strings.sh_size) or strings.sh_size == 0 or \
                image.bytes[strings.sh_offset + strings.sh_size - 1] != 0:
            continue
        symbols = <Elf64_Sym *>(image.bytes + sections[i].sh_offset)
        for j in range(sections[i].sh_size // sizeof(Elf64_Sym)):
            if ELF64_ST_TYPE(symbols[j].st_info) == kind and symbols[j].st_shndx != SHN_UNDEF and \
                    symbols[j].st_name < strings.sh_size and value >= symbols[j].st_value and \
                    (value - symbols[j].st_value < symbols[j].st_size or value == symbols[j].st_value):
                offset[0] = value - symbols[j].st_value
                return image.bytes + strings.sh_offset + symbols[j].st_name
    return NULL


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


cdef bint variable_of_host(uint64_t address, char *to, size_t room) noexcept nogil:
    """``its variable NAME + OFFSET`` of an address in the program or a library, from that file's symbol table.

    False: no such variable, or the file is stripped.
    """
    cdef Dl_info info
    cdef host_image file
    cdef int fd
    cdef off_t end
    cdef void *p
    cdef uint64_t value = address, offset = 0
    cdef const char *name = NULL
    if dladdr(<void *>address, &info) == 0 or info.dli_fname == NULL:
        return False
    fd = gompy_open(info.dli_fname, O_RDONLY, 0)
    if fd < 0:
        fd = gompy_open(b"/proc/self/exe", O_RDONLY, 0)  # the program, by the word that it was called with
    if fd < 0:
        return False
    end = lseek(fd, 0, SEEK_END)
    p = mmap(NULL, <size_t>end, PROT_READ, MAP_PRIVATE, fd, 0) if end > <off_t>sizeof(Elf64_Ehdr) else <void *>-1
    close(fd)
    if p == <void *>-1:
        return False
    memset(&file, 0, sizeof(file))
    file.bytes = <const char *>p
    file.size = <size_t>end
    if memcmp(p, b"\x7fELF", 4) == 0:
        if (<Elf64_Ehdr *>p).e_type != ET_EXEC:
            value -= <uint64_t>info.dli_fbase
        name = symbol_in(&file, value, SHT_SYMTAB, STT_OBJECT, &offset)
        if name == NULL:
            name = symbol_in(&file, value, SHT_DYNSYM, STT_OBJECT, &offset)
    if name != NULL and offset != 0:
        snprintf(to, room, b"its variable %s + %zu", name, <size_t>offset)
    elif name != NULL:
        snprintf(to, room, b"its variable %s", name)
    munmap(p, <size_t>end)
    return name != NULL


cdef extern from *:
    """
    /* Start `readelf -W --debug-dump=decodedline <file on fd>`.  Returns its output, NULL if it can't be started.  */
    static FILE *
    mic_line_tables (int fd, pid_t *pid)
    {
      char path[40];
      char *argv[] = { "readelf", "-W", "--debug-dump=decodedline", path, NULL };
      int ends[2], error;
      posix_spawn_file_actions_t actions;
      snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
      if (gompy_pipe (ends) != 0)
        return NULL;
      posix_spawn_file_actions_init (&actions);
      posix_spawn_file_actions_adddup2 (&actions, fd, fd);
      posix_spawn_file_actions_adddup2 (&actions, ends[1], 1);
      posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
      posix_spawn_file_actions_addopen (&actions, 2, "/dev/null", O_WRONLY, 0);
      error = gompy_spawnp (pid, argv[0], &actions, NULL, argv, gompy_child_environ ());
      posix_spawn_file_actions_destroy (&actions);
      close (ends[1]);
      if (error == 0)
        return fdopen (ends[0], "r");
      close (ends[0]);
      return NULL;
    }
    """
    FILE *line_tables "mic_line_tables"(int fd, pid_t *pid) nogil
    ssize_t getline(char **line, size_t *room, FILE *f) nogil
    int fclose(FILE *f) nogil


cdef void line_of(mic_device *d, uint64_t address, char *to, size_t room) noexcept nogil:
    """``file:line`` of a device address from the image's DWARF, empty if that isn't known.

    Reads the rows of binutils' readelf: name, line, address; a sequence of them ends with the line "-".  (addr2line of
    binutils 2.40 takes the wrong file name in units that LTO made: those have another name for file 0 than for file 1.)
    """
    cdef host_image *image = image_at(d, address)
    cdef uint64_t value, before = 0
    cdef int fd, status, number, last = 0
    cdef bint inside = False, found = False
    cdef pid_t pid = 0
    cdef FILE *rows
    cdef char *text = NULL
    cdef size_t length = 0
    cdef char name[256]
    cdef char last_name[256]
    cdef char kind[32]
    to[0] = 0
    if image == NULL:
        return
    address -= image.base
    fd = file_in_memory(image.bytes, image.size)
    if fd < 0:
        return
    rows = line_tables(fd, &pid)
    close(fd)
    if rows == NULL:
        return
    while getline(&text, &length, rows) > 0:
        if sscanf(text, b"%255s %31s 0x%lx", name, kind, &value) != 3:
            continue
        if inside and before <= address and address < value and not found:
            snprintf(to, room, b"%s:%d", last_name, last)
            found = True  # read on: readelf must not die of a closed pipe
        inside = kind[0] != c'-'
        number = atoi(kind)
        if inside:
            before, last = value, number
            memcpy(last_name, name, sizeof(name))
    free(text)
    fclose(rows)
    while waitpid(pid, &status, 0) < 0 and errno == EINTR:
        pass
