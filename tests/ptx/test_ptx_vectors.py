"""Vectors of elements (`.v2`, `.v4`) of lanes that follow each other: sums, permutations, lanes that are off."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse
from gompy.ptx.vectors import LINE

__all__ = ["device"]

pytestmark = needs_executor

KINDS = {"u32": "<u4", "f32": "<f4", "u64": "<u8", "f64": "<f8"}
SIZES = {"i32": 4, "float": 4, "i64": 8, "double": 8}
CASES = [(kind, count) for kind in KINDS for count in (2, 4) if count * int(kind[1:]) <= 128]
ORDERS = ["as it is", "turned"]
GUARDS = {
    "all": ("setp.ge.u32 %p, %t, 0;", range(96)),
    "odd": ("and.b32 %m, %t, 1; setp.eq.u32 %p, %m, 1;", range(1, 96, 2)),
    "some": ("setp.lt.u32 %p, %t, 41;", range(41)),
}


def kernel(kind: str, count: int, order: str, guard: str) -> str:
    """`c[i] = a[i] + b[i]` of vectors, or with the elements of the sum in the other direction."""
    r, s, rounding = (f"%a<{count}>", f"%b<{count}>", ".rn" if kind[0] == "f" else "")
    first, second = (", ".join(f"%{letter}{i}" for i in range(count)) for letter in "ab")
    sums = " ".join(f"add{rounding}.{kind} %a{i}, %a{i}, %b{i};" for i in range(count))
    third = first if order == "as it is" else ", ".join(f"%a{i}" for i in reversed(range(count)))
    return f"""{HEAD}.visible .entry k (.param .u64 pa, .param .u64 pb, .param .u64 pc)
{{ .reg .u64 %x, %y, %z, %o; .reg .u32 %t, %m; .reg .pred %p; .reg .{kind} {r}, {s};
  ld.param.u64 %x, [pa]; ld.param.u64 %y, [pb]; ld.param.u64 %z, [pc]; mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, {count * int(kind[1:]) // 8}; add.u64 %x, %x, %o; add.u64 %y, %y, %o; add.u64 %z, %z, %o;
  {GUARDS[guard][0]} @!%p bra out;
  ld.global.v{count}.{kind} {{{first}}}, [%x]; ld.global.v{count}.{kind} {{{second}}}, [%y];
  {sums} st.global.v{count}.{kind} [%z], {{{third}}};
  out: ret; }}
"""


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("kind", "count"), CASES)
def test_sums(device: Device, kind: str, count: int, order: str, guard: str) -> None:
    generator = np.random.default_rng(count)
    a, b = (generator.integers(0, 1 << 20, (96, count)).astype(KINDS[kind]) for _ in range(2))
    places = [device.upload(array.tobytes()) for array in (a, b, np.zeros_like(a))]
    device.load(kernel(kind, count, order, guard)).function("k").launch((1, 1, 1), (96, 1, 1), places)
    found = np.frombuffer(device.download(places[2], a.nbytes), KINDS[kind]).reshape(a.shape)
    wanted = np.zeros_like(a)
    for lane in GUARDS[guard][1]:
        wanted[lane] = (a[lane] + b[lane])[:: 1 if order == "as it is" else -1]
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize(("kind", "count"), CASES)
def test_lines_are_loaded_in_order(kind: str, count: int) -> None:
    """A load of all lanes' elements goes a line after the other, and both ways of it have them in one piece."""
    module = parse(kernel(kind, count, "as it is", "all"), "test")
    text = lower(module.functions["k"], "E", True, Links(), module, "k")[0]
    found = re.findall(rf"load <(\d+) x (\w+)>, ptr %\w+, align {int(kind[1:]) // 8}\b", text)
    lines = [int(number) * SIZES[element] for number, element in found if SIZES[element] * 8 == int(kind[1:])]
    assert lines and max(lines) == LINE
    assert re.search(rf"phi <{32 * count} x ", text)
