"""Which functions the code generator takes time for (compiler.is_hot)."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD

from gompy.ptx.compiler import is_hot
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

CALL = "{ .param .f32 %o; .param .f32 %i; st.param.f32 [%i], %x; call (%o), sqrtf, (%i); ld.param.f32 %x, [%o]; }"
SQUARE_ROOT = f"""
  setp.geu.f32 %p, %x, 0f00000000;
  @ ! %p bra CALL;
  sqrt.rn.f32 %x, %x;
  bra DONE;
CALL:
  {CALL}
DONE:
"""
LOOP = """
LOOP:
{body}
  add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, 100;
  @%p bra LOOP;
"""


@pytest.mark.parametrize(
    ("code", "hot"),
    [
        ("", True),  # no calls
        (CALL, False),
        (SQUARE_ROOT, False),
        (LOOP.format(body=""), True),
        (LOOP.format(body="") + CALL, True),
        (LOOP.format(body=CALL), False),
        (LOOP.format(body=SQUARE_ROOT), True),  # gcc's sqrtf, without -fno-math-errno
        (LOOP.format(body=SQUARE_ROOT + CALL), False),
    ],
)
def test_a_loop_with_a_way_round_without_calls_is_hot(code: str, hot: bool) -> None:
    text = f"""{HEAD}
.extern .func (.param .f32 %value_out) sqrtf (.param .f32 %in_ar0);
.visible .func f (.param .u64 %a)
{{
  .reg .u64 %q; .reg .u32 %n; .reg .f32 %x; .reg .pred %p;
  ld.param.u64 %q, [%a];
  ld.f32 %x, [%q];
  mov.u32 %n, 0;
{code}
  st.f32 [%q], %x;
  ret;
}}
"""
    module = parse(text, "test")
    analysis = lower(module.functions["f"], "S", True, Links(), module, "S0")[1]
    assert not analysis.varying
    assert is_hot(analysis) == hot
