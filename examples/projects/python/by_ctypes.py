"""numpy arrays to a library with regions, by ctypes; make libscale.so builds it."""

import ctypes
from pathlib import Path

import numpy as np

library = ctypes.CDLL(str(Path(__file__).with_name("libscale.so")))
array = np.ctypeslib.ndpointer(dtype=np.float64, ndim=1, flags="C_CONTIGUOUS")
library.scale_add.argtypes = [ctypes.c_int, ctypes.c_double, array, array]

x, y = np.arange(5.0), np.ones(5)
device = library.scale_add(len(x), 10.0, x, y)
print(y, "on the device" if device else "on the host")
