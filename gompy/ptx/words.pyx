# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""PTX text cut into words (PTX ISA, section 4): names, numbers, strings and signs, each with its line.

Compiled because it sees each character of images of 180,000 lines, and because the module `re`, which could do it as
well, takes longer to load than a program's own PTX takes to parse.
"""

from cpython.list cimport PyList_Append
from cpython.unicode cimport PyUnicode_Substring


cdef inline bint is_decimal(Py_UCS4 c) noexcept:
    """A digit."""
    return 48 <= c <= 57


cdef inline bint is_hex(Py_UCS4 c) noexcept:
    """A hexadecimal digit."""
    return 48 <= c <= 57 or 97 <= c <= 102 or 65 <= c <= 70


cdef inline bint is_letter(Py_UCS4 c) noexcept:
    """A letter of ASCII."""
    return 97 <= c <= 122 or 65 <= c <= 90


cdef inline bint is_word(Py_UCS4 c) noexcept:
    """What names consist of but `$`."""
    if c < 128:
        return is_letter(c) or 48 <= c <= 57 or c == 95
    return c.isalnum()


cdef inline Py_ssize_t digits(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """The end of the digits that begin at `at`."""
    while at < end and is_decimal(text[at]):
        at += 1
    return at


cdef inline Py_ssize_t exponent(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """The end of `e-10`; `at` if there is none."""
    cdef Py_ssize_t start = at
    if at < end and (text[at] == 101 or text[at] == 69):
        at += 1
        if at < end and (text[at] == 43 or text[at] == 45):
            at += 1
        if at < end and is_decimal(text[at]):
            return digits(text, at, end)
    return start


cdef Py_ssize_t number(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """The end of the number at `at`: `0f3F800000`, `1.5e3`, `0x1FU`, `12U`."""
    cdef Py_ssize_t start = at, stop
    cdef Py_ssize_t count
    cdef Py_UCS4 mark = text[at + 1] if at + 1 < end else 0
    if text[at] == 48 and mark:
        count = 8 if mark == 102 or mark == 70 else 16 if mark == 100 or mark == 68 else 0
        if count and at + 2 + count <= end:
            stop = at + 2
            while stop < at + 2 + count and is_hex(text[stop]):
                stop += 1
            if stop == at + 2 + count:
                return stop
    at = digits(text, at, end)
    if at < end and text[at] == 46:
        return exponent(text, digits(text, at + 1, end), end)
    stop = exponent(text, at, end)
    if stop != at:
        return stop
    if text[start] == 48 and (mark == 120 or mark == 88) and start + 2 < end and is_hex(text[start + 2]):
        at = start + 2
        while at < end and is_hex(text[at]):
            at += 1
    return at + 1 if at < end and text[at] == 85 else at


cdef Py_ssize_t name(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """The end of the name or opcode at `at`: `%r22`, `ld.param.u64`, `$L3`."""
    while at < end and (is_word(text[at]) or text[at] == 36):
        at += 1
    while at + 1 < end and text[at] == 46:
        if not (text[at + 1] < 128 and (is_word(text[at + 1]) or text[at + 1] == 58)):
            break
        at += 1
        while at < end and text[at] < 128 and (is_word(text[at]) or text[at] == 58):
            at += 1
    return at


cdef bint is_line_directive(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """Whether `.loc` or `.file` begins at `at`."""
    if at + 4 <= end and text[at + 1] == 108 and text[at + 2] == 111 and text[at + 3] == 99:
        return at + 4 == end or not is_word(text[at + 4])
    if at + 5 <= end and text[at + 1] == 102 and text[at + 2] == 105 and text[at + 3] == 108 and text[at + 4] == 101:
        return at + 5 == end or not is_word(text[at + 5])
    return False


cdef Py_ssize_t blanks(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """The end of blanks that begin at `at`."""
    while at < end and (text[at] == 32 or text[at] == 9):
        at += 1
    return at


cdef Py_ssize_t directive_end(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """The end of the `.loc` or `.file` at `at`: the line's, or that of the file's name with its time and size.

    GCC's mkoffload writes an object without newlines; there are no `.loc` in it.
    """
    cdef bint is_file = text[at + 1] == 102
    cdef Py_ssize_t after
    while at < end and text[at] != 10:
        at += 1
        if is_file and text[at - 1] == 34:
            while at < end and text[at] != 34 and text[at] != 10:
                at += 1
            if at == end or text[at] == 10:
                return at
            at += 1
            while True:
                after = blanks(text, at, end)
                if after == end or text[after] != 44:
                    return at
                after = blanks(text, after + 1, end)
                if after == end or not is_decimal(text[after]):
                    return at
                at = digits(text, after, end)
    return at


cdef Py_ssize_t plain_name(str text, Py_ssize_t at, Py_ssize_t end) noexcept:
    """The end of a name without dots: after `.target`, the next directive may follow at once."""
    while at < end and (is_word(text[at]) or text[at] == 36):
        at += 1
    return at


def cut(str text not None):
    """Words of a text, their lines (from 1), and its `.loc` and `.file` directives as (line, directive).

    Comments are left out.  The last word is "", on the last line.
    """
    cdef list words = [], lines = [], directives = []
    cdef Py_ssize_t at = 0, start, end = len(text)
    cdef Py_ssize_t line = 1
    cdef object number_of_line = 1
    cdef Py_UCS4 c, following
    cdef bint after_target = False
    while at < end:
        c = text[at]
        if c == 32 or c == 9:
            at += 1
            continue
        if c == 10:
            at += 1
            line += 1
            number_of_line = line
            continue
        start = at
        following = text[at + 1] if at + 1 < end else 0
        if c == 47 and following == 47:
            while at < end and text[at] != 10:
                at += 1
            continue
        if c == 47 and following == 42:
            at += 2
            while at + 1 < end and not (text[at] == 42 and text[at + 1] == 47):
                at += 1
            if at + 1 < end:
                at += 2
                while start < at:
                    line += text[start] == 10
                    start += 1
                number_of_line = line
                continue
            at = start + 1  # without an end it is no comment
        elif c == 46:
            if is_line_directive(text, at, end):
                at = directive_end(text, at, end)
                PyList_Append(directives, (number_of_line, PyUnicode_Substring(text, start, at)))
                continue
            at += 1
            if 97 <= following <= 122 or following == 95:
                while at < end and is_word(text[at]):
                    at += 1
            if at - start == 7 and PyUnicode_Substring(text, start, at) == ".target":
                PyList_Append(words, ".target")
                PyList_Append(lines, number_of_line)
                after_target = True
                continue
        elif c == 34:
            at += 1
            while at < end and text[at] != 34 and text[at] != 10:
                at += 1
            at = at + 1 if at < end and text[at] == 34 else start + 1
        elif is_decimal(c):
            at = number(text, at, end)
        elif is_letter(c) or c == 95 or c == 36 or c == 37:
            at = plain_name(text, at + 1, end) if after_target else name(text, at + 1, end)
            after_target = False
        elif c.isspace():
            at += 1
            continue
        else:
            at += 1
        PyList_Append(words, PyUnicode_Substring(text, start, at))
        PyList_Append(lines, number_of_line)
    words.append("")
    lines.append(line)
    return words, lines, directives
