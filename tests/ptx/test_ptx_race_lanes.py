"""GOMPY_CHECK=race: several lanes of a warp that access one word by one instruction, and lanes of that warp."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("llvmlite")

from test_ptx_races import LIBRARY, races

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the executor is not built")

LANES = {
    "all": "",
    "0": "setp.eq.u32 %q, %t, 0;\n@%q ",
    "8": "setp.eq.u32 %q, %t, 8;\n@%q ",
    "10": "setp.eq.u32 %q, %t, 10;\n@%q ",
    "8 and 9": "shr.u32 %n, %t, 1; setp.eq.u32 %q, %n, 4;\n@%q ",
}
VALUE = {True: "add.u32 %w, %t, 77;\n", False: "mov.u32 %w, 77;\n"}
"""Each lane's own, or one."""

RACES = [
    (("read", "10"), ("write", "8 and 9")),
    (("read", "10"), ("write", "all")),
    (("read", "8 and 9"), ("write", "10")),
    (("read", "all"), ("write", "8")),
    (("read", "all"), ("write", "0")),
    (("write", "8"), ("read", "all")),
    (("write", "0"), ("read", "all")),
    (("write", "8"), ("write", "all")),
    (("write", "8 and 9"), ("write", "10")),
    (("write", "all"), ("write", "8")),
]
"""One, and the other behind it."""

RIGHT = [(("write", "all"), ("read", "10")), (("write", "all"), ("read", "all")), (("read", "all"), ("read", "8"))]
"""With one value: a lane reads what it has written, as all have."""


def access(space: str, what: tuple[str, str]) -> str:
    box = "tile" if space == "shared" else "%p"
    verb = f"ld.{space}.u32 %v, [{box}];" if what[0] == "read" else f"st.{space}.u32 [{box}], %w;"
    return f"{LANES[what[1]]}{verb}\n"


def told(
    space: str, one: tuple[str, str], other: tuple[str, str], between: str = "", target: str = "sm_70"
) -> list[str]:
    own = (one, other) not in RIGHT
    return races(VALUE[own] + access(space, one) + between + access(space, other), target, block=32)


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize(("one", "other"), RACES)
def test_what_nothing_orders(space: str, one: tuple[str, str], other: tuple[str, str]) -> None:
    """Two threads are named.  A __syncwarp orders them, and before sm_70 lanes go in step."""
    found = told(space, one, other)
    threads = re.findall(r"by thread \((\d+),0,0\)", found[0])
    assert len(threads) == 2 and threads[0] != threads[1], found
    assert told(space, one, other, "bar.warp.sync 0xffffffff;\n") == []
    assert told(space, one, other, target="sm_35") == []


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize(("one", "other"), RIGHT)
def test_what_is_right(space: str, one: tuple[str, str], other: tuple[str, str]) -> None:
    assert told(space, one, other) == []


def test_memory_of_llvms_device_runtime() -> None:
    """clang's OpenMP code reads there what thread 0 writes, with no barrier between."""
    body = "@%q st.shared.u32 [{0}], %t;\nld.shared.u32 %v, [{0}];\n"
    state = "_ZN4ompx5state9TeamStateE_$_0"
    assert (
        races(body.format(state), head=f".version 7.0\n.target sm_70\n.address_size 64\n.shared .b8 {state}[4];\n")
        == []
    )
    assert races(body.format("tile"))
