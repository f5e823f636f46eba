# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""libgomp-plugin-python.so.1: devices written in Python.

Exports the GOMP_OFFLOAD_* functions of GCC 12's plugin interface (libgomp-plugin.h: version 1) and forwards each to an
object of the class that GOMPY_PYTHON_DEVICE names (device.py).  Unlike the project's other compiled parts it needs an
interpreter: it is linked to libpython, uses the process's interpreter if there is one and else starts one at its first
use (boot.pxi).  Its functions may be called by any thread.
"""

from libc.stddef cimport wchar_t
from libc.stdint cimport int64_t, intptr_t, uintptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport atexit
from libc.string cimport memset, strcpy, strrchr
from posix.stdlib cimport realpath
from posix.unistd cimport F_OK, X_OK, access

from gompy.native.clock cimport timespec
from gompy.native.dlfcn cimport Dl_info, RTLD_GLOBAL, RTLD_NOLOAD, RTLD_NOW, dladdr, dlopen
from gompy.native.environment cimport gompy_privileged, secure_getenv
from gompy.native.gomp cimport (
    GOMP_DEVICE_INTEL_MIC,
    GOMP_OFFLOAD_CAP_OPENMP_400,
    GOMP_TARGET_ARG_NUM_TEAMS,
    GOMP_TARGET_ARG_THREAD_LIMIT,
)
from gompy.native.interpreter cimport gompy_python_of
from gompy.native.launch_words cimport NO_TEAMS_CONSTRUCT, LaunchWord, take_word
from gompy.native.runtime_interface cimport gompy_answer_count, gompy_answer_version
from gompy.native.plugin cimport (
    AddrPair,
    GOMP_PLUGIN_error,
    GOMP_PLUGIN_fatal,
    GOMP_PLUGIN_malloc,
    ImageRange,
    c_bool,
)
from gompy.native.pthread cimport pthread_atfork, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock
from gompy.native.signals cimport (
    SIGPIPE, SIG_BLOCK, SIG_SETMASK, pthread_sigmask, sigaddset, sigemptyset, sigismember, sigset_t)

cdef extern from "<signal.h>" nogil:
    int sigtimedwait(const sigset_t *, void *, const timespec *)

cdef extern from "Python.h":
    int PyBUF_READ, PyBUF_WRITE
    object PyMemoryView_FromMemory(char *, Py_ssize_t, int)

cdef extern from *:
    """
    static pthread_mutex_t gompy_boot_lock = PTHREAD_MUTEX_INITIALIZER;
    """
    pthread_mutex_t boot_lock "gompy_boot_lock"

include "state.pxi"
include "boot.pxi"
include "calls.pxi"


cdef void after_fork() noexcept nogil:
    """In a forked child the devices are the parent's, and its other threads may have held the interpreter's lock."""
    global in_fork
    in_fork = 1


cdef void at_end() noexcept nogil:
    """At exit, after the runtime has finalised its devices."""
    cdef sigset_t old
    if not in_fork:
        hold_sigpipe(&old)
        call_at_exit()
        release_sigpipe(&old)


cdef void hold_sigpipe(sigset_t *old) noexcept nogil:
    """Hold SIGPIPE back: Python code expects an exception where a peer is gone, not the program's end."""
    cdef sigset_t pipes
    sigemptyset(&pipes)
    sigaddset(&pipes, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipes, old)


cdef void release_sigpipe(sigset_t *old) noexcept nogil:
    """Drop a SIGPIPE that came meanwhile; it is sent to the thread that wrote."""
    cdef sigset_t pipes
    cdef timespec now
    if sigismember(old, SIGPIPE):
        return
    sigemptyset(&pipes)
    sigaddset(&pipes, SIGPIPE)
    memset(&now, 0, sizeof(now))
    sigtimedwait(&pipes, NULL, &now)
    pthread_sigmask(SIG_SETMASK, old, NULL)


cdef bint be_ready() noexcept nogil:
    """Start what is needed at the first call.  False, after one message, if there can be no device."""
    global opened
    cdef char reason[REASON_SIZE]
    cdef sigset_t old
    pthread_mutex_lock(&boot_lock)
    if opened == 0:
        hold_sigpipe(&old)
        opened = -1
        memset(&facts, 0, sizeof(facts))
        if not boot_python(reason):
            GOMP_PLUGIN_error(b"device plugin \"python\": %s", reason)
        else:
            if open_class(own_interpreter, &facts):
                opened = 1
            pthread_atfork(NULL, NULL, after_fork)
            if own_interpreter:
                atexit(at_end)
        release_sigpipe(&old)
    pthread_mutex_unlock(&boot_lock)
    return opened > 0


cdef bint device_usable(int n) noexcept nogil:
    """Whether a device can be called."""
    if in_fork:
        GOMP_PLUGIN_error(b"device plugin \"python\": not usable in a forked child of a program that has used devices")
        return False
    if ended:
        GOMP_PLUGIN_error(b"device plugin \"python\": not usable any more: the program's Python has ended")
        return False
    return opened > 0 and 0 <= n < facts.count


cdef public unsigned GOMP_OFFLOAD_version() noexcept nogil:
    """The interface's version."""
    return gompy_answer_version()


