# Loading: an image in a device's memory, and what its functions and variables are asked for.

cdef int place_variables(ptx_module *module, text_buffer *log) noexcept nogil:
    """Memory and initial bytes for every .global and .const variable."""
    cdef char text[1024]
    cdef ptx_image *image = module.image
    cdef const ptx_memory *memory = module.memory
    cdef size_t i
    cdef uint32_t n, k
    cdef obj *o
    cdef variable_record *v
    cdef reloc_record *relocs
    cdef uint64_t address
    cdef bint found
    for i in range(image.nobjects):
        o = &image.objects[i]
        for n in range(o.nvariables):
            v = variable_of(o, n)
            if v.space == SPACE_SHARED or v.linkage == LINKAGE_EXTERN:
                continue
            address = memory.alloc_variable(memory.user, v.size if v.size else 1, v.align, string_of(o.index, v.name),
                                            v.managed)
            if address == 0:
                log_text(log, "out of device memory for the module's variables")
                return PTX_ERROR_OUT_OF_MEMORY
            module.addresses[o.first_variable + n] = address
            if v.data:
                memcpy(<void *> <uintptr_t> address, section_of(o.index, SECTION_DATA) + v.data - 1, v.data_bytes)
            memset(<void *> <uintptr_t> (address + v.data_bytes), 0, v.size - v.data_bytes)
            if image.check:
                memset(memory.shadow + (address - memory.base), SHADOW_WRITTEN, v.size)
    for i in range(image.nobjects):
        o = &image.objects[i]
        relocs = <reloc_record *> section_of(o.index, SECTION_RELOCS)
        for n in range(o.nvariables):
            v = variable_of(o, n)
            if v.linkage == LINKAGE_EXTERN:
                continue
            for k in range(v.first_reloc, v.first_reloc + v.relocs):
                address = symbol_value(module, <uint32_t> i, string_of(o.index, relocs[k].name),
                                       &found) + relocs[k].addend
                if not found:
                    snprintf(text, sizeof(text), "the initial value of '%s' names '%s', which is not defined",
                             string_of(o.index, v.name),
                             string_of(o.index, relocs[k].name))
                    log_text(log, text)
                    return PTX_ERROR_SYMBOL_NOT_FOUND
                memcpy(<void *> <uintptr_t> (module.addresses[o.first_variable + n] + relocs[k].offset), &address, 8)
    return 0


cdef void *builtin_code(uint32_t number) noexcept nogil:
    """One of the driver's own functions."""
    if number == BUILTIN_VPRINTF:
        return <void *> call_vprintf
    if number == BUILTIN_MALLOC:
        return <void *> call_malloc
    if number == BUILTIN_FREE:
        return <void *> call_free
    return <void *> call_assertfail


cdef bint make_descriptors(ptx_module *m) noexcept nogil:
    """A descriptor for each function, whose code is not loaded yet.  False: no memory."""
    cdef ptx_image *image = m.image
    cdef size_t i, count = image.nfunctions + BUILTIN_COUNT + 1  # the last one: functions that are not defined
    cdef uint32_t n
    cdef obj *o
    cdef descriptor *d
    cdef int form
    m.descriptors = <descriptor *> calloc(count, sizeof(descriptor))
    if m.descriptors == NULL:
        return False
    for i in range(count):
        d = &m.descriptors[i]
        d.code[FORM_S], d.code[FORM_V], d.code[FORM_E] = <void *> stub_s, <void *> stub_v, <void *> stub_e
        d.code[FORM_W], d.code[FORM_X] = <void *> stub_w, <void *> stub_x
    for i in range(image.nobjects):
        o = &image.objects[i]
        for n in range(o.nfunctions):
            d = &m.descriptors[o.first_function + n]
            d.module, d.name, d.object, d.number = m, string_of(o.index, function_of(o, n).name), <uint32_t> i, n
    for n in range(BUILTIN_COUNT):
        d = &m.descriptors[image.nfunctions + n]
        d.module = m
        d.name = gompy_builtins[n]
        for form in range(FORM_COUNT):
            d.code[form] = builtin_code(n)
    return True


