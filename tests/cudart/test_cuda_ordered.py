"""Loads and stores with an order, which older clangs have no PTX for (gompy/cudart/ordered.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from test_cuda_cc import PROGRAMS, call, compiled, result

from gompy.cudart import device_code, ordered

SELECT = "Cannot select: 0x5a: i32,ch = AtomicLoad<(load acquire (s32) from %ir.6)> 0x1\n"


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize("words", [(), ("-g", "-O1"), ("-rdc=true",)], ids=["plain", "lines", "relocatable"])
def test_program(tmp_path: Path, words: tuple[str, ...]) -> None:
    program = compiled(tmp_path, PROGRAMS / "ordered.cu", "-Wno-empty-body", *words)
    assert result(program) == (0, "42 7 -5 -6\n", "")
    assert result(program, GOMPY_CHECK="race") == (0, "42 7 -5 -6\n", "")


@needs_cuda_compiler
def test_old_architecture_is_a_line(tmp_path: Path) -> None:
    """What LLVM says of it are its own structures, and where to report a bug."""
    done = call(tmp_path, "cc", "-c", "-w", "-arch=sm_60", str(PROGRAMS / "ordered.cu"))
    if done.returncode == 0:
        pytest.skip("this clang has loads with acquire order for sm_60")
    assert done.stderr.startswith("gompy cuda cc: error: ")
    assert done.stderr.endswith(
        "has no PTX of sm_60 for AtomicLoad: atomic loads and stores with an order need -arch=sm_70 or newer\n"
    )
    assert done.stderr.count("\n") == 1


def test_other_gaps_of_the_code_generator_are_a_line(tmp_path: Path) -> None:
    compiler = tmp_path / "clang"
    compiler.write_text("#!/bin/sh\necho 'fatal error: Cannot select: 0x1f: f16 = fancy 0x2f' >&2\nexit 70\n")
    compiler.chmod(0o755)
    status, said = device_code.make(str(compiler), [], str(tmp_path / "x.ptx"), 80, 16)
    assert (status, said) == (
        70,
        "error: clang 16 has no PTX of sm_80 for fancy: another release of clang may have it (GOMPY_CLANGXX)\n",
    )


def test_instructions() -> None:
    assert ordered.is_ours(SELECT)
    assert not ordered.is_ours("Cannot select: 0x1f: f16 = fancy 0x2f")
    code = ordered.lowered(
        '  %8 = load atomic i64, i64 addrspace(1)* %0 syncscope("agent") acquire, align 8, !dbg !3\n'
        "  store atomic i32 %x, ptr %1 seq_cst, align 4\n  fence acq_rel\n"
        "  %9 = load atomic i32, ptr %1 monotonic, align 4\n"
    )
    assert code == (
        '  %8 = call i64 asm sideeffect "ld.acquire.gpu.global.b64 $0, [$1];", "=l,l,~{memory}"'
        "(i64 addrspace(1)* %0), !dbg !3\n"
        '  call void asm sideeffect "fence.sc.sys;", "~{memory}"()\n'
        '  call void asm sideeffect "st.release.sys.b32 [$0], $1;", "l,r,~{memory}"(ptr %1, i32 %x)\n'
        '  call void asm sideeffect "fence.acq_rel.sys;", "~{memory}"()\n'
        "  %9 = load atomic i32, ptr %1 monotonic, align 4\n"
    )
