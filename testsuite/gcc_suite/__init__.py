"""GCC's own libgomp tests without DejaGnu: where they come from, the report, the lists of known failures.

How a test is read and carried out is in ``gompy.dg``.
"""

from __future__ import annotations

import sys
from pathlib import Path

# What both suites share is beside this package, however it was imported: by make, by the tests, by a script.
sys.path[:0] = [path for path in (str(Path(__file__).resolve().parents[1]),) if path not in sys.path]
