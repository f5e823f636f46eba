# PTX that looks like machine code: gompy/native/wrapped_ptx.h.

cdef extern from "gompy/native/wrapped_ptx.h" nogil:
    size_t GOMPY_WRAPPED_PTX_HEAD
    void gompy_wrap_ptx(void *to)
    const char *gompy_wrapped_ptx(const void *image)
