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


cdef void refuse_image(mic_slot *slot, const char *text) noexcept nogil:
    """Answer a load request with an error and its text."""
    snprintf(control.text, MIC_TEXT_SIZE, b"%s", text)
    slot.result[0] = -1


cdef void prepare_languages(mic_image *image) noexcept nogil:
    """What the constructors of a program would have done for its libraries.

    Images carry no host constructors, so the static ``std::ios_base::Init`` object of each C++ source that includes
    <iostream> (GCC 12) is missing; one for all does.  Fortran's units are flushed through the image's own libgfortran.
    """
    cdef void *library = loaded_library(b"libstdc++.so.6")
    cdef void (*init)(void *) noexcept nogil
    if library != NULL:
        if mic_ios_init[32] == 0:
            init = <void (*)(void *) noexcept nogil>dlsym(library, b"_ZNSt8ios_base4InitC1Ev")
            if init != NULL:
                init(mic_ios_init)
                mic_ios_init[32] = 1
        else:
            dlclose(library)
    library = loaded_library(b"libgfortran.so.5")
    if library != NULL:
        image.flush_units = <void (*)(int *) noexcept nogil>dlsym(library, b"_gfortran_flush_i4")
        dlclose(library)


cdef bint find_symbols(mic_image *image, mic_slot *slot) noexcept nogil:
    """Answer for an image by clang: the addresses of the names at args[2] replace them.

    The last function is no symbol of the image but the one that calls a kernel with its words (../kernels.pxi).
    What is not there is 0; a variable that is not there is an error.  The last args[3] variables have addresses of
    functions, for calls by the host's pointers.
    """
    cdef uint64_t *counts = <uint64_t *>arena_at(slot.args[2])
    cdef uint64_t functions = counts[0], variables = counts[1], i
    cdef const char *name = <const char *>(counts + 2)
    cdef uint64_t calls = slot.args[3]
    cdef uint64_t *found = <uint64_t *>calloc(functions + variables + 1, sizeof(uint64_t))
    image.indirect = <void **>calloc(calls + 1, sizeof(void *))
    if found == NULL or image.indirect == NULL:
        refuse_image(slot, strerror(ENOMEM))
        return False
    for i in range(functions + variables):
        found[i] = <uint64_t>symbol_of_image(image.handle, name)
        if found[i] == 0 and i >= functions:
            snprintf(control.text, MIC_TEXT_SIZE, b"it has no variable %s", name)
            slot.result[0] = -1
            free(found)
            return False
        name += strlen(name) + 1
    for i in range(calls):
        image.indirect[i] = (<void **>found[functions + variables - calls + i])[0]
    found[functions - 1] = <uint64_t>&call_kernel
    memcpy(counts, found, (functions + variables) * sizeof(uint64_t))
    free(found)
    slot.result[3] = <int64_t>functions
    slot.result[4] = <int64_t>variables
    slot.result[5] = <int64_t>calls
    return True


cdef bint find_tables(mic_image *image, mic_slot *slot) noexcept nogil:
    """Answer with the tables of an image by gcc: their words replace the image."""
    cdef void **table = <void **>dlsym(image.handle, b"__OFFLOAD_TARGET_TABLE__")
    cdef char *buffer = arena_at(slot.args[0])
    cdef size_t functions, variables
    if table == NULL:
        refuse_image(slot, b"it has no table (__OFFLOAD_TARGET_TABLE__)")
        return False
    image.indirect = <void **>table[4] if slot.args[3] else NULL
    image.regions = <void **>table[0]
    image.regions_end = <void **>table[1]
    functions = <size_t>(<char *>table[1] - <char *>table[0])
    variables = <size_t>(<char *>table[3] - <char *>table[2])
    memcpy(buffer, table[0], functions)
    memcpy(buffer + functions, table[2], variables)
    slot.result[3] = <int64_t>(functions // sizeof(void *))
    slot.result[4] = <int64_t>(variables // (2 * sizeof(void *)))
    slot.result[5] = <void **>table[5] - <void **>table[4] if slot.args[3] else 0
    return True


cdef void load_image(mic_slot *slot) noexcept nogil:
    """MIC_OP_LOAD: load an image and answer with its tables.

    The image is in the arena (offset args[0], args[1] bytes) or, args[1] being 0, in the file that control.text names.
    Result: 0, image number, load address, number of functions, of variables, of indirect functions; the tables' words
    (functions, then address and size of each variable) replace the image in the arena, which is always long enough
    since the image holds them.  An image by clang: find_symbols.
    """
    global image_count
    cdef char path[64]
    cdef const char *name = control.text
    cdef char *buffer = arena_at(slot.args[0])
    cdef int number = 0, fd = -1
    cdef mic_image *image
    cdef link_map *loaded = NULL
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
        gompy_path_of(fd, path, sizeof(path))
        name = path
    image.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)
    if image.handle == NULL:
        refuse_image(slot, dlerror())
        if fd >= 0:
            close(fd)
        return
    if not (find_symbols(image, slot) if slot.args[2] else find_tables(image, slot)):
        dlclose(image.handle)
        image.handle = NULL
        if fd >= 0:
            close(fd)
        return
    dlinfo(image.handle, RTLD_DI_LINKMAP, &loaded)
    image.calls_host = slot.args[4] != 0
    image.fd = fd
    image.base = loaded.l_addr
    mic_text_range(image.base, &image.text_begin, &image.text_end)
    if number == image_count:
        image_count += 1
    watch_sanitizers()
    prepare_languages(image)
    flush_output()
    slot.result[0] = 0
    slot.result[1] = number
    slot.result[2] = <int64_t>image.base


cdef void unload_image(mic_slot *slot) noexcept nogil:
    """MIC_OP_UNLOAD: drop image args[0]."""
    cdef mic_image *image = &mic_images[slot.args[0]]
    slot.result[0] = 0 if dlclose(image.handle) == 0 else -1
    forget_rows()
    flush_output()
    if image.fd >= 0:
        close(image.fd)
    if image.regions == NULL:  # by clang: made here
        free(image.indirect)
    memset(image, 0, sizeof(mic_image))


cdef void finalise_images() noexcept nogil:
    """Run the destructors of all images' objects, the last loaded first, and write what they print."""
    cdef int i
    for i in range(image_count - 1, -1, -1):
        if mic_images[i].handle != NULL:
            dlclose(mic_images[i].handle)
            mic_images[i].handle = NULL
    fflush(NULL)
