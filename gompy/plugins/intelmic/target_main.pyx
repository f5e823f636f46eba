# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""offload_target_main: the program that a device process of the emulated Intel MIC runs.

Started by libgomp-plugin-intelmic.so.1 with

    offload_target_main MEMORY PIPE PIDFD

three descriptors: the memfd with the control block and the arena, a pipe that ends when the host ends, and the host's
pidfd (-1 where the kernel has none).  docs/device.md describes the whole.
"""

include "libc.pxi"
include "waiting.pxi"
include "files.pxi"
include "device_state.pxi"
include "device_layout.pxi"
include "device_fault.pxi"
include "device_threads.pxi"
include "device_images.pxi"
include "device_variables.pxi"
include "device_teams.pxi"
include "device_loop.pxi"
include "device_workers.pxi"
include "device_shims.pxi"
include "device_sanitizers.pxi"


cdef void *watch_host(void *arg) noexcept nogil:
    """End this process when the host has ended, however that happened.

    The pidfd tells of the host's end even while a forked child of the host keeps the pipe open.
    """
    cdef pollfd fds[2]
    cdef int count = 1
    fds[0].fd = host_pipe
    fds[0].events = 0
    if host_pidfd >= 0:
        fds[1].fd = host_pidfd
        fds[1].events = POLLIN
        count = 2
    while True:
        if poll(fds, count, -1) > 0:
            if control.directory[0]:
                remove_directory(control.directory)
            if control.tool != 0:
                end_under_tool()
                _exit(1)
            kill(getpid(), SIGKILL)
    return NULL


cdef void start_watch() noexcept nogil:
    """Start the thread that watches the host."""
    cdef pthread_t thread
    cdef pthread_attr_t attributes
    cdef sigset_t all_signals, old
    sigfillset(&all_signals)
    pthread_sigmask(SIG_SETMASK, &all_signals, &old)
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, 131072)
    if pthread_create(&thread, &attributes, watch_host, NULL) == 0:
        pthread_detach(thread)
    pthread_attr_destroy(&attributes)
    pthread_sigmask(SIG_SETMASK, &old, NULL)


cdef int fail(const char *text) noexcept nogil:
    """Tell the host why this device can't start."""
    snprintf(control.text, MIC_TEXT_SIZE, b"%s", text)
    return refused()


cdef int refused() noexcept nogil:
    """Tell the host that this device can't start; control.text has the reason."""
    exchange32(&control.state, MIC_FAILED, SEQ_CST)
    futex_wake(&control.state)
    return 1


cdef public int main(int argc, char **argv) noexcept nogil:
    """Set up, then serve."""
    global memory_fd, host_pipe, host_pidfd, control
    cdef void *p
    if argc != 4:
        fputs(b"offload_target_main: error: started by libgomp-plugin-intelmic.so.1 only\n", stderr)
        return 1
    memory_fd = atoi(argv[1])
    host_pipe = atoi(argv[2])
    host_pidfd = atoi(argv[3])
    p = mmap(NULL, MIC_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0)
    if p == <void *>-1:
        fputs(b"offload_target_main: error: cannot map the shared memory\n", stderr)
        return 1
    control = <mic_control *>p
    if control.magic != MIC_MAGIC or control.abi != MIC_ABI:
        fputs(b"offload_target_main: error: the plugin is of another version\n", stderr)
        return 1
    if not preloaded(argv):
        snprintf(control.text, MIC_TEXT_SIZE, b"cannot load %s, which an image made with -fsanitize=address needs",
                 control.preload)
        return refused()
    if control.tool == 0 and addresses_meet() and control.restarts < 16:
        control.restarts += 1
        execve(b"/proc/self/exe", argv, environ)
    control.device_pid = getpid()
    prepare_teams()
    ignore_signal(SIGINT)
    ignore_signal(SIGQUIT)
    ignore_signal(SIGHUP)
    alternate_stack()
    catch_faults()
    start_watch()
    if control.tool != 0:
        addresses_meet()
    p = map_arena()
    if p == NULL:
        return fail(b"cannot map its memory")
    control.arena_base = <uint64_t>p
    madvise(p, control.arena_size, MADV_DONTDUMP)
    madvise(<char *>p + control.split, control.arena_size - control.split, MADV_HUGEPAGE)
    if control.tool == 0:
        occupy_host_zones()
        close_program_heap()
    watch_sanitizers()
    exchange32(&control.state, MIC_READY, SEQ_CST)
    futex_wake(&control.state)
    serve_commands()
    return 0
