"""A device that is changed while a program runs: its data moves, and the results stay bit for bit."""

from __future__ import annotations

import itertools
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all
from hypothesis import given
from hypothesis import strategies as st
from nvptx_tools import has_compiler as needs_nvptx
from opencl_tools import opencl_obstacle

from gompy.virtual.swap_variables import point
from gompy.virtual.window import Window

PLUGIN = ROOT / "gompy" / "_native" / "lib" / "libgomp-plugin-python.so.1"
has_plugin = pytest.mark.skipif(not PLUGIN.exists(), reason="the python plugin is not built: no libpython")
STEPS = 40
THERE = "there are memory, intelmic, nvptx, opencl:N, remote:N"
POLICY = f"""\
import random

class Often:
    def __init__(self):
        self.dice, self.left = random.Random(7), {STEPS}

    def after(self, region, backend, seconds):
        assert region.startswith("main._omp_fn.") and seconds > 0
        self.left -= 1
        if self.left >= 0:
            return self.dice.choice(NAMES)  # the one that it has: nothing is done
"""
KERNEL = """\
#pragma OPENCL FP_CONTRACT OFF
kernel void main__omp_fn_0 (ulong at)
{
  global ulong *words = (global ulong *) at;
  global double *b = (global double *) words[0], *a = (global double *) words[1];
  int n = *(global int *) &words[2];
  for (long i = 1 + get_global_id (0); i < n - 1; i += get_global_size (0))
    b[i] = (a[i - 1] + 2 * a[i] + a[i + 1]) / 4;
}
"""
HUNDRED = """\
import os, random, signal

class Hundred:
    \"\"\"A change after each region; after the sixtieth the server is killed, once nothing of it is used.\"\"\"

    def __init__(self):
        self.dice, self.changes, self.server = random.Random(11), 0, int(os.environ["SERVER"])

    def after(self, region, backend, seconds):
        if self.server and self.changes >= 60 and not backend.startswith("remote"):
            os.kill(self.server, signal.SIGKILL)
            self.server = 0
        if self.changes == 100:
            return None
        self.changes += 1
        return self.dice.choice([name for name in NAMES if name != backend])
"""
VARIABLE = r"""
#include <stdio.h>
#pragma omp declare target
int a = 5, table[70000];
static const int factors[4] = { 2, 3, 5, 7 };
int *where = &a;
#pragma omp end declare target
struct { int *p, n; } s;
int main (void)
{
  int sum = 0, *there = 0;
#pragma omp target map(from: there)
  there = &table[69999];
  s.p = there;
#pragma omp target enter data map(to: s)
  for (int i = 0; i < 30; i++)
    {
#pragma omp target map(tofrom: sum)
      {
        ++*where;
        ++*s.p;
        table[i]++;
        sum += factors[i % 4] * a;
      }
#pragma omp target update to (a)
    }
#pragma omp target update from (a, table)
  printf ("%d %d %d %d\n", a, table[69999], table[29], sum);
}
"""
THREADS = r"""
#include <stdio.h>
int main (void)
{
  int wrong = 0;
#pragma omp parallel num_threads (4) reduction (+: wrong)
  for (int i = 0; i < 20; i++)
    {
      int x[64], y = i;
      for (int k = 0; k < 64; k++)
        x[k] = k;
#pragma omp target map(tofrom: x)
      for (int k = 0; k < 64; k++)
        x[k] += y;
      for (int k = 0; k < 64; k++)
        wrong += x[k] != k + y;
    }
  printf ("%d wrong\n", wrong);
}
"""


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """The commands; programs run on the device that can be changed."""
    tools = Tools(bin_folder, tmp_path)
    tools.env |= {
        "GOMPY_PLUGINS": "python",
        "GOMPY_PYTHON_DEVICE": "gompy.virtual:Swap",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        "GOMPY_SWAP_MEMORY": "64M",
        "GOMPY_STATS": "1",
    }
    return tools


def often(tools: Tools, *names: str) -> dict[str, str]:
    """Have the device changed among these, often."""
    (tools.work / "often.py").write_text(f"NAMES = {names}\n{POLICY}")
    return {"GOMPY_SWAP_POLICY": "often:Often"}


