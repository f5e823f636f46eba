"""The PTX compiler as a command: `python -m gompy.ptx check FILE…`; the executor starts it too."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

NO_COMPILER = 2
"""Exit status for what is missing (build.py)."""

try:
    from gompy.ptx.backend import start

    if sys.argv[1:2] == ["fill"]:
        start()  # loads LLVM while the modules below are loaded and the PTX is read

    from gompy.ptx.build import main
except ImportError as error:  # compiled for another Python, or not at all
    python = f"{sys.executable} ({sys.version.split()[0]})"
    mend = "build gompy with this Python, or set GOMPY_PYTHON to the one it was built with"
    answer = f"\0{NO_COMPILER}" if sys.argv[1:3] == ["fill", "-"] else ""
    text = f"compiling PTX with {python}: {error}: {mend}"
    if "failed to map segment" in str(error) or "annot allocate memory" in str(error):
        text = "compiling PTX takes more memory than there is (see docs/ptx.md)"
    print(f"error: {text}\n{answer}", end="")
    sys.exit(NO_COMPILER)

if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # taking Python and LLVM apart first would keep the program waiting
