"""The same by a compiled module, which make MODULE.so builds: python3 by_modules.py scale_cython."""

import importlib
import sys

import numpy as np

module = importlib.import_module(sys.argv[1])
x, y = np.arange(5.0), np.ones(5)
device = module.scale_add(10.0, x, y) if sys.argv[1] == "scale_f2py" else module.add(10.0, x, y)
print(y, "on the device" if device else "on the host")
