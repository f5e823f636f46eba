# The PTX in a fat binary.

cdef const char *best_ptx(const fatbin_wrapper *wrapper, int architecture, bint *packed) noexcept nogil:
    """The PTX for the highest architecture that the device has, or NULL; and whether some is compressed."""
    cdef const fatbin_head *head
    cdef const fatbin_file *file
    cdef const fatbin_file *best = NULL
    cdef const char *at
    cdef const char *end
    packed[0] = False
    if wrapper == NULL or wrapper.magic != WRAPPER_MAGIC or wrapper.data == NULL:
        return NULL
    head = <const fatbin_head *> wrapper.data
    if head.magic != HEAD_MAGIC or head.head_size < sizeof(fatbin_head):
        return NULL
    at = <const char *> head + head.head_size
    end = at + head.size
    while at + sizeof(fatbin_file) <= end:
        file = <const fatbin_file *> at
        if file.head_size < sizeof(fatbin_file) or file.size > <uint64_t> (end - at) - file.head_size:
            return NULL
        if file.kind == KIND_PTX and file.flags & FLAGS_PACKED:
            packed[0] = True
        elif file.kind == KIND_PTX and file.architecture <= <unsigned> architecture:
            if best == NULL or file.architecture > best.architecture:
                best = file
        at += file.head_size + file.size
    return <const char *> best + best.head_size if best != NULL else NULL


cdef const char *find_ptx(const fatbin_wrapper *wrapper, int architecture, int *answer) noexcept nogil:
    """The same; NULL, a line and an error's number if there is none."""
    cdef bint packed = False
    cdef const char *text = best_ptx(wrapper, architecture, &packed)
    if text == NULL:
        answer[0] = cudaErrorNoKernelImageForDevice
    if text == NULL and packed:
        fprintf(stderr, b"libcudart (gompy): error: the program's PTX is compressed, which is not implemented: "
                        b"build it by gompy cuda cc, or with --no-compress\n")
    return text


cdef int architecture_of(int device, int *to) noexcept nogil:
    """A device's: 80 for sm_80."""
    cdef int major = 0
    cdef int minor = 0
    cdef int r = driver.device_attribute(&major, 75, device)
    if r == CUDA_SUCCESS:
        r = driver.device_attribute(&minor, 76, device)
    to[0] = major * 10 + minor
    return r
