# Threads of the emulated GPU's own, and whether they sleep (own_threads.h).

cdef extern from "gompy/native/own_threads.h" nogil:
    ctypedef struct own_counts "struct gompy_own_counts":
        pass
    enum:
        GOMPY_OWN_PAGE
    void gompy_own_begins()
    void gompy_own_ends()
    void gompy_own_rests()
    void gompy_own_wakes()
