"""Host objects that are made without a process: programs are the same, byte by byte, as with binutils' assembler."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from gompy.objects.names import ACCEL_STOCK
from mkoffload import assembler
from mkoffload.hostobject import Registration, host_object_text
from mkoffload.inputs import Described
from mkoffload.nvptx_host import host_object_text as nvptx_text
from mkoffload.nvptx_ptx import PtxImage

STUB = """
char __OFFLOAD_TABLE__[8] __attribute__ ((visibility ("hidden"))) = { 1 };
char record[64] __attribute__ ((section ("gompy_offload_objects"))) = { 2 };
"""
NAMES = ("a.o", "", 'with "quotes" and \\', "line\nbreak\x01", "µ.o", "b\udcff.o", "%s 100%")


def run(*words: str | Path, stdin: str | None = None) -> None:
    """A command that has to succeed."""
    subprocess.run([str(word) for word in words], check=True, input=stdin, text=True)


def programs(folder: Path, text: str) -> tuple[bytes, bytes]:
    """What ld makes of our object and of as's."""
    stub = folder / "stub.o"
    run("gcc", "-c", "-fPIC", "-x", "c", "-o", stub, "-", stdin=STUB)
    made = []
    for name in ("ours", "theirs"):
        host = folder / name / "host.o"  # ld notes the file's name
        host.parent.mkdir()
        if name == "ours":
            host.write_bytes(assembler.assemble(text))
        else:
            run("as", "--64", "-o", host, "-", stdin=text)
        run("ld", "-shared", "--build-id", "--eh-frame-hdr", "-o", folder / name / "program", stub, host)
        made.append((folder / name / "program").read_bytes())
    return made[0], made[1]


@pytest.mark.parametrize("seed", range(12))
def test_intelmic(tmp_path: Path, seed: int) -> None:
    """Objects by random names, numbers and forms of registration."""
    choice = random.Random(seed)
    image = tmp_path / choice.choice(("image", 'an "image"', "im\\age"))
    image.write_bytes(choice.randbytes(choice.choice((0, 1, 63, 64, 5000))))
    objects = [
        Described(choice.getrandbits(64), choice.randrange(9), choice.randrange(9), choice.randrange(4), name)
        for name in choice.choices(NAMES, k=choice.randrange(5))
    ]
    registration = Registration(choice.choice((0, 1, 2, 3)), choice.getrandbits(32))
    output = choice.choice(("a.out", *NAMES))
    text = host_object_text(str(image), objects, 3, 2**33, output, ACCEL_STOCK, registration=registration)
    ours, theirs = programs(tmp_path, text)
    assert ours == theirs


def test_nvptx(tmp_path: Path) -> None:
    """Parts of a file, tables of names, and numbers of two bytes."""
    image = PtxImage([b"// first\0", b"// the second\0"], [("f", (1, 2, 3)), ("g", (0, 0, 0))], ["v"])
    path = tmp_path / "ptx"
    path.write_bytes(b"".join(image.objects))
    ours, theirs = programs(tmp_path, nvptx_text(image, str(path), [], "a.out", Registration(1, 0)))
    assert ours == theirs


@pytest.mark.parametrize(
    "line",
    [
        "\t.align 8",
        "\tcall *%rax",
        "\tmovl $1, %eax",
        '\t.section .x,"aR",@progbits',
        "\t.quad 1 + 2",
        "\t.quad .Lnowhere",
        "\t.long there",
        '\t.incbin "/nonexistent/image"',
        "\t.cfi_endproc",
        "\t.cfi_startproc",
        "a:\na:",
        "\t.weak a\na:",
        "nop",
    ],
)
def test_what_is_unknown(line: str) -> None:
    """Left to as, whatever it is; never made otherwise than that would."""
    with pytest.raises(assembler.Unknown):
        assembler.assemble(line + "\n")


def test_a_large_image(tmp_path: Path) -> None:
    """It is as's, which has it in memory once."""
    image = tmp_path / "image"
    image.touch()
    text = host_object_text(str(image), [], 3, 2, "a.out", ACCEL_STOCK)
    os.truncate(image, assembler.LARGEST)
    assert len(assembler.assemble(text)) > assembler.LARGEST
    os.truncate(image, assembler.LARGEST + 1)
    with pytest.raises(assembler.Unknown):
        assembler.assemble(text)
