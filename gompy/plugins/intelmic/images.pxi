# The host's half of loading an image.


cdef uint64_t names_block(mic_device *d, mic_target_data *data) noexcept nogil:
    """The offset of a new block of device memory with those names, one behind the other; all ones: no memory."""
    cdef const mic_symbol *symbols = <const mic_symbol *>data.objects
    cdef uint64_t *counts
    cdef uint64_t offset, i, room = 2 * sizeof(uint64_t)
    cdef size_t length
    cdef char *to
    for i in range(data.num_objects):
        room += strlen(symbols[i].name) + 1
    offset = memory_alloc(d, max(room, data.num_objects * sizeof(uint64_t)))
    if offset == ~<uint64_t>0:
        return offset
    counts = <uint64_t *>(d.memory + offset)
    counts[0] = data.image_funcs
    counts[1] = data.image_vars
    to = <char *>(counts + 2)
    for i in range(data.num_objects):
        length = strlen(symbols[i].name) + 1
        memcpy(to, symbols[i].name, length)
        to += length
    return offset


cdef bint keep_image_file(mic_device *d, host_image *image, const char *folder, char *path, size_t room) noexcept nogil:
    """Put the image into a file that stays, in a folder of the user's: profiles and cores are read after the run."""
    cdef const char *name = strrchr(image_name(image), c'/')
    cdef char *absolute = realpath(folder, NULL)
    cdef int fd = -1
    cdef bint good = False
    name = name + 1 if name != NULL else image_name(image)
    if absolute != NULL:
        snprintf(path, room, b"%s/%.100s.%d-%d.so", absolute, name, d.number, d.files)
        free(absolute)
        d.files += 1
        unlink(path)  # another run's: that run goes on with what it has opened
        fd = gompy_open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    if fd >= 0:
        good = write_all(fd, image.bytes, image.size)
        close(fd)
    if not good:
        GOMP_PLUGIN_error(b"device %d (intelmic): OFFLOAD_EMUL_IMAGES=%s: cannot write the image of %s there: %s",
                          d.number, folder, name, strerror(errno))
    return good


cdef bint write_image_file(mic_device *d, host_image *image, char *path, size_t room) noexcept nogil:
    """Put the image into a file of its own, if tools will look for it by name.  Without OFFLOAD_EMUL_IMAGES it goes
    with
    the device."""
    cdef const char *where = secure_getenv(b"TMPDIR")
    cdef const char *name = strrchr(image_name(image), c'/')
    cdef const char *folder = secure_getenv(b"OFFLOAD_EMUL_IMAGES")
    cdef int fd
    cdef bint good
    if folder != NULL and folder[0] and keep_image_file(d, image, folder, path, room):
        return True
    if d.control.tool == 0 and eaccess(b"/proc/self/fd", X_OK) == 0:
        return False
    name = name + 1 if name != NULL else image_name(image)
    if d.directory[0] == 0:
        snprintf(
            d.directory, sizeof(d.directory), b"%s/gompy-XXXXXX",
            where if where != NULL and where[0] else <const char *>b"/tmp"
        )
        if mkdtemp(d.directory) == NULL:
            d.directory[0] = 0
            return False
        memcpy(d.control.directory, d.directory, sizeof(d.directory))
    snprintf(path, room, b"%s/%d-%.100s.so", d.directory, d.files, name)
    d.files += 1
    fd = gompy_open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    if fd < 0:
        return False
    good = write_all(fd, image.bytes, image.size)
    close(fd)
    return good


cdef void forget_image_files(mic_device *d) noexcept nogil:
    """Remove the folder of write_image_file; what is loaded stays loaded."""
    d.control.directory[0] = 0
    remove_directory(d.directory)
    d.directory[0] = 0


cdef bint redirect_indirect(mic_device *d, host_image *image, const uint64_t *functions, size_t count) noexcept nogil:
    """Have calls of the host's indirect functions go to the image's; ``functions``: the host's table."""
    cdef uint64_t offset = memory_alloc(d, (count + 1) * sizeof(uint64_t))
    cdef int64_t error
    if offset == ~<uint64_t>0:
        GOMP_PLUGIN_error(b"device %d (intelmic): no memory for %s", d.number, image_name(image))
        return False
    memcpy(d.memory + offset, functions, count * sizeof(uint64_t))
    pthread_mutex_lock(&d.commands)
    error = run_command(d, MIC_OP_INDIRECT, offset, count, <uint64_t>image.number)
    if error:
        GOMP_PLUGIN_error(b"device %d (intelmic): %s: %s", d.number, image_name(image), d.control.text)
    pthread_mutex_unlock(&d.commands)
    memory_free(d, offset)
    return error == 0


