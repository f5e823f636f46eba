# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""libgompy: the offload half of libgomp (GCC 12), in front of the stock library.

One library, two uses.  In a program, libgompy.so.1 takes the calls that gcc makes of target constructs; nothing there
needs an interpreter.  In Python, the same file is the module gompy.runtime.libgompy: RangeIndexView, Device and pair
at its end work on the very tree and mapping functions that programs run on.

Everything above python_view.pxi is C: no Python objects, no exceptions, no initialisers of module variables (the module
body does not run in a program).
"""

from libc.errno cimport EINVAL, ENOSPC, ESPIPE, errno
from libc.limits cimport INT_MAX
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, intptr_t, uint32_t, uint64_t, uintptr_t
from libc.stdio cimport fwrite, snprintf, stderr
from libc.stdlib cimport atexit, atoi, calloc, free, malloc, realloc
from libc.string cimport (
    memcmp, memcpy, memmove, memset, strchr, strcmp, strdup, strerror, strlen, strncmp, strrchr, strstr
)
from posix.unistd cimport F_OK, access, close

from gompy.native.check_log cimport *
from gompy.native.descriptors cimport (
    O_WRONLY, gompy_begin_written, gompy_fd_of_written, gompy_open_to_append, gompy_open_to_replace, gompy_written)
from gompy.native.file_size cimport *
from gompy.native.environment cimport secure_getenv
from gompy.native.interop_texts cimport gompy_interop_code, gompy_interop_name
from gompy.native.dlfcn cimport (
    RTLD_LAZY, RTLD_NEXT, Dl_info, dladdr, dlclose, dlerror, dlopen, dlsym)
from gompy.native.launch_words cimport (
    KERNEL_BY_CLANG,
    KERNEL_WORDS_DIRECT,
    NO_TEAMS_CONSTRUCT,
    KernelLaunch,
    LaunchWord,
    take_word,
)
from gompy.native.pthread cimport *
from gompy.native.signals cimport sigset_t

cdef extern from "core/support.h":
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
    const void *gompy_door_place
    void (*gompy_door_says)(const void *) noexcept nogil
    int gompy_ends_by_abort
    void (*gompy_devices_end)() noexcept nogil
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
    void gompy_about_one_more(uint64_t *) noexcept nogil
    uint64_t gompy_read_count(uint64_t *) noexcept nogil
    bint gompy_first(const char **, const char *) noexcept nogil
    void gompy_catch_copy_faults() noexcept nogil

cdef extern from "<ctype.h>" nogil:
    int isspace(int)

cdef extern from "<strings.h>" nogil:
    int strncasecmp(const char *, const char *, size_t)

include "core/numbers.pxi"
include "core/structures.pxi"
include "core/hooks.pxi"
include "core/device_calls.pxi"
include "core/environment.pxi"
include "core/stock.pxi"
include "core/failures.pxi"
include "core/mapping/map_list.pxi"
include "core/mapping/iterators.pxi"
include "core/places.pxi"
include "core/check_events.pxi"
include "core/queues.pxi"
include "core/mapping/ranges.pxi"
include "core/mapping/refcount.pxi"
include "core/mapping/records.pxi"
include "core/mapping/read_only.pxi"
include "core/mapping/copy.pxi"
include "core/mapping/entries.pxi"
include "core/mapping/gaps.pxi"
include "core/debug.pxi"
include "core/checks.pxi"
include "core/launches.pxi"
include "core/mapping/own_entries.pxi"
include "core/mapping/events.pxi"
include "core/mapping/struct_pointers.pxi"
include "core/mapping/plan.pxi"
include "core/mapping/blocks.pxi"
include "core/mapping/build.pxi"
include "core/mapping/map.pxi"
include "core/mapping/unmap.pxi"
include "core/mapping/update.pxi"
include "core/mapping/enter_exit.pxi"
include "core/mapping/single.pxi"
include "core/requires.pxi"
include "core/pairing.pxi"
include "core/images.pxi"
include "core/plugins.pxi"
include "core/devices.pxi"
include "core/interop_objects.pxi"
include "core/check_rests.pxi"
include "core/check_sides.pxi"
include "core/registration.pxi"
include "core/nearest.pxi"
include "core/mapping/reverse_entries.pxi"
include "core/reverse.pxi"
include "core/host_faults.pxi"
include "core/plugin_services.pxi"
include "doors/openmp/host_tasks.pxi"
include "doors/openmp/device_numbers.pxi"
include "doors/openmp/host_regions.pxi"
include "doors/openmp/regions.pxi"
include "doors/openmp/data.pxi"
include "doors/openmp/nowait.pxi"
include "doors/openmp/target.pxi"
include "doors/openmp/target_data.pxi"
include "doors/openmp/omp_routines.pxi"
include "doors/openmp/newer_routines.pxi"
include "doors/openmp/allocators.pxi"
include "doors/openmp/interop.pxi"
include "doors/openmp/fortran.pxi"
include "doors/openmp/display.pxi"
include "doors/openacc/acc_types.pxi"
include "doors/openacc/acc_prof_gaps.pxi"
include "doors/openacc/acc_prof_events.pxi"
include "doors/openacc/acc_threads.pxi"
include "doors/openacc/acc_prof.pxi"
include "doors/openacc/acc_async.pxi"
include "doors/openacc/acc_mapping.pxi"
include "doors/openacc/acc_device.pxi"
include "doors/openacc/acc_memory.pxi"
include "doors/openacc/acc_update.pxi"
include "doors/openacc/acc_data.pxi"
include "doors/openacc/acc_parallel.pxi"
include "doors/llvm/tgt_types.pxi"
include "doors/llvm/tgt_libraries.pxi"
include "doors/llvm/tgt_messages.pxi"
include "doors/llvm/tgt_images.pxi"
include "doors/llvm/tgt_lookup.pxi"
include "doors/llvm/tgt_absent.pxi"
include "doors/llvm/tgt_mappers.pxi"
include "doors/llvm/tgt_begin.pxi"
include "doors/llvm/tgt_end.pxi"
include "doors/llvm/tgt_update.pxi"
include "doors/llvm/tgt_kernel.pxi"
include "doors/llvm/tgt_devices.pxi"
include "doors/llvm/tgt_data.pxi"
include "doors/llvm/tgt_target.pxi"
include "doors/llvm/tgt_older.pxi"
include "doors/llvm/tgt_cuda.pxi"
include "doors/llvm/tgt_routines.pxi"
include "doors/llvm/tgt_interop.pxi"
include "tools/stats.pxi"
include "tools/teller.pxi"
include "tools/trace_file.pxi"
include "tools/time_trace.pxi"
include "tools/named_ranges.pxi"
include "tools/recording.pxi"
include "tools/debugger.pxi"
include "tools/ompt/ompt_types.pxi"
include "tools/ompt/ompt_operations.pxi"
include "tools/ompt/ompt_trace.pxi"
include "tools/ompt/ompt_device.pxi"
include "tools/ompt/ompt_events.pxi"
include "tools/ompt/ompt_tool.pxi"
include "tools/ompt/ompt_routines.pxi"
include "tools/ompt/ompt_start.pxi"
include "tools/status.pxi"
include "library.pxi"
include "tools/test_device.pxi"
include "tools/python_view.pxi"
