# Events of the OpenACC profiling interface that a plugin dispatches: gompy/native/profiling.h.

from libc.stdint cimport uint64_t

cdef extern from "gompy/native/profiling.h" nogil:
    ctypedef struct acc_event_info:
        pass
    ctypedef struct acc_prof_info:
        pass
    ctypedef struct GoaccThread "struct goacc_thread_head":
        pass
    int acc_device_api_cuda, acc_device_api_other
    int acc_ev_alloc, acc_ev_free, acc_ev_enqueue_upload_start, acc_ev_enqueue_upload_end
    GoaccThread *profiled()
    acc_prof_info *profile_pause()
    void profile_resume(acc_prof_info *)
    void profile_data(GoaccThread *, int api, int type, uint64_t device, const void *host, size_t size)
    void profile_launch(GoaccThread *, int api, acc_event_info *, const char *kernel, const unsigned *dims)
