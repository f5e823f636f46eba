# Modules: PTX in a context, its functions and variables.

from gompy.native.wrapped_ptx cimport gompy_wrapped_ptx


cdef int load_image(context *c, const void *image, jit_options *o, void **to) noexcept nogil:
    """Make a module of PTX text or of a linked image."""
    cdef module *m
    cdef ptx_image *linked = NULL
    cdef ptx_image *own = NULL
    cdef ptx_error failure
    cdef char *text = NULL
    cdef size_t used = 0, room = 0
    cdef uint32_t magic
    cdef bint linked_form = False
    cdef int r
    if image == NULL or to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if gompy_wrapped_ptx(image) != NULL:
        image = gompy_wrapped_ptx(image)
    linked_form = strncmp(<const char *>image, IMAGE_MAGIC(), 8) == 0
    if linked_form:
        linked = still_linked(<const char *>image)
        if linked == NULL:
            r = link_image(<const char *>image, o, &own)
            if r != CUDA_SUCCESS:
                return r
    else:
        if (<const char *>image)[0] not in (9, 10, 13, 32, 46, 47):
            memcpy(&magic, image, 4)
            if magic == 0x464c457f or magic == <uint32_t>0xba55ed50 or magic == 0x466243b1:
                log_error(o, b"a machine code image or fat binary: the emulated device runs PTX text only")
                return CUDA_ERROR_NO_BINARY_FOR_GPU
            log_error(o, b"the image is neither PTX text nor a linked image")
            return CUDA_ERROR_INVALID_IMAGE
        r = check_text(o, c.device, <const char *>image, strlen(<const char *>image), b"PTX")
        if r != CUDA_SUCCESS:
            return r
        if not add_text(&text, &used, &room, <const char *>image, strlen(<const char *>image), b"PTX"):
            return CUDA_ERROR_OUT_OF_MEMORY
        r = link_image(text, o, &own)
        free(text)
        if r != CUDA_SUCCESS:
            return r
    m = <module *>new_handle(MODULE)
    if m == NULL:
        r = CUDA_ERROR_OUT_OF_MEMORY
    else:
        memset(&failure, 0, sizeof(failure))
        r = ptx.load(linked if linked != NULL else own, &c.device.view, &m.loaded, &failure)
        if r != CUDA_SUCCESS:
            free_handle(MODULE, m)
            if failure.message[0]:
                log_error(o, failure.message)
                if not o.error_size:
                    fprintf(stderr, b"libcuda (gompy): error: %s\n", failure.message)
    if own != NULL:
        ptx.image_free(own)
    if r != CUDA_SUCCESS:
        return r
    m.of = c
    if record_state >= 0:
        record_module(m, image, (<image_head *>image).size if linked_form else strlen(<const char *>image))
    pthread_mutex_lock(&driver_lock)
    m.next = c.modules
    c.modules = m
    pthread_mutex_unlock(&driver_lock)
    to[0] = m
    return CUDA_SUCCESS


cdef void drop_module(module *m) noexcept nogil:
    """Free a module that is in no list and has no launch under way."""
    cdef function *f = m.functions
    cdef function *after
    while f != NULL:
        after = f.next
        free(f.offsets)
        free(f.name)
        free_handle(FUNCTION, f)
        f = after
    if recording_kernels():
        record_unload(m)
    ptx.unload(m.loaded)
    free_handle(MODULE, m)


cdef void unload_all(context *c) noexcept nogil:
    """A context ends: its modules go."""
    cdef module *m = c.modules
    cdef module *after
    c.modules = NULL
    while m != NULL:
        after = m.next
        bury_handle(MODULE, m)
        drop_module(m)
        m = after


cdef public int cuModuleLoadDataEx(void **to, const void *image, unsigned n, int *options,
                                   void **values) noexcept nogil:
    """A module of PTX text or of what cuLinkComplete made."""
    cdef context *c
    cdef jit_options o
    cdef double start = now_ms()
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if n and (options == NULL or values == NULL):
        return CUDA_ERROR_INVALID_VALUE
    read_options(&o, n, options, values)
    r = load_image(c, image, &o, to)
    finish_options(&o, now_ms() - start, 1)
    return r


