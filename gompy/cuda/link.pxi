# The linker API, and what a linked image looks like: a header, then the PTX texts.
#
# The image is complete in itself: a program may keep and load it after cuLinkDestroy.  As long as the link state lives,
# the executor's image that cuLinkComplete made is used instead of linking again.

cdef enum:
    LINK_LOG = 16384

cdef struct image_head:
    char magic[8]              # "GOMPYPTX"
    uint64_t size              # of all
    uint64_t serial            # of the link state
    uint64_t objects

cdef struct image_object:      # a text follows, ending in NUL, then padding to 8
    uint64_t size              # with this head and padding
    uint64_t length            # of the text, without the NUL
    char name[48]

cdef struct jit_options:
    char *info
    char *error
    size_t info_size, error_size
    void **info_filled         # the option's value, which gets the length of the log
    void **error_filled
    void **wall_time
    bint verbose

cdef struct link_state:
    handle_head head
    jit_options options
    char *image                # image_head and objects
    size_t used, room
    bint complete
    ptx_image *linked
    double spent

cdef const char *IMAGE_MAGIC() noexcept nogil:
    return b"GOMPYPTX"


cdef void read_options(jit_options *to, unsigned n, int *options, void **values) noexcept nogil:
    """The options that say where logs go; the others (optimisation, registers, target) have no effect here."""
    cdef unsigned i
    memset(to, 0, sizeof(jit_options))
    for i in range(n):
        if options[i] == CU_JIT_WALL_TIME:
            to.wall_time = &values[i]
        elif options[i] == CU_JIT_INFO_LOG_BUFFER:
            to.info = <char *>values[i]
        elif options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            to.info_size = <unsigned><size_t>values[i]
            to.info_filled = &values[i]
        elif options[i] == CU_JIT_ERROR_LOG_BUFFER:
            to.error = <char *>values[i]
        elif options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            to.error_size = <unsigned><size_t>values[i]
            to.error_filled = &values[i]
        elif options[i] == CU_JIT_LOG_VERBOSE:
            to.verbose = values[i] != NULL
    if to.info != NULL and to.info_size:
        to.info[0] = 0
    else:
        to.info_size = 0
    if to.error != NULL and to.error_size:
        to.error[0] = 0
    else:
        to.error_size = 0


cdef void log_error(jit_options *o, const char *text) noexcept nogil:
    """Put a line into the error log."""
    cdef size_t n
    if o.error_size:
        n = strlen(o.error)
        snprintf(o.error + n, o.error_size - n, b"%s%s", pick_text(n != 0, b"\n", b""), text)


cdef void finish_options(jit_options *o, double spent, int objects) noexcept nogil:
    """Fill in what the options return."""
    cdef float wall = <float>spent
    if o.info_size and o.verbose:
        snprintf(o.info, o.info_size, b"gompy: %d PTX object%s linked in %.1f ms", objects,
                 pick_text(objects == 1, b"", b"s"), spent)
    if o.wall_time != NULL:
        memcpy(o.wall_time, &wall, sizeof(wall))
    if o.info_filled != NULL:
        o.info_filled[0] = <void *>(strlen(o.info) if o.info_size else 0)
    if o.error_filled != NULL:
        o.error_filled[0] = <void *>(strlen(o.error) if o.error_size else 0)


cdef bint looks_like_ptx(const char *text, size_t size) noexcept nogil:
    """Whether an image is PTX text: blanks, comments, then a directive."""
    cdef size_t i = 0
    while i < size and text[i]:
        if text[i] in (32, 9, 10, 13):
            i += 1
        elif text[i] == 47 and i + 1 < size and text[i + 1] == 47:
            while i < size and text[i] and text[i] != 10:
                i += 1
        elif text[i] == 47 and i + 1 < size and text[i + 1] == 42:
            i += 2
            while i + 1 < size and text[i] and not (text[i] == 42 and text[i + 1] == 47):
                i += 1
            i += 2
        else:
            return text[i] == 46
    return False


cdef int target_of(const char *text, size_t size) noexcept nogil:
    """The architecture that a PTX text names in .target, or 0."""
    cdef size_t i = 0
    cdef int n = 0
    while i + 8 < size and text[i]:
        if (i == 0 or text[i - 1] == 10) and memcmp(text + i, b".target", 7) == 0:
            i += 7
            while i < size and text[i] in (32, 9):
                i += 1
            if i + 3 < size and memcmp(text + i, b"sm_", 3) == 0:
                i += 3
                while i < size and 48 <= text[i] <= 57:
                    n = n * 10 + text[i] - 48
                    i += 1
            return n
        i += 1
    return 0


