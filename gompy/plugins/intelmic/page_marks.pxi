# Marks of whole pages (page_marks.h), for both sides.

cdef extern from "page_marks.h" nogil:
    struct mic_pages:
        unsigned char *marks
        unsigned char *whole
        unsigned char *access
        char *memory
        int spread
        uint32_t *stay_open
    unsigned MIC_PAGE_BYTES
    unsigned MIC_PAGE_ALL
    void know_bytes "mic_know_bytes"(unsigned char *marks, uint64_t n)
    unsigned char page_state "mic_page_state"(const mic_pages *p, uint64_t page)
    void write_out "mic_write_out"(const mic_pages *p, uint64_t offset, uint64_t n)
    void write_out_unset "mic_write_out_unset"(const mic_pages *p, uint64_t offset, uint64_t n)
    void mark_range "mic_mark_range"(const mic_pages *p, uint64_t offset, uint64_t n, int mark)
    void fill_new "mic_fill_new"(const mic_pages *p, uint64_t offset, uint64_t n)
    void mic_new_contents(unsigned char *to, uint64_t offset, size_t size)
    bint mic_may_be_written(const mic_pages *p, uint64_t offset, uint64_t size)
    void mic_fill(char *to, uint64_t offset, size_t size, int spread)


cdef inline uint64_t marks_size(uint64_t arena) noexcept nogil:
    """Bytes of all marks of an arena: of its bytes, of images' pages, of its pages, and what regions may do with
    these."""
    return arena + MIC_OUTER_BYTES + 2 * (arena // 4096)


cdef inline void open_pages_marks(mic_pages *p, unsigned char *marks, char *memory, uint64_t arena, bint exact,
                                  int spread, uint32_t *stay_open) noexcept nogil:
    p.marks = marks
    p.whole = NULL if exact else marks + arena + MIC_OUTER_BYTES
    p.access = NULL if exact else p.whole + arena // 4096
    p.memory = memory
    p.spread = spread
    p.stay_open = stay_open
