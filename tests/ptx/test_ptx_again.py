"""Addresses that are computed once more, where lanes turn out not to be a row: all forms, and what may not be."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx import again, vectors
from gompy.ptx.device import Device
from gompy.ptx.emit import Emitter, Links, Value
from gompy.ptx.lower import Lowering
from gompy.ptx.parser import Register, parse
from gompy.ptx.uniform import analyse

__all__ = ["device"]

pytestmark = needs_executor

CODES = {
    "product": ("mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x;", True, lambda i: i),
    "signed product": ("sub.u32 %j, %i, 8; mul.wide.s32 %x, %j, 4; add.s64 %y, %o, %x; add.s64 %y, %y, 32;", True,
                       lambda i: i),
    "sum of a product": ("mad.wide.u32 %y, %i, 4, %o;", True, lambda i: i),
    "conversion": ("cvt.u64.u32 %x, %i; shl.b64 %x, %x, 2; add.s64 %y, %x, %o;", True, lambda i: i),
    "difference": ("mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x; sub.s64 %y, %y, -64;", True, lambda i: i + 16),
    "a copy": ("mul.wide.u32 %x, %i, 4; add.s64 %z, %o, %x; mov.u64 %y, %z;", True, lambda i: i),
    "factor of a register": ("mul.wide.u32 %x, %i, %n; add.s64 %y, %o, %x;", True, lambda i: i),
    "the number changes": ("$L: mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x; add.u32 %i, %i, 2; add.u32 %m, %m, 1;",
                           False, lambda i: i + 4),
    "the base changes": ("$L: mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x; add.s64 %o, %o, 8; add.u32 %m, %m, 1;",
                         False, lambda i: i + 4),
    "the factor changes": ("$L: mul.wide.u32 %x, %i, %n; add.s64 %y, %o, %x; add.u32 %n, %n, 4; add.u32 %m, %m, 1;",
                           False, lambda i: 3 * i),
    "a part changes": ("mul.wide.u32 %x, %i, 4; $L: add.s64 %y, %o, %x; add.s64 %x, %x, 8; add.u32 %m, %m, 1;", False,
                       lambda i: i + 4),
    "it changes itself": ("mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x; $L: add.s64 %y, %y, 8; add.u32 %m, %m, 1;",
                          False, lambda i: i + 6),
    "all of it in the loop": ("$L: add.u32 %i, %i, 2; mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x; add.u32 %m, %m, 1;",
                              True, lambda i: i + 6),
    "in another block": ("mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x; setp.gt.u32 %p, %n, 99; @%p bra none;", False,
                         lambda i: i),
    "a barrier": ("mul.wide.u32 %x, %i, 4; add.s64 %y, %o, %x; bar.sync 0;", False, lambda i: i),
    "a guard": ("mul.wide.u32 %x, %i, 4; mov.u64 %y, %o; setp.lt.u32 %p, %t, 400; @%p add.s64 %y, %o, %x;", False,
                lambda i: i),
}  # fmt: skip


WORDS = 200
FILL = """setp.lt.u32 %p, %j, 200; mul.wide.u32 %x, %j, 4; add.s64 %y, %o, %x; @%p ld.global.u32 %v, [%y];
add.s64 %y, %z, %x; @%p st.shared.u32 [%y], %v; add.u32 %j, %j, %s;"""


def kernel(code: str, threads: int = 32, shared: bool = False) -> str:
    """Each thread stores what it finds at the address; `shared`: in a copy in shared memory, by generic addresses,
    which rows are not looked for by: so all lanes' addresses are computed again."""
    fill, end = "", "setp.lt.u32 %p, %m, 3; @%p bra $L;" if "$L" in code else ""
    if shared:
        fill = f"mov.u32 %j, %t; mov.u32 %s, {threads}; mov.u64 %z, s; {FILL * (WORDS // threads + 1)}"
        fill += "bar.sync 0; cvta.shared.u64 %o, %z;"
    return f"""{HEAD}.shared .align 8 .b8 s[{4 * WORDS}];
      .visible .entry k (.param .u64 po, .param .u64 pr, .param .u64 pn, .param .u64 pb) {{
      .reg .u64 %o, %r, %x, %y, %z; .reg .u32 %t, %i, %j, %n, %v, %b, %s, %m; .reg .pred %p;
      ld.param.u64 %o, [po]; ld.param.u64 %r, [pr]; ld.param.u32 %n, [pn]; ld.param.u32 %b, [pb];
      mov.u32 %m, 0; mov.u32 %t, %tid.x;
      {fill}
      add.u32 %i, %t, %b; mul.wide.u32 %z, %t, 4; add.s64 %r, %r, %z; {code}
      ld.u32 %v, [%y]; {end} st.global.u32 [%r], %v; none: ret; }}"""


@pytest.mark.parametrize("case", CODES)
@pytest.mark.parametrize("threads", [32, 20, 64])
@pytest.mark.parametrize("shared", [False, True])
def test_results(device: Device, case: str, threads: int, shared: bool) -> None:
    code, _, index = CODES[case]
    data = np.arange(WORDS, dtype="<u4") * 7 + 5
    a, r = device.upload(data.tobytes()), device.upload(bytes(4 * threads))
    text = kernel(code, threads, shared)
    device.load(text).function("k").launch((1, 1, 1), (threads, 1, 1), [a, r, 4, 3])
    got = np.frombuffer(device.download(r, 4 * threads), "<u4")
    assert list(got) == [data[index(t + 3)] for t in range(threads)]


@pytest.mark.parametrize("case", CODES)
def test_which_are_computed_again(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, possible, _ = CODES[case]
    module = parse(kernel(code))
    did: list[bool] = []

    def noted(em: Emitter, register: Register | None) -> Value | None:
        result = again.again(em, register)
        if register is not None and register.name.partition("#")[0] == "%y":
            did.append(result is not None)
        return result

    monkeypatch.setattr(vectors, "again", noted)
    Lowering(analyse(module.functions["k"], "E", True, "k"), Links(), module, "k", "V").text()
    assert bool(did and did[-1]) is possible
