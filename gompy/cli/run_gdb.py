"""``gompy run --under gdb``: the command that has gdb run a program and its devices together (gompy/gdb)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gompy.abi import targets
from gompy.cli.run_program import RunError
from gompy.driver.paths import PREFIX

if TYPE_CHECKING:
    from gompy.cli.run_program import Program

EXTENSION: Final = os.path.join(PREFIX, "gompy", "gdb", "offload.py")
MAX_REGIONS: Final = 200
"""Regions at which breakpoints are set; more would take gdb minutes."""
SCRIPTED: Final = ("-batch", "--batch", "-x", "-ex", "--eval-command", "--command")


def gdb_command(words: list[str], program: Program, arguments: list[str], environment: Mapping[str, str]) -> list[str]:
    """The command line: gdb with the extension, the program's settings, and, unless scripted, a run to a region.

    ``words``: gdb with its options.  What ``environment`` has beside the present one is set for the program alone.
    """
    gpu = program.cuda or runs_on_gpu(program, environment)
    if program.cuda:
        from gompy.cli.cuda import environment as of_cuda

        environment = {**environment, **of_cuda(False)}
    if not gpu and targets.INTELMIC.name not in program.targets:
        raise RunError(f"{program.name}: it has no code for a device whose process gdb can look into")
    command = [word for word in words if word != "--args"]
    first = ["-iex", f"source {EXTENSION}"]
    first += ["-iex", f"python RUN.regions = {program.regions[:MAX_REGIONS]!r}"]
    if gpu:
        first += ["-iex", "python RUN.launches = 'cuLaunchKernel'"]
        environment = {"GOMPY_CUDA_DEBUG": "1", **environment}
        first += ["-iex", "set detach-on-fork on"]  # no device, but compilers of kernels are started
    for name, value in environment.items():
        if os.environ.get(name) != value:
            first += ["-iex", f"set environment {name} {value}"]
    for name in os.environ.keys() - environment.keys():
        first += ["-iex", f"unset environment {name}"]
    last = [] if any(word in SCRIPTED for word in command) else ["-ex", "offload run"]
    return [command[0], *first, *command[1:], *last, "--args", program.path, *arguments]


def runs_on_gpu(program: Program, environment: Mapping[str, str]) -> bool:
    """Whether a program's regions run on a GPU, the emulated one or another."""
    if targets.NVPTX.name not in program.targets:
        return False
    wanted = environment.get("GOMPY_PLUGINS", "")
    return targets.INTELMIC.name not in program.targets or wanted.split(",")[0] == targets.NVPTX.plugin
