"""The projects of examples/projects, each built as its page or its makefile says, and run on the device."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, needs

PROJECTS = ROOT / "examples" / "projects"
HEAT = "middle 0.500, on the device\n"
SCALED = "[ 1. 11. 21. 31. 41.] on the device\n"
pytestmark = has_all


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """A copy of the projects, in a folder whose name has no blank: makefiles and autotools cannot have one."""
    made = Tools(bin_folder, tmp_path / "projects")
    shutil.copytree(PROJECTS, made.work)
    made.env |= {
        "OMP_NUM_THREADS": "2",
        "PYTHON": sys.executable,
        "CCACHE_DIR": str(tmp_path / "ccache"),
        "LC_ALL": "C",
    }
    for name in ("CC", "CXX", "FC", "CFLAGS", "LDFLAGS", "MAKEFLAGS", "PYTHONPATH", "VIRTUAL_ENV"):
        made.env.pop(name, None)
    return made


def inside(tools: Tools, folder: str, *command: str | Path, **env: str) -> str:
    """Run a command in a project's folder; it must succeed."""
    done = tools.run(*command, cwd=tools.work / folder, env=env)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def cmake_files(tools: Tools) -> dict[str, str]:
    return {"GOMPY_TOOLCHAIN": tools.ok("gompy", "config", "--cmake").strip()}


@pytest.mark.slow(sample=1)
@needs("cmake", "ninja")
@pytest.mark.parametrize("preset", ["emulated", "ipo"])
def test_cmake_presets(tools: Tools, preset: str) -> None:
    version = tools.ok("cmake", "--version").split()[2]
    if tuple(map(int, version.split(".")[:2])) < (3, 21):
        pytest.skip(f"cmake {version} has no toolchain files in presets")
    env = cmake_files(tools)
    # The toolchain file takes the commands that are installed with it; here these are the tests' own.
    words = [f"-DCMAKE_C_COMPILER={tools.bin}/gompcc"]
    inside(tools, "heat", "cmake", "--preset", preset, *words, **env)
    inside(tools, "heat", "cmake", "--build", "--preset", preset, **env)
    inside(tools, "heat", "ctest", "--preset", preset, **env)
    assert inside(tools, "heat", f"build/{preset}/rod") == HEAT


@needs("cmake", "make", "gcc")
def test_cmake_refuses_another_compiler(tools: Tools) -> None:
    folder = tools.ok("gompy", "config", "--cmakedir").strip()
    command = ["cmake", "-B", "other", "-DCMAKE_C_COMPILER=gcc", f"-Dgompy_DIR={folder}"]
    done = tools.run(*command, cwd=tools.work / "heat")
    said = " ".join(done.stderr.split())
    assert done.returncode == 1 and "the C compiler is gcc, not gompcc" in said and "gompy-toolchain.cmake" in said


@needs("meson", "ninja")
def test_meson(tools: Tools) -> None:
    native = tools.ok("gompy", "config", "--meson").strip()
    inside(tools, "heat", "meson", "setup", "build", "--native-file", native)
    inside(tools, "heat", "meson", "test", "-C", "build")
    assert inside(tools, "heat", "build/rod") == HEAT


@needs("autoreconf", "automake", "make", "pkg-config")
def test_autotools_and_pkg_config(tools: Tools) -> None:
    prefix = tools.work / "installed"
    inside(tools, "heat", "autoreconf", "--install")
    inside(tools, "heat", "./configure", "CC=gompcc", f"--prefix={prefix}")
    assert "# PASS:  1" in inside(tools, "heat", "make", "check", "install")
    flags = inside(tools, "heat", "pkg-config", "--cflags", "--libs", "heat", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")
    inside(tools, "heat", "gompcc", "main.c", *flags.split(), "-o", "use")
    assert inside(tools, "heat", "./use") == HEAT


@needs("bear")
def test_bear(tools: Tools) -> None:
    inside(tools, "heat", "bear", "--", "gompcc", "-fopenmp", "-c", "heat.c")
    commands = (tools.work / "heat" / "compile_commands.json").read_text()
    assert '"heat.c"' in commands and "-fopenmp" in commands


@needs("ccache")
def test_ccache(tools: Tools) -> None:
    for _ in range(2):
        inside(tools, "heat", "ccache", "gompcc", "-fopenmp", "-c", "heat.c", "-o", "heat.o")
    inside(tools, "heat", "gompcc", "-fopenmp", "heat.o", "main.c", "-o", "rod")
    assert inside(tools, "heat", "./rod") == HEAT


def has_modules(*names: str) -> None:
    """Skip where this Python lacks one, or its headers."""
    lacking = [name for name in names if importlib.util.find_spec(name) is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")


@needs("make")
def test_ctypes(tools: Tools) -> None:
    has_modules("numpy")
    inside(tools, "python", "make", "libscale.so")
    assert inside(tools, "python", sys.executable, "by_ctypes.py") == SCALED


@pytest.mark.slow
@needs("make")
@pytest.mark.parametrize("module", ["cython", "pybind11", "f2py"])
def test_modules(tools: Tools, module: str) -> None:
    has_modules("numpy", *({"cython": ("Cython",), "pybind11": ("pybind11",)}.get(module, ())))
    for name in {"pybind11": ("g++",), "f2py": ("gfortran",)}.get(module, ()):
        if not shutil.which(name):
            pytest.skip(f"not installed: {name}")
    inside(tools, "python", "make", f"scale_{module}.so")
    assert inside(tools, "python", sys.executable, "by_modules.py", f"scale_{module}") == SCALED


@needs("mpicc", "mpirun")
def test_one_device_a_rank(tools: Tools) -> None:
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("not installed: Open MPI")
    told = subprocess.run(["mpicc", "--showme:incdirs"], capture_output=True, text=True).stdout.split()
    if not any(Path(folder, "mpi.h").exists() for folder in told):
        pytest.skip("not installed: libopenmpi-dev")
    inside(tools, "ranks", "mpicc", "-fopenmp", "ranks.c", "-o", "ranks", OMPI_CC="gompcc")
    words = ["mpirun", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--oversubscribe", "-n", "2", "./ranks"]
    said = inside(tools, "ranks", *words, OFFLOAD_EMUL_NUM="2")
    assert said.splitlines() == ["rank 0 on device 0", "rank 1 on device 1", "sum 499500"]
