"""libnvrtc.so.12 through ctypes, and a program that uses it with the driver."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path

import pytest
from cuda_tools import SETTINGS, has_driver, needs_cuda_compiler
from driver_tools import needs

from gompy.abi import nvrtc
from gompy.cudart import clang
from gompy.driver import paths
from gompy.native import generate_nvrtc

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(clang.FOLDER) / nvrtc.SONAME
RESULTS = {number: name.removeprefix("NVRTC_ERROR_") for name, number in nvrtc.RESULTS.items()}
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the compiled parts are not built")


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own; temporary files where the test sees them."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))


class Program:
    """A program of the library; each call's result by its name."""

    def __init__(self, source: str, name: str | None = None, **headers: str) -> None:
        self.library = ctypes.CDLL(str(LIBRARY))
        self.handle = c_void_p()
        texts = (c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        names = (c_char_p * len(headers))(*(name.encode() for name in headers))
        words = (source.encode(), name.encode() if name else None, len(headers), texts, names)
        assert self.library.nvrtcCreateProgram(byref(self.handle), *words) == 0

    def call(self, name: str, *words: object) -> str:
        return RESULTS[getattr(self.library, f"nvrtc{name}")(self.handle, *words)]

    def compile(self, *options: str) -> str:
        return self.call(
            "CompileProgram", len(options), (c_char_p * len(options))(*(word.encode() for word in options))
        )

    def text(self, what: str) -> str:
        """PTX, CUBIN or ProgramLog."""
        size = c_size_t()
        assert self.call(f"Get{what}Size", byref(size)) == "NVRTC_SUCCESS"
        to = ctypes.create_string_buffer(size.value)
        assert self.call(f"Get{what}", to) == "NVRTC_SUCCESS"
        assert to.raw[-1] == 0
        return to.raw[:-1].decode()

    def lowered(self, expression: str) -> str:
        name = c_char_p()
        result = self.call("GetLoweredName", expression.encode(), byref(name))
        return name.value.decode() if name.value else result

    def destroy(self) -> str:
        return RESULTS[self.library.nvrtcDestroyProgram(byref(self.handle))]


OUTPUT = """NVRTC_SUCCESS
machine code: 0
add<float> = _Z3addIfEvPT_S0_: 11 12 13 14
scale<3, N::S> = _Z5scaleILi3EN1N1SEEvPT0_: 33 36 39 42
&hidden = _ZL6hiddenPf: 66 72 78 84
plain = plain: 65 71 77 83
default_program:1:24: error: use of undeclared identifier 'g'
__global__ void f () { g (); }
                       ^
1 error generated when compiling for sm_70.
NVRTC_ERROR_COMPILATION
NVRTC_ERROR_INVALID_PROGRAM
"""


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
@needs("g++")
def test_program(tmp_path: Path) -> None:
    """A header in memory, lowered names, launches by the driver, a log; the second time from the cache."""
    program = tmp_path / "prog"
    folders = [f"-I{clang.INCLUDE}", f"-L{clang.FOLDER}", f"-L{paths.CUDALIBDIR}"]
    source = ROOT / "tests" / "programs" / "nvrtc.cpp"
    subprocess.run(["g++", "-Wall", str(source), *folders, "-lnvrtc", "-lcuda", "-o", str(program)], check=True)
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    command = [sys.executable, "-m", "gompy.cli", "cuda", "run", "--", str(program)]
    for _ in range(2):
        done = subprocess.run(command, env=kept, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
        # Later clangs show line numbers beside the source.
        lines = [re.sub(r"^\d* ?\| *", "", line.strip()) for line in done.stdout.splitlines()]
        wanted = [line.strip() for line in OUTPUT.splitlines()]
        assert lines == wanted
        assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "cache" / "gompy" / "nvrtc").iterdir())) == 1
    assert not list((tmp_path / "temporary").glob("gompy-nvrtc-*"))


