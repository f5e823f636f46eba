"""GCC's lto-wrapper, as the linker plugin starts it: python -I -S of this file, so the path is set up here."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from gompy.objects import ice
from lto_wrapper.main import main

if None in (sys.stdin, sys.stdout, sys.stderr):
    from gompy.objects import standard

    standard.open_closed()
sys.excepthook = lambda *error: ice.report("lto-wrapper", *error)
status = main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
