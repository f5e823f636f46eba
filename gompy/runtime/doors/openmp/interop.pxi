# Interoperability objects (OpenMP 5.1; libgomp of GCC 15: target.c): what a program gets of a device to use it by other
# means than directives.  Plugins make them; omp_interop_none, NULL, is the host's.

cdef bint has_stream(const InteropWork *work) noexcept nogil:
    """Whether there is anything to wait for: without targetsync, nowait has no effect."""
    cdef int i
    for i in range(work.num_used):
        if work.used[i] != NULL and work.used[i].stream != NULL:
            return True
    for i in range(work.num_ended):
        if work.ended[i][0] != NULL and work.ended[i][0].stream != NULL:
            return True
    return False


cdef void interop_task_body(void *data) noexcept nogil:
    cdef InteropWork *work = (<InteropWork **> data)[0]
    finish_interop(work)
    free(work)


cdef InteropWork *keep_interop(const InteropWork *work) noexcept nogil:
    """A copy that outlives the directive, whose arrays may be its frame's."""
    cdef size_t words = <size_t> work.num_used + <size_t> work.num_ended
    cdef InteropWork *kept = <InteropWork *> malloc(sizeof(InteropWork) + words * sizeof(void *))
    if kept == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (words * sizeof(void *)))
    kept[0] = work[0]
    kept.used = <InteropObject **> (kept + 1)
    kept.ended = <InteropObject ***> (kept.used + work.num_used)
    if work.num_used:
        memcpy(kept.used, work.used, work.num_used * sizeof(void *))
    if work.num_ended:
        memcpy(kept.ended, work.ended, work.num_ended * sizeof(void *))
    return kept


cdef public void GOMP_interop(int device, int num_new, InteropObject ***new, const int *wanted, const char **preferred,
                              int num_used, InteropObject **used, int num_ended, InteropObject ***ended,
                              unsigned flags, void **depend) noexcept nogil:
    """`#pragma omp interop`, and the objects of append_args.  Objects are made at once, whatever nowait says.

    The device's number is that of the source: -1 is the initial device, -5 stands for no device clause.
    """
    cdef InteropWork work
    cdef InteropWork *kept
    cdef DeviceDescr *dev = NULL
    cdef const char *reason = NULL
    cdef int i
    work.num_used = num_used
    work.num_ended = num_ended
    work.used = used
    work.ended = ended
    if num_new and device != OMP_INITIAL_DEVICE:
        dev = resolve_device(device, &reason)
    for i in range(num_new):
        make_interop(dev, new[i], wanted[i], preferred[i] if preferred != NULL else NULL)
    if flags & GOMP_INTEROP_FLAG_NOWAIT and has_stream(&work):
        kept = keep_interop(&work)
        GOMP_task(interop_task_body, &kept, copy_task_pointer, sizeof(void *), sizeof(void *), True,
                  GOMP_TASK_FLAG_DEPEND if depend != NULL else 0, depend, 0, NULL)
        return
    finish_interop(&work)
    if depend != NULL:
        GOMP_taskwait_depend(depend)


# --- routines
# ------------------------------------------------------------------------------------------------------------------

cdef DeviceDescr *asked_interop(InteropObject *object, int property, int *code) noexcept nogil:
    """The device to ask for a property; NULL, with the code, where nothing can be said."""
    cdef DeviceDescr *dev = NULL
    cdef int why = OMP_IRC_OUT_OF_RANGE
    if OMP_IPR_FIRST <= property < 0:
        dev = interop_device(object)
        why = OMP_IRC_EMPTY
    if dev == NULL and code != NULL:
        code[0] = why
    return dev


cdef public int omp_get_num_interop_properties(InteropObject *object) noexcept nogil:
    """Beyond the properties of the standard, whose numbers are negative."""
    return 0


cdef public intptr_t omp_get_interop_int(InteropObject *object, int property, int *code) noexcept nogil:
    cdef DeviceDescr *dev = asked_interop(object, property, code)
    return device_interop_int(dev, object, property, code) if dev != NULL else 0


