# The driver's own device functions: vprintf, malloc, free, __assertfail.  Called as V: a value a lane, 256 bytes apart.

cdef char *host_place(gompy_warp *w, uint64_t address, uint32_t size, int lane) noexcept nogil:
    """The host address of what the driver's own functions read, checked or not; NULL if there is none."""
    cdef ptx_module *module = (<run *> w.launch).module
    cdef uint64_t offset = address - w.base
    cdef uint32_t i
    if module.image.check & PTX_CHECK_MEMORY and offset <= w.size - size:
        for i in range(size):
            if w.shadow[offset + i] == 0:
                return NULL
    return gompy_place(w, address, size, lane)


cdef uint64_t *argument_values(char *arguments, int number) noexcept nogil:
    """An argument's 32 values; the result is in front of them."""
    return <uint64_t *> (arguments + 256 * (number + 1))


cdef void call_malloc(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    cdef const ptx_memory *memory = (<ptx_module *> w.module).memory
    cdef uint64_t *size = argument_values(arguments, 0)
    cdef int i
    need_room(w, mask)
    while mask:
        i = gompy_lowest(mask)
        mask &= mask - 1
        (<uint64_t *> arguments)[i] = memory.heap_malloc(memory.user, size[i])
        if w.races != NULL and (<uint64_t *> arguments)[i]:
            gompy_race_fresh(<gompy_races *> w.races, (<uint64_t *> arguments)[i], size[i])


cdef void call_free(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    cdef const ptx_memory *memory = (<ptx_module *> w.module).memory
    cdef uint64_t *address = argument_values(arguments, 0)
    cdef int i
    need_room(w, mask)
    while mask:
        i = gompy_lowest(mask)
        mask &= mask - 1
        if address[i]:
            if w.races != NULL:
                forget_freed(w, address[i])
            memory.heap_free(memory.user, address[i])


cdef char *device_text(gompy_warp *w, int lane, uint64_t address, size_t *length) noexcept nogil:
    """A copy of a string in device memory; freed by the caller."""
    cdef size_t used = 0, room = 256
    cdef char *text = <char *> malloc(room)
    cdef char *place
    while True:
        place = host_place(w, address + used, 1, lane)
        if place == NULL:
            free(text)
            stop_warp(w, <uint32_t> 1 << lane, PTX_ERROR_ILLEGAL_ADDRESS, address + used, NULL, 0,
                      "string for vprintf at an illegal address")
        if used + 1 >= room:
            room *= 2
            text = <char *> realloc(text, room)
        text[used] = place[0]
        if place[0] == 0:
            break
        used += 1
    length[0] = used
    return text


cdef uint64_t next_argument(gompy_warp *w, int lane, uint64_t *at, uint32_t size) noexcept nogil:
    """The next variable argument: aligned to its size."""
    cdef uint64_t value = 0
    at[0] = (at[0] + size - 1) // size * size
    cdef char *place = host_place(w, at[0], size, lane)
    if place == NULL:
        stop_warp(w, <uint32_t> 1 << lane, PTX_ERROR_ILLEGAL_ADDRESS, at[0], NULL, 0,
                  "argument of vprintf at an illegal address")
    memcpy(&value, place, size)
    at[0] += size
    return value


cdef struct growing:
    char *data
    size_t used
    size_t room


cdef void grow_text(growing *out, const char *text, size_t length) noexcept nogil:
    """Append bytes."""
    if out.used + length + 1 > out.room:
        out.room = (out.used + length + 1) * 2
        out.data = <char *> realloc(out.data, out.room)
    memcpy(out.data + out.used, text, length)
    out.used += length


cdef extern from *:
    """
    static int gompy_format_integer (char *out, size_t size, const char *spec, unsigned long long value)
    { return snprintf (out, size, spec, value); }
    static int gompy_format_double (char *out, size_t size, const char *spec, uint64_t bits)
    { double d; memcpy (&d, &bits, 8); return snprintf (out, size, spec, d); }
    static int gompy_format_text (char *out, size_t size, const char *spec, const char *text)
    { return snprintf (out, size, spec, text); }
    """
    int gompy_format_integer(char *out, size_t size, const char *spec, unsigned long long value) noexcept nogil
    int gompy_format_double(char *out, size_t size, const char *spec, uint64_t bits) noexcept nogil
    int gompy_format_text(char *out, size_t size, const char *spec, const char *text) noexcept nogil


cdef int print_lane(gompy_warp *w, int lane, uint64_t format, uint64_t arguments) noexcept nogil:
    """One lane's vprintf; returns the number of arguments, as CUDA's does."""
    cdef const ptx_memory *memory = (<ptx_module *> w.module).memory
    cdef growing out
    cdef size_t length = 0, n
    cdef char spec[64]
    cdef char piece[4400]
    cdef char *text = device_text(w, lane, format, &length)
    cdef char *at = text
    cdef char *string
    cdef char *wide
    cdef size_t used
    cdef int count = 0, longs, made
    cdef uint64_t value
    cdef char kind
    out.data, out.used, out.room = NULL, 0, 0
    while at[0]:
        if at[0] != b"%":
            n = 0
            while at[n] and at[n] != b"%":
                n += 1
            grow_text(&out, at, n)
            at += n
            continue
        if at[1] == b"%":
            grow_text(&out, at, 1)
            at += 2
            continue
        used, longs = 1, 0
        spec[0] = b"%"
        at += 1
        while at[0] and strchr("-+ #0123456789.*", at[0]) != NULL and used < 40:
            if at[0] == b"*":
                value = next_argument(w, lane, &arguments, 4)
                count += 1
                used += snprintf(spec + used, sizeof(spec) - used, "%d", <int> <int32_t> value)
                at += 1
                continue
            spec[used] = at[0]
            used += 1
            at += 1
        while at[0] and strchr("hlLqjzt", at[0]) != NULL:
            if at[0] != b"h":
                longs = 8
            at += 1
        kind = at[0]
        if kind == 0:
            break
        at += 1
        count += 1
        made = 0
        if strchr("diouxXc", kind) != NULL:
            value = next_argument(w, lane, &arguments, 8 if longs else 4)
            if (kind == b"d" or kind == b"i") and not longs:
                value = <uint64_t> <int64_t> <int32_t> value
            if kind != b"c":
                spec[used] = spec[used + 1] = b"l"
                used += 2
            spec[used], spec[used + 1] = kind, 0
            made = gompy_format_integer(piece, sizeof(piece), spec, value)
        elif kind == b"p":
            value = next_argument(w, lane, &arguments, 8)
            made = snprintf(piece, sizeof(piece), "0x%llx", <unsigned long long> value)
        elif strchr("eEfFgGaA", kind) != NULL:
            value = next_argument(w, lane, &arguments, 8)
            spec[used], spec[used + 1] = kind, 0
            made = gompy_format_double(piece, sizeof(piece), spec, value)
        elif kind == b"s":
            value = next_argument(w, lane, &arguments, 8)
            string = device_text(w, lane, value, &n) if value else NULL
            spec[used], spec[used + 1] = kind, 0
            wide = <char *> malloc(n + 512) if string != NULL else NULL
            if string != NULL:
                made = gompy_format_text(wide, n + 512, spec, string)
                grow_text(&out, wide, <size_t> made if <size_t> made < n + 512 else n + 511)
                free(wide)
                free(string)
            else:
                grow_text(&out, "(null)", 6)
            made = 0
        else:
            grow_text(&out, &kind, 1)
        if made > 0:
            grow_text(&out, piece, <size_t> made if <size_t> made < sizeof(piece) else sizeof(piece) - 1)
    if out.used:
        if memory.print_text != NULL:
            memory.print_text(memory.user, out.data, out.used)
        else:
            fwrite(out.data, 1, out.used, stdout)
    free(out.data)
    free(text)
    return count


cdef void call_vprintf(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    cdef uint64_t *format = argument_values(arguments, 0)
    cdef uint64_t *values = argument_values(arguments, 1)
    cdef int i
    need_room(w, mask)
    for i in range(32):
        if mask >> i & 1:
            (<uint32_t *> arguments)[i] = <uint32_t> print_lane(w, i, format[i], values[i])


cdef void tell_assertion(gompy_warp *w, int lane, char *arguments, char *to, size_t size) noexcept nogil:
    """A thread's failed assertion: its line on stderr, in the form that CUDA's has, and the words of the error."""
    cdef char *texts[3]
    cdef uint32_t line = (<uint32_t *> argument_values(arguments, 2))[lane]
    cdef size_t n
    cdef int i
    for i in range(3):  # message, file, function
        texts[i] = device_text(w, lane, argument_values(arguments, i if i < 2 else 3)[lane], &n)
    fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
            texts[1], line, texts[2], w.ctaid[0], w.ctaid[1], w.ctaid[2], w.tid[0][lane], w.tid[1][lane],
            w.tid[2][lane], texts[0])
    snprintf(to, size, "assertion '%s' failed at %s:%u", texts[0], texts[1], line)
    for i in range(3):
        free(texts[i])


cdef void call_assertfail(gompy_warp *w, uint32_t mask, char *arguments, void *what) noexcept nogil:
    """__assertfail (message, file, line, function, size)."""
    cdef char text[512]
    cdef int lane
    need_room(w, mask)
    for lane in range(32):
        if mask >> lane & 1:
            tell_assertion(w, lane, arguments, text, sizeof(text))
    stop_warp(w, mask, PTX_ERROR_ASSERT, 0, NULL, 0, text)


cdef void call_builtin_uniform(gompy_warp *w, uint32_t mask, char *arguments, descriptor *d) noexcept nogil:
    """One of these functions called through a pointer by scalar code: arguments are single words."""
    cdef uint64_t wide[32 * 6]
    cdef uint64_t *words = <uint64_t *> arguments
    cdef int i, k
    memset(wide, 0, sizeof(wide))
    for k in range(1, 3):
        for i in range(32):
            wide[32 * k + i] = words[k] if k == 1 or strcmp(d.name, "vprintf") == 0 else 0
    (<gompy_code_fn> d.code[FORM_V])(w, mask, <char *> wide, d)
    if strcmp(d.name, "vprintf") == 0:
        words[0] = (<uint32_t *> wide)[gompy_lowest(mask)]
    elif strcmp(d.name, "malloc") == 0:
        words[0] = wide[gompy_lowest(mask)]
