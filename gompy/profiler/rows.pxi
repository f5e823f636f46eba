# What is added up: a row for each region, directive, variable and device, found by a hash.

from posix.unistd cimport getpid

from gompy.native.clock cimport now_ns

cdef enum:
    ROWS = 4096  # a power of two; what comes when they are full is counted as lost
    PLACE_ROOM = 300
    NAME_ROOM = 200

    ROW_NONE = 0
    ROW_REGION
    ROW_DIRECTIVE
    ROW_VARIABLE
    ROW_DEVICE

cdef struct ProfileRow:
    int kind  # ROW_*
    uintptr_t at  # the region's function, the directive's call, the variable, the device's number
    size_t size  # of a variable
    uintptr_t where  # the call of a region, or of what mapped a variable first
    char what[64]  # a directive's words, a device's name
    int device  # where a region ran last; -1: the host
    uint64_t count  # runs, times, mappings
    uint64_t timed  # of these, those whose time is known: the others went into a queue, or were not waited for
    uint64_t on_host
    uint64_t time  # nanoseconds
    uint64_t longest
    uint64_t copies
    uint64_t copying  # nanoseconds
    uint64_t to_device  # bytes
    uint64_t to_host
    uint64_t allocated
    uint64_t order  # in which it came first
    char name[200]  # NAME_ROOM
    char place[300]  # PLACE_ROOM

cdef struct Profile:
    bint began
    bint over
    int pid
    uint64_t begin
    uint64_t lost
    uint64_t num_rows
    pthread_mutex_t lock  # zeros: PTHREAD_MUTEX_INITIALIZER
    ProfileRow *table[4096]  # ROWS
    ProfileRow *in_order[4096]  # ROWS

cdef Profile profile


cdef ProfileRow *find_row(int kind, uintptr_t at, size_t size, const char *what) noexcept nogil:
    """The row, made if there is none; NULL if there is no room.  The lock is held."""
    cdef uint64_t start = ((at ^ size * 31 ^ <uint64_t> kind) * 0x9E3779B97F4A7C15ULL) >> 52
    cdef ProfileRow *row
    cdef uint64_t i, slot
    for i in range(ROWS):
        slot = (start + i) & (ROWS - 1)
        row = profile.table[slot]
        if row == NULL:
            row = <ProfileRow *> calloc(1, sizeof(ProfileRow))
            if row == NULL:
                break
            row.kind = kind
            row.at = at
            row.size = size
            row.order = profile.num_rows
            snprintf(row.what, sizeof(row.what), b"%s", what)
            profile.table[slot] = row
            profile.in_order[profile.num_rows] = row
            profile.num_rows += 1
            return row
        if row.kind == kind and row.at == at and row.size == size and strcmp(row.what, what) == 0:
            return row
    profile.lost += 1
    return NULL
