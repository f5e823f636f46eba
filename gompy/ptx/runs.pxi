# A launch, and the host threads and warps that are at work on it.

cdef extern from "sums.h" nogil:
    struct gompy_sums:
        int used
    void gompy_add_sums(gompy_sums *s) noexcept
    bint gompy_gather_warp(const gompy_warp *w, gompy_sums *s, uint32_t mask, int code, const uint64_t *a,
                           const uint64_t *b) noexcept

cdef enum:
    FUEL = 20000
    FUEL_TOGETHER = 500
    MOST_AT_ONCE = 16
    MOST_THREADS = 65                   # of a launch's host threads, but for those of cooperative ones
    HOST_ROOM = 393216                  # bytes of a warp's stack (guard included) that are left to code of the host
    SHADOW_ALLOCATED = 1                # executor.h
    SHADOW_WRITTEN = 3
    SHADOW_STALE = 5
    SHADOW_STALE_OWN = 13
    TOLD = 20                           # places that checked code tells of a module, and pairs of places
    LOCAL_WINDOW = 1 << 28
    AWAKE = 3 << 15                     # ticks, some 37 µs, until another thread is at work, about
    MAYBE_SHORT = 4                     # times what is short
    TRIES = 8                           # launches, one of which is tried on one thread

cdef enum:
    STACK = 2097152                     # bytes of a warp's stack; only what is used takes memory
    GUARD = 65536                       # of these not accessible: more than any frame of the executor
    LOCAL = 262144                      # bytes of local memory a lane
    APART = 1088                        # bytes by which stacks are shifted: caches do not hold 32 lines 2 MiB apart
    LOCAL_APART = 32 * LOCAL + 4096 + APART

cdef struct run                         # below
cdef struct helper                      # launch.pxi

cdef struct share_of_blocks:            # a host thread's part of the grid (blocks.pxi)
    uint64_t next_block                 # the first that nobody has taken
    uint64_t end_block
    int owned                           # a thread has come for it
    char apart[CACHE_LINE]

cdef struct run:                        # one launch
    ptx_function *function
    ptx_module *module
    const ptx_launch_config *config
    const ptx_memory *memory            # the config's, or the module's
    int form
    uint64_t blocks
    uint64_t at_once                    # blocks that a host thread takes at a time
    int failed
    int complete                        # the error record is written
    ptx_error *failure
    gompy_code_fn code
    bint whole                          # a call of it runs all warps of a block
    bint alone                          # the first warp of a block does all: no other is started (alone.pxi)
    uint32_t nwarps                     # of a block, that are started
    uint32_t told                       # checked code: findings told, and not told
    uint64_t untold, places
    gompy_races *races                  # they are looked for, or NULL
    gompy_turns *turns                  # then, if blocks run together; or NULL
    uint64_t race_mask                  # where (race_launches.pxi)
    uint64_t[READ_SINCE + 1] race_blocks  # the warp's
    uint64_t first_block, block_step    # a seed's order of blocks; block_step 0: that of their numbers
    uint32_t first_warp, warp_step      # the same of a block's warps
    bint upwards                        # they go from the first to the last; else the first comes last
    uint64_t begun                      # ticks of the processor's clock
    uint64_t taken                      # blocks of the thread that launches
    uint64_t short_ticks                # one host thread does a launch that takes no longer
    int deferred                        # host threads that are called only if it takes long; 0 once they are
    void (*more)(run *launch) noexcept nogil  # calls them
    helper *helpers                     # who has been called
    int nshares
    char apart[CACHE_LINE]              # host threads read the rest all the time, and write what follows
    share_of_blocks shares[MOST_THREADS]  # so many as nshares says are set

cdef struct barrier_state:
    uint32_t arrived                    # threads
    uint32_t waiting                    # a bit for each warp that waits
    uint32_t wanted                     # threads, 0 = all warps of the block
    uint32_t all_arrived                # arrivals of warps, waiting or not
    uint32_t votes                      # bar.red: threads with the predicate, and all that came with one
    uint32_t voters

cdef struct runner:                     # a host thread at work on blocks; kept for the next launch
    runner *next
    void *home                          # the scheduler's stack
    gompy_warp *warps
    char *stacks
    char *local
    char *shared
    size_t shared_room
    uint8_t *shared_shadow              # checked code
    uint8_t *shared_fresh               # behind it: as each block of the launch begins with it
    size_t shadow_room
    uint32_t nwarps
    uint32_t live
    barrier_state barriers[CLUSTER_BARRIER + 1]
    uint32_t used                       # a bit for each barrier that somebody has arrived at
    uint32_t clustered                  # a bit for each warp that has arrived at the cluster's barrier
    uint32_t cluster_phase              # how often that was complete
    uint32_t cluster_come[32]           # of each warp that has not arrived: its lanes that have
    uint32_t cluster_owing              # a bit for each warp that has arrived before some of its lanes,
    uint32_t cluster_owed[32][32]       # and how often before each; set where the bit is
    run *launch
    gompy_warp *current                 # the warp at work
    uint32_t ready                      # a bit for each warp that does not wait, and is not done
    bint ended                          # the warp at work is done
    bint moved                          # some warp has come to a barrier, or ended, since all had a turn
    bint mixed                          # warps may not have come from one barrier (RACE_MIXED)
    bint parted                         # some lanes of a warp came to a barrier alone
    gompy_sums sums                     # additions that memory has not seen yet
    gompy_warp *faulted                 # its code touched memory that is not mapped:
    uint64_t fault_address, fault_pc    # where, and by which instruction
    bint prepared                       # the warps are set up for the launch but for what changes from block to block
    uint32_t shape[3]                   # the block that the warps' masks and thread numbers belong to
    uint32_t numbered                   # and how many warps have them
    uint64_t taken                      # blocks of this launch so far
    uint64_t next_block, end_block      # those that the host thread has taken and not begun
    int share, shares_left              # where it takes more, and how many shares may have some
    int64_t turn                        # the block that takes its turns here (race_launches.pxi), or -1
    uint64_t placed                     # the block that the warps' ctaid are of
    uint8_t places[32]                  # stacks and local memories that are free, the last one first
    uint32_t nplaces
