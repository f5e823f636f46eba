# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""libgompy-prof: ACC_PROFLIB=$(gompy config --prof) loads it, and at the program's exit it tells what took how long.

libgomp loads the library and calls acc_register_library.  From then on it gets the events of gompy/native/hooks.h,
which know more than those of OpenACC's profiling interface: names, copies with their times, OpenMP's regions, too.
Everything here is C: no Python objects, no exceptions, no initialisers of module variables.
"""

from libc.errno cimport errno
from libc.stdint cimport uint64_t, uintptr_t
from libc.stdio cimport FILE, fclose, fprintf, snprintf, stderr
from libc.stdlib cimport calloc, free
from libc.string cimport memset, strcmp, strerror, strlen, strstr
from posix.unistd cimport close

from gompy.native.descriptors cimport gompy_open_to_append
from gompy.native.dlfcn cimport RTLD_LAZY, RTLD_NOLOAD, Dl_info, dladdr, dlopen, dlsym
from gompy.native.file_size cimport gompy_write
from gompy.native.environment cimport secure_getenv
from gompy.native.hooks cimport *
from gompy.native.pthread cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

include "rows.pxi"
include "events.pxi"
include "places.pxi"
include "tables.pxi"

cdef extern from *:
    """
    static void gompy_write_profile (void);
    __attribute__ ((destructor)) static void
    gompy_end_profile (void)
    {
      gompy_write_profile ();
    }
    """

ctypedef int (*subscribe_fn)(unsigned kinds, hook_fn fn) noexcept nogil


cdef void write_profile "gompy_write_profile"() noexcept nogil:
    """The program ends."""
    cdef char *text = NULL
    cdef size_t size = 0
    cdef FILE *out
    if not profile.began or profile.pid != getpid():
        return
    profile.over = True
    out = open_memstream(&text, &size)
    if out == NULL:
        return
    pthread_mutex_lock(&profile.lock)
    find_places()
    print_tables(out)
    pthread_mutex_unlock(&profile.lock)
    fclose(out)
    put_profile(text, size)
    free(text)


cdef void put_profile(const char *text, size_t size) noexcept nogil:
    """Write it to stderr, or append it to the file that GOMPY_PROF names."""
    cdef const char *where = secure_getenv(b"GOMPY_PROF")
    cdef int fd = 2
    cdef ssize_t done
    cdef size_t at = 0
    if where != NULL and where[0] == c'/':
        fd = gompy_open_to_append(where)
    elif where != NULL and where[0]:
        fprintf(stderr, b"libgompy-prof: GOMPY_PROF=%s: not an absolute path; the profile is written here\n", where)
    while fd >= 0 and at < size:
        done = gompy_write(fd, text + at, size - at)
        if done <= 0:
            break
        at += done
    if at < size and fd != 2:
        fprintf(stderr, b"libgompy-prof: GOMPY_PROF=%s: cannot be written: %s\n", where, strerror(errno))
    if fd > 2:
        close(fd)


cdef public void acc_register_library(void *register_fn, void *unregister_fn, void *lookup_fn) noexcept nogil:
    """libgomp has loaded this library: begin.  register_fn is libgompy's where the program runs on it."""
    cdef Dl_info info
    cdef void *library = NULL
    cdef void *found = NULL
    if profile.began:
        return
    if register_fn != NULL and dladdr(register_fn, &info) and info.dli_fname != NULL:
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
    if library != NULL:
        found = dlsym(library, b"gompy_subscribe")
    if found == NULL:
        fprintf(stderr, b"libgompy-prof: no profile: this program was not linked by gompcc, gompc++ or gompfortran\n")
        return
    profile.pid = getpid()
    profile.begin = now_ns()
    if (<subscribe_fn> found)(HOOK_CONSTRUCT | HOOK_FALLBACK | HOOK_MAP | HOOK_ALLOC | HOOK_COPY | HOOK_LAUNCH,
                              profile_hook) < 0:
        fprintf(stderr, b"libgompy-prof: no profile: libgompy has eight subscribers already\n")
        return
    profile.began = True
