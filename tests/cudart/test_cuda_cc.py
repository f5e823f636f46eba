"""gompy cuda cc: CUDA C++ by clang without NVIDIA's software, run on the emulated device; and gompy cuda run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_tools import SETTINGS, has_driver, needs_cuda_compiler, skip_unknown
from driver_tools import needs

from gompy.cli import main
from gompy.cudart import clang, compile, options
from gompy.objects import fatbin

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"


def environment(**settings: str) -> dict[str, str]:
    """What programs get."""
    return {name: value for name, value in os.environ.items() if name not in SETTINGS} | settings


def call(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """gompy cuda."""
    command = [sys.executable, "-m", "gompy.cli", "cuda", *words]
    return subprocess.run(
        command, cwd=folder, env=environment(**settings), capture_output=True, text=True, timeout=110, check=False
    )


def compiled(folder: Path, source: Path, *words: str) -> Path:
    """A program of one file, compiled without a word of warning."""
    done = call(folder, "cc", str(source), "-o", "prog", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "prog"


def result(program: Path, **settings: str) -> tuple[int, str, str]:
    """What gompy cuda run gives."""
    done = call(program.parent, "run", "--", f"./{program.name}", **settings)
    return done.returncode, done.stdout, done.stderr


TEXTURES = """reference: 0 0 0 1.5 3 4.5 6 7.5 9 10.5 12 13.5 0 0 0 0 0 10.0667 0.133333 10.2 0.266667 10.3333 0.4 \
10.4667 0.533333 10.6 0.666667 10.7333 0.8 10.8667 0.933333 11
object: 1500 1401.5 1303 1204.5 1106 1007.5 909 810.5 712 613.5 515 416.5 318 219.5 121 22.5
between: 11.25 9 9.75 10.5 11.25 12 12.75 13.5 11.25 9 9.75 10.5 11.25 12 12.75 13.5 0 0 1.5 3 0 6 7.5 9 0 12 13.5 15 \
0 18 19.5 21
0 1 0
cudaErrorIllegalAddress
"""


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize("check", ["0", "1"])
def test_textures(tmp_path: Path, check: str) -> None:
    """Objects and references; at the end one that nothing is bound to."""
    program = compiled(tmp_path, PROGRAMS / "cuda_textures.cu")
    status, out, err = result(program, GOMPY_CHECK=check)
    assert (status, out) == (0, TEXTURES)
    assert err.startswith("libcuda (gompy): error: texture 0x") and err.count("\n") == 1
    assert "a reference that nothing is bound to in 'reference' at " in err and "variable 'numbers'" in err


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize("check", ["0", "1"])
def test_surfaces(tmp_path: Path, check: str) -> None:
    """Arrays, surfaces of elements of all sizes, layers, memory pools."""
    program = compiled(tmp_path, PROGRAMS / "surfaces.cu")
    want = "101 909 1717\ncdefghijklmno\n0x1010101, 4096 bytes\n"
    assert result(program, GOMPY_CHECK=check) == (0, want, "")


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_graphs(tmp_path: Path) -> None:
    """Captured launches, and nodes of a kernel and a variable by their names."""
    assert result(compiled(tmp_path, PROGRAMS / "cuda_graphs.cu")) == (0, "1 110 110 0\n", "")


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize("check", ["0", "1"])
def test_cooperative_groups(tmp_path: Path, check: str) -> None:
    """A grid that is synchronized, groups in a block; too many blocks, and a launch that is not cooperative."""
    program = compiled(tmp_path, PROGRAMS / "cuda_cooperative.cu", "-std=c++17")
    status, out, _ = result(program, GOMPY_CHECK=check, GOMPY_CUDA_SMS="8")
    assert out.splitlines() == [
        "1 0 wrong",
        " 28 92 156 220 284 348 412 476 1104 1037 0 10 64",
        "cudaErrorCooperativeLaunchTooLarge",
        "cudaErrorLaunchFailure",
    ]
    assert status == 0


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_language(tmp_path: Path) -> None:
    """Lambdas, virtual functions, new, shuffles, votes, atomics, printf, symbols, occupancy."""
    status, out, err = result(compiled(tmp_path, PROGRAMS / "cuda_language.cu", "-std=c++17"))
    assert out.splitlines() == [
        "lambda 100 109",
        "virtual 4 3",
        "warps 16 1 0 7 4 33 1 -6 31 17 9 9 34 5 5 11",
        "counter 0",
        "from the device: 42 text 2.50 x",
        "occupancy 1",
        "invalid configuration argument",
    ]
    assert (status, err) == (0, "")


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize("words", [(), ("-rdc=true",)], ids=["alone", "rdc"])
def test_abstract_classes(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A vtable has an entry for a pure and for a deleted function; a call of such a one stops the kernel."""
    program = compiled(tmp_path, PROGRAMS / "cuda_abstract.cu", "-lineinfo", *words)
    assert result(program) == (0, "49 0\n", "")
    done = call(program.parent, "run", "--", "./prog", "early", GOMPY_CHECK="memory")
    assert done.stdout == "cudaErrorLaunchFailure\n"
    assert "trap in '__cxa_pure_virtual'" in done.stderr


