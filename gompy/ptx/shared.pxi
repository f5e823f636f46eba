# Shared memory of an image: which of its variables each kernel can reach, and where they lie.
#
# What counts for a kernel is what it and the functions that it can come to name, as with ptxas ("Entry function 'k'
# uses too much shared data").  A function that several kernels call has one code here, so a variable has one place;
# those that no kernel has together may lie at the same place.

cdef enum:
    MEANS_NOTHING = 0
    MEANS_FUNCTION = 1
    MEANS_VARIABLE = 2
    MEANS_SHARED = 3
    MEANS_DYNAMIC = 4                   # shared memory whose size a launch gives


cdef int meaning_of(ptx_image *image, uint32_t object, const char *name, uint32_t *place) noexcept nogil:
    """What a name means in an object, and its place among the image's functions or variables.

    The object's own definition is meant, unless it is weak: another object's may stand in its place.
    """
    cdef obj *o = &image.objects[object]
    cdef uint32_t entry = o.names[own_slot(o, name)], number = 0, linkage
    cdef symbol *slot
    cdef bint function = False
    if entry:
        function = (entry & GOMPY_FUNCTION_BIT) != 0
        number = (entry & ~GOMPY_FUNCTION_BIT) - 1
        linkage = function_of(o, number).linkage if function else variable_of(o, number).linkage
        if not function and linkage == LINKAGE_EXTERN:
            return MEANS_DYNAMIC
        if linkage == LINKAGE_WEAK or linkage == LINKAGE_COMMON:
            entry = 0
    if entry == 0:
        slot = find_symbol(image, name)
        if slot.name == NULL:
            return MEANS_NOTHING
        o = &image.objects[slot.object]
        function, number = slot.function, slot.number
    if function:
        place[0] = function_numbered(o, number)
        return MEANS_FUNCTION
    place[0] = o.first_variable + number
    return MEANS_SHARED if variable_of(o, number).space == SPACE_SHARED else MEANS_VARIABLE


cdef inline bint is_static_shared(const variable_record *v) noexcept nogil:
    return v.space == SPACE_SHARED and v.linkage != LINKAGE_EXTERN


cdef struct reach:                      # while an image is laid out
    uint32_t nodes                      # functions, variables, and a last one: all functions whose address is taken
    uint32_t nedges
    uint32_t *first                     # by node, and the end: its edges
    uint32_t *edges
    uint8_t *taken                      # by function
    uint64_t *sets                      # by node: a bit for each shared variable, `words` of them
    uint32_t words


cdef void add_edge(ptx_image *image, reach *r, uint32_t object, const char *name, bint taken) noexcept nogil:
    """From the node whose edges are being entered to what a name of an object means."""
    cdef uint32_t place = 0
    cdef int meaning = meaning_of(image, object, name, &place)
    if meaning == MEANS_FUNCTION:
        r.taken[place] |= taken
        r.edges[r.nedges] = place
        r.nedges += 1
    elif meaning == MEANS_VARIABLE or meaning == MEANS_SHARED:
        r.edges[r.nedges] = image.nfunctions + place
        r.nedges += 1


