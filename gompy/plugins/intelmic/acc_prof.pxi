# Events of OpenACC's profiling interface that happen in a plugin: memory of the device, and launches.  The runtime has the
# thread's structures ready while a construct or call of OpenACC is under way; structures: acc_prof.h, oacc-int.h.

cdef extern from *:
    """
    extern void *GOMP_PLUGIN_acc_thread (void);
    extern void *GOMP_PLUGIN_goacc_thread (void);
    extern void GOMP_PLUGIN_goacc_profiling_dispatch (void *, void *, void *);
    extern int GOMP_PLUGIN_acc_default_dim (unsigned);
    struct mic_acc_thread { void *devices[3], *mapped; int *prof_info, *api_info; };
    struct mic_acc_event
    {
      int event_type, valid_bytes, parent_construct, implicit;
      void *tool_info;
      const char *name;       /* of the variable, of the kernel */
      uintptr_t numbers[3];   /* data: bytes, host, device; launch: gangs, workers, vector length */
    };
    """
    void *GOMP_PLUGIN_acc_thread() nogil
    void *GOMP_PLUGIN_goacc_thread() nogil
    void GOMP_PLUGIN_goacc_profiling_dispatch(void *info, void *event, void *api) nogil
    int GOMP_PLUGIN_acc_default_dim(unsigned i) nogil
    struct mic_acc_thread:
        int *prof_info
        int *api_info
    struct mic_acc_event:
        int event_type
        int valid_bytes
        int parent_construct
        int implicit
        void *tool_info
        const char *name
        uintptr_t numbers[3]

cdef enum:
    ACC_EV_ALLOC = 8
    ACC_EV_FREE = 9
    ACC_EV_ENQUEUE_LAUNCH_START = 18
    ACC_EV_ENQUEUE_LAUNCH_END = 19
    ACC_EV_ENQUEUE_UPLOAD_START = 20
    ACC_EV_ENQUEUE_UPLOAD_END = 21
    ACC_CONSTRUCT_PARALLEL = 0
    ACC_DEVICE_API_OTHER = 4


cdef bint mic_openacc  # a thread of the program uses OpenACC


cdef inline mic_acc_thread *profiled_thread() noexcept nogil:
    """The thread's structures, or NULL while no callback can be interested."""
    cdef mic_acc_thread *thr = <mic_acc_thread *>GOMP_PLUGIN_goacc_thread()
    return thr if thr != NULL and thr.prof_info != NULL else NULL


cdef void send_event(mic_acc_thread *thr, mic_acc_event *event, int type) noexcept nogil:
    thr.prof_info[0] = type
    event.event_type = type
    thr.api_info[0] = ACC_DEVICE_API_OTHER
    GOMP_PLUGIN_goacc_profiling_dispatch(thr.prof_info, event, thr.api_info)


cdef void data_event(int type, size_t n, const void *device) noexcept nogil:
    """acc_ev_alloc, acc_ev_free (of which the size is not known)."""
    cdef mic_acc_event event
    cdef mic_acc_thread *thr = profiled_thread()
    if thr == NULL:
        return
    memset(&event, 0, sizeof(event))
    event.valid_bytes = sizeof(event)
    event.parent_construct = ACC_CONSTRUCT_PARALLEL
    event.implicit = 1
    event.numbers[0] = n
    event.numbers[2] = <uintptr_t>device
    send_event(thr, &event, type)
