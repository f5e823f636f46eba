# What a tool can ask for by name, of the runtime and of a device.


cdef int ompt_callback_result(int which) noexcept nogil:
    """What a tool learns of a callback that it sets."""
    if which == OMPT_CALLBACK_TARGET_MAP or which == OMPT_CALLBACK_TARGET_MAP_EMI:
        return OMPT_SET_SOMETIMES  # an asynchronous construct's entries are not told
    if OMPT_CALLBACK_TARGET <= which <= OMPT_CALLBACK_TARGET_SUBMIT:
        return OMPT_SET_ALWAYS
    if OMPT_CALLBACK_DEVICE_INITIALIZE <= which <= OMPT_CALLBACK_DEVICE_UNLOAD:
        return OMPT_SET_ALWAYS
    return OMPT_SET_ALWAYS if OMPT_CALLBACK_TARGET_EMI <= which <= OMPT_CALLBACK_TARGET_SUBMIT_EMI else OMPT_SET_NEVER


cdef int ompt_set_callback(int which, ompt_any_fn callback) noexcept nogil:
    if which < 1 or which > OMPT_CALLBACK_ERROR:
        return OMPT_SET_ERROR
    ompt_callbacks[which] = callback
    return ompt_callback_result(which)


cdef int ompt_get_callback(int which, ompt_any_fn *callback) noexcept nogil:
    if which < 1 or which > OMPT_CALLBACK_ERROR or ompt_callbacks[which] == NULL:
        return 0
    callback[0] = ompt_callbacks[which]
    return 1


cdef int ompt_get_target_info(uint64_t *device, uint64_t *target_id, uint64_t *host_op_id) noexcept nogil:
    """Of the construct that the thread is in; 0: none."""
    cdef Construct *construct = construct_now
    if construct == NULL or ompt_construct_kind(construct) == 0:
        return 0
    device[0] = <uint64_t> (construct.device if construct.device >= 0 else ompt_host_number())
    target_id[0] = ompt_target_id(construct)
    host_op_id[0] = 0
    return 1


cdef int ompt_get_num_devices() noexcept nogil:
    return num_devices_openmp


cdef int ompt_get_num_procs() noexcept nogil:
    return omp_get_num_procs()


cdef uint64_t ompt_get_unique_id() noexcept nogil:
    return new_ompt_id()


cdef uint64_t *ompt_get_thread_data() noexcept nogil:
    return &ompt_thread_cell


cdef int ompt_get_state(uint64_t *wait_id) noexcept nogil:
    """What the calling thread does, as far as that is of a device."""
    cdef Construct *construct = construct_now
    cdef int kind = ompt_construct_kind(construct) if construct != NULL else 0
    if kind == 0:
        return OMPT_STATE_UNDEFINED if construct == NULL else OMPT_STATE_WORK_SERIAL
    if kind == OMPT_TARGET_UPDATE:
        return OMPT_STATE_WAIT_TARGET_UPDATE
    return OMPT_STATE_WAIT_TARGET if kind == OMPT_TARGET or kind >= OMPT_TARGET_NOWAIT else OMPT_STATE_WAIT_TARGET_MAP


cdef int ompt_enumerate_states(int current, int *next, const char **name) noexcept nogil:
    """The state after one; the first after OMPT_STATE_UNDEFINED."""
    if current == OMPT_STATE_UNDEFINED:
        next[0], name[0] = OMPT_STATE_WORK_SERIAL, b"ompt_state_work_serial"
    elif current == OMPT_STATE_WORK_SERIAL:
        next[0], name[0] = OMPT_STATE_WAIT_TARGET, b"ompt_state_wait_target"
    elif current == OMPT_STATE_WAIT_TARGET:
        next[0], name[0] = OMPT_STATE_WAIT_TARGET_MAP, b"ompt_state_wait_target_map"
    elif current == OMPT_STATE_WAIT_TARGET_MAP:
        next[0], name[0] = OMPT_STATE_WAIT_TARGET_UPDATE, b"ompt_state_wait_target_update"
    else:
        return 0
    return 1


cdef int ompt_enumerate_mutex_impls(int current, int *next, const char **name) noexcept nogil:
    """The target part has no mutex."""
    return 0


cdef void ompt_finalize_tool() noexcept nogil:
    end_tool()


cdef ompt_any_fn ompt_lookup(const char *name) noexcept nogil:
    """A routine of the runtime; NULL: there is none of that name."""
    if strcmp(name, b"ompt_set_callback") == 0:
        return <ompt_any_fn> ompt_set_callback
    if strcmp(name, b"ompt_get_callback") == 0:
        return <ompt_any_fn> ompt_get_callback
    if strcmp(name, b"ompt_get_target_info") == 0:
        return <ompt_any_fn> ompt_get_target_info
    if strcmp(name, b"ompt_get_unique_id") == 0:
        return <ompt_any_fn> ompt_get_unique_id
    if strcmp(name, b"ompt_get_num_devices") == 0:
        return <ompt_any_fn> ompt_get_num_devices
    if strcmp(name, b"ompt_get_num_procs") == 0:
        return <ompt_any_fn> ompt_get_num_procs
    if strcmp(name, b"ompt_get_state") == 0:
        return <ompt_any_fn> ompt_get_state
    if strcmp(name, b"ompt_get_thread_data") == 0:
        return <ompt_any_fn> ompt_get_thread_data
    if strcmp(name, b"ompt_enumerate_states") == 0:
        return <ompt_any_fn> ompt_enumerate_states
    if strcmp(name, b"ompt_enumerate_mutex_impls") == 0:
        return <ompt_any_fn> ompt_enumerate_mutex_impls
    return <ompt_any_fn> ompt_finalize_tool if strcmp(name, b"ompt_finalize_tool") == 0 else NULL
