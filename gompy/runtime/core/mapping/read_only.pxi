# Where the program's constants are.  GCC 12 maps what an OpenACC region reads of a constant array with copy (OpenMP's
# implicit maps of constants are map(to:)), and a copy back into read-only memory would end the program with SIGSEGV:
# here it is left out, for the value is the same.  Known are the objects (ELF) that have images.

cdef extern from *:
    """
    #include <link.h>
    #include <sys/auxv.h>
    struct gompy_constants { uintptr_t start, size; unsigned count; };
    struct gompy_search { uintptr_t inside, start, end; };

    /* The read-only part of the object that has an address: from its first segment up to the first one that can be
       written, and of that what is closed after relocation (-z relro).  */
    static int gompy_look_at_object (struct dl_phdr_info *info, size_t size, void *data)
    {
      struct gompy_search *s = data;
      uintptr_t page = getauxval (AT_PAGESZ), start = UINTPTR_MAX, end = 0, writable = UINTPTR_MAX;
      uintptr_t closed_start = 0, closed_end = 0;
      int i, mine = 0;
      (void) size;
      for (i = 0; i < info->dlpi_phnum; i++)
        {
          const ElfW (Phdr) *p = &info->dlpi_phdr[i];
          uintptr_t first = info->dlpi_addr + p->p_vaddr, last = first + p->p_memsz;
          if (p->p_type == PT_GNU_RELRO)
            closed_start = first & -page, closed_end = last & -page;
          if (p->p_type != PT_LOAD)
            continue;
          mine |= s->inside - first < p->p_memsz;
          if ((p->p_flags & PF_W) && first < writable)
            writable = first & -page;
          if (!(p->p_flags & PF_W) && first < start)
            start = first & -page;
          if (!(p->p_flags & PF_W) && last > end && first < writable)
            end = last;
        }
      if (!mine)
        return 0;
      if (start < end && end <= writable)
        {
          s->start = start;
          s->end = closed_start == writable && closed_end > writable ? closed_end : end;
        }
      return 1;
    }

    static void gompy_find_constants (const void *inside, uintptr_t *start, uintptr_t *size)
    {
      struct gompy_search s = { (uintptr_t) inside, 0, 0 };
      dl_iterate_phdr (gompy_look_at_object, &s);
      *start = s.start;
      *size = s.end - s.start;
    }
    """
    ctypedef struct Constants "struct gompy_constants":
        uintptr_t start
        uintptr_t size
        unsigned count
    void find_constants "gompy_find_constants"(const void *inside, uintptr_t *start, uintptr_t *size) nogil

cdef enum:
    MAX_CONSTANTS = 64  # objects; of more, those that come later are not known

cdef Constants constants[MAX_CONSTANTS]  # read without a lock: an entry is filled or emptied, never moved
cdef int num_constants


cdef void note_constants(const void *host_table) noexcept nogil:
    """An object registers an image: its constants are known from now on.  The register lock is held."""
    global num_constants
    cdef uintptr_t start = 0
    cdef uintptr_t size = 0
    cdef int i
    cdef int free_entry = num_constants
    find_constants(host_table, &start, &size)
    if size == 0:
        return
    for i in range(num_constants):
        if constants[i].count and constants[i].start == start:
            constants[i].count += 1
            return
        if constants[i].count == 0:
            free_entry = i
    if free_entry == MAX_CONSTANTS:
        return
    constants[free_entry].count = 1
    constants[free_entry].start = start
    constants[free_entry].size = size
    if free_entry == num_constants:
        gompy_store(&num_constants, num_constants + 1)


cdef void forget_constants(const void *host_table) noexcept nogil:
    """An image of an object goes.  The register lock is held."""
    cdef uintptr_t start = 0
    cdef uintptr_t size = 0
    cdef int i
    find_constants(host_table, &start, &size)
    for i in range(num_constants):
        if size and constants[i].count and constants[i].start == start:
            constants[i].count -= 1
            if constants[i].count == 0:
                constants[i].size = 0
            return


cdef inline bint is_constant(uintptr_t host) noexcept nogil:
    """Whether host memory is a constant of the program."""
    cdef int i
    for i in range(gompy_load(&num_constants)):
        if host - constants[i].start < constants[i].size:
            return True
    return False
