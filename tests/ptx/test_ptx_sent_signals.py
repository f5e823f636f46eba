"""SIGSEGV and SIGBUS that somebody sends, where kernels have run: what the program has set for them is done."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")
PROGRAM = f"""import ctypes, os, signal, sys, threading
sys.path.insert(0, {str(ROOT)!r})
from gompy.ptx.device import Device
TEXT = '''.version 6.0
.target sm_35
.address_size 64
.visible .entry wait (.param .u64 a)
{{
  .reg .u64 %a; .reg .u32 %v; .reg .pred %p;
  ld.param.u64 %a, [a];
  st.volatile.global.u32 [%a], 1;
spin:
  ld.volatile.global.u32 %v, [%a];
  setp.ne.u32 %p, %v, 2;
  @%p bra spin;
  ret;
}}
'''
number, way = int(sys.argv[1]), sys.argv[2]
came = []
if way == "ignored":
    signal.signal(number, signal.SIG_IGN)
if way == "handled":
    signal.signal(number, lambda *_: came.append(1))
with Device(1 << 22) as device:
    place = device.upload(bytes(4))
    word = ctypes.c_uint32.from_address(place)
    kernel = device.load(TEXT).function("wait")
    def answer():
        while word.value != 1:
            pass
        if sys.argv[3:] == ["meanwhile"]:
            for thread in os.listdir("/proc/self/task"):  # one of them runs the kernel
                if int(thread) != threading.get_native_id():
                    ctypes.CDLL(None).syscall(ctypes.c_long(234), os.getpid(), int(thread), number)  # tgkill
        word.value = 2
    threading.Thread(target=answer, daemon=True).start()
    kernel.launch((1, 1, 1), (1, 1, 1), [place])
    for _ in range(1 if way == "usual" else 2):
        os.kill(os.getpid(), number)
        for _ in range(1000):
            pass  # Python calls handlers between its instructions
print("lived", len(came))
"""
SIGNALS = (signal.SIGSEGV, signal.SIGBUS)


def run(number: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, str(int(number)), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("when", ["afterwards", "meanwhile"])
def test_an_ignored_signal_stays_ignored(number: int, when: str) -> None:
    done = run(number, "ignored", when)
    assert (done.returncode, done.stdout) == (0, "lived 0\n"), done.stderr


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("when", ["afterwards", "meanwhile"])
def test_a_signal_ends_the_program(number: int, when: str) -> None:
    done = run(number, "usual", when)
    assert (done.returncode, done.stdout) == (-number, ""), done.stderr


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("when", ["afterwards", "meanwhile"])
def test_a_handler_is_called(number: int, when: str) -> None:
    """One that is sent while a kernel runs is no fault of the kernel's."""
    done = run(number, "handled", when)
    assert done.returncode == 0 and done.stdout.startswith("lived "), done.stderr
    assert int(done.stdout.split()[1]) >= 2  # two that are sent before a handler runs are one
