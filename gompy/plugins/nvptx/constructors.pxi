# Constructors and destructors of device variables: kernels of the image, which GCC 15's accelerator compiler makes
# (libgcc/config/nvptx/gbl-ctors.c; plugin-nvptx.c, nvptx_do_global_cdtors).

cdef extern from *:
    """
    /* Kernels of an image without stacks of its own, and with them (-mgomp).  */
    #define GOMPY_SOFT_STACK "__mgomp"
    static const char gompy_ctors[] = "__do_global_ctors__entry";
    static const char gompy_ctors_soft[] = "__do_global_ctors__entry" GOMPY_SOFT_STACK;
    static const char gompy_dtors[] = "__do_global_dtors__entry";
    static const char gompy_dtors_soft[] = "__do_global_dtors__entry" GOMPY_SOFT_STACK;
    """
    const char *SOFT_STACK "GOMPY_SOFT_STACK"
    const char *CONSTRUCTORS "gompy_ctors"
    const char *CONSTRUCTORS_SOFT "gompy_ctors_soft"
    const char *DESTRUCTORS "gompy_dtors"
    const char *DESTRUCTORS_SOFT "gompy_dtors_soft"


cdef const char *kernel_named(const char *code, const char *plain, const char *soft) noexcept nogil:
    """The name under which PTX has a kernel of constructors or destructors, NULL if it has none."""
    cdef const char *at = strstr(code, plain)
    if at == NULL:
        return NULL
    return soft if strncmp(at + strlen(plain), SOFT_STACK, strlen(SOFT_STACK)) == 0 else plain


cdef bint run_kernel(Device *d, CUmodule module, const char *name, bint soft) noexcept nogil:
    """Run one, in a thread of its own, to its end.  ``soft``: it is OpenMP's, whose stack is given by its upper end.

    False after a message.
    """
    cdef CUfunction function = NULL
    cdef CUdeviceptr stack = 0, top
    cdef void *arguments[1]
    cdef bint good
    if (call_failed(cuda.module_function(&function, module, name), name)
            or soft and call_failed(cuda.mem_alloc(&stack, STACK_SIZE), b"cuMemAlloc")):
        return False
    top = stack + STACK_SIZE
    arguments[0] = &top
    GOMP_PLUGIN_debug(0, b"nvptx: %s on device %d\n", name, d.number)
    good = (not call_failed(cuda.launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments if soft else NULL, NULL), name)
            and not wait_failed(cuda.stream_synchronize(NULL), name))
    if soft:
        good = given_back(cuda.mem_free(stack), b"cuMemFree") and good
    return good


cdef bint construct_variables(Device *d, LoadedImage *loaded, const char *code) noexcept nogil:
    """Run the constructors of an object of an image that has just been loaded; false after a message."""
    cdef const char *name = kernel_named(code, CONSTRUCTORS, CONSTRUCTORS_SOFT)
    cdef const char *end = kernel_named(code, DESTRUCTORS, DESTRUCTORS_SOFT)
    if end != NULL:
        loaded.destructors = end
    return name == NULL or run_kernel(d, loaded.module, name, name == CONSTRUCTORS_SOFT)


cdef bint destroy_variables(Device *d, LoadedImage *loaded) noexcept nogil:
    """Run the destructors of an image that is about to go; false after a message."""
    cdef const char *name = loaded.destructors
    loaded.destructors = NULL
    return name == NULL or context_lost or run_kernel(d, loaded.module, name, name == DESTRUCTORS_SOFT)
