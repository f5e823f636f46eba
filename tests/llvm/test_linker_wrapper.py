"""Our clang-linker-wrapper and gompclang: programs linked by them run with LLVM's library and with ours."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, make_wrappers
from hypothesis import given
from hypothesis import strategies as st
from llvm_tools import HALVES, LIBDIR, NATIVE, PROGRAMS, TARGET, environment, needs_clang

from gompy.clang_link import registration
from gompy.clang_link.options import parse
from gompy.driver import clang
from gompy.objects.clang_images import read_clang
from gompy.objects.view import ElfView
from gompy.tools.process import ToolError

WRAPPER = NATIVE / "clang" / "clang-linker-wrapper"
MAIN = """
#include <stdio.h>
#pragma omp declare target
int seeds = 5;
int peel (int x);
#pragma omp end declare target
int main (void)
{
  int b = 2, there = 1;
  #pragma omp target map(b, there)
  { extern int omp_is_initial_device (void); b = peel (b); there = omp_is_initial_device (); }
  printf ("%d\\n", b);
  return 0;
}
"""
PEEL = """
#pragma omp declare target
extern int seeds;
int peel (int x) { return x * seeds; }
#pragma omp end declare target
void other (int *p)
{
  #pragma omp target map(p[0:1])
  p[0] += 1;
}
"""
UNUSED = """
int unused (int x)
{
  #pragma omp target map(x)
  x++;
  return x;
}
"""


def run(folder: Path, *command: str | Path, stock: bool = True) -> subprocess.CompletedProcess[str]:
    """Run in a folder, with LLVM's library or ours."""
    env = environment(LC_ALL="C", GOMPY_STATS="1")
    if stock:
        del env["LD_LIBRARY_PATH"]
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=110)


def good(folder: Path, *command: str | Path, stock: bool = True) -> str:
    """The same, which must succeed; standard output."""
    done = run(folder, *command, stock=stock)
    assert done.returncode == 0, done.stderr
    return done.stdout


COMPILE = ("clang-16", "-O1", "-fopenmp", f"-fopenmp-targets={TARGET}")
LINK = (*COMPILE, f"-B{WRAPPER.parent}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Objects."""
    made = tmp_path_factory.mktemp("wrapper")
    for name, text in (("main", MAIN), ("peel", PEEL), ("unused", UNUSED)):
        (made / f"{name}.c").write_text(text)
    good(made, *COMPILE, "-c", "main.c", "peel.c", "unused.c")
    for name in ("main", "peel"):
        good(made, *COMPILE, "-foffload-lto", "-c", f"{name}.c", "-o", f"{name}.lto.o")
    good(made, "ar", "rc", "libfruit.a", "unused.o", "peel.o")
    good(made, "ld", "-r", "main.o", "peel.o", "-o", "joined.o")
    yield made


CASES = {
    "objects": ("main.o", "peel.o"),
    "no pie": ("-no-pie", "main.o", "peel.o"),
    "joined": ("joined.o",),
    "archive": ("main.o", "libfruit.a"),
    "library": ("main.o", "-L.", "-lfruit"),
    "bitcode": ("main.lto.o", "peel.lto.o"),
    "mixed": ("main.lto.o", "peel.o"),
    "lld": ("-fuse-ld=lld", "main.o", "peel.o"),
}


@pytest.mark.slow(sample=1)
@needs_clang
@pytest.mark.parametrize("case", CASES)
def test_linked_by_ours(folder: Path, case: str) -> None:
    """It runs with either library; its image has the entries."""
    if case == "lld" and not Path("/usr/lib/llvm-16/bin/ld.lld").exists():
        pytest.skip("not installed: lld-16")
    good(folder, *LINK, *CASES[case], "-o", "prog")
    assert good(folder, "./prog") == "10\n"
    done = run(folder, "./prog", stock=False)
    assert (done.returncode, done.stdout) == (0, "10\n")
    assert "regions: 1 on device 0 (intelmic), 0 on the host" in done.stderr
    tables = read_clang(ElfView((folder / "prog").read_bytes(), "prog"))
    (image,) = tables.images
    assert image.lacking(tables.entries) == [] and image.binary.triple == TARGET
    assert "__omp_offloading" in str(tables.entries)


@pytest.mark.slow(sample=1)
@needs_clang
@pytest.mark.parametrize("case", ["objects", "archive", "mixed"])
def test_linked_by_llvms(folder: Path, case: str) -> None:
    """What LLVM's own wrapper links runs with either library."""
    good(folder, *COMPILE, *CASES[case], "-o", "theirs")
    assert good(folder, "./theirs") == "10\n"
    done = run(folder, "./theirs", stock=False)
    assert (done.returncode, done.stdout) == (0, "10\n")
    assert "regions: 1 on device 0 (intelmic), 0 on the host" in done.stderr


@pytest.mark.slow
@needs_clang
def test_the_program_is_as_llvms_wrapper_has_it(folder: Path) -> None:
    """Sections, symbols and their sizes, but for the image's own."""
    good(folder, *LINK, "main.o", "peel.o", "-o", "ours")
    good(folder, *COMPILE, "main.o", "peel.o", "-o", "theirs")
    ours, theirs = (ElfView((folder / name).read_bytes(), name) for name in ("ours", "theirs"))
    wanted = re.compile(r"omp_offloading|^\.init_array|^\.fini_array|llvm\.offloading")
    shown = []
    for elf in (ours, theirs):
        symbols = {(s.name, s.type, s.bind, s.visibility) for s in elf.symbols() if wanted.search(s.name)}
        sections = {(s.name, s.type, s.flags) for s in elf.sections if wanted.search(s.name)}
        shown.append((symbols, sections))
    assert shown[0] == shown[1]


@needs_clang
def test_an_archive_before_its_user_is_not_searched(folder: Path) -> None:
    done = run(folder, *LINK, "libfruit.a", "main.o", "-o", "prog")
    assert done.returncode == 1 and "undefined reference to `peel'" in done.stderr


@pytest.mark.slow
@needs_clang
def test_save_temps_and_verbose(folder: Path, tmp_path: Path) -> None:
    objects = [folder / "main.o", folder / "peel.o"]
    done = run(tmp_path, *LINK, *objects, "-o", "prog", "-Wl,--save-temps,--wrapper-verbose")
    assert done.returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"prog", "prog.image.wrapper.o", "prog.x86_64.native.img", f"main-{TARGET}-.o"} <= names
    commands = [line for line in done.stderr.splitlines() if line.startswith(' "')]
    assert len(commands) == 3 and "--no-undefined" in commands[0] and commands[2].startswith(' "/usr/bin/ld" -pie')
    assert " -o prog prog.image.wrapper.o " in commands[2]


