"""examples/gpu: each program as CUDA C++ on the emulated GPU and as OpenMP on the emulated MIC says the same line."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from driver_tools import Tools, has_all, has_as
from nvptx_tools import has_compiler
from test_cuda_cc import ROOT, compiled, result

EXAMPLES = ROOT / "examples" / "gpu"
SAYS = {
    "alignment": "alignment: two sequences of 256 letters match by 528\n",
    "bitonic_sort": "bitonic sort: 4096 keys are in order\n",
    "breadth_first": "breadth first: 3986 of 5000 nodes on 24 levels are right\n",
    "cheapest_path": "cheapest path: of 3000 ways of 64 steps the cheapest costs 63\n",
    "diffusion": "diffusion: a picture of 90 x 90 points after 4 turns is right\n",
    "fft": "fft: the transform of 4096 numbers is right\n",
    "flux": "flux: 1600 cells after 4 steps are right\n",
    "gauss": "gauss: the solution of 60 equations is right\n",
    "histogram": "histogram: 70000 bytes in 256 bins are right\n",
    "kmeans": "kmeans: 3000 points in 8 clusters are right\n",
    "layer": "layer: 16 outputs and 32000 weights are right\n",
    "lu": "lu: the factors of a 96 x 96 matrix are right\n",
    "mandelbrot": "mandelbrot: of 22500 points 3812 do not escape in 200 steps\n",
    "matrix": "matrix: the product of two 100 x 100 matrices is right\n",
    "monte_carlo": "monte carlo: 157037 of 200000 points are in the circle, so pi is about 3.141\n",
    "nbody": "nbody: 500 bodies after 2 steps are right\n",
    "radix_sort": "radix sort: 20000 keys are in order\n",
    "reduction": "reduction: the sum of 262144 numbers is 130879296\n",
    "scan": "scan: 40000 prefix sums are right\n",
    "sparse": "sparse: 2000 rows of 38798 entries by a vector are right\n",
    "stencil": "stencil: 20 steps on 75 x 50 points are right\n",
    "tree_search": "tree search: of 20000 keys 6751 are found, 3 levels down\n",
    "vector_add": "vector add: 100003 sums are right\n",
}


def test_each_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """In both languages, and in the benchmark's table."""
    for suffix in (".cu", ".c"):
        assert {path.stem for path in EXAMPLES.glob(f"*{suffix}")} == set(SAYS)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    assert set(importlib.import_module("gpu_examples").SIZES) == set(SAYS)


@pytest.mark.slow(sample=1)
@needs_cuda_compiler
@has_driver
@pytest.mark.parametrize("name", SAYS)
def test_cuda(tmp_path: Path, name: str) -> None:
    """Each checks its own result; the driver's checks have nothing to say."""
    program = compiled(tmp_path, EXAMPLES / f"{name}.cu", "-Wall")
    assert result(program) == (0, SAYS[name], "")
    assert result(program, GOMPY_CHECK="1") == (0, SAYS[name], "")


@pytest.mark.slow(sample=2)
@has_as
@has_all
@pytest.mark.parametrize("name", SAYS)
def test_openmp(tmp_path: Path, bin_folder: Path, name: str) -> None:
    """On the device, and without a word of warning."""
    tools = Tools(bin_folder, tmp_path)
    source = EXAMPLES / f"{name}.c"
    done = tools.run("gompcc", "-O1", "-Wall", "-Wextra", "-fopenmp", source, "-o", "prog", "-lm")
    assert (done.returncode, done.stderr) == (0, "")
    done = tools.run("./prog", env={"OMP_TARGET_OFFLOAD": "mandatory", "OMP_NUM_THREADS": "2"})
    assert (done.returncode, done.stdout, done.stderr) == (0, SAYS[name], "")


@pytest.mark.slow(sample=1)
@has_as
@has_all
@has_compiler
@has_driver
@pytest.mark.parametrize("name", ["breadth_first", "diffusion", "flux", "kmeans"])
def test_openmp_on_the_gpu(tmp_path: Path, bin_folder: Path, name: str) -> None:
    """What differs most there: atomics, reductions of numbers and of arrays, structures."""
    tools = Tools(bin_folder, tmp_path)
    options = ("-fopenmp", "-foffload=nvptx-none", "-foffload=-lm")
    done = tools.run("gompcc", "-O2", *options, EXAMPLES / f"{name}.c", "-o", "prog", "-lm")
    assert (done.returncode, done.stderr) == (0, "")
    for check in ("0", "race"):
        emulated = {"OMP_TARGET_OFFLOAD": "mandatory", "GOMPY_CUDA": "emulated", "GOMPY_CHECK": check}
        done = tools.run("./prog", env=emulated)
        assert (done.returncode, done.stdout, done.stderr) == (0, SAYS[name], "")


@has_as
@has_all
def test_arguments(tmp_path: Path, bin_folder: Path) -> None:
    """A size; rounds, and the kernels' time; what is neither; a wrong result is told."""
    tools = Tools(bin_folder, tmp_path)
    tools.ok("gcc", "-foffload=disable", "-fopenmp", EXAMPLES / "scan.c", "-o", "scan", "-lm")
    done = tools.run("./scan", "777", "3")
    time, line = done.stdout.splitlines()
    assert (done.returncode, line, done.stderr) == (0, "scan: 777 prefix sums are right", "")
    assert re.fullmatch(r"kernels: \d+\.\d{4} ms", time)
    for words in (["0"], ["x"], ["9", "0"], ["9", "1", "1"]):
        done = tools.run("./scan", *words)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: ./scan [SIZE [ROUNDS]]\n")
    text = (EXAMPLES / "scan.c").read_text()
    assert "sum += own;" in text
    wrong = tools.write("wrong.c", text.replace("sum += own;", "sum = own;").replace("scan.h", f"{EXAMPLES}/scan.h"))
    tools.ok("gcc", "-foffload=disable", "-fopenmp", wrong, "-o", "wrong", "-lm")
    done = tools.run("./wrong")
    assert (done.returncode, done.stdout.split(":")[0], done.stderr) == (1, "wrong", "")
