# Code files: copied from the cache's for a module; what is not there is compiled when it is first called.


cdef uint64_t symbol_value(ptx_module *module, uint32_t object, const char *name, bint *found) noexcept nogil:
    """What a name means in an object: the generic address of a variable, or a function's descriptor, as PTX sees it."""
    cdef ptx_image *image = module.image
    cdef uint32_t place
    cdef int builtin, meaning = meaning_of(image, object, name, &place)
    found[0] = True
    if meaning == MEANS_DYNAMIC:
        return GOMPY_SHARED_BASE + image.shared_bytes
    if meaning == MEANS_FUNCTION:
        return <uint64_t> <uintptr_t> &module.named[place]
    if meaning == MEANS_SHARED:
        return GOMPY_SHARED_BASE + image.shared_offset[place]
    if meaning == MEANS_VARIABLE:
        return module.addresses[place]
    builtin = builtin_number(name)
    if builtin >= 0:
        return <uint64_t> <uintptr_t> &module.named[image.nfunctions + builtin]
    found[0] = False
    return 0


cdef inline uint64_t number_of_function(ptx_module *module, uint64_t address) noexcept nogil:
    """The number of a function, or of a builtin behind them, by the address that PTX sees; large: it is none's."""
    cdef uint64_t offset = address - <uint64_t> <uintptr_t> module.named
    return offset // sizeof(descriptor) if offset % sizeof(descriptor) == 0 else <uint64_t> -1


