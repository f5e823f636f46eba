"""The paper's four benchmarks: tiny sizes on every device that is there, their check, their plots' numbers."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from link_tools import built
from nvptx_tools import has_compiler

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "ispras"
BENCHES = ["mul-matr-vec", "newton-sqrt", "scalar-prod", "vector-add"]
TINY = ["--sizes", "1,1000", "--teams", "0,2", "--threads", "0,2", "--repeats", "3", "--budget", "0"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """run.py with these options."""
    command = [sys.executable, str(FOLDER / "run.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def report(out: Path, device: str, *words: str) -> dict[str, Any]:
    """What run.py writes for tiny sizes on a device."""
    done = run("--device", device, "--out", str(out), *TINY, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads((out / f"ispras-{device}.json").read_text())
    return result


def points(run: dict[str, Any]) -> set[tuple[int, int, int, int]]:
    """Which points a run has."""
    return {(p["n"], p["teams"], p["threads"], p["simd"]) for p in run["points"]}


def plots() -> ModuleType:
    """The module that makes the plots; it needs matplotlib for drawing only."""
    spec = importlib.util.spec_from_file_location("ispras_plots", FOLDER / "plots.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@built
@pytest.mark.parametrize("device", ["host", "intelmic", pytest.param("emulated", marks=has_compiler)])
@pytest.mark.parametrize("bench", BENCHES)
def test_all_points_of_a_device(tmp_path: Path, device: str, bench: str) -> None:
    """Every combination is measured, in OpenMP and OpenACC, three times each; run.py fails on wrong results."""
    found = report(tmp_path, device, "--bench", bench, "--model", "openmp", "--model", "openacc")
    assert [(r["bench"], r["model"], r["device"]) for r in found["runs"]] == [
        (bench, "openmp", device),
        (bench, "openacc", device),
    ]
    expected = {(n, t, h, s) for n in (1, 1000) for t in (0, 2) for h in (0, 2) for s in (0, 1)}
    for r in found["runs"]:
        assert points(r) == expected
        assert all(len(p["region"]) == len(p["native"]) == 3 and min(p["region"]) > 0 for p in r["points"])


@pytest.mark.slow
@built
@has_compiler
@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not in PATH")
def test_cuda_on_the_emulated_gpu(tmp_path: Path) -> None:
    """A CUDA program for the driver, its PTX from nvcc."""
    found = report(tmp_path, "emulated", "--model", "cuda", "--bench", "scalar-prod")
    assert found["runs"][0]["device_name"].startswith("gompy emulated GPU")


@pytest.mark.slow
@built
def test_cuda_is_skipped_with_a_reason(tmp_path: Path) -> None:
    """Where there is no CUDA the report says so; nothing at all to measure is an error."""
    found = report(tmp_path, "host", "--bench", "vector-add")
    assert found["skipped"] == [{"program": "vector-add, cuda, host, gompy", "reason": "no CUDA on host"}]
    done = run("--device", "host", "--model", "cuda", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "every program was skipped" in done.stderr


def test_a_wrong_result_is_an_error(tmp_path: Path) -> None:
    """The program compares what its kernel made with the native loop, and tells which point was wrong."""
    kernel = tmp_path / "kernel.c"
    kernel.write_text(
        '#include "bench.h"\n'
        "int bench_region (const struct problem *p, const struct launch *l)\n"
        "{ for (long i = 0; i < p->n; i++) p->r[i] = p->a[i] + p->b[i] + (i == 7 && l->teams == 2); return 0; }\n"
    )
    program = tmp_path / "prog"
    sources = [FOLDER / "main.c", FOLDER / "openmp.c", FOLDER / "vector-add" / "native.c", kernel]
    command = ["gcc", "-fopenmp", "-foffload=disable", f"-I{FOLDER}", *map(str, sources), "-lm", "-o", str(program)]
    subprocess.run(command, check=True)
    good = subprocess.run([program, "8", "1", "1", "1", "3", "0"], capture_output=True, text=True)
    assert good.returncode == 0, good.stderr
    wrong = subprocess.run([program, "8", "1,2", "1", "1", "3", "0"], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "error: wrong result: n 8, teams 2, threads 1, simd 1" in wrong.stderr


def test_bad_arguments() -> None:
    """One line, status 2."""
    for words in (
        ["--sizes", "0"],
        ["--sizes", "x"],
        ["--repeats", "2"],
        ["--simd", "2"],
        ["--ratio", "--plot"],
        ["--cpu-time"],
    ):
        done = run(*words)
        assert done.returncode == 2
        assert "error:" in done.stderr
        assert "Traceback" not in done.stderr


def sample() -> dict[str, Any]:
    """A run whose times are known: n / (teams * threads), with simd a tenth."""
    made = [
        {"n": n, "teams": t, "threads": h, "simd": s, "region": [n / t / h / (10 if s else 1)] * 3, "native": [n] * 3}
        for s in (0, 1)
        for n in (64, 256)
        for t in (1, 4)
        for h in (1, 2)
    ]
    return {"bench": "vector-add", "model": "openmp", "device": "host", "runtime": "gompy", "points": made}


def test_lines_of_the_figures() -> None:
    """Figures 2 to 4: what is drawn over what."""
    module = plots()
    lines, native = module.by_size(sample())
    assert ("4 teams × 2 threads", [(64, 0.8), (256, 3.2)]) in lines
    assert native == [("one core, native", [(64, 64), (256, 256)])]
    assert [(label, [(x, round(y, 9)) for x, y in line]) for label, line in module.speedup(sample())] == [
        ("1 thread", [(1, 10), (4, 10)]),
        ("2 threads", [(1, 10), (4, 10)]),
    ]
    assert module.over(sample(), "threads", "teams") == [
        ("1 team", [(1, 25.6), (2, 12.8)]),
        ("4 teams", [(1, 6.4), (2, 3.2)]),
    ]


@pytest.mark.slow
def test_plots_are_files(tmp_path: Path) -> None:
    """PNG and SVG, axes labelled with units."""
    pytest.importorskip("matplotlib")
    made = plots().draw([sample()], tmp_path)
    assert sorted(p.name for p in made) == sorted(p.name for p in tmp_path.iterdir())
    assert {p.name.rpartition("-")[2] for p in made} == {
        f"{figure}.{kind}" for figure in ("size", "simd", "launch") for kind in ("png", "svg")
    }
    assert "time of a region, s" in (tmp_path / "ispras-host-vector-add-openmp-gompy-size.svg").read_text()


def test_without_matplotlib(tmp_path: Path) -> None:
    """The message names what to install."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError\n")
    command = [sys.executable, str(FOLDER / "run.py"), "--plot-only", "--out", str(tmp_path), "--device", "host"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path), "PATH": ""})
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "run.py: error: plots need matplotlib: pip install 'gompy[bench]' (or matplotlib itself)"
    ]
