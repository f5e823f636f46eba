# OpenACC's structures and numbers.  GoaccThread's layout is read by plugins (libgomp: oacc-int.h); the three of the
# profiling interface by programs (acc_prof.h); constants: openacc.h, acc_prof.h, gomp-constants.h.

cdef extern from "doors/openacc/acc.h":
    ctypedef struct gompy_words_t:
        const void *where  # the directive, or NULL
    void *gompy_acc_thread
    gompy_lock_t gompy_acc_lock
    gompy_lock_t gompy_prof_lock
    gompy_lock_t gompy_gapped_lock
    int gompy_next_word(gompy_words_t *) noexcept nogil

cdef enum:
    # --- acc_device_t; a type is also that of an image ---
    ACC_DEVICE_CURRENT = -1
    ACC_DEVICE_NONE = 0
    ACC_DEVICE_DEFAULT = 1
    ACC_DEVICE_HOST = 2
    ACC_DEVICE_NOT_HOST = 4
    ACC_DEVICE_NVIDIA = 5
    ACC_DEVICE_RADEON = 8
    ACC_DEVICE_HWM = 9

    # --- acc_async_t ---
    ACC_ASYNC_NOVAL = -1
    ACC_ASYNC_SYNC = -2

    # --- flags of the constructs, inverted in the call ---
    GOACC_FLAG_HOST_FALLBACK = 1  # an if clause says no
    GOACC_FLAG_LOCAL_DEVICE = 2  # a self clause says yes (GCC 14)

    # --- launch words of GOACC_parallel_keyed ---
    GOMP_LAUNCH_OP_MAX = 0xFFFF

    # --- acc_event_t ---
    ACC_EV_NONE = 0
    ACC_EV_DEVICE_INIT_START = 1
    ACC_EV_DEVICE_INIT_END = 2
    ACC_EV_DEVICE_SHUTDOWN_END = 4
    ACC_EV_ALLOC = 8
    ACC_EV_FREE = 9
    ACC_EV_ENTER_DATA_START = 10
    ACC_EV_ENTER_DATA_END = 11
    ACC_EV_EXIT_DATA_START = 12
    ACC_EV_EXIT_DATA_END = 13
    ACC_EV_UPDATE_START = 14
    ACC_EV_UPDATE_END = 15
    ACC_EV_COMPUTE_CONSTRUCT_START = 16
    ACC_EV_COMPUTE_CONSTRUCT_END = 17
    ACC_EV_ENQUEUE_LAUNCH_END = 19
    ACC_EV_ENQUEUE_UPLOAD_END = 21
    ACC_EV_ENQUEUE_DOWNLOAD_END = 23
    ACC_EV_WAIT_END = 25
    ACC_EV_LAST = 26

    # --- acc_construct_t ---
    ACC_CONSTRUCT_PARALLEL = 0
    ACC_CONSTRUCT_DATA = 3
    ACC_CONSTRUCT_ENTER_DATA = 4
    ACC_CONSTRUCT_EXIT_DATA = 5
    ACC_CONSTRUCT_HOST_DATA = 6
    ACC_CONSTRUCT_UPDATE = 12
    ACC_CONSTRUCT_RUNTIME_API = 15

    # --- acc_register_t ---
    ACC_REG = 0
    ACC_TOGGLE = 1
    ACC_TOGGLE_PER_THREAD = 2

    ACC_PROF_VERSION = 201711
    ACC_OTHER_EVENT_BYTES = 24  # up to tool_info, with it

cdef struct AccProfInfo:
    int event_type
    int valid_bytes
    int version
    int device_type
    int device_number
    int thread_id
    ssize_t async_arg
    ssize_t async_queue
    const char *src_file
    const char *func_name
    int line_no
    int end_line_no
    int func_line_no
    int func_end_line_no

cdef struct AccEventInfo:
    # acc_data_event_info, the larger members of the union acc_event_info; no other is larger
    int event_type
    int valid_bytes
    int parent_construct
    int implicit
    void *tool_info
    const char *var_name
    size_t bytes
    const void *host_ptr
    uintptr_t device_ptr

cdef struct AccApiInfo:
    int device_api
    int valid_bytes
    int device_type
    int vendor
    const void *device_handle
    const void *context_handle
    const void *async_handle

ctypedef void (*acc_prof_callback)(AccProfInfo *, AccEventInfo *, AccApiInfo *) noexcept nogil

cdef struct ProfCallback:
    acc_prof_callback callback
    int references
    bint enabled
    ProfCallback *next

cdef struct GoaccThread:
    DeviceDescr *base_dev  # first device of the thread's device type
    DeviceDescr *dev
    DeviceDescr *saved_bound_dev  # during a region on the host
    TargetMem *mapped_data  # the data constructs that the thread is in, innermost first
    AccProfInfo *prof_info
    AccApiInfo *api_info
    c_bool prof_callbacks_enabled
    GoaccThread *next
    void *target_tls

cdef struct ProfScope:
    # A construct or a call, and what it tells the callbacks of the profiling interface; `on` only where there may be
    # any.
    Construct construct
    DeviceDescr *dev
    bint on
    GoaccThread *thread
    AccProfInfo info
    AccEventInfo event
    AccApiInfo api
    Construct inner_construct  # the implicit data constructs of a compute construct
    AccEventInfo inner_event
    AccEventInfo *current
