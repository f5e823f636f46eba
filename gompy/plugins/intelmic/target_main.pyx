# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""offload_target_main: the program that a device process of the emulated Intel MIC runs.

Started by libgomp-plugin-intelmic.so.1 with

    offload_target_main MEMORY PIPE PIDFD MAPS

four descriptors: the memfd with the control block and the arena, a pipe that ends when the host ends, the host's pidfd
(-1 where the kernel has none), and its /proc/self/maps (-1 without /proc).  docs/device.md describes the whole.
"""

include "libc.pxi"
include "waiting.pxi"
include "files.pxi"
include "../memory_file.pxi"
include "device_state.pxi"
include "device_answers.pxi"
include "device_interop.pxi"
include "device_output.pxi"
include "device_layout.pxi"
include "page_marks.pxi"
include "device_marks.pxi"
include "device_core.pxi"
include "device_fault.pxi"
include "device_access.pxi"
include "device_threads.pxi"
include "device_libraries.pxi"
include "device_sanitizers.pxi"
include "../kernels.pxi"
include "device_images.pxi"
include "device_indirect.pxi"
include "device_variables.pxi"
include "device_lanes.pxi"
include "device_teams.pxi"
include "device_gangs.pxi"
include "device_apart.pxi"
include "device_slice.pxi"
include "device_end.pxi"
include "device_loop.pxi"
include "device_workers.pxi"
include "device_reverse.pxi"
include "device_shims.pxi"
include "device_calls.pxi"
include "device_commands.pxi"
include "device_watch.pxi"


cdef extern from *:
    """
    static inline long
    mic_kernel (long number, long a, long b, long c, long d, long e, long f)
    {
      long result;
      register long r10 __asm__ ("r10") = d, r8 __asm__ ("r8") = e, r9 __asm__ ("r9") = f;
      __asm__ volatile ("syscall" : "=a" (result)
                        : "a" (number), "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8), "r" (r9)
                        : "rcx", "r11", "memory");
      return result;
    }

    /* Take signals, which our parent has us block (spawn.pxi), map the control block, and take the processors that the
       device may use: before any library's constructor, as libgomp's counts them.  A library that stands before libc
       (libasan) is not ready yet: nothing is called.  */
    static struct mic_control *mic_begun;
    static void
    mic_begin (int argc, char **argv, char **envp)
    {
      long fd = 0, p;
      unsigned long none = 0;
      (void) envp;
      mic_kernel (SYS_rt_sigprocmask, SIG_SETMASK, (long) &none, 0, sizeof none, 0, 0);
      if (argc != 5)
        return;
      for (const char *digit = argv[1]; *digit >= '0' && *digit <= '9'; digit++)
        fd = 10 * fd + *digit - '0';
      p = mic_kernel (SYS_mmap, 0, MIC_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (p < 0 && p > -4096)
        return;
      mic_begun = (struct mic_control *) p;
      if (mic_begun->magic == MIC_MAGIC && mic_begun->abi == MIC_ABI && mic_begun->begun_narrow)
        mic_kernel (SYS_sched_setaffinity, 0, sizeof mic_begun->processors, (long) mic_begun->processors, 0, 0, 0);
    }
    __attribute__ ((section (".preinit_array"), used))
    static void (*const mic_preinit) (int, char **, char **) = mic_begin;
    """
    mic_control *begun_control "mic_begun"

cdef extern from "device_undefined.h":  # functions that images call
    pass


cdef int fail_start(const char *text) noexcept nogil:
    """Tell the host why this device can't start."""
    snprintf(control.text, MIC_TEXT_SIZE, b"%s", text)
    return refused_start()


cdef int refused_start() noexcept nogil:
    """Tell the host that this device can't start; control.text has the reason."""
    exchange32(&control.state, MIC_FAILED, SEQ_CST)
    futex_wake(&control.state)
    return 1


cdef public int main(int argc, char **argv) noexcept nogil:
    """Set up, then serve."""
    global memory_fd, host_pipe, host_pidfd, host_maps, control
    cdef void *p
    if argc != 5:
        fputs(b"offload_target_main: error: started by libgomp-plugin-intelmic.so.1 only\n", stderr)
        return 1
    memory_fd = atoi(argv[1])
    host_pipe = atoi(argv[2])
    host_pidfd = atoi(argv[3])
    host_maps = atoi(argv[4])
    control = begun_control
    if control == NULL:
        fputs(b"offload_target_main: error: cannot map the shared memory\n", stderr)
        return 1
    if control.magic != MIC_MAGIC or control.abi != MIC_ABI:
        fputs(b"offload_target_main: error: the plugin is of another version\n", stderr)
        return 1
    if not is_preloaded(argv):
        snprintf(control.text, MIC_TEXT_SIZE, b"cannot load %s, which an image made with -fsanitize=address needs",
                 control.preload)
        return refused_start()
    if control.tool == 0 and addresses_meet() and control.restarts < 16:
        control.restarts += 1
        start_over(argv)
    gompy_close_on_exec(memory_fd)
    gompy_close_on_exec(host_pipe)
    gompy_close_on_exec(host_pidfd)
    gompy_close_on_exec(host_maps)
    control.device_pid = getpid()
    use_one_heap()
    prepare_teams()
    ignore_signal(SIGINT)
    ignore_signal(SIGQUIT)
    ignore_signal(SIGHUP)
    alternate_stack()
    catch_faults()
    if control.narrow:
        stay_for_start()
    start_watch()
    if control.tool != 0:
        addresses_meet()
    p = map_arena()
    if p == NULL:
        snprintf(control.text, MIC_TEXT_SIZE, b"cannot map %zu MiB of memory in its process: %s%s",
                 <size_t>(control.arena_size >> 20), strerror(errno), gompy_limit_hint(errno))
        return refused_start()
    control.arena_base = <uint64_t>p
    madvise(p, control.arena_size, MADV_DONTDUMP)
    if not map_marks():
        return fail_start(b"cannot map the marks of its memory")
    if not watch_images():
        snprintf(control.text, MIC_TEXT_SIZE, b"no room for what -foffload-check keeps of %zu MiB of memory, %zu MiB "
                 b"in all: %s%s; set OFFLOAD_EMUL_MEM to less, or the limit to more (%zu MiB are kept of any)",
                 <size_t>(control.arena_size >> 20),
                 <size_t>((control.arena_size * MIC_EXACT_BYTES + MIC_EXACT_FIXED) >> 20), strerror(ENOMEM),
                 gompy_limit_hint(ENOMEM), <size_t>(MIC_EXACT_FIXED >> 20))
        return refused_start()
    madvise(<char *>p + control.split, control.arena_size - control.split, MADV_HUGEPAGE)
    if control.tool == 0:
        occupy_host_zones()
        close_program_heap()
    watch_sanitizers()
    exchange32(&control.state, MIC_READY, SEQ_CST)
    futex_wake(&control.state)
    serve_commands()
    return 0
