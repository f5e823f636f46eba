"""Whether this machine has an OpenCL device."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys


@functools.cache
def opencl_obstacle() -> str:
    """Why there is no OpenCL device here; "" if there is one."""
    if not importlib.util.find_spec("pyopencl"):
        return "not installed: the extra 'opencl' (pyopencl)"
    devices = "[d for p in c.get_platforms() for d in p.get_devices()]"
    code = f"import pyopencl as c; print(sum(bool(d.svm_capabilities & 2) for d in {devices}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 and done.stdout.strip() not in ("", "0") else "no OpenCL device (pocl-opencl-icd)"
