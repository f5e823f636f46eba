# The PTX executor, a library of its own (gompy/ptx), loaded when the first PTX comes.

from gompy.native.ptx_executor cimport (
    PTX_CHECK_INIT, PTX_CHECK_MEMORY, PTX_CHECK_RACE, PTX_CHECK_SYNC,
    ptx_attributes, ptx_error, ptx_function, ptx_image,
    PTX_HOST_RANGES, PTX_ORDER_STREAMS, PTX_WHOLE_ALLOCATED, PTX_WHOLE_LOOKER,
    PTX_WHOLE_SHIFT, PTX_WHOLE_WRITTEN,
    ptx_host_ranges, ptx_launch_config, ptx_memory, ptx_module, ptx_object, ptx_order,
    ptx_texture, ptx_texture_halve,
    PTX_TEXTURE_CLAMP, PTX_TEXTURE_FLOAT, PTX_TEXTURE_HALF, PTX_TEXTURE_INTEGERS, PTX_TEXTURE_LAYERS,
    PTX_TEXTURE_LEVEL, PTX_TEXTURE_LEVELS, PTX_TEXTURE_LINEAR_MEMORY,
    PTX_TEXTURE_MAGIC, PTX_TEXTURE_NORMALIZED, PTX_TEXTURE_ROW, PTX_TEXTURE_S16, PTX_TEXTURE_S32, PTX_TEXTURE_S8,
    PTX_TEXTURE_SURFACE, PTX_TEXTURE_U16,
    PTX_TEXTURE_U32, PTX_TEXTURE_U8,
)

cdef struct executor:
    int (*link)(const ptx_object *objects, size_t n, unsigned check, ptx_image **image, char *log,
                size_t log_size) noexcept nogil
    void (*image_free)(ptx_image *image) noexcept nogil
    int (*load)(ptx_image *image, const ptx_memory *memory, ptx_module **module, ptx_error *failure) noexcept nogil
    void (*unload)(ptx_module *module) noexcept nogil
    int (*find_function)(ptx_module *module, const char *name, ptx_function **function) noexcept nogil
    size_t (*kernels)(ptx_module *module, ptx_function **functions, size_t room) noexcept nogil
    const char *(*name)(const ptx_function *function) noexcept nogil
    int (*find_variable)(ptx_module *module, const char *name, uint64_t *address, uint64_t *size) noexcept nogil
    int (*attributes)(const ptx_function *function, ptx_attributes *to) noexcept nogil
    int (*param)(const ptx_function *function, uint32_t index, uint64_t *offset, uint64_t *size) noexcept nogil
    ptx_function *(*unchecked)(ptx_function *function) noexcept nogil
    int (*launch)(ptx_function *function, const ptx_launch_config *config, ptx_error *failure) noexcept nogil
    void (*note)(const ptx_memory *memory, const ptx_order *order, uint64_t asker, const char *what, uint64_t address,
                 uint64_t size, uint64_t rows, uint64_t pitch, int writes) noexcept nogil

cdef executor ptx
cdef int executor_answer      # 0 not tried, 1 loaded, -1 failed


cdef bint own_folder(char *to, size_t size) noexcept nogil:
    """The folder that this library lies in, with a slash."""
    cdef Dl_info info
    cdef const char *end
    if dladdr(<void *>own_folder, &info) == 0 or info.dli_fname == NULL:
        return False
    end = strrchr(info.dli_fname, 47)
    if end == NULL or <size_t>(end + 1 - info.dli_fname) >= size:
        return False
    memcpy(to, info.dli_fname, end + 1 - info.dli_fname)
    to[end + 1 - info.dli_fname] = 0
    return True


cdef void *executor_symbol(void *library, const char *name) noexcept nogil:
    """One of the executor's functions; a message if it is missing."""
    cdef void *p = dlsym(library, name)
    if p == NULL:
        fprintf(stderr, b"libcuda (gompy): error: the PTX executor lacks %s: reinstall gompy\n", name)
    return p


cdef bint need_executor() noexcept nogil:
    """Load the executor, once.  False after a message if it can't be had."""
    global executor_answer
    cdef char path[4096]
    cdef void *library
    cdef int answer = -1
    if executor_answer == 0:  # without a lock: who has it would wait for the loader's; others write the same
        if own_folder(path, sizeof(path) - 64):
            memcpy(path + strlen(path), EXECUTOR, strlen(EXECUTOR) + 1)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL)
            if library == NULL:
                fprintf(stderr, b"libcuda (gompy): error: no PTX executor: %s\n", dlerror())
            else:
                ptx.link = <int (*)(const ptx_object *, size_t, unsigned, ptx_image **, char *,
                                    size_t) noexcept nogil>executor_symbol(library, b"ptx_link")
                ptx.image_free = <void (*)(ptx_image *) noexcept nogil>executor_symbol(library, b"ptx_image_free")
                ptx.load = <int (*)(ptx_image *, const ptx_memory *, ptx_module **,
                                    ptx_error *) noexcept nogil>executor_symbol(library, b"ptx_load")
                ptx.unload = <void (*)(ptx_module *) noexcept nogil>executor_symbol(library, b"ptx_unload")
                ptx.find_function = <int (*)(ptx_module *, const char *,
                                             ptx_function **) noexcept nogil>executor_symbol(library,
                                                     b"ptx_find_function")
                ptx.kernels = <size_t (*)(ptx_module *, ptx_function **,
                                          size_t) noexcept nogil>executor_symbol(library, b"ptx_kernels")
                ptx.name = <const char *(*)(const ptx_function *) noexcept nogil>executor_symbol(library,
                                                                                                b"ptx_function_name")
                ptx.find_variable = <int (*)(ptx_module *, const char *, uint64_t *,
                                             uint64_t *) noexcept nogil>executor_symbol(library, b"ptx_find_variable")
                ptx.attributes = <int (*)(const ptx_function *,
                                          ptx_attributes *) noexcept nogil>executor_symbol(library,
                                                  b"ptx_function_attributes")
                ptx.param = <int (*)(const ptx_function *, uint32_t, uint64_t *,
                                     uint64_t *) noexcept nogil>executor_symbol(library, b"ptx_function_param")
                ptx.unchecked = <ptx_function *(*)(ptx_function *) noexcept nogil>executor_symbol(library,
                                                                                                 b"ptx_unchecked")
                ptx.launch = <int (*)(ptx_function *, const ptx_launch_config *,
                                      ptx_error *) noexcept nogil>executor_symbol(library, b"ptx_launch")
                ptx.note = <void (*)(const ptx_memory *, const ptx_order *, uint64_t, const char *, uint64_t, uint64_t,
                                     uint64_t, uint64_t,
                                     int) noexcept nogil>executor_symbol(library, b"ptx_note_access")
                if (
                    ptx.link != NULL and ptx.image_free != NULL and ptx.load != NULL and ptx.unload != NULL
                    and ptx.find_function != NULL and ptx.find_variable != NULL and ptx.attributes != NULL
                    and ptx.kernels != NULL and ptx.name != NULL and ptx.param != NULL and ptx.launch != NULL
                    and ptx.note != NULL and ptx.unchecked != NULL
                ):
                    answer = 1
        if answer == 1 or executor_answer == 0:  # another thread may have had better luck
            executor_answer = answer
    return executor_answer == 1
