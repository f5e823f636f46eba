"""The host object of an intelmic image: the image, its description, a constructor that registers and a destructor.

Assembly text with ``.incbin``: no compiler is started for a program of three sections.  The layout of
``target_data`` is docs/internals.md's; calls and section names are those of GCC's generated host objects
(intelmic-mkoffload.cc, nvptx/mkoffload.cc).
"""

from __future__ import annotations

from gompy.abi.gomp import GOMP_DEVICE_INTEL_MIC
from gompy.objects.names import (
    ACCEL_STOCK,
    FUNC_TABLE_BEGIN,
    FUNC_TABLE_END,
    GOMPY_HOST_TABLE,
    GOMPY_MIC_VERSION,
    HOST_TABLE,
    IMAGE_ABI,
    IMAGE_MAGIC,
    OBJECT_RECORD_SECTION,
    VAR_TABLE_BEGIN,
    VAR_TABLE_END,
)
from mkoffload.inputs import Described
from mkoffload.vtables import Vtables

_FARTHER_END = (
    f"\tleaq {VAR_TABLE_END}(%rip), %rax",
    "\tcmpq %rax, 24(%rsi)",
    "\tcmovaq 24(%rsi), %rax",
    "\tmovq %rax, 24(%rsi)",
)
"""Instructions that make the host table end behind the vtables' entries or the others', whichever stand last."""


def string(text: str) -> str:
    """An assembler string literal; bytes outside of printable ASCII as octal."""
    out = []
    for byte in text.encode("utf-8", "surrogateescape"):
        if byte in (0x22, 0x5C):
            out.append("\\" + chr(byte))
        elif 0x20 <= byte < 0x7F:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def names_text(objects: list[Described]) -> list[str]:
    """Lines for a section of strings: the objects' names."""
    return [f".Lname{index}:\n\t.string {string(item.name)}" for index, item in enumerate(objects)]


def target_data_text(
    image: tuple[str, str], objects: list[Described], nfuncs: int, nvars: int, accel: int
) -> list[str]:
    """Lines that define ``gompy_target_data`` (struct target_data of docs/internals.md), with ``.Loutput`` as its name.

    ``image``: labels of its begin and end; where it is in GCC's own form, twice that of GCC's record.  ``objects``: in
    table order, named by ``names_text``.
    """
    lines = [
        '\t.section .data.rel.ro.local,"aw",@progbits',
        "\t.balign 16",
        "\t.type gompy_target_data, @object",
        "\t.size gompy_target_data, 88",
        "gompy_target_data:",
        f"\t.quad {image[0]}",
        f"\t.quad {image[1]}",
        f"\t.quad {IMAGE_MAGIC:#x}",
        f"\t.long {IMAGE_ABI}",
        f"\t.long {accel}",
        f"\t.quad {nfuncs}",
        f"\t.quad {nvars}",
    ]
    for symbol in (f"__start_{OBJECT_RECORD_SECTION}", f"__stop_{OBJECT_RECORD_SECTION}"):
        lines.append(f"\t.weak {symbol}\n\t.hidden {symbol}\n\t.quad {symbol}")
    lines += [
        f"\t.quad {'.Lobjects' if objects else 0}",
        f"\t.quad {len(objects)}",
        "\t.quad .Loutput",
        "\t.balign 16",
        ".Lobjects:",
    ]
    for index, item in enumerate(objects):
        lines.append(f"\t.quad {item.id:#x}")
        lines.append(f"\t.long {item.nfuncs}, {item.nvars}, {item.kind}, 0")
        lines.append(f"\t.quad .Lname{index}")
    return lines


def host_object_text(
    image: str,
    objects: list[Described],
    nfuncs: int,
    nvars: int,
    output: str,
    accel: int = ACCEL_STOCK,
    vtables: Vtables | None = None,
    appended: bool = False,
) -> str:
    """Assembly text of the host object.

    ``image``: path of the image file.  ``objects``: in table order.  ``nfuncs``, ``nvars``: lengths of the image's
    tables. ``output``: name of the link's output, for messages.  ``vtables``: entries that stand behind the host's
    tables; the host table that is registered is one of this object then, whose end may lie behind them.  ``appended``:
    the host's table ends behind this object anyway (crtoffloadlast.o).
    """
    table = HOST_TABLE
    lines = [
        '\t.section .gnu.offload_images,"a",@progbits',
        "\t.balign 64",
        ".Limage:",
        f"\t.incbin {string(image)}",
        ".Limage_end:",
        '\t.section .rodata.str1.1,"aMS",@progbits,1',
        f".Loutput:\n\t.string {string(output)}",
    ]
    lines += names_text(objects)
    lines += target_data_text((".Limage", ".Limage_end"), objects, nfuncs, nvars, accel)
    if vtables and not appended:
        table = GOMPY_HOST_TABLE
        # The constructor may move its end: where host LTO runs, this object stands among others, before the end.
        lines += ["\t.data", "\t.balign 16", f"\t.type {table}, @object", f"\t.size {table}, 32", f"{table}:"]
        lines += [f"\t.hidden {name}\n\t.quad {name}" for name in (FUNC_TABLE_BEGIN, FUNC_TABLE_END, VAR_TABLE_BEGIN)]
        lines += ["\t.quad .Lvtables_end", f"\t.hidden {VAR_TABLE_END}", vtables.host_text().rstrip("\n")]
    else:
        lines += [f"\t.hidden {HOST_TABLE}", *([vtables.host_text().rstrip("\n")] if vtables else [])]
    lines.append("\t.text")
    for name, function in (
        ("gompy_register", "GOMP_offload_register_ver"),
        ("gompy_unregister", "GOMP_offload_unregister_ver"),
    ):
        lines += [
            f"\t.type {name}, @function",
            f"{name}:",
            "\t.cfi_startproc",
            "\tendbr64",
            "\tsubq $8, %rsp",
            "\t.cfi_adjust_cfa_offset 8",
            f"\tmovl ${GOMPY_MIC_VERSION:#x}, %edi",
            f"\tleaq {table}(%rip), %rsi",
            *(_FARTHER_END if table == GOMPY_HOST_TABLE and name == "gompy_register" else ()),
            f"\tmovl ${GOMP_DEVICE_INTEL_MIC}, %edx",
            "\tleaq gompy_target_data(%rip), %rcx",
            f"\tcall {function}@PLT",
            "\taddq $8, %rsp",
            "\t.cfi_adjust_cfa_offset -8",
            "\tret",
            "\t.cfi_endproc",
            f"\t.size {name}, .-{name}",
        ]
    lines += [
        '\t.section .init_array,"aw",@init_array\n\t.balign 8\n\t.quad gompy_register',
        '\t.section .fini_array,"aw",@fini_array\n\t.balign 8\n\t.quad gompy_unregister',
        '\t.section .note.GNU-stack,"",@progbits',
    ]
    return "\n".join(lines) + "\n"
