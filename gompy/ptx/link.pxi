# Linking: objects to an image.  Names that are not .visible belong to their object; others must be defined once.

cdef char *append_line(char *text, size_t *used, size_t *room, const char *format, const char *a,
                       const char *b) noexcept nogil:
    """Append a formatted line to a growing text.  NULL, for good, when there is no memory for it."""
    cdef size_t need = strlen(format) + strlen(a) + strlen(b) + 1
    cdef char *more
    if text == NULL:
        return NULL
    if used[0] + need > room[0]:
        room[0] = (used[0] + need) * 2
        more = <char *> realloc(text, room[0])
        if more == NULL:
            free(text)
            return NULL
        text = more
    used[0] += snprintf(text + used[0], room[0] - used[0], format, a, b)
    return text


cdef uint64_t name_hash(const char *name) noexcept nogil:
    """FNV-1a."""
    cdef uint64_t value = 0xCBF29CE484222325U
    while name[0]:
        value = (value ^ <uint8_t> name[0]) * 0x100000001B3U
        name += 1
    return value


cdef symbol *find_symbol(ptx_image *image, const char *name) noexcept nogil:
    """The slot of a name in the image's table; its `name` is NULL if it is not there."""
    cdef uint64_t at = name_hash(name) & (image.table_size - 1)
    while image.table[at].name != NULL and strcmp(image.table[at].name, name) != 0:
        at = (at + 1) & (image.table_size - 1)
    return &image.table[at]


cdef inline variable_record *variable_of(obj *o, uint32_t number) noexcept nogil:
    return <variable_record *> section_of(o.index, SECTION_VARIABLES) + number


cdef inline function_record *function_of(obj *o, uint32_t number) noexcept nogil:
    return <function_record *> section_of(o.index, SECTION_FUNCTIONS) + number


cdef inline uint32_t function_numbered(obj *o, uint32_t number) noexcept nogil:
    """The place among the image's functions of one of an object's: an alias is the function that it names."""
    cdef uint32_t first = function_of(o, number).alias
    return o.first_function + (first - 1 if first else number)


cdef int define_symbol(ptx_image *image, obj *o, uint32_t object, const char *name, uint32_t number, uint32_t linkage,
                       uint32_t line,
                       bint function, text_buffer *log) noexcept nogil:
    """Enter a global definition."""
    cdef symbol *slot = find_symbol(image, name)
    cdef char text[1024]
    if slot.name != NULL:
        if linkage == LINKAGE_WEAK or linkage == LINKAGE_COMMON:
            return 0
        if slot.linkage != LINKAGE_WEAK and slot.linkage != LINKAGE_COMMON:
            snprintf(text, sizeof(text), "%s:%u: error: multiple definition of '%s'; it is also defined in %s\n",
                     o.name, line,
                     name, image.objects[slot.object].name)
            log_text(log, text)
            return PTX_ERROR_SYMBOL_NOT_FOUND
    slot.name, slot.object, slot.number, slot.linkage, slot.function = name, object, number, linkage, function
    return 0


cdef int no_memory(text_buffer *log) noexcept nogil:
    """The error of an allocation that failed."""
    log_text(log, "error: out of memory\n")
    return PTX_ERROR_OUT_OF_MEMORY


cdef int compile_objects(cache *c, ptx_image *image, const char *requests, size_t size,
                         text_buffer *log) noexcept nogil:
    """Have the compiler make what is asked for.  Where texts are gone from the cache, it is given ours."""
    cdef size_t i, mark = log.used
    cdef char name[160]
    cdef obj *o
    cdef int result = run_compiler(c, requests, size, log)
    if result != TEXT_GONE:
        return result
    for i in range(image.nobjects):
        o = &image.objects[i]
        snprintf(name, sizeof(name), "%s.ptx", o.key)
        if find_kept(name) == NULL and not keep_text(name, o.text, o.text_size):
            return no_memory(log)
    log.used = mark
    if log.data != NULL and log.size:
        log.data[mark] = 0
    result = run_compiler(c, requests, size, log)
    return PTX_ERROR_JIT_COMPILER_NOT_FOUND if result == TEXT_GONE else result


cdef void one_line(char *name) noexcept nogil:
    """A name as it is told to the compiler: requests and messages are lines."""
    while name[0]:
        if 0 < name[0] < 32 or name[0] == 127:
            name[0] = b"?"
        name += 1


