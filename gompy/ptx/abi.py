"""What compiled code and the executor agree on.  `warp.h` has the same numbers; a test compares them."""

from __future__ import annotations

import os

IDENTITY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "_native", "lib", "ptx-identity")
"""The file with the hash of the sources that make code and run it, 32 letters, which the build writes (setup.py)."""


def identity() -> str:
    """What compiled code is thrown away by when it changes: the hash of the sources; zeros if nothing is built."""
    try:
        with open(IDENTITY, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "0" * 32


LANES = 32

SLOW_FILES = ("slow.S", "slow.s")
"""The cache files of what all code calls for its slow accesses (slow.py): without and with checks."""
SLOW_PREFIXES = ("gompy_slow_", "gompy_check_")

SHARED_BASE = 0x7F000000
LOCAL_BASE = 0x80000000
"""Generic addresses of shared memory and of local memory (the same number in all lanes means each lane's own)."""

WARP = {
    "base": 0,  # u64, device memory: first address
    "size": 8,  # u64, and bytes
    "shared": 16,  # host pointer
    "shared_size": 24,
    "local": 32,  # host pointer: (offset & ~7) * 32 + lane * 8 + (offset & 7)
    "local_size": 40,  # bytes a lane
    "local_top": 48,  # bytes in use
    "params": 56,  # host pointer: the kernel's parameters
    "ops": 64,  # host pointer: the table of OPS
    "fuel": 72,  # i32: loop turns until the warp yields
    "exited": 76,  # u32: lanes that have left
    "ctaid": 80,  # u32 x, y, z
    "ntid": 92,
    "nctaid": 104,
    "warpid": 116,
    "nwarps": 120,
    "dynamic_shared": 124,  # bytes
    "tid": 128,  # u32[3][32]
    "shadow": 512,  # host pointer, checked code: a byte for each of device memory (checks.py)
    "shared_shadow": 520,  # and of shared memory
}

OPS = (
    *("load1", "load2", "load4", "load8"),  # (warp, mask, u64 *address, void *out, unit, line)
    *("store1", "store2", "store4", "store8"),  # (warp, mask, u64 *address, void *value, unit, line)
    "load_uniform",  # u64 (warp, mask, address, bytes, unit, line)
    "store_uniform",  # (warp, mask, address, value, bytes, unit, line)
    "atom",  # (warp, mask, code, u64 *address, u64 *b, u64 *c, u64 *out, unit, line)
    "shuffle",  # (warp, mask, mode, u32 *a, u32 *b, u32 *c, u32 *out, u32 *in_range)
    "barrier",  # (warp, mask, kind, number, threads, unit, line)
    "trap",  # (warp, mask, reason, unit, line)
    "exit",  # (warp, mask)
    "call",  # (warp, mask, u64 *targets, args, version, unit, line)
    "lanes",  # (warp, mask, operation, u64 *a, u64 *b, u64 *c, u64 *out): what has no good vector code
    "yield",  # (warp)
    "clock",  # u64 (warp, which)
    "reduce",  # u32 (warp, mask, kind, number, threads, votes, unit, line)
    "misaligned",  # (warp, mask, u64 *address, bytes, unit, line): checked code only, as the next
    "warp_sync",  # (warp, mask, u32 *members, unit, line)
)
OP_INDEX = {name: index for index, name in enumerate(OPS)}

ATOM_OPS = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")
ATOM_TYPES = ("u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64")
"""`atom`'s code = operation * 8 + type; 0x100: 16-bit (cas.b16)."""
HALF_ATOMS = {"f16": 0x300, "bf16": 0x301, "f16x2": 0x200, "bf16x2": 0x201}
"""`atom`'s code for add.noftz on 16-bit floats."""

LANE_OPS = ("udiv", "sdiv", "urem", "srem", "umulhi", "smulhi", "round")
"""`lanes`: operation in bits 0-7, bytes of an element in 8-11; for `round`: float operation in 16-23, mode in 24-27."""

SHUFFLE_MODES = ("up", "down", "bfly", "idx")
BARRIER_KINDS = ("sync", "arrive")
REDUCTIONS = ("popc", "and", "or")
BARRIER_ALIGNED = 16
"""Added to the kind in checked code: all lanes of the warp must come to the barrier together."""
TRAP_REASONS = ("trap", "local memory exhausted", "a function that was called as uniform returned values that differ")
VERSIONS = ("S", "V", "E", "W", "X")
"""Compiled forms: uniform.py's S, V, E, and V and E for warps that are not 32 threads of one row (W, X).

Small letters stand for the same with checks (GOMPY_CHECK; checks.py)."""
