# races.h, race_launch.h, race_grid.h, race_turns.h, race_order.h, race_accesses.h, race_rows.h, race_later.h,
# race_notes.h and race_streams.h.

from gompy.native.ptx_executor cimport ptx_order

cdef extern from "races.h" nogil:
    enum:
        GOMPY_WHO_ALL
        GOMPY_WHO_STRONG
        GOMPY_IN_STEP
        GOMPY_PLAIN_READS
    struct gompy_touch:
        int32_t epoch
        uint32_t who
    struct gompy_race_site:
        void *unit
        uint32_t line
        uint32_t library
        uint32_t ways
        uint32_t alone
    struct gompy_later
    struct gompy_note:
        uint64_t line
        uint64_t key
        uint64_t bytes[2]
        uint32_t site
        uint32_t writes
    struct gompy_work:
        uint32_t stream
        uint32_t number
        uint32_t device
        uint64_t ticket
        uint64_t callers[2]
        void (*name_caller)(const uint64_t *, char *, size_t) noexcept nogil
        void *function
        const char *what
        uint32_t grid[3]
        uint32_t block[3]
    struct gompy_block_known:
        pass
    struct gompy_grid:
        uint64_t word
    struct gompy_races:
        int32_t run_first
        gompy_block_known known
        gompy_grid *grid
        uint32_t nlater
        int32_t own_first
        gompy_work work
        uint32_t nflags
        uint32_t nnoted
        uint32_t nquiet
        uint64_t note_lines[64]
        uint64_t counter
        uint8_t *has_fenced
        gompy_later *later
        uint64_t base
        gompy_note *notes
        void *noting
        uint32_t noting_lanes
        void (*end_notes)(gompy_races *) noexcept nogil
        void (*row)(gompy_warp *, uint32_t, uint64_t, uint64_t, uint32_t, void *, uint32_t) noexcept nogil
        uint64_t *read
        bint watched, unsettled
        gompy_race_site *sites
    void gompy_race_forget_sites(gompy_races *)
    uint32_t gompy_race_site_of "gompy_race_site"(gompy_races *, void *unit, uint32_t line, int *fresh)
    uint32_t gompy_who_lane(uint32_t)
    uint32_t gompy_who_warp(uint32_t)
    uint32_t gompy_who_site(uint32_t)

cdef extern from "race_launch.h" nogil:
    gompy_races *gompy_race_new()
    void gompy_race_end_notes(gompy_races *)
    void gompy_race_end_notes_at(gompy_races *, uint64_t address, uint32_t size)
    bint gompy_race_at_work(gompy_races *)
    void gompy_race_forget_flags(gompy_races *)
    int gompy_race_launch(gompy_races *, uint64_t base, uint64_t size, const ptx_order *order, const gompy_work *work)
    int gompy_race_block(gompy_races *, uint64_t block, uint32_t nwarps, uint64_t shared)
    void gompy_race_fresh(gompy_races *, uint64_t address, uint64_t size)
    uint32_t gompy_race_block_of(gompy_races *, int32_t epoch)

cdef extern from "race_read.h" nogil:
    uint64_t gompy_read_last(uint64_t size)

cdef extern from "race_grid.h" nogil:
    bint gompy_race_own(const gompy_races *, int32_t epoch)
    int gompy_grid_new(gompy_races *, uint32_t nblocks, uint64_t word)
    void gompy_grid_free(gompy_races *)
    void gompy_grid_begin(gompy_races *)
    void gompy_grid_end(gompy_races *)
    int gompy_grid_resume(gompy_races *, const gompy_block_known *known)
    void gompy_grid_arrive(gompy_races *, uint32_t warp)
    void gompy_grid_read(gompy_races *, uint32_t warp)

cdef extern from "race_turns.h" nogil:
    struct gompy_turns:
        pass
    gompy_turns *gompy_turns_new(uint32_t count)
    void gompy_turns_free(gompy_turns *)
    bint gompy_turn_begin(gompy_turns *, uint32_t block, const int *failed)
    void gompy_turn_pass(gompy_turns *, uint32_t block, const int *failed)
    void gompy_turn_end(gompy_turns *, uint32_t block, const int *failed)
    void gompy_turns_abandon(gompy_turns *)

