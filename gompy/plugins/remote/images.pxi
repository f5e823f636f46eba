# Images: sent once to each worker's machine, by the hash of their contents.


cdef bint send_image(RemoteDevice *d, Packing *packed, unsigned version, const uint64_t *indirect, uint32_t count,
                     char *answer, uint64_t *size) noexcept nogil:
    """Have the worker load an image; send it if it is not there.  False after a message of the worker's."""
    cdef remote_image image
    cdef remote_frame frame
    cdef RemoteCall *call
    cdef bint good = False
    cdef int attempt
    memset(&image, 0, sizeof(image))
    gompy_blake(packed.bytes, packed.size, image.hash)
    image.size = packed.size
    image.version = version
    image.indirect = count
    for attempt in range(2):
        call = new_call(d, answer, REMOTE_PAIRS_MOST, NULL, False)
        frame.kind = REMOTE_LOAD
        frame.status = 0
        frame.id = call.id
        post_frame(d, &frame, &image, sizeof(image), indirect, count * sizeof(uint64_t))
        flush_frames(d)
        await_call(d, call)
        good = call.kind == REMOTE_TABLE and call.status == 0
        size[0] = call.size
        if good or call.status != 2 or attempt:
            end_call(d, call, False)
            break
        end_call(d, call, False)
        tell_worker(d, REMOTE_IMAGE, NULL, 0, packed.bytes, packed.size)
    return good


cdef uint32_t indirect_count(unsigned version, const void *data, const uint64_t *indirect) noexcept nogil:
    """How many entries the host's table of indirect functions has, for a GPU's image."""
    if indirect == NULL or version >> 16 < <unsigned>GOMP_VERSION_INDIRECT_FUNCS:
        return 0
    return (<const remote_ptx_data *>data).num_indirect


cdef int load_image(RemoteDevice *d, unsigned version, const void *data, AddrPair **table,
                    const uint64_t *indirect) noexcept nogil:
    """Load an image; the number of pairs in its table, or -1 after a message."""
    cdef Packing packed
    cdef bint good
    cdef char *answer = <char *>malloc(REMOTE_PAIRS_MOST)
    cdef RemoteLoaded *loaded = <RemoteLoaded *>calloc(1, sizeof(RemoteLoaded))
    cdef uint64_t size = 0, i
    cdef uint64_t *words = <uint64_t *>answer
    cdef uint32_t errors = d.errors
    if indirect != NULL and d.info.type != <uint32_t>GOMP_DEVICE_NVIDIA_PTX:
        GOMP_PLUGIN_error(b"remote device %d (%s): declare target indirect is not implemented there", d.number,
                          <const char *>d.host)
        free(answer)
        free(loaded)
        return -1
    memset(&packed, 0, sizeof(packed))
    if d.info.type == <uint32_t>GOMP_DEVICE_NVIDIA_PTX:
        good = pack_ptx(&packed, version, <const remote_ptx_data *>data)
    else:
        good = pack_mic(&packed, version, <const remote_mic_data *>data)
    if not good or packed.size > REMOTE_IMAGE_MOST or answer == NULL or loaded == NULL:
        GOMP_PLUGIN_error(b"remote device %d (%s): no memory for an image", d.number, <const char *>d.host)
        good = False
    else:
        good = send_image(d, &packed, version, indirect, indirect_count(version, data, indirect), answer, &size)
        if not good and d.errors == errors:
            GOMP_PLUGIN_error(b"remote device %d (%s): its worker refuses an image and does not say why", d.number,
                              <const char *>d.host)
    free(packed.bytes)
    if good and (size < 16 or size != 16 + words[1] * sizeof(AddrPair) or words[1] > INT_MAX):
        lose_device(d, b"lost: its worker has sent a table that is none", NULL)
    if not good:
        free(answer)
        free(loaded)
        return -1
    table[0] = <AddrPair *>GOMP_PLUGIN_malloc((words[1] + 1) * sizeof(AddrPair))
    memcpy(table[0], words + 2, words[1] * sizeof(AddrPair))
    loaded.functions = <AddrPair *>malloc((words[1] + 1) * sizeof(AddrPair))
    if loaded.functions != NULL:
        memcpy(loaded.functions, words + 2, words[1] * sizeof(AddrPair))
        for i in range(words[1]):
            if loaded.functions[i].end != loaded.functions[i].start + 1:
                break
            loaded.count += 1
    loaded.data = data
    loaded.number = words[0]
    loaded.next = d.loaded
    d.loaded = loaded
    size = words[1]
    free(answer)
    return <int>size


cdef bint unload_image(RemoteDevice *d, const void *data) noexcept nogil:
    """Drop an image.  False: it was not loaded."""
    cdef RemoteLoaded **link = &d.loaded
    cdef RemoteLoaded *found
    cdef uint32_t status
    if load32(&d.lost, RELAXED):
        return True
    while link[0] != NULL and link[0].data != data:
        link = &link[0].next
    found = link[0]
    if found == NULL:
        GOMP_PLUGIN_error(b"remote device %d (%s): unload of an image that is not loaded", d.number,
                          <const char *>d.host)
        return False
    link[0] = found.next
    ask_worker(d, REMOTE_UNLOAD, &found.number, 1, &status)
    free(found.functions)
    free(found)
    return status == 0
