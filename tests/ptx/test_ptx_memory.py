"""Every form of load and store that GCC 12 emits: addresses that follow each other, are scattered, are one."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_SYNC, LIBRARY, Device, Module

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

SIZE = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "u32": 4, "s32": 4, "f32": 4, "u64": 8, "f64": 8}
DATA = np.random.default_rng(11).integers(0, 256, 1024, dtype=np.uint8)
MEMORIES = ("global", "shared", "local")
PLACES = ("lane", "scattered", "uniform")


@dataclass
class Access:
    """A load or store: `space` "" is a generic address, `of` the memory that it is in."""

    form: str
    of: str

    @property
    def kind(self) -> str:
        return self.form.rsplit(".", 1)[1]

    @property
    def size(self) -> int:
        return SIZE[self.kind]


LOADS = [Access(f"ld.{k}", of) for k in SIZE for of in ("global", "shared", "local")]
LOADS += [Access(f"ld.global.{k}", "global") for k in ("u32", "u8", "u64")]
LOADS += [Access(f"ld.shared.{k}", "shared") for k in ("u64", "u32")]
LOADS += [Access(f"ld.const.{k}", "const") for k in ("u64", "u32", "u16", "u8")]
LOADS += [Access("ld.cg.s32", "global"), Access("ld.volatile.u32", "global"), Access("ld.local.u32", "local")]
STORES = [
    Access(f"st.{k}", of) for k in ("u64", "u32", "u8", "f32", "u16", "f64") for of in ("global", "shared", "local")
]
STORES += [Access(f"st.shared.{k}", "shared") for k in ("u64", "u32")]
STORES += [Access(f"st.global.{k}", "global") for k in ("u32", "u64")]


def register(kind: str) -> str:
    return {"u8": "u32", "s8": "s32"}.get(kind, kind)


def index(place: str) -> np.ndarray:
    """Which element each lane takes."""
    lanes = np.arange(32)
    return {"lane": lanes, "scattered": lanes * 7 % 32, "uniform": np.full(32, 5)}[place]


def kernel(name: str, access: Access, place: str) -> str:
    """A kernel (out, data): memory is filled from `data`, accessed, and the result copied to `out`."""
    size = access.size
    lines = [f".visible .entry {name} (.param .u64 %out, .param .u64 %data) {{"]
    lines += [
        ".reg .u64 %o, %d, %m, %p, %q, %v; .reg .u32 %lane, %i, %j, %b; .reg .pred %c; .local .align 8 .b8 %own[256];"
    ]
    lines += [f".reg .{register(access.kind)} %r;"]
    lines += ["ld.param.u64 %o, [%out]; ld.param.u64 %d, [%data]; mov.u32 %lane, %laneid;"]
    base = {
        "global": "mov.u64 %m, %d;",
        "const": "cvta.const.u64 %m, table;",
        "shared": "cvta.shared.u64 %m, room;",
        "local": "cvta.local.u64 %m, %own;",
    }[access.of]
    lines += [base]
    if access.of in ("shared", "local"):
        lines += ["mov.u32 %j, 0; mov.u64 %p, %m; mov.u64 %q, %d;"]
        lines += [f"$F{name}: ld.u8 %b, [%q]; st.u8 [%p], %b; add.u64 %p, %p, 1; add.u64 %q, %q, 1;"]
        lines += [f"add.u32 %j, %j, 1; setp.lt.u32 %c, %j, 256; @%c bra $F{name};"]
    lines += [
        {
            "lane": "mov.u32 %i, %lane;",
            "scattered": "mul.lo.u32 %i, %lane, 7; and.b32 %i, %i, 31;",
            "uniform": "mov.u32 %i, 5;",
        }[place]
    ]
    lines += [f"mad.wide.u32 %p, %i, {size}, %m; mad.wide.u32 %q, %lane, {size}, %o;"]
    kind = access.kind
    if access.form.startswith("ld"):
        lines += [f"{access.form} %r, [%p];"]
        if kind in ("s8", "s16"):
            lines += ["mad.wide.u32 %q, %lane, 8, %o;", f"cvt.s64.{register(kind)} %v, %r; st.u64 [%q], %v;"]
        else:
            lines += [f"st.{kind} [%q], %r;"]
    else:
        # What is stored: the lane's element of the data's second half (of the fifth lane where all store to one place).
        lane = "%lane" if place != "uniform" else "5"
        lines += [
            f"mov.u32 %j, {lane}; mad.wide.u32 %q, %j, {size}, %d; ld.{kind} %r, [%q+256]; {access.form} [%p], %r;"
        ]
        lines += ["mad.wide.u32 %p, %lane, 8, %m; mad.wide.u32 %q, %lane, 8, %o; bar.warp.sync 0xffffffff;"]
        if access.of == "local":  # each lane's own: the element that it stored, by itself
            lines += [f"mad.wide.u32 %p, %i, {size}, %m; mad.wide.u32 %q, %lane, {size}, %o;"]
            lines += [f"ld.{kind} %r, [%p]; st.{kind} [%q], %r;"]
        else:
            lines += ["ld.u64 %v, [%p]; st.u64 [%q], %v;"]
    return "\n".join([*lines, "ret; }"])


CASES = [(access, place) for access in LOADS + STORES for place in PLACES]


@pytest.fixture(scope="module", params=[0, CHECK_MEMORY | CHECK_INIT | CHECK_SYNC], ids=["plain", "checked"])
def compiled(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> tuple[Device, Module]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        text = ".version 6.0\n.target sm_35\n.address_size 64\n.shared .align 8 .b8 room[256];\n"
        text += f".const .align 8 .b8 table[1024] = {{ {', '.join(map(str, DATA))} }};\n"
        text += "\n".join(kernel(f"k{i}", access, place) for i, (access, place) in enumerate(CASES))
        device = Device(1 << 24, request.param)
        return device, device.load(text)


@pytest.mark.slow(sample=29)
@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{a.form}-{a.of}-{p}" for a, p in CASES])
def test_access(compiled: tuple[Device, Module], number: int) -> None:
    device, module = compiled
    access, place = CASES[number]
    data, out = device.upload(DATA.tobytes()), device.upload(bytes(512))
    module.function(f"k{number}").launch((1, 1, 1), (32, 1, 1), [out, data])
    assert device.warnings == []
    got = np.frombuffer(device.download(out, 512), dtype=np.uint8)
    size, lanes = access.size, np.arange(32)
    elements = DATA[:256] if size == 8 else DATA[: 32 * size]
    elements = elements.reshape(-1, size)[:32]
    second = DATA[256 : 256 + 32 * size].reshape(-1, size)
    if access.form.startswith("ld"):
        want = elements[index(place)]
        if access.kind in ("s8", "s16"):
            numbers = want.copy().view(f"i{size}").reshape(-1).astype(np.int64)
            assert (got[:256].view(np.int64) == numbers).all()
        else:
            assert (got[: 32 * size] == want.reshape(-1)).all()
        return
    stored = second[lanes if place != "uniform" else np.full(32, 5)]
    if access.of == "local":
        assert (got[: 32 * size] == stored.reshape(-1)).all()
        return
    want = DATA[:256].copy()
    for lane, where in zip(lanes, index(place), strict=True):
        want[where * size : (where + 1) * size] = stored[lane]
    assert (got[:256] == want).all()


MISC = """.version 6.0
.target sm_35
.address_size 64
.shared .align 8 .u64 word[2];
.func (.param .f64 %r) twice (.param .f64 %x) { .reg .f64 %v; ld.param.f64 %v, [%x]; add.f64 %v, %v, %v;
  st.param.f64 [%r], %v; ret.uni; }
