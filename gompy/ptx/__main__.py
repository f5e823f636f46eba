"""The PTX compiler as a command: `python -m gompy.ptx check FILE…`; the executor starts it too."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

from gompy.ptx.backend import start

if sys.argv[1:2] == ["fill"] and len(os.sched_getaffinity(0)) > 1:
    start()  # loads LLVM while the modules below are loaded and the PTX is read

from gompy.ptx.build import main

if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # taking Python and LLVM apart first would keep the program waiting