cdef char *map_text(file_head *head, size_t *text, size_t *table) noexcept nogil:
    """A copy of a code file's text, executable, with room for its link words behind; NULL without memory."""
    cdef size_t nlinks = head.section[SECTION_LINKS].bytes // sizeof(link_record)
    cdef char *memory
    text[0] = (head.section[SECTION_TEXT].bytes + PAGE - 1) // PAGE * PAGE
    table[0] = (nlinks * 8 + PAGE - 1) // PAGE * PAGE
    memory = <char *> mmap(NULL, text[0] + table[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    if gompy_is_map_failed(memory):
        return NULL
    if text[0]:
        memcpy(memory, section_of(head, SECTION_TEXT), head.section[SECTION_TEXT].bytes)
        if mprotect(memory, text[0], PROT_READ | PROT_EXEC) != 0:
            munmap(memory, text[0] + table[0])
            return NULL
    return memory


cdef extern from "gdb_jit.h" nogil:
    void gompy_jit_add(const char *data, uint64_t size, const char *text)
    void gompy_jit_drop(const char *text)


cdef code_unit *load_code(cache *c, ptx_module *module, uint32_t object, const char *file) noexcept nogil:
    """Load a code file for a module, fill its link words, enter its functions.  NULL if there is no such file."""
    cdef file_head *head = read_file(c, file, KIND_CODE)
    cdef link_record *links
    cdef code_record *codes
    cdef size_t nlinks, ncodes, text, table, i
    cdef char *memory
    cdef uint64_t *words
    cdef code_unit *unit
    cdef const char *name
    cdef obj *o = &module.image.objects[object]
    cdef descriptor *d
    cdef uint32_t entry
    cdef uint64_t number
    cdef bint found
    if head == NULL:
        return NULL
    links = <link_record *> section_of(head, SECTION_LINKS)
    codes = <code_record *> section_of(head, SECTION_CODE)
    nlinks = head.section[SECTION_LINKS].bytes // sizeof(link_record)
    ncodes = head.section[SECTION_CODE].bytes // sizeof(code_record)
    memory = map_text(head, &text, &table)
    if memory == NULL:
        drop_file(head)
        return NULL
    unit = <code_unit *> calloc(1, sizeof(code_unit))
    if unit == NULL:
        munmap(memory, text + table)
        drop_file(head)
        return NULL
    unit.module, unit.object, unit.memory, unit.bytes, unit.text_bytes = module, object, memory, text + table, text
    unit.parts = head.parts
    words = <uint64_t *> (memory + text)
    for i in range(nlinks):
        name = string_of(head, links[i].name)
        if links[i].kind == LINK_UNIT:
            words[i] = <uint64_t> <uintptr_t> unit
        elif links[i].kind == LINK_HOST and strncmp(name, GOMPY_SLOW_PREFIX, strlen(GOMPY_SLOW_PREFIX)) == 0:
            words[i] = slow_function(c, name, False)
        elif links[i].kind == LINK_HOST and strncmp(name, GOMPY_SLOW_PREFIX_CHECKED,
                                                    strlen(GOMPY_SLOW_PREFIX_CHECKED)) == 0:
            words[i] = slow_function(c, name, True)
        elif links[i].kind == LINK_HOST:
            words[i] = host_function(name)
            if words[i] == 0:  # none that is known: it waits for the loader, whose lock a constructor's thread may have
                words[i] = <uint64_t> <uintptr_t> dlsym(RTLD_DEFAULT, name)
        else:
            words[i] = symbol_value(module, object, name, &found)
            if links[i].kind == LINK_FUNCTION:  # a call's: of this module's code
                number = number_of_function(module, words[i]) if found else <uint64_t> -1
                number = min(number, <uint64_t> (module.image.nfunctions + BUILTIN_COUNT))
                words[i] = <uint64_t> <uintptr_t> &module.descriptors[number]
    gompy_jit_add(section_of(head, SECTION_DATA), head.section[SECTION_DATA].bytes, memory)
    unit.next = module.units
    module.units = unit
    for i in range(ncodes):
        entry = o.names[own_slot(o, string_of(head, codes[i].name))]
        if entry & GOMPY_FUNCTION_BIT and codes[i].version < FORM_COUNT:
            d = &module.descriptors[o.first_function + (entry & ~GOMPY_FUNCTION_BIT) - 1]
            if codes[i].whole:
                d.whole |= <uint32_t> 1 << codes[i].version
            if codes[i].aligned:
                d.aligned |= <uint32_t> 1 << codes[i].version
            if codes[i].version not in (FORM_V, FORM_W):
                d.writes, d.plain = codes[i].writes, codes[i].plain
            gompy_publish(&d.code[codes[i].version], memory + codes[i].offset)
    drop_file(head)
    return unit


cdef struct shared_code:                # the functions of GOMPY_SLOW_FILE, loaded once for the process
    const char *names[16]
    uint64_t places[16]
    size_t count

cdef shared_code[2] shared              # without and with checks
cdef pthread_mutex_t shared_lock        # zero: PTHREAD_MUTEX_INITIALIZER


cdef bint load_shared(cache *c, const char *file, shared_code *code) noexcept nogil:
    """Load the functions that all code files share; False if there is no such file."""
    cdef file_head *head = read_file(c, file, KIND_CODE)
    cdef code_record *codes
    cdef size_t text, table, i, count
    cdef char *memory
    if head == NULL:
        return False
    memory = map_text(head, &text, &table)
    if memory == NULL:
        drop_file(head)
        return False
    codes = <code_record *> section_of(head, SECTION_CODE)
    count = head.section[SECTION_CODE].bytes // sizeof(code_record)
    for i in range(count if count < 16 else 16):
        code.names[i] = string_of(head, codes[i].name)  # stays in memory
        code.places[i] = <uint64_t> <uintptr_t> (memory + codes[i].offset)
    code.count = count if count < 16 else 16
    return True


cdef void no_shared(gompy_warp *w, uint32_t mask) noexcept nogil:
    """In place of a shared function that is not there."""
    stop_warp(w, mask, PTX_ERROR_JIT_COMPILER_NOT_FOUND, 0, NULL, 0, "the PTX compiler left no result")


cdef uint64_t slow_function(cache *c, const char *name, bint checked) noexcept nogil:
    """A function that code files share, of the file in the same folder; the compiler makes that if it is not there."""
    cdef const char *file = <const char *> GOMPY_SLOW_FILE_CHECKED if checked else <const char *> GOMPY_SLOW_FILE
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
    """Load an object's code file and those that belong to it."""
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
    """Functions of the host that LLVM calls, without the loader."""
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
    cdef const char *letters = gompy_form_letters[code_kind(module.image)]
    cdef int result
    cdef void *before = d.code[form]
    function_file(file, sizeof(file), o.key, form, d.name, code_kind(module.image))
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
        requests = append_line(requests, &used, &room, "object %s %s\n", module.image.objects[i].key,
                               module.image.objects[i].name)
    if form == FORM_V or form == FORM_W or form == FORM_S:
        snprintf(line, sizeof(line), "want %s %c", o.key, <int> letters[form])
        requests = append_line(requests, &used, &room, "%s %s\n", line, d.name)
    else:
        snprintf(line, sizeof(line), "want %s %c", o.key, <int> letters[form])
        requests = append_line(requests, &used, &room, "%s%s\n", line, "")
    result = no_memory(log) if requests == NULL else compile_objects(&c, module.image, requests, used, log)
    free(requests)
    if result == 0:
        load_parts(&c, module, d.object, file)
    close_cache(&c)
    if result == 0 and d.code[form] == before:
        log_text(log, "error: the PTX compiler left no result\n")
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
        stop_warp(w, mask, PTX_ERROR_SYMBOL_NOT_FOUND, 0, NULL, 0, "call of a function that is not defined")
    need_room(w, mask)
    result = need_code(d, form, &log)
    if result:
        stop_warp(w, mask, result, 0, NULL, 0, text)
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