cdef public void *omp_get_interop_ptr(InteropObject *object, int property, int *code) noexcept nogil:
    cdef DeviceDescr *dev = asked_interop(object, property, code)
    return device_interop_ptr(dev, object, property, code) if dev != NULL else NULL


cdef public const char *omp_get_interop_str(InteropObject *object, int property, int *code) noexcept nogil:
    cdef DeviceDescr *dev = asked_interop(object, property, code)
    return device_interop_str(dev, object, property, code) if dev != NULL else NULL


cdef public const char *omp_get_interop_name(InteropObject *object, int property) noexcept nogil:
    return gompy_interop_name(property)


cdef public const char *omp_get_interop_type_desc(InteropObject *object, int property) noexcept nogil:
    """The C type of a property's value."""
    cdef DeviceDescr *dev = asked_interop(object, property, NULL)
    if dev == NULL:
        return NULL
    if property == OMP_IPR_FR_ID:
        return b"omp_interop_t"
    if property == OMP_IPR_FR_NAME or property == OMP_IPR_VENDOR_NAME:
        return b"const char *"
    if property == OMP_IPR_VENDOR or property == OMP_IPR_DEVICE_NUM:
        return b"int"
    return device_interop_type(dev, object, property)


cdef public const char *omp_get_interop_rc_desc(InteropObject *object, int code) noexcept nogil:
    return gompy_interop_code(code, OMP_IRC_TYPE_STR)


# --- Fortran: a pointer to the characters, and how many
# -------------------------------------------------------------------------------------------

cdef void fortran_text(const char **result, size_t *length, const char *text) noexcept nogil:
    result[0] = text
    length[0] = strlen(text) if text != NULL else 0


cdef public void omp_get_interop_str_(const char **result, size_t *length, InteropObject *object, int property,
                                      int *code) noexcept nogil:
    fortran_text(result, length, omp_get_interop_str(object, property, code))


cdef public void omp_get_interop_name_(const char **result, size_t *length, InteropObject *object,
                                       int property) noexcept nogil:
    fortran_text(result, length, omp_get_interop_name(object, property))


cdef public void omp_get_interop_type_desc_(const char **result, size_t *length, InteropObject *object,
                                            int property) noexcept nogil:
    fortran_text(result, length, omp_get_interop_type_desc(object, property))


cdef public void omp_get_interop_rc_desc_(const char **result, size_t *length, InteropObject *object,
                                          int code) noexcept nogil:
    fortran_text(result, length, omp_get_interop_rc_desc(object, code))


# --- the emulated MIC's streams: what a program can put into one
# ------------------------------------------------------------------------------

cdef DeviceDescr *stream_device(const InteropObject *object) noexcept nogil:
    """The device whose queue an object's stream is, or NULL."""
    cdef DeviceDescr *dev = interop_device(object)
    if dev == NULL or object.fr != GOMPY_INTEROP_ID or object.stream == NULL or not device_has_queues(dev):
        return NULL
    return dev


cdef public int gompy_interop_call(InteropObject *object, void (*fn)(void *) noexcept nogil, void *data) noexcept nogil:
    """Have a function of the host called when an object's stream comes to it; EINVAL if it has none of ours."""
    cdef DeviceDescr *dev = stream_device(object)
    if dev == NULL or fn == NULL:
        return EINVAL
    device_queue_call(dev, object.stream, fn, data)
    return 0


cdef public int gompy_interop_copy(InteropObject *object, void *to, const void *what, size_t size,
                                   int to_device) noexcept nogil:
    """Copy between host and device when an object's stream comes to it; EINVAL if it has none of ours."""
    cdef DeviceDescr *dev = stream_device(object)
    if dev == NULL:
        return EINVAL
    if to_device:
        return 0 if device_queue_host2dev(dev, to, what, size, object.stream) else EINVAL
    return 0 if device_queue_dev2host(dev, to, what, size, object.stream) else EINVAL
