# Arithmetic on sizes, pitches and addresses that a program passes.  It is done here only: what does not fit into 64
# bits is not a smaller number but an error (CUDA_ERROR_INVALID_VALUE).

cdef extern from *:
    """
    /* Each puts its result into *TO and says whether it is right. */
    static inline int fits_product (size_t a, size_t b, size_t *to) { return !__builtin_mul_overflow (a, b, to); }
    static inline int fits_sum (size_t a, size_t b, size_t *to) { return !__builtin_add_overflow (a, b, to); }
    """
    bint fits_product(size_t a, size_t b, size_t *to) nogil
    bint fits_sum(size_t a, size_t b, size_t *to) nogil

cdef enum:
    MAX_PITCH = 2147483647         # CU_DEVICE_ATTRIBUTE_MAX_PITCH


cdef inline bint fits_round_up(size_t n, size_t step, size_t *to) noexcept nogil:
    """The next multiple of a power of two."""
    cdef size_t sum = 0
    if not fits_sum(n, step - 1, &sum):
        return False
    to[0] = sum & ~(step - 1)
    return True


cdef inline bint fits_extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice_size,
                             size_t *to) noexcept nogil:
    """Bytes from the first to the last of a shape, none of whose numbers is 0."""
    cdef size_t lines = 0, slices = 0
    return (
        fits_product(height - 1, pitch, &lines) and fits_product(depth - 1, slice_size, &slices)
        and fits_sum(lines, slices, to) and fits_sum(to[0], width, to)
    )


cdef inline bint fits_place(const void *base, size_t x, size_t y, size_t pitch, size_t z, size_t slice_size,
                            size_t *to) noexcept nogil:
    """The address of an element of a shape."""
    cdef size_t lines = 0, slices = 0
    return (
        fits_product(y, pitch, &lines) and fits_product(z, slice_size, &slices) and fits_sum(lines, slices, to)
        and fits_sum(to[0], x, to) and fits_sum(to[0], <size_t>base, to)
    )