RELEASES = pytest.mark.parametrize("clang", ["clang++-14", "clang++-15", "clang++-16", "clang++-19"])


@pytest.mark.slow(sample=2)
@needs_cuda_compiler
@has_driver
@RELEASES
def test_what_an_older_clang_has_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clang: str) -> None:
    """clang 14's header, and its optimizer at barriers (`gompy_clang14.h`); the values are by hand."""
    if not shutil.which(clang):
        pytest.skip(f"not installed: {clang}")
    monkeypatch.setenv("GOMPY_CLANGXX", clang)
    program = compiled(tmp_path, PROGRAMS / "cuda_older.cu")
    assert result(program, GOMPY_CHECK="race") == (0, "496 124016 32 31\n", "")


@pytest.mark.slow(sample=2)
@needs_cuda_compiler
@has_driver
@RELEASES
def test_address_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clang: str) -> None:
    """Shared and global addresses are known as such; clang's own headers use that from 17 on.
    clang 14, which is Debian 12's `clang`, has no --cuda-feature, and gets PTX's version in another way."""
    if not shutil.which(clang):
        pytest.skip(f"not installed: {clang}")
    monkeypatch.setenv("GOMPY_CLANGXX", clang)
    assert result(compiled(tmp_path, PROGRAMS / "cuda_spaces.cu")) == (0, "1 1 7 1\n", "")


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_min_and_max(tmp_path: Path) -> None:
    """Of floats, unsigned and long numbers, on both sides; clang's own headers have them of int alone."""
    numbers = "0.25 1.25 0.5 0.625 0.625 1.25 0.625 1.25 1.25 1.25 -1 7 9 3000000000 9 4294967295 -3 1099511627776"
    line = f"{numbers} 8 1.8446744073709552e+19 -1099511627776 5\n"
    program = compiled(tmp_path, PROGRAMS / "cuda_order.cu", "-Wall")
    assert result(program) == (0, f"{line}{line}3 4\n", "")


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_functions_are_exact(tmp_path: Path) -> None:
    """Against the host's, in units of the last place."""
    status, out, err = result(compiled(tmp_path, PROGRAMS / "cuda_math.cu"))
    assert (status, out, err) == (0, "all functions are as exact as they should be\n", "")


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_objects_and_other_sources(tmp_path: Path) -> None:
    """-c, several CUDA sources, a C++ file, -I, -D; the program starts by itself, too, and says what it runs on."""
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "both.h").write_text("int by_kernel (int); int by_host (int);\n")
    (tmp_path / "k.cu").write_text(
        '#include "both.h"\n__global__ void k (int *p) { *p += ADDEND; }\n'
        "int by_kernel (int n) { int *p; cudaMalloc (&p, 4); cudaMemcpy (p, &n, 4, cudaMemcpyHostToDevice);\n"
        "k<<<1, 1>>> (p); cudaMemcpy (&n, p, 4, cudaMemcpyDeviceToHost); return n; }\n"
    )
    (tmp_path / "h.cpp").write_text('#include "both.h"\nint by_host (int n) { return n * 2; }\n')
    (tmp_path / "main.cu").write_text(
        '#include "both.h"\n#include <cstdio>\n__global__ void m (int *p) { *p *= 3; }\n'
        "int main () { int n = by_host (by_kernel (5)), *p; cudaMallocManaged (&p, 4); *p = n; m<<<1, 1>>> (p);\n"
        'cudaDeviceSynchronize (); std::printf ("%d\\n", *p); }\n'
    )
    done = call(tmp_path, "cc", "-c", "k.cu", "h.cpp", "-Iinc", "-DADDEND=2")
    assert (done.returncode, done.stderr) == (0, "")
    done = call(tmp_path, "cc", "main.cu", "k.o", "h.o", "-Iinc", "-o", "prog")
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(
        [tmp_path / "prog"], env=environment(GOMPY_CUDA="emulated"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


@pytest.mark.slow
@needs_cuda_compiler
def test_ptx_and_architectures(tmp_path: Path) -> None:
    """--ptx, nvcc's spellings of architectures, and a container of two."""
    skip_unknown(90)
    (tmp_path / "a.cu").write_text(
        "__global__ void k (int *p)\n{\n#ifdef __CUDA_ARCH__\n*p = __CUDA_ARCH__;\n#endif\n}\n"
    )
    assert call(tmp_path, "cc", "--ptx", "-arch=sm_80", "a.cu").returncode == 0
    text = (tmp_path / "a.ptx").read_text()
    assert ".target sm_80" in text
    assert ", 800;" in text
    words = ["-gencode", "arch=compute_75,code=sm_75", "-gencode=arch=compute_90,code=compute_90"]
    assert call(tmp_path, "cc", "-c", *words, "a.cu").returncode == 0
    data = (tmp_path / "a.o").read_bytes()
    at = data.index(fatbin.MAGIC.to_bytes(4, "little") + b"\x01\x00\x10\x00")
    assert fatbin.FILE.unpack_from(data, at + 16)[7] == 75
    assert all(f".target sm_{number}".encode() in data for number in (75, 90))


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_lines_of_errors(tmp_path: Path) -> None:
    """With -g the driver's message has the source's line, and the program its error."""
    (tmp_path / "bad.cu").write_text(
        "#include <cstdio>\n__global__ void k (int *p)\n{\n  p[threadIdx.x] = 1;\n}\n"
        "int main () { int here[4]; k<<<1, 1>>> (here); std::puts (cudaGetErrorName (cudaDeviceSynchronize ())); }\n"
    )
    status, out, err = result(compiled(tmp_path, tmp_path / "bad.cu", "-g"))
    assert (status, out) == (0, "cudaErrorIllegalAddress\n")
    assert "/bad.cu:4 " in err


@needs_cuda_compiler
def test_a_function_that_is_not_there(tmp_path: Path) -> None:
    """It is told when the kernel is compiled, at its line."""
    (tmp_path / "j.cu").write_text("__global__ void k (double *p) { *p = j0 (*p); }\n")
    done = call(tmp_path, "cc", "-c", "j.cu")
    assert done.returncode == 1
    assert "j0: not implemented by gompy" in done.stderr
    assert not (tmp_path / "j.o").exists()


@pytest.mark.slow
@needs_cuda_compiler
def test_libraries_that_are_not_there(tmp_path: Path) -> None:
    """One line; a library that the user has elsewhere is taken."""
    (tmp_path / "sorts.cu").write_text("#include <thrust/sort.h>\nint main () { return thrust::sorts; }\n")
    done = call(tmp_path, "cc", "sorts.cu", "-o", "sorts")
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    assert errors[0].endswith("error: Thrust (thrust/sort.h) is not implemented by gompy")
    (tmp_path / "own" / "thrust").mkdir(parents=True)
    (tmp_path / "own" / "thrust" / "sort.h").write_text("namespace thrust { const int sorts = 7; }\n")
    assert call(tmp_path, "cc", "-isystem", "own", "sorts.cu", "-o", "sorts").returncode == 0


@needs_cuda_compiler
def test_clangs_errors_are_its_own(tmp_path: Path) -> None:
    """And its exit status."""
    (tmp_path / "e.cu").write_text("__global__ int k () { return 1; }\n")
    done = call(tmp_path, "cc", "-c", "e.cu")
    assert done.returncode == 1
    assert "e.cu:1:" in done.stderr
    assert "error: kernel function type" in done.stderr


def test_no_clang(tmp_path: Path) -> None:
    """One line, with the mend."""
    (tmp_path / "a.cu").write_text("")
    (tmp_path / "bin").mkdir()
    done = call(tmp_path, "cc", "a.cu", PATH=str(tmp_path / "bin"), GOMPY_CLANGXX="")
    mend = "install clang (Debian: apt-get install clang), or set GOMPY_CLANGXX"
    assert (done.returncode, done.stderr) == (1, f"gompy cuda cc: error: no clang++ in PATH: {mend}\n")
    done = call(tmp_path, "cc", "a.cu", GOMPY_CLANGXX="no-such-clang", LC_ALL="C")
    assert done.stderr == "gompy cuda cc: error: GOMPY_CLANGXX: no such compiler: 'no-such-clang'\n"
    done = call(tmp_path, "cc", "a.cu", GOMPY_CLANGXX="/bin/true", LC_ALL="C")
    assert done.stderr == f"gompy cuda cc: error: '/bin/true' is no clang from 14 on: {mend}\n"


@pytest.mark.parametrize("step", ["-S", "-c"], ids=["device", "host"])
def test_a_clang_that_a_signal_ends(tmp_path: Path, step: str) -> None:
    """As the kernel does where memory is short: clang says nothing then."""
    (tmp_path / "a.cu").write_text("__global__ void f () {}\n")
    shim = tmp_path / "clang++"
    shim.write_text(
        "#!/bin/sh\n"
        f'case " $* " in *" {step} "*) kill -9 $$ ;; *" --version "*) echo "clang version 16.0.6" ;;\n'
        '*) while [ "$1" ] && [ "$1" != -o ]; do shift; done\n'
        'echo ".version 6.0 .target sm_70 .address_size 64" > "$2" ;; esac\n'
    )
    shim.chmod(0o755)
    done = call(tmp_path, "cc", "-c", "a.cu", GOMPY_CLANGXX=str(shim))
    assert (done.returncode, done.stderr) == (1, f"gompy cuda cc: error: {shim} has ended by signal 9\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], None),
        (["-c"], "no input files"),
        (["none.cu"], "none.cu: No such file or directory"),
        (["a.cu", "-o"], "-o: no value"),
        (["a.cu", "-o", "a.cu"], "input file a.cu is the same as output file"),
        (["a.cu", "-arch=big"], "'big' is no architecture such as sm_70"),
        (["-c", "a.cu", "b.cu", "-o", "x"], "cannot specify -o with -c or --ptx and several results"),
        (["--ptx", "x.cpp"], "--ptx: no .cu file"),
        (["-cubin", "a.cu"], "-cubin: not implemented: device code is PTX (--ptx), there is no machine code"),
    ],
    ids=["none", "no-file", "absent", "no-value", "same", "arch", "several", "ptx", "cubin"],
)
def test_command_lines_that_are_wrong(
    words: list[str],
    message: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C")
    for name in ("a.cu", "b.cu", "x.cpp"):
        (tmp_path / name).write_text("")
    status = compile.main(words)
    assert status == (2 if message is None else 1)
    err = capfd.readouterr().err
    assert err == (compile.HELP + "\n" if message is None else f"gompy cuda cc: error: {message}\n")


def test_words_are_sorted(tmp_path: Path) -> None:
    """nvcc's go where clang has them, or nowhere."""
    source = str(tmp_path / "a.cu")
    Path(source).write_text("")
    text = "-O3 -std=c++17 -s -use_fast_math -lineinfo -Xptxas -v -Xcompiler -Wall,-fPIC --expt-extended-lambda"
    text += " -lm -L lib -D N=1"
    line = options.parse([*text.split(), source, "x.o", "-oprog", "--gpu-architecture", "compute_86"])
    assert line.words == ["-O3", "-std=c++17", "-ffast-math", "-fcuda-approx-transcendentals", "-g1", "-D", "N=1"]
    assert line.host_words == ["-Wall", "-fPIC"]
    assert line.objects == ["-s", "-lm", "-L", "lib", source, "x.o"]
    assert (line.sources, line.output, line.architectures) == ([source], "prog", [86])


def test_run_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    for words, status, message in (
        (["cuda", "run"], 2, "gompy cuda run: error: no program"),
        (["cuda", "run", "--fast", "x"], 2, "gompy cuda run: error: no option '--fast'; it knows --real"),
        (["cuda", "run", "/no/such"], 127, "gompy cuda run: error: /no/such: No such file or directory"),
        (["cuda", "run", "--", "/"], 126, "gompy cuda run: error: /: Permission denied"),
        (["cuda", "fly"], 2, "gompy cuda: error: no 'fly'; it knows cc and run"),
    ):
        assert main.dispatch(words) == status
        assert capsys.readouterr().err.splitlines()[0] == message


def test_run_gives_the_libraries(tmp_path: Path) -> None:
    """The emulated driver and the runtime, before what there was."""
    text = "import os; print(os.environ['LD_LIBRARY_PATH'], os.environ['GOMPY_CUDA'])"
    done = call(tmp_path, "run", "--", sys.executable, "-c", text, LD_LIBRARY_PATH="/before")
    folders, choice = done.stdout.split()
    assert [Path(folder).name for folder in folders.split(":")] == ["cuda", "cudart", "before"]
    assert choice == "emulated"
    done = call(tmp_path, "run", "--real", sys.executable, "-c", text, LD_LIBRARY_PATH="")
    assert done.stdout == f"{clang.FOLDER} real\n"


@needs("g++")
@has_driver
def test_headers_for_the_hosts_compiler(tmp_path: Path) -> None:
    """C++ without kernels is compiled by g++, too; pairs of both short types are taken apart there as on the device."""
    (tmp_path / "host.cpp").write_text("""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <cstdio>
int main ()
{
  __half2 h = __lows2half2 (__float2half2_rn (1.5f), make_half2 (2, 3));
  __nv_bfloat162 b = __highs2bfloat162 (__float2bfloat162_rn (4.f), make_bfloat162 (5, 6));
  float2 x = __half22float2 (__lowhigh2highlow (h)), y = __bfloat1622float2 (__lowhigh2highlow (b));
  std::printf ("%g %g %g %g %d\\n", x.x, x.y, y.x, y.y, __half2int_rn (h.x + h.y));
}
""")
    words = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", str(Path(clang.FOLDER) / "include"), "host.cpp"]
    done = subprocess.run(["g++", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run(["./a.out"], cwd=tmp_path, capture_output=True, text=True).stdout == "2 1.5 6 4 4\n"


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize(("way", "line"), [(0, 8), (1, 10), (2, 12), (3, 14)])
def test_lines_are_the_programs(tmp_path: Path, way: int, line: int) -> None:
    """What a function of a header does is told at the line that calls it."""
    (tmp_path / "bad.cu").write_text("""
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <mma.h>
__global__ void add (int *p, half *h, int way)
{
  if (way == 0)
    atomicAdd (p + 1, 3);
  if (way == 1)
    atomicAdd (h, half (1.f));
  if (way == 2)
    h[0] = h[1] + h[2];
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
  nvcuda::wmma::load_matrix_sync (c, (float *) p, 16, nvcuda::wmma::mem_row_major);
  if (c.x[0])
    p[0] = 1;
}
int main (int count, char **)
{
  add<<<1, 32>>> ((int *) 64, (half *) 4096, count - 1);
  return cudaDeviceSynchronize () != cudaErrorIllegalAddress;
}
""")
    compiled(tmp_path, tmp_path / "bad.cu", "-lineinfo")
    done = call(tmp_path, "run", "--", "./prog", *"x" * way)
    assert done.returncode == 0
    assert f" at {tmp_path}/bad.cu:{line} (PTX:" in done.stderr


MANAGED = """5 2 2.5 2.5
9 3 3 8 42 8
1 4000
100
164 164
1 1
0 1 0
32 cudaSuccess
"""


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize("words", [[], ["-g", "-O0"], ["-flto"], ["-arch=sm_70", "-arch=sm_80"]])
def test_managed_variables(tmp_path: Path, words: list[str]) -> None:
    """Host and device have one variable, from its beginning on; device code is another for each of the words."""
    program = compiled(tmp_path, PROGRAMS / "cuda_managed.cu", *words)
    assert result(program) == (0, MANAGED, "")
    assert result(program, GOMPY_CHECK="1") == (0, MANAGED, "")


@pytest.mark.slow
@needs_cuda_compiler
def test_managed_variables_of_two_files(tmp_path: Path) -> None:
    """Each file's pages are registered by themselves."""
    part = "__managed__ int x{0} = {0};\n__global__ void k{0} () {{ x{0} += 10; }}\n"
    part += "int run{0} () {{ k{0}<<<1, 1>>> (); cudaDeviceSynchronize (); return x{0}; }}\n"
    (tmp_path / "one.cu").write_text(part.format(1))
    (tmp_path / "two.cu").write_text(
        part.format(2) + '#include <stdio.h>\nint run1 (); int main () { printf ("%d %d\\n", run1 (), run2 ()); }\n'
    )
    assert call(tmp_path, "cc", "one.cu", "two.cu", "-o", "prog").returncode == 0
    assert result(tmp_path / "prog") == (0, "11 12\n", "")


CALLS_OF_MANAGED = """\
first: managed
inside: managed
word: managed
own: plain
memset: cudaSuccess
memset2D: cudaSuccess
memcpy2D: cudaSuccess
1010101 1010101 0 2 4
back: cudaSuccess
2 4
begin: cudaSuccess
captured: cudaSuccess
copied: cudaSuccess
end: cudaSuccess
5 0
launch: cudaSuccess
wait: cudaSuccess
9 2020202 9
too far: cudaErrorInvalidValue
plain: cudaErrorInvalidValue
free: cudaErrorInvalidValue
advise: cudaSuccess
prefetch: cudaSuccess
9
"""


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_managed_variables_before_a_kernel_and_where_they_end(tmp_path: Path) -> None:
    """All calls take them from the first one on, and what lies behind them on their page is the host's alone."""
    program = compiled(tmp_path, PROGRAMS / "cuda_managed_all.cu")
    assert result(program) == (0, CALLS_OF_MANAGED, "")
    assert result(program, GOMPY_CHECK="1")[:2] == (0, CALLS_OF_MANAGED)
    done = subprocess.run([program, "behind"], capture_output=True, text=True, check=False)
    assert done.stdout == "behind: plain\nstores: cudaErrorIllegalAddress\n"
    assert "written (4 bytes) in 'stores'" in done.stderr and "not device memory: the host's prog" in done.stderr


MANAGED_LIBRARY = """\
__managed__ int x[{}] = {{ 3 }};
__global__ void unused () {{ x[0]++; }}
extern "C" int *variable () {{ return x; }}
"""
MANAGED_HOST = """\
#include <cstdio>
#include <dlfcn.h>
#include <thread>
__managed__ int own = 40;
__global__ void k (int *p, int n) { p[n - 1] += 100; own++; }
static void run (const char *name, int n)
{
  void *library = dlopen (name, RTLD_NOW);
  int *p = ((int *(*) ()) dlsym (library, "variable")) ();
  p[n - 1] = n;
  k<<<1, 1>>> (p, n);
  cudaError_t error = cudaDeviceSynchronize ();
  printf ("%s %d %d\\n", cudaGetErrorName (error), p[n - 1], own);
  cudaDeviceSynchronize ();
  dlclose (library);
}
int main ()
{
  run ("./small.so", 1);
  run ("./large.so", 9000);
  std::thread ([] { run ("./small.so", 1); }).join ();
  cudaDeviceReset ();
  run ("./large.so", 9000);
}
"""


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_managed_variables_of_libraries_that_come_and_go(tmp_path: Path) -> None:
    """A kernel of other code is given their addresses; the next library may lie where the last one did."""
    for name, count in (("small", 1), ("large", 9000)):
        (tmp_path / f"{name}.cu").write_text(MANAGED_LIBRARY.format(count))
        assert call(tmp_path, "cc", "-shared", "-fPIC", f"{name}.cu", "-o", f"{name}.so").stderr == ""
    (tmp_path / "host.cu").write_text(MANAGED_HOST)
    assert call(tmp_path, "cc", "host.cu", "-o", "prog").stderr == ""
    said = [f"cudaSuccess {100 + n} {40 + at}\n" for at, n in enumerate((1, 9000, 1, 9000), start=1)]
    done = subprocess.run([tmp_path / "prog"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "".join(said)), done.stderr


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_gathers(tmp_path: Path) -> None:
    """Columns i and i + 1 of rows 2 and 1, of either component; the last lane is at the right edge."""
    lines = []
    for i in range(4):
        right = min(i + 1, 3)
        for sign in (1, -1):
            lines.append(" ".join(str(sign * n) for n in (20 + i, 20 + right, 10 + right, 10 + i)))
    said = "".join(f"{line}\n" for line in ["cudaSuccess", *lines])
    assert result(compiled(tmp_path, PROGRAMS / "cuda_gather.cu")) == (0, said, "")


@needs_cuda_compiler
@pytest.mark.parametrize("words", [["-rdc=true", "-c"], ["--ptx"]])
def test_managed_variable_says_what_works(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "a.cu").write_text("__device__ __managed__ int x;\n__global__ void k () { x = 1; }\n")
    said = call(tmp_path, "cc", *words, "a.cu").stderr
    assert "a.cu:1:12: error: __managed__ is not implemented here by gompy: use cudaMallocManaged\n" in said


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("int *__device__ p = &x;", "a variable begins with the address of 'x', which is __managed__"),
        ("__device__ int y; __managed__ int *q = &y;", "the __managed__ variable 'q' begins with an address: not"),
    ],
)
def test_addresses_at_the_beginning_are_refused(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "a.cu").write_text(f"__managed__ int x;\n{line}\n__global__ void k () {{ x = 1; }}\n")
    done = call(tmp_path, "cc", "-c", "a.cu")
    assert done.returncode == 1 and done.stderr.startswith(f"gompy cuda cc: error: a.cu: {said}")
    assert not (tmp_path / "a.o").exists()