cdef void load_forms(ptx_module *m, cache *c) noexcept nogil:
    """The code of all objects, as far as it is there."""
    cdef char file[160]
    cdef size_t i
    cdef int form
    for i in range(m.image.nobjects):
        for form in range(FORM_COUNT):
            if form == FORM_S or form == FORM_E:
                function_file(file, sizeof(file), m.image.objects[i].key, form, "", code_kind(m.image))
                load_parts(c, m, <uint32_t> i, file)


cdef public int ptx_load(ptx_image *image, const ptx_memory *memory, ptx_module **module,
                         ptx_error *failure) noexcept nogil:
    """executor.h."""
    cdef ptx_module *m
    cdef int result
    cdef cache c
    cdef text_buffer log
    if failure != NULL:
        memset(failure, 0, sizeof(ptx_error))
    if image == NULL or memory == NULL or module == NULL or \
            (image.check and (memory.shadow == NULL or memory.states == NULL)):
        return PTX_ERROR_INVALID_VALUE
    log.data, log.size, log.used = NULL, 0, 0
    if failure != NULL:
        log.data, log.size = failure.message, sizeof(failure.message)
    module[0] = NULL
    m = <ptx_module *> calloc(1, sizeof(ptx_module))
    if m == NULL:
        return no_memory(&log)
    m.image, m.memory = image, memory
    gompy_increment(&image.references, 1)
    m.addresses = <uint64_t *> calloc(image.nvariables + 1, sizeof(uint64_t))
    if image.check:
        m.found = <findings *> calloc(1, sizeof(findings))
    if m.addresses == NULL or not make_descriptors(m) or (image.check and m.found == NULL):
        ptx_unload(m)
        return no_memory(&log)
    m.named = m.descriptors
    if image.check:
        pthread_mutex_init(&m.found.lock, NULL)
    result = place_variables(m, &log)
    if result:
        ptx_unload(m)
        if failure != NULL:
            failure.code = result
        return result
    if image.check & PTX_CHECK_RACE:
        ptx_find_variable(m, "gomp_managed_threads", &m.found.counter, NULL)
    open_cache(&c)
    load_forms(m, &c)
    close_cache(&c)
    module[0] = m
    return PTX_SUCCESS


cdef void drop_units(ptx_module *module) noexcept nogil:
    """Free a module's code."""
    cdef code_unit *unit = module.units
    cdef code_unit *following
    while unit != NULL:
        following = unit.next
        gompy_jit_drop(unit.memory)
        munmap(unit.memory, unit.bytes)
        free(unit)
        unit = following


cdef void drop_twin(ptx_module *twin) noexcept nogil:
    """Free what a twin has of its own (twins.pxi); the rest is its module's."""
    drop_units(twin)
    free(twin.descriptors)
    free(twin.image)
    free(twin)


cdef public void ptx_unload(ptx_module *module) noexcept nogil:
    """executor.h."""
    cdef uint32_t n
    if module == NULL:
        return
    if module.image.check & PTX_CHECK_RACE:
        forget_races()
    if module.twin != NULL:
        drop_twin(module.twin)
    drop_units(module)
    for n in range(module.image.nvariables if module.addresses != NULL else 0):
        if module.addresses[n]:
            module.memory.free_variable(module.memory.user, module.addresses[n])
    free(module.found)
    free(module.addresses)
    free(module.descriptors)
    drop_image(module.image)
    free(module)


cdef public int ptx_find_function(ptx_module *module, const char *name, ptx_function **function) noexcept nogil:
    """executor.h."""
    cdef symbol *slot
    cdef obj *o
    if module == NULL or name == NULL or function == NULL:
        return PTX_ERROR_INVALID_VALUE
    slot = find_symbol(module.image, name)
    if slot.name == NULL or not slot.function:
        return PTX_ERROR_NOT_FOUND
    o = &module.image.objects[slot.object]
    function[0] = &module.descriptors[function_numbered(o, slot.number)]
    return PTX_SUCCESS