.visible .entry k (.param .u64 %out) { .reg .u64 %o, %q; .reg .v2 .u64 %w; .reg .v2 .u32 %d; .reg .f64 %v;
  .reg .u32 %x, %y, %t;
  ld.param.u64 %o, [%out]; mov.u32 %t, %laneid; cvta.shared.u64 %q, word; mov.v2.u64 %w, {7, 9}; mov.v2.u32 %d, {3, 4};
  st.v2.u64 [%q], %w; membar.cta; membar.sys; membar.gl; bar.warp.sync 0xffffffff; barrier.sync.aligned 0;
  ld.shared.u64 %q, [word+8]; st.u64 [%o], %q; st.v2.u32 [%o+8], %d;
  { .param .f64 %r1; .param .f64 %a1; mov.f64 %v, 0d3FF8000000000000; st.param.f64 [%a1], %v;
    call.uni (%r1), twice, (%a1);
    ld.param.f64 %v, [%r1]; }
  st.f64 [%o+16], %v; atom.global.cas.b32 %x, [%o+24], 0, 5; atom.and.b32 %x, [%o+28], 12;
  shfl.sync.idx.b32 %y, %t, 9, 31, 0xffffffff; st.u32 [%o+32], %y; exit; }"""


def test_what_is_left(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Vectors of two words, fences, barriers of a warp, calls with float arguments, atomics on global memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Device(1 << 22) as device:
        out = device.upload(bytes(28) + struct.pack("<I", 7) + bytes(8))
        device.load(MISC).function("k").launch((1, 1, 1), (32, 1, 1), [out])
        assert struct.unpack("<QIIdIII", device.download(out, 36)) == (9, 3, 4, 3.0, 5, 4, 9)
