# The PTX in a fat binary, and the modules made of it.

cdef const char *find_ptx(const fatbin_wrapper *wrapper, int architecture, int *answer) noexcept nogil:
    """The PTX for the highest architecture that the device has; NULL and an error's number if there is none."""
    cdef const fatbin_head *head
    cdef const fatbin_file *file
    cdef const fatbin_file *best = NULL
    cdef const char *at
    cdef const char *end
    cdef bint packed = False
    answer[0] = cudaErrorNoKernelImageForDevice
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
            packed = True
        elif file.kind == KIND_PTX and file.architecture <= <unsigned> architecture:
            if best == NULL or file.architecture > best.architecture:
                best = file
        at += file.head_size + file.size
    if best == NULL:
        if packed:
            fprintf(stderr, b"libcudart (gompy): error: the program's PTX is compressed, which is not implemented: "
                            b"build it by gompy cuda cc, or with --no-compress\n")
        return NULL
    return <const char *> best + best.head_size


cdef int architecture_of(int device, int *to) noexcept nogil:
    """A device's: 80 for sm_80."""
    cdef int major = 0
    cdef int minor = 0
    cdef int r = driver.device_attribute(&major, 75, device)
    if r == CUDA_SUCCESS:
        r = driver.device_attribute(&minor, 76, device)
    to[0] = major * 10 + minor
    return r


cdef int load_module(fat_binary *b, int device) noexcept nogil:
    """Load a fat binary's PTX into the current context, which is the device's.  With runtime_lock held."""
    cdef int options[2]
    cdef void *values[2]
    cdef char log[4096]  # LOG_BYTES
    cdef const char *text
    cdef int architecture = 0
    cdef int answer = CUDA_SUCCESS
    cdef int r = architecture_of(device, &architecture)
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
    log[LOG_BYTES - 1] = 0
    if r != CUDA_SUCCESS and log[0]:
        fprintf(stderr, b"libcudart (gompy): error: %s\n", <const char *> log)
    return r


cdef int module_of(fat_binary *b, int device, void **to) noexcept nogil:
    """A fat binary's module on a device.  With runtime_lock held."""
    if not b.tried[device]:
        b.tried[device] = True
        b.answers[device] = load_module(b, device)
    to[0] = b.modules[device]
    return b.answers[device]


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
    if s != NULL:
        to[0] = s.addresses[device]
        size[0] = s.sizes[device]
    pthread_mutex_unlock(&runtime_lock)
    return r