cdef int load_image(mic_device *d, unsigned version, mic_target_data *data, AddrPair **table, uint64_t **reverse,
                    const uint64_t *indirect) noexcept nogil:
    """Load an image and make its table of address pairs: functions, then variables.  Returns their number, -1: failed.

    ``version``: 0 for an image of GCC's own mkoffload, whose target data has the image's bounds only.  ``reverse``:
    NULL or where a table of the functions goes by which regions call the host.  ``indirect``: the host's table of
    indirect functions, of which the image has as many, or NULL; an image by clang has its own.
    """
    cdef host_image *image
    cdef mic_slot *slot = &d.control.slots[MIC_COMMAND_SLOT]
    cdef uint64_t offset, i, functions, variables, names = 0
    cdef size_t calls
    cdef uint64_t *words
    cdef AddrPair *pairs
    cdef const mic_symbol *symbols = symbols_of(data, version)
    if symbols != NULL:
        indirect = data.host_begin
    if data.image_end <= data.image_start or data.image_end - data.image_start < 64 or \
            memcmp(data.image_start, b"\x7fELF", 4) != 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): the image registered at %p is not an ELF file", d.number, data)
        return -1
    if (version & 0xffff) != 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): the image is of version %u, this plugin takes version 0", d.number,
                          version & 0xffff)
        return -1
    image = <host_image *>calloc(1, sizeof(host_image))
    if image == NULL:
        GOMP_PLUGIN_error(b"device %d (intelmic): out of memory", d.number)
        return -1
    image.target_data = data
    image.bytes = data.image_start
    image.size = <size_t>(data.image_end - data.image_start)
    if version != 0 and data.magic == MIC_TARGET_MAGIC:
        image.name = data.name
    if not with_libraries(d, image):
        free(image)
        return -1
    tell_inexact(d, image)
    slot = &d.control.slots[MIC_COMMAND_SLOT]
    offset = memory_alloc(d, image.size)
    if symbols != NULL:
        names = names_block(d, data)
    if offset == ~<uint64_t>0 or names == ~<uint64_t>0:
        GOMP_PLUGIN_error(b"device %d (intelmic): no memory for %s", d.number, image_name(image))
        free(image)
        return -1
    words = <uint64_t *>(d.memory + offset)
    pthread_mutex_lock(&d.commands)
    slot.args[3] = <uint64_t>(data.host_end - data.host_begin) if symbols != NULL else <uint64_t>(indirect != NULL)
    slot.args[4] = reverse != NULL
    if write_image_file(d, image, d.control.text, MIC_TEXT_SIZE):
        run_command(d, MIC_OP_LOAD, offset, 0, names)
        if d.control.tool == 0 and d.directory[0]:
            forget_image_files(d)
    else:
        memcpy(words, image.bytes, image.size)
        run_command(d, MIC_OP_LOAD, offset, image.size, names)
    if slot.result[0] != 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): cannot load %s: %s", d.number, image_name(image), d.control.text)
        pthread_mutex_unlock(&d.commands)
        memory_free(d, offset)
        if symbols != NULL:
            memory_free(d, names)
        free(image)
        return -1
    image.number = slot.result[1]
    image.base = <uintptr_t>slot.result[2]
    functions = <uint64_t>slot.result[3]
    variables = <uint64_t>slot.result[4]
    calls = <size_t>slot.result[5]
    image.next = d.images
    d.images = image
    pthread_mutex_unlock(&d.commands)
    if symbols != NULL:
        words = <uint64_t *>(d.memory + names)
    pairs = <AddrPair *>GOMP_PLUGIN_malloc((functions + variables + 1) * sizeof(AddrPair))
    for i in range(functions):
        pairs[i].start = words[i]
        pairs[i].end = words[i] + 1
    if reverse != NULL:
        # Any region may be one that the host runs: the image knows each by the address of its own copy.
        reverse[0] = <uint64_t *>GOMP_PLUGIN_malloc((functions + 1) * sizeof(uint64_t))
        memcpy(reverse[0], words, functions * sizeof(uint64_t))
        d.called = 1
    for i in range(variables if symbols != NULL else 0):
        pairs[functions + i].start = words[functions + i]
        pairs[functions + i].end = words[functions + i] + symbols[functions + i].size
    for i in range(variables if symbols == NULL else 0):
        pairs[functions + i].start = words[functions + 2 * i]
        # the size without the link bit: a link variable of an image made by the stock compiler is the variable itself
        pairs[functions + i].end = words[functions + 2 * i] + (words[functions + 2 * i + 1] & ~(<uint64_t>1 << 63))
    memory_free(d, offset)
    if symbols != NULL:
        memory_free(d, names)
    if calls != 0 and not redirect_indirect(d, image, indirect, calls):
        free(pairs)
        return -1
    pairs[functions + variables].start = pairs[functions + variables].end = 0  # it knows its number
    table[0] = pairs
    return <int>(functions + variables + 1)


cdef bint unload_image(mic_device *d, const void *data) noexcept nogil:
    """Drop an image.  False if it was not loaded."""
    cdef host_image **link = &d.images
    cdef host_image *image
    cdef int64_t error
    if d.gone:
        return True  # the program is ending because of that
    pthread_mutex_lock(&d.commands)
    while link[0] != NULL and link[0].target_data != data:
        link = &link[0].next
    image = link[0]
    if image == NULL:
        pthread_mutex_unlock(&d.commands)
        GOMP_PLUGIN_error(b"device %d (intelmic): unload of an image that is not loaded", d.number)
        return False
    error = run_command(d, MIC_OP_UNLOAD, <uint64_t>image.number, 0, 0)
    forget_outer(d, image)
    link[0] = image.next
    pthread_mutex_unlock(&d.commands)
    free(image)
    return error == 0
