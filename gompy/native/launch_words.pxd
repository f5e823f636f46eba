# What a region's launch is to have, as GOMP_target_ext and a device get it: words of one pointer or two, then NULL.

from libc.stdint cimport intptr_t, uint64_t

from gompy.native.gomp cimport (
    GOMP_TARGET_ARG_DEVICE_MASK,
    GOMP_TARGET_ARG_ID_MASK,
    GOMP_TARGET_ARG_SUBSEQUENT_PARAM,
    GOMP_TARGET_ARG_VALUE_SHIFT,
)

cdef enum:
    NO_TEAMS_CONSTRUCT = -2  # the number of teams that gcc 13 and later give for a target without teams; 12 gives 1

cdef enum:
    KERNEL_BY_CLANG = 0xFFFF  # of a GPU's function, in place of the first of OpenACC's dimensions
    KERNEL_WORDS_DIRECT = 5  # a kernel by clang with no more goes to gompy_run_kernel of the plugin that has one

cdef struct LaunchWord:
    intptr_t device  # for which kind of devices it holds, 0: for all
    intptr_t id  # GOMP_TARGET_ARG_NUM_TEAMS, GOMP_TARGET_ARG_THREAD_LIMIT
    intptr_t value  # -1: not known

cdef struct KernelLaunch:
    # What a GPU gets for a kernel by clang, in the place of the address of a region's variables.
    const uint64_t *words  # the kernel's parameters
    unsigned count
    int teams  # -1: no teams construct; 0: the program says nothing
    int threads  # 0: it says nothing
    uint64_t rounds  # of the loop; 0: not known
    unsigned shared  # bytes of dynamic shared memory
    unsigned grid[3]  # of a CUDA kernel: blocks and threads as it was launched; not 0
    unsigned block[3]  # not 0 then
    size_t size  # of its parameters, in bytes; 0: of all words


cdef inline bint take_word(void ***args, LaunchWord *word) noexcept nogil:
    """Read a word and go on to the next.  False: there is none; ``*args`` may be NULL."""
    cdef intptr_t first = <intptr_t> args[0][0] if args[0] != NULL else 0
    if first == 0:
        return False
    word.device = first & GOMP_TARGET_ARG_DEVICE_MASK
    word.id = first & GOMP_TARGET_ARG_ID_MASK
    word.value = first >> GOMP_TARGET_ARG_VALUE_SHIFT
    args[0] += 1
    if first & GOMP_TARGET_ARG_SUBSEQUENT_PARAM:
        word.value = <intptr_t> args[0][0]
        args[0] += 1
    return True
