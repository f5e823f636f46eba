"""The structures of gompy/abi/cuda_structures.py: for programs, and for our libraries in C and Cython."""

from __future__ import annotations

from gompy.abi.cuda_structures import PLAIN, STRUCTURES

MADE = "Made by gompy/native/generate_cuda_structures.py from gompy/abi/cuda_structures.py."


def in_c() -> list[str]:
    """The structures in C, by the types' own names."""
    lines: list[str] = []
    for name, members in STRUCTURES.items():
        lines += [f"typedef struct {name}_st", "{", *(f"  {one};" for one in members.split("; ")), f"}} {name};"]
    return lines


def programs_h() -> str:
    """gompy_cuda_structures.h, a part of gompy_cuda_driver_types.h: that has the types of the members."""
    return "\n".join([f"/* {MADE}", "   A part of gompy_cuda_driver_types.h.  */", *in_c()]) + "\n"


def cuda_structures_h() -> str:
    """The same for our libraries, with types that any word fits into."""
    lines = [f"/* {MADE}  */", "#ifndef GOMPY_NATIVE_CUDA_STRUCTURES_H", "#define GOMPY_NATIVE_CUDA_STRUCTURES_H"]
    lines += ["#include <stddef.h>", *(f"typedef {plain}{name};" for name, plain in PLAIN.items())]
    return "\n".join([*lines, *in_c(), "#endif"]) + "\n"


def plain(member: str) -> str:
    """A member's declaration by the types of PLAIN; Cython has typedefs for other types than what they stand for."""
    kind, _, names = member.partition(" ")
    return PLAIN[kind] + names if kind in PLAIN else member


def cuda_structures_pxd() -> str:
    """The same for Cython."""
    lines = [f"# {MADE}", "", 'cdef extern from "gompy/native/cuda_structures.h" nogil:']
    lines += [f"    ctypedef {PLAIN['CUdeviceptr']}CUdeviceptr"]
    for name, members in STRUCTURES.items():
        lines += [f"    ctypedef struct {name}:", *(f"        {plain(one)}" for one in members.split("; "))]
    return "\n".join(lines) + "\n"
