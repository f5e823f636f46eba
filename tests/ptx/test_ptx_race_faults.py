"""A fault of the host's code that tells of a race, in the middle of a kernel, goes to the handler that was there."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ptx_tools import HEAD, needs_executor

from gompy.ptx.device import CHECK_RACE, Device

pytestmark = needs_executor

CLOSED = r"""
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
static char *page;
static int opened;
static struct sigaction before;
static void
on_fault (int number, siginfo_t *info, void *context)
{
  if ((char *) info->si_addr < page || (char *) info->si_addr >= page + 4096)
    signal (number, SIG_DFL);
  mprotect (page, 4096, PROT_READ | PROT_WRITE);
  opened++;
}
int
begin (void)
{
  struct sigaction want = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
  page = mmap (NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED || sigaction (SIGSEGV, &want, &before);
}
void touch (void) { *(volatile char *) page = 1; }
int end (void) { sigaction (SIGSEGV, &before, NULL); return opened; }
"""
TWO_WARPS = (
    HEAD
    + """
.visible .entry k (.param .u64 to)
{
  .reg .u64 %d, %a; .reg .u32 %t, %v;
  ld.param.u64 %d, [to]; mov.u32 %t, %tid.x;
  mad.wide.u32 %a, %t, 4, %d; st.global.u32 [%a], %t;
  xor.b32 %t, %t, 63; mad.wide.u32 %a, %t, 4, %d;
  ld.global.u32 %v, [%a]; st.global.u32 [%a+1024], %v;
  ret;
}
"""
)


def test_a_closed_page_of_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed.c").write_text(CLOSED)
    subprocess.run(["gcc", "-shared", "-fPIC", "closed.c", "-o", "closed.so"], cwd=tmp_path, check=True)
    closed = ctypes.CDLL(str(tmp_path / "closed.so"))
    warn = Device.warn

    def warn_and_touch(made: Device, *arguments: Any) -> None:
        closed.touch()
        warn(made, *arguments)

    monkeypatch.setattr(Device, "warn", warn_and_touch)
    with Device(1 << 22, CHECK_RACE) as made:
        kernel = made.load(TWO_WARPS).function("k")
        to = made.upload(bytes(4096))
        assert closed.begin() == 0
        try:
            kernel.launch((1, 1, 1), (64, 1, 1), [to])
        finally:
            opened = closed.end()
        assert any(line.startswith("race on") for line in made.warnings)
    assert opened == 1
