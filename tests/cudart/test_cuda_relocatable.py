"""Device code of several files: gompy cuda cc -rdc=true, -dc, -dlink."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from driver_tools import needs
from test_cuda_cc import PROGRAMS, call, result

from gompy.cudart import clang, missing, options
from gompy.driver.errors import DriverError
from gompy.objects import fatbin

FOLDER = PROGRAMS / "relocatable"
SAID = (0, "0 wrong, sum 100461, 128 calls, 100 before\n", "")

pytestmark = [has_driver]


def made(folder: Path, *words: str) -> None:
    """gompy cuda cc, without a word."""
    done = call(folder, "cc", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@needs_cuda_compiler
def test_two_files(tmp_path: Path) -> None:
    made(tmp_path, "-rdc=true", str(FOLDER / "main.cu"), str(FOLDER / "parts.cu"), "-o", "prog")
    assert result(tmp_path / "prog") == SAID


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow(sample=1)
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


@pytest.mark.slow
@needs_cuda_compiler
def test_archives_have_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text(LACKING)
    (tmp_path / "two.cu").write_text("__device__ int absent (int n) { return n; }\n__device__ int other ();\n")
    for name in ("one", "two"):
        made(tmp_path, "-dc", f"{name}.cu", "-o", f"{name}.o")
    subprocess.run(["ar", "rc", "libtwo.a", "two.o"], cwd=tmp_path, check=True, timeout=60)
    made(tmp_path, "-dlink", "one.o", "-L.", "-ltwo", "-o", "device.o")
    made(tmp_path, "-dlink", "one.o", "libtwo.a", "-o", "device.o")


@pytest.mark.slow
@needs_cuda_compiler
@pytest.mark.parametrize("word", ["-ltwo", "-l:libtwo.a"])
def test_archives_are_looked_for_where_the_linker_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    (tmp_path / "one.cu").write_text(LACKING)
    (tmp_path / "two.cu").write_text("__device__ int absent (int n) { return n; }\n")
    for name in ("one", "two"):
        made(tmp_path, "-dc", f"{name}.cu", "-o", f"{name}.o")
    (tmp_path / "usual").mkdir()
    subprocess.run(["ar", "rc", "usual/libtwo.a", "two.o"], cwd=tmp_path, check=True, timeout=60)
    assert call(tmp_path, "cc", "-dlink", "one.o", word, "-o", "device.o").returncode == 1
    monkeypatch.setenv("LIBRARY_PATH", str(tmp_path / "usual"))
    made(tmp_path, "-dlink", "one.o", word, "-o", "device.o")


def test_folders_of_the_linker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """LIBRARY_PATH's and the compiler's own; of each library the first that is there, as the linker takes it."""
    compiler = tmp_path / "clang"
    compiler.write_text(f"#!/bin/sh\nprintf 'programs: =/p\\nlibraries: ={tmp_path}/c:{tmp_path}/d\\n'\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("LIBRARY_PATH", f"{tmp_path}/e:")
    folders = clang.library_folders(str(compiler))
    assert folders == [f"{tmp_path}/{name}" for name in "ecd"]
    for name in "acd":
        (tmp_path / name).mkdir()
    for name in ("a/libone.a", "c/libone.a", "d/libtwo.a"):
        (tmp_path / name).touch()
    words = ["-L", str(tmp_path / "a"), "-lone", "-ltwo", "-lthree"]
    assert missing.archives(words, lambda: folders) == [f"{tmp_path}/a/libone.a", f"{tmp_path}/d/libtwo.a"]


@pytest.mark.slow
@needs_cuda_compiler
def test_compressed_code_may_have_what_is_missing(tmp_path: Path) -> None:
    """As nvcc writes it.  Nobody here can look into it, so nothing is called missing."""
    (tmp_path / "one.cu").write_text(LACKING)
    made(tmp_path, "-dc", "one.cu", "-o", "one.o")
    container = bytearray(fatbin.pack([(70, b"what nobody reads")]))
    flags = fatbin.HEAD.size + fatbin.FILE.size - 24
    assert container[flags : flags + 2] == fatbin.FLAGS.to_bytes(2, "little")
    container[flags + 1] |= 0x20
    words = ", ".join(str(byte) for byte in container)
    (tmp_path / "two.s").write_text(f'.section .nv_fatbin, "a"\n.p2align 3\n.byte {words}\n')
    made(tmp_path, "-c", "two.s", "-o", "two.o")
    made(tmp_path, "-dlink", "one.o", "two.o", "-o", "device.o")


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
