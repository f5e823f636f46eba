# Finding a tool, and its start.  In a program of clang's libomp has found it: that one's callbacks are asked for.

cdef extern from "<stdio.h>" nogil:
    void setlinebuf(void *)
    void *fdopen(int fd, const char *mode)

cdef ompt_start_tool_result_t ompt_of_libomp
cdef bint ompt_nobody  # there is libgompy's ompt_start_tool, and no other
cdef void *ompt_log  # where OMP_TOOL_VERBOSE_INIT wants the search told


cdef void open_tool_log() noexcept nogil:
    """OMP_TOOL_VERBOSE_INIT: disabled, stdout, stderr, or a file."""
    global ompt_log
    cdef const char *word = secure_getenv(b"OMP_TOOL_VERBOSE_INIT")
    cdef int fd
    if word == NULL or not word[0] or word_is(word, b"disabled"):
        return
    if word_is(word, b"stdout"):
        ompt_log = stdout
    elif word_is(word, b"stderr"):
        ompt_log = stderr
    else:
        fd = gompy_open_to_append(word)
        ompt_log = fdopen(fd, b"a") if fd >= 0 else NULL
        if ompt_log == NULL:
            gompy_note(b"OMP_TOOL_VERBOSE_INIT=%s: cannot be written: %s", word, strerror(errno))
        else:
            setlinebuf(ompt_log)


cdef public ompt_start_tool_result_t *ompt_start_tool(unsigned omp_version, const char *runtime) noexcept nogil:
    """libgompy has no tool.  That it has the name makes ld export a program's own function."""
    global ompt_nobody
    cdef ompt_start_tool_fn other = <ompt_start_tool_fn> dlsym(RTLD_NEXT, b"ompt_start_tool")
    ompt_nobody = other == NULL
    return other(omp_version, runtime) if other != NULL else NULL


cdef ompt_start_tool_result_t *ask_tool(void *library, const char *name) noexcept nogil:
    """Ask a library, or the program, for a tool; NULL: it has none, or it does not want to."""
    cdef ompt_start_tool_fn start = <ompt_start_tool_fn> dlsym(library, b"ompt_start_tool")
    cdef ompt_start_tool_result_t *found = NULL
    global ompt_nobody
    ompt_nobody = False
    if start != NULL:
        found = start(OMPT_OPENMP_VERSION, b"gompy (libgompy.so.1)")
    if ompt_log != NULL:
        fprintf(ompt_log, b"libgompy: OMPT: %s: %s\n", name, <const char *> (
            b"no ompt_start_tool" if start == NULL or ompt_nobody else
            b"ompt_start_tool returns NULL" if found == NULL else b"it has a tool"))
    return found


cdef ompt_start_tool_result_t *search_libraries() noexcept nogil:
    """The first of OMP_TOOL_LIBRARIES that has a tool; the others are closed again."""
    cdef const char *list = secure_getenv(b"OMP_TOOL_LIBRARIES")
    cdef const char *end
    cdef char name[4096]
    cdef void *library
    cdef ompt_start_tool_result_t *found
    while list != NULL and list[0]:
        end = strchr(list, c':')
        if end == NULL:
            end = list + strlen(list)
        if end > list and end - list < <ptrdiff_t> sizeof(name):
            memcpy(name, list, end - list)
            name[end - list] = 0
            library = dlopen(name, RTLD_LAZY)
            if library == NULL:
                if ompt_log != NULL:
                    fprintf(ompt_log, b"libgompy: OMPT: %s: %s\n", name, dlerror())
            else:
                found = ask_tool(library, name)
                if found != NULL:
                    return found
                dlclose(library)
        list = end + 1 if end[0] else end
    return NULL


