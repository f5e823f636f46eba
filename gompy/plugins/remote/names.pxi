# Names of regions, for messages.  Nothing here runs while all is well.

cdef extern from *:
    int STT_FUNC, SHT_SYMTAB, SHT_DYNSYM

cdef extern from "gompy/native/host_symbols.h" nogil:
    const char *gompy_symbol_in(const char *bytes, uint64_t size, uint64_t value, unsigned table_type, int kind,
                                uint64_t *offset)

cdef extern from *:
    """
    /* The link-time address of the n-th function of an ELF image's symbol table, all ones behind the last.  */
    static uint64_t
    remote_function_value (const char *bytes, uint64_t size, uint64_t n)
    {
      const Elf64_Ehdr *elf = (const Elf64_Ehdr *) bytes;
      if (size < sizeof *elf || elf->e_shentsize != sizeof (Elf64_Shdr)
          || !gompy_file_holds (size, elf->e_shoff, (uint64_t) elf->e_shnum * sizeof (Elf64_Shdr)))
        return ~(uint64_t) 0;
      const Elf64_Shdr *sections = (const Elf64_Shdr *) (bytes + elf->e_shoff);
      for (unsigned i = 0; i < elf->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && gompy_file_holds (size, sections[i].sh_offset, sections[i].sh_size))
          {
            const Elf64_Sym *symbols = (const Elf64_Sym *) (bytes + sections[i].sh_offset);
            for (uint64_t j = 0; j < sections[i].sh_size / sizeof (Elf64_Sym); j++)
              if (ELF64_ST_TYPE (symbols[j].st_info) == STT_FUNC && symbols[j].st_value && n-- == 0)
                return symbols[j].st_value;
          }
      return ~(uint64_t) 0;
    }
    """
    uint64_t remote_function_value(const char *bytes, uint64_t size, uint64_t n) nogil


cdef struct ImageHead:
    # Of an intelmic image's target data.
    const char *start
    const char *end


cdef const char *symbol_at(const ImageHead *image, uint64_t value) noexcept nogil:
    """The function that begins at a link-time address, or NULL."""
    cdef uint64_t offset = 1
    cdef const char *name = gompy_symbol_in(image.start, <uint64_t>(image.end - image.start), value, SHT_SYMTAB,
                                            STT_FUNC, &offset)
    return name if offset == 0 else NULL


cdef const char *name_in_image(RemoteLoaded *loaded, uint64_t function) noexcept nogil:
    """The name of a function of an ELF image: its place is that at which each function of its table has a name."""
    cdef const ImageHead *image = <const ImageHead *>loaded.data
    cdef uint64_t n = 0, i, value, base
    if loaded.count == 0:
        return NULL
    while True:
        value = remote_function_value(image.start, <uint64_t>(image.end - image.start), n)
        if value == ~<uint64_t>0:
            return NULL
        n += 1
        base = loaded.functions[0].start - value
        if base & 4095:
            continue
        for i in range(loaded.count):
            if symbol_at(image, loaded.functions[i].start - base) == NULL:
                break
        else:
            return symbol_at(image, function - base)


cdef void region_name(RemoteDevice *d, const void *function, char *to, size_t room) noexcept nogil:
    """A region's name, its address where the image doesn't tell."""
    cdef RemoteLoaded *loaded = d.loaded
    cdef const char *name = NULL
    cdef char *suffix
    cdef uint64_t i
    while loaded != NULL and name == NULL:
        for i in range(loaded.count):
            if loaded.functions[i].start == <uintptr_t>function:
                if d.info.type == <uint32_t>GOMP_DEVICE_NVIDIA_PTX:
                    name = ptx_function(loaded.data, i)
                else:
                    name = name_in_image(loaded, <uint64_t>function)
                break
        loaded = loaded.next
    if name == NULL:
        snprintf(to, room, b"at %p", function)
        return
    snprintf(to, room, b"%s", name)
    suffix = strstr(to, b".lto_priv.")
    if suffix != NULL:
        suffix[0] = 0
