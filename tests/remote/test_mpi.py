"""Devices on the ranks of an MPI job."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools
from remote_tools import PROGRAMS, has_remote

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
pytestmark = has_remote


def obstacle(tools: Tools) -> str:
    """Why no MPI job can be started here; "" if one can."""
    if importlib.util.find_spec("mpi4py") is None:
        return "not installed: the extra 'mpi' (mpi4py)"
    if shutil.which("mpirun.openmpi") is None:
        return "no mpirun of Open MPI (openmpi-bin)"
    done = tools.run("mpirun.openmpi", "-n", "2", "true")
    return "" if done.returncode == 0 else f"mpirun starts nothing here: {done.stderr.strip()[:200]}"


@pytest.fixture(scope="module")
def tools(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The commands; Open MPI takes more ranks than there are cores."""
    tools = Tools(bin_folder, tmp_path_factory.mktemp("mpi"))
    tools.env |= {**AS_ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    tools.env |= {"OMP_TARGET_OFFLOAD": "mandatory", "GOMPY_REMOTE_TIMEOUT": "60"}
    if reason := obstacle(tools):
        pytest.skip(reason)
    tools.ok("gompcc", "-O2", "-fopenmp", PROGRAMS / "remote_maps.c", "-o", "remote_maps")
    return tools


def on_ranks(tools: Tools, count: int, *words: str) -> subprocess.CompletedProcess[str]:
    """``gompy cluster mpi`` on so many ranks."""
    return tools.run("mpirun.openmpi", "-n", str(count), tools.bin / "gompy", "cluster", "mpi", *words)


def test_a_device_for_each_rank_but_the_first(tools: Tools) -> None:
    """The program has the devices, its output and status are the job's, and no server is left."""
    done = on_ranks(tools, 3, "--", "./remote_maps")
    assert (done.returncode, done.stdout) == (0, "2 devices, 0 wrong, 29\n"), done
    done = on_ranks(tools, 2, "--per-worker", "2", "--tls", "--", "./remote_maps")
    assert (done.returncode, done.stdout) == (0, "2 devices, 0 wrong, 29\n"), done
    done = on_ranks(tools, 2, "--", "sh", "-c", "echo $PPID >parent; exit 7")
    assert done.returncode == 7
    assert not os.path.exists(f"/proc/{(tools.work / 'parent').read_text().strip()}")


def test_what_gives_no_devices(tools: Tools) -> None:
    """One line, and every rank ends."""
    done = on_ranks(tools, 1, "--", "./remote_maps")
    line = "gompy cluster: error: one rank only: the devices are on the others (mpirun -n 2, or more)"
    assert done.returncode == 1 and done.stderr.count(line) == 1
    done = on_ranks(tools, 2, "--device", "nvptx", "--", "./remote_maps")
    assert done.returncode == 1 and "it has no device of kind nvptx" in done.stderr
    done = on_ranks(tools, 2, "--per-worker", "65", "--", "./remote_maps")
    assert done.returncode == 1 and "a program has 64 at most" in done.stderr
