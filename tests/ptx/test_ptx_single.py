"""Atomic operations of one lane in GCC's OpenMP code: done by the processor at once, with the fences that they have."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

pytest.importorskip("llvmlite")

from gompy.abi import ptx as abi
from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_SYNC, LIBRARY, Device, ExecutorError
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

HEAD = """.version 6.0
.target sm_35
.address_size 64
.visible .shared .align 8 .u64 __nvptx_stacks[32];
.visible .shared .align 8 .b8 room[16];
"""
LANE = 5
EVERYTHING = CHECK_MEMORY | CHECK_INIT | CHECK_SYNC
OLD, ARGUMENT = 0xF000000000000007, 0x10000000C
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda old, b: old + b,
    "and": lambda old, b: old & b,
    "or": lambda old, b: old | b,
    "xor": lambda old, b: old ^ b,
    "exch": lambda old, b: b,
    "min": min,
    "max": max,
}
FORMS = (
    *(("add", kind) for kind in ("u32", "s32", "u64")),
    *((name, kind) for name in ("and", "or", "xor", "exch") for kind in ("b32", "b64")),
    *((name, kind) for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64")),
)


def signed(value: int, bits: int) -> int:
    """A word as a number with a sign."""
    return value - (1 << bits) if value >> (bits - 1) else value


def expected(name: str, kind: str) -> tuple[int, int]:
    """What memory holds before and after."""
    bits = int(kind[1:])
    old, b = OLD % (1 << bits), ARGUMENT % (1 << bits)
    if kind[0] == "s":
        return old, OPERATIONS[name](signed(old, bits), signed(b, bits)) % (1 << bits)
    return old, OPERATIONS[name](old, b) % (1 << bits)


def text(code: str, space: str = "") -> str:
    """A kernel of GCC's conventions: `code` is done by lane 5, %a is its word, %b64 and %b32 the argument."""
    place = f"mov.u64 %s, room; st{space}.u64 [%s], %o; " if space else ""
    return f"""{HEAD}.visible .entry k (.param .u64 %arg, .param .u64 %other, .param .u64 %sz) {{
.reg .u64 %a, %s, %o, %b64, %r64; .reg .u32 %l, %b32, %r32; .reg .pred %p;
ld.param.u64 %a, [%arg]; ld.param.u64 %b64, [%other]; cvt.u32.u64 %b32, %b64; ld.param.u64 %o, [%sz]; {place}
mov.u32 %l, %laneid; setp.eq.u32 %p, %l, {LANE};
{code}
ret; }}
"""


def run(code: str, argument: int = ARGUMENT, at: int = 0, space: str = "", check: int = 0) -> tuple[int, int]:
    """What memory holds afterwards, and the word behind it, where the kernel stores the result."""
    with Device(1 << 20, check) as device:
        a = device.upload(struct.pack("<2Q", OLD, 0))
        device.load(text(code, space)).function("k").launch((1, 1, 1), (32, 1, 1), [a + at, argument, OLD])
        now, result = struct.unpack("<2Q", device.download(a, 16))
        return now, result


def fenced(operation: str) -> str:
    """As GCC's uniform SIMT code has it."""
    return f"@%p membar.sys;\n@%p {operation}\n@%p membar.sys;"


@pytest.mark.parametrize("check", [0, EVERYTHING])
@pytest.mark.parametrize(("name", "kind"), FORMS)
def test_operations(name: str, kind: str, check: int) -> None:
    bits = int(kind[1:])
    old, new = expected(name, kind)
    code = fenced(f"atom.global.{name}.{kind} %r{bits}, [%a], %b{bits};") + f"\n@%p st.global.u{bits} [%a+8], %r{bits};"
    assert run(code, check=check) == (OLD >> bits << bits | new, old)


