"""GOMPY_CUDA_SEED: in which order the warps of a block run, where one call of the code runs them all (fission.py)."""

from __future__ import annotations

import struct

import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, needs_executor

from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

pytestmark = needs_executor

WARPS, PHASES = 5, 3
COUNTED = """
  atom.global.add.u32 %n, [%p], 1; mul.wide.u32 %a, %n, 4; add.u64 %a, %a, %p; st.global.u32 [%a+4], %w;
"""


def text_of() -> str:
    """A kernel whose warps come to an atomic counter before, between and behind barriers."""
    count = f"@%q bra L{{0}};\n{COUNTED}\nL{{0}}:\n"
    body = "bar.sync 0;\n".join(count.format(phase) for phase in range(PHASES))
    return f"""{HEAD}
.visible .entry k (.param .u64 p)
{{
  .reg .pred %q; .reg .u64 %p, %a; .reg .u32 %t, %w, %n, %l;
  ld.param.u64 %p, [p];
  mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %l, %t, 31; setp.ne.u32 %q, %l, 0;
{body}
  ret;
}}
"""


def orders(seeds: list[int]) -> list[list[list[int]]]:
    """By seed and phase, the warps as they came."""
    found = []
    count = WARPS * PHASES
    with Device(1 << 20) as device:
        function = device.load(text_of()).function("k")
        for seed in seeds:
            memory = device.upload(bytes(4 * (count + 1)))
            function.launch((1, 1, 1), (32 * WARPS, 1, 1), [memory], threads=1, seed=seed)
            words = struct.unpack(f"<{count + 1}I", device.download(memory, 4 * (count + 1)))
            found.append([list(words[1 + WARPS * n : 1 + WARPS * (n + 1)]) for n in range(PHASES)])
    return found


def test_the_whole_block_is_one_call() -> None:
    module = parse(text_of(), "test")
    assert lower(module.functions["k"], "E", True, Links(), module, "E0")[1].whole


def test_a_seed_changes_the_order_in_every_phase() -> None:
    usual, *others = orders([0, *range(1, 65)])
    assert usual == [[1, 2, 3, 4, 0]] * PHASES
    for phase in range(PHASES):
        its = {tuple(other[phase]) for other in others}
        assert all(sorted(order) == list(range(WARPS)) for order in its)
        assert len(its) > 6