cdef int open_objects(ptx_image *image, cache *c, const ptx_object *objects, text_buffer *log) noexcept nogil:
    """The index of each object, and compiled code for its functions: from the cache, else from the compiler."""
    cdef char name[160]
    cdef size_t i, used = 0, room = 4096, size, mark
    cdef char *requests = <char *> malloc(room)
    cdef obj *o
    cdef const char *end
    cdef int result = 0
    if requests == NULL:
        return no_memory(log)
    requests[0] = 0
    for i in range(image.nobjects):
        o = &image.objects[i]
        size = objects[i].size
        end = objects[i].text
        while <size_t> (end - objects[i].text) < size and end[0]:
            end += 1
        size = end - objects[i].text
        gompy_text_key(objects[i].text, size, o.key)
        o.text = <char *> malloc(size + 1)
        if o.text == NULL:
            free(requests)
            return no_memory(log)
        memcpy(o.text, objects[i].text, size)
        o.text_size = size
        if objects[i].name != NULL and objects[i].name[0]:
            snprintf(o.name, sizeof(o.name), "%s", objects[i].name)
        else:
            snprintf(o.name, sizeof(o.name), "object %zu", i)
        one_line(o.name)
        snprintf(name, sizeof(name), "%s.I", o.key)
        o.index = read_file(c, name, KIND_INDEX)
        # The text is kept: functions are compiled from it when they are first called.
        snprintf(name, sizeof(name), "%s.ptx", o.key)
        if not has_file(c, name, size if size else 1) and not write_text(c, name, objects[i].text, size):
            free(requests)
            return PTX_ERROR_OUT_OF_MEMORY
        requests = append_line(requests, &used, &room, "object %s %s\n", o.key, o.name)
    mark = used
    for i in range(image.nobjects):
        o = &image.objects[i]
        if o.index == NULL:
            requests = append_line(requests, &used, &room, "want %s I%s\n", o.key, "")
    if used > mark:
        requests = append_line(requests, &used, &room, "auto %s%s\n", gompy_code_kinds[code_kind(image)], "")
        if requests == NULL:
            return no_memory(log)
        result = compile_objects(c, image, requests, used, log)
        if result:
            free(requests)
            return result
    for i in range(image.nobjects):
        o = &image.objects[i]
        if o.index == NULL:
            snprintf(name, sizeof(name), "%s.I", o.key)
            o.index = read_file(c, name, KIND_INDEX)
            if o.index == NULL:
                log_text(log, "error: the PTX compiler left no result\n")
                free(requests)
                return PTX_ERROR_JIT_COMPILER_NOT_FOUND
        o.info = <info_record *> section_of(o.index, SECTION_INFO)
    free(requests)
    return need_forms(image, c, log)


cdef int need_forms(ptx_image *image, cache *c, text_buffer *log) noexcept nogil:
    """Compiled code for the functions of all objects, in the forms that an image is loaded with."""
    cdef char name[160]
    cdef size_t i, used = 0, room = 4096, mark
    cdef char *requests = <char *> malloc(room)  # NULL: append makes nothing of it
    cdef obj *o
    cdef int result = 0
    cdef bint any_openmp = False, openmp
    cdef char form[2]
    # GCC's own conventions hold in an image if the object of a kernel follows them.
    for i in range(image.nobjects):
        o = &image.objects[i]
        requests = append_line(requests, &used, &room, "object %s %s\n", o.key, o.name)
        if o.info.openmp and o.info.entries:
            any_openmp = True
    mark = used
    for i in range(image.nobjects):
        o = &image.objects[i]
        openmp = any_openmp and (o.info.openmp or not o.info.entries)
        form[0], form[1] = gompy_form_letters[code_kind(image)][FORM_S if openmp else FORM_E], 0
        if (openmp and o.index.section[SECTION_FUNCTIONS].bytes) or (not openmp and o.info.entries):
            snprintf(name, sizeof(name), "%s.%s", o.key, form)
            if not has_file(c, name, 0):
                requests = append_line(requests, &used, &room, "want %s %s\n", o.key, form)
    if requests == NULL:
        return no_memory(log)
    if used > mark:
        result = compile_objects(c, image, requests, used, log)
    free(requests)
    return result


cdef void drop_image(ptx_image *image) noexcept nogil:
    """One reference less."""
    cdef size_t i
    if gompy_increment(&image.references, -1) > 0:
        return
    for i in range(image.nobjects):
        if image.objects[i].index != NULL:
            drop_file(image.objects[i].index)
        free(image.objects[i].text)
        free(image.objects[i].names)
    free(image.objects)
    free(image.table)
    free(image.shared_offset)
    free(image.kernel_shared)
    free(image.shared_sets)
    free(image)