cdef public size_t ptx_kernels(ptx_module *module, ptx_function **functions, size_t room) noexcept nogil:
    """executor.h."""
    cdef obj *o
    cdef symbol *slot
    cdef descriptor *d
    cdef size_t count = 0, i
    cdef uint32_t n
    for i in range(module.image.nobjects):
        o = &module.image.objects[i]
        for n in range(o.nfunctions):
            d = &module.descriptors[o.first_function + n]
            slot = find_symbol(module.image, d.name) if function_of(o, n).entry else NULL
            if slot == NULL or slot.name == NULL or not slot.function or slot.object != i or slot.number != n:
                continue  # another object's is meant by the name
            if count < room:
                functions[count] = d
            count += 1
    return count


cdef public int ptx_find_variable(ptx_module *module, const char *name, uint64_t *address,
                                  uint64_t *size) noexcept nogil:
    """executor.h."""
    cdef symbol *slot
    cdef obj *o
    cdef uint32_t n
    cdef variable_record *v
    cdef size_t i
    if module == NULL or name == NULL:
        return PTX_ERROR_INVALID_VALUE
    slot = find_symbol(module.image, name)
    if slot.name != NULL and not slot.function:
        o = &module.image.objects[slot.object]
        v = variable_of(o, slot.number)
        if v.space != SPACE_SHARED:
            if address != NULL:
                address[0] = module.addresses[o.first_variable + slot.number]
            if size != NULL:
                size[0] = v.size
            return PTX_SUCCESS
    # A variable that is not .visible: GCC maps static ones of the program, whose names are not shared.
    for i in range(module.image.nobjects):
        o = &module.image.objects[i]
        n = o.names[own_slot(o, name)]
        if n and not n & GOMPY_FUNCTION_BIT and variable_of(o, n - 1).space != SPACE_SHARED:
            if address != NULL:
                address[0] = module.addresses[o.first_variable + n - 1]
            if size != NULL:
                size[0] = variable_of(o, n - 1).size
            return PTX_SUCCESS
    return PTX_ERROR_NOT_FOUND


cdef public const char *ptx_function_name(const ptx_function *function) noexcept nogil:
    """executor.h."""
    return function.name


cdef public int ptx_function_attributes(const ptx_function *function, ptx_attributes *attributes) noexcept nogil:
    """executor.h.  Registers: 32 a thread, since nothing here is limited by them."""
    cdef ptx_module *module = <ptx_module *> function.module
    cdef obj *o = &module.image.objects[function.object]
    cdef function_record *f = function_of(o, function.number)
    memset(attributes, 0, sizeof(ptx_attributes))
    attributes.max_threads_per_block = f.max_threads if f.max_threads else 1024
    attributes.registers = 32
    attributes.shared_bytes = module.image.kernel_shared[function_place(module.image, function)]
    attributes.const_bytes = module.image.const_bytes
    attributes.local_bytes = f.local_bytes
    attributes.param_bytes = f.param_bytes
    attributes.num_params = f.params
    attributes.ptx_version = o.info.version
    return PTX_SUCCESS


cdef public int ptx_function_param(const ptx_function *function, uint32_t index, uint64_t *offset,
                                   uint64_t *size) noexcept nogil:
    """executor.h."""
    cdef ptx_module *module = <ptx_module *> function.module
    cdef obj *o = &module.image.objects[function.object]
    cdef function_record *f = function_of(o, function.number)
    cdef param_record *p = <param_record *> section_of(o.index, SECTION_PARAMS) + f.first_param + index
    if index >= f.params:
        return PTX_ERROR_INVALID_VALUE
    if offset != NULL:
        offset[0] = p.offset
    if size != NULL:
        size[0] = p.size
    return PTX_SUCCESS