def test_answers_without_a_program() -> None:
    """The version, architectures, names of results, handles that are none."""
    library = ctypes.CDLL(str(LIBRARY))
    major, minor, count = c_int(), c_int(), c_int()
    assert library.nvrtcVersion(byref(major), byref(minor)) == 0
    assert (major.value, minor.value) == nvrtc.VERSION
    assert library.nvrtcGetNumSupportedArchs(byref(count)) == 0
    numbers = (c_int * count.value)()
    assert library.nvrtcGetSupportedArchs(numbers) == 0
    assert tuple(numbers) == nvrtc.ARCHITECTURES
    library.nvrtcGetErrorString.restype = c_char_p
    names = {library.nvrtcGetErrorString(number).decode(): number for number in nvrtc.RESULTS.values()}
    assert names == nvrtc.RESULTS
    assert library.nvrtcGetErrorString(77) == b"NVRTC_ERROR unknown"
    assert RESULTS[library.nvrtcCreateProgram(None, b"", None, 0, None, None)] == "INVALID_INPUT"
    assert RESULTS[library.nvrtcVersion(None, None)] == "INVALID_INPUT"
    assert RESULTS[library.nvrtcCompileProgram(c_void_p(64), 0, None)] == "INVALID_PROGRAM"


def test_errors_before_clang() -> None:
    """Options that are none; names asked for in the wrong order; a program that is gone."""
    program = Program("__global__ void f () {}")
    assert (program.text("ProgramLog"), program.lowered("f")) == ("", "NO_LOWERED_NAMES_BEFORE_COMPILATION")
    assert program.call("GetPTXSize", byref(c_size_t())) == "INVALID_PROGRAM"
    assert program.compile("--no-such-option") == "INVALID_OPTION"
    assert program.text("ProgramLog") == "nvrtc (gompy): error: unrecognized option '--no-such-option' found\n"
    assert program.call("AddNameExpression", b"f") == "NO_NAME_EXPRESSIONS_AFTER_COMPILATION"
    assert program.lowered("f") == "NAME_EXPRESSION_NOT_VALID"
    assert program.compile("-rdc=true") == "INVALID_OPTION"
    log = "nvrtc (gompy): error: '-rdc=true' is not implemented by gompy: device code is not linked\n"
    assert program.text("ProgramLog") == log
    assert (program.destroy(), program.destroy()) == ("NVRTC_SUCCESS", "INVALID_PROGRAM")


def test_not_implemented(capfd: pytest.CaptureFixture[str]) -> None:
    """What is not there says so."""
    program = Program("")
    assert program.call("GetNVVMSize", byref(c_size_t())) == "INTERNAL_ERROR"
    line = "libnvrtc (gompy): error: nvrtcGetNVVMSize is not implemented (NVRTC_ERROR_INTERNAL_ERROR)\n"
    assert capfd.readouterr().err == line


@pytest.mark.slow
@needs_cuda_compiler
def test_machine_code_is_ptx() -> None:
    """For sm_70 the CUBIN is the PTX, for compute_70 it has no bytes; options change the code."""
    program = Program('extern "C" __global__ void f (float *p) { *p = p[1] / p[2] + p[3] * p[4] + LESS; }')
    assert program.compile("-arch=sm_80", "-D", "LESS=3", "--fmad=false") == "NVRTC_SUCCESS"
    ptx = program.text("PTX")
    assert program.text("CUBIN") == ptx and ".target sm_80" in ptx and "fma.rn.f32" not in ptx
    assert program.compile("--gpu-architecture", "compute_70", "-DLESS=4", "-use_fast_math") == "NVRTC_SUCCESS"
    size = c_size_t(9)
    assert program.call("GetCUBINSize", byref(size)) == "NVRTC_SUCCESS" and size.value == 0
    assert ".target sm_70" in program.text("PTX") and "div.approx" in program.text("PTX")
    assert program.call("GetCUBIN", ctypes.create_string_buffer(9)) == "INVALID_PROGRAM"