cdef public int cuModuleLoadData(void **to, const void *image) noexcept nogil:
    """A module of PTX text or of what cuLinkComplete made."""
    return cuModuleLoadDataEx(to, image, 0, NULL, NULL)


cdef public int cuModuleLoadFatBinary(void **to, const void *image) noexcept nogil:
    """Fat binaries aren't read: CUDA_ERROR_NO_BINARY_FOR_GPU."""
    return cuModuleLoadDataEx(to, image, 0, NULL, NULL)


cdef public int cuModuleLoad(void **to, const char *path) noexcept nogil:
    """A module of a PTX file."""
    cdef size_t size = 0
    cdef char *text
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if path == NULL or to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    text = read_file(path, &size)
    if text == NULL:
        return CUDA_ERROR_FILE_NOT_FOUND
    r = cuModuleLoadData(to, text)
    free(text)
    return r


cdef public int cuModuleUnload(void *p) noexcept nogil:
    """Drop a module, when the context's work is done."""
    cdef module *m = <module *>p
    cdef module **link
    cdef function *f
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(MODULE, p):
        return CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_lock(&work_lock)
    if not bury_handle(MODULE, p):
        pthread_mutex_unlock(&work_lock)
        return CUDA_ERROR_INVALID_HANDLE
    f = m.functions
    while f != NULL:
        bury_handle(FUNCTION, f)
        f = f.next
    pthread_mutex_unlock(&work_lock)
    wait_for_context(m.of)
    pthread_mutex_lock(&work_lock)
    while m.launches:  # another thread had looked a function up, and queues its launch
        pthread_cond_wait(&work_done, &work_lock)
    pthread_mutex_unlock(&work_lock)
    pthread_mutex_lock(&driver_lock)
    link = &m.of.modules
    while link[0] != m and link[0] != NULL:
        link = &link[0].next
    if link[0] == m:
        link[0] = m.next
    pthread_mutex_unlock(&driver_lock)
    drop_module(m)
    return CUDA_SUCCESS


cdef bint read_parameters(function *f) noexcept nogil:
    """Learn where a kernel's parameters lie."""
    cdef uint32_t i
    f.offsets = <uint64_t *>calloc(2 * f.attributes.num_params + 1, sizeof(uint64_t))
    if f.offsets == NULL:
        return False
    for i in range(f.attributes.num_params):
        if ptx.param(f.code, i, &f.offsets[2 * i], &f.offsets[2 * i + 1]) != 0:
            return False
    return True


cdef int find_function(void *p, const char *name, void **to) noexcept nogil:
    """A kernel of a module by name; the same handle each time."""
    cdef module *m = <module *>p
    cdef function *f
    cdef ptx_function *code = NULL
    cdef int r = CUDA_SUCCESS
    pthread_mutex_lock(&work_lock)
    if not is_handle(MODULE, p):
        pthread_mutex_unlock(&work_lock)
        return CUDA_ERROR_INVALID_HANDLE
    f = m.functions
    while f != NULL and strcmp(f.name, name) != 0:
        f = f.next
    if f == NULL:
        r = ptx.find_function(m.loaded, name, &code)
        if r == CUDA_SUCCESS:
            f = <function *>new_handle(FUNCTION)
            if f == NULL:
                r = CUDA_ERROR_OUT_OF_MEMORY
        if r == CUDA_SUCCESS:
            f.of = m
            f.code = code
            f.carveout = -1
            f.name = <char *>malloc(strlen(name) + 1)
            if f.name == NULL or ptx.attributes(code, &f.attributes) != CUDA_SUCCESS or not read_parameters(f):
                free(f.name)
                free(f.offsets)
                free_handle(FUNCTION, f)
                r = CUDA_ERROR_OUT_OF_MEMORY
            else:
                memcpy(f.name, name, strlen(name) + 1)
                f.dynamic_limit = GOMPY_SHARED_LIMIT - <uint32_t>f.attributes.shared_bytes
                f.next = m.functions
                m.functions = f
    pthread_mutex_unlock(&work_lock)
    if r == CUDA_SUCCESS:
        to[0] = f
    return r