# Facts of clang's tests of its wrapper (LLVM 16, clang/test/Driver/linker-wrapper.c), on real objects.
@needs_clang
def test_dry_run_shows_and_makes_nothing(folder: Path, tmp_path: Path) -> None:
    words = ("--host-triple=x86_64-unknown-linux-gnu", "--dry-run", "--linker-path=/usr/bin/ld", "--device-debug")
    link = ("--device-linker=a", f"--device-linker={TARGET}=b", "--device-linker=nvptx64-nvidia-cuda=c", "--")
    done = run(tmp_path, WRAPPER, *words, *link, folder / "main.o", "-o", "a.out")
    assert done.returncode == 0 and not list(tmp_path.iterdir())
    device, assembler, host = done.stderr.splitlines()
    assert re.search(rf'clang[^"]*" -o \S+\.img --target={TARGET} -O2 -g .*-shared', device)
    assert "-Wl,a" in device and "-Wl,b" in device and "-Wl,c" not in device
    assert "as" in assembler and re.fullmatch(r' "/usr/bin/ld" \S+main\.o -o a\.out \S+\.o', host)


@pytest.mark.slow(sample=8)
@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--linker-path=/usr/bin/ld", "--", "-lnowhere"], "unable to find library -lnowhere"),
        (["--linker-path=/usr/bin/ld", "--", "none.o"], "cannot open none.o: No such file or directory"),
        (["--", "a.o"], "no linker: --linker-path= must be given"),
        (["--linker-path=ld", "--what", "--", "a.o"], "unknown argument"),
        (["--linker-path=ld", "--compiler-arg=-O1", "a.o"], "--compiler-arg is not implemented"),
        (["--linker-path=ld", "--builtin-bitcode=a.bc", "--"], "--builtin-bitcode=a.bc: it must be TRIPLE=PATH"),
        (["--linker-path=ld", "--override-image=sycl=a", "--"], "it must be openmp=FILE, cuda=FILE or hip=FILE"),
        (["--linker-path=ld", "--override-image=hip=a", "--"], "images of one target, and have none"),
        (["--emit-fatbin-only", "--"], "--emit-fatbin-only is for images of one language, not for none"),
        (["--linker-path=ld", "--opt-level=O9", "--"], "--opt-level=O9: it must be O0, O1, O2 or O3"),
        (["--linker-path=ld", "--host-triple=aarch64-linux-gnu", "--"], "aarch64-linux-gnu are not implemented"),
    ],
)
@pytest.mark.skipif(not WRAPPER.exists(), reason="gompy/_native/clang is not built")
def test_errors_are_told(tmp_path: Path, words: list[str], cause: str) -> None:
    done = run(tmp_path, WRAPPER, *words)
    assert done.returncode == 1
    assert done.stderr.startswith("clang-linker-wrapper: fatal error: ") and cause in done.stderr.splitlines()[0]


