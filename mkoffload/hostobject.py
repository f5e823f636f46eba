"""The host object of an intelmic image: the image, its description, a constructor that registers and a destructor.

Assembly text with ``.incbin``: no compiler is started for a program of three sections.  The layout of
``target_data`` is docs/internals.md's; calls and section names are those of GCC's generated host objects
(intelmic-mkoffload.cc, nvptx/mkoffload.cc).
"""

from __future__ import annotations

from gompy.abi.gcc import release
from gompy.abi.gomp import GOMP_DEVICE_INTEL_MIC, GOMP_VERSION, GOMP_VERSION_INTEL_MIC
from gompy.abi.gomp_newer import GOMP_VERSION_REQUIRES_MASK
from gompy.objects.lto import StreamError, stream_versions
from gompy.objects.names import (
    ACCEL_STOCK,
    FUNC_TABLE_BEGIN,
    FUNC_TABLE_END,
    GOMPY_HOST_TABLE,
    HOST_TABLE,
    IMAGE_ABI,
    IMAGE_MAGIC,
    IND_FUNC_TABLE_BEGIN,
    IND_FUNC_TABLE_END,
    OBJECT_RECORD_SECTION,
    VAR_TABLE_BEGIN,
    VAR_TABLE_END,
)
from gompy.tools.process import ToolError
from mkoffload.inputs import Described
from mkoffload.vtables import Vtables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mkoffload.inputs import Input

_FARTHER_END = (
    f"\tleaq {VAR_TABLE_END}(%rip), %rax",
    "\tcmpq %rax, 24(%rsi)",
    "\tcmovaq 24(%rsi), %rax",
    "\tmovq %rax, 24(%rsi)",
)
"""Instructions that make the host table end behind the vtables' entries or the others', whichever stand last."""


def registering_text(
    names: tuple[str, str], version: int, arguments: tuple[str, int, str], first: Sequence[str] = ()
) -> list[str]:
    """The last part of a host object: a function that registers an image, one that takes it back, and their calls.

    ``arguments``: the host's table, the kind of device, what describes the image.  ``first``: instructions before the
    registering call, which may go on behind it, at ``.Lregistered``.
    """
    table, device, data = arguments
    lines = ["\t.text"]
    for name, function, before in (
        (names[0], "GOMP_offload_register_ver", first),
        (names[1], "GOMP_offload_unregister_ver", ()),
    ):
        lines += [
            f"\t.type {name}, @function",
            f"{name}:",
            "\t.cfi_startproc",
            "\tendbr64",
            "\tsubq $8, %rsp",
            "\t.cfi_adjust_cfa_offset 8",
            f"\tmovl ${version:#x}, %edi",
            f"\tleaq {table}(%rip), %rsi",
            f"\tmovl ${device}, %edx",
            f"\tleaq {data}(%rip), %rcx",
            *before,
            f"\tcall {function}@PLT",
            *([".Lregistered:"] if before else []),
            "\taddq $8, %rsp",
            "\t.cfi_adjust_cfa_offset -8",
            "\tret",
            "\t.cfi_endproc",
            f"\t.size {name}, .-{name}",
        ]
    return [
        *lines,
        f'\t.section .init_array,"aw",@init_array\n\t.balign 8\n\t.quad {names[0]}',
        f'\t.section .fini_array,"aw",@fini_array\n\t.balign 8\n\t.quad {names[1]}',
        '\t.section .note.GNU-stack,"",@progbits',
    ]


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


class Registration:
    """How an image is registered: ``gomp_version`` of the compiler's release, and the mask of ``omp requires``.

    From version 2 on the mask is a word in front of the target data, to which the runtime gets a pointer.
    """

    def __init__(self, gomp_version: int, requires: int) -> None:
        self.gomp_version = gomp_version
        self.requires = requires

    @property
    def mask(self) -> list[str]:
        """The line with the word in front of the target data."""
        return [f"\t.quad {self.requires:#x}"] if self.gomp_version >= GOMP_VERSION_REQUIRES_MASK else []

    @property
    def before(self) -> str:
        """What to add to the target data's label for the pointer that is registered."""
        return "-8" if self.mask else ""

    def version(self, form: int) -> int:
        """GOMP_VERSION_PACK (gomp_version, form)."""
        return self.gomp_version << 16 | form


def registration(inputs: Sequence[Input]) -> Registration:
    """As the release of the objects has it, with the mask that they state.  ToolError if their streams are damaged."""
    made_by = release(next((version for item in inputs for version in stream_versions(item.elf)), 0))
    if not made_by.requires:
        return Registration(made_by.gomp_version, 0)
    from gompy.objects.bytecode import requires_mask

    mask = 0
    for item in inputs:
        try:
            mask = mask or requires_mask(item.elf)
        except StreamError as error:
            raise ToolError(f"{item.shown}: .offload_table: {error.cause}") from None
    return Registration(made_by.gomp_version, mask)


def target_data_text(
    image: tuple[str, str], objects: list[Described], nfuncs: int, nvars: int, accel: int, mask: Sequence[str] = ()
) -> list[str]:
    """Lines that define ``gompy_target_data`` (struct target_data of docs/internals.md), with ``.Loutput`` as its name.

    ``image``: labels of its begin and end; where it is in GCC's own form, twice that of GCC's record.  ``objects``: in
    table order, named by ``names_text``.  ``mask``: the line in front.
    """
    lines = [
        '\t.section .data.rel.ro.local,"aw",@progbits',
        "\t.balign 16",
        *(["\t.quad 0", *mask] if mask else []),
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
    registration: Registration | None = None,
) -> str:
    """Assembly text of the host object.

    ``image``: path of the image file.  ``objects``: in table order.  ``nfuncs``, ``nvars``: lengths of the image's
    tables. ``output``: name of the link's output, for messages.  ``vtables``: entries that stand behind the host's
    tables; the host table that is registered is one of this object then, whose end may lie behind them.  ``appended``:
    the host's table ends behind this object anyway (crtoffloadlast.o).  ``registration``: as GCC 12's unless given.
    """
    table = HOST_TABLE
    registration = registration or Registration(GOMP_VERSION, 0)
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
    lines += target_data_text((".Limage", ".Limage_end"), objects, nfuncs, nvars, accel, registration.mask)
    if vtables and not appended:
        table = GOMPY_HOST_TABLE
        # The constructor may move its end: where host LTO runs, this object stands among others, before the end.
        lines += ["\t.data", "\t.balign 16", f"\t.type {table}, @object", f"\t.size {table}, 48", f"{table}:"]
        lines += [f"\t.hidden {name}\n\t.quad {name}" for name in (FUNC_TABLE_BEGIN, FUNC_TABLE_END, VAR_TABLE_BEGIN)]
        lines += ["\t.quad .Lvtables_end", f"\t.hidden {VAR_TABLE_END}"]
        lines += [f"\t.hidden {name}\n\t.quad {name}" for name in (IND_FUNC_TABLE_BEGIN, IND_FUNC_TABLE_END)]
        lines += [vtables.host_text().rstrip("\n")]
    else:
        lines += [f"\t.hidden {HOST_TABLE}", *([vtables.host_text().rstrip("\n")] if vtables else [])]
    lines += registering_text(
        ("gompy_register", "gompy_unregister"),
        registration.version(GOMP_VERSION_INTEL_MIC),
        (table, GOMP_DEVICE_INTEL_MIC, f"gompy_target_data{registration.before}"),
        _FARTHER_END if table == GOMPY_HOST_TABLE else (),
    )
    return "\n".join(lines) + "\n"
