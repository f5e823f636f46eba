"""Device code of several files: gompy cuda cc -rdc=true, -dc, -dlink."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from driver_tools import needs
from test_cuda_cc import PROGRAMS, call, result

from gompy.cudart import clang, options
from gompy.driver.errors import DriverError

FOLDER = PROGRAMS / "relocatable"
SAID = (0, "0 wrong, sum 100461, 128 calls, 100 before\n", "")

pytestmark = [has_driver]


def made(folder: Path, *words: str) -> None:
    """gompy cuda cc, without a word."""
    done = call(folder, "cc", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_cuda_compiler
def test_two_files(tmp_path: Path) -> None:
    made(tmp_path, "-rdc=true", str(FOLDER / "main.cu"), str(FOLDER / "parts.cu"), "-o", "prog")
    assert result(tmp_path / "prog") == SAID


@needs_cuda_compiler
@needs("g++")
def test_objects_by_another_linker(tmp_path: Path) -> None:
    """As makefiles for nvcc have it: -dc, -dlink, and the host's compiler links."""
    for name in ("main", "parts"):
        made(tmp_path, "-dc", str(FOLDER / f"{name}.cu"), "-o", f"{name}.o")
    made(tmp_path, "-dlink", "main.o", "parts.o", "-o", "device.o")
    words = ["main.o", "parts.o", "device.o", "-o", "prog", f"-L{clang.FOLDER}", "-lcudart"]
    subprocess.run(["g++", *words], cwd=tmp_path, check=True, timeout=60)
    assert result(tmp_path / "prog") == SAID


@needs_cuda_compiler
@needs("g++")
def test_library_has_its_own(tmp_path: Path) -> None:
    """What a program and its library call alike are two things."""
    (tmp_path / "lib.cu").write_text(
        "__device__ int value = 3;\n__device__ int get () { return value; }\n"
        "__global__ void ask_lib (int *to) { *to = get (); }\n"
        "int lib () { int *p, v; cudaMalloc (&p, 4); ask_lib<<<1, 1>>> (p); cudaMemcpy (&v, p, 4, cudaMemcpyDefault);"
        " return v; }\n"
    )
    (tmp_path / "get.cu").write_text("__device__ int get () { return 40; }\n")
    (tmp_path / "prog.cu").write_text(
        "#include <cstdio>\nint lib (); __device__ int get ();\n__global__ void ask (int *to) { *to = get (); }\n"
        "int main () { int *p, v; cudaMalloc (&p, 4); ask<<<1, 1>>> (p); cudaMemcpy (&v, p, 4, cudaMemcpyDefault);"
        ' std::printf ("%d\\n", v + lib ()); }\n'
    )
    hidden = ("-Xcompiler", "-fvisibility=hidden")
    made(tmp_path, "-rdc=true", "--shared", "-fPIC", "lib.cu", "-o", "libone.so")
    made(tmp_path, "-rdc=true", *hidden, "prog.cu", "get.cu", "-L.", "-lone", "-Wl,-rpath,$ORIGIN", "-o", "prog")
    assert result(tmp_path / "prog") == (0, "43\n", "")


@needs_cuda_compiler
def test_usual_options(tmp_path: Path) -> None:
    """Lines, dependencies and -flto: the host's code goes by way of assembly."""
    made(tmp_path, "-g", "-flto", "-dc", "-MD", str(FOLDER / "parts.cu"), "-o", "parts.o")
    assert (tmp_path / "parts.d").read_text().startswith("parts.o: ")
    made(tmp_path, "-g", "-dc", "-MMD", "-MF", "x.d", "-MT", "x", str(FOLDER / "main.cu"), "-o", "main.o")
    assert (tmp_path / "x.d").read_text().startswith("x: ")
    made(tmp_path, "-rdc=true", "parts.o", "main.o", "-o", "prog")
    assert result(tmp_path / "prog") == SAID


LACKING = (
    "#include <cstdio>\n__device__ int absent (int);\n__global__ void k (int *p) { *p = absent (*p); }\n"
    "int main () { k<<<1, 1>>> (0); std::puts (cudaGetErrorName (cudaGetLastError ())); }\n"
)
TOLD = "gompy cuda cc: error: {}: in kernel '_Z1kPi': undefined reference to '_Z6absenti'\n"


@needs_cuda_compiler
@pytest.mark.parametrize("way", ["source", "object", "device link", "archive"])
def test_missing_function_is_told_by_the_link(tmp_path: Path, way: str) -> None:
    (tmp_path / "one.cu").write_text(LACKING)
    words = {"source": ["-rdc=true", "one.cu"], "device link": ["-dlink", "one.o"], "archive": ["-dlink", "libone.a"]}
    who = {"source": "one.cu", "archive": "libone.a(one.o)"}.get(way, "one.o")
    if way != "source":
        made(tmp_path, "-dc", "one.cu", "-o", "one.o")
        subprocess.run(["ar", "rc", "libone.a", "one.o"], cwd=tmp_path, check=True, timeout=60)
    done = call(tmp_path, "cc", *words.get(way, ["-rdc=true", "one.o"]), "-o", "prog")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", TOLD.format(who))
    assert not (tmp_path / "prog").exists()


@needs_cuda_compiler
def test_archives_have_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text(LACKING)
    (tmp_path / "two.cu").write_text("__device__ int absent (int n) { return n; }\n__device__ int other ();\n")
    for name in ("one", "two"):
        made(tmp_path, "-dc", f"{name}.cu", "-o", f"{name}.o")
    subprocess.run(["ar", "rc", "libtwo.a", "two.o"], cwd=tmp_path, check=True, timeout=60)
    made(tmp_path, "-dlink", "one.o", "-L.", "-ltwo", "-o", "device.o")
    made(tmp_path, "-dlink", "one.o", "libtwo.a", "-o", "device.o")


@needs_cuda_compiler
@needs("g++")
def test_missing_function_is_named_at_run_time(tmp_path: Path) -> None:
    """By the driver, where another linker made the program."""
    (tmp_path / "one.cu").write_text(LACKING)
    made(tmp_path, "-dc", "one.cu", "-o", "one.o")
    words = ["one.o", "-o", "prog", f"-L{clang.FOLDER}", "-lcudart"]
    subprocess.run(["g++", *words], cwd=tmp_path, check=True, timeout=60)
    status, printed, said = result(tmp_path / "prog")
    assert (status, printed) == (0, "cudaErrorSharedObjectSymbolNotFound\n")
    assert said.startswith("libcudart (gompy): error: one.cu.ptx:")
    assert said.count("\n") == 1
    assert "undefined reference to '_Z6absenti'" in said


def test_words_of_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.cu").touch()
    name = str(tmp_path / "a.cu")
    assert options.parse(["-rdc", "true", name]).relocatable
    assert options.parse(["--relocatable-device-code=true", name]).relocatable
    assert not options.parse(["-rdc=false", name]).relocatable
    line = options.parse(["-dc", name])
    assert line.relocatable and line.compile_only
    with pytest.raises(DriverError, match="neither true nor false"):
        options.parse(["-rdc=maybe", name])


def test_ids_differ_by_file() -> None:
    assert clang.relocatable_words("a.cu", "a.o") != clang.relocatable_words("b/a.cu", "b/a.o")
    assert clang.relocatable_words("a.cu", "a.o") == clang.relocatable_words("./a.cu", "a.o")
