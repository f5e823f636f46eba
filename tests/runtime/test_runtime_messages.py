"""What the runtime says: GOMP_DEBUG's lines, copies beyond the host's memory, devices without code for them."""

from __future__ import annotations

import re
import shlex
import signal
from pathlib import Path

import pytest
from runtime_tools import LIBGOMPY, Run, build_plugin, compile_program, run

ADDRESS = r"0x[0-9a-f]+"

DEBUG = """
#include <stdlib.h>
int main (void) {
  int a[10] = {1}, b = 2, c = 3, *p = malloc (40); struct { int n; int *p; } s = { 10, p };
  #pragma omp target enter data map(to: a)
  #pragma omp target map(tofrom: a, b) firstprivate(c)
  a[0] += b + c + (p != 0);
  #pragma omp target update from(a) to(p[:10])
  #pragma omp target data map(to: s.n) map(to: s.p[:s.n])
  { }
  #pragma omp target exit data map(from: a) map(release: p[:10])
  return 0;
}
"""
SAID = [
    rf"target enter data in main: map to {ADDRESS}, 40 bytes: new, count 1, device {ADDRESS}",
    r"region main._omp_fn.0: firstprivate, the value 3",
    rf"region main._omp_fn.0: section without length {ADDRESS}: not present",
    rf"region main._omp_fn.0: map tofrom {ADDRESS}, 4 bytes: new, count 1, device {ADDRESS}",
    rf"region main._omp_fn.0: map tofrom {ADDRESS}, 40 bytes: present, count 2, device {ADDRESS}",
    r"region main._omp_fn.0: launched",
    rf"target update in main: to {ADDRESS}, 40 bytes: not present",
    rf"target update in main: from {ADDRESS}, 40 bytes: present, count 1",
    rf"target data in main: struct at {ADDRESS}: 1 members follow",
    rf"target data in main: map to {ADDRESS}, 4 bytes: new, count 1, device {ADDRESS}",
    rf"target data in main: map to {ADDRESS}, 40 bytes: new, count 1, device {ADDRESS}",
    rf"target data in main: attach of the pointer at {ADDRESS}: attached 1 times",
    rf"target exit data in main: from {ADDRESS}, 40 bytes: present, count 0, removed",
    rf"target exit data in main: release {ADDRESS}, 40 bytes: not present",
]


def test_debug_output_tells_each_map_and_launch(tmp_path: Path) -> None:
    build_plugin(tmp_path)
    program = compile_program(tmp_path, DEBUG)
    lines = [line for line in run(tmp_path, program, GOMP_DEBUG="1").err.splitlines() if "device 0" in line][:-1]
    patterns = [rf"libgompy: device 0 \(fake\): {text}" for text in SAID]
    assert sorted(p for p in patterns if not any(re.fullmatch(p, line) for line in lines)) == [], "\n".join(lines)
    assert len(lines) == len(SAID)
    assert len(run(tmp_path, program).err.splitlines()) == 1, "nothing without it"


FAULTS = """
#define _GNU_SOURCE
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void mine (int signo) { (void) signo; write (1, "handled\\n", 8); _exit (3); }
int main (int argc, char **argv) {
  int which = atoi (argv[1]), dev = omp_get_default_device ();
  size_t page = 4096, n = atoi (argv[2]);
  char *all = mmap (0, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *p = all + 32 * page - 100;
  munmap (all + 32 * page, 32 * page);
  if (argc > 3 && atoi (argv[3]) == 0) signal (SIGSEGV, mine);
  printf ("%p\\n", p); fflush (stdout);
  #pragma omp target
  { }
  if (argc > 3 && atoi (argv[3]) == 1) signal (SIGSEGV, mine);
  if (which == 0)
    #pragma omp target map(from: p[:n])
    p[0] = 1;
  else if (which == 1)
    #pragma omp target map(tofrom: p[:n])
    p[0] = 1;
  else if (which == 2) {
    #pragma omp target data map(from: p[:n])
    { }
  } else if (which == 3) {
    #pragma omp target enter data map(to: p[:n])
  } else if (which == 4) {
    #pragma omp target enter data map(alloc: p[:n])
    #pragma omp target exit data map(from: p[:n])
  } else if (which == 5) {
    #pragma omp target enter data map(alloc: p[:n])
    #pragma omp target update to(p[:n])
  } else if (which == 6)
    omp_target_memcpy (p, omp_target_alloc (n, dev), n, 0, 0, omp_get_initial_device (), dev);
  else if (which == 7) {
    mprotect (all, 32 * page, PROT_READ);
    #pragma omp target map(from: p[:50])
    p[0] = 1;
  } else
    *(volatile int *) 8 = 1;
}
"""
WHERE = [
    (0, r"region main\._omp_fn\.1", "from", "from {p}"),
    (1, r"region main\._omp_fn\.2", "to", "tofrom {p}"),
    (2, "target data in main", "from", "from {p}"),
    (3, "target enter data in main", "to", "to {p}"),
    (4, "target exit data in main", "from", "from {p}"),
    (5, "target update in main", "to", "to {p}"),
    (6, "omp_target_memcpy in main", "from", "host memory {p}"),
]


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    build_plugin(folder)
    return compile_program(folder, FAULTS)


