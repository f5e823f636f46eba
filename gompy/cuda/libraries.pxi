# cuLibrary* and cuKernel*: an image that belongs to no context, and its kernels.  It becomes a module in each context
# that uses it.  What is called about a function takes a kernel as well: the current context's function is meant.

cdef struct library_module:
    library_module *next
    context *of
    uint64_t of_serial
    module *loaded
    uint64_t loaded_serial

cdef struct library:
    handle_head head
    char *image                # a copy
    library_module *modules
    kernel *kernels

cdef struct kernel:
    handle_head head
    library *of
    kernel *next
    char *name

cdef pthread_mutex_t library_lock


cdef char *copy_image(const void *image) noexcept nogil:
    """A copy of PTX text or of a linked image; others: of the few bytes that tell what they are."""
    cdef size_t size
    cdef char *text
    if strncmp(<const char *>image, IMAGE_MAGIC(), 8) == 0:
        size = (<const image_head *>image).size
    else:
        size = strlen(<const char *>image) + 1
        if size < 8:
            size = 8
    text = <char *>calloc(size, 1)
    if text != NULL:
        memcpy(text, image, size if strncmp(<const char *>image, IMAGE_MAGIC(), 8) == 0
               else strlen(<const char *>image))
    return text


cdef int module_of_library(library *l, context *c, jit_options *options, module **to) noexcept nogil:
    """The library's module in a context, loaded if need be.  With library_lock held."""
    cdef jit_options none
    cdef library_module *m = l.modules
    cdef void *loaded = NULL
    cdef int r
    while m != NULL and (m.of != c or m.of_serial != c.head.serial or not is_handle(MODULE, m.loaded)
                         or m.loaded.head.serial != m.loaded_serial):
        m = m.next
    if m != NULL:
        to[0] = m.loaded
        return CUDA_SUCCESS
    if options == NULL:
        memset(&none, 0, sizeof(none))
        options = &none
    r = load_image(c, l.image, options, &loaded)
    if r != CUDA_SUCCESS:
        return r
    m = <library_module *>calloc(1, sizeof(library_module))
    if m == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    m.of, m.of_serial, m.loaded = c, c.head.serial, <module *>loaded
    m.loaded_serial = m.loaded.head.serial
    m.next = l.modules
    l.modules = m
    to[0] = m.loaded
    return CUDA_SUCCESS


cdef int enter_library(void *p, library **to, module **in_context) noexcept nogil:
    """What a call about a library begins with: its module in the current context."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&library_lock)
    if is_handle(LIBRARY, p):
        to[0] = <library *>p
        r = module_of_library(to[0], c, NULL, in_context)
    else:
        r = CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_unlock(&library_lock)
    return r


cdef void free_library(library *l) noexcept nogil:
    """A library that the program does not have any more goes, and its modules in the contexts that there still are.
    With library_lock held."""
    cdef library_module *m = l.modules
    cdef library_module *after
    cdef kernel *k = l.kernels
    cdef kernel *next_kernel
    while m != NULL:
        after = m.next
        if is_handle(MODULE, m.loaded) and m.loaded.head.serial == m.loaded_serial:
            cuModuleUnload(m.loaded)
        free(m)
        m = after
    while k != NULL:
        next_kernel = k.next
        free(k.name)
        free_handle(KERNEL, k)
        k = next_kernel
    free(l.image)
    free_handle(LIBRARY, l)


cdef public int cuLibraryLoadData(void **to, const void *image, int *options, void **values, unsigned n,
                                  int *library_options, void **library_values, unsigned library_n) noexcept nogil:
    """A library of PTX text or of what cuLinkComplete made.  With a current context it is loaded there at once, so that
    its errors are told; else when it is used first.  Library options have no effect: the image is copied."""
    cdef context *c
    cdef library *l
    cdef module *m = NULL
    cdef jit_options o
    cdef double start = now_ms()
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or image == NULL or (n and (options == NULL or values == NULL)):
        return CUDA_ERROR_INVALID_VALUE
    l = <library *>new_handle(LIBRARY)
    if l == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    l.image = copy_image(image)
    if l.image == NULL:
        free_handle(LIBRARY, l)
        return CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_lock(&library_lock)
    if current_context(&c) == CUDA_SUCCESS:
        read_options(&o, n, options, values)
        r = module_of_library(l, c, &o, &m)
        finish_options(&o, now_ms() - start, 1)
    if r != CUDA_SUCCESS:
        bury_handle(LIBRARY, l)
        free_library(l)
    else:
        to[0] = l
    pthread_mutex_unlock(&library_lock)
    return r


cdef public int cuLibraryLoadFromFile(void **to, const char *path, int *options, void **values, unsigned n,
                                      int *library_options, void **library_values,
                                      unsigned library_n) noexcept nogil:
    """A library of a PTX file."""
    cdef size_t size = 0
    cdef char *text
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if path == NULL or to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    text = read_file(path, &size)
    if text == NULL:
        return CUDA_ERROR_FILE_NOT_FOUND
    r = cuLibraryLoadData(to, text, options, values, n, library_options, library_values, library_n)
    free(text)
    return r


cdef public int cuLibraryUnload(void *p) noexcept nogil:
    """Drop a library, its kernels and its modules."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&library_lock)
    if is_handle(LIBRARY, p) and bury_handle(LIBRARY, p):
        free_library(<library *>p)
    else:
        r = CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_unlock(&library_lock)
    return r