cdef void begin_tool() noexcept nogil:
    """The device list is known: start a tool, if there is one."""
    global ompt_tool
    cdef const char *word = secure_getenv(b"OMP_TOOL")
    cdef ompt_connect_fn connect = <ompt_connect_fn> dlsym(NULL, b"ompt_libomp_connect")
    cdef ompt_start_tool_result_t *found
    if word != NULL and word_is(word, b"disabled"):
        return
    if word != NULL and not word_is(word, b"enabled"):
        gompy_note(b"OMP_TOOL=%s: neither enabled nor disabled; taken as enabled", word)
    if connect != NULL:
        ompt_of_libomp.initialize = <void *> connected_tool
        ompt_of_libomp.finalize = <void *> disconnected_tool
        connect(&ompt_of_libomp)
        return
    open_tool_log()
    found = ask_tool(NULL, b"the program")
    if found == NULL:
        found = search_libraries()
    if found == NULL:
        return
    ompt_subscribe()
    ompt_tool = found
    if ompt_slot < 0 or not (<ompt_initialize_fn> found.initialize)(ompt_lookup, ompt_host_number(), &found.tool_data):
        ompt_tool = NULL
        ompt_unsubscribe()
    if ompt_log != NULL:
        fprintf(ompt_log, b"libgompy: OMPT: the tool %s\n",
                <const char *> (b"is active" if ompt_tool != NULL else b"does not want to be active"))


# --- with libomp (LLVM: libomptarget is connected in the same way)
# --------------------------------------------------------------------------------------------

cdef int connected_tool(ompt_lookup_fn lookup, int initial_device, uint64_t *data) noexcept nogil:
    """libomp has a tool: take its callbacks.  LLVM 16's finds each by its name, later ones have a function for them.

    Those of maps are left out then: LLVM's library never calls them, and libomp has told the tool so.
    """
    global ompt_task_of_other, ompt_target_task_of_other, tgt_when_empty
    cdef ompt_get_callback_fn ask = <ompt_get_callback_fn> lookup(b"ompt_get_callback")
    cdef ompt_any_fn *to
    cdef int i
    cdef int numbers[12]
    cdef const char *names[12]
    fill_callback_names(numbers, names)
    for i in range(12):
        to = &ompt_callbacks[numbers[i]]
        if ask == NULL:
            to[0] = lookup(names[i])
        elif numbers[i] == OMPT_CALLBACK_TARGET_MAP or numbers[i] == OMPT_CALLBACK_TARGET_MAP_EMI \
                or not ask(numbers[i], to):
            to[0] = NULL
    ompt_task_of_other = <ompt_task_data_fn> lookup(b"ompt_get_task_data")
    ompt_target_task_of_other = <ompt_task_data_fn> lookup(b"ompt_get_target_task_data")
    ompt_subscribe()
    tgt_when_empty = ompt_libraries_gone
    return 1


cdef void fill_callback_names(int *numbers, const char **names) noexcept nogil:
    """The callbacks of the target part."""
    numbers[0], names[0] = OMPT_CALLBACK_TARGET, b"ompt_callback_target"
    numbers[1], names[1] = OMPT_CALLBACK_TARGET_DATA_OP, b"ompt_callback_target_data_op"
    numbers[2], names[2] = OMPT_CALLBACK_TARGET_SUBMIT, b"ompt_callback_target_submit"
    numbers[3], names[3] = OMPT_CALLBACK_TARGET_MAP, b"ompt_callback_target_map"
    numbers[4], names[4] = OMPT_CALLBACK_TARGET_EMI, b"ompt_callback_target_emi"
    numbers[5], names[5] = OMPT_CALLBACK_TARGET_DATA_OP_EMI, b"ompt_callback_target_data_op_emi"
    numbers[6], names[6] = OMPT_CALLBACK_TARGET_SUBMIT_EMI, b"ompt_callback_target_submit_emi"
    numbers[7], names[7] = OMPT_CALLBACK_TARGET_MAP_EMI, b"ompt_callback_target_map_emi"
    numbers[8], names[8] = OMPT_CALLBACK_DEVICE_INITIALIZE, b"ompt_callback_device_initialize"
    numbers[9], names[9] = OMPT_CALLBACK_DEVICE_FINALIZE, b"ompt_callback_device_finalize"
    numbers[10], names[10] = OMPT_CALLBACK_DEVICE_LOAD, b"ompt_callback_device_load"
    numbers[11], names[11] = OMPT_CALLBACK_DEVICE_UNLOAD, b"ompt_callback_device_unload"


cdef void disconnected_tool(uint64_t *data) noexcept nogil:
    """libomp ends its tool."""
    global tgt_when_empty
    tgt_when_empty = NULL
    ompt_unsubscribe()