def go(program: Path, tmp_path: Path, *arguments: object) -> Run:
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(map(str, (program, *arguments)))}\n")
    script.chmod(0o755)
    return run(program.parent, script, FAKE_LOG=str(tmp_path / "log"))


@pytest.mark.parametrize("size", [3000, 200000], ids=["small", "large"])
@pytest.mark.parametrize("case", WHERE, ids=lambda case: str(case[0]))
def test_copies_beyond_the_hosts_memory(
    faults: Path, tmp_path: Path, case: tuple[int, str, str, str], size: int
) -> None:
    which, construct, direction, mapped = case
    done = go(faults, tmp_path, which, size)
    line = next(line for line in done.err.splitlines() if "copying" in line)
    expected = (
        rf"libgomp: device 0 \(fake\): {construct}: copying {size} bytes {direction} the device "
        rf"\({mapped.format(p=done.out.strip())}, {size} bytes\): address {ADDRESS} is not memory of the host; "
        r"is the section longer than what it is of\?"
    )
    assert re.fullmatch(expected, line), line
    assert done.rc == 1


def test_copies_to_read_only_memory(faults: Path, tmp_path: Path) -> None:
    done = go(faults, tmp_path, 7, 50)
    assert re.search(r"region main\._omp_fn\.3: copying 50 bytes from .* may not be written$", done.err, re.MULTILINE)
    assert done.rc == 1


def test_other_faults_are_the_programs_own(faults: Path, tmp_path: Path) -> None:
    """No handler, one from before the devices were found, one from after: a fault of the program goes there."""
    assert go(faults, tmp_path, 8, 1).rc == -signal.SIGSEGV
    assert [go(faults, tmp_path, 8, 1, when).rc for when in (0, 1)] == [3, 3]
    first, second = (go(faults, tmp_path, 0, 3000, when) for when in (0, 1))
    assert (first.rc, second.rc) == (1, 3), "ours comes first if it was set last"
    assert "copying" in first.err and second.out.endswith("handled\n")


def test_acc_device_type_without_code_for_it(tmp_path: Path) -> None:
    build_plugin(tmp_path)
    program = compile_program(tmp_path, "int main (void) { int x = 0;\n#pragma acc parallel\nx = 1;\n}", "-fopenacc")
    said = {
        kind: run(tmp_path, program, ACC_DEVICE_TYPE=kind).err for kind in ("nvidia", "radeon", "intelmic", "other")
    }
    start = "libgomp: device type %s not supported"
    code = ": the program has no code for it; link it "
    assert start % "nvidia" + code + "with -foffload=nvptx-none\n" in said["nvidia"]
    assert start % "radeon" + code + "with -foffload=amdgcn-amdhsa\n" in said["radeon"]
    assert start % "intelmic" + code + "by gompcc, with -foffload=intelmic\n" in said["intelmic"]
    assert start % "other" + "\n" in said["other"]


STOCK_14 = """
#include <limits.h>
#include <stdlib.h>
#include <string.h>
/* libgomp 14's default device, as far as a program without devices of its own sees it.  */
static __thread int mine = INT_MIN;
int omp_get_default_device (void) {
  const char *offload = getenv ("OMP_TARGET_OFFLOAD"), *number = getenv ("OMP_DEFAULT_DEVICE");
  if (mine != INT_MIN) return mine;
  if (number) return atoi (number);
  return offload && !strcmp (offload, "mandatory") ? -4 : 0;
}
void omp_set_default_device (int n) { mine = n; }
"""
DEFAULT_DEVICE = """
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
static void *body (void *p) { int host = -1;
  #pragma omp target map(from: host)
  host = 0;
  printf ("%d %d\\n", omp_get_default_device (), host); return p; }
int main (int argc, char **argv) { pthread_t t; body (0); pthread_create (&t, 0, body, 0); pthread_join (t, 0);
  if (argc > 1) { fflush (stdout); omp_set_default_device (-4); body (0); } }
"""


@pytest.mark.parametrize("number", ["", "0"])
def test_default_device_of_libgomp_14(tmp_path: Path, number: str) -> None:
    """With mandatory and no device of its own it answers omp_invalid_device; the devices here are ours."""
    build_plugin(tmp_path)
    compile_program(tmp_path, STOCK_14, "-shared", "-fPIC", name="libstock.so")
    program = compile_program(tmp_path, DEFAULT_DEVICE)
    environment = {"OMP_TARGET_OFFLOAD": "mandatory"} | ({"OMP_DEFAULT_DEVICE": number} if number else {})
    done = run(tmp_path, program, LD_PRELOAD=f"{LIBGOMPY} libstock.so", **environment)
    assert (done.rc, done.out) == (0, "0 0\n0 0\n"), done.err
    asks = tmp_path / "asks"
    asks.write_text(f"#!/bin/sh\nexec {shlex.quote(str(program))} invalid\n")
    asks.chmod(0o755)
    done = run(tmp_path, asks, LD_PRELOAD=f"{LIBGOMPY} libstock.so", **environment)
    assert (done.rc, done.out) == (1, "0 0\n0 0\n"), "the program has asked for no device"
