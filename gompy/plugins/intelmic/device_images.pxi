# Images on the device: dlopen, the tables, what the language libraries need.

cdef extern from *:
    """
    static char mic_ios_init[64];
    /* Executable part of a loaded object, from the program headers at its start.  */
    static void
    mic_text_range (uintptr_t base, uintptr_t *begin, uintptr_t *end)
    {
      const Elf64_Ehdr *e = (const Elf64_Ehdr *) base;
      const Elf64_Phdr *p = (const Elf64_Phdr *) (base + e->e_phoff);
      *begin = *end = 0;
      for (int i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X))
          {
            *begin = base + p[i].p_vaddr;
            *end = *begin + p[i].p_memsz;
          }
    }
    """
    char mic_ios_init[64]
    void mic_text_range(uintptr_t base, uintptr_t *begin, uintptr_t *end) nogil


cdef inline void flush_output() noexcept nogil:
    """Write what regions have printed, so that it stands before whatever the host prints next."""
    cdef int i
    if load32(&units_written, RELAXED) != 0:
        store32(&units_written, 0, RELAXED)
        for i in range(image_count):
            if mic_images[i].flush_units != NULL:
                mic_images[i].flush_units(NULL)
                break
    if __fpending(stdout) != 0:
        fflush(stdout)


cdef void refuse_image(mic_slot *slot, const char *text) noexcept nogil:
    """Answer a load request with an error and its text."""
    snprintf(control.text, MIC_TEXT_SIZE, b"%s", text)
    slot.result[0] = -1


cdef void prepare_languages(mic_image *image) noexcept nogil:
    """What the constructors of a program would have done for its libraries.

    Images carry no host constructors, so the static ``std::ios_base::Init`` object of each C++ source that includes
    <iostream> (GCC 12) is missing; one for all does.  Fortran's units are flushed through the image's own libgfortran.
    """
    cdef void *library = dlopen(b"libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD)
    cdef void (*init)(void *) noexcept nogil
    if library != NULL:
        if mic_ios_init[32] == 0:
            init = <void (*)(void *) noexcept nogil>dlsym(library, b"_ZNSt8ios_base4InitC1Ev")
            if init != NULL:
                init(mic_ios_init)
                mic_ios_init[32] = 1
        else:
            dlclose(library)
    library = dlopen(b"libgfortran.so.5", RTLD_NOW | RTLD_NOLOAD)
    if library != NULL:
        image.flush_units = <void (*)(int *) noexcept nogil>dlsym(library, b"_gfortran_flush_i4")
        dlclose(library)


cdef void load_image(mic_slot *slot) noexcept nogil:
    """MIC_OP_LOAD: load an image and answer with its tables.

    The image is in the arena (offset args[0], args[1] bytes) or, args[1] being 0, in the file that control.text names.
    Result: 0, image number, load address, number of functions, number of variables; the tables' words (functions,
    then address and size of each variable) replace the image in the arena, which is always long enough since the
    image holds them.
    """
    global image_count
    cdef char path[64]
    cdef const char *name = control.text
    cdef char *buffer = arena_at(slot.args[0])
    cdef int number = 0, fd = -1
    cdef mic_image *image
    cdef void **table
    cdef link_map *loaded = NULL
    cdef size_t functions, variables
    while number < image_count and mic_images[number].handle != NULL:
        number += 1
    if number == MIC_IMAGES:
        refuse_image(slot, b"too many images")
        return
    image = &mic_images[number]
    if slot.args[1] != 0:
        fd = file_in_memory(buffer, slot.args[1])
        if fd < 0:
            refuse_image(slot, strerror(errno))
            return
        # by process number, not "self": a debugger of this process opens the same path
        snprintf(path, sizeof(path), b"/proc/%d/fd/%d", <int>getpid(), fd)
        name = path
    image.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)
    if image.handle == NULL:
        refuse_image(slot, dlerror())
        if fd >= 0:
            close(fd)
        return
    table = <void **>dlsym(image.handle, b"__OFFLOAD_TARGET_TABLE__")
    if table == NULL:
        refuse_image(slot, b"it has no table (__OFFLOAD_TARGET_TABLE__)")
        dlclose(image.handle)
        image.handle = NULL
        if fd >= 0:
            close(fd)
        return
    dlinfo(image.handle, RTLD_DI_LINKMAP, &loaded)
    image.fd = fd
    image.base = loaded.l_addr
    mic_text_range(image.base, &image.text_begin, &image.text_end)
    image.regions = <void **>table[0]
    image.regions_end = <void **>table[1]
    if number == image_count:
        image_count += 1
    watch_sanitizers()
    prepare_languages(image)
    flush_output()
    functions = <size_t>(<char *>table[1] - <char *>table[0])
    variables = <size_t>(<char *>table[3] - <char *>table[2])
    memcpy(buffer, table[0], functions)
    memcpy(buffer + functions, table[2], variables)
    slot.result[0] = 0
    slot.result[1] = number
    slot.result[2] = <int64_t>image.base
    slot.result[3] = <int64_t>(functions // sizeof(void *))
    slot.result[4] = <int64_t>(variables // (2 * sizeof(void *)))


cdef void unload_image(mic_slot *slot) noexcept nogil:
    """MIC_OP_UNLOAD: drop image args[0]."""
    cdef mic_image *image = &mic_images[slot.args[0]]
    slot.result[0] = 0 if dlclose(image.handle) == 0 else -1
    flush_output()
    if image.fd >= 0:
        close(image.fd)
    memset(image, 0, sizeof(mic_image))


cdef void finalise_images() noexcept nogil:
    """Run the destructors of all images' objects, the last loaded first, and write what they print."""
    cdef int i
    for i in range(image_count - 1, -1, -1):
        if mic_images[i].handle != NULL:
            dlclose(mic_images[i].handle)
            mic_images[i].handle = NULL
    fflush(NULL)