cdef int check_text(jit_options *o, gpu *g, const char *text, size_t size, const char *name) noexcept nogil:
    """PTX text for this device's architecture or an older one."""
    cdef char line[256]
    cdef int target
    if not looks_like_ptx(text, size):
        snprintf(line, sizeof(line), b"%s: not PTX text", name)
        log_error(o, line)
        return CUDA_ERROR_INVALID_IMAGE
    target = target_of(text, size)
    if target > g.arch:
        snprintf(line, sizeof(line), b"%s: .target sm_%d is newer than the device, sm_%d (GOMPY_CUDA_ARCH)", name,
                 target, g.arch)
        log_error(o, line)
        return CUDA_ERROR_INVALID_PTX
    return CUDA_SUCCESS


cdef bint add_text(char **image, size_t *used, size_t *room, const char *text, size_t length,
                   const char *name) noexcept nogil:
    """Append an object to an image under construction."""
    cdef size_t size = round_up(sizeof(image_object) + length + 1, 8)
    cdef image_object *o
    cdef char *more
    cdef size_t wanted
    if used[0] == 0:
        used[0] = sizeof(image_head)
    if used[0] + size > room[0]:
        wanted = 2 * room[0] + size + sizeof(image_head)
        more = <char *>realloc(image[0], wanted)
        if more == NULL:
            return False
        if image[0] == NULL:
            memset(more, 0, sizeof(image_head))
            memcpy(more, IMAGE_MAGIC(), 8)
        image[0] = more
        room[0] = wanted
    o = <image_object *>(image[0] + used[0])
    memset(o, 0, sizeof(image_object))
    o.size, o.length = size, length
    snprintf(o.name, sizeof(o.name), b"%s", name)
    memcpy(<char *>(o + 1), text, length)
    memset(<char *>(o + 1) + length, 0, size - sizeof(image_object) - length)
    used[0] += size
    (<image_head *>image[0]).objects += 1
    (<image_head *>image[0]).size = used[0]
    return True


cdef int link_image(const char *image, jit_options *o, ptx_image **to) noexcept nogil:
    """Have the executor link the objects of an image."""
    cdef const image_head *head = <const image_head *>image
    cdef const image_object *one
    cdef ptx_object *objects
    cdef char *log
    cdef size_t i, end, at = sizeof(image_head)
    cdef int r
    if not need_executor():
        log_error(o, b"no PTX executor")
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND
    if head.size < sizeof(image_head) or head.objects > (head.size - sizeof(image_head)) / sizeof(image_object):
        return CUDA_ERROR_INVALID_IMAGE
    objects = <ptx_object *>calloc(head.objects + 1, sizeof(ptx_object))
    log = <char *>malloc(LINK_LOG)
    if objects == NULL or log == NULL:
        free(objects)
        free(log)
        return CUDA_ERROR_OUT_OF_MEMORY
    for i in range(head.objects):
        one = <const image_object *>(image + at)
        if (
            head.size - at < sizeof(image_object) or one.size > head.size - at or one.size <= sizeof(image_object)
            or one.length >= one.size - sizeof(image_object) or memchr(one.name, 0, sizeof(one.name)) == NULL
        ):
            free(objects)
            free(log)
            return CUDA_ERROR_INVALID_IMAGE
        objects[i].text = <const char *>(one + 1)
        objects[i].size = one.length
        objects[i].name = <const char *>one.name if one.name[0] else NULL
        at += one.size
    if at != head.size:
        free(objects)
        free(log)
        return CUDA_ERROR_INVALID_IMAGE
    log[0] = 0
    r = ptx.link(objects, head.objects, checking, to, log, LINK_LOG)
    if log[0] and r != CUDA_SUCCESS:
        log_error(o, log)
    if r != CUDA_SUCCESS and not o.error_size and log[0]:
        end = strlen(log)
        while end and log[end - 1] == c'\n':
            end -= 1
        log[end] = 0
        fprintf(stderr, b"libcuda (gompy): error: %s\n", log + 7 if strncmp(log, b"error: ", 7) == 0 else log)
    free(objects)
    free(log)
    return r


cdef ptx_image *still_linked(const char *image) noexcept nogil:
    """The executor's image of a link state that still has this one, or NULL."""
    cdef handle_range *r = &handle_ranges[LINK]
    cdef link_state *l
    cdef size_t i
    for i in range(r.used):
        l = <link_state *>(r.base + i * r.step)
        if is_handle(LINK, l) and l.image == image and l.head.serial == (<image_head *>image).serial:
            return l.linked
    return NULL


cdef public int cuLinkCreate_v2(unsigned n, int *options, void **values, void **to) noexcept nogil:
    """A link state.  Options that return something must stay where they are until cuLinkComplete."""
    cdef context *c
    cdef link_state *l
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or (n and (options == NULL or values == NULL)):
        return CUDA_ERROR_INVALID_VALUE
    l = <link_state *>new_handle(LINK)
    if l == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    read_options(&l.options, n, options, values)
    to[0] = l
    return CUDA_SUCCESS


cdef public int cuLinkCreate(unsigned n, int *options, void **values, void **to) noexcept nogil:
    """The name of CUDA 5.5."""
    return cuLinkCreate_v2(n, options, values, to)


