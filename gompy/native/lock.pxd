# A lock that costs a few instructions where nobody waits for it: gompy/native/lock.h.

cdef extern from "gompy/native/lock.h" nogil:
    ctypedef struct gompy_quick_lock:
        pass
    void gompy_quick_init(gompy_quick_lock *lock)
    void gompy_quick_acquire(gompy_quick_lock *lock)
    bint gompy_quick_try(gompy_quick_lock *lock)
    void gompy_quick_release(gompy_quick_lock *lock)
