# GOMPY_CHECK: what a region does beyond the memory that it was given.
#
# Without it the device may access all of its arena.  With it only blocks in use: each has pages of its own and ends at
# the end of one (exactly, if its size is a multiple of 16), the next page is without access, and the pages of a freed
# block lose theirs and stay idle for a while.  The runtime puts what a construct maps into one block; by gompy_guard it
# has the pages between the objects closed as well.  New memory is filled with MIC_FILL, not zero; under `gompy run
# --check` with bytes that differ from place to place, by which those that nobody has written are told from others.
#
# Where libasan is on the device (sanitizers.pxi) it is told of all that instead: bytes are closed, not pages.
#
# Where there are marks (marks.pxi) a block of the program's is opened by the device, when it is used.
#
# Where images tell of their accesses (-foffload-check) pages are open, and the marks say which bytes are closed.
#
# Only the device's mapping is closed: the host copies through its own.  The records are those of the runs' granules.

cdef extern from *:
    """
    #include "gompy/native/cpu_features.h"
    #include <immintrin.h>
    #define GUARD_ROOMY 4u      /* below this part of the memory, large blocks have whole huge pages to themselves */
    #define GUARD_WORDS 8u
    #define GUARD_SURE 8u       /* so many bytes together that are as they were filled have not been written */
    #define GUARD_SURE_SMALL 4u /* of an object of at most GUARD_SMALL bytes */
    #define GUARD_SMALL 4096u

    /* Mark bytes that are as they were filled.  A few words at once, so that the compiler makes vectors of them.  */
    static __attribute__ ((optimize ("O3"))) void
    mic_find_filled (const char *memory, uint64_t offset, unsigned char *restrict unset, size_t size)
    {
      const unsigned char *at = (const unsigned char *) memory + offset;
      uint64_t words[GUARD_WORDS], word;
      unsigned char bytes[sizeof words];
      size_t i = 0;
      for (; i < size && ((offset + i) & 7) != 0; i++)
        unset[i] = at[i] == (unsigned char) (mic_filled_with (offset + i) >> 8 * ((offset + i) & 7));
      word = mic_filled_with (offset + i);
      for (; size - i >= sizeof words; i += sizeof words, word += GUARD_WORDS * MIC_SPREAD)
        {
          for (unsigned k = 0; k < GUARD_WORDS; k++)
            words[k] = word + k * MIC_SPREAD;
          memcpy (bytes, words, sizeof words);
          for (unsigned k = 0; k < sizeof words; k++)
            unset[i + k] = at[i + k] == bytes[k];
        }
      for (; i < size; i++)
        unset[i] = at[i] == (unsigned char) (mic_filled_with (offset + i) >> 8 * ((offset + i) & 7));
    }

    /* Whether some four bytes that a multiple of 4 begins at are as they were filled: so is one such row of any 7.  All
       of SIZE, which has no more: the caller looks at single bytes otherwise.  */
    static __attribute__ ((target ("avx512f"))) int
    mic_has_filled_row (const char *at, uint64_t word, size_t size)
    {
      const __m512i step = _mm512_set1_epi64 ((long long) (GUARD_WORDS * MIC_SPREAD));
      uint64_t first[GUARD_WORDS];
      __m512i row;
      unsigned found = 0;
      for (unsigned k = 0; k < GUARD_WORDS; k++)
        first[k] = word + k * MIC_SPREAD;
      row = _mm512_loadu_si512 (first);
      for (size_t i = 0; i < size; i += sizeof row, row = _mm512_add_epi64 (row, step))
        found |= _mm512_cmpeq_epi32_mask (_mm512_loadu_si512 (at + i), row);
      return found != 0;
    }

    static __attribute__ ((optimize ("O3"))) int
    mic_has_filled (const char *memory, uint64_t offset, size_t size)
    {
      const char *at = memory + offset;
      uint64_t word = mic_filled_with (offset), words[GUARD_WORDS];
      uint32_t halves[2 * GUARD_WORDS], here[2 * GUARD_WORDS], any = 0;
      if (offset % 8 != 0 || size % sizeof words != 0)
        return 1;
      if (gompy_has_avx512 ())
        return mic_has_filled_row (at, word, size);
      for (size_t i = 0; i < size; i += sizeof words, word += GUARD_WORDS * MIC_SPREAD)
        {
          for (unsigned k = 0; k < GUARD_WORDS; k++)
            words[k] = word + k * MIC_SPREAD;
          memcpy (halves, words, sizeof words);
          memcpy (here, at + i, sizeof words);
          for (unsigned k = 0; k < 2 * GUARD_WORDS; k++)
            any |= here[k] == halves[k];
          if (any)
            return 1;
        }
      return 0;
    }

    /* Of such bytes leave those that are so by no chance: enough in a row.  A byte beside them may be, so that the two
       at an end are left out that is not where a word ends.  */
    static void
    mic_leave_sure (unsigned char *unset, uint64_t offset, size_t size)
    {
      size_t sure = size <= GUARD_SMALL ? GUARD_SURE_SMALL : GUARD_SURE;
      const unsigned char *next;
      for (size_t at = 0, end; at < size && (next = memchr (unset + at, 1, size - at)) != NULL; at = end + 1)
        {
          at = (size_t) (next - unset);
          for (end = at; end < size && unset[end]; end++)
            ;
          if (end - at < sure)
            {
              memset (unset + at, 0, end - at);
              continue;
            }
          if (at > 0 && (offset + at) % sure != 0)
            memset (unset + at, 0, 2);
          if (end < size && (offset + end) % sure != 0)
            memset (unset + end - 2, 0, 2);
        }
    }
    """
    unsigned GUARD_ROOMY
    void mic_find_filled(const char *memory, uint64_t offset, unsigned char *unset, size_t size) nogil
    bint mic_has_filled(const char *memory, uint64_t offset, size_t size) nogil
    size_t GUARD_SMALL
    void mic_leave_sure(unsigned char *unset, uint64_t offset, size_t size) nogil


