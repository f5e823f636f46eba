"""Inputs of the inspect tests: objects, archives, programs and images made by the stock tools.

The intelmic and gcn host objects are assembled here by the layouts of docs/internals.md and of GCC's mkoffload
programs, so that the readers are tested against those, not against this project's writer.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

APPLE = r"""
#pragma omp declare target
int core[4] = {1, 2, 3, 4};
int seeds = 5;
static int hidden = 3;
int bite (int x) { return x + seeds + hidden; }
#pragma omp end declare target
int pips[100];
#pragma omp declare target link(pips)
void banana (int *);
static void apple (int *a) {
  #pragma omp target map(a[0])
  { a[0] += bite (core[1]); hidden = 4; }
}
int main (void) {
  int b = 2;
  apple (&b);
  banana (&b);
  #pragma omp target map(b)
  b = bite (b) + pips[3];
  return b;
}
"""
BANANA = r"""
#pragma omp declare target
double peel = 2.0;
#pragma omp end declare target
void banana (int *x) {
  #pragma omp target map(x[0])
  x[0] *= peel;
}
"""
FUNCS = ["main._omp_fn.0", "apple._omp_fn.0", "banana._omp_fn.0"]
"""In table order, which is the compiler's choice."""
VARS = ["core", "seeds", "hidden", "pips", "peel"]
NVPTX_GCC = "x86_64-linux-gnu-accel-nvptx-none-gcc-12"
HAVE_NVPTX = shutil.which(NVPTX_GCC) is not None


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a tool that must succeed; its standard output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


@dataclass
class Inputs:
    """Paths of the inputs, all in one folder."""

    folder: Path

    def __getitem__(self, name: str) -> Path:
        return self.folder / name


def make(folder: Path) -> Inputs:
    """Compile everything."""
    (folder / "apple.c").write_text(APPLE)
    (folder / "banana.c").write_text(BANANA)
    for name in ("apple", "banana"):
        source = folder / f"{name}.c"
        common = ("gcc", "-O1", "-fopenmp", "-c", source, "-o")
        run(*common, folder / f"{name}.o")
        run(*common, folder / f"{name}.fat.o", "-flto", "-ffat-lto-objects")
        run(*common, folder / f"{name}.slim.o", "-flto")
        run(*common, folder / f"{name}.pic.o", "-fPIC")
    objects = (folder / "apple.o", folder / "banana.o")
    link = ("gcc", "-fopenmp", "-foffload=disable", *objects, "-o")
    run(*link, folder / "prog")
    run(*link, folder / "prog.nopie", "-no-pie")
    pic = (folder / "apple.pic.o", folder / "banana.pic.o")
    run("gcc", "-shared", "-fopenmp", "-foffload=disable", *pic, "-o", folder / "lib.so")
    run("strip", "-o", folder / "prog.stripped", folder / "prog")
    run("ld", "-r", *objects, "-o", folder / "joined.o")
    run("ar", "rc", "lib.a", "apple.fat.o", "banana.o", cwd=folder)
    run("ar", "rcT", "thin.a", "apple.fat.o", "banana.o", cwd=folder)
    (folder / "empty.c").write_text("int x;\n")
    run("gcc", "-c", folder / "empty.c", "-o", folder / "empty.o")
    make_images(folder)
    if HAVE_NVPTX:
        options = "-foffload-options=nvptx-none=-Wa,--no-verify"
        run("gcc", "-fopenmp", *objects, "-foffload=nvptx-none", options, "-o", folder / "prog.nvptx")
        run("strip", "-o", folder / "prog.nvptx.stripped", folder / "prog.nvptx")
    return Inputs(folder)


IMAGE_C = r"""
__attribute__((visibility("hidden"))) int core[4], seeds, hidden, pips[100];
__attribute__((visibility("hidden"))) double peel;
#define REGION(name, label) void name (void) asm (label); void name (void)
__attribute__((noinline, noclone)) int bite (int x) { return x + seeds; }
REGION (f0, "apple._omp_fn.0") { core[0] = bite (core[1]); }
REGION (f1, "main._omp_fn.0") { hidden = bite (2); }
REGION (f2, "banana._omp_fn.0") { peel *= 2; }
__attribute__((section(".gnu.offload_funcs"), used)) static void *funcs[] = { f1, f0, f2 };
struct var { void *address; unsigned long size; };
__attribute__((section(".gnu.offload_vars"), used)) static struct var vars[] =
  { {core, 16}, {&seeds, 4}, {&hidden, 4}, {pips, 400 | 1ul << 63}, {&peel, 8} };
void *__OFFLOAD_TARGET_TABLE__[] = { funcs, funcs + FUNCS, vars, vars + 5 };
"""


