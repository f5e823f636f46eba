"""Where variables of shared memory lie: what a kernel may rely on, what it is told, and what is quick."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]

pytestmark = needs_executor

LINE, ROW = 64, 128
SHARED_BASE = 0x7F000000
NAMES = ("few", "many", "byte", "wide", "extern")
PLACES = f"""{HEAD}.shared .align 4 .b8 few[12]; .shared .align 4 .b8 many[100]; .shared .align 1 .b8 byte;
.shared .align 256 .b8 wide[8]; .extern .shared .align 16 .b8 extern[];
.visible .entry k (.param .u64 po) {{ .reg .u64 %o, %a; ld.param.u64 %o, [po];
  {" ".join(f"mov.u64 %a, {name}; st.global.u64 [%o+{at * 8}], %a;" for at, name in enumerate(NAMES))} ret; }}
"""


def test_rows_begin_in_lines(device: Device) -> None:
    out = device.upload(bytes(8 * len(NAMES)))
    kernel = device.load(PLACES).function("k")
    kernel.launch((1, 1, 1), (1, 1, 1), [out], 64)
    few, many, byte, wide, extern = np.frombuffer(device.download(out, 8 * len(NAMES)), dtype=np.uint64).tolist()
    assert few >= SHARED_BASE + ROW and few % 4 == 0
    assert many >= few + 12 and many % LINE == 0
    assert byte == many + 100
    assert wide % 256 == 0 and extern % LINE == 0 and extern >= wide + 8
    # what a program computes its dynamic memory by is as ptxas has it: no gap but for the alignment that is asked for
    assert kernel.attributes().shared_bytes == 256 + 8


# A lane reads in front of the array where it is off: `i >= step ? t[i] + t[i - step] : t[i]`.
BEFORE = f"""{HEAD}.shared .align 4 .b8 t[256];
.visible .entry k (.param .u64 po) {{ .reg .u64 %o, %a, %y; .reg .u32 %t, %i, %j; .reg .pred %p;
  ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mad.wide.u32 %y, %t, 4, %o; mov.u64 %a, t; mad.wide.u32 %a, %t, 4, %a;
  st.shared.u32 [%a], %t; bar.sync 0; ld.shared.u32 %i, [%a]; setp.lt.u32 %p, %t, 4; @%p bra less;
  ld.shared.u32 %j, [%a+-16]; add.u32 %i, %i, %j;
less: st.global.u32 [%y], %i; ret; }}
"""


def test_in_front_of_an_array(device: Device) -> None:
    out = device.upload(bytes(256))
    device.load(BEFORE).function("k").launch((1, 1, 1), (64, 1, 1), [out])
    found = np.frombuffer(device.download(out, 256), dtype=np.uint32)
    assert found.tolist() == [i if i < 4 else 2 * i - 4 for i in range(64)]


# LLVM's word for shared memory that it has not set: Taichi's `shared_array_N`.
DECLARED = f"""{HEAD}.extern .shared .align 8 .b8 first[256]; .extern .shared .align 4 .b8 second[64];
.visible .entry k (.param .u64 po) {{ .reg .u64 %o, %a, %b;
  ld.param.u64 %o, [po]; mov.u64 %a, first; st.global.u64 [%o], %a; mov.u64 %b, second; st.global.u64 [%o+8], %b;
  st.shared.u64 [%a+248], %o; ret; }}
"""


def test_declared_with_a_size_and_defined_nowhere(device: Device) -> None:
    out = device.upload(bytes(16))
    kernel = device.load(DECLARED).function("k")
    kernel.launch((1, 1, 1), (1, 1, 1), [out])
    first, second = np.frombuffer(device.download(out, 16), dtype=np.uint64).tolist()
    assert first >= SHARED_BASE and (second >= first + 256 or first >= second + 64)
    assert kernel.attributes().shared_bytes == 256 + 64


def test_declared_with_a_size_and_defined_elsewhere(device: Device) -> None:
    out = device.upload(bytes(16))
    other = f"{HEAD}.visible .shared .align 8 .b8 first[512];"
    kernel = device.load(DECLARED, other).function("k")
    kernel.launch((1, 1, 1), (1, 1, 1), [out])
    assert kernel.attributes().shared_bytes == 512 + 64


NAMELESS = """.visible .entry k (.param .u64 po) { .reg .u64 %o; .reg .b32 %t, %base, %i, %j, %r; ld.param.u64 %o, [po];
  mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o; shl.b32 %base, %t, 2; mul.lo.u32 %i, %t, 3; xor.b32 %j, %base, 28;
  st.shared.u32 [%base+64], %i; setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [0], %t; bar.sync 0;
  ld.shared.u32 %r, [%j+64]; st.global.u32 [%o], %r; atom.shared.add.u32 %r, [0], 1; st.global.u32 [%o+128], %r; ret; }
""".replace("%r;", "%r; .reg .pred %p;", 1)


def test_without_a_name(device: Device) -> None:
    """Addresses count from 0 where the object has no shared variable, as in Halide's code."""
    out = device.upload(bytes(256))
    device.load(HEAD + NAMELESS).function("k").launch((1, 1, 1), (32, 1, 1), [out], shared=64 + 128)
    found = np.frombuffer(device.download(out, 256), dtype=np.uint32).tolist()
    assert found[:32] == [3 * (lane ^ 7) for lane in range(32)]
    assert sorted(found[32:]) == list(range(32))
    assert device.warnings == []


# A register that is less than 0 but for the offset; copies, barriers and matrices.
OTHERS = {
    "less": "add.s32 %i, %t, -4; shl.b32 %i, %i, 2; st.shared.u32 [%i+16], %t; bar.sync 0; ld.shared.u32 %r, [%i+16];",
    "copy": "st.global.u32 [%o], %t; shl.b32 %i, %t, 2; cp.async.ca.shared.global [%i], [%o], 4; cp.async.wait_all;"
    "ld.shared.u32 %r, [%i];",
    "matrix": "shl.b32 %i, %t, 2; st.shared.u32 [%i], %t; bar.sync 0; and.b32 %i, %t, 7; shl.b32 %i, %i, 4;"
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [%i];",
    "barrier": "mov.u32 %i, 8; setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [%i], 32; bar.sync 0;"
    "mbarrier.arrive.shared.b64 %s, [%i]; mov.u32 %r, %t;",
}


@pytest.mark.parametrize("way", OTHERS)
def test_all_accesses_count_from_zero(device: Device, way: str) -> None:
    out = device.upload(bytes(128))
    text = f""".visible .entry k (.param .u64 po) {{ .reg .u64 %o, %s; .reg .b32 %t, %i, %r; .reg .pred %p;
      ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o; {OTHERS[way]}
      st.global.u32 [%o], %r; ret; }}
    """
    head = HEAD.replace("sm_35", "sm_80")
    device.load(head + text).function("k").launch((1, 1, 1), (32, 1, 1), [out], shared=256)
    assert np.frombuffer(device.download(out, 128), dtype=np.uint32).tolist() == list(range(32))


@pytest.mark.parametrize("more", [".shared .u32 other;", ".func f () { ret; }", ".extern .func f ();"])
def test_where_addresses_may_come_from_elsewhere(more: str) -> None:
    """Of a variable, or of another function: a small number is none of shared memory then."""
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        module = here.load(f"{HEAD}{more}\n{NAMELESS}")
        module.function("k").launch((1, 1, 1), (32, 1, 1), [here.upload(bytes(256))], shared=64 + 128)
    assert "illegal address 0x" in failure.value.log
