"""Events of the runtime: a subscriber gets each, in order, from both doors; none of what it did not ask for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
GOMPCC = Path(sys.executable).parent / "gompcc"
if not PLUGIN.exists() or not GOMPCC.exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

CONSTRUCT, COPY, LAUNCH = 1, 32, 64


def events(folder: Path, door: str, option: str, kinds: int | None = None) -> list[str]:
    """What the program of a door and its subscriber print."""
    program = folder / door
    words = [GOMPCC, option, f"-I{ROOT}", PROGRAMS / f"hooks_{door}.c", PROGRAMS / "hooks.c", "-o", program]
    subprocess.run(words, check=True, cwd=folder)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP", "ACC_"))}
    env |= {"HOOKS": str(kinds)} if kinds is not None else {}
    done = subprocess.run([program], capture_output=True, text=True, env=env, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(("door", "option"), [("openmp", "-fopenmp"), ("openacc", "-fopenacc")])
def test_all_events_of_a_door(tmp_path: Path, door: str, option: str) -> None:
    """Exactly these, each end after its begin, with what the subscriber left there."""
    assert events(tmp_path, door, option) == (PROGRAMS / f"hooks_{door}.txt").read_text().splitlines()


def test_only_what_was_asked_for(tmp_path: Path) -> None:
    """A subscriber's kinds are its own."""
    lines = events(tmp_path, "openmp", "-fopenmp", COPY | LAUNCH)
    assert {line.split()[1] for line in lines[:-1] if line[0] in "{}-"} == {"copy", "launch"}
    assert not [line for line in events(tmp_path, "openmp", "-fopenmp", 0) if line[0] in "{}-"]
