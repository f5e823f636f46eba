# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""libgompy: the offload half of libgomp (GCC 12), in front of the stock library.

One library, two uses.  In a program, libgompy.so.1 takes the calls that gcc makes of target constructs; nothing there
needs an interpreter.  In Python, the same file is the module gompy.runtime.libgompy: SplayTreeView, Device and pair
at its end work on the very tree and mapping functions that programs run on.

Everything above python_view.pxi is C: no Python objects, no exceptions, no initialisers of module variables (the module
body does not run in a program).
"""

from libc.errno cimport EINVAL, errno
from libc.limits cimport INT_MAX
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, intptr_t, uint32_t, uint64_t, uintptr_t
from libc.stdio cimport fwrite, snprintf, stderr
from libc.stdlib cimport atexit, atoi, calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove, memset, strchr, strcmp, strerror, strlen, strncmp, strrchr, strstr

from gompy.native.descriptors cimport gompy_open_to_append
from gompy.native.environment cimport secure_getenv

cdef extern from "support.h":
    ctypedef struct gompy_lock_t:
        pass
    gompy_lock_t gompy_register_lock
    char *gompy_failure
    int gompy_debug_level
    void *gompy_data_stack
    int gompy_fail(const char *fmt, ...) noexcept nogil
    void gompy_error(const char *fmt, ...) noexcept nogil
    void gompy_note(const char *fmt, ...) noexcept nogil
    void gompy_fatal(const char *fmt, ...) noexcept nogil
    void gompy_debug(const char *fmt, ...) noexcept nogil
    void gompy_exit_fatal() noexcept nogil
    void gompy_begin_exit() noexcept nogil
    int gompy_error_exit
    void gompy_wait_for_exit() noexcept nogil
    void gompy_wait_for_error_exit() noexcept nogil
    void gompy_lock_init(gompy_lock_t *) noexcept nogil
    bint gompy_lock_is_mine(gompy_lock_t *) noexcept nogil
    void gompy_lock_acquire(gompy_lock_t *) noexcept nogil
    bint gompy_lock_try(gompy_lock_t *) noexcept nogil
    bint gompy_lock_at_exit(gompy_lock_t *) noexcept nogil
    void gompy_lock_release(gompy_lock_t *) noexcept nogil
    int gompy_load(int *) noexcept nogil
    void gompy_store(int *, int) noexcept nogil
    void *gompy_load_ptr(void *) noexcept nogil
    void gompy_store_ptr(void *, void *) noexcept nogil
    void gompy_count(uint64_t *) noexcept nogil
    uint64_t gompy_read_count(uint64_t *) noexcept nogil
    bint gompy_first(const char **, const char *) noexcept nogil
    void gompy_catch_copy_faults() noexcept nogil

cdef extern from "<ctype.h>" nogil:
    int isspace(int)

cdef extern from "<strings.h>" nogil:
    int strncasecmp(const char *, const char *, size_t)

cdef extern from "<unistd.h>" nogil:
    int F_OK
    int access(const char *, int)
    int close(int)
    ssize_t write(int, const void *, size_t)

cdef extern from "<dlfcn.h>" nogil:
    ctypedef struct Dl_info:
        const char *dli_fname
    int RTLD_LAZY, RTLD_NOLOAD
    void *RTLD_NEXT
    void *dlopen(const char *, int)
    void *dlsym(void *, const char *)
    int dlclose(void *)
    char *dlerror()
    int dladdr(const void *, Dl_info *)

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef struct pthread_attr_t:
        pass
    ctypedef unsigned long pthread_t
    int pthread_mutex_init(pthread_mutex_t *, void *)
    int pthread_mutex_lock(pthread_mutex_t *)
    int pthread_mutex_unlock(pthread_mutex_t *)
    int pthread_mutex_destroy(pthread_mutex_t *)
    int pthread_cond_destroy(pthread_cond_t *)
    int pthread_cond_init(pthread_cond_t *, void *)
    int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *)
    int pthread_cond_signal(pthread_cond_t *)
    int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *) noexcept nogil, void *)
    int pthread_join(pthread_t, void **)
    pthread_t pthread_self()
    int pthread_attr_init(pthread_attr_t *)
    int pthread_attr_destroy(pthread_attr_t *)
    int pthread_attr_getstacksize(const pthread_attr_t *, size_t *)
    int pthread_attr_setstacksize(pthread_attr_t *, size_t)
    int pthread_atfork(void (*)() noexcept nogil, void (*)() noexcept nogil, void (*)() noexcept nogil)

include "consts.pxi"
include "types.pxi"
include "goacc_types.pxi"
include "env.pxi"
include "stock.pxi"
include "report.pxi"
include "places.pxi"
include "splay.pxi"
include "refcount.pxi"
include "constants.pxi"
include "copy.pxi"
include "entries.pxi"
include "guards.pxi"
include "debug.pxi"
include "launches.pxi"
include "own_entries.pxi"
include "struct_pointers.pxi"
include "plan.pxi"
include "map.pxi"
include "unmap.pxi"
include "pairing.pxi"
include "images.pxi"
include "plugin_table.pxi"
include "devices.pxi"
include "host_faults.pxi"
include "fallback.pxi"
include "tasks.pxi"
include "launch.pxi"
include "data.pxi"
include "plugin_services.pxi"
include "api.pxi"
include "fortran.pxi"
include "goacc_profiling.pxi"
include "goacc_threads.pxi"
include "goacc_async.pxi"
include "goacc_data.pxi"
include "goacc_parallel.pxi"
include "acc_device.pxi"
include "acc_memory.pxi"
include "acc_update.pxi"
include "display.pxi"
include "stats.pxi"
include "test_device.pxi"
include "python_view.pxi"
