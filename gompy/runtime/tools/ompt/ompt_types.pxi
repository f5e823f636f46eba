# OMPT, the target part of OpenMP 5.1's interface for tools: its functions' types.  Numbers and records:
# gompy/abi/ompt.py.

from gompy.native.ompt cimport *

cdef extern from *:
    """
    /* Of a thread that no task is known of: what a tool keeps of it; its number.  */
    static __thread uint64_t gompy_ompt_task;
    static __thread uint64_t gompy_ompt_target_task;
    static __thread uint64_t gompy_ompt_thread;
    static __thread uint64_t gompy_ompt_thread_cell;
    """
    uint64_t ompt_task_cell "gompy_ompt_task"
    uint64_t ompt_target_task_cell "gompy_ompt_target_task"
    uint64_t ompt_thread_number "gompy_ompt_thread"
    uint64_t ompt_thread_cell "gompy_ompt_thread_cell"

# A word that a tool keeps (ompt_data_t) is a uint64_t here.
ctypedef void (*ompt_any_fn)() noexcept nogil
ctypedef ompt_any_fn (*ompt_lookup_fn)(const char *name) noexcept nogil
ctypedef int (*ompt_initialize_fn)(ompt_lookup_fn lookup, int initial_device, uint64_t *tool_data) noexcept nogil
ctypedef void (*ompt_finalize_fn)(uint64_t *tool_data) noexcept nogil
ctypedef ompt_start_tool_result_t *(*ompt_start_tool_fn)(unsigned omp_version, const char *runtime) noexcept nogil
ctypedef void (*ompt_connect_fn)(ompt_start_tool_result_t *result) noexcept nogil
ctypedef int (*ompt_get_callback_fn)(int which, ompt_any_fn *callback) noexcept nogil
ctypedef uint64_t *(*ompt_task_data_fn)() noexcept nogil

ctypedef void (*ompt_device_initialize_fn)(int device, const char *type, void *handle, ompt_lookup_fn lookup,
                                           const char *documentation) noexcept nogil
ctypedef void (*ompt_device_finalize_fn)(int device) noexcept nogil
ctypedef void (*ompt_device_load_fn)(int device, const char *filename, int64_t offset_in_file, void *vma_in_file,
                                     size_t bytes, void *host_addr, void *device_addr,
                                     uint64_t module_id) noexcept nogil
ctypedef void (*ompt_device_unload_fn)(int device, uint64_t module_id) noexcept nogil
ctypedef void (*ompt_target_fn)(int kind, int endpoint, int device, uint64_t *task_data, uint64_t target_id,
                                const void *codeptr_ra) noexcept nogil
ctypedef void (*ompt_target_emi_fn)(int kind, int endpoint, int device, uint64_t *task_data,
                                    uint64_t *target_task_data, uint64_t *target_data,
                                    const void *codeptr_ra) noexcept nogil
ctypedef void (*ompt_data_op_fn)(uint64_t target_id, uint64_t host_op_id, int optype, void *src, int src_device,
                                 void *dest, int dest_device, size_t bytes, const void *codeptr_ra) noexcept nogil
ctypedef void (*ompt_data_op_emi_fn)(int endpoint, uint64_t *target_task_data, uint64_t *target_data,
                                     uint64_t *host_op_id, int optype, void *src, int src_device, void *dest,
                                     int dest_device, size_t bytes, const void *codeptr_ra) noexcept nogil
ctypedef void (*ompt_submit_fn)(uint64_t target_id, uint64_t host_op_id, unsigned teams) noexcept nogil
ctypedef void (*ompt_submit_emi_fn)(int endpoint, uint64_t *target_data, uint64_t *host_op_id,
                                    unsigned teams) noexcept nogil
ctypedef void (*ompt_map_fn)(uint64_t target_id, unsigned items, void **host, void **device, size_t *bytes,
                             unsigned *flags, const void *codeptr_ra) noexcept nogil
ctypedef void (*ompt_map_emi_fn)(uint64_t *target_data, unsigned items, void **host, void **device, size_t *bytes,
                                 unsigned *flags, const void *codeptr_ra) noexcept nogil

ctypedef void (*ompt_buffer_request_fn)(int device, char **buffer, size_t *bytes) noexcept nogil
ctypedef void (*ompt_buffer_complete_fn)(int device, char *buffer, size_t bytes, uint64_t begin,
                                         int owned) noexcept nogil

cdef ompt_any_fn ompt_callbacks[64]  # by number; what libgompy never calls is kept, too
cdef int ompt_slot  # among the hooks' subscribers
cdef uint64_t ompt_ids
cdef uint64_t ompt_threads
cdef ompt_task_data_fn ompt_task_of_other  # libomp's, in a program of clang; or NULL
cdef ompt_task_data_fn ompt_target_task_of_other  # the same of the target task


cdef inline uint64_t new_ompt_id() noexcept nogil:
    """A number that no other thing has: odd, while those of constructs are even."""
    gompy_count(&ompt_ids)
    return gompy_read_count(&ompt_ids) * 2 + 1


cdef inline uint64_t ompt_target_id(const Construct *construct) noexcept nogil:
    return construct.number * 2


cdef uint64_t ompt_this_thread() noexcept nogil:
    global ompt_thread_number
    if ompt_thread_number == 0:
        gompy_count(&ompt_threads)
        ompt_thread_number = gompy_read_count(&ompt_threads)
    return ompt_thread_number


cdef uint64_t *ompt_task_data() noexcept nogil:
    """The word of the task that a construct stands in: libgomp has none, so each thread is one."""
    cdef uint64_t *found = ompt_task_of_other() if ompt_task_of_other != NULL else NULL
    return found if found != NULL else &ompt_task_cell


cdef uint64_t *ompt_target_task_data() noexcept nogil:
    """The word of a construct's target task, never NULL: tools written for LLVM's runtime read it without a look."""
    cdef uint64_t *found = ompt_target_task_of_other() if ompt_target_task_of_other != NULL else NULL
    return found if found != NULL else &ompt_target_task_cell


cdef int ompt_construct_kind(const Construct *construct) noexcept nogil:
    """OMPT_TARGET*; 0: a routine, or nothing of OpenMP."""
    cdef const char *what = construct.what
    if strcmp(what, b"target") == 0:
        return OMPT_TARGET
    if strcmp(what, b"target data") == 0 or strcmp(what, b"target enter data") == 0:
        return OMPT_TARGET_ENTER_DATA
    if strcmp(what, b"end of target data") == 0 or strcmp(what, b"target exit data") == 0:
        return OMPT_TARGET_EXIT_DATA
    if strcmp(what, b"target update") == 0:
        return OMPT_TARGET_UPDATE
    return OMPT_TARGET_NOWAIT if strcmp(what, b"target nowait") == 0 else 0


cdef bint ompt_is_openmp(const Construct *construct) noexcept nogil:
    return construct != NULL and (ompt_construct_kind(construct) != 0 or strncmp(construct.what, b"omp_", 4) == 0)


cdef inline const void *ompt_code(const Construct *construct) noexcept nogil:
    """codeptr_ra: where the program goes on after its call; a construct's `where` is within the call."""
    return <const char *> construct.where + 1 if construct != NULL and construct.where != NULL else NULL


cdef inline int ompt_host_number() noexcept nogil:
    """The initial device's."""
    return num_devices_openmp