cdef void enter_edges(ptx_image *image, reach *r) noexcept nogil:
    """What each function and each variable names; the shared variables are numbered."""
    cdef size_t i
    cdef uint32_t n, k, node = 0, number = 0
    cdef obj *o
    cdef function_record *f
    cdef variable_record *v
    cdef ref_record *refs
    cdef reloc_record *relocs
    for i in range(image.nobjects):
        o = &image.objects[i]
        refs = <ref_record *> section_of(o.index, SECTION_REFS)
        for n in range(o.nfunctions):
            f = function_of(o, n)
            r.first[node] = r.nedges
            for k in range(f.first_ref, f.first_ref + f.refs):
                add_edge(image, r, <uint32_t> i, string_of(o.index, refs[k].name), refs[k].taken != 0)
            if f.indirect:
                r.edges[r.nedges] = r.nodes - 1
                r.nedges += 1
            node += 1
    for i in range(image.nobjects):
        o = &image.objects[i]
        relocs = <reloc_record *> section_of(o.index, SECTION_RELOCS)
        for n in range(o.nvariables):
            v = variable_of(o, n)
            r.first[node] = r.nedges
            for k in range(v.first_reloc, v.first_reloc + v.relocs):
                add_edge(image, r, <uint32_t> i, string_of(o.index, relocs[k].name), True)
            if is_static_shared(v):
                r.sets[<size_t> node * r.words + number // 64] |= <uint64_t> 1 << number % 64
                number += 1
            node += 1
    r.first[node] = r.nedges
    for n in range(image.nfunctions):
        if r.taken[n]:
            r.edges[r.nedges] = n
            r.nedges += 1
    r.first[r.nodes] = r.nedges


cdef void follow_edges(reach *r) noexcept nogil:
    """Each node's set gets what those have that it names, until nothing changes."""
    cdef uint32_t node, k, w
    cdef uint64_t *own
    cdef const uint64_t *other
    cdef bint changed = True
    while changed:
        changed = False
        for node in range(r.nodes):
            own = r.sets + <size_t> node * r.words
            for k in range(r.first[node], r.first[node + 1]):
                other = r.sets + <size_t> r.edges[k] * r.words
                for w in range(r.words):
                    if other[w] & ~own[w]:
                        own[w] |= other[w]
                        changed = True


cdef inline uint64_t aligned_place(uint64_t top, uint64_t align) noexcept nogil:
    return (top + align - 1) // align * align if align else top


cdef inline bint set_has(const uint64_t *words, uint32_t number) noexcept nogil:
    return words[number // 64] >> number % 64 & 1


cdef inline uint32_t function_place(ptx_image *image, const ptx_function *function) noexcept nogil:
    """Its place among the image's functions."""
    return image.objects[function.object].first_function + function.number


cdef bint reaches_shared(ptx_image *image, const ptx_function *function, uint32_t number) noexcept nogil:
    """Whether a kernel has the shared variable of that number, counted in the order of objects and variables."""
    return set_has(image.shared_sets + <size_t> function_place(image, function) * image.set_words, number)


cdef void place_shared(ptx_image *image, const uint32_t *kernels, uint32_t nkernels, uint64_t *tops,
                       bint common) noexcept nogil:
    """Lay out the variables that several kernels have (`common`), or the others.  `tops`: by kernel, where it ends.

    Rows of arrays lie in as few cache lines as can be, whatever alignment a compiler asks for.  In front of the first
    is a row's room: a vector access may begin in front of an array, where those lanes are off.
    """
    cdef size_t i
    cdef uint32_t n, k, users, number = 0
    cdef uint64_t place
    cdef obj *o
    cdef variable_record *v
    cdef const uint64_t *sets = image.shared_sets
    for i in range(image.nobjects):
        o = &image.objects[i]
        for n in range(o.nvariables):
            v = variable_of(o, n)
            if not is_static_shared(v):
                continue
            users, place = 0, SHARED_MARGIN
            for k in range(nkernels):
                if set_has(sets + <size_t> kernels[k] * image.set_words, number):
                    users += 1
                    place = tops[k] if tops[k] > place else place
            if users and (users > 1) == common:
                place = aligned_place(place, v.align if v.align > CACHE_LINE or v.size < CACHE_LINE else CACHE_LINE)
                image.shared_offset[o.first_variable + n] = place
                place += v.size
                image.shared_bytes = place if place > image.shared_bytes else image.shared_bytes
                for k in range(nkernels):
                    if set_has(sets + <size_t> kernels[k] * image.set_words, number):
                        tops[k] = place
            number += 1


cdef int count_shared(ptx_image *image, const uint32_t *kernels, uint32_t nkernels, text_buffer *log) noexcept nogil:
    """How much each kernel has: what ptxas would give it, without gaps.  It is an error if that is too much."""
    cdef size_t i
    cdef uint32_t n, k, number, object = 0
    cdef uint64_t top
    cdef obj *o
    cdef variable_record *v
    cdef function_record *f
    cdef char text[1024]
    cdef int result = 0
    for k in range(nkernels):
        top, number = 0, 0
        for i in range(image.nobjects):
            o = &image.objects[i]
            for n in range(o.nvariables):
                v = variable_of(o, n)
                if is_static_shared(v):
                    if set_has(image.shared_sets + <size_t> kernels[k] * image.set_words, number):
                        top = aligned_place(top, v.align) + v.size
                    number += 1
        image.kernel_shared[kernels[k]] = top
        if top > GOMPY_SHARED_LIMIT:
            while object + 1 < image.nobjects and image.objects[object + 1].first_function <= kernels[k]:
                object += 1
            o = &image.objects[object]
            f = function_of(o, kernels[k] - o.first_function)
            snprintf(text, sizeof(text), "%s:%u: error: entry function '%s' uses too much shared data (0x%llx bytes, "
                     "0x%x max)\n", o.name, f.line, string_of(o.index, f.name), <unsigned long long> top,
                     <unsigned> GOMPY_SHARED_LIMIT)
            log_text(log, text)
            result = PTX_ERROR_INVALID_PTX
    return result


cdef uint32_t count_static(ptx_image *image, size_t *named, uint64_t *round) noexcept nogil:
    """How many shared variables there are; how many names functions and variables have, and where dynamic shared memory
    may begin."""
    cdef size_t i
    cdef uint32_t n, count = 0
    cdef obj *o
    cdef variable_record *v
    named[0], round[0] = 0, CACHE_LINE
    for i in range(image.nobjects):
        o = &image.objects[i]
        named[0] += o.index.section[SECTION_REFS].bytes // sizeof(ref_record)
        named[0] += o.index.section[SECTION_RELOCS].bytes // sizeof(reloc_record)
        for n in range(o.nvariables):
            v = variable_of(o, n)
            count += is_static_shared(v)
            if v.space == SPACE_SHARED:
                round[0] = v.align if v.align > round[0] else round[0]
                image.shared_bytes = SHARED_MARGIN
    return count


cdef int lay_out(ptx_image *image, reach *r, uint32_t *kernels, uint64_t *tops, text_buffer *log) noexcept nogil:
    """Sets, then places."""
    cdef size_t i
    cdef uint32_t n, nkernels = 0
    cdef obj *o
    enter_edges(image, r)
    follow_edges(r)
    for i in range(image.nobjects):
        o = &image.objects[i]
        for n in range(o.nfunctions):
            if function_of(o, n).entry:
                kernels[nkernels] = o.first_function + n
                nkernels += 1
    place_shared(image, kernels, nkernels, tops, True)
    place_shared(image, kernels, nkernels, tops, False)
    return count_shared(image, kernels, nkernels, log)


cdef int share_out(ptx_image *image, text_buffer *log) noexcept nogil:
    """What each kernel has of shared memory, and where each variable lies."""
    cdef reach r
    cdef size_t named
    cdef uint64_t round
    cdef uint64_t *tops = NULL
    cdef uint32_t *kernels = NULL
    cdef uint32_t count = count_static(image, &named, &round)
    cdef int result = 0
    memset(&r, 0, sizeof(r))
    r.words = (count + 63) // 64
    r.nodes = image.nfunctions + image.nvariables + 1
    image.set_words = r.words
    image.kernel_shared = <uint64_t *> calloc(image.nfunctions + 1, sizeof(uint64_t))
    if image.kernel_shared == NULL:
        return no_memory(log)
    image.shared_bytes = aligned_place(image.shared_bytes, round)
    if count == 0:
        return 0
    image.shared_offset = <uint64_t *> calloc(image.nvariables, sizeof(uint64_t))
    image.shared_sets = r.sets = <uint64_t *> calloc(<size_t> r.nodes * r.words, sizeof(uint64_t))
    r.first = <uint32_t *> malloc((r.nodes + 1) * sizeof(uint32_t))
    r.edges = <uint32_t *> malloc((named + 2 * image.nfunctions + 1) * sizeof(uint32_t))
    r.taken = <uint8_t *> calloc(1, image.nfunctions + 1)
    tops = <uint64_t *> calloc(image.nfunctions + 1, sizeof(uint64_t))
    kernels = <uint32_t *> malloc((image.nfunctions + 1) * sizeof(uint32_t))
    if (image.shared_offset == NULL or r.sets == NULL or r.first == NULL or r.edges == NULL or r.taken == NULL
            or tops == NULL or kernels == NULL):
        result = no_memory(log)
    else:
        result = lay_out(image, &r, kernels, tops, log)
        image.shared_bytes = aligned_place(image.shared_bytes, round)
    free(r.first)
    free(r.edges)
    free(r.taken)
    free(tops)
    free(kernels)
    return result


cdef public int ptx_link(const ptx_object *objects, size_t n, unsigned check, ptx_image **image, char *log,
                         size_t log_size) noexcept nogil:
    """executor.h."""
    cdef text_buffer buffer
    cdef cache c
    cdef ptx_image *made
    cdef int result
    buffer.data, buffer.size, buffer.used = log, log_size, 0
    if log != NULL and log_size:
        log[0] = 0
    if n == 0 or objects == NULL or image == NULL:
        return PTX_ERROR_INVALID_VALUE
    image[0] = NULL
    made = <ptx_image *> calloc(1, sizeof(ptx_image))
    if made != NULL:
        made.objects = <obj *> calloc(n, sizeof(obj))
    if made == NULL or made.objects == NULL:
        free(made)
        return no_memory(&buffer)
    made.references = 1
    made.check = check
    made.nobjects = n
    pthread_mutex_lock(&gompy_compile_lock)
    open_cache(&c)
    result = open_objects(made, &c, objects, &buffer)
    close_cache(&c)
    pthread_mutex_unlock(&gompy_compile_lock)
    if result == 0:
        result = resolve_names(made, &buffer)
    if result == 0:
        result = check_links(made, &buffer)
    if result == 0:
        result = share_out(made, &buffer)
    if result:
        drop_image(made)
        return result
    image[0] = made
    return PTX_SUCCESS


cdef public void ptx_image_free(ptx_image *image) noexcept nogil:
    """executor.h."""
    if image != NULL:
        drop_image(image)
