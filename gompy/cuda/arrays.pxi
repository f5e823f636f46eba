# Arrays: memory that textures read, known by a handle.  Its elements lie in rows, as in any other memory.

cdef struct array:
    handle_head head
    context *of
    array *next                # of the context; guarded by work_lock
    uint64_t address
    size_t width, height, depth  # elements; 0: it has not this dimension
    unsigned format, channels, flags
    size_t row                 # bytes that a row has
    size_t pitch, slice
    bint level                 # its memory is a mipmapped array's


cdef unsigned component_bytes(unsigned format) noexcept nogil:
    """Bytes of a component of a CUarray_format; 0: it is none that is known."""
    if format == PTX_TEXTURE_U8 or format == PTX_TEXTURE_S8:
        return 1
    if format == PTX_TEXTURE_U16 or format == PTX_TEXTURE_S16 or format == PTX_TEXTURE_HALF:
        return 2
    return 4 if format == PTX_TEXTURE_U32 or format == PTX_TEXTURE_S32 or format == PTX_TEXTURE_FLOAT else 0


cdef size_t rows_of(const array *a) noexcept nogil:
    """In a slice."""
    return a.height if a.height else 1


cdef int check_sizes(size_t width, size_t height, size_t depth, size_t element, unsigned flags) noexcept nogil:
    """Whether there is an array of so many elements, each of so many bytes; layers and faces are slices."""
    if element == 0 or width == 0 or width > MAX_ROW or height > MAX_ROWS or depth > MAX_SLICES:
        return CUDA_ERROR_INVALID_VALUE
    if flags & CUDA_ARRAY3D_CUBEMAP:
        if width != height or depth == 0 or depth % 6 != 0 or (depth != 6 and not flags & CUDA_ARRAY3D_LAYERED):
            return CUDA_ERROR_INVALID_VALUE
    elif flags & CUDA_ARRAY3D_LAYERED:
        if depth == 0:
            return CUDA_ERROR_INVALID_VALUE
    elif depth and height == 0:
        return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef void enlist_array(context *c, array *a) noexcept nogil:
    """It is the context's, and goes with it."""
    a.of = c
    pthread_mutex_lock(&work_lock)
    a.next = c.arrays
    c.arrays = a
    pthread_mutex_unlock(&work_lock)


cdef int make_array(context *c, size_t width, size_t height, size_t depth, size_t element, unsigned flags,
                    array **to) noexcept nogil:
    """An array of so many elements, each of so many bytes."""
    cdef size_t size = 0
    cdef array *a
    cdef int r = check_sizes(width, height, depth, element, flags)
    if r != CUDA_SUCCESS:
        return r
    a = <array *>new_handle(ARRAY)
    if a == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    a.width, a.height, a.depth, a.row = width, height, depth, width * element
    a.flags = flags
    a.pitch = round_up(a.row, PTX_TEXTURE_ROW)
    a.slice = a.pitch * rows_of(a)
    if fits_product(a.slice, depth if depth else 1, &size):
        a.address = alloc_in(c.device, &c.device.memory, size, 512, ALLOCATION, c, NULL, 0)
    if a.address == 0:
        free_handle(ARRAY, a)
        return CUDA_ERROR_OUT_OF_MEMORY
    enlist_array(c, a)
    to[0] = a
    return CUDA_SUCCESS


cdef bint drop_array(array *a) noexcept nogil:
    """Take it from its context; False if another thread has.  Its memory stays.  work_lock is held."""
    cdef array **link
    if not is_handle(ARRAY, a):
        return False
    link = &a.of.arrays
    while link[0] != a:
        link = &link[0].next
    link[0] = a.next
    free_handle(ARRAY, a)
    return True


cdef bint forget_array(array *a) noexcept nogil:
    """The same, without the lock."""
    cdef bint found
    pthread_mutex_lock(&work_lock)
    found = drop_array(a)
    pthread_mutex_unlock(&work_lock)
    return found


cdef void forget_arrays(context *c) noexcept nogil:
    """A context ends."""
    while c.arrays != NULL:
        forget_array(c.arrays)


cdef bint has_part(const array *a, size_t x, size_t y, size_t z, size_t width, size_t height,
                   size_t depth) noexcept nogil:
    """Whether a cuboid (bytes, rows, slices) lies in an array."""
    cdef size_t rows = rows_of(a), slices = a.depth if a.depth else 1
    return (
        x <= a.row and width <= a.row - x and y <= rows and height <= rows - y and z <= slices and depth <= slices - z
    )
