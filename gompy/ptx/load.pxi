# Loading: an image in a device's memory.  Code is mapped from the cache; what is not there is compiled when it is first called.

cdef uint64_t symbol_value(ptx_module *module, uint32_t object, const char *name, bint *found) noexcept nogil:
    """What a name means in an object: the generic address of a variable, or a function's descriptor."""
    cdef ptx_image *image = module.image
    cdef obj *o = &image.objects[object]
    cdef uint32_t entry = o.names[own_slot(o, name)], number
    cdef symbol *slot
    cdef int builtin
    cdef bint function = False
    found[0] = True
    if entry:
        function = (entry & GOMPY_FUNCTION_BIT) != 0
        number = (entry & ~GOMPY_FUNCTION_BIT) - 1
        if not function and variable_of(o, number).linkage == LINKAGE_EXTERN:
            return SHARED_BASE + image.shared_bytes  # dynamic shared memory
    else:
        slot = find_symbol(image, name)
        if slot.name == NULL:
            builtin = builtin_number(name)
            if builtin >= 0:
                return <uint64_t> <uintptr_t> &module.descriptors[image.nfunctions + builtin]
            found[0] = False
            return 0
        o = &image.objects[slot.object]
        function, number = slot.function, slot.number
    if function:
        return <uint64_t> <uintptr_t> &module.descriptors[o.first_function + number]
    if variable_of(o, number).space == SPACE_SHARED:
        return SHARED_BASE + image.shared_offset[o.first_variable + number]
    return module.addresses[o.first_variable + number]


