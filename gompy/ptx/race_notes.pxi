# GOMPY_CHECK=race: accesses by one address of all lanes, gathered by lines of memory (race_notes.h).


cdef void look_at_noted(gompy_warp *w, const gompy_note *note, gompy_access *access, uint64_t address,
                        uint32_t its) noexcept nogil:
    """A word that is noted, or a byte.  A race is told, if it isn't a write of what has been there."""
    cdef gompy_race_found found
    if not gompy_race_one(<gompy_races *> w.races, access, address, its, w.shared_size, &found):
        return
    if (access.writes and found.other_writes and not found.other.who & GOMPY_WHO_STRONG
            and gompy_note_same(note, found.address, access.size)):
        return
    tell_race(w, gompy_who_lane(its) & 31, access.size, access.writes, &found)


cdef void end_note(gompy_warp *w, gompy_note *note) noexcept nogil:
    """Judge and remember what a note has."""
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t ways = races.sites[note.site].ways, mask = races.noting_lanes, words, left
    cdef uint32_t its = <uint32_t> gompy_lowest(mask) if mask & (mask - 1) == 0 else <uint32_t> GOMPY_WHO_ALL
    cdef gompy_access access = gompy_race_access(races, w.warpid, 4, note.site << 16, note.writes, ways)
    cdef uint64_t odd[2]
    cdef uint64_t bits
    cdef int half
    words = gompy_note_words(note, odd)
    if not note.writes:
        gompy_note_learn(&races.sites[note.site], words)
    if words:
        left = gompy_note_judge(races, &access, note.line, words, its)
        while left:
            look_at_noted(w, note, &access, note.line + 4 * <uint64_t> gompy_lowest(left), its)
            left &= left - 1
    access.size = 1
    for half in range(2):
        bits = odd[half]
        while bits:
            look_at_noted(w, note, &access, note.line + 64 * half + <uint64_t> gompy_lowest_byte(bits), its)
            bits &= bits - 1
    if not note.writes and ways & <uint32_t> GOMPY_PLAIN_READS and gompy_race_flags_near(races, note.line):
        for half in range(2):  # the first bytes of words: a flag may be read by one
            bits = note.bytes[half] & <uint64_t> 0x1111111111111111
            while bits:
                gompy_race_look(races, w.warpid, note.line + 64 * half + <uint64_t> gompy_lowest_byte(bits))
                bits &= bits - 1


cdef void end_all_notes(gompy_races *races) noexcept nogil:
    """Judge and remember all of them."""
    cdef gompy_warp *w = <gompy_warp *> races.noting
    cdef gompy_note *note
    w.note_mask = 0
    races.noting = NULL
    memset(races.note_lines, 0, sizeof(races.note_lines))
    while True:
        note = gompy_note_ending(races)
        if note == NULL:
            return
        end_note(w, note)
        note.line = 0


cdef void op_race_note(gompy_warp *w, uint32_t mask, uint64_t address, uint32_t word, code_unit *unit, uint32_t line,
                       gompy_note *note) noexcept nogil:
    """An access by one address of all lanes that is not of the note's line, or by another place or other lanes."""
    cdef gompy_races *races = <gompy_races *> w.races
    cdef uint32_t size = word & 0xFF, site
    cdef uint64_t key = <uint64_t> unit + (<uint64_t> line << NOTE_SHIFT)
    if stores_watched or word & RACE_STRAYS:
        op_race_uniform(w, mask, address, word, unit, line)
        return
    site = note.site if note.line and note.key == key else site_number(w, unit, line)
    if races.sites[site].library:  # it is not remembered, so no note has to end for it
        if num_waiting:
            settle_races()
        lock_word(w, address, word & RACE_WRITES != 0)
        return
    if races.noting != w or races.noting_lanes != mask:
        gompy_race_end_notes(races)
    elif (races.sites[site].alone >= GOMPY_ALONE and not word & RACE_WRITES
            and not gompy_race_flags_near(races, address) and gompy_note_needless(races, address, size)):
        races.sites[site].alone -= 1
        return
    if note.line:
        end_note(w, note)
    if not gompy_note_possible(races, address, size):
        note.bytes[0] = note.bytes[1] = 0
        op_race_uniform(w, mask, address, word, unit, line)
        return
    if num_waiting:
        settle_races()
    races.noting, races.noting_lanes, w.note_mask = w, mask, mask
    gompy_note_begin(races, note, address, key, site, word & RACE_WRITES != 0)
    gompy_note_bytes(note, address, size)