cdef public int cuModuleGetFunction(void **to, void *p, const char *name) noexcept nogil:
    """A kernel by name; the same handle each time."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or name == NULL:
        return CUDA_ERROR_INVALID_VALUE
    return find_function(p, name, to) if is_handle(MODULE, p) else CUDA_ERROR_INVALID_HANDLE


cdef int kernels_of(void *p, ptx_function **functions, size_t room, size_t *count) noexcept nogil:
    """A module's kernels, up to ``room`` of them, and how many there are."""
    cdef int r = CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_lock(&work_lock)
    if is_handle(MODULE, p):
        count[0] = ptx.kernels((<module *>p).loaded, functions, room)
        r = CUDA_SUCCESS
    pthread_mutex_unlock(&work_lock)
    return r


cdef int named_kernels(void *p, unsigned room, char **names, size_t *count) noexcept nogil:
    """Copies of their names in one block, which is the caller's to free: NUL behind each."""
    cdef ptx_function **functions = <ptx_function **>calloc(room + 1, sizeof(ptx_function *))
    cdef size_t size = 1, i, there
    cdef char *to
    cdef int r = CUDA_ERROR_OUT_OF_MEMORY if functions == NULL else kernels_of(p, functions, room, count)
    if r == CUDA_SUCCESS:
        there = min(count[0], <size_t>room)
        count[0] = there
        for i in range(there):
            size += strlen(ptx.name(functions[i])) + 1
        to = <char *>malloc(size)
        names[0] = to
        r = CUDA_ERROR_OUT_OF_MEMORY if to == NULL else CUDA_SUCCESS
        for i in range(there if to != NULL else 0):
            memcpy(to, ptx.name(functions[i]), strlen(ptx.name(functions[i])) + 1)
            to += strlen(to) + 1
    free(functions)
    return r


cdef public int cuModuleGetFunctionCount(unsigned *count, void *p) noexcept nogil:
    """How many kernels a module has."""
    cdef size_t there = 0
    cdef context *c
    cdef int r = current_context(&c)
    if r == CUDA_SUCCESS and count == NULL:
        r = CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        r = kernels_of(p, NULL, 0, &there)
    if r == CUDA_SUCCESS:
        count[0] = <unsigned>there
    return r


cdef public int cuModuleEnumerateFunctions(void **functions, unsigned room, void *p) noexcept nogil:
    """A module's kernels, up to that many."""
    cdef size_t count = 0, i
    cdef char *names = NULL
    cdef const char *name
    cdef context *c
    cdef int r = current_context(&c)
    if r == CUDA_SUCCESS and functions == NULL and room:
        r = CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        r = named_kernels(p, room, &names, &count)
    name = names
    for i in range(count if r == CUDA_SUCCESS else 0):
        if r == CUDA_SUCCESS:
            r = find_function(p, name, &functions[i])
        name += strlen(name) + 1
    free(names)
    return r


cdef public int cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, void *p, const char *name) noexcept nogil:
    """A variable by name: address and size, either may be left out."""
    cdef module *m = <module *>p
    cdef uint64_t at = 0, bytes = 0
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if name == NULL or (address == NULL and size == NULL):
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(MODULE, p):
        return CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_lock(&work_lock)
    r = ptx.find_variable(m.loaded, name, &at, &bytes) if is_handle(MODULE, p) else CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_unlock(&work_lock)
    if r != CUDA_SUCCESS:
        return r
    if address != NULL:
        address[0] = at
    if size != NULL:
        size[0] = bytes
    return CUDA_SUCCESS


cdef public int cuModuleGetLoadingMode(int *to) noexcept nogil:
    """CU_MODULE_EAGER_LOADING."""
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = CU_MODULE_EAGER_LOADING
    return CUDA_SUCCESS
