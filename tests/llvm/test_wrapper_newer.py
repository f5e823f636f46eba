"""What LLVM 19's and 22's linker wrappers have beyond 16's, and jobs, traces and remarks: by ours, on real objects."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvm_tools import NATIVE, TARGET, environment, needs_clang

from gompy.clang_link import jobs
from gompy.objects.clang_images import read_binaries, read_clang
from gompy.objects.view import ElfView

WRAPPER = NATIVE / "clang" / "clang-linker-wrapper"
STOCK = Path("/usr/lib/llvm-16/bin/clang-linker-wrapper")
MAIN = """
#include <stdio.h>
void more (int *);
int main (void)
{
  int x = 40;
  #pragma omp target map(x)
  x++;
  more (&x);
  printf ("%d\\n", x);
}
"""
MORE = """
void more (int *p)
{
  #pragma omp target map(p[:1])
  p[0]++;
}
"""
TOLD = """
static int square (int x) { return x * x; }
int main (void)
{
  int x = 5;
  #pragma omp target map(x)
  x = square (x);
  return x - 25;
}
"""
GPU = "nvptx64-nvidia-cuda"
COMPILE = ("clang-16", "-O1", "-fopenmp", "-c")


def ran(folder: Path, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    env = environment(GOMPY_CLANG="clang-16", GOMPY_STATS="1", LC_ALL="C", **more)
    return subprocess.run([str(w) for w in words], cwd=folder, env=env, capture_output=True, text=True, timeout=200)


def good(folder: Path, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The same, which must succeed."""
    done = ran(folder, *words, **more)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Objects: for the emulated MIC, and with LLVM IR for two GPUs."""
    made = tmp_path_factory.mktemp("newer")
    for name, text in (("main", MAIN), ("more", MORE)):
        (made / f"{name}.c").write_text(text)
        good(made, *COMPILE, f"-fopenmp-targets={TARGET}", f"{name}.c")
    gpu = ("-foffload-lto", "--offload-arch=sm_70,sm_80", "--cuda-path=/nonexistent", "-nogpulib")
    good(made, *COMPILE, *gpu, "more.c", "-o", "gpu.o")
    return made


def wrapped(folder: Path, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Our wrapper, with a linker that only succeeds unless another is named."""
    return good(folder, WRAPPER, "--linker-path=true", *words, **more)


def program(folder: Path, wrapper: Path, *objects: str) -> Path:
    """An executable, linked by way of a wrapper."""
    good(folder, "clang-16", "-fopenmp", f"-fopenmp-targets={TARGET}", f"-B{wrapper.parent}", *objects, "-o", "prog")
    return folder / "prog"


@pytest.mark.slow(sample=1)
@needs_clang
@pytest.mark.parametrize("last", [WRAPPER, STOCK])
@pytest.mark.parametrize("stock", [False, True])
def test_a_relocatable_object(folder: Path, last: Path, stock: bool) -> None:
    """Its image is registered, and no later link takes it again: by either wrapper, with either library.

    LLVM 19's and 22's own wrapper takes its relocatable objects' images a second time: it asks for the section's type.
    """
    good(
        folder, WRAPPER, "--host-triple=x86_64-pc-linux-gnu", "--relocatable", "--linker-path=ld", "more.o", "-o", "r.o"
    )
    elf = ElfView((folder / "r.o").read_bytes(), "r.o")
    names = {section.name for section in elf.sections}
    assert ".llvm.offloading.relocatable" in names and ".llvm.offloading" not in names
    assert "omp_offloading_entries" not in names and any(name.startswith("omp_offloading_entries_") for name in names)
    prog = program(folder, last, "main.o", "r.o")
    tables = read_clang(ElfView(prog.read_bytes(), "prog"))
    assert len(tables.images) == 2 and all(image.lacking(tables.entries) == [] for image in tables.images)
    library = {"LD_LIBRARY_PATH": "/usr/lib/llvm-16/lib"} if stock else {}
    done = good(folder, prog, **library)
    assert done.stdout == "42\n"
    assert stock or "regions: 2 on device 0 (intelmic), 0 on the host" in done.stderr


@pytest.mark.slow
@needs_clang
def test_r_of_the_line_is_relocatable(folder: Path) -> None:
    """clang -r: what the object registers, the program does not register again."""
    good(folder, WRAPPER, "--linker-path=ld", "--", "-r", "main.o", "more.o", "-o", "all.o")
    assert good(folder, program(folder, WRAPPER, "all.o")).stdout == "42\n"