cdef uint64_t new_run(mic_device *d, uint64_t wanted) noexcept nogil:
    """A run whose pages are closed.  Its offset in the memory, or all ones when there is no room."""
    cdef uint64_t offset = ~<uint64_t>0
    cdef arena *a = &d.large if wanted > <uint64_t>LARGE_BLOCK else &d.small
    if a == &d.large and a.in_use < a.size // GUARD_ROOMY:
        offset = arena_alloc(a, page_up_hugely(wanted))
    if offset == ~<uint64_t>0:
        offset = arena_alloc(a, wanted)
    if offset == ~<uint64_t>0 and a == &d.small:
        a = &d.large
        offset = arena_alloc(a, wanted)
    return offset if offset == ~<uint64_t>0 or a == &d.small else offset + d.split


cdef uint64_t guarded_alloc(mic_device *d, size_t size, bint own) noexcept nogil:
    """A block that ends at a page without access; own: not the program's.  Returns its offset, or all ones when there
    is no room.
    """
    cdef uint64_t bytes = (<uint64_t>(size if size else 1) + 15) & ~<uint64_t>15
    cdef uint64_t room = page_up(bytes), wanted = room + GUARD_PAGE, offset = ~<uint64_t>0, start, inside
    cdef arena *a
    cdef arena_granule *run
    cdef int around
    cdef bint known = own or d.taken_as_set
    cdef bint fresh, opened, later = not own and d.marks != NULL and not d.control.exact
    if size > d.size:
        return offset
    if wanted <= ARENA_SMALL:
        wanted = ARENA_SMALL + 1  # a run, not a part of one
    if later and known:
        offset = take_open(d, wanted)
    opened = offset != ~<uint64_t>0
    if not opened:
        offset = new_run(d, wanted)
    if offset == ~<uint64_t>0 and close_left_open(d):
        offset = new_run(d, wanted)
    if offset == ~<uint64_t>0:
        return offset
    start = offset
    a = arena_of(d, &start)
    run = &a.table[start // ARENA_GRANULE + 1]
    inside = room - bytes
    if opened:
        close_behind(d, offset, run, room)
    run.free_blocks[0] = start + inside
    run.free_blocks[1] = size
    run.free_blocks[2] = 0  # in use
    run.free_blocks[6] = own
    fresh = arena_fresh(a, start)
    start = offset + inside
    if later and size >= FIRST_SIZE:
        note_block(d, start, size, fresh)
    if later and (offset | run.length * ARENA_GRANULE) % HUGE_PAGE == 0:
        reuse_hugely(d, run, offset, fresh)
    if d.preload[0]:
        open_pages(d, offset, room + GUARD_PAGE, False)
        open_pages(d, start, size, True)
    else:
        if not later:
            open_pages(d, offset, room, True)
        around = MIC_MARK_CLOSED if d.control.exact and not own else MIC_MARK_GOOD
        if known and around == MIC_MARK_GOOD:
            set_marks(d, offset, room, MIC_MARK_GOOD)
        else:
            set_marks(d, offset, inside, around)
            set_marks(d, start, size, MIC_MARK_GOOD if known else MIC_MARK_UNSET)
            set_marks(d, start + size, room - inside - size, around)
    if d.marks == NULL or own:
        mic_fill(d.memory + start, start, bytes, d.control.spread)
    elif not known:
        fill_new(&d.pages, start, bytes)
    return start


cdef bint may_be_unset(mic_device *d, uint64_t offset, size_t n) noexcept nogil:
    """Whether find_unset may find any."""
    about_to_read(d, offset, n)
    return n <= GUARD_SMALL or d.control.exact or mic_has_filled(d.memory, offset, n)  # no row of GUARD_SURE bytes


cdef void find_unset(mic_device *d, uint64_t offset, unsigned char *unset, size_t n) noexcept nogil:
    """Which bytes nothing has written since their block was allocated; what is not certain is left out."""
    cdef size_t i
    about_to_read(d, offset, n)
    mic_find_filled(d.memory, offset, unset, n)
    if d.control.exact == 0:
        mic_leave_sure(unset, offset, n)
        return
    for i in range(n):  # a library's code, which tells of nothing, has changed the others
        unset[i] &= d.marks[offset + i] == <unsigned char>MIC_MARK_UNSET


cdef bint guarded_free(mic_device *d, uint64_t start) noexcept nogil:
    """Close a block, unless there is no time, and keep it for a while.  False: no block in use starts there."""
    cdef uint64_t offset = start, bytes, used
    cdef arena *a
    cdef arena_granule *run
    cdef bint left
    if start >= d.size:
        return False
    a = arena_of(d, &offset)
    run = &a.table[offset // ARENA_GRANULE + 1]
    pthread_mutex_lock(&d.idle_lock)
    if run.kind != <uint32_t>GRANULE_RUN or run.free_blocks[0] != offset or run.free_blocks[2] != 0:
        pthread_mutex_unlock(&d.idle_lock)
        return False
    run.free_blocks[2] = 1
    bytes = run.length * ARENA_GRANULE
    used = page_up(offset % ARENA_GRANULE + run.free_blocks[1])  # what lies behind that was closed all the time
    start &= ~(ARENA_GRANULE - 1)
    left = run.free_blocks[6] == 0 and leave_open(d, start, bytes)
    pthread_mutex_unlock(&d.idle_lock)
    if not left:
        set_marks(d, start, used, MIC_MARK_CLOSED)
        open_pages(d, start, bytes, False)
        keep_idle(d, start, bytes)
    return True


cdef bint mark_bytes(unsigned char *marks, const unsigned char *stale, size_t n, uint64_t *first,
                     uint64_t *last) noexcept nogil:
    """Mark those bytes that the host has changed; those that are no longer so are good.  False: it has changed none."""
    cdef bint any = False
    cdef size_t i
    for i in range(n):
        if stale[i]:
            marks[i] = <unsigned char>MIC_MARK_STALE
            if not any:
                first[0] = i
            any = True
            last[0] = i
        elif marks[i] == <unsigned char>MIC_MARK_STALE:
            marks[i] = <unsigned char>MIC_MARK_GOOD
    return any


cdef inline bint is_all_good(mic_device *d, uint64_t offset) noexcept nogil:
    """Whether nothing in a page of the arena can be out of date, as it has one mark."""
    return page_state(&d.pages, offset & ~(GUARD_PAGE - 1)) != MIC_PAGE_BYTES


cdef void mark_stale(mic_device *d, uint64_t offset, const unsigned char *stale, size_t n) noexcept nogil:
    """Mark those bytes that the host has changed, and close their pages; those that are no longer so are good."""
    cdef uint64_t first = 0, last = 0, low = 0, high = 0, done = 0, part
    cdef bint any = False
    while done < n:
        part = min(n - done, GUARD_PAGE - (offset + done) % GUARD_PAGE)
        if not is_all_good(d, offset + done) or memchr(stale + done, 1, part) != NULL:
            about_to_change(d, offset + done, part)
            if mark_bytes(d.marks + offset + done, stale + done, part, &low, &high):
                first = first if any else done + low
                last = done + high
                any = True
        done += part
    if not any:
        return
    changed_marks(d, offset + first, last + 1 - first)
    if not d.control.exact:
        first = (offset + first) & ~(GUARD_PAGE - 1)
        open_pages(d, first, page_up(offset + last + 1) - first, False)


cdef void stale_left(mic_device *d, uint64_t offset, unsigned char *stale, size_t n) noexcept nogil:
    """Clear those of the bytes that are out of date no longer."""
    cdef uint64_t done = 0, part
    cdef size_t i
    while done < n:
        part = min(n - done, GUARD_PAGE - (offset + done) % GUARD_PAGE)
        if is_all_good(d, offset + done):
            memset(stale + done, 0, part)
        else:
            for i in range(done, done + part):
                stale[i] &= d.marks[offset + i] == <unsigned char>MIC_MARK_STALE
        done += part
