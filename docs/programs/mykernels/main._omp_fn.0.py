"""The first region of scale.c: its arguments are n, a value, and x, an address (gompy regions tells)."""

import ctypes


def run(words, launch):
    """words: the arguments; launch: num_teams and thread_limit, 0 if not given."""
    n = ctypes.c_int(words[0]).value
    x = (ctypes.c_float * n).from_address(words[1])
    x[:] = [2 * value + 1 for value in x]
