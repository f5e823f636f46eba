# Images made with -fsanitize=address: their runtime has to be the first library of the device process.
#
# libasan wants to see every allocation and every thread from the start, so it can't come with an image: it is
# preloaded. Under a runtime that does not tell of its images, the device is started again when the first one that
# needs libasan is loaded and nothing has been done on it yet.  What is allocated and mapped is then guarded by bytes
# (guards.pxi).

cdef extern from *:
    """
    extern const void *gompy_image_data (int, int, unsigned *) __attribute__ ((weak));
    static const void *
    mic_registered (int type, int index, unsigned *version)
    {
      return gompy_image_data != NULL ? gompy_image_data (type, index, version) : NULL;
    }

    /* Soname of the library starting with `wanted` that an ELF image needs, NULL: none (or the image is damaged).  */
    static const char *
    mic_needed (const char *image, size_t size, const char *wanted)
    {
      const Elf64_Ehdr *e = (const Elf64_Ehdr *) image;
      const Elf64_Phdr *p;
      const Elf64_Dyn *d = NULL;
      uint64_t strings = 0, count = 0, at = 0, end = 0;
      if (size < sizeof *e || e->e_phoff > size || e->e_phnum > (size - e->e_phoff) / sizeof *p)
        return NULL;
      p = (const Elf64_Phdr *) (image + e->e_phoff);
      for (int i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_DYNAMIC && p[i].p_offset <= size && p[i].p_filesz <= size - p[i].p_offset)
          {
            d = (const Elf64_Dyn *) (image + p[i].p_offset);
            count = p[i].p_filesz / sizeof *d;
          }
      for (uint64_t i = 0; i < count && d[i].d_tag != DT_NULL; i++)
        if (d[i].d_tag == DT_STRTAB)
          strings = d[i].d_un.d_ptr;
      for (int i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && strings - p[i].p_vaddr < p[i].p_filesz && p[i].p_offset <= size
            && p[i].p_filesz <= size - p[i].p_offset)
          {
            at = p[i].p_offset + (strings - p[i].p_vaddr);
            end = p[i].p_offset + p[i].p_filesz;
          }
      for (uint64_t i = 0; i < count && d[i].d_tag != DT_NULL; i++)
        if (d[i].d_tag == DT_NEEDED && d[i].d_un.d_val < end - at
            && memchr (image + at + d[i].d_un.d_val, 0, end - at - d[i].d_un.d_val) != NULL
            && strncmp (image + at + d[i].d_un.d_val, wanted, strlen (wanted)) == 0)
          return image + at + d[i].d_un.d_val;
      return NULL;
    }

    /* Whether an ELF image was made with -foffload-check: it has the name of what it tells of its accesses.  */
    static int
    mic_tells (const char *image, size_t size)
    {
      static const char name[] = "\\0gompy_access";
      return memmem (image, size, name, sizeof name) != NULL;
    }
    """
    bint mic_tells(const char *image, size_t size) nogil
    const char *mic_needed(const char *image, size_t size, const char *wanted) nogil
    const void *mic_registered(int type, int index, unsigned *version) nogil


cdef void library_first(mic_device *d) noexcept nogil:
    """Before the device is started: which library its process has to begin with.

    libgompy tells of the images that there are; others load one after the other (with_libraries).
    """
    cdef unsigned version = 0
    cdef int i = 0
    cdef mic_target_data *data = <mic_target_data *>mic_registered(GOMP_DEVICE_INTEL_MIC, 0, &version)
    cdef const char *library
    while data != NULL:
        if data.image_end > data.image_start:
            if checks_wanted() and mic_tells(data.image_start, <size_t>(data.image_end - data.image_start)):
                d.exact = 1
            library = mic_needed(data.image_start, <size_t>(data.image_end - data.image_start), b"libasan.so")
            if library != NULL:
                snprintf(d.preload, sizeof(d.preload), b"%s", library)
                return
        i += 1
        data = <mic_target_data *>mic_registered(GOMP_DEVICE_INTEL_MIC, i, &version)


cdef bint with_libraries(mic_device *d, host_image *image) noexcept nogil:
    """See to it that the device has the library that must come before the image's; False after a message."""
    cdef const char *library = mic_needed(image.bytes, image.size, b"libasan.so")
    cdef bint good
    if library == NULL or d.preload[0]:
        return True
    if d.images != NULL:
        GOMP_PLUGIN_error(b"device %d (intelmic): %s was made with -fsanitize=address, and the device was started for "
                          b"images without it; make the program with it as well", d.number, image_name(image))
        return False
    stop_device(d, True)
    snprintf(d.preload, sizeof(d.preload), b"%s", library)
    good = start_device(d)
    d.running = good
    return good


cdef void tell_inexact(mic_device *d, host_image *image) noexcept nogil:
    """Say once that the accesses of an image made with -foffload-check are lost, which came later than the device."""
    if d.marks == NULL or d.control.exact or d.inexact_told or not mic_tells(image.bytes, image.size):
        return
    d.inexact_told = 1
    GOMP_PLUGIN_error(b"device %d (intelmic): %s was made with -foffload-check, and the device was started for images "
                      b"without it: no race of its regions is found; make the program with it as well", d.number,
                      image_name(image))
