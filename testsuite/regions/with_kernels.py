"""Run a program with OpenCL kernels made of the JSON beside it: with_kernels.py PROGRAM.

opencl.py puts this before each program.  ``kernels.json`` gets what was made, refused and run, and how the program
ended without kernels and with them, on the same device.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

GOMPY: Final = Path(sys.executable).with_name("gompy")
RAN: Final = re.compile(r"^gompy: virtual opencl: (.*): cl/.*\.cl, \d+ times$", re.MULTILINE)
BROKEN: Final = re.compile(r"^gompy: cl/(.*)\.cl: (.*)$", re.MULTILINE)


def run(command: list[str], kernels: str) -> tuple[int, str, str]:
    """Status, output, messages."""
    environment = {
        **os.environ,
        "GOMPY_PLUGINS": "python",
        "GOMPY_PYTHON_DEVICE": "gompy.virtual:Virtual",
        "GOMPY_VIRTUAL": "opencl",
        "GOMPY_KERNELS": kernels,
        "GOMPY_STATS": "1",
    }
    done = subprocess.run(command, env=environment, capture_output=True, timeout=200, check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def main() -> int:
    """Make, run, note; the status with kernels."""
    command = sys.argv[1:]
    made = subprocess.run([GOMPY, "regions", "--kernels", "cl", "json"], capture_output=True, text=True, check=False)
    told = [line.partition(": ") for line in made.stdout.splitlines()]
    refused = [text.removeprefix("no kernel: ") for _, _, text in told if text.startswith("no kernel: ")]
    status, output, _ = run(command, "")
    again, same, messages = run(command, "cl")
    found = {
        "regions": len(told),
        "refused": refused,
        "broken": [text for _, text in BROKEN.findall(messages)],
        "ran": len(RAN.findall(messages)),
        "without": status,
        "with": again,
        "equal": output == same,
    }
    Path("kernels.json").write_text(json.dumps(found))
    return again if again >= 0 else 128 - again


if __name__ == "__main__":
    sys.exit(main())
