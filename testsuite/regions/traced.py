"""Run a program, and compare what it asks of the runtime with the JSON beside it: traced.py LIBRARY PROGRAM.

gcc_tests.py puts this before each program.  The documents are in the folder ``json``; what was found is written to
``traced.json``.  The program's output and status are its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[2] / "tests")]

import regions_trace  # noqa: E402


def main() -> int:
    """Run; compare; the program's status."""
    library, *command = sys.argv[1:]
    done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": library}, stderr=subprocess.PIPE, check=False)
    text = done.stderr.decode(errors="replace")
    sys.stderr.write("".join(line for line in text.splitlines(True) if not line.startswith("trace: ")))
    sys.stderr.flush()
    regions, others, wrong = regions_trace.compare(Path(command[0]), Path("json"), text)
    Path("traced.json").write_text(json.dumps([regions, others, wrong]))
    if done.returncode < 0:
        signal.signal(-done.returncode, signal.SIG_DFL)
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