cdef public const char *GOMP_OFFLOAD_get_name() noexcept nogil:
    """The class's name for its devices."""
    if be_ready():
        return facts.name
    return b"python"


cdef public unsigned GOMP_OFFLOAD_get_caps() noexcept nogil:
    """What the class says that it can."""
    return facts.capabilities if be_ready() else GOMP_OFFLOAD_CAP_OPENMP_400


cdef public int GOMP_OFFLOAD_get_type() noexcept nogil:
    """The type of the images that the class takes."""
    return facts.type if be_ready() else GOMP_DEVICE_INTEL_MIC


cdef public int GOMP_OFFLOAD_get_num_devices(unsigned required) noexcept nogil:
    """The class's number of devices; 0 if there is no class."""
    return gompy_answer_count(required, 0, facts.count if be_ready() else 0)


cdef public c_bool GOMP_OFFLOAD_init_device(int n) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return False
    hold_sigpipe(&old)
    good = call_init(n)
    release_sigpipe(&old)
    return good


cdef public c_bool GOMP_OFFLOAD_fini_device(int n) noexcept nogil:
    cdef sigset_t old
    if in_fork or ended:
        return True
    hold_sigpipe(&old)
    good = call_fini(n)
    release_sigpipe(&old)
    return good


cdef public int GOMP_OFFLOAD_load_image(int n, unsigned version, const void *target_data,
                                        AddrPair **table) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return -1
    hold_sigpipe(&old)
    count = call_load_image(n, version, target_data, table)
    release_sigpipe(&old)
    return count


cdef public c_bool GOMP_OFFLOAD_unload_image(int n, unsigned version, const void *target_data) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return False
    hold_sigpipe(&old)
    good = call_unload_image(n, target_data)
    release_sigpipe(&old)
    return good


cdef public void *GOMP_OFFLOAD_alloc(int n, size_t size) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return NULL
    hold_sigpipe(&old)
    address = call_alloc(n, size)
    release_sigpipe(&old)
    return address


cdef public c_bool GOMP_OFFLOAD_free(int n, void *address) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return False
    hold_sigpipe(&old)
    good = call_free(n, address)
    release_sigpipe(&old)
    return good


cdef public c_bool GOMP_OFFLOAD_host2dev(int n, void *to, const void *data, size_t size) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return False
    hold_sigpipe(&old)
    good = call_host2dev(n, to, data, size)
    release_sigpipe(&old)
    return good


cdef public c_bool GOMP_OFFLOAD_memset(int n, void *to, int value, size_t size) noexcept nogil:
    """Fill device memory, by copies from the host; libgomp 16 asks for it."""
    cdef char block[4096]
    cdef size_t done = 0, part
    memset(block, value, sizeof(block))
    while done < size:
        part = min(size - done, sizeof(block))
        if not GOMP_OFFLOAD_host2dev(n, <char *> to + done, block, part):
            return False
        done += part
    return True


cdef public c_bool GOMP_OFFLOAD_dev2host(int n, void *to, const void *address, size_t size) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return False
    hold_sigpipe(&old)
    good = call_dev2host(n, to, address, size)
    release_sigpipe(&old)
    return good


cdef public c_bool GOMP_OFFLOAD_dev2dev(int n, void *to, const void *address, size_t size) noexcept nogil:
    cdef sigset_t old
    if not device_usable(n):
        return False
    hold_sigpipe(&old)
    good = call_dev2dev(n, to, address, size)
    release_sigpipe(&old)
    return good


cdef public c_bool GOMP_OFFLOAD_can_run(void *function) noexcept nogil:
    """Asked before each region: the interpreter is left alone if the class has no word in it."""
    cdef sigset_t old
    if not facts.asks_can_run:
        return True
    if not device_usable(0):
        return False
    hold_sigpipe(&old)
    good = call_can_run(function)
    release_sigpipe(&old)
    return good


cdef void read_launch(void **args, int64_t *teams, int64_t *threads) noexcept nogil:
    """The num_teams and thread_limit of a launch's words; not known is 0 here, not -1."""
    cdef LaunchWord word
    teams[0] = threads[0] = 0
    while take_word(&args, &word):
        if word.id == GOMP_TARGET_ARG_NUM_TEAMS:
            teams[0] = 1 if word.value == NO_TEAMS_CONSTRUCT else max(word.value, <intptr_t> 0)
        elif word.id == GOMP_TARGET_ARG_THREAD_LIMIT:
            threads[0] = max(word.value, <intptr_t> 0)


cdef public void GOMP_OFFLOAD_run(int n, void *function, void *variables, void **args) noexcept nogil:
    """A region; its failure is the program's end, as there is no way to report it."""
    cdef char reason[REASON_SIZE]
    cdef int64_t teams, threads
    cdef sigset_t old
    snprintf(reason, REASON_SIZE, b"there is no device %d", n)
    read_launch(args, &teams, &threads)
    good = False
    if device_usable(n):
        hold_sigpipe(&old)
        good = call_run(n, function, variables, teams, threads, reason)
        release_sigpipe(&old)
    if not good:
        GOMP_PLUGIN_fatal(b"device plugin \"python\": %s", reason)
