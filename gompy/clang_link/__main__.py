"""clang's tools, as clang starts them: python -I -S of this file, so the path is set up here."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import sys

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # Ctrl-C while modules are loaded is no traceback
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from gompy.tools.toolmain import toolmain

if sys.argv[1:2] == ["--as-packager"]:
    del sys.argv[1]
    toolmain("clang-offload-packager", "gompy.clang_link.packager", "work")
toolmain("clang-linker-wrapper", "gompy.clang_link.main", "work")
