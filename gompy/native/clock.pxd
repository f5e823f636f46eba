# Time that only goes forward: gompy/native/clock.h.

from libc.stdint cimport uint64_t

cdef extern from "gompy/native/clock.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC, CLOCK_REALTIME
    int clock_gettime(int clock, timespec *to)
    uint64_t now_ns "gompy_now"()
    uint64_t thread_ns "gompy_thread_time"()
    uint64_t process_ns "gompy_process_time"()
    void add_time "gompy_add_time"(timespec *time, uint64_t ns)
