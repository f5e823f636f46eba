"""Regions of a recording run in worker processes, and their results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

from gompy import PACKAGE, UserError
from gompy.replay import REAL
from gompy.replay.recording import Recording, Region

OWN = ("GOMPY_RECORD_FILE", "GOMPY_RECORD_KERNELS", "GOMPY_CHECK_LOG")
"""What a run that is recorded has set, and these are not."""


@dataclass
class Result:
    """What became of a region: contents of its memory, or why there are none; ``ended``: it has ended its process."""

    contents: list[bytes] = field(default_factory=list)
    why: str = ""
    ended: bool = False
    same: bool = True
    pointers: int = 0
    stores: list[dict[str, Any]] = field(default_factory=list)


def replay(recording: Recording, regions: list[Region], where: str) -> dict[int, Result]:
    """Run regions on a kind of device; by number.  UserError: nothing can run there."""
    results: dict[int, Result] = {}
    waiting = list(regions)
    while waiting:
        # OpenACC's launches need another start of the plugin than OpenMP's, and kernels of CUDA no plugin.
        batch = [region for region in waiting if sort_of(region) == sort_of(waiting[0])]
        with tempfile.TemporaryDirectory(prefix="gompy-replay-") as folder:
            path = os.path.join(folder, "result")
            code = start(recording.path, where, path, batch)
            done, begun = collect(path, results)
        if begun is not None:
            results[begun] = Result(why=f"the region ended its process: {ending(code)}", ended=True)
        elif not done:
            raise UserError(f"the process of the replay ended: {ending(code)}")
        waiting = [region for region in waiting if region.number not in results]
    return results


def sort_of(region: Region) -> tuple[bool, bool]:
    """What must be alike of regions that run in one process."""
    return region.dims is None, region.is_kernel


def stores_of(recording: Recording, region: Region, where: str, ranges: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Run a region: what it has stored to some (address, bytes), in order: ``address``, ``value``, ``place``, ``who``.

    UserError: it has not come to its end, or nobody sees what it stores there.
    """
    with tempfile.TemporaryDirectory(prefix="gompy-replay-") as folder:
        path, wanted = os.path.join(folder, "result"), os.path.join(folder, "ranges")
        with open(wanted, "w", encoding="ascii") as file:
            json.dump(ranges, file)
        code = start(recording.path, where, path, [region], wanted)
        results: dict[int, Result] = {}
        _, begun = collect(path, results)
        if begun is not None or region.number not in results:
            raise UserError(f"the region ended its process: {ending(code)}")
        if results[region.number].why:
            raise UserError(results[region.number].why)
        return results[region.number].stores


def ending(code: int) -> str:
    """How a process has ended."""
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def start(path: str, where: str, result: str, regions: list[Region], stores: str = "") -> int:
    """A worker; its exit status, negative for a signal.  ``stores``: a file that says what stores it is to watch."""
    env = {name: value for name, value in os.environ.items() if name not in OWN}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (os.path.dirname(PACKAGE), env.get("PYTHONPATH"))))
    if where == REAL:
        where, env["GOMPY_CUDA"] = "nvptx", "real"
    if where != "host":
        env["GOMPY_PLUGINS"] = where
    if stores:
        env |= {"GOMPY_CHECK": "race", "GOMPY_CUDA_STORES": f"{stores}.gpu"}  # the emulated GPU's part
    else:
        env.pop("GOMPY_CUDA_STORES", None)
    numbers = [str(region.number) for region in regions]
    command = [sys.executable, "-m", "gompy.replay.worker", path, where, result, stores, *numbers]
    sys.stdout.flush()
    return subprocess.run(command, env=env, check=False).returncode


def collect(path: str, results: dict[int, Result]) -> tuple[bool, int | None]:
    """Read what a worker has written: whether it has done anything, and which region was not brought to its end."""
    begun: int | None = None
    done = False
    with open(path, "rb") if os.path.exists(path) else open(os.devnull, "rb") as file:
        for text in file:
            line: dict[str, Any] = json.loads(text)
            number = line["region"]
            if line["is"] == "begin":
                begun = number
                continue
            begun, done = None, True
            if line["is"] == "refused":
                if number < 0:
                    raise UserError(line["why"])
                results[number] = Result(why=line["why"])
                continue
            contents = [file.read(size) for size in line["sizes"]]
            results[number] = Result(contents, "", False, line["same"], line["pointers"], line.get("stores", []))
    return done, begun
