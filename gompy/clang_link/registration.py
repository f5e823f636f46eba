"""The objects that register a program's images, as assembly text: with libomptarget, with the runtimes of CUDA and HIP.

Names, sections, order and layout are those of LLVM 16's wrapper (offload.wrapper.module); the text is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gompy.abi.llvm import (
    CUDA_ENTRIES_SECTION,
    ENTRIES_SECTION,
    HIP_ENTRIES_SECTION,
    LINKED_SECTION,
    OFFLOADING_SECTION,
    OFK_CUDA,
    OFK_HIP,
    SHT_LLVM_OFFLOADING,
)

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


def _dummy(name: str, section: str, relocatable: bool) -> str:
    """What makes the entries' section exist: in an object to be linked again it is the object's own."""
    visible = "" if relocatable else f'\t.globl "{name}"\n\t.hidden "{name}"\n'
    return f"\t.section {section}\n\t.balign 8\n{visible}" + _object(name, "0", "")


def _descriptor(number: int, section: str, images: int, relocatable: bool) -> str:
    """One descriptor, and what registers it: for the entries of one form."""
    more = f".{number}" if number else ""
    start, stop, dummy = f"__start_{section}", f"__stop_{section}", f"{DUMMY}{more}"
    parts = [_dummy(dummy, f'{section},"a",@progbits', relocatable) + f"\t.hidden {start}, {stop}\n"]
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


def text(files: list[str], sections: list[str] | None = None, relocatable: bool = False) -> str:
    """The object's text; ``files`` hold an OffloadBinary each, in the order of devices; ``sections``: those of the
    objects' entries, one for each form that they have; ``relocatable``: for an object that is linked again."""
    parts = ['\t.file "offload.wrapper.module"\n']
    kept = f'{LINKED_SECTION},"a",@progbits'  # of another type: LLVM's wrapper takes images by the type
    parts.append(
        "\t.section " + (kept if relocatable else f'{OFFLOADING_SECTION},"a",@{SHT_LLVM_OFFLOADING:#x}') + "\n"
    )
    for number, file in enumerate(files):
        name, end = image_name(number), f".Lend{number}"
        quoted = file.replace("\\", "\\\\").replace('"', '\\"')
        parts.append("\t.balign 8\n" + _object(name, f'{end}-"{name}"', f'\t.incbin "{quoted}"\n{end}:\n'))
    for number, section in enumerate(sections or [ENTRIES_SECTION]):
        parts.append(_descriptor(number, section, len(files), relocatable))
    parts.append('\t.section .note.GNU-stack,"",@progbits\n')
    return "".join(parts)


@dataclass(frozen=True)
class Runtime:
    """Names and numbers of a language whose runtime takes one file for all architectures."""

    name: str
    entries: str
    image_section: str
    wrapper_section: str
    magic: int
    ends: bool
    """Whether it is told when all has been registered."""


RUNTIMES: Final = {
    OFK_CUDA: Runtime("cuda", CUDA_ENTRIES_SECTION, ".nv_fatbin", ".nvFatBinSegment", 0x466243B1, True),
    OFK_HIP: Runtime("hip", HIP_ENTRIES_SECTION, ".hip_fatbin", ".hipFatBinSegment", 0x48495046, False),
}
_LOOP: Final = """\
	pushq %rbx
	pushq %r12
	pushq %r13
	movq %rdi, %r12
	leaq __start_{entries}(%rip), %rbx
	leaq __stop_{entries}(%rip), %r13
1:	cmpq %r13, %rbx
	jae 4f
	movq %r12, %rdi
	movq (%rbx), %rsi
	movq 8(%rbx), %rdx
	movq %rdx, %rcx
	cmpq $0, 16(%rbx)
	jne 2f
	movl $-1, %r8d
	xorl %r9d, %r9d
	pushq $0
	pushq $0
	pushq $0
	pushq $0
	call __{name}RegisterFunction@PLT
	addq $32, %rsp
	jmp 3f
2:	movl 24(%rbx), %eax
	testl $7, %eax
	jne 3f
	shrl $3, %eax
	movl %eax, %r8d
	andl $1, %r8d
	shrl $1, %eax
	andl $1, %eax
	movq 16(%rbx), %r9
	pushq $0
	pushq %rax
	call __{name}RegisterVar@PLT
	addq $16, %rsp
3:	addq $32, %rbx
	jmp 1b
4:	popq %r13
	popq %r12
	popq %rbx
	ret
"""
"""Each entry: a kernel, whose size is 0, or a variable; of its flags bit 3 says extern, bit 4 constant.

Managed variables, surfaces and textures (the lowest three bits) are registered by none, as in LLVM 16.
"""
_BEGIN: Final = """\
	pushq %rbx
	leaq .fatbin_wrapper(%rip), %rdi
	call __{name}RegisterFatBinary@PLT
	movq %rax, .{name}.binary_handle(%rip)
	movq %rax, %rbx
	movq %rax, %rdi
	call .{name}.globals_reg
{end}	leaq .{name}.fatbin_unreg(%rip), %rdi
	popq %rbx
	jmp atexit@PLT
"""
_TOLD: Final = "\tmovq %rbx, %rdi\n\tcall __{name}RegisterFatBinaryEnd@PLT\n"


def _code(name: str, body: str) -> str:
    return f'\t.p2align 4\n\t.type "{name}", @function\n"{name}":\n\tendbr64\n{body}\t.size "{name}", .-"{name}"\n'


def bundle_text(kind: int, file: str, relocatable: bool = False) -> str:
    """The object's text for CUDA's or HIP's images, which ``file`` holds."""
    runtime = RUNTIMES[kind]
    name, entries = runtime.name, runtime.entries
    dummy = f"__dummy.{name}_offloading.entry"
    quoted = file.replace("\\", "\\\\").replace('"', '\\"')
    body = f'\t.long {runtime.magic:#x}, 1\n\t.quad ".fatbin_image", 0\n'
    end = _TOLD.format(name=name) if runtime.ends else ""
    unregister = f"\tmovq .{name}.binary_handle(%rip), %rdi\n\tjmp __{name}UnregisterFatBinary@PLT\n"
    parts = [
        '\t.file "offload.wrapper.module"\n',
        f'\t.section {runtime.image_section},"a",@progbits\n\t.balign 4096\n',
        _object(".fatbin_image", '.Lend-".fatbin_image"', f'\t.incbin "{quoted}"\n.Lend:\n'),
        f'\t.section {runtime.wrapper_section},"aw",@progbits\n\t.balign 8\n',
        _object(".fatbin_wrapper", "24", body),
        _dummy(dummy, f'{entries},"aw",@progbits', relocatable),
        f"\t.hidden __start_{entries}, __stop_{entries}\n",
        f"\t.local .{name}.binary_handle\n\t.comm .{name}.binary_handle, 8, 8\n",
        '\t.section .text.startup,"ax",@progbits\n',
        _code(f".{name}.globals_reg", _LOOP.replace("{entries}", entries).replace("{name}", name)),
        _code(f".{name}.fatbin_unreg", unregister),
        _code(f".{name}.fatbin_reg", _BEGIN.format(name=name, end=end)),
        _pointer("init_array", "init_array", f".{name}.fatbin_reg"),
        '\t.section .note.GNU-stack,"",@progbits\n',
    ]
    return "".join(parts)
