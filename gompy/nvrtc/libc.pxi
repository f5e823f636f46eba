# What the library uses of the C library.

from libc.stdint cimport uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, strcmp, strlen
from posix.unistd cimport close, lseek, read, write

from gompy.native.descriptors cimport gompy_memfd, gompy_raised
from gompy.native.nvrtc cimport (
    NVRTC_ARCHITECTURES, NVRTC_ERROR_INTERNAL_ERROR, NVRTC_ERROR_INVALID_INPUT,
    NVRTC_ERROR_INVALID_PROGRAM, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
    NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION,
    NVRTC_ERROR_OUT_OF_MEMORY, NVRTC_MAJOR, NVRTC_MINOR, NVRTC_RECORD_EXPRESSION, NVRTC_RECORD_HEADER,
    NVRTC_RECORD_HEADER_NAME, NVRTC_RECORD_LOG, NVRTC_RECORD_LOWERED, NVRTC_RECORD_MACHINE, NVRTC_RECORD_NAME,
    NVRTC_RECORD_OPTION, NVRTC_RECORD_PTX, NVRTC_RECORD_RESULT, NVRTC_RECORD_SOURCE, NVRTC_SUCCESS,
    nvrtc_architectures, nvrtc_result_name,
)
from gompy.native.pthread cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock,
)

cdef extern from "start.h" nogil:
    pthread_mutex_t nvrtc_lock
    int FIRST_FD "GOMPY_NVRTC_FIRST_FD"
    bint gompy_nvrtc_run(int request, int answer, char *why, size_t size)