@pytest.mark.slow(sample=1)
@needs_clang
@pytest.mark.parametrize("jobs_", ["2", "jobserver"])
def test_jobs_make_the_same(folder: Path, tmp_path: Path, jobs_: str) -> None:
    """The object that registers is the same, byte by byte, and the commands are shown in the same order."""
    shown = []
    for number, words in enumerate(([], [f"--wrapper-jobs={jobs_}"])):
        (tmp_path / str(number)).mkdir()
        place = tmp_path / str(number)
        said = wrapped(place, *words, "--save-temps", "--wrapper-verbose", folder / "gpu.o", "-o", "p").stderr
        tools = [line.split('"')[1] for line in said.splitlines() if line.startswith(' "')]
        shown.append((tools, (place / "p.image.wrapper.o").read_bytes()))
    assert shown[0] == shown[1] and len(shown[0][0]) == 8


@needs_clang
def test_jobs_leave_nothing_and_tell_errors(folder: Path, tmp_path: Path) -> None:
    """One target's error is the link's, and no file is left."""
    words = ("--linker-path=true", "--wrapper-jobs=2", "--ptxas-arg=-v", folder / "gpu.o", "-o", "p")
    done = ran(folder, WRAPPER, *words, TMPDIR=str(tmp_path))
    assert done.returncode == 1 and done.stderr.startswith(
        "clang-linker-wrapper: fatal error: --ptxas-arg=-v: no ptxas"
    )
    assert not list(tmp_path.iterdir())


