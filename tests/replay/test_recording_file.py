"""The file of ``gompy record`` as it is read: whole, cut off, damaged; pointers moved; contents compared."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gompy import UserError
from gompy.replay.bisecting import bisect
from gompy.replay.comparing import Measure, compare
from gompy.replay.moving import Moves
from gompy.replay.recording import Mapped, Name, Recording

BLOCK = 0x180000010000
HOST = 0x7FFE00001000


def line(data: bytes = b"", **members: Any) -> bytes:
    """A line of the file and what follows it."""
    return json.dumps(members | ({"bytes": len(data)} if data else {})).encode() + b"\n" + data


def sample(before: bytes, after: bytes, block: int = BLOCK) -> bytes:
    """A recording of one region with one variable behind its two argument words."""
    words = [1, block + 16]
    head = struct.pack("<2Q", *words)
    return b"".join(
        (
            line(**{"is": "gompy recording", "version": 1, "program": "/prog"}),
            line(b"\x7fELF", **{"is": "image", "image": 0, "type": 6, "version": 0, "kind": "intelmic"}),
            line(**{"is": "loaded", "image": 0, "device": 0, "name": "intelmic", "functions": 1, "table": [[9, 10]]}),
            line(head + before, **{"is": "blob", "blob": 0}),
            line(
                **{"is": "region", "region": 0, "device": 0, "name": "intelmic", "function": "main._omp_fn.0"},
                **{"word": 9, "host": 77, "what": "target", "teams": 1, "arguments": block, "words": words},
                **{"limits": [256, -5], "maps": [[1, 3, HOST, len(before), block + 16, "new"]]},
                objects=[[HOST, len(before), block + 16]],
                memory=[[block, 16 + len(before), 0]],
            ),
            line(head + after, **{"is": "blob", "blob": 1}),
            line(**{"is": "after", "region": 0, "memory": [[block, 16 + len(after), 1]]}),
            line(**{"is": "end", "regions": 1}),
            line(
                **{"is": "names", "region": 0, "place": "a.c:3", "names": [[HOST, "x", HOST - 8, 8, "f8"]]},
            ),
        )
    )


def read(path: Path, data: bytes) -> Recording:
    """A recording of these bytes."""
    path.write_bytes(data)
    return Recording(str(path))


def doubles(*values: float) -> bytes:
    """As memory has them."""
    return struct.pack(f"<{len(values)}d", *values)


def test_all_of_a_recording_is_read(tmp_path: Path) -> None:
    recording = read(tmp_path / "r", sample(doubles(1, 2), doubles(3, 4)))
    assert recording.program == "/prog" and recording.whole and recording.limit is None
    assert recording.bytes_of(recording.images[0]) == b"\x7fELF"
    (region,) = recording.regions
    assert region.words == [1, BLOCK + 16] and region.limits == [256, -5]
    assert region.objects == [Mapped(HOST, 16, BLOCK + 16)]
    assert region.names == {HOST: Name("x", HOST - 8, 8, "f8")} and region.place == "a.c:3"
    assert region.after is not None
    assert recording.contents(region.after[0])[16:] == doubles(3, 4)


def test_a_recording_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = sample(doubles(1), doubles(2))
    whole = data.index(b'{"is": "blob", "blob": 1')
    for size in (whole, whole + 10, whole + 40):
        recording = read(tmp_path / f"r{size}", data[:size])
        assert [region.after for region in recording.regions] == [None] and not recording.whole


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "empty, no recording of gompy record"),
        (b"\x7fELF....", "no recording of gompy record"),
        (b'{"is": "gompy recording", "version": 2, "program": ""}\n', "of version 2, this gompy reads 1"),
        (b'{"is": "gompy recording", "version": 1, "program": ""}\n[]\n', "damaged at byte 55"),
        (b'{"is": "gompy recording", "version": 1, "program": ""}\n' + b"[" * 9999 + b"\n", "damaged at byte 55"),
    ],
    ids=["empty", "foreign", "newer", "no-object", "deep"],
)
def test_what_is_no_recording_is_one_line(tmp_path: Path, data: bytes, text: str) -> None:
    with pytest.raises(UserError, match=text):
        read(tmp_path / "r", data)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_recording_is_one_line_or_read(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever is changed, cut or put in."""
    content = bytearray(sample(doubles(1, 2), doubles(3, 4)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        with_what = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"-1", b"9" * 30, b"null", b'"', b"[]"]))
        )
        content[at : at + data.draw(st.integers(0, 3))] = with_what
    path = tmp_path / "r"
    try:
        recording = read(path, bytes(content[: data.draw(st.integers(0, len(content)))]))
    except UserError as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error)
        return
    for region in recording.regions:
        for span in [*region.memory, *(region.after or [])]:
            assert len(recording.contents(span)) == span.size
        if region.after is not None:
            contents = [recording.contents(span) for span in region.after]
            assert compare(region, contents, contents, Measure()) == []


