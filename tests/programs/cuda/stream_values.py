"""Two streams fill one block: `stream_values.py LIBCUDA first|second|none`: when the wait for the other's word is asked
for, if it is."""

import ctypes
import sys

cuda = ctypes.CDLL(sys.argv[1])
u64, word, handle = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p


def ok(name: str, *words: object) -> None:
    """Call it; it succeeds."""
    result = getattr(cuda, name)(*words)
    assert result == 0, (name, result)


def wait() -> None:
    """The first stream waits for the word, and fills."""
    if sys.argv[2] != "none":
        ok("cuStreamWaitValue32_v2", a, flag, word(1), word(0))
    ok("cuMemsetD8Async", block, 1, u64(4096), a)


def write() -> None:
    """The second one fills, and writes the word."""
    ok("cuMemsetD8Async", block, 2, u64(4096), b)
    ok("cuStreamWriteValue32_v2", b, flag, word(1), word(0))


device, context, flag, block, a, b = ctypes.c_int(), handle(), u64(), u64(), handle(), handle()
ok("cuInit", 0)
ok("cuDeviceGet", ctypes.byref(device), 0)
ok("cuCtxCreate_v2", ctypes.byref(context), 0, device)
for place in (flag, block):
    ok("cuMemAlloc_v2", ctypes.byref(place), u64(4096))
ok("cuMemsetD8_v2", flag, 0, u64(64))
for stream in (a, b):
    ok("cuStreamCreate", ctypes.byref(stream), 1)
for step in (write, wait) if sys.argv[2] == "second" else (wait, write):
    step()
ok("cuCtxSynchronize")
