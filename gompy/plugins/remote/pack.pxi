# Packing an image, on the client.

cdef struct Packing:
    # Bytes that grow.
    char *bytes
    size_t size
    size_t room


cdef const char *ptx_function(const void *data, uint64_t i) noexcept nogil:
    """The name of a function of an nvptx image."""
    return (<const remote_ptx_data *>data).functions[i].name


cdef bint add_bytes(Packing *to, const void *what, size_t n) noexcept nogil:
    """False: no memory."""
    cdef char *grown
    cdef size_t room = to.room
    while room - to.size < n:
        room = 2 * room + 4096
    if room != to.room:
        grown = <char *>realloc(to.bytes, room)
        if grown == NULL:
            return False
        to.bytes = grown
        to.room = room
    memcpy(to.bytes + to.size, what, n)
    to.size += n
    return True


cdef bint add_text(Packing *to, const char *text) noexcept nogil:
    return add_bytes(to, text, strlen(text) + 1)


cdef bint pack_mic(Packing *to, unsigned version, const remote_mic_data *data) noexcept nogil:
    """``version``: 0 for an image of GCC's own mkoffload, whose data has the image's bounds only."""
    cdef remote_packed head
    cdef const remote_mic_symbol *symbols
    cdef uint64_t i
    cdef bint full = version != 0 and data.magic == REMOTE_MIC_MAGIC
    memset(&head, 0, sizeof(head))
    head.type = GOMP_DEVICE_INTEL_MIC
    head.bytes = <uint64_t>(data.image_end - data.image_start)
    if full:
        head.abi = data.abi
        head.accel = data.accel
        head.functions = data.image_funcs
        head.variables = data.image_vars
        head.named = 1 + (data.name != NULL)
        head.symbols = data.num_objects if data.accel == <uint32_t>ACCEL_LLVM else 0
    if not add_bytes(to, &head, sizeof(head)) or not add_bytes(to, data.image_start, head.bytes):
        return False
    if full and data.name != NULL and not add_text(to, data.name):
        return False
    symbols = <const remote_mic_symbol *>data.objects
    for i in range(head.symbols):
        if not add_bytes(to, &symbols[i].size, sizeof(uint64_t)) or not add_text(to, symbols[i].name):
            return False
    return True


cdef bint pack_ptx(Packing *to, unsigned version, const remote_ptx_data *data) noexcept nogil:
    cdef remote_packed head
    cdef uint64_t size
    cdef unsigned i
    memset(&head, 0, sizeof(head))
    head.type = GOMP_DEVICE_NVIDIA_PTX
    head.functions = data.num_functions
    head.variables = data.num_variables
    head.objects = data.num_objects
    head.indirect = data.num_indirect if version >> 16 >= <unsigned>GOMP_VERSION_INDIRECT_FUNCS else 0
    if not add_bytes(to, &head, sizeof(head)):
        return False
    for i in range(data.num_objects):
        size = data.objects[i].size
        if not add_bytes(to, &size, sizeof(size)) or not add_bytes(to, data.objects[i].code, size):
            return False
    for i in range(data.num_variables):
        if not add_text(to, data.variables[i]):
            return False
    for i in range(data.num_functions):
        if not add_bytes(to, data.functions[i].dim, 3 * sizeof(uint16_t)) or not add_text(to, data.functions[i].name):
            return False
    return True