cdef int resolve_names(ptx_image *image, text_buffer *log) noexcept nogil:
    """Number variables and functions, enter global names."""
    cdef size_t i
    cdef uint32_t n
    cdef obj *o
    cdef variable_record *v
    cdef function_record *f
    cdef symbol *slot
    cdef int result = 0, one
    for i in range(image.nobjects):
        o = &image.objects[i]
        o.nvariables = <uint32_t> (o.index.section[SECTION_VARIABLES].bytes // sizeof(variable_record))
        o.nfunctions = <uint32_t> (o.index.section[SECTION_FUNCTIONS].bytes // sizeof(function_record))
        o.first_variable, o.first_function = image.nvariables, image.nfunctions
        image.nvariables += o.nvariables
        image.nfunctions += o.nfunctions
        if not enter_own(o):
            return no_memory(log)
    image.table_size = 64
    while image.table_size < 2 * (image.nvariables + image.nfunctions):
        image.table_size *= 2
    image.table = <symbol *> calloc(image.table_size, sizeof(symbol))
    if image.table == NULL:
        return no_memory(log)
    for i in range(image.nobjects):
        o = &image.objects[i]
        for n in range(o.nvariables):
            v = variable_of(o, n)
            if v.linkage != LINKAGE_LOCAL and v.linkage != LINKAGE_EXTERN:
                one = define_symbol(image, o, <uint32_t> i, string_of(o.index, v.name), n, v.linkage, v.line, False,
                                    log)
                result = one if one else result
            if v.space == SPACE_CONST and v.linkage != LINKAGE_EXTERN:
                image.const_bytes += v.size
        for n in range(o.nfunctions):
            f = function_of(o, n)
            if f.linkage != LINKAGE_LOCAL or f.entry:
                one = define_symbol(image, o, <uint32_t> i, string_of(o.index, f.name), n, f.linkage, f.line, True, log)
                result = one if one else result
    return result


cdef inline const char *own_string(obj *o, uint32_t entry) noexcept nogil:
    """The name of an entry of the object's own table."""
    if entry & GOMPY_FUNCTION_BIT:
        return string_of(o.index, function_of(o, (entry & ~GOMPY_FUNCTION_BIT) - 1).name)
    return string_of(o.index, variable_of(o, entry - 1).name)


cdef uint64_t own_slot(obj *o, const char *name) noexcept nogil:
    """Where a name is, or would be, in the object's own table."""
    cdef uint64_t at = name_hash(name) & (o.names_size - 1)
    while o.names[at] and strcmp(own_string(o, o.names[at]), name) != 0:
        at = (at + 1) & (o.names_size - 1)
    return at


cdef bint enter_own(obj *o) noexcept nogil:
    """Make the object's own table: what it defines, and dynamic shared memory that it declares.  False: no memory."""
    cdef uint32_t n
    cdef uint64_t at
    cdef variable_record *v
    o.names_size = 16
    while o.names_size < 2 * (o.nvariables + o.nfunctions):
        o.names_size *= 2
    o.names = <uint32_t *> calloc(o.names_size, sizeof(uint32_t))
    if o.names == NULL:
        return False
    for n in range(o.nvariables):
        v = variable_of(o, n)
        if v.linkage == LINKAGE_EXTERN and not (v.space == SPACE_SHARED and v.size == 0):
            continue
        at = own_slot(o, string_of(o.index, v.name))
        o.names[at] = n + 1
    for n in range(o.nfunctions):
        at = own_slot(o, string_of(o.index, function_of(o, n).name))
        o.names[at] = (n + 1) | GOMPY_FUNCTION_BIT
    return True


cdef int builtin_number(const char *name) noexcept nogil:
    """The number of one of the driver's own functions, -1 for others."""
    cdef int n
    for n in range(BUILTIN_COUNT):
        if strcmp(name, gompy_builtins[n]) == 0:
            return n
    return -1


cdef int check_links(ptx_image *image, text_buffer *log) noexcept nogil:
    """Every name that code refers to must be defined: told at link time, as a linker does.

    Kernels that are not GCC's OpenMP code stand alone: what functions beside them lack is told if they are called.
    """
    cdef char text[1024]
    cdef size_t i
    cdef uint32_t n, k
    cdef obj *o
    cdef function_record *f
    cdef ref_record *refs
    cdef const char *name
    cdef int result = 0
    cdef bint any_openmp = False
    for i in range(image.nobjects):
        if image.objects[i].info.openmp and image.objects[i].info.entries:
            any_openmp = True
    for i in range(image.nobjects):
        o = &image.objects[i]
        refs = <ref_record *> section_of(o.index, SECTION_REFS)
        for n in range(o.nfunctions):
            f = function_of(o, n)
            if not f.entry and not (any_openmp and (o.info.openmp or not o.info.entries)):
                continue
            for k in range(f.first_ref, f.first_ref + f.refs):
                name = string_of(o.index, refs[k].name)
                if o.names[own_slot(o, name)] or find_symbol(image, name).name != NULL or builtin_number(name) >= 0:
                    continue
                snprintf(text, sizeof(text), "%s:%u: error: undefined reference to '%s'\n", o.name, refs[k].line, name)
                log_text(log, text)
                result = PTX_ERROR_SYMBOL_NOT_FOUND
    return result
