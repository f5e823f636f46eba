"""Locks that one function takes and another gives back (inlining.py)."""

from __future__ import annotations

import ctypes

import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, needs_executor

from gompy.ptx.device import Device
from gompy.ptx.inlining import Inlining
from gompy.ptx.parser import parse
from gompy.ptx.syntax import Call, Function

THREADS = 64
BEGIN = """.visible .entry k (.param .u64 %pd) { .reg .u64 %d; .reg .u32 %t, %r<4>; .reg .pred %p;
ld.param.u64 %d, [%pd]; mov.u32 %t, %tid.x; """
WORK = "ld.volatile.global.u32 %r1, [%d+16]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%d+16], %r1; "


def call(name: str, result: str = "") -> str:
    """A call with the lock's address."""
    if not result:
        return f"{{ .param .b64 a; st.param.b64 [a], %d; call {name}, (a); }} "
    return (
        f"{{ .param .b64 a; st.param.b64 [a], %d; .param .b32 b; call (b), {name}, (a); ld.param.b32 {result}, [b]; }} "
    )


def function(name: str, body: str, linkage: str = ".visible", result: bool = False) -> str:
    """A function of an address %d."""
    head = "(.param .b32 out) " if result else ""
    return f"""{linkage} .func {head}{name} (.param .b64 in) {{ .reg .u64 %d; .reg .u32 %r<4>; .reg .pred %p;
ld.param.u64 %d, [in]; {body} ret; }}
"""


SPIN = "again: atom.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again; membar.gl;"
TAKE = function("take", SPIN)
GIVE = function("give", "membar.gl; atom.exch.b32 %r0, [%d], 0;")
TRY = function(
    "try", "atom.cas.b32 %r0, [%d], 0, 1; setp.eq.u32 %p, %r0, 0; selp.u32 %r1, 1, 0, %p; st.param.b32 [out], %r1;",
    result=True,
)  # fmt: skip
TRYING = "again: " + call("try", "%r0") + "setp.eq.u32 %p, %r0, 0; @%p bra again; "
APART = {
    "two functions": TAKE + GIVE + BEGIN + call("take") + WORK + call("give"),
    "given back in place": TAKE + BEGIN + call("take") + WORK + "membar.gl; st.volatile.global.u32 [%d], 0;",
    "taken in place": GIVE + BEGIN + SPIN.replace("atom", "atom.global") + WORK + call("give"),
    "a function that tries": TRY + GIVE + BEGIN + TRYING + WORK + call("give"),
    "functions that call such": TAKE + GIVE + function("outer", call("take")) + function("inner", call("give"))
    + BEGIN + call("outer") + WORK + call("inner"),
    "in a function": TAKE + GIVE + function("work", call("take") + WORK + call("give")) + BEGIN
    + "and.b32 %r2, %t, 3; setp.eq.u32 %p, %r2, 0; @%p bra other;" + call("work") + "bra behind; other:"
    + call("work") + "behind:",
    "weak, of C++": (TAKE + GIVE).replace("take", "_Z4take").replace("give", "_Z4give").replace(".visible", ".weak")
    + BEGIN + call("_Z4take") + WORK + call("_Z4give"),
    "in turns": TAKE + GIVE + BEGIN + "mov.u32 %r3, 0; more: setp.eq.u32 %p, %r3, %t; @%p bra over;" + call("take")
    + WORK + call("give") + "over: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 3; @%p bra more;",
    "the first try before the loop": function(
        "take", "atom.exch.b32 %r0, [%d], 1; setp.eq.u32 %p, %r0, 0; @%p bra has;"
        "again: atom.exch.b32 %r0, [%d], 1; setp.ne.u32 %p, %r0, 0; @%p bra again; has: membar.gl;"
    ) + GIVE + BEGIN + "mov.u32 %r3, 0; more: setp.eq.u32 %p, %r3, %t; @%p bra over;" + call("take")
    + WORK + call("give") + "over: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 3; @%p bra more;",
    "a lock whose address is in memory": function("take", "ld.u64 %d, [%d+8];" + SPIN)
    + function("give", "ld.u64 %d, [%d+8]; membar.gl; st.volatile.u32 [%d], 0;")
    + BEGIN + call("take") + WORK + call("give"),
    "two that give back in one place": BEGIN + "and.b32 %r2, %t, 1; setp.eq.u32 %p, %r2, 0; @%p bra other;"
    + SPIN + "bra has; other:" + SPIN.replace("again", "a2") + "has:" + WORK
    + "membar.gl; atom.global.exch.b32 %r0, [%d], 0;",
}  # fmt: skip
"""Kernels whose lanes take a lock from each other."""
TURNS = {"in turns": 3, "the first try before the loop": 3}
ENDS = " ret; }"


def compiled(text: str, name: str = "k") -> Function:
    """What is compiled for a function."""
    module = parse(HEAD + text)
    return Inlining(module).of(module.functions[name])


def calls(of: Function) -> list[str]:
    """The names that it calls."""
    return [getattr(code.target, "name", "") for code in of.body or () if isinstance(code, Call)]


@needs_executor
@pytest.mark.parametrize("name", APART)
def test_all_lanes_come_to_an_end(name: str) -> None:
    with Device(1 << 22) as device:
        place = device.upload(bytes(64))
        ctypes.c_uint64.from_address(place + 8).value = place
        kernel = device.load(HEAD + APART[name] + ENDS).function("k")
        kernel.launch((2, 1, 1), (THREADS, 1, 1), [place])
        found = device.download(place, 64)
    left_out = 2 * TURNS.get(name, 0)
    want = 2 * THREADS * TURNS.get(name, 1) - left_out
    assert int.from_bytes(found[16:20], "little") == want
    assert int.from_bytes(found[:4], "little") == 0


def test_what_is_called_is_where_it_was() -> None:
    assert calls(compiled(APART["functions that call such"] + ENDS)) == []
    assert calls(compiled(APART["in a function"] + ENDS)) == ["work", "work"]
    assert calls(compiled(APART["in a function"] + ENDS, "work")) == []


@pytest.mark.parametrize(
    "text",
    [
        (TAKE + GIVE).replace(".visible", ".weak") + BEGIN + call("take") + WORK + call("give"),  # another's may count
        TAKE + BEGIN + call("take") + WORK,  # nobody gives it back
        TAKE + function("give", "bar.sync 0; atom.exch.b32 %r0, [%d], 0;") + BEGIN + call("take") + call("give"),
        function("count", "atom.add.u32 %r0, [%d], 1;") + BEGIN + "mov.u32 %r3, 0; more: " + call("count")
        + "add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 3; @%p bra more;",  # waits for nothing
    ],
)  # fmt: skip
def test_others_stay_calls(text: str) -> None:
    module = parse(HEAD + text + ENDS)
    assert Inlining(module).of(module.functions["k"]) is module.functions["k"]


def test_a_function_that_calls_itself() -> None:
    again = function("take", SPIN + call("take"))
    assert calls(compiled(again + GIVE + BEGIN + call("take") + WORK + call("give") + ENDS)) == ["take"]
