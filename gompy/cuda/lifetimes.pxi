# How a context begins and ends, with all that it has.


cdef inline bint are_context_flags(unsigned flags) noexcept nogil:
    """Whether a context can have flags: one way to wait at most."""
    return not flags & ~<unsigned>0x3f and flags & 7 in (0, 1, 2, 4)


cdef int create_context(gpu *g, unsigned flags, bint primary, context **to) noexcept nogil:
    """A context with its default stream."""
    cdef context *c
    if not are_context_flags(flags):
        return CUDA_ERROR_INVALID_VALUE
    c = <context *>new_handle(CONTEXT)
    if c == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    c.device = g
    c.flags = flags
    c.primary = primary
    c.attached = 1
    c.stack_limit = 1024
    c.printf_limit = 1 << 20
    c.cache_config = 0
    c.shared_config = 1
    g.heap_begun = False
    if not g.used:
        g.used = True
        add32(&devices_used, 1, RELAXED)
    c.default_stream = create_stream(c, 0, 0)
    if c.default_stream == NULL:
        free_handle(CONTEXT, c)
        return CUDA_ERROR_OUT_OF_MEMORY
    to[0] = c
    return CUDA_SUCCESS


cdef bint end_context(context *c) noexcept nogil:
    """Wait for a context's work, then free all that it has.  False if another thread does that."""
    if not bury_handle(CONTEXT, c):
        return False
    end_streams(c)
    unload_all(c)
    forget_mipmaps(c)  # before: they have arrays
    forget_arrays(c)
    tell_leaks(c)
    free_owned(c.device, c)
    free_handle(CONTEXT, c)
    return True