def build(tools: Tools, name: str, text: str, *options: str) -> None:
    """Compile a program."""
    tools.write(f"{name}.c", text)
    tools.ok("gompcc", "-O1", "-fopenmp", *options, f"{name}.c", "-o", name)


def relax(tools: Tools, steps: str = "50", *options: str) -> str:
    """The program of the page, and what it prints on the host."""
    build(tools, "relax", (ROOT / "docs" / "programs" / "relax.c").read_text(), *options)
    return tools.run("./relax", steps, env={"OMP_TARGET_OFFLOAD": "disabled"}).stdout


@contextmanager
def served(tools: Tools, folder: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A server on this machine, and what a program needs to reach it."""
    words = [tools.bin / "gompy", "device", "serve", "--port", "0", "--token-file", "token", "--port-file", "port"]
    with subprocess.Popen(words, cwd=folder, env=tools.env, stdout=subprocess.PIPE, text=True) as server:
        try:
            until = time.monotonic() + 60
            while not (folder / "port").exists() or not (folder / "port").read_text():
                assert time.monotonic() < until and server.poll() is None
                time.sleep(0.02)
            port = (folder / "port").read_text().strip()
            yield server, {"GOMPY_REMOTE": f"127.0.0.1:{port}", "GOMPY_REMOTE_TOKEN_FILE": "token"}
        finally:
            server.kill()


@pytest.mark.slow(sample=1)
@has_all
@has_plugin
@pytest.mark.parametrize("start", ["intelmic", "memory"])
def test_random_changes_give_equal_bits(tools: Tools, start: str) -> None:
    """Pointers in mapped data stay right: every backend has its memory at the same addresses."""
    wanted = relax(tools)
    done = tools.run("./relax", "50", env=often(tools, "intelmic", "memory") | {"GOMPY_SWAP_START": start})
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    assert int(done.stderr.partition("gompy: swap: changed ")[2].split()[0]) > STEPS // 4
    assert all(f"main._omp_fn.{n}: {name}, " in done.stderr for n in (0, 2) for name in ("intelmic", "memory"))
    assert "libgompy: regions: 100 on device 0 (swap), 0 on the host" in done.stderr


@pytest.mark.slow
@has_all
@has_plugin
def test_changes_to_another_machine(tools: Tools, tmp_path: Path) -> None:
    """Of three backends one is a server's device; its end is told while another is used, and the program goes on."""
    wanted = relax(tools)
    with served(tools, tmp_path) as (_, remote):
        done = tools.run("./relax", "50", env=remote | often(tools, "intelmic", "remote:0", "memory"))
        assert (done.returncode, done.stdout) == (0, wanted), done.stderr
        assert "main._omp_fn.0: remote:0, " in done.stderr
    done = tools.run("./relax", "50", env=remote | often(tools, "intelmic", "remote:0"))
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    assert "gompy: swap: changed 0 times\n" in done.stderr
    assert "gompy: swap: remote:0: there is no such device; the plugin has 0\n" in done.stderr


@pytest.mark.slow
@has_all
@has_plugin
def test_a_hundred_changes_and_a_killed_backend(tools: Tools, tmp_path: Path) -> None:
    """Equal bits after 100 changes that were asked for, among three backends; one of them is killed while idle."""
    wanted = relax(tools, "80")
    opencl = opencl_obstacle() == ""
    names = ("intelmic", "opencl" if opencl else "memory", "remote:0")
    (tmp_path / "hundred.py").write_text(f"NAMES = {names}\n{HUNDRED}")
    (tmp_path / "cl").mkdir()
    (tmp_path / "cl" / "main._omp_fn.0.cl").write_text(KERNEL)
    with served(tools, tmp_path) as (server, remote):
        env = remote | {"SERVER": str(server.pid), "GOMPY_SWAP_POLICY": "hundred:Hundred", "GOMPY_KERNELS": "cl"}
        done = tools.run("./relax", "80", env=env)
        assert server.wait(60) == -signal.SIGKILL
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    lost = done.stderr.count("gompy: swap: remote:0: ")
    assert lost > 5, "the killed one was asked for, and told"
    assert int(done.stderr.partition("gompy: swap: changed ")[2].split()[0]) == 100 - lost
    assert "main._omp_fn.0: remote:0, " in done.stderr
    if opencl:
        assert "main._omp_fn.0: opencl: cl/main._omp_fn.0.cl, " in done.stderr
        assert "main._omp_fn.2: opencl: the image's code, " in done.stderr


GPU = ("-foffload=x86_64-intelmicemul-linux-gnu,nvptx-none",)


@pytest.mark.slow
@has_all
@has_plugin
@needs_nvptx
def test_an_emulated_gpu(tools: Tools, tmp_path: Path) -> None:
    """Its memory is at the data's addresses, too: 100 changes among three backends give equal bits."""
    wanted = relax(tools, "80", *GPU)
    (tmp_path / "hundred.py").write_text(f"NAMES = {('intelmic', 'nvptx', 'memory')}\n{HUNDRED}")
    done = tools.run("./relax", "80", env={"SERVER": "0", "GOMPY_SWAP_POLICY": "hundred:Hundred"})
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    assert "gompy: swap: changed 100 times\n" in done.stderr
    assert all(f"main._omp_fn.{n}: nvptx, " in done.stderr for n in (0, 2)), done.stderr


@pytest.mark.slow
@has_all
@has_plugin
@needs_nvptx
def test_variables_and_threads_on_an_emulated_gpu(tools: Tools) -> None:
    """Variables move by their names; threads wait."""
    for name, text, printed in (("variable", VARIABLE, "5 30 1 744\n"), ("threads", THREADS, "0 wrong\n")):
        build(tools, name, text, *GPU)
        done = tools.run(f"./{name}", env=often(tools, "intelmic", "nvptx"))
        assert (done.returncode, done.stdout) == (0, printed), done.stderr
        assert ": nvptx, " in done.stderr, done.stderr


@pytest.mark.slow
@has_all
@has_plugin
@needs_nvptx
def test_an_emulated_gpu_without_an_image(tools: Tools) -> None:
    """One line says what is missing, and the program goes on with the backend that it has."""
    wanted = relax(tools)
    done = tools.run("./relax", "50", env=often(tools, "intelmic", "nvptx"))
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    assert "gompy: swap: nvptx: the program has no nvptx image " in done.stderr
    assert "gompy: swap: changed 0 times\n" in done.stderr


@has_all
@has_plugin
def test_opencl(tools: Tools, tmp_path: Path) -> None:
    """A kernel that OpenCL's compiler refuses is told once, and the image's code runs; so is a number too many."""
    if reason := opencl_obstacle():
        pytest.skip(reason)
    wanted = relax(tools)
    (tmp_path / "cl").mkdir()
    (tmp_path / "cl" / "main._omp_fn.0.cl").write_text("kernel void main__omp_fn_0 (ulong at) { wrong }")
    env = often(tools, "opencl", "memory", "opencl:9") | {"GOMPY_KERNELS": "cl"}
    done = tools.run("./relax", "50", env=env)
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    assert done.stderr.count("gompy: cl/main._omp_fn.0.cl: ") == 1
    assert "main._omp_fn.0: opencl: the image's code, " in done.stderr
    assert "gompy: swap: opencl:9: there is no such device; OpenCL has " in done.stderr


@pytest.mark.slow
@has_all
@has_plugin
def test_a_watched_file_and_the_command(tools: Tools, tmp_path: Path) -> None:
    """From outside: the command tells what moved, or why nothing did; the file needs no command."""
    relax(tools)
    env = tools.env | {"GOMPY_SWAP": "wanted"}
    words, pipe = [tmp_path / "relax", "1000"], subprocess.PIPE
    with subprocess.Popen(words, cwd=tmp_path, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as program:
        try:
            until = time.monotonic() + 60
            while True:
                done = tools.run("gompy", "device", "swap", str(program.pid), "0", "memory")
                if done.returncode == 0:
                    break
                assert "has no device that can be changed" in done.stderr and time.monotonic() < until
            assert done.stdout.startswith("intelmic -> memory: ") and " blocks, " in done.stdout
            done = tools.run("gompy", "device", "swap", str(program.pid), "0", "nothing")
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr == f"gompy device: error: nothing: there is no such backend; {THERE}\n"
            done = tools.run("gompy", "device", "swap", str(program.pid), "1", "memory")
            assert done.stderr == "gompy device: error: device 1: only device 0 can be changed\n"
            (tmp_path / "wanted").write_text("intelmic\n")
            assert program.stdin is not None
            program.stdin.write(b"\n")
            program.stdin.flush()
            while True:  # the file's change is noticed at the next region
                done = tools.run("gompy", "device", "swap", str(program.pid), "0", "intelmic")
                assert done.returncode == 0 and time.monotonic() < until, done.stderr
                if done.stdout.startswith("intelmic -> intelmic: "):
                    break
        finally:
            program.kill()


@has_all
@has_plugin
def test_variables_of_an_image(tools: Tools) -> None:
    """Their addresses differ between backends: values move, pointers to them are changed, constants are left alone."""
    build(tools, "variable", VARIABLE)
    done = tools.run("./variable", env=often(tools, "intelmic", "memory"))
    assert (done.returncode, done.stdout) == (0, "5 30 1 744\n"), done.stderr
    assert int(done.stderr.partition("gompy: swap: changed ")[2].split()[0]) > 5


@has_all
@has_plugin
def test_threads(tools: Tools) -> None:
    """A change waits for the regions that run, and they for it."""
    build(tools, "threads", THREADS)
    done = tools.run("./threads", env=often(tools, "intelmic", "memory"))
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done.stderr


@pytest.mark.slow(sample=1)
@has_all
@has_plugin
@pytest.mark.parametrize(
    "name, value, message",
    [
        ("GOMPY_SWAP_MEMORY", "much", "GOMPY_SWAP_MEMORY=much is not a number of bytes, with K, M or G"),
        (
            "GOMPY_SWAP_START",
            "gpu",
            "gpu: there is no such backend; there are memory, intelmic, nvptx, opencl:N, remote:N",
        ),
        ("GOMPY_SWAP_POLICY", "nosuch:Policy", "GOMPY_SWAP_POLICY=nosuch:Policy: No module named 'nosuch'"),
    ],
)
def test_settings_that_are_wrong(tools: Tools, name: str, value: str, message: str) -> None:
    """One line, and the host does the work."""
    wanted = relax(tools)
    done = tools.run("./relax", "50", env={name: value})
    assert done.stdout == wanted
    assert message in done.stderr and "Traceback" not in done.stderr


def test_nobody_listens(bin_folder: Path, tmp_path: Path) -> None:
    """A process without such a device."""
    done = Tools(bin_folder, tmp_path).run("gompy", "device", "swap", str(os.getpid()), "0", "memory")
    assert done.returncode == 1
    assert done.stderr.startswith(f"gompy device: error: process {os.getpid()} has no device that can be changed (")


@given(st.binary(max_size=64), st.lists(st.tuples(st.integers(0, 9), st.integers(-70000, 70000)), max_size=9))
def test_pointers_to_what_has_moved(noise: bytes, words: list[tuple[int, int]]) -> None:
    """Aligned words that are addresses of it are changed, and nothing else is."""
    start, size, to = 0x7F12_3456_F000, 65537, 0x1802_0000_1000
    values = [start + step if kind < 6 else step & 0xFFFF_FFFF for kind, step in words]
    wanted = [value - start + to if start <= value < start + size else value for value in values]
    pack = struct.Struct(f"<{len(values)}Q").pack
    tail = noise[:7]
    assert point(pack(*values) + tail, [(start, size, to)]) == pack(*wanted) + tail


@given(st.lists(st.one_of(st.integers(0, 5000), st.integers(-40, -1)), max_size=80))
def test_blocks_of_the_window(steps: list[int]) -> None:
    """Blocks are apart, aligned and inside; all of it is free again in the end."""
    window, live = Window(1 << 20, 1 << 16), {}
    for step in steps:
        if step >= 0:
            try:
                live[window.alloc(step)] = step
            except MemoryError:
                assert sum(end - start for start, end in window.free_parts) < (1 << 16) - sum(live.values())
        elif live:
            address = sorted(live)[step % len(live)]
            window.free(address)
            del live[address]
        assert window.blocks == live
        ends = sorted((address, address + max(size, 1)) for address, size in live.items())
        assert all(address % 64 == 0 and address >= 1 << 20 and end <= (1 << 20) + (1 << 16) for address, end in ends)
        assert all(one[1] <= two[0] for one, two in itertools.pairwise(ends))
    for address in live:
        window.free(address)
    assert window.free_parts == [(1 << 20, (1 << 20) + (1 << 16))]
