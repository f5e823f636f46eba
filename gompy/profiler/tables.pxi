# The tables: columns are as wide as what is in them.

cdef extern from *:
    """
    /* What is above the columns; behind a blank: numbers, which are flush right.  */
    static const char *const gompy_heads[5][9] = {
      {0},
      {"region", "where", " runs", " ms", " mean ms", " longest ms", "on", 0},
      {"directive", "where", " times", " ms", " copies", " to device", " to host", " ms copying", 0},
      {"variable", "first mapped at", " bytes", " mapped", " copies", " to device", " to host", 0},
      {"device", " launches", " copies", " to device", " to host", " ms copying", " allocated", 0},
    };
    """
    const char *const (*gompy_heads)[9]

cdef extern from "<stdio.h>" nogil:
    FILE *open_memstream(char **, size_t *)

cdef enum:
    COLUMNS = 8

cdef struct TableLine:
    char cells[8][304]  # COLUMNS


cdef void put_count(char *cell, uint64_t value) noexcept nogil:
    snprintf(cell, 304, b"%lu", <unsigned long> value)


cdef void put_time(char *cell, uint64_t nanoseconds, bint known) noexcept nogil:
    """Milliseconds."""
    if known:
        snprintf(cell, 304, b"%.3f", <double> nanoseconds / 1000000)
    else:
        snprintf(cell, 304, b"-")


cdef void put_copies(char (*cells)[304], const ProfileRow *row) noexcept nogil:
    """How many, and the bytes each way."""
    put_count(cells[0], row.copies)
    put_count(cells[1], row.to_device)
    put_count(cells[2], row.to_host)


cdef void put_region(char (*cells)[304], const ProfileRow *row) noexcept nogil:
    put_count(cells[2], row.count)
    put_time(cells[3], row.time, row.timed > 0)
    put_time(cells[4], row.time / (row.timed if row.timed else 1), row.timed > 0)
    put_time(cells[5], row.longest, row.timed > 0)
    if row.on_host == row.count:
        snprintf(cells[6], 304, b"the host")
    elif row.on_host:
        snprintf(cells[6], 304, b"device %d, %lu on the host", row.device, <unsigned long> row.on_host)
    else:
        snprintf(cells[6], 304, b"device %d", row.device)


cdef void fill_line(TableLine *line, const ProfileRow *row) noexcept nogil:
    """The cells of a row."""
    memset(line, 0, sizeof(TableLine))
    snprintf(line.cells[0], 304, b"%s", row.name)
    snprintf(line.cells[1], 304, b"%s", row.place)
    if row.place[0] == 0:
        snprintf(line.cells[1], 304, b"?")
    if row.kind == ROW_REGION:
        put_region(line.cells, row)
    elif row.kind == ROW_DIRECTIVE:
        put_count(line.cells[2], row.count)
        put_time(line.cells[3], row.time, row.timed > 0)
        put_copies(&line.cells[4], row)
        put_time(line.cells[7], row.copying, True)
    elif row.kind == ROW_VARIABLE:
        put_count(line.cells[2], row.size)
        put_count(line.cells[3], row.count)
        put_copies(&line.cells[4], row)
    else:
        put_count(line.cells[1], row.count)
        put_copies(&line.cells[2], row)
        put_time(line.cells[5], row.copying, True)
        put_count(line.cells[6], row.allocated)


cdef void print_line(FILE *out, int kind, const int *widths, const TableLine *line) noexcept nogil:
    """A line, without blanks at its end.  line: NULL for the heads."""
    cdef int column, spaces = 0
    cdef int padding
    cdef const char *head
    cdef const char *cell
    for column in range(COLUMNS):
        head = gompy_heads[kind][column]
        if head == NULL:
            break
        cell = head + (head[0] == c' ')
        if line != NULL:
            cell = line.cells[column]
        padding = widths[column] - <int> strlen(cell)
        if head[0] == c' ':
            spaces += padding
            padding = 0
        fprintf(out, b"%*s%s", spaces, b"", cell)
        spaces = padding + 2
    fprintf(out, b"\n")


cdef void print_table(FILE *out, int kind) noexcept nogil:
    """The rows of a kind in the order in which they came first; nothing where there are none."""
    cdef TableLine line
    cdef int widths[8]  # COLUMNS
    cdef int column, width
    cdef uint64_t i
    cdef bint found = False
    for column in range(COLUMNS):
        if gompy_heads[kind][column] == NULL:
            break
        widths[column] = <int> strlen(gompy_heads[kind][column]) - (gompy_heads[kind][column][0] == c' ')
    for i in range(profile.num_rows):
        if profile.in_order[i].kind == kind:
            found = True
            fill_line(&line, profile.in_order[i])
            for column in range(COLUMNS):
                width = <int> strlen(line.cells[column])
                if gompy_heads[kind][column] == NULL:
                    break
                widths[column] = width if width > widths[column] else widths[column]
    if not found:
        return
    fprintf(out, b"\n")
    print_line(out, kind, widths, NULL)
    for i in range(profile.num_rows):
        if profile.in_order[i].kind == kind:
            fill_line(&line, profile.in_order[i])
            print_line(out, kind, widths, &line)


cdef void print_tables(FILE *out) noexcept nogil:
    """All of them.  The lock is held."""
    fprintf(out, b"libgompy-prof: %.3f ms\n", <double> (now_ns() - profile.begin) / 1000000)
    print_table(out, ROW_REGION)
    print_table(out, ROW_DIRECTIVE)
    print_table(out, ROW_VARIABLE)
    print_table(out, ROW_DEVICE)
    if profile.num_rows == 0:
        fprintf(out, b"no directive and no region ran\n")
    if profile.lost:
        fprintf(out, b"\n%lu more: there is room for %d lines\n", <unsigned long> profile.lost, ROWS)
