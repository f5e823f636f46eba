# What compilers' code calls.

cdef bint has_managed(const fatbin_wrapper *wrapper) noexcept nogil:
    """Whether device code has managed variables; threads can load such code from now on."""
    global load_managed_code
    if not names_managed(wrapper):
        return False
    load_managed_code = load_managed
    return True


cdef public void **__cudaRegisterFatBinary(void *wrapper) noexcept nogil:
    """A translation unit's device code."""
    cdef const fatbin_wrapper *code = <const fatbin_wrapper *> wrapper
    return <void **> register_binary(code, has_managed(code))


cdef public void __gompyRegisterLinkedBinary(void (*symbols)(void *) noexcept nogil, void *wrapper, const char *name,
                                             void (*nothing)(void *) noexcept nogil) noexcept nogil:
    """A translation unit's relocatable code, and the function that registers its symbols."""
    cdef const fatbin_wrapper *code = <const fatbin_wrapper *> wrapper
    cdef void *handle = register_linked(code, has_managed(code))
    symbols(handle)
    all_is_told(<fat_binary *> handle)


cdef public void __cudaRegisterFatBinaryEnd(void **handle) noexcept nogil:
    """All of it has been told."""
    all_is_told(<fat_binary *> handle)


cdef public void __cudaUnregisterFatBinary(void **handle) noexcept nogil:
    """The program or a library of it ends."""
    if handle != NULL:
        unregister_binary(handle)


cdef public void __cudaRegisterFunction(void **handle, const char *host, char *name, const char *device_name, int limit,
                                        void *tid, void *bid, void *block, void *grid, int *warp) noexcept nogil:
    """A kernel."""
    register_symbol(handle, host, FUNCTION_SYMBOL, device_name)


cdef public void __cudaRegisterVar(void **handle, char *host, char *name, const char *device_name, int external,
                                   size_t size, int constant, int common) noexcept nogil:
    """A variable."""
    register_symbol(handle, host, VARIABLE_SYMBOL, device_name)


cdef void refuse_registration(const char *what, const char *name) noexcept nogil:
    """There is no way to tell the program: it ends."""
    fprintf(stderr, b"libcudart (gompy): error: %s '%s' is not implemented\n", what, name)
    abort()


cdef public void __cudaRegisterManagedVar(void **handle, void **host, char *name, const char *device_name, int external,
                                          size_t size, int constant, int common) noexcept nogil:
    """A __managed__ variable."""
    refuse_registration(b"the __managed__ variable", device_name)


cdef public void __cudaRegisterTexture(void **handle, const void *host, const void **address, const char *device_name,
                                       int dimensions, int normalised, int external) noexcept nogil:
    """A texture reference."""
    register_symbol(handle, host, TEXTURE_SYMBOL, device_name)


cdef public void __cudaRegisterSurface(void **handle, const void *host, const void **address, const char *device_name,
                                       int dimensions, int external) noexcept nogil:
    """A surface reference."""
    register_symbol(handle, host, SURFACE_SYMBOL, device_name)


cdef public char __cudaInitModule(void **handle) noexcept nogil:
    """nvcc's code asks whether it may go on."""
    return 1


cdef public unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) noexcept nogil:
    """What stands between <<< and >>>; not 0: the kernel is not called."""
    cdef call_configuration *call
    if runtime_thread.depth >= CALL_DEPTH:
        note_error(cudaErrorInvalidConfiguration)
        return 1
    call = &runtime_thread.calls[runtime_thread.depth]
    call.grid, call.block, call.shared, call.stream = grid, block, shared, stream
    runtime_thread.depth += 1
    return 0


cdef public int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) noexcept nogil:
    """The same, for the kernel's stub."""
    cdef call_configuration *call
    if runtime_thread.depth == 0:
        return note_error(cudaErrorMissingConfiguration)
    runtime_thread.depth -= 1
    call = &runtime_thread.calls[runtime_thread.depth]
    grid[0], block[0], shared[0] = call.grid, call.block, call.shared
    (<void **> stream)[0] = call.stream
    return CUDA_SUCCESS
