"""device_rhythm.h alone: when a device looks for the next request."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """
#include "gompy/plugins/intelmic/device_rhythm.h"
void note (struct mic_rhythm *r, uint64_t rest) { mic_rhythm_note (r, rest); }
int due (const struct mic_rhythm *r, uint64_t *from, uint64_t *to) { return mic_rhythm_due (r, from, to); }
void overslept (struct mic_rhythm *r, uint64_t asked, uint64_t now) { mic_rhythm_overslept (r, asked, now); }
"""
LEAST, MOST, SHORT, LONG = 200_000, 100_000_000, 30_000, 150_000
RESTS = st.integers(0, 2 * MOST)
MILLISECOND = 1_000_000


class Rhythm(ctypes.Structure):
    """struct mic_rhythm."""

    _fields_ = [
        ("length", ctypes.c_uint64),
        ("spread", ctypes.c_uint64),
        ("late", ctypes.c_uint64),
        ("score", ctypes.c_uint32),
    ]


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions of the header."""
    folder = tmp_path_factory.mktemp("rhythm")
    (folder / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", f"-I{ROOT}", "-o", folder / "a.so",
                    folder / "a.c"], check=True)  # fmt: skip
    found = ctypes.CDLL(str(folder / "a.so"))
    found.note.argtypes = [ctypes.POINTER(Rhythm), ctypes.c_uint64]
    found.overslept.argtypes = [ctypes.POINTER(Rhythm), ctypes.c_uint64, ctypes.c_uint64]
    return found


def due(lib: ctypes.CDLL, rhythm: Rhythm) -> tuple[int, int] | None:
    """From when to when it would look."""
    begin, end = ctypes.c_uint64(), ctypes.c_uint64()
    if not lib.due(ctypes.byref(rhythm), ctypes.byref(begin), ctypes.byref(end)):
        return None
    return begin.value, end.value


def after(lib: ctypes.CDLL, rests: Iterable[int]) -> Rhythm:
    """What is known after some rests."""
    rhythm = Rhythm()
    for rest in rests:
        lib.note(ctypes.byref(rhythm), rest)
    return rhythm


def test_nothing_is_foretold_at_first(lib: ctypes.CDLL) -> None:
    """Two rests of one length may be chance; after a third one the next is foretold."""
    for rests in ([], [5 * MILLISECOND], [5 * MILLISECOND] * 2):
        assert due(lib, after(lib, rests)) is None
    assert due(lib, after(lib, [5 * MILLISECOND] * 3)) is not None


@given(st.lists(RESTS, max_size=40))
def test_it_never_looks_for_long(lib: ctypes.CDLL, rests: list[int]) -> None:
    """Whatever came, it looks 150 us at most, and a thirty-second part of a rest or 30 us, about when one ends."""
    window = due(lib, after(lib, rests))
    if window is not None:
        begin, end = window
        assert 0 < end - begin <= LONG
        assert LEAST // 2 < begin < end < MOST * 1.1
        assert end - begin <= max(SHORT, end / 30)


@given(
    st.integers(LEAST * 2, MOST // 2),
    st.lists(st.integers(-8000, 8000), min_size=6, max_size=40),
    st.lists(RESTS, max_size=1),
)
def test_a_rhythm_is_met(lib: ctypes.CDLL, length: int, offs: list[int], other: list[int]) -> None:
    """A rest that is 8 us longer or shorter than another is met, and others, or many short ones, are forgiven."""
    rests = [length] * 3 + [length + off for off in offs]
    window = due(lib, after(lib, [*rests, *other, *[1000] * 20]))
    assert window is not None
    if not other or abs(other[0] - length) > length // 8:
        begin, end = window
        spread = 3 * after(lib, rests).spread
        assert begin <= length - min(spread, 15_000) + 8000
        assert begin - 8000 <= length <= end + 8000


@given(st.lists(st.integers(LEAST, MOST), min_size=9, max_size=60))
def test_rests_without_a_rhythm_end_it(lib: ctypes.CDLL, rests: list[int]) -> None:
    """Eight rests in a row that are all unlike what was known: nothing is foretold."""
    unlike = [rest for rest in rests if abs(rest - 5 * MILLISECOND) > MILLISECOND]
    rhythm = after(lib, [5 * MILLISECOND] * 30)
    for n, rest in enumerate(unlike[:8], start=1):
        lib.note(ctypes.byref(rhythm), rest)
        if n >= 7:
            assert due(lib, rhythm) is None


@given(st.lists(st.integers(0, 10 * MILLISECOND), max_size=30))
def test_lateness_is_bounded(lib: ctypes.CDLL, lates: list[int]) -> None:
    """What a sleep overran is remembered up to 150 us; one that ended early counts as in time."""
    rhythm = Rhythm()
    for late in lates:
        lib.overslept(ctypes.byref(rhythm), 10 * MILLISECOND, 5 * MILLISECOND + late)
        assert rhythm.late <= LONG