def test_tokens_of_make(tmp_path: Path) -> None:
    """A FIFO or a pipe; a token that is taken is not there any more; nobody's descriptor stops blocking."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    keep = os.open(fifo, os.O_RDWR)
    os.write(keep, b"+")
    read, write = os.pipe()
    os.write(write, b"-")
    for flags, token in ((f"-j --jobserver-auth=fifo:{fifo}", b"+"), (f"k -j2 --jobserver-fds={read},{write}", b"-")):
        tokens = jobs.Tokens(flags)
        assert tokens.take() == token and tokens.take() == b""
        tokens.give(token)
        assert tokens.take() == token
    assert os.get_blocking(read) and os.get_blocking(keep)
    for flags in ("", "-j", "--jobserver-auth=99,98", "--jobserver-auth=x", "--jobserver-auth=fifo:/nonexistent"):
        assert jobs.Tokens(flags).take() == b""


@given(st.text(max_size=20))
def test_no_makeflags_crash(text: str) -> None:
    assert jobs.Tokens(f"--jobserver-auth={text}").take() == b"" or "," in text


@pytest.mark.slow
@needs_clang
def test_time_trace(folder: Path, tmp_path: Path) -> None:
    """Chrome's form; steps of other processes are in it; short ones are left out."""
    words = ("--wrapper-jobs=2", folder / "gpu.o", "-o", tmp_path / "p", f"--wrapper-time-trace={tmp_path}/t.json")
    wrapped(folder, *words, "--wrapper-time-trace-granularity=0")
    trace = json.loads((tmp_path / "t.json").read_text())
    steps = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    links = [event for event in steps if event["name"] == "Link device input"]
    assert sorted(event["args"]["detail"] for event in links) == [f"{GPU} sm_70", f"{GPU} sm_80"]
    assert len({event["pid"] for event in steps}) == 3 and trace["beginningOfTime"] > 0
    inner = [e for e in steps if e["pid"] == links[0]["pid"] and e is not links[0]]
    end = links[0]["ts"] + links[0]["dur"]
    assert inner and all(links[0]["ts"] <= e["ts"] and e["ts"] + e["dur"] <= end + 1 for e in inner)
    wrapped(folder, *words, "--wrapper-time-trace-granularity=3600000000")
    assert [e["ph"] for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"]] == ["M"]
    done = ran(folder, WRAPPER, "--linker-path=true", *words, "--wrapper-time-trace-granularity=x")
    assert "--wrapper-time-trace-granularity=x: it must be a number of microseconds" in done.stderr


@pytest.mark.slow
@needs_clang
@pytest.mark.parametrize(("target", "kind"), [(TARGET, "-analysis=asm-printer"), (GPU, "=inline")])
@pytest.mark.parametrize("form", ["-Rpass{}", "-Wl,--pass-remarks{}"])
def test_remarks(tmp_path: Path, bin_folder: Path, target: str, kind: str, form: str) -> None:
    """clang hands -Rpass on: what LLVM does to the image at its link is told."""
    (tmp_path / "told.c").write_text(TOLD)
    words = ("-fopenmp", f"-fopenmp-targets={target}", "-foffload-lto")
    compiler = bin_folder / "gompclang"
    good(tmp_path, compiler, "-O1", "-fno-inline", "-g", *words, "-c", "told.c")
    told = good(tmp_path, compiler, "-O2", *words, form.format(kind), "told.o", "-o", "told")
    if target == TARGET and Path("/usr/lib/llvm-16/bin/ld.lld").exists():  # lld's LTO tells it on standard output
        assert "instructions in function" in told.stdout
    else:
        assert "remark: " in told.stderr and ("instructions in" if target == TARGET else "inlined into") in told.stderr
    silent = good(tmp_path, compiler, "-O2", *words, "told.o", "-o", "told")
    assert (silent.stdout, silent.stderr) == ("", "")


@needs_clang
def test_offload_opt(tmp_path: Path, bin_folder: Path) -> None:
    """It gets to LLVM, which refuses what it does not know."""
    (tmp_path / "told.c").write_text(TOLD)
    words = ("-O1", "-fopenmp", "-foffload-lto", "told.c", "-o", "told", "-Wl,--offload-opt=-no-such-option")
    done = ran(tmp_path, bin_folder / "gompclang", *words)
    assert done.returncode and "-no-such-option" in done.stderr


@pytest.mark.slow
@needs_clang
def test_builtin_bitcode(tmp_path: Path, bin_folder: Path) -> None:
    """A function of the library is linked in, and is the image's own; another target's is left out."""
    (tmp_path / "twice.c").write_text("int twice (int x) { return 2 * x; }\nint thrice (int x) { return 3 * x; }\n")
    (tmp_path / "a.c").write_text(
        "int twice (int);\nint main (void)\n{\n  int x = 21;\n  #pragma omp target map(x)\n  x = twice (x);\n"
        '  __builtin_printf ("%d\\n", x);\n}\n'
    )
    good(tmp_path, "clang-16", "-O1", "-fPIC", "-emit-llvm", "-c", "twice.c")
    words = ("-O1", "-fopenmp", "-foffload-lto", "a.c", "-o", "a", "-Wl,--defsym=twice=0")
    compiled = (bin_folder / "gompclang", *words)
    good(tmp_path, *compiled, f"-Wl,--builtin-bitcode={TARGET}=twice.bc")
    assert good(tmp_path, tmp_path / "a").stdout == "42\n"
    (image,) = read_clang(ElfView((tmp_path / "a").read_bytes(), "a")).images
    assert not {"twice", "thrice"} & {*(image.symbols or {})}
    done = ran(tmp_path, *compiled, "-Wl,--builtin-bitcode=amdgcn-amd-amdhsa=twice.bc")
    assert done.returncode and "twice" in done.stderr


@needs_clang
def test_override_image(folder: Path, tmp_path: Path) -> None:
    """The image that is given is the program's; no link of one is run."""
    said = wrapped(tmp_path, "--save-temps", folder / "main.o", folder / "more.o", "-o", "p")
    assert said.stderr == ""
    (image,) = tmp_path.glob("p.x86_64*.img")
    link = ("-o", "q", f"--override-image=openmp={image}", "--wrapper-verbose")
    said = wrapped(tmp_path, "--save-temps", folder / "main.o", folder / "more.o", *link)
    assert [line.split('"')[1].rpartition("/")[2] for line in said.stderr.splitlines()] == ["as", "true"]
    assert (tmp_path / "p.image.wrapper.o").read_bytes() == (tmp_path / "q.image.wrapper.o").read_bytes()
    done = ran(tmp_path, WRAPPER, "--linker-path=true", "--override-image=openmp=none", folder / "main.o")
    assert "cannot open none: No such file" in done.stderr
    done = ran(tmp_path, WRAPPER, "--linker-path=true", f"--override-image=openmp={folder}/main.c", folder / "main.o")
    assert "is no image: neither ELF nor LLVM IR, nor PTX" in done.stderr


@needs_clang
def test_emit_fatbin_only(folder: Path, tmp_path: Path) -> None:
    """For OpenMP an OffloadBinary for each image, as LLVM 22's wrapper writes it; no linker is needed."""
    good(tmp_path, WRAPPER, "--emit-fatbin-only", folder / "main.o", folder / "more.o", "-o", "images")
    found = read_binaries((tmp_path / "images").read_bytes(), "images").images
    assert [image.binary.triple for image in found] == [TARGET]
    assert {name for name in found[0].symbols or {} if name.startswith("__omp_offloading")}


@needs_clang
def test_whole_archive_and_should_extract(folder: Path, tmp_path: Path) -> None:
    """--whole-archive takes all members; an architecture that no object has is taken where it is asked for."""
    good(tmp_path, "ar", "rcs", "libmore.a", folder / "gpu.o")

    def targets(*words: str) -> list[str]:
        said = wrapped(tmp_path, "--dry-run", *words, "-o", "p").stderr
        return sorted({word[7:] for word in said.split() if word.startswith("-march=")})

    assert targets("-L.", "-lmore") == []
    assert targets("--whole-archive", "-L.", "-lmore", "--no-whole-archive") == ["sm_70", "sm_80"]
    assert targets("--no-whole-archive", "libmore.a") == []
    assert targets("--should-extract=sm_80", "libmore.a") == ["sm_80"]


@pytest.mark.slow
@needs_clang
def test_members_for_any_architecture(tmp_path: Path) -> None:
    """A member for a processor is taken for each setting of it, one that is generic for each processor."""
    (tmp_path / "need.c").write_text("int given (void); int need (void) { return given (); }\n")
    (tmp_path / "give.c").write_text("int given (void) { return 1; }\n")
    good(tmp_path, "clang-16", "-c", "need.c", "give.c")

    def packed(name: str, *archs: str) -> str:
        images = [f"--image=file={name}.o,kind=openmp,triple=amdgcn-amd-amdhsa,arch={arch}" for arch in archs]
        good(tmp_path, "/usr/lib/llvm-16/bin/clang-offload-packager", "-o", "packed", *images)
        host = ("-cc1", "-triple", "x86_64-linux-gnu", "-emit-obj", "-fembed-offload-object=packed", "-x", "c")
        good(tmp_path, "clang-16", *host, "/dev/null", "-o", f"{name}-{archs[0]}.o")
        return f"{name}-{archs[0]}.o"

    needs = packed("need", "gfx90a:xnack+", "gfx90a:xnack-", "gfx908")
    for arch, count in (("gfx90a", 2), ("generic", 3), ("gfx906", 0)):
        good(tmp_path, "ar", "rcs", f"lib{arch}.a", packed("give", arch))
        shown = wrapped(tmp_path, "--dry-run", needs, f"lib{arch}.a", "-o", "p").stderr.splitlines()
        links = [line for line in shown if "-mcpu=" in line]
        assert len(links) == 3 and sum(len(line.partition("undefined")[2].split()) == 2 for line in links) == count


@needs_clang
def test_compress_is_for_hip(tmp_path: Path) -> None:
    """clang-offload-bundler gets it."""
    (tmp_path / "code.bin").write_bytes(b"\x7fELF")
    image = "--image=file=code.bin,kind=hip,triple=amdgcn-amd-amdhsa,arch=gfx908"
    good(tmp_path, "/usr/lib/llvm-16/bin/clang-offload-packager", "-o", "packed", image)
    said = wrapped(tmp_path, "--dry-run", "--compress", "--compression-level=6", "packed").stderr
    assert "-compress -compression-level=6" in said


@needs_clang
def test_words_of_the_linkers_before_the_bar(folder: Path) -> None:
    """LLVM's wrapper knows -o, -L, -l and --sysroot, too."""
    words = ("--dry-run", "-o", "p", "-L/nowhere", "--library-path=/usr/lib", "--", "main.o", "more.o")
    last = wrapped(folder, *words).stderr.splitlines()[-1]
    assert last.startswith(' "true" -o p /') and last.endswith(" -L/nowhere --library-path=/usr/lib main.o more.o")
    assert ran(folder, WRAPPER, "--version").stdout.startswith("clang-linker-wrapper of gompy, for clang 14,")
