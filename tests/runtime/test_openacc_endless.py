"""A region in a queue of OpenACC that never ends: the program's end waits for it, as for any; a signal ends both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from intelmic_driver import PLUGIN, gone

BIN = Path(sys.executable).parent
if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

ENDLESS = r"""
#include <stdio.h>
int main (void)
{
  int go = 1;
#pragma acc parallel async copyin (go)
  {
    volatile int *at = &go;
    while (*at)
      ;
  }
  puts ("main ends");
  fflush (stdout);
}
"""
TARGETS = [
    pytest.param("x86_64-intelmicemul-linux-gnu", id="intelmic"),
    pytest.param("nvptx-none", id="nvptx", marks=[has_driver, has_executor]),
]


def children(pid: int) -> list[int]:
    """The processes that one has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("target", TARGETS)
def test_signals_end_a_program_that_waits_at_its_end(tmp_path: Path, target: str) -> None:
    """As Ctrl-C does, and what a batch system sends; the device's process ends, too."""
    (tmp_path / "endless.c").write_text(ENDLESS)
    words = [BIN / "gompcc", "-fopenacc", f"-foffload={target}", "endless.c", "-o", "endless"]
    subprocess.run(words, cwd=tmp_path, check=True)
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        code = f"import os, signal; signal.signal({sent:d}, signal.SIG_DFL); os.execv('./endless', ['endless'])"
        env = os.environ | {"GOMPY_CUDA": "emulated"}
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            try:
                assert program.stdout.readline() == "main ends\n"
                devices = children(program.pid)
                program.send_signal(sent)
                assert program.wait(60) == -sent
                assert all(gone(device) for device in devices)
            finally:
                program.kill()