@pytest.mark.skipif(not WRAPPER.exists(), reason="gompy/_native/clang is not built")
def test_a_link_without_regions_is_the_linkers(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("int main (void) { return 3; }\n")
    good(tmp_path, "gcc", "-c", "x.c")
    good(tmp_path, WRAPPER, "--linker-path=/usr/bin/ld", "--", "-r", "x.o", "-o", "y.o")
    good(tmp_path, "gcc", "y.o", "-o", "x")
    assert run(tmp_path, "./x").returncode == 3


def test_options_without_a_bar_are_taken_apart() -> None:
    """clang 17 and newer leave the ``--`` out."""
    options = parse(["--host-triple=t", "--linker-path=/l", "-pie", "-o", "x", "a.o", "--save-temps", "-lomp"])
    assert options.link == ["-pie", "-o", "x", "a.o", "-lomp"] and options.save_temps and options.output == "x"


@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12), max_size=8))
def test_no_command_line_crashes(words: list[str]) -> None:
    try:
        parse(["--linker-path=ld", *words])
    except ToolError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("count", [1, 3])
def test_the_registering_object(tmp_path: Path, count: int) -> None:
    """Any number of images; the linker defines the bounds of a table that no object has."""
    files = []
    for number in range(count):
        path = tmp_path / f'image "{number}".bin'
        path.write_bytes(bytes([number]) * (number * 8 + 8))
        files.append(str(path))
    (tmp_path / "w.s").write_text(registration.text(files))
    good(tmp_path, "as", "w.s", "-o", "w.o")
    (tmp_path / "main.c").write_text(
        "struct image { char *start, *end, *first, *last; };\n"
        "struct desc { int count; struct image *images; char *first, *last; };\nstatic int registered;\n"
        "void __tgt_register_lib (struct desc *d) {\n"
        "  for (int i = 0; i < d->count; i++)\n"
        "    registered += d->images[i].end - d->images[i].start == 8 * i + 8 && *d->images[i].start == i\n"
        "                  && d->images[i].first == d->first && d->first == d->last;\n}\n"
        'void __tgt_unregister_lib (struct desc *d) { __builtin_printf ("%d of %d\\n", registered, d->count); }\n'
        "int main (void) { return !registered; }\n"
    )
    for options in ((), ("-no-pie",), ("-Wl,--gc-sections",)):
        good(tmp_path, "gcc", *options, "main.c", "w.o", "-o", "prog")
        assert good(tmp_path, "./prog") == f"{count} of {count}\n"


@pytest.fixture
def commands(tmp_path: Path) -> Tools:
    """gompclang, gompclang++ and the others in PATH."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"LC_ALL": "C", "GOMPY_STATS": "1"}
    return tools


@pytest.mark.slow
@needs_clang
@has_all
def test_gompclang(commands: Tools) -> None:
    """Nothing else has to be typed: the program's regions are on the device."""
    (commands.work / "main.c").write_text(MAIN)
    (commands.work / "peel.c").write_text(PEEL)
    commands.ok("gompclang", "-O1", "-fopenmp", "main.c", "peel.c", "-o", "prog")
    done = commands.run("./prog")
    assert done.stdout == "10\n" and "1 on device 0 (intelmic)" in done.stderr
    done = commands.run("gompclang", "-Wall", "-fopenmp", "-c", "main.c")
    assert (done.returncode, done.stderr) == (0, "")
    commands.ok("gompclang", "-fopenmp", "-c", "peel.c")
    commands.ok("gompclang", "-fopenmp", "main.o", "peel.o", "-o", "prog2")
    assert "1 on device 0 (intelmic)" in commands.run("./prog2").stderr
    shutil.copy(PROGRAMS / "structs.cpp", commands.work)
    commands.ok("gompclang++", "-fopenmp", "structs.cpp", "-o", "prog3")
    assert "0 on the host" in commands.run("./prog3").stderr


