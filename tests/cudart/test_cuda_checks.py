"""What is told of a program's own mistakes with memory: blocks that are never freed, copies past the host's memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from test_cuda_cc import PROGRAMS, compiled, result

pytestmark = [has_driver, needs_cuda_compiler]


def lines(told: str) -> list[str]:
    """Without addresses and folders, of which a part is left out where the program has it as well."""
    return re.sub("0x[0-9a-f]+", "0x…", re.sub(r"[^ ]*tests/programs/", "", told)).splitlines()


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(("check", "option"), [("1", "-O0"), ("leak", "-O2"), ("memory,leak", "-O0")])
def test_memory_that_is_never_freed(tmp_path: Path, check: str, option: str) -> None:
    """At -O2, too, where clang takes the header's templates into the program's functions."""
    status, _, told = result(compiled(tmp_path, PROGRAMS / "cuda_leak.cu", "-g", option), GOMPY_CHECK=check)
    assert status == 0
    assert sorted(lines(told)) == [
        "libcuda (gompy): warning: 300 bytes of device memory in 3 blocks are never freed: allocated at cuda_leak.cu:7",
        "libcuda (gompy): warning: 40 bytes of managed memory at 0x… are never freed: allocated at cuda_leak.cu:9",
        "libcuda (gompy): warning: 64 bytes of pinned host memory at 0x… are never freed: allocated at cuda_leak.cu:8",
    ]


@pytest.mark.slow
def test_leaks_of_a_program_without_lines(tmp_path: Path) -> None:
    """They are its own functions', not those of the header's templates."""
    _, _, told = result(compiled(tmp_path, PROGRAMS / "cuda_leak.cu"), GOMPY_CHECK="leak")
    assert len(lines(told)) == 3
    assert all(": allocated at main+0x" in line for line in lines(told))


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("check", ["0", "memory"])
def test_leaks_are_told_if_asked_for(tmp_path: Path, check: str) -> None:
    assert result(compiled(tmp_path, PROGRAMS / "cuda_leak.cu", "-g"), GOMPY_CHECK=check) == (0, "", "")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("check", ["0", "1"])
def test_a_copy_past_the_hosts_memory(tmp_path: Path, check: str) -> None:
    status, out, told = result(compiled(tmp_path, PROGRAMS / "cuda_past.cu", "-g"), GOMPY_CHECK=check)
    assert (status, out) == (0, "invalid argument\ninvalid argument\nno error\n")
    assert [re.sub(r"has \d+ bytes", "has … bytes", line) for line in lines(told)] == [
        "libcuda (gompy): error: copy of 67108864 bytes from the device at cuda_past.cu:9: the destination, 0x… in the "
        "host's memory (table), has … bytes up to the end of memory that can be written, not 67108864",
        "libcuda (gompy): error: copy of 4 bytes to the device at cuda_past.cu:10: the source, 0x… in the host's "
        "memory, has … bytes up to the end of memory that can be read, not 4",
    ]


@pytest.mark.slow
def test_copies_and_fills_past_a_block(tmp_path: Path) -> None:
    """GOMPY_CHECK says what is missing; without it they are refused as by CUDA, in silence."""
    program = compiled(tmp_path, PROGRAMS / "cuda_past_block.cu", "-g")
    refused = "invalid argument\n" * 5 + "no error\n"
    assert result(program) == (0, refused, "")
    status, out, told = result(program, GOMPY_CHECK="memory")
    assert (status, out) == (0, refused)
    assert [line.replace("libcuda (gompy): error: ", "") for line in lines(told)] == [
        "copy of 800 bytes to the device at cuda_past_block.cu:10: the destination, 0x… in device memory, has 400 "
        "bytes up to the end of its block, not 800",
        "copy of 400 bytes from the device at cuda_past_block.cu:11: the source, 0x… in device memory, has 200 bytes "
        "up to the end of its block, not 400",
        "copy of 400 bytes to the device at cuda_past_block.cu:12: the destination, 0x… (table), is no device memory",
        "fill of 400 bytes to the device at cuda_past_block.cu:13: the destination, 0x… in device memory, has 396 "
        "bytes up to the end of its block, not 400",
        "fill of 400 bytes to the device at cuda_past_block.cu:14: the destination, 0x…, is no device memory",
    ]


SANDBOX = """
#include <cstddef>
#include <cstdio>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static int table[1 << 16];
int main ()
{
  struct sock_filter code[] = {
    { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof (struct seccomp_data, nr) },
    { BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_msync },
    { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_madvise },
    { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | 1 },
    { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
  };
  struct sock_fprog filter = { 5, code };
  char *device;
  cudaMalloc (&device, sizeof table);
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
    return 77;
  std::puts (cudaGetErrorString (cudaMemcpy (table, device, sizeof table, cudaMemcpyDeviceToHost)));
  return cudaFree (device);
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("check", ["0", "memory"])
def test_a_sandbox_that_refuses_to_tell_of_memory(tmp_path: Path, check: str) -> None:
    """Then it is not known what the host has, which is no reason against a copy."""
    (tmp_path / "sandbox.cu").write_text(SANDBOX)
    status, out, told = result(compiled(tmp_path, tmp_path / "sandbox.cu"), GOMPY_CHECK=check)
    if status == 77:
        pytest.skip("no filter of system calls may be set here")
    assert (status, out, told) == (0, "no error\n", "")
