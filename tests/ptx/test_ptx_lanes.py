"""Loads and stores with an address for each thread, by all ways that compiled code has, against a model in numpy.

Strides of rows and columns of threads, blocks of several shapes, and masks choose the way.  GOMPY_PTX_PLAIN leaves most
ways out: the same programs, with the same results, by the simple ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device, Module

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

ELEMENTS = 600
DATA = np.random.default_rng(3).integers(0, 256, ELEMENTS * 16, dtype=np.uint8)
SHAPES = ((32, 4), (16, 16), (16, 1), (8, 9), (1, 1), (64, 2))
MASKS = (0xFFFFFFFF, 0xFFFFFFFE, 0x00FF00F0, 0x00010000, 0)
STRIDES = ((1, 16), (1, 32), (0, 1), (3, 5), (1, 0), (-1, 16))
PARTS = (("u8", 4), ("u16", 2), ("v2.u8", 2))
"""A form, and how many of it are a word: threads side by side read a part of a word each."""
FORMS = {"u8": 1, "u16": 2, "f32": 4, "u64": 8, "v2.u32": 8, "v4.u32": 16, "v2.u64": 16, "v2.u8": 2}
SKIPPED = 0x5A


@dataclass(frozen=True)
class Access:
    """What a kernel does: element `x * row + y * column + 70` of a memory is read, and written."""

    form: str
    space: str
    strides: tuple[int, int]
    guarded: bool

    @property
    def size(self) -> int:
        return FORMS[self.form]

    @property
    def name(self) -> str:
        row, column = self.strides
        return f"k_{self.form.replace('.', '')}_{self.space}_{row % 100}_{column}_{int(self.guarded)}"

    def text(self) -> str:
        """The kernel (read, memory, mask): `read` gets what each thread has read; `memory` is written."""
        kind = self.form.rpartition(".")[2]
        count = int(self.form[1]) if self.form[0] == "v" else 1
        names = [f"%v{i}" for i in range(count)]
        values = "{" + ", ".join(names) + "}" if count > 1 else names[0]
        register = {"u8": "u16"}.get(kind, kind)
        size = self.size
        guard = "@%p " if self.guarded else ""
        flip = [f"xor.b{size // count * 8} {n}, {n}, %x;" for n in names] if kind != "f32" else ["neg.f32 %v0, %v0;"]
        flip = [f"not.b16 {n}, {n};" for n in names] if kind in ("u8", "u16") else flip
        lines = [
            f".visible .entry {self.name} (.param .u64 out, .param .u64 data, .param .u64 mask) {{",
            ".reg .u64 %o, %d, %m, %a, %w, %s, %e; .reg .u32 %tx, %ty, %nx, %ny, %t, %i, %b, %n; .reg .pred %p, %q;",
            f".reg .{register} %v<{count}>; .reg .b{size // count * 8 if size // count > 1 else 16} %x;",
            f".shared .align 16 .b8 room[{ELEMENTS * 16}]; .local .align 16 .b8 own[{ELEMENTS * 16}];",
            "ld.param.u64 %o, [out]; ld.param.u64 %d, [data]; ld.param.u64 %w, [mask];",
            "mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %nx, %ntid.x; mov.u32 %ny, %ntid.y;",
            "mad.lo.u32 %t, %ty, %nx, %tx; mul.lo.u32 %n, %nx, %ny;",
        ]
        if kind not in ("u8", "u16", "f32"):
            lines.append(f"mov.b{size // count * 8} %x, -1;")
        if self.space == "global":
            lines.append("mov.u64 %m, %d;")
        else:
            first, step = ("%t", "%n") if self.space == "shared" else ("0", "1")
            symbol = {"shared": "room", "local": "own"}[self.space]
            lines += [
                f"mov.u64 %m, {symbol}; mov.u32 %i, {first};",
                f"F: setp.ge.u32 %q, %i, {ELEMENTS * 4}; @%q bra G;",
                "mul.wide.u32 %a, %i, 4; add.u64 %e, %d, %a; ld.global.u32 %b, [%e]; add.u64 %e, %m, %a;",
                f"st.{self.space}.u32 [%e], %b; add.u32 %i, %i, {step}; bra F;",
                "G: bar.sync 0;",
            ]
        row, column = self.strides
        lines += [
            f"mul.lo.s32 %i, %tx, {row}; mad.lo.s32 %i, %ty, {column}, %i; mul.wide.s32 %a, %i, {size};",
            f"add.s64 %a, %m, %a; mul.wide.u32 %s, %t, {size}; add.u64 %o, %o, %s;",
            "and.b32 %b, %t, 31; cvt.u32.u64 %i, %w; shr.u32 %i, %i, %b; and.b32 %i, %i, 1; setp.ne.u32 %p, %i, 0;",
            *([] if self.guarded else ["@!%p bra H;"]),
            f"{guard}ld.{self.space}.{self.form} {values}, [%a+{70 * size}];",
            f"{guard}st.global.{self.form} [%o], {values};",
            "H: bar.sync 0;",
            *([] if self.guarded else ["@!%p bra I;"]),
            *[f"{guard}{line}" for line in flip],
            f"{guard}st.{self.space}.{self.form} [%a+{70 * size}], {values};",
            f"{guard}ld.{self.space}.{self.form} {values}, [%a+{70 * size}];" if self.space == "local" else "",
            f"{guard}st.global.{self.form} [%o], {values};" if self.space == "local" else "",
            "I: bar.sync 0;",
        ]
        if self.space == "shared":
            lines += [
                "mov.u32 %i, %t;",
                f"J: setp.ge.u32 %q, %i, {ELEMENTS * 4}; @%q bra K;",
                "mul.wide.u32 %a, %i, 4; add.u64 %e, %m, %a; ld.shared.u32 %b, [%e]; add.u64 %e, %d, %a;",
                "st.global.u32 [%e], %b; add.u32 %i, %i, %n; bra J; K:",
            ]
        return "\n".join([*lines, "ret; }"])


ACCESSES = [
    Access(form, space, strides, guarded)
    for number, strides in enumerate(STRIDES)
    for form in FORMS
    for space in ("global", "shared", "local")
    for guarded in (bool(number % 2 ^ (form > "u3")),)
]
ACCESSES += [
    Access(form, space, (step, column), guarded)
    for form, step in PARTS
    for space in ("global", "shared")
    for column in (1, 7)
    for guarded in (False, True)
]


@pytest.fixture(scope="module", params=["ways", "plain"])
def loaded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Module, list[Access]]]:
    """All kernels, compiled with all ways or with the simple ones, in a cache of their own."""
    folder: Path = tmp_path_factory.mktemp("lanes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        if request.param == "plain":
            patch.setenv("GOMPY_PTX_PLAIN", "1")
        with Device(1 << 24) as device:
            chosen = ACCESSES if request.param == "ways" else ACCESSES[::5]
            head = ".version 7.0\n.target sm_80\n.address_size 64\n"
            yield device.load(head + "\n".join(access.text() for access in chosen)), chosen


def wanted(access: Access, shape: tuple[int, int], mask: int) -> tuple[np.ndarray, np.ndarray]:
    """What the threads read (for local memory: read back), and the memory behind it."""
    size, threads = access.size, shape[0] * shape[1]
    before = DATA.reshape(-1)[: ELEMENTS * size].reshape(ELEMENTS, size)
    read, after = np.full((threads, size), SKIPPED, np.uint8), before.copy()
    for t in range(threads):
        element = t % shape[0] * access.strides[0] + t // shape[0] * access.strides[1] + 70
        if mask >> t % 32 & 1:
            value = before[element].copy()
            flipped = value ^ np.uint8(255)
            if access.form == "f32":
                flipped = value ^ np.array([0, 0, 0, 128], np.uint8)
            read[t] = flipped if access.space == "local" else value
            after[element] = before[element] if access.space == "local" else flipped
    return read, after


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}x{shape[1]}")
@pytest.mark.parametrize("mask", MASKS, ids=hex)
def test_all_ways(loaded: tuple[Module, list[Access]], shape: tuple[int, int], mask: int) -> None:
    module, accesses = loaded
    device, threads = module.device, shape[0] * shape[1]
    data, out = device.allocate(DATA.size), device.allocate(threads * 16)
    wrong = []
    for access in accesses:
        ctypes.memmove(data, DATA.tobytes(), DATA.size)
        ctypes.memset(out, SKIPPED, threads * 16)
        module.function(access.name).launch((1, 1, 1), (*shape, 1), [out, data, mask])
        read, after = wanted(access, shape, mask)
        got = np.frombuffer(device.download(out, read.size), np.uint8).reshape(read.shape)
        memory = np.frombuffer(device.download(data, after.size), np.uint8).reshape(after.shape)
        if not ((got == read).all() and (memory == after).all()):
            wrong.append(access.name)
    assert not wrong
