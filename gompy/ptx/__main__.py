"""The PTX compiler as a command: `python -m gompy.ptx check FILE…`; the executor starts it too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gompy.ptx.build import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