cdef char *map_text(file_head *head, int fd, size_t *text, size_t *table) noexcept nogil:
    """A code file's text, executable, with room for its link words behind; NULL without memory.  Closes fd, -1 if there is none."""
    cdef size_t nlinks = head.section[SECTION_LINKS].bytes // sizeof(link_record)
    cdef char *memory
    text[0] = (head.section[SECTION_TEXT].bytes + PAGE - 1) // PAGE * PAGE
    table[0] = (nlinks * 8 + PAGE - 1) // PAGE * PAGE
    memory = <char *> mmap(NULL, text[0] + table[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    if gompy_is_map_failed(memory):
        if fd >= 0:
            close(fd)
        return NULL
    if text[0]:
        if fd < 0 or gompy_is_map_failed(
            mmap(memory, text[0], PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, head.section[SECTION_TEXT].offset)
        ):
            # No file, or no such mapping allowed here (noexec): a copy.
            memcpy(memory, section_of(head, SECTION_TEXT), head.section[SECTION_TEXT].bytes)
            mprotect(memory, text[0], PROT_READ | PROT_EXEC)
    if fd >= 0:
        close(fd)
    return memory


cdef code_unit *load_code(cache *c, ptx_module *module, uint32_t object, const char *file) noexcept nogil:
    """Map a code file for a module, fill its link words, enter its functions.  NULL if there is no such file."""
    cdef int fd = -1
    cdef file_head *head = map_file(c, file, KIND_CODE, &fd)
    cdef link_record *links
    cdef code_record *codes
    cdef size_t nlinks, ncodes, text, table, i
    cdef char *memory
    cdef uint64_t *words
    cdef code_unit *unit
    cdef const char *name
    cdef obj *o = &module.image.objects[object]
    cdef uint32_t entry
    cdef bint found
    if head == NULL:
        return NULL
    links = <link_record *> section_of(head, SECTION_LINKS)
    codes = <code_record *> section_of(head, SECTION_CODE)
    nlinks = head.section[SECTION_LINKS].bytes // sizeof(link_record)
    ncodes = head.section[SECTION_CODE].bytes // sizeof(code_record)
    memory = map_text(head, fd, &text, &table)
    if memory == NULL:
        unmap_file(head)
        return NULL
    unit = <code_unit *> calloc(1, sizeof(code_unit))
    if unit == NULL:
        munmap(memory, text + table)
        unmap_file(head)
        return NULL
    unit.module, unit.object, unit.memory, unit.bytes, unit.text_bytes = module, object, memory, text + table, text
    unit.parts = head.parts
    words = <uint64_t *> (memory + text)
    for i in range(nlinks):
        name = string_of(head, links[i].name)
        if links[i].kind == LINK_UNIT:
            words[i] = <uint64_t> <uintptr_t> unit
        elif links[i].kind == LINK_HOST and strncmp(name, b"gompy_slow_", 11) == 0:
            words[i] = slow_function(c, name, False)
        elif links[i].kind == LINK_HOST and strncmp(name, b"gompy_check_", 12) == 0:
            words[i] = slow_function(c, name, True)
        elif links[i].kind == LINK_HOST:
            words[i] = <uint64_t> <uintptr_t> dlsym(RTLD_DEFAULT, name)
            if words[i] == 0:
                words[i] = host_function(name)
        else:
            words[i] = symbol_value(module, object, name, &found)
            if not found and links[i].kind == LINK_FUNCTION:
                words[i] = <uint64_t> <uintptr_t> &module.descriptors[module.image.nfunctions + BUILTINS]
    unit.next = module.units
    module.units = unit
    for i in range(ncodes):
        entry = o.names[own_slot(o, string_of(head, codes[i].name))]
        if entry & GOMPY_FUNCTION_BIT and codes[i].version < FORMS:
            gompy_publish(
                &module.descriptors[o.first_function + (entry & ~GOMPY_FUNCTION_BIT) - 1].code[codes[i].version],
                memory + codes[i].offset,
            )
    unmap_file(head)
    return unit


cdef struct shared_code:                # the functions of SLOW_FILE, loaded once for the process
    const char *names[16]
    uint64_t places[16]
    size_t count

cdef shared_code[2] shared              # without and with checks
cdef pthread_mutex_t shared_lock        # zero: PTHREAD_MUTEX_INITIALIZER


cdef bint load_shared(cache *c, const char *file, shared_code *code) noexcept nogil:
    """Load the functions that all code files share; False if there is no such file."""
    cdef int fd = -1
    cdef file_head *head = map_file(c, file, KIND_CODE, &fd)
    cdef code_record *codes
    cdef size_t text, table, i, count
    cdef char *memory
    if head == NULL:
        return False
    memory = map_text(head, fd, &text, &table)
    if memory == NULL:
        unmap_file(head)
        return False
    codes = <code_record *> section_of(head, SECTION_CODE)
    count = head.section[SECTION_CODE].bytes // sizeof(code_record)
    for i in range(count if count < 16 else 16):
        code.names[i] = string_of(head, codes[i].name)  # stays mapped
        code.places[i] = <uint64_t> <uintptr_t> (memory + codes[i].offset)
    code.count = count if count < 16 else 16
    return True


cdef void no_shared(gompy_warp *w, uint32_t mask) noexcept nogil:
    """In place of a shared function that is not there."""
    stop(w, mask, PTX_ERROR_JIT_COMPILER_NOT_FOUND, 0, NULL, 0, "the PTX compiler left no result")


cdef uint64_t slow_function(cache *c, const char *name, bint checked) noexcept nogil:
    """A function that code files share, of the file in the same folder; the compiler makes that if it is not there."""
    cdef const char *file = <const char *> SLOW_FILE_CHECKED if checked else <const char *> SLOW_FILE
    cdef text_buffer log
    cdef uint64_t result = 0
    cdef size_t i
    cdef shared_code *code = &shared[checked]
    pthread_mutex_lock(&shared_lock)
    if code.count == 0:
        if not load_shared(c, file, code):
            log.data, log.size, log.used = NULL, 0, 0
            run_compiler(c, "slow checked\n" if checked else "slow\n", 13 if checked else 5, &log)
            load_shared(c, file, code)
    for i in range(code.count):
        if strcmp(code.names[i], name) == 0:
            result = code.places[i]
    pthread_mutex_unlock(&shared_lock)
    return result if result else <uint64_t> <uintptr_t> &no_shared


cdef void load_parts(cache *c, ptx_module *module, uint32_t object, const char *file) noexcept nogil:
    """Map an object's code file and those that belong to it."""
    cdef char other[200]
    cdef code_unit *unit = load_code(c, module, object, file)
    cdef uint32_t i, parts = unit.parts if unit != NULL else 0
    for i in range(parts):
        snprintf(other, sizeof(other), "%s+%u", file, i + 1)
        load_code(c, module, object, other)


cdef extern from "<math.h>" nogil:
    double fma(double, double, double) noexcept
    float fmaf(float, float, float) noexcept
    double c_floor "floor"(double) noexcept
    float c_floorf "floorf"(float) noexcept
    double c_ceil "ceil"(double) noexcept
    float c_ceilf "ceilf"(float) noexcept
    double c_trunc "trunc"(double) noexcept
    float c_truncf "truncf"(float) noexcept
    double c_roundeven "roundeven"(double) noexcept
    float c_roundevenf "roundevenf"(float) noexcept
    double c_sin "sin"(double) noexcept
    float c_sinf "sinf"(float) noexcept
    double c_cos "cos"(double) noexcept
    float c_cosf "cosf"(float) noexcept
    float c_exp2f "exp2f"(float) noexcept
    double c_exp2 "exp2"(double) noexcept
    float c_log2f "log2f"(float) noexcept
    double c_log2 "log2"(double) noexcept
    float c_tanhf "tanhf"(float) noexcept


cdef uint64_t host_function(const char *name) noexcept nogil:
    """Functions of the host's libm that LLVM calls, where the program itself has no libm."""
    if strcmp(name, "fma") == 0: return <uint64_t> <uintptr_t> &fma
    if strcmp(name, "fmaf") == 0: return <uint64_t> <uintptr_t> &fmaf
    if strcmp(name, "floor") == 0: return <uint64_t> <uintptr_t> &c_floor
    if strcmp(name, "floorf") == 0: return <uint64_t> <uintptr_t> &c_floorf
    if strcmp(name, "ceil") == 0: return <uint64_t> <uintptr_t> &c_ceil
    if strcmp(name, "ceilf") == 0: return <uint64_t> <uintptr_t> &c_ceilf
    if strcmp(name, "trunc") == 0: return <uint64_t> <uintptr_t> &c_trunc
    if strcmp(name, "truncf") == 0: return <uint64_t> <uintptr_t> &c_truncf
    if strcmp(name, "roundeven") == 0: return <uint64_t> <uintptr_t> &c_roundeven
    if strcmp(name, "roundevenf") == 0: return <uint64_t> <uintptr_t> &c_roundevenf
    if strcmp(name, "sin") == 0: return <uint64_t> <uintptr_t> &c_sin
    if strcmp(name, "sinf") == 0: return <uint64_t> <uintptr_t> &c_sinf
    if strcmp(name, "cos") == 0: return <uint64_t> <uintptr_t> &c_cos
    if strcmp(name, "cosf") == 0: return <uint64_t> <uintptr_t> &c_cosf
    if strcmp(name, "exp2f") == 0: return <uint64_t> <uintptr_t> &c_exp2f
    if strcmp(name, "exp2") == 0: return <uint64_t> <uintptr_t> &c_exp2
    if strcmp(name, "log2f") == 0: return <uint64_t> <uintptr_t> &c_log2f
    if strcmp(name, "log2") == 0: return <uint64_t> <uintptr_t> &c_log2
    if strcmp(name, "tanhf") == 0: return <uint64_t> <uintptr_t> &c_tanhf
    if strcmp(name, "memcpy") == 0: return <uint64_t> <uintptr_t> &memcpy
    if strcmp(name, "memset") == 0: return <uint64_t> <uintptr_t> &memset
    return 0


cdef int need_code(descriptor *d, int form, text_buffer *log) noexcept nogil:
    """Have a function's code in a form: from the cache, else from the compiler."""
    cdef ptx_module *module = <ptx_module *> d.module
    cdef obj *o = &module.image.objects[d.object]
    cdef cache c
    cdef char file[160]
    cdef char line[512]
    cdef size_t used = 0, room = 1024, i
    cdef char *requests
    cdef const char *letters = "svewx" if module.image.check else "SVEWX"
    cdef int result
    cdef void *before = d.code[form]
    function_file(file, sizeof(file), o.key, form, d.name, module.image.check != 0)
    pthread_mutex_lock(&gompy_compile_lock)
    if d.code[form] != before:
        pthread_mutex_unlock(&gompy_compile_lock)
        return 0
    open_cache(&c)
    load_parts(&c, module, d.object, file)
    if d.code[form] != before:
        close_cache(&c)
        pthread_mutex_unlock(&gompy_compile_lock)
        return 0
    requests = <char *> malloc(room)  # NULL: append makes nothing of it
    for i in range(module.image.nobjects):
        requests = append(requests, &used, &room, "object %s %s\n", module.image.objects[i].key, module.image.objects[i].name)
    if form == FORM_V or form == FORM_W or form == FORM_S:
        snprintf(line, sizeof(line), "want %s %c", o.key, <int> letters[form])
        requests = append(requests, &used, &room, "%s %s\n", line, d.name)
    else:
        snprintf(line, sizeof(line), "want %s %c", o.key, <int> letters[form])
        requests = append(requests, &used, &room, "%s%s\n", line, "")
    result = no_memory(log) if requests == NULL else run_compiler(&c, requests, used, log)
    free(requests)
    if result == 0:
        load_parts(&c, module, d.object, file)
    close_cache(&c)
    if result == 0 and d.code[form] == before:
        say(log, "error: the PTX compiler left no result\n")
        result = PTX_ERROR_JIT_COMPILER_NOT_FOUND
    pthread_mutex_unlock(&gompy_compile_lock)
    return result


cdef void first_call(int form, gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    """A function is called whose code is not loaded."""
    cdef descriptor *d = <descriptor *> what
    cdef text_buffer log
    cdef char text[600]
    cdef int result
    log.data, log.size, log.used = text, sizeof(text), 0
    text[0] = 0
    if d.name == NULL or d.module == NULL:
        stop(w, mask, PTX_ERROR_SYMBOL_NOT_FOUND, 0, NULL, 0, "call of a function that is not defined")
    need_room(w, mask)
    result = need_code(d, form, &log)
    if result:
        stop(w, mask, result, 0, NULL, 0, text)
    (<gompy_code_fn> d.code[form])(w, mask, arguments, what)


cdef void stub_s(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    first_call(FORM_S, w, mask, arguments, what)

cdef void stub_v(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    first_call(FORM_V, w, mask, arguments, what)

cdef void stub_e(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    first_call(FORM_E, w, mask, arguments, what)

cdef void stub_w(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    first_call(FORM_W, w, mask, arguments, what)

cdef void stub_x(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    first_call(FORM_X, w, mask, arguments, what)


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
            address = memory.alloc_variable(memory.user, v.size if v.size else 1, v.align, string_of(o.index, v.name))
            if address == 0:
                say(log, "out of device memory for the module's variables")
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
                address = symbol_value(module, <uint32_t> i, string_of(o.index, relocs[k].name), &found) + relocs[k].addend
                if not found:
                    snprintf(text, sizeof(text), "the initial value of '%s' names '%s', which is not defined", string_of(o.index, v.name),
                             string_of(o.index, relocs[k].name))
                    say(log, text)
                    return PTX_ERROR_SYMBOL_NOT_FOUND
                memcpy(<void *> <uintptr_t> (module.addresses[o.first_variable + n] + relocs[k].offset), &address, 8)
    return 0


cdef public int ptx_load(ptx_image *image, const ptx_memory *memory, ptx_module **module, ptx_error *failure) noexcept nogil:
    """executor.h."""
    cdef ptx_module *m
    cdef size_t i, count
    cdef uint32_t n
    cdef obj *o
    cdef descriptor *d
    cdef int result, form
    cdef cache c
    cdef char file[160]
    cdef text_buffer log
    if failure != NULL:
        memset(failure, 0, sizeof(ptx_error))
    if image == NULL or memory == NULL or module == NULL or (image.check and memory.shadow == NULL):
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
    count = image.nfunctions + BUILTINS + 1  # the last one stands for functions that are not defined
    m.descriptors = <descriptor *> calloc(count, sizeof(descriptor))
    if image.check:
        m.found = <findings *> calloc(1, sizeof(findings))
    if m.addresses == NULL or m.descriptors == NULL or (image.check and (m.found == NULL or not make_shared_template(m))):
        ptx_unload(m)
        return no_memory(&log)
    if image.check:
        pthread_mutex_init(&m.found.lock, NULL)
    for i in range(count):
        d = &m.descriptors[i]
        d.code[0], d.code[1], d.code[2], d.code[3], d.code[4] = <void *> stub_s, <void *> stub_v, <void *> stub_e, <void *> stub_w, <void *> stub_x
    for i in range(image.nobjects):
        o = &image.objects[i]
        for n in range(o.nfunctions):
            d = &m.descriptors[o.first_function + n]
            d.module, d.name, d.object, d.number = m, string_of(o.index, function_of(o, n).name), <uint32_t> i, n
    for n in range(BUILTINS):
        d = &m.descriptors[image.nfunctions + n]
        d.module = m
        d.name = "vprintf" if n == 0 else "malloc" if n == 1 else "free" if n == 2 else "__assertfail"
        for form in range(FORMS):
            d.code[form] = <void *> call_vprintf if n == 0 else <void *> call_malloc if n == 1 else <void *> call_free if n == 2 else <void *> call_assertfail
    result = place_variables(m, &log)
    if result:
        ptx_unload(m)
        if failure != NULL:
            failure.code = result
        return result
    open_cache(&c)
    for i in range(image.nobjects):
        for form in range(FORMS):
            if form == FORM_S or form == FORM_E:
                function_file(file, sizeof(file), image.objects[i].key, form, "", image.check != 0)
                load_parts(&c, m, <uint32_t> i, file)
    close_cache(&c)
    module[0] = m
    return PTX_SUCCESS


cdef public void ptx_unload(ptx_module *module) noexcept nogil:
    """executor.h."""
    cdef code_unit *unit
    cdef code_unit *following
    cdef uint32_t n
    if module == NULL:
        return
    unit = module.units
    while unit != NULL:
        following = unit.next
        munmap(unit.memory, unit.bytes)
        free(unit)
        unit = following
    for n in range(module.image.nvariables if module.addresses != NULL else 0):
        if module.addresses[n]:
            module.memory.free_variable(module.memory.user, module.addresses[n])
    free(module.found)
    free(module.shared_template)
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
    if not function_of(o, slot.number).entry:
        return PTX_ERROR_NOT_FOUND
    function[0] = &module.descriptors[o.first_function + slot.number]
    return PTX_SUCCESS


cdef public int ptx_find_variable(ptx_module *module, const char *name, uint64_t *address, uint64_t *size) noexcept nogil:
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
    attributes.shared_bytes = module.image.shared_bytes
    attributes.const_bytes = module.image.const_bytes
    attributes.local_bytes = f.local_bytes
    attributes.param_bytes = f.param_bytes
    attributes.num_params = f.params
    attributes.ptx_version = o.info.version
    return PTX_SUCCESS


cdef public int ptx_function_param(const ptx_function *function, uint32_t index, uint64_t *offset, uint64_t *size) noexcept nogil:
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