@pytest.mark.slow
@needs_cuda_compiler
def test_headers(tmp_path: Path) -> None:
    """In memory first, also above their folder; then -I, whose changes are noticed; the source's folder."""
    (tmp_path / "disk.h").write_text("#define DISK 5\n")
    (tmp_path / "beside.h").write_text("#define BESIDE 7\n")
    text = (
        '#include "beside.h"\n#include <disk.h>\n#include <in/memory.h>\n__device__ int sum = DISK + MEMORY + BESIDE;\n'
    )
    headers = {"in/memory.h": '#include "../../up.h"\n', "../up.h": "#define MEMORY 30\n"}
    program = Program(text, str(tmp_path / "named.cu"), **headers)
    options = [f"-I{tmp_path}", "-arch=sm_70"]
    assert program.call("AddNameExpression", b"&sum") == "NVRTC_SUCCESS"
    assert program.compile(*options) == "NVRTC_SUCCESS", program.text("ProgramLog")
    assert "sum = 42;" in program.text("PTX") and program.lowered("&sum") == "sum"
    (tmp_path / "disk.h").write_text("#define DISK 50\n")
    assert program.compile(*options) == "NVRTC_SUCCESS"
    assert "sum = 87;" in program.text("PTX")
    program = Program("#include </absolute.h>\n", None, **{"/absolute.h": ""})
    assert program.compile() == "COMPILATION"
    assert program.text("ProgramLog").startswith("nvrtc (gompy): error: header '/absolute.h': names outside")


@pytest.mark.slow
@needs_cuda_compiler
def test_log() -> None:
    """Warnings of a program that is compiled, the second time, too; an expression that names nothing."""
    for _ in range(2):
        program = Program("#warning read this\n", "dir/warn.cu")
        assert program.compile() == "NVRTC_SUCCESS"
        assert program.text("ProgramLog").startswith("dir/warn.cu:1:2: warning: read this")
    assert program.compile("-w") == "NVRTC_SUCCESS" and program.text("ProgramLog") == ""
    program = Program("")
    program.call("AddNameExpression", b"nothing<int>")
    assert program.compile() == "COMPILATION"
    assert program.text("ProgramLog").startswith("name expressions:1:")


@pytest.mark.slow
@needs_cuda_compiler
def test_default_device() -> None:
    """Functions without a word are the device's."""
    source = "int twice (int x) { return 2 * x; }\n__global__ void f (int *p) { *p = twice (*p); }\n"
    program = Program(source)
    assert program.compile() == "COMPILATION"
    assert "call to __host__ function from __global__ function" in program.text("ProgramLog")
    assert program.compile("-default-device") == "NVRTC_SUCCESS"


@pytest.mark.slow
@needs_cuda_compiler
def test_threads() -> None:
    """Several at once; the others' programs are not touched."""

    def lowered(number: int) -> str:
        program = Program(f"template <int W> __global__ void f{number} (int *p) {{ *p = W; }}")
        program.call("AddNameExpression", f"f{number}<{number}>".encode())
        assert program.compile() == "NVRTC_SUCCESS"
        name = program.lowered(f"f{number}<{number}>")
        assert name in program.text("PTX") and program.destroy() == "NVRTC_SUCCESS"
        return name

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lowered, range(3))) == [f"_Z2f{n}ILi{n}EEvPi" for n in range(3)]


@needs_cuda_compiler
def test_children_that_nobody_waits_for() -> None:
    """A program that ignores SIGCHLD, without a cache, without a compiler."""
    code = f"""
import ctypes, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
n, p, size = ctypes.CDLL({str(LIBRARY)!r}), ctypes.c_void_p(), ctypes.c_size_t()
assert n.nvrtcCreateProgram(ctypes.byref(p), b"__global__ void f () {{}}", None, 0, None, None) == 0
print(n.nvrtcCompileProgram(p, 0, None))
n.nvrtcGetProgramLogSize(p, ctypes.byref(size))
log = ctypes.create_string_buffer(size.value)
n.nvrtcGetProgramLog(p, log)
print(log.value.decode(), end="")
"""
    settings = dict(os.environ, GOMPY_NVRTC_CACHE="0")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")
    settings |= {"GOMPY_CLANGXX": "no-such-clang", "LC_ALL": "C"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout == "6\nnvrtc (gompy): error: GOMPY_CLANGXX: no such compiler: 'no-such-clang'\n"
    assert not Path(os.environ["XDG_CACHE_HOME"], "gompy", "nvrtc").exists()


@needs("nm")
def test_exports_are_the_table() -> None:
    """No call that the table lacks, none that the library lacks; the page shows the same."""
    done = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True)
    found = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    assert found == {"nvrtcGetErrorString", *nvrtc.CALLS, *nvrtc.ABSENT}
    page = (ROOT / "docs" / "nvrtc.md").read_text(encoding="utf-8").splitlines()
    assert set(generate_nvrtc.page_tables()) <= set(page)