cdef extern from "race_order.h" nogil:
    void gompy_race_acquire(gompy_races *, uint32_t warp)
    const gompy_work *gompy_race_work(const gompy_races *, int32_t epoch)
    void gompy_race_come(gompy_races *, uint32_t warp)
    void gompy_race_join(gompy_races *, uint32_t warp, uint32_t number)
    void gompy_race_meet(gompy_races *)
    void gompy_race_arrive_cluster(gompy_races *, uint32_t warp, uint32_t number, bint first, bint relaxed)
    void gompy_race_leave(gompy_races *, uint32_t warp, uint32_t number)
    void gompy_race_empty(gompy_races *, uint32_t number)
    void gompy_race_warp_sync(gompy_races *, uint32_t warp)
    void gompy_race_fence(gompy_races *, uint32_t warp)
    void gompy_race_publish(gompy_races *, uint32_t warp, uint64_t address)
    void gompy_race_drop_flags(gompy_races *, uint64_t address, uint64_t size)
    int32_t gompy_race_quiet_since(const gompy_races *, uint32_t mask, uint64_t first, uint32_t size)
    void gompy_race_add_quiet(gompy_races *, uint64_t low, uint64_t size)
    void gompy_race_near(gompy_races *, uint64_t address)
    bint gompy_race_flags_near(const gompy_races *, uint64_t address)
    bint gompy_race_is_flag(gompy_races *, uint64_t address)
    void gompy_race_look(gompy_races *, uint32_t warp, uint64_t address)
    void gompy_race_learn(gompy_races *, uint32_t warp, uint64_t address)

cdef extern from "race_accesses.h" nogil:
    struct gompy_race_found:
        gompy_touch other
        bint other_writes
        uint32_t who
        uint64_t address
    struct gompy_access:
        int32_t own
        uint32_t who
        uint32_t size
        bint writes
        int32_t quiet_since
    gompy_access gompy_race_access(gompy_races *, uint32_t warp, uint32_t size, uint32_t who, bint writes,
                                   uint32_t ways)
    bint gompy_race_one(gompy_races *, gompy_access *, uint64_t address, uint32_t lane, uint64_t shared_size,
                        gompy_race_found *)
    int gompy_race_hidden(gompy_races *, gompy_access *, uint32_t mask, const uint64_t *a, uint64_t shared_size,
                          gompy_race_found *)

cdef extern from "race_rows.h" nogil:
    int gompy_race_lanes(gompy_races *, gompy_access *, uint32_t mask, const uint64_t *a, uint64_t shared_size,
                         int lane, gompy_race_found *)

cdef extern from "race_later.h" nogil:
    enum:
        GOMPY_EVERY_LANE
    struct gompy_later:
        gompy_access access
        uint32_t mask
        uint32_t its
        uint64_t first
        void *unit
        uint32_t line
    int gompy_race_later(gompy_races *, const gompy_access *, uint32_t mask, const uint64_t *a, uint32_t its,
                         uint64_t shared_size)
    int gompy_race_row_later(gompy_races *, const gompy_access *, uint32_t mask, uint64_t first, uint64_t shared_size)
    int gompy_race_row_now(gompy_races *, gompy_access *, uint32_t mask, uint64_t first, uint64_t shared_size)
    const uint64_t *gompy_later_lanes(const gompy_races *, const gompy_later *, uint64_t *row)
    void gompy_row_lanes(uint64_t *row, uint64_t first, uint32_t size)
    uint32_t gompy_race_take_later(gompy_races *)

cdef extern from "race_soon.h" nogil:
    bint gompy_race_row_read(gompy_races *, uint32_t mask, uint64_t first, uint32_t size)

cdef extern from "race_told.h" nogil:
    int gompy_race_row_soon(gompy_warp *, uint32_t mask, uint64_t first, uint64_t second, uint32_t word, void *unit,
                            uint32_t line)
    int gompy_race_shared_soon(gompy_warp *, uint32_t mask, uint64_t first, uint32_t word, void *unit, uint32_t line)
    void gompy_told_row(gompy_warp *, uint32_t mask, uint64_t first, uint64_t second, uint32_t word, void *unit,
                        uint32_t line)

cdef extern from "race_notes.h" nogil:
    bint gompy_note_possible(const gompy_races *, uint64_t address, uint32_t size)
    enum:
        GOMPY_ALONE
    void gompy_note_learn(gompy_race_site *, uint32_t words)
    bint gompy_note_needless(const gompy_races *, uint64_t address, uint32_t size)
    void gompy_note_begin(gompy_races *, gompy_note *, uint64_t address, uint64_t key, uint32_t site, bint writes)
    void gompy_note_bytes(gompy_note *, uint64_t address, uint32_t size)
    gompy_note *gompy_note_ending(gompy_races *)
    uint32_t gompy_note_words(const gompy_note *, uint64_t *odd)
    uint32_t gompy_note_judge(gompy_races *, const gompy_access *, uint64_t line, uint32_t words, uint32_t its)
    bint gompy_note_same(const gompy_note *, uint64_t address, uint32_t size)
    uint32_t gompy_lowest_byte(uint64_t bits)

cdef extern from "race_streams.h" nogil:
    bint gompy_race_bytes(gompy_races *, uint32_t site, uint64_t address, uint64_t size, bint writes,
                          gompy_race_found *)
