# The modules made of fat binaries: one for each, or one for all that -rdc=true has made.

cdef int load_module(fat_binary *b, int device) noexcept nogil:
    """Load a fat binary's PTX into the current context, which is the device's.  With runtime_lock held."""
    cdef int options[2]
    cdef void *values[2]
    cdef char log[4096]  # LOG_BYTES
    cdef const char *text
    cdef int architecture = 0
    cdef int answer = CUDA_SUCCESS
    cdef int r = architecture_of(device, &architecture)
    if r == CUDA_SUCCESS and b.library != NULL:
        return link_binaries(b, device, architecture)
    if r != CUDA_SUCCESS:
        return r
    text = find_ptx(b.wrapper, architecture, &answer)
    if text == NULL:
        return answer
    log[0] = 0
    options[0] = CU_JIT_ERROR_LOG_BUFFER
    options[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
    values[0] = log
    values[1] = <void *> <uintptr_t> LOG_BYTES
    r = driver.module_load(&b.modules[device], text, 2, options, values)
    if r != CUDA_SUCCESS:
        tell_log(log)
        return r
    return share_managed(b, device, text)


cdef int module_of(fat_binary *b, int device, void **to) noexcept nogil:
    """A fat binary's module on a device.  With runtime_lock held."""
    if not b.tried[device]:
        b.answers[device] = load_module(b, device)
        b.tried[device] = True
    to[0] = b.modules[device]
    return b.answers[device]


cdef void load_managed(void *context) noexcept nogil:
    """Load all code with managed variables where a device's primary context is current.

    Calls and other files' kernels may be given their addresses before a kernel of that code runs.  What fails is told
    at its first launch.
    """
    cdef void *unused = NULL
    cdef int device = 0
    cdef fat_binary *b
    if driver.context_device(&device) != CUDA_SUCCESS or device < 0 or device >= MAX_DEVICES:
        return
    pthread_mutex_lock(&runtime_lock)
    runtime_thread.managed_in, runtime_thread.managed_seen = context, managed_changes
    if context != device_contexts[device]:  # the program's own, which may end: its first launch there loads the code
        pthread_mutex_unlock(&runtime_lock)
        return
    b = fat_binaries
    while b != NULL:
        if b.gone and b.managed_end:  # not when it goes: at the end of a program that would wait for kernels
            driver.host_unregister(<void *> b.managed_begin)
            b.managed_end = 0
        b = b.next
    b = fat_binaries
    while b != NULL:
        if b.told and not b.gone:
            module_of(b, device, &unused)
        b = b.next
    pthread_mutex_unlock(&runtime_lock)


cdef int load_function(const void *host, void **to) noexcept nogil:
    """The driver's function of a kernel on the current device."""
    cdef symbol *s
    cdef void *loaded = NULL
    cdef int device = 0
    cdef int r = current_device(&device)
    if r != CUDA_SUCCESS:
        return r
    if device < 0 or device >= MAX_DEVICES:
        return cudaErrorInvalidDevice
    pthread_mutex_lock(&runtime_lock)
    s = find_symbol(host, FUNCTION_SYMBOL)
    if s == NULL:
        r = cudaErrorInvalidDeviceFunction
    elif s.functions[device] == NULL:
        r = module_of(s.of, device, &loaded)
        if r == CUDA_SUCCESS:
            r = driver.module_function(&s.functions[device], loaded, s.name)
            if r != CUDA_SUCCESS:
                r = cudaErrorInvalidDeviceFunction
    to[0] = s.functions[device] if s != NULL else NULL
    pthread_mutex_unlock(&runtime_lock)
    return r


cdef int load_variable(const void *host, CUdeviceptr *to, size_t *size) noexcept nogil:
    """Address and size of a variable on the current device."""
    cdef symbol *s
    cdef void *loaded = NULL
    cdef int device = 0
    cdef int r = current_device(&device)
    if r != CUDA_SUCCESS:
        return r
    if device < 0 or device >= MAX_DEVICES:
        return cudaErrorInvalidDevice
    pthread_mutex_lock(&runtime_lock)
    s = find_symbol(host, VARIABLE_SYMBOL)
    if s == NULL:
        r = cudaErrorInvalidSymbol
    elif s.addresses[device] == 0:
        r = module_of(s.of, device, &loaded)
        if r == CUDA_SUCCESS:
            r = driver.module_global(&s.addresses[device], &s.sizes[device], loaded, s.name)
            if r != CUDA_SUCCESS:
                r = cudaErrorInvalidSymbol
                fprintf(stderr, b"libcudart (gompy): error: the device code has no variable '%s': some releases of "
                        b"clang leave out those of unnamed namespaces and types that are not static\n", s.name)
            elif s.managed != 0:
                s.addresses[device] = <CUdeviceptr> s.host
    if s != NULL:
        to[0] = s.addresses[device]
        size[0] = s.sizes[device]
    pthread_mutex_unlock(&runtime_lock)
    return r
