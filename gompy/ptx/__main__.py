"""The PTX compiler as a command: `python -m gompy.ptx check FILE…`; the executor starts it too."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

from gompy.ptx.build import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