cdef public int cuLinkAddData_v2(void *p, int kind, const void *data, size_t size, const char *name, unsigned n,
                                 int *options, void **values) noexcept nogil:
    """Add a PTX text (it is copied).  Machine code, fat binaries and libraries are CUDA_ERROR_NO_BINARY_FOR_GPU."""
    cdef link_state *l = <link_state *>p
    cdef context *c
    cdef double start = now_ms()
    cdef size_t length = 0
    cdef char numbered[48]
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(LINK, p) or l.complete:
        return CUDA_ERROR_INVALID_HANDLE
    if data == NULL or size == 0:
        return CUDA_ERROR_INVALID_VALUE
    if kind != CU_JIT_INPUT_PTX:
        log_error(&l.options,
                  b"only PTX text can be linked for the emulated device, no machine code, fat binary or library")
        return CUDA_ERROR_NO_BINARY_FOR_GPU if 0 <= kind <= 4 else CUDA_ERROR_INVALID_VALUE
    while length < size and (<const char *>data)[length]:
        length += 1
    if name == NULL:
        snprintf(numbered, sizeof(numbered), b"object %llu",
                 <unsigned long long>((<image_head *>l.image).objects + 1 if l.image != NULL else 1))
        name = numbered
    r = check_text(&l.options, c.device, <const char *>data, length, name)
    if r == CUDA_SUCCESS and not add_text(&l.image, &l.used, &l.room, <const char *>data, length, name):
        r = CUDA_ERROR_OUT_OF_MEMORY
    l.spent += now_ms() - start
    return r


cdef public int cuLinkAddData(void *p, int kind, void *data, size_t size, const char *name, unsigned n, int *options,
                              void **values) noexcept nogil:
    """The name of CUDA 5.5."""
    return cuLinkAddData_v2(p, kind, data, size, name, n, options, values)


cdef char *read_file(const char *path, size_t *size) noexcept nogil:
    """A file's contents, with a NUL behind; NULL if it can't be read."""
    cdef FILE *f = gompy_fopen(path)
    cdef char *text = NULL
    cdef char *more
    cdef size_t room = 0, n
    if f == NULL:
        return NULL
    size[0] = 0
    while True:
        if size[0] + 1 >= room:
            room = 2 * room + 65536
            more = <char *>realloc(text, room)
            if more == NULL:
                free(text)
                fclose(f)
                return NULL
            text = more
        n = fread(text + size[0], 1, room - size[0] - 1, f)
        if n == 0:
            break
        size[0] += n
    n = ferror(f)
    fclose(f)
    if n:
        free(text)
        return NULL
    text[size[0]] = 0
    return text


cdef public int cuLinkAddFile_v2(void *p, int kind, const char *path, unsigned n, int *options,
                                 void **values) noexcept nogil:
    """Add a PTX file."""
    cdef size_t size = 0
    cdef char *text
    cdef const char *name
    cdef int r
    if not is_handle(LINK, p):
        return CUDA_ERROR_INVALID_HANDLE
    if path == NULL:
        return CUDA_ERROR_INVALID_VALUE
    text = read_file(path, &size)
    if text == NULL:
        return CUDA_ERROR_FILE_NOT_FOUND
    name = strrchr(path, 47)
    r = cuLinkAddData_v2(p, kind, text, size + 1, name + 1 if name != NULL else path, n, options, values)
    free(text)
    return r


cdef public int cuLinkAddFile(void *p, int kind, const char *path, unsigned n, int *options,
                              void **values) noexcept nogil:
    """The name of CUDA 5.5."""
    return cuLinkAddFile_v2(p, kind, path, n, options, values)


cdef public int cuLinkComplete(void *p, void **image, size_t *size) noexcept nogil:
    """Link; the image belongs to the link state."""
    cdef link_state *l = <link_state *>p
    cdef context *c
    cdef double start = now_ms()
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(LINK, p):
        return CUDA_ERROR_INVALID_HANDLE
    if image == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if l.image == NULL:
        log_error(&l.options, b"nothing to link")
        return CUDA_ERROR_INVALID_VALUE
    if not l.complete:
        (<image_head *>l.image).serial = l.head.serial
        r = link_image(l.image, &l.options, &l.linked)
        l.spent += now_ms() - start
        finish_options(&l.options, l.spent, (<image_head *>l.image).objects)
        if r != CUDA_SUCCESS:
            return r
        l.complete = True
    image[0] = l.image
    if size != NULL:
        size[0] = l.used
    return CUDA_SUCCESS


cdef public int cuLinkDestroy(void *p) noexcept nogil:
    """Destroy a link state and its image; modules that were loaded stay."""
    cdef link_state *l = <link_state *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(LINK, p):
        return CUDA_ERROR_INVALID_HANDLE
    if not bury_handle(LINK, l):
        return CUDA_ERROR_INVALID_HANDLE
    if l.linked != NULL:
        ptx.image_free(l.linked)
    free(l.image)
    l.image = NULL
    free_handle(LINK, l)
    return CUDA_SUCCESS