def host_assembly(image: Path, objects: list[tuple[int, int, int, int, str]], funcs: int, variables: int) -> str:
    """The host object of docs/internals.md, "Link", without its constructor."""
    lines = ['.section .gnu.offload_images,"a"', ".balign 16", "start:", f'.incbin "{image}"', "end:"]
    lines += ['.section .data.rel.ro,"aw"', ".balign 8", "target_data: .quad start, end", '.ascii "GOMPYMIC"']
    lines += [".long 1, 1", f".quad {funcs}, {variables}", ".quad 0, 0", f".quad objects, {len(objects)}, name"]
    lines.append("objects:")
    for number, (identity, nfuncs, nvars, kind, _name) in enumerate(objects):
        lines.append(f".quad {identity:#x}\n.long {nfuncs}, {nvars}, {kind}, 0\n.quad object{number}")
    lines += ['.section .rodata.str,"aMS",@progbits,1', 'name: .asciz "prog.mic"']
    lines += [f'object{number}: .asciz "{item[4]}"' for number, item in enumerate(objects)]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def record_assembly(records: list[tuple[int, int, int, str]]) -> str:
    """Object records as the assembler filter writes them."""
    lines = ['.section gompy_offload_objects,"a"', ".balign 8"]
    for identity, nfuncs, nvars, name in records:
        lines.append(f'.quad {identity:#x}\n.long {nfuncs}, {nvars}\n.ascii "{name}"\n.zero {48 - len(name)}')
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def assemble(folder: Path, name: str, source: str) -> Path:
    """Assemble a text."""
    (folder / f"{name}.s").write_text(source)
    run("as", folder / f"{name}.s", "-o", folder / f"{name}.o")
    return folder / f"{name}.o"


def make_images(folder: Path) -> None:
    """prog.mic (image of ours), prog.mic.short (its image lacks a function), prog.stockmic, prog.gcn."""
    (folder / "image.c").write_text(IMAGE_C)
    common = ("gcc", "-O1", "-fPIC", "-shared", "-nostdlib", folder / "image.c", "-o")
    run(*common, folder / "image.so", "-DFUNCS=3")
    run(*common, folder / "image.short.so", "-DFUNCS=2")
    objects = [(0xA, 2, 4, 0, "apple.o"), (0xB, 1, 1, 0, "banana.o")]
    records = assemble(folder, "records", record_assembly([(0xA, 2, 4, "apple.c"), (0xB, 1, 1, "banana.c")]))
    host = assemble(folder, "host", host_assembly(folder / "image.so", objects, 3, 5))
    short = assemble(folder, "short", host_assembly(folder / "image.short.so", objects, 3, 5))
    run("strip", "-g", host)
    link = ("gcc", "-fopenmp", "-foffload=disable", folder / "apple.o", folder / "banana.o", records)
    run(*link, host, "-o", folder / "prog.mic")
    run(*link, short, "-o", folder / "prog.mic.short")
    run("strip", "-o", folder / "prog.mic.stripped", folder / "prog.mic")
    stock = '.section .gnu.offload_images,"aw"\n.incbin "{}"\n.section .note.GNU-stack,"",@progbits\n'
    stock_host = assemble(folder, "stock", stock.format(folder / "image.so"))
    run(*link, stock_host, "-o", folder / "prog.stockmic")
    elf = bytearray((folder / "image.so").read_bytes())
    struct.pack_into("<H", elf, 18, 224)
    (folder / "image.hsaco").write_bytes(elf)
    kernels = ["_init_array", "_fini_array", *FUNCS]
    rows = "\n".join(f'  {{ "{name}", {{1, 1, 1}}, 10, 20 }},' for name in kernels)
    (folder / "gcn.c").write_text(
        'asm (".section .rodata\\n.balign 8\\nhsaco: .incbin \\"' + str(folder / "image.hsaco") + '\\"\\n.previous");\n'
        "extern const char hsaco[];\n"
        "static const struct { const char *name; int dims[3], sgpr, vgpr; } kernels[] = {\n" + rows + "\n};\n"
        f"static const struct {{ unsigned long size; const void *image; }} gcn_image = {{ {len(elf)}, hsaco }};\n"
        "__attribute__((used)) static const struct { const void *image; unsigned count; const void *kernels; "
        f"unsigned vars; }} target_data = {{ &gcn_image, {len(kernels)}, kernels, 5 }};\n"
    )
    run(*link, folder / "gcn.c", "-o", folder / "prog.gcn")
