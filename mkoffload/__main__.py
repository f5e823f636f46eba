"""``accel/x86_64-intelmicemul-linux-gnu/mkoffload``: python -I -S of this file, so the path is set up here."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from gompy.objects import ice
from mkoffload.intelmic import build
from mkoffload.main import main

if None in (sys.stdin, sys.stdout, sys.stderr):
    from gompy.objects import standard

    standard.open_closed()
sys.excepthook = lambda *error: ice.report("mkoffload", *error)
status = main(sys.argv[1:], build)
sys.stderr.flush()
os._exit(status)
