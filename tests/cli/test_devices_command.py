"""The command ``gompy devices``: what it lists, with the settings that a program would have."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from driver_tools import Tools, has_all

from gompy.cli.main import version
from gompy.driver import paths

pytestmark = has_all
GPU = "libgomp-plugin-nvptx.so.1     CUDA Driver 13.0"
MIC = "libgomp-plugin-intelmic.so.1"


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    made = Tools(bin_folder, tmp_path)
    made.env |= {"LC_ALL": "C", "GOMPY_CUDA_MEMORY": "1G"}
    return made


def test_one_kind(tools: Tools) -> None:
    env = {"OFFLOAD_EMUL_NUM": "2", "OFFLOAD_EMUL_MEM": "512M"}
    cores = len(os.sched_getaffinity(0))
    assert tools.run("gompy", "devices", "--device", "intelmic", env=env).stdout == (
        f"kind      number  cores   memory  plugin                        {'version':<{6 + len(version())}}  name\n"
        f"intelmic       0  {cores:>5}  512 MiB  {MIC}  gompy {version()}  emulated Intel MIC\n"
        f"intelmic       1  {cores:>5}  512 MiB  {MIC}  gompy {version()}  emulated Intel MIC\n"
    )


def test_gpus(tools: Tools) -> None:
    done = tools.run("gompy", "devices", "--device", "nvptx", env={"GOMPY_CUDA_DEVICES": "sm_70:4G:2,sm_90:2G:3"})
    rows = done.stdout.splitlines()
    assert f"nvptx       0      2   4 GiB  {GPU}  gompy emulated GPU (sm_70)".split() in [row.split() for row in rows]
    assert f"nvptx       1      3   2 GiB  {GPU}  gompy emulated GPU (sm_90)".split() in [row.split() for row in rows]


@pytest.mark.slow
def test_why_there_is_none(tools: Tools) -> None:
    done = tools.run("gompy", "devices", "--device", "intelmic", env={"OFFLOAD_EMUL_NUM": "0"})
    assert (done.returncode, done.stdout) == (1, "intelmic: no device: it finds no device\n")
    done = tools.run("gompy", "devices", "--device", "gone", env={"GOMPY_PLUGINS": "gone"})
    assert done.returncode == 1 and done.stdout.startswith("gone: no device: ")
    assert "cannot open shared object file" in done.stdout
    done = tools.run("gompy", "devices", "--device", "python")
    assert done.stdout.startswith("python: no device: GOMPY_PYTHON_DEVICE is not set; ")


def test_json(tools: Tools) -> None:
    report = json.loads(tools.run("gompy", "devices", "--json", "--device", "intelmic").stdout)
    assert report == {
        "schema": 1,
        "kinds": [
            {
                "kind": "intelmic",
                "driver": "",
                "plugin": os.path.join(paths.LIBDIR, MIC),
                "why": "",
                "devices": [
                    {
                        "number": 0,
                        "name": "emulated Intel MIC",
                        "memory": 64 << 30,
                        "cores": len(os.sched_getaffinity(0)),
                        "version": f"gompy {version()}",
                    }
                ],
            }
        ],
    }


def test_settings_that_hide_devices_do_not_count(tools: Tools) -> None:
    """Whether regions are to run on the host is the program's business, not the machine's."""
    assert tools.run("gompy", "devices", "--device", "intelmic", env={"OMP_TARGET_OFFLOAD": "disabled"}).returncode == 0


def test_usage(tools: Tools) -> None:
    done = tools.run("gompy", "devices", "--device", "nosuch")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gompy devices: error: no plugin 'nosuch'; there are intelmic, ")
    assert "gompy devices --json" in tools.ok("gompy", "devices", "--help")