cdef public int cuLibraryGetModule(void **to, void *p) noexcept nogil:
    """The library's module in the current context."""
    cdef library *l = NULL
    cdef module *m = NULL
    cdef int r = enter_library(p, &l, &m)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = m
    return CUDA_SUCCESS


cdef public int cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, void *p, const char *name) noexcept nogil:
    """A variable by name, in the current context."""
    cdef library *l = NULL
    cdef module *m = NULL
    cdef int r = enter_library(p, &l, &m)
    return r if r != CUDA_SUCCESS else cuModuleGetGlobal_v2(address, size, m, name)


cdef public int cuLibraryGetManaged(CUdeviceptr *address, size_t *size, void *p, const char *name) noexcept nogil:
    """A managed variable by name; CUDA_ERROR_NOT_FOUND for what is none."""
    cdef CUdeviceptr found = 0
    cdef block *n
    cdef bint good
    cdef int r = cuLibraryGetGlobal(&found, size, p, name)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    n = block_at(found, NULL, NULL)
    good = n != NULL and n.use == MANAGED
    pthread_mutex_unlock(&memory_lock)
    if not good:
        return CUDA_ERROR_NOT_FOUND
    if address != NULL:
        address[0] = found
    return CUDA_SUCCESS


cdef kernel *named_kernel(library *l, const char *name) noexcept nogil:
    """The handle of a kernel that exists: the same each time.  NULL: no memory.  With library_lock held."""
    cdef kernel *k = l.kernels
    while k != NULL and strcmp(k.name, name) != 0:
        k = k.next
    if k != NULL:
        return k
    k = <kernel *>new_handle(KERNEL)
    if k == NULL:
        return NULL
    k.name = <char *>malloc(strlen(name) + 1)
    if k.name == NULL:
        free_handle(KERNEL, k)
        return NULL
    memcpy(k.name, name, strlen(name) + 1)
    k.of = l
    k.next = l.kernels
    l.kernels = k
    return k


cdef public int cuLibraryGetKernel(void **to, void *p, const char *name) noexcept nogil:
    """A kernel by name; CUDA_ERROR_NOT_FOUND if there is none."""
    cdef library *l = NULL
    cdef module *m = NULL
    cdef kernel *k
    cdef void *f = NULL
    cdef int r
    if to == NULL or name == NULL:
        return CUDA_ERROR_INVALID_VALUE
    r = enter_library(p, &l, &m)
    if r == CUDA_SUCCESS:
        r = cuModuleGetFunction(&f, m, name)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&library_lock)
    k = named_kernel(l, name) if is_handle(LIBRARY, p) else NULL
    pthread_mutex_unlock(&library_lock)
    if k == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    to[0] = k
    return CUDA_SUCCESS


cdef public int cuLibraryGetKernelCount(unsigned *count, void *p) noexcept nogil:
    """How many kernels a library has."""
    cdef library *l = NULL
    cdef module *m = NULL
    cdef size_t there = 0
    cdef int r = CUDA_ERROR_INVALID_VALUE if count == NULL else enter_library(p, &l, &m)
    if r == CUDA_SUCCESS:
        r = kernels_of(m, NULL, 0, &there)
    if r == CUDA_SUCCESS:
        count[0] = <unsigned>there
    return r


cdef public int cuLibraryEnumerateKernels(void **kernels, unsigned room, void *p) noexcept nogil:
    """A library's kernels, up to that many."""
    cdef library *l = NULL
    cdef module *m = NULL
    cdef size_t count = 0, i
    cdef char *names = NULL
    cdef const char *name
    cdef int r = CUDA_ERROR_INVALID_VALUE if kernels == NULL and room else enter_library(p, &l, &m)
    if r == CUDA_SUCCESS:
        r = named_kernels(m, room, &names, &count)
    name = names
    for i in range(count if r == CUDA_SUCCESS else 0):
        if r == CUDA_SUCCESS:
            r = cuLibraryGetKernel(&kernels[i], p, name)
        name += strlen(name) + 1
    free(names)
    return r


cdef int function_of_kernel(void **p, context *c) noexcept nogil:
    """A kernel's function in a context, in its place; anything else stays as it is."""
    cdef kernel *k = <kernel *>p[0]
    cdef module *m = NULL
    cdef int r
    if not is_handle(KERNEL, k):
        return CUDA_SUCCESS
    pthread_mutex_lock(&library_lock)
    r = module_of_library(k.of, c, NULL, &m) if is_handle(KERNEL, k) else CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_unlock(&library_lock)
    return r if r != CUDA_SUCCESS else find_function(m, k.name, p)


cdef public int cuKernelGetFunction(void **to, void *p) noexcept nogil:
    """A kernel's function in the current context."""
    cdef context *c
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(KERNEL, p):
        return CUDA_ERROR_INVALID_HANDLE
    r = function_of_kernel(&p, c)
    if r == CUDA_SUCCESS:
        to[0] = p
    return r


cdef public int cuKernelGetLibrary(void **to, void *p) noexcept nogil:
    """The library that a kernel is of."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(KERNEL, p):
        return CUDA_ERROR_INVALID_HANDLE
    to[0] = (<kernel *>p).of
    return CUDA_SUCCESS


cdef public int cuKernelGetName(const char **to, void *p) noexcept nogil:
    """A kernel's name."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if not is_handle(KERNEL, p):
        return CUDA_ERROR_INVALID_HANDLE
    to[0] = (<kernel *>p).name
    return CUDA_SUCCESS
