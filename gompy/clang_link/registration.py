"""The object that registers a program's images with libomptarget, as assembly text.

Names, sections, order and layout are those of LLVM 16's wrapper (offload.wrapper.module); the text is ours.
"""

from __future__ import annotations

from gompy.abi.llvm import ENTRIES_SECTION, OFFLOADING_SECTION, SHT_LLVM_OFFLOADING

PREFIX = ".omp_offloading"
DUMMY = "__dummy.omp_offloading.entry"
PRIORITY = 1
"""Behind what ``omp requires`` registers, before the program's own constructors."""


def _object(name: str, size: str, body: str) -> str:
    return f'\t.type "{name}", @object\n"{name}":\n{body}\t.size "{name}", {size}\n'


def _function(name: str, called: str, descriptor: str) -> str:
    """It passes the descriptor on."""
    return (
        f'\t.p2align 4\n\t.type "{name}", @function\n"{name}":\n\t.cfi_startproc\n\tendbr64\n'
        f'\tleaq "{descriptor}"(%rip), %rdi\n\tjmp {called}@PLT\n\t.cfi_endproc\n\t.size "{name}", .-"{name}"\n'
    )


def _pointer(section: str, kind: str, name: str) -> str:
    return f'\t.section .{section}.{PRIORITY},"aw",@{kind}\n\t.balign 8\n\t.quad "{name}"\n'


def image_name(number: int) -> str:
    """The symbol of an image."""
    return f"{PREFIX}.device_image" + (f".{number}" if number else "")


def _descriptor(number: int, section: str, images: int) -> str:
    """One descriptor, and what registers it: for the entries of one form."""
    more = f".{number}" if number else ""
    start, stop, dummy = f"__start_{section}", f"__stop_{section}", f"{DUMMY}{more}"
    parts = [f'\t.section {section},"a",@progbits\n\t.balign 8\n\t.globl "{dummy}"\n\t.hidden "{dummy}"\n']
    parts.append(_object(dummy, "0", "") + f"\t.hidden {start}, {stop}\n")
    records = "".join(f'\t.quad "{image_name(i)}", .Lend{i}, {start}, {stop}\n' for i in range(images))
    parts.append('\t.section .data.rel.ro,"aw",@progbits\n\t.balign 16\n')
    parts.append(_object(f"{PREFIX}.device_images{more}", str(32 * images), records))
    body = f'\t.long {images}, 0\n\t.quad "{PREFIX}.device_images{more}", {start}, {stop}\n'
    name = f"{PREFIX}.descriptor{more}"
    parts.append(_object(name, "32", body))
    register, unregister = f"{PREFIX}.descriptor_reg{more}", f"{PREFIX}.descriptor_unreg{more}"
    parts.append('\t.section .text.startup,"ax",@progbits\n')
    parts.append(_function(register, "__tgt_register_lib", name) + _function(unregister, "__tgt_unregister_lib", name))
    parts.append(_pointer("init_array", "init_array", register))
    parts.append(_pointer("fini_array", "fini_array", unregister))
    return "".join(parts)


def text(files: list[str], sections: list[str] | None = None) -> str:
    """The object's text; ``files`` hold an OffloadBinary each, in the order of devices; ``sections``: those of the
    objects' entries, one for each form that they have."""
    parts = ['\t.file "offload.wrapper.module"\n']
    parts.append(f'\t.section {OFFLOADING_SECTION},"a",@{SHT_LLVM_OFFLOADING:#x}\n')
    for number, file in enumerate(files):
        name, end = image_name(number), f".Lend{number}"
        quoted = file.replace("\\", "\\\\").replace('"', '\\"')
        parts.append("\t.balign 8\n" + _object(name, f'{end}-"{name}"', f'\t.incbin "{quoted}"\n{end}:\n'))
    for number, section in enumerate(sections or [ENTRIES_SECTION]):
        parts.append(_descriptor(number, section, len(files)))
    parts.append('\t.section .note.GNU-stack,"",@progbits\n')
    return "".join(parts)
