"""How many bytes an instruction writes, as the checks' handlers tell it: against what gcc's assembler makes."""

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


def test_the_bytes_that_stores_write(tmp_path: Path) -> None:
    """Never fewer than it writes, or what is beside would be taken for unwritten; and not many more."""
    code = "".join(f"s{i}: {text}\n.skip 16, 0x90\n" for i, (text, _) in enumerate(STORES))
    (tmp_path / "stores.s").write_text(f".text\n{code}.globl " + ", ".join(f"s{i}" for i in range(len(STORES))) + "\n")
    shown = "".join(f'  printf ("%u\\n", gompy_write_size (s{i}));\n' for i in range(len(STORES)))
    named = "".join(f"extern const unsigned char s{i}[];\n" for i in range(len(STORES)))
    (tmp_path / "main.c").write_text(
        f'#include <stdio.h>\n#include "gompy/native/access_size.h"\n{named}int main (void)\n{{\n{shown}}}\n'
    )
    command = ["gcc", "-w", f"-I{ROOT}", "main.c", "stores.s", "-o", "sizes"]
    subprocess.run(command, cwd=tmp_path, check=True)
    sizes = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout.split()
    assert [(text, int(size)) for (text, _), size in zip(STORES, sizes, strict=True)] == list(STORES)