def test_pointers_move_with_what_they_point_to() -> None:
    moves = Moves([(0x180000010000, 0x7F0000000000, 64), (0x1000, 0x2000, 8)])
    words = [0x180000010000, 0x180000010040, 0x180000010041, 0x18000000FFFF, 0x1008, 5]
    wanted = [0x7F0000000000, 0x7F0000000040, 0x180000010041, 0x18000000FFFF, 0x2008, 5]
    data = b"....." + struct.pack("<6Q", *words)
    moved, count = moves.contents(data, 3)
    assert moved == b"....." + struct.pack("<6Q", *wanted) and count == 3
    assert moves.reversed().contents(moved, 3)[0] == data
    assert moves.contents(data, 4) == (data, 0)  # not at multiples of eight


def test_the_first_element_that_differs_is_named(tmp_path: Path) -> None:
    recording = read(tmp_path / "r", sample(doubles(1, 2, 3), doubles(1, 2, 3)))
    (region,) = recording.regions
    assert region.after is not None
    before = [recording.contents(region.after[0])]
    now = [before[0][:16] + doubles(1, 2.5, 4)]
    (found,) = compare(region, before, now, Measure())
    assert found.text("recorded", "now") == "x[2]: recorded 2, now 2.5; 2 of 3 elements of x differ"
    (found,) = compare(region, before, now, Measure(0.2))
    assert found.text("a", "b") == "x[3]: a 3, b 4; 1 of 3 elements of x differ"
    assert compare(region, before, now, Measure(0.5)) == []
    # Argument words are nobody's result.
    assert compare(region, before, [bytes(16) + before[0][16:]], Measure()) == []


def test_numbers_that_are_none_are_the_same() -> None:
    measure = Measure(1e-3)
    nan, inf = float("nan"), float("inf")
    assert measure.same(nan, nan) and measure.same(inf, inf) and measure.same(1.0, 1.0005)
    assert not measure.same(nan, 1.0) and not measure.same(inf, 1.0) and not measure.same(3, 4)


def test_bisect_finds_the_first_difference(tmp_path: Path) -> None:
    """Also where memory lies elsewhere in the other run."""
    first = read(tmp_path / "a", sample(doubles(1, 2), doubles(3, 4)))
    same = read(tmp_path / "b", sample(doubles(1, 2), doubles(3, 4), 0x7F0000400000))
    later = read(tmp_path / "c", sample(doubles(1, 2), doubles(3, 5), 0x7F0000400000))
    sooner = read(tmp_path / "d", sample(doubles(1, 7), doubles(3, 5)))
    assert bisect(first, same, Measure()) == (None, 1)
    found, compared = bisect(first, later, Measure())
    assert found is not None and compared == 0 and found.when == "after"
    assert [item.text("one", "other") for item in found.differences] == [
        "x[2]: one 4, other 5; 1 of 2 elements of x differ"
    ]
    found, _ = bisect(first, sooner, Measure())
    assert found is not None and found.when == "before"
    assert bisect(first, later, Measure(0.5)) == (None, 1)


def test_bisect_compares_the_same_launches_of_two_runs(tmp_path: Path) -> None:
    """One has left out its first launch, which ran beside others, and the second, which ran beside that one."""
    values = [struct.pack("<d", value) for value in (1, 2, 3)]
    runs = [read(tmp_path / str(at), sample(value, value)) for at, value in enumerate(values)]
    launches = [replace(run.regions[0], launch=at) for at, run in enumerate(runs)]
    first, second = runs[2], read(tmp_path / "all", (tmp_path / "2").read_bytes())
    first.regions = [replace(launches[0], dropped=True), launches[2]]
    second.regions = [*launches[:2], replace(second.regions[0], launch=2)]
    assert bisect(first, second, Measure(0.0, "")) == (None, 1)
    assert bisect(second, first, Measure(0.0, "")) == (None, 1)
    second.regions[2] = replace(second.regions[2], function="other")
    assert bisect(first, second, Measure(0.0, "")) == (None, 0)


@pytest.mark.parametrize(("place", "compared"), [("b.c:3", 1), ("a.c:3", 0)])
def test_bisect_takes_no_function_for_one_of_its_name(tmp_path: Path, place: str, compared: int) -> None:
    """Static functions of two files, of which one run has left out the second; one line may have both, a header's."""
    first = read(tmp_path / "first", sample(doubles(1), doubles(1)))
    second = read(tmp_path / "second", (tmp_path / "first").read_bytes())
    ours = replace(first.regions[0], place=place)
    other = replace(ours, place="a.c:3", after=None)  # as far as this it has come, and that is a difference
    first.regions, second.regions = [ours, replace(other, dropped=True)], [ours, other]
    assert bisect(first, second, Measure(0.0, "")) == (None, compared)