@pytest.mark.slow
@needs_clang
@has_all
def test_maps_of_a_program_by_clang_are_told(commands: Tools) -> None:
    """With their lines: clang's debug information has no .debug_aranges.  The device's process writes no trace."""
    (commands.work / "a.c").write_text(
        "int main (void)\n{\n  int x[4] = { 1 };\n#pragma omp target map(x)\n  x[0]--;\n  return x[0];\n}\n"
    )
    commands.ok("gompclang", "-g", "-fopenmp", "a.c", "-o", "prog")
    done = commands.run("gompy", "run", "--show-maps", "./prog")
    first = "a.c:4 map(tofrom: x[0:4]) host 0x"
    assert done.returncode == 0 and any(line.startswith(first) for line in done.stderr.splitlines()), done.stderr


@pytest.mark.slow
@needs_clang
@has_all
def test_gcc_and_clang_in_one_program(commands: Tools) -> None:
    """Objects of both compilers, linked by gompcc: each compiler's image is registered, the mappings are one table."""
    for name in ("half_clang.c", "half_gcc.c"):
        shutil.copy(HALVES / name, commands.work)
    commands.ok("gompclang", "-O1", "-fopenmp", "-c", "half_clang.c")
    commands.ok("gompcc", "-O1", "-fopenmp", "-c", "half_gcc.c")
    commands.ok("gompcc", "-fopenmp", "half_gcc.o", "half_clang.o", "-o", "both")
    done = commands.run("./both")
    assert done.stdout == "1 2 50\n101 50\n" and "regions: 2 on device 0 (intelmic), 0 on the host" in done.stderr
    said = commands.ok("gompy", "verify", "both")
    assert said.startswith("both: 1 region and 1 region by clang, 2 images (x86_64-intelmicemul-linux-gnu, x86_64-pc-")
    commands.ok("ar", "rc", "libhalf.a", "half_clang.o")
    commands.ok("gompcc", "-fopenmp", "half_gcc.o", "half_clang.o", "libhalf.a", "-o", "again")
    assert commands.run("./again").stdout == done.stdout
    failed = commands.run("gompcc", "-fopenmp", "-fuse-ld=gold", "half_gcc.o", "half_clang.o", "-o", "gold")
    assert failed.returncode == 1 and "linked by ld.bfd only" in failed.stderr


@has_all
def test_messages_of_gompclang(commands: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    commands.env["GOMPY_CLANG"] = "/nonexistent/clang"
    done = commands.run("gompclang", "-fopenmp", "x.c")
    assert (done.returncode, done.stderr) == (
        1,
        "gompclang: error: GOMPY_CLANG: no such compiler: '/nonexistent/clang'\n",
    )
    monkeypatch.setenv("PATH", str(commands.bin))
    monkeypatch.delenv("GOMPY_CLANG", raising=False)
    with pytest.raises(clang.DriverError, match="install clang-16 and libomp-16-dev, or set GOMPY_CLANG"):
        clang.chosen(clang.C, True)


def test_which_lines_offload() -> None:
    assert clang.offloads(["-fopenmp", "a.c"]) and clang.offloads(["-fno-openmp", "-fopenmp"])
    assert not clang.offloads(["a.c"]) and not clang.offloads(["-fopenmp", "-fno-openmp"])
    assert not clang.offloads(["-fopenmp", "-static"]) and not clang.offloads(["-fopenmp=libgomp"])
    assert clang.compile_words(["-fopenmp-targets=x86_64"]) == []


def test_words_for_gpus() -> None:
    """What does without CUDA, and an architecture where the line names none; who names a CUDA gets clang's own way."""
    words = clang.compile_words(["-fopenmp-targets=nvptx64"])
    assert "-foffload-lto" in words and words[-2:] == [f"-Xopenmp-target={clang.GPU}", "-march=sm_70"]
    assert "-march=sm_70" not in clang.compile_words(["--offload-arch=sm_80"])
    assert clang.compile_words(["-fopenmp-targets=nvptx64", "--cuda-path=/usr/local/cuda"]) == []


@needs_clang
@has_all
def test_showme(commands: Tools) -> None:
    text = commands.ok("gompclang", "--showme", "-fopenmp", "x.c")
    assert text.startswith("clang") and f"-fopenmp-targets={TARGET}" in text and f"-Wl,-rpath,{LIBDIR}" in text
    assert commands.ok("gompclang", "--showme:libdirs") == f"{LIBDIR}\n"
    assert os.path.exists(commands.ok("gompclang", "--showme:link").split("-B")[1].split()[0])
