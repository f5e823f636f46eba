# Images by clang, loaded into the program itself.

cdef struct SharedImage:
    SharedImage *next
    const void *data
    void *handle
    int fd  # what it was loaded from: debuggers open it again

cdef SharedImage *shared_images
cdef extern from *:
    """
    static pthread_mutex_t shared_images_mutex = PTHREAD_MUTEX_INITIALIZER;
    """
    pthread_mutex_t shared_images_mutex


cdef void *open_image(const mic_target_data *data, int *fd) noexcept nogil:
    """The handle of an image; NULL after a message."""
    cdef char path[64]
    cdef void *handle = NULL
    cdef const char *why
    fd[0] = file_in_memory(data.image_start, <size_t> (data.image_end - data.image_start))
    if fd[0] < 0:
        why = strerror(errno)
    else:
        snprintf(path, sizeof(path), b"/proc/%d/fd/%d", <int> getpid(), fd[0])
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)
        if handle != NULL:
            return handle
        why = dlerror()
        close(fd[0])
    GOMP_PLUGIN_error(b"device (shared): cannot load %s: %s", data.name, why)
    return NULL


cdef int look_names_up(const mic_target_data *data, void *handle, AddrPair *pairs) noexcept nogil:
    """Find an image's functions and variables; the last function is the one that calls kernels.  -1: one is absent."""
    cdef const mic_symbol *symbols = <const mic_symbol *> data.objects
    cdef uint64_t i
    for i in range(data.num_objects):
        pairs[i].start = <uintptr_t> symbol_of_image(handle, symbols[i].name)
        pairs[i].end = pairs[i].start + (symbols[i].size if i >= data.image_funcs else 1)
        if pairs[i].start == 0 and i >= data.image_funcs:
            GOMP_PLUGIN_error(b"device (shared): cannot load %s: it has no variable %s", data.name, symbols[i].name)
            return -1
    pairs[data.image_funcs - 1].start = <uintptr_t> call_kernel
    pairs[data.image_funcs - 1].end = pairs[data.image_funcs - 1].start + 1
    return 0


cdef public int GOMP_OFFLOAD_load_image(int n, unsigned version, const void *target_data,
                                        AddrPair **table) noexcept nogil:
    """Load an image by clang; gcc's programs have none for the host.  The number of its addresses, -1: failed."""
    global shared_images
    cdef mic_target_data *data = <mic_target_data *> target_data
    cdef SharedImage *image
    if symbols_of(data, version) == NULL:
        GOMP_PLUGIN_error(b"device %d (shared): an image for the host itself", n)
        return -1
    image = <SharedImage *> calloc(1, sizeof(SharedImage))
    if image == NULL:
        GOMP_PLUGIN_error(b"device %d (shared): out of memory", n)
        return -1
    table[0] = <AddrPair *> GOMP_PLUGIN_malloc((data.num_objects + 1) * sizeof(AddrPair))
    image.data = target_data
    image.handle = open_image(data, &image.fd)
    if image.handle == NULL or look_names_up(data, image.handle, table[0]):
        if image.handle != NULL:
            dlclose(image.handle)
            close(image.fd)
        free(table[0])
        free(image)
        return -1
    pthread_mutex_lock(&shared_images_mutex)
    image.next = shared_images
    shared_images = image
    pthread_mutex_unlock(&shared_images_mutex)
    return <int> data.num_objects


cdef public c_bool GOMP_OFFLOAD_unload_image(int n, unsigned version, const void *target_data) noexcept nogil:
    """Drop an image."""
    cdef SharedImage **at = &shared_images
    cdef SharedImage *image
    pthread_mutex_lock(&shared_images_mutex)
    while at[0] != NULL and at[0].data != target_data:
        at = &at[0].next
    image = at[0]
    if image != NULL:
        at[0] = image.next
    pthread_mutex_unlock(&shared_images_mutex)
    if image == NULL:
        return False
    dlclose(image.handle)
    close(image.fd)
    free(image)
    return True
