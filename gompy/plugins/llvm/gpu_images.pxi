# Images by clang for GPUs: LLVM's plugin takes machine code; PTX is made to look like such, for the emulated driver.

from libc.string cimport memcpy


cdef bint as_machine_code(const GpuObject *object, const char **start, const char **end) noexcept nogil:
    """The bytes that LLVM's plugin gets, for as long as the program runs."""
    cdef char *wrapped
    start[0] = object.code
    end[0] = object.code + object.size
    if object.code[0] == c'\x7f':
        return True
    wrapped = <char *> malloc(GOMPY_WRAPPED_PTX_HEAD + object.size)
    if wrapped == NULL:
        return False
    gompy_wrap_ptx(wrapped)
    memcpy(wrapped + GOMPY_WRAPPED_PTX_HEAD, object.code, object.size)
    start[0] = wrapped
    end[0] = wrapped + GOMPY_WRAPPED_PTX_HEAD + object.size
    return True


cdef void list_gpu_entries(LoadedBinary *loaded, const GpuImage *image) noexcept nogil:
    """What is asked of it: functions, then variables."""
    cdef size_t functions = image.num_functions
    cdef size_t i
    for i in range(functions):
        loaded.entries[i].name = <char *> image.functions[i].name
    for i in range(image.num_variables):
        loaded.entries[functions + i].name = <char *> image.variables[i]
        loaded.entries[functions + i].size = image.places[2 * i + 1]
    for i in range(functions + image.num_variables):
        loaded.entries[i].address = &loaded.entries[i]  # the host's: any that is not NULL


cdef int load_gpu_image(int n, const GpuImage *image, AddrPair **pairs) noexcept nogil:
    """An image for GPUs; the number of its addresses, -1 after a message."""
    cdef size_t count = <size_t> image.num_functions + image.num_variables
    cdef const char *start
    cdef const char *end
    cdef LoadedBinary *loaded = NULL
    cdef size_t i
    if image.num_functions == 0 or image.functions[0].dims[0] != KERNEL_BY_CLANG:
        GOMP_PLUGIN_error(b"device %d (llvm): regions by gcc need stacks that LLVM's plugin does not give them; "
                          b"GOMPY_PLUGINS=nvptx runs them", n)
        return -1
    if as_machine_code(image.objects, &start, &end):
        loaded = new_binary(start, end, count)
    if loaded == NULL:
        return -1
    list_gpu_entries(loaded, image)
    if not ask_for(n, loaded):
        GOMP_PLUGIN_error(b"device %d (llvm): LLVM's plugin cannot load an image for GPUs", n)
        return -1
    pairs[0] = <AddrPair *> GOMP_PLUGIN_malloc((count + 1) * sizeof(AddrPair))
    for i in range(count):
        pairs[0][i].start = <uintptr_t> where_is(loaded, &loaded.entries[i])
        pairs[0][i].end = pairs[0][i].start + (loaded.entries[i].size if i >= image.num_functions else 1)
        if pairs[0][i].start == 0:
            GOMP_PLUGIN_error(b"device %d (llvm): the image has no %s", n, loaded.entries[i].name)
            return -1
    return <int> count