@pytest.mark.parametrize("check", [0, EVERYTHING])
@pytest.mark.parametrize("kind", ["b32", "b64"])
@pytest.mark.parametrize("equal", [True, False])
def test_compare_and_swap(kind: str, equal: bool, check: int) -> None:
    bits = int(kind[1:])
    old = OLD % (1 << bits)
    code = f"mov.u{bits} %r{bits}, {old + (not equal)};\n"
    code += fenced(f"atom.cas.{kind} %r{bits}, [%a], %r{bits}, %b{bits};")
    code += f"\n@%p st.global.u{bits} [%a+8], %r{bits};"
    new = ARGUMENT % (1 << bits) if equal else old
    assert run(code, check=check) == (OLD >> bits << bits | new, old)


@pytest.mark.parametrize("check", [0, EVERYTHING])
def test_all_lanes_and_shared_memory(check: int) -> None:
    """What is left to the executor."""
    assert run("atom.global.add.u64 %r64, [%a], 2;", check=check)[0] == OLD + 64
    shared = fenced("atom.add.u64 %r64, [%s], 2;") + "\n@%p st.global.u64 [%a+8], %r64; ld.shared.u64 %r64, [%s];"
    assert run(shared + "\n@%p st.global.u64 [%a], %r64;", space=".shared", check=check) == (OLD + 2, OLD)
    with pytest.raises(ExecutorError, match="misaligned address"):
        run(fenced("atom.global.add.u64 %r64, [%a], 2;"), at=4, check=check)
    with pytest.raises(ExecutorError, match="illegal address"):
        run(fenced("atom.global.add.u64 %r64, [%b64], 2;"), argument=1 << 40, check=check)


@pytest.mark.parametrize(("mark", "warnings", "now"), [(3, 0, OLD + 2), (1, 1, OLD + 2), (5, 1, OLD + 2), (0, 0, OLD)])
def test_checked_operations_look_at_the_shadow(mark: int, warnings: int, now: int) -> None:
    """Of written memory they are done at once; of unset, stale or freed memory they are told as before."""
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(struct.pack("<2Q", OLD, 0))
        device.mark(a, 8, mark)
        kernel = device.load(text(fenced("atom.global.add.u64 %r64, [%a], 2;"))).function("k")
        if mark == 0:
            with pytest.raises(ExecutorError, match="illegal address"):
                kernel.launch((1, 1, 1), (32, 1, 1), [a, ARGUMENT, 0])
        else:
            kernel.launch((1, 1, 1), (32, 1, 1), [a, ARGUMENT, 0])
        assert len(device.warnings) == warnings
        assert struct.unpack("<Q", device.download(a, 8)) == (now,)


def code_of(code: str, kind: int = abi.PLAIN) -> str:
    """LLVM IR of a kernel."""
    module = parse(text(code), "object")
    return lower(module.functions["k"], "S", True, Links(), module, "k", kind)[0]


def test_checked_code_has_the_operation_and_a_mask_that_it_need_not_ask_about() -> None:
    """The executor is called where the shadow, or a missing lane, makes it necessary."""
    found = code_of(fenced("atom.global.add.u64 %r64, [%a], 2;"), abi.CHECKED)
    assert found.count("atomicrmw add") == 1 and found.count('fence syncscope("singlethread") seq_cst') == 2
    assert "atomicrmw" not in code_of(fenced("atom.global.add.u64 %r64, [%a], 2;"), abi.RACING)
    found = code_of("bar.warp.sync 0xffffffff;", abi.CHECKED)
    assert found.count("%check_exited") >= 1 and found.index("br i1") < found.index("call void")


def test_fences_are_part_of_the_operation() -> None:
    """Each is left where the operation is the executor's; those of other lanes stay."""
    found = code_of(fenced("atom.global.add.u64 %r64, [%a], 2;"))
    assert found.count("atomicrmw add") == 1
    assert found.count('fence syncscope("singlethread") seq_cst') == 2 and found.count("fence seq_cst") == 2
    assert found.index("fence seq_cst") > found.index("atomicrmw add")
    found = code_of("membar.sys;\n@%p atom.global.add.u64 %r64, [%a], 2;")
    assert "singlethread" not in found and found.count("fence seq_cst") == 1
    found = code_of(fenced("atom.shared.add.u64 %r64, [%s], 2;"))
    assert "singlethread" not in found and "atomicrmw" not in found and found.count("fence seq_cst") == 2
