# A module of checked code may have a twin: the same functions without checks, over the same variables.
#
# `gompy run --check` bounds what checks take of a program's time (executor.h, ptx_unchecked), so launches of one kernel
# take either code.  What one writes the other reads: variables have one address, and so have functions, which may lie
# in memory.  That is the descriptor of the checked module; a call goes by its number (number_of_function).

cdef pthread_mutex_t twins_lock         # zero: PTHREAD_MUTEX_INITIALIZER


cdef ptx_module *make_twin(ptx_module *module) noexcept nogil:
    """NULL, without a word, if there is no memory or the compiler fails: checked code is as right."""
    cdef ptx_module *twin = <ptx_module *> calloc(1, sizeof(ptx_module))
    cdef ptx_image *image = <ptx_image *> calloc(1, sizeof(ptx_image))
    cdef text_buffer log
    cdef cache c
    cdef int result
    if twin == NULL or image == NULL:
        free(twin)
        free(image)
        return NULL
    image[0] = module.image[0]  # all that it points to is the other's
    image.check = 0
    twin.image, twin.memory, twin.addresses, twin.named = image, module.memory, module.addresses, module.descriptors
    if not make_descriptors(twin):
        drop_twin(twin)
        return NULL
    log.data, log.size, log.used = NULL, 0, 0
    pthread_mutex_lock(&gompy_compile_lock)
    open_cache(&c)
    result = need_forms(image, &c, &log)
    if result == 0:
        load_forms(twin, &c)
    close_cache(&c)
    pthread_mutex_unlock(&gompy_compile_lock)
    if result:
        drop_twin(twin)
        return NULL
    return twin


cdef public ptx_function *ptx_unchecked(ptx_function *function) noexcept nogil:
    """executor.h."""
    cdef ptx_module *module = <ptx_module *> function.module
    if not module.image.check or module.image.check & PTX_CHECK_RACE:
        return NULL
    pthread_mutex_lock(&twins_lock)
    if module.twin == NULL and not module.twin_failed:
        module.twin = make_twin(module)
        module.twin_failed = module.twin == NULL
    pthread_mutex_unlock(&twins_lock)
    return &module.twin.descriptors[function - module.descriptors] if module.twin != NULL else NULL
