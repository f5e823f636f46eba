"""How many bytes instructions read and write, as the checks' handlers tell it: against what gcc's assembler makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

STORES = (
    ("movb $1, (%rdi)", 1),
    ("movb %r9b, (%rdi)", 1),
    ("movw %ax, (%rdi)", 2),
    ("movl %eax, (%rdi)", 4),
    ("movl $7, 8(%rdi)", 4),
    ("movq %r8, (%rdi)", 8),
    ("addl $1, (%rdi)", 4),
    ("addq %rax, (%rdi)", 8),
    ("orb $1, (%rdi)", 1),
    ("sete (%rdi)", 1),
    ("pushq %rbx", 8),
    ("pushq %r12", 8),
    ("call *%rax", 8),
    ("movss %xmm0, (%rdi)", 4),
    ("movsd %xmm9, (%rdi)", 8),
    ("movups %xmm0, (%rdi)", 16),
    ("movaps %xmm0, (%rdi)", 16),
    ("movdqa %xmm0, (%rdi)", 16),
    ("movq %xmm0, (%rdi)", 8),
    ("vmovups %ymm0, (%rdi)", 32),
    ("vmovups %zmm0, (%rdi)", 64),
    ("rep stosq", 64),
)

LOADS = (
    ("movzbl (%rdi), %eax", 1),
    ("movl (%rdi), %eax", 4),
    ("addq (%rdi), %rax", 8),
    ("addss (%rdi), %xmm1", 4),
    ("addsd (%rdi), %xmm1", 8),
    ("movups (%rdi), %xmm9", 4),
    ("movdqa (%rdi), %xmm1", 4),
    ("addps (%rdi), %xmm1", 4),
    ("vmovups (%rdi), %ymm1", 4),
    ("cvtps2dq (%rdi), %xmm1", 4),
    ("movupd (%rdi), %xmm9", 8),
    ("movapd (%rdi), %xmm1", 8),
    ("addpd (%rdi), %xmm1", 8),
    ("vmovupd (%rdi), %ymm1", 8),
    ("vmulpd (%rdi), %ymm1, %ymm2", 8),
)
"""Of vectors the first element, as far as that is known: it may have four bytes otherwise."""

SAVES = (
    ("xsave 64(%rsp)", 1),
    ("xsave64 (%rdi)", 1),
    ("xsaveopt (%rdi)", 1),
    ("xsavec 64(%rsp)", 1),
    ("xsavec64 (%r9)", 1),
    ("xsaves (%rdi)", 1),
    ("fxsave (%rdi)", 1),
    ("xrstor (%rdi)", 64),
    ("cmpxchg8b (%rdi)", 64),
    ("mfence", 64),
    ("movl %eax, (%rdi)", 4),
)
"""What each writes at most that faults at the last byte of a line: for registers, the last one that it writes."""


def sizes(folder: Path, stores: tuple[tuple[str, int], ...], call: str) -> list[tuple[str, int]]:
    """Instructions with what a call says of each."""
    code = "".join(f"s{i}: {text}\n.skip 16, 0x90\n" for i, (text, _) in enumerate(stores))
    (folder / "stores.s").write_text(f".text\n{code}.globl " + ", ".join(f"s{i}" for i in range(len(stores))) + "\n")
    shown = "".join(f'  printf ("%u\\n", {call.format(f"s{i}")});\n' for i in range(len(stores)))
    named = "".join(f"extern const unsigned char s{i}[];\n" for i in range(len(stores)))
    (folder / "main.c").write_text(
        f'#include <stdio.h>\n#include "gompy/native/access_size.h"\n{named}int main (void)\n{{\n{shown}}}\n'
    )
    command = ["gcc", "-w", f"-I{ROOT}", "main.c", "stores.s", "-o", "sizes"]
    subprocess.run(command, cwd=folder, check=True)
    said = subprocess.run([folder / "sizes"], capture_output=True, text=True, check=True).stdout.split()
    return [(text, int(size)) for (text, _), size in zip(stores, said, strict=True)]


def test_the_bytes_that_stores_write(tmp_path: Path) -> None:
    """Never fewer than it writes, or what is beside would be taken for unwritten; and not many more."""
    assert sizes(tmp_path, STORES, "gompy_write_size ({})") == list(STORES)
    assert sizes(tmp_path, STORES, "gompy_write_size_at ({}, 63)") == list(STORES)


def test_the_bytes_that_loads_read(tmp_path: Path) -> None:
    """All of a number: where one of its bytes has changed it is another one, though by chance others have not."""
    assert sizes(tmp_path, LOADS, "gompy_access_size ({})") == list(LOADS)


def test_what_saves_registers_ends_where_a_line_does(tmp_path: Path) -> None:
    """The dynamic linker saves them right below a frame: an array that begins there is not written."""
    assert sizes(tmp_path, SAVES, "gompy_write_size_at ({}, 63)") == list(SAVES)
