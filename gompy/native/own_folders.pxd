# Folders of caches that nobody else can have written to: gompy/native/own_folders.h.

cdef extern from "gompy/native/own_folders.h" nogil:
    bint gompy_is_ours(const void *status)
    int gompy_own_folder(int above, const char *name, bint last)
    int gompy_cache_folder(const char *name, bint last)
