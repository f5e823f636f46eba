"""What PTX has and gompy does not implement: loaded for a message only, so that a slip of the pen is told from it."""

from __future__ import annotations

from .syntax import Instruction

OPCODES = frozenset((
    "clusterlaunchcontrol", "istypep", "multimem", "tcgen05", "tensormap",
    "vabsdiff", "vmad", "vmax", "vmin", "vset", "vshl", "vshr", "wgmma",
))  # fmt: skip
"""Opcodes of PTX ISA 9.0 that opcodes.py has no record of."""
FORMS = (
    *("cp.async.bulk", "cp.reduce.async.bulk", "red.async", "st.async", "st.bulk"),
    *("mma.sp", "ldmatrix.sync.aligned.m16n16", "ldmatrix.sync.aligned.m8n16"),
    *("tex.2dms.", "tex.a2dms.", "tex.grad.cube.", "tex.grad.acube."),
    *("tex.1d.v2.", "tex.2d.v2.", "tex.3d.v2."),
    "stmatrix.sync.aligned.m16n8",
)
"""Beginnings of forms of those that it has."""
TYPES = frozenset(("b128", "u8x4", "s8x4", "v8"))
"""Types and vectors that some of its opcodes may have."""


def is_ptx(code: Instruction) -> bool:
    """Whether an instruction that gompy does not know is one of PTX."""
    return code.base in OPCODES or code.opcode.startswith(FORMS) or not TYPES.isdisjoint(code.mods)
