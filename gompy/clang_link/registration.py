"""The object that registers a program's images with libomptarget, as assembly text.

Names, sections, order and layout are those of LLVM 16's wrapper (offload.wrapper.module); the text is ours.
"""

from __future__ import annotations

from gompy.abi.llvm import ENTRIES_SECTION, OFFLOADING_SECTION, SHT_LLVM_OFFLOADING

PREFIX = ".omp_offloading"
START, STOP = f"__start_{ENTRIES_SECTION}", f"__stop_{ENTRIES_SECTION}"
DUMMY = "__dummy.omp_offloading.entry"
PRIORITY = 1
"""Behind what ``omp requires`` registers, before the program's own constructors."""


def _object(name: str, size: str, body: str) -> str:
    return f'\t.type "{name}", @object\n"{name}":\n{body}\t.size "{name}", {size}\n'


def _function(name: str, called: str) -> str:
    """It passes the descriptor on."""
    return (
        f'\t.p2align 4\n\t.type "{name}", @function\n"{name}":\n\t.cfi_startproc\n\tendbr64\n'
        f'\tleaq "{PREFIX}.descriptor"(%rip), %rdi\n\tjmp {called}@PLT\n\t.cfi_endproc\n\t.size "{name}", .-"{name}"\n'
    )


def _pointer(section: str, kind: str, name: str) -> str:
    return f'\t.section .{section}.{PRIORITY},"aw",@{kind}\n\t.balign 8\n\t.quad "{name}"\n'


def image_name(number: int) -> str:
    """The symbol of an image."""
    return f"{PREFIX}.device_image" + (f".{number}" if number else "")


def text(files: list[str]) -> str:
    """The object's text; ``files`` hold an OffloadBinary each, in the order of devices."""
    parts = [f'\t.file "offload.wrapper.module"\n\t.section {ENTRIES_SECTION},"a",@progbits\n\t.balign 8\n']
    parts.append(f'\t.globl "{DUMMY}"\n\t.hidden "{DUMMY}"\n' + _object(DUMMY, "0", ""))
    parts.append(f"\t.hidden {START}, {STOP}\n")
    parts.append(f'\t.section {OFFLOADING_SECTION},"a",@{SHT_LLVM_OFFLOADING:#x}\n')
    records = ""
    for number, file in enumerate(files):
        name, end = image_name(number), f".Lend{number}"
        quoted = file.replace("\\", "\\\\").replace('"', '\\"')
        parts.append("\t.balign 8\n" + _object(name, f'{end}-"{name}"', f'\t.incbin "{quoted}"\n{end}:\n'))
        records += f'\t.quad "{name}", {end}, {START}, {STOP}\n'
    parts.append('\t.section .data.rel.ro,"aw",@progbits\n\t.balign 16\n')
    parts.append(_object(f"{PREFIX}.device_images", str(32 * len(files)), records))
    descriptor = f'\t.long {len(files)}, 0\n\t.quad "{PREFIX}.device_images", {START}, {STOP}\n'
    parts.append(_object(f"{PREFIX}.descriptor", "32", descriptor))
    register, unregister = f"{PREFIX}.descriptor_reg", f"{PREFIX}.descriptor_unreg"
    parts.append('\t.section .text.startup,"ax",@progbits\n')
    parts.append(_function(register, "__tgt_register_lib") + _function(unregister, "__tgt_unregister_lib"))
    parts.append(_pointer("init_array", "init_array", register))
    parts.append(_pointer("fini_array", "fini_array", unregister))
    parts.append('\t.section .note.GNU-stack,"",@progbits\n')
    return "".join(parts)
