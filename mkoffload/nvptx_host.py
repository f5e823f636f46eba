"""The host object of a PTX image: the code, the maps, a constructor that registers and a destructor.

Assembly text with ``.incbin`` instead of C text with the code in string literals: the record that libgomp and its
plugin read is the one that GCC's own mkoffload has compiled (config/nvptx/mkoffload.cc, process; plugin-nvptx.c,
struct nvptx_tdata), at a tenth of the time.  libgompy gets a description of the objects besides, by an entry point that
others do not have.
"""

from __future__ import annotations

from gompy.abi.gomp import GOMP_DEVICE_NVIDIA_PTX, GOMP_VERSION_NVIDIA_PTX
from gompy.objects.names import ACCEL_TRUE, HOST_TABLE
from mkoffload.hostobject import Registration, names_text, registering_text, string, target_data_text
from mkoffload.inputs import Described
from mkoffload.nvptx_ptx import PtxImage

_ALIGN = 32
_DESCRIBED = (
    "\t.weak gompy_offload_register",
    "\tmovq gompy_offload_register@GOTPCREL(%rip), %rax",
    "\ttestq %rax, %rax",
    "\tje .Lposition",
    "\tleaq gompy_target_data(%rip), %r8",
    "\tcall *%rax",
    "\tjmp .Lregistered",
    ".Lposition:",
)
"""Instructions that register with a description where the runtime is libgompy."""


def ptx_file(image: PtxImage) -> bytes:
    """The contents of the file that the assembly text takes in: the objects one behind the other."""
    return b"".join(image.objects)


def host_object_text(
    image: PtxImage, path: str, objects: list[Described], output: str, registered: Registration
) -> str:
    """Assembly text of the host object.

    ``path``: of the file with ``ptx_file``'s contents.  ``objects``: in table order, empty: not described.  ``output``:
    name of the link's output, for messages.  ``registered``: how; from GOMP_VERSION 3 on the record ends in the number
    of indirect functions.
    """
    # The zero before the first object keeps what the linker places there from looking like a part of it.
    lines = ['\t.section .rodata,"a",@progbits', "\t.byte 0"]
    at = 0
    for index, code in enumerate(image.objects):
        lines += [f"\t.balign {_ALIGN}", f".Lptx{index}:", f"\t.incbin {string(path)}, {at}, {len(code)}"]
        at += len(code)
    lines.append('\t.section .rodata.str1.1,"aMS",@progbits,1')
    for index, (name, _) in enumerate(image.functions):
        lines.append(f".Lfn{index}:\n\t.string {string(name)}")
    for index, name in enumerate(image.variables):
        lines.append(f".Lvar{index}:\n\t.string {string(name)}")
    if objects:
        lines += [f".Loutput:\n\t.string {string(output)}", *names_text(objects)]
        lines += target_data_text(
            ("target_data", "target_data"), objects, len(image.functions), len(image.variables), ACCEL_TRUE
        )
    lines += ['\t.section .data.rel.ro.local,"aw",@progbits', *_array("ptx_objs", 16 * len(image.objects))]
    lines += [f"\t.quad .Lptx{index}, {len(code)}" for index, code in enumerate(image.objects)]
    lines += _array("var_mappings", 8 * len(image.variables))
    lines += [f"\t.quad .Lvar{index}" for index in range(len(image.variables))]
    lines += _array("func_mappings", 16 * len(image.functions))
    for index, (_, dims) in enumerate(image.functions):
        lines.append(f"\t.quad .Lfn{index}\n\t.value {dims[0]}, {dims[1]}, {dims[2]}, 0")
    lines += [f"\t.balign {_ALIGN}", *(["\t.quad 0, 0, 0", *registered.mask] if registered.mask else [])]
    lines += ["\t.type target_data, @object", "\t.size target_data, 48", "target_data:"]
    for array, count, more in (
        ("ptx_objs", len(image.objects), 0),
        ("var_mappings", len(image.variables), 0),
        ("func_mappings", len(image.functions), len(image.indirect)),
    ):
        lines.append(f"\t.quad {array}\n\t.long {count}, {more}")
    lines.append(f"\t.hidden {HOST_TABLE}")
    lines += registering_text(
        ("init", "fini"),
        registered.version(GOMP_VERSION_NVIDIA_PTX),
        (HOST_TABLE, GOMP_DEVICE_NVIDIA_PTX, f"target_data{registered.before}"),
        _DESCRIBED if objects else (),
    )
    return "\n".join(lines) + "\n"


def _array(name: str, size: int) -> list[str]:
    return [f"\t.balign {_ALIGN}", f"\t.type {name}, @object", f"\t.size {name}, {size}", f"{name}:"]
