"""Programs that close, forbid or lack what the emulated device needs: they go on, or are told why not in a line."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, make_wrappers
from intelmic_driver import gone

PROGRAMS = Path(__file__).parents[1] / "programs"

SUM = r"""
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
int main (int argc, char **argv)
{
  int sum = 0, host = 1;
  if (argc > 1)
    signal (SIGCHLD, SIG_IGN);
  #pragma omp target map (tofrom: sum) map (from: host)
  {
    host = omp_is_initial_device ();
    for (int i = 0; i <= 100; i++)
      sum += i;
  }
  printf ("%d %s\n", sum, host ? "host" : "device");
  fflush (stdout);
  if (argc > 1)
    {
      #pragma omp target
      *(volatile int *) 8 = 1;
    }
  return 0;
}
"""

pytestmark = has_all


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The compilers, with both programs compiled."""
    made = Tools(make_wrappers(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("work"))
    made.ok("gompcc", "-O1", "-fopenmp", PROGRAMS / "closes_all.c", "-o", "closes_all")
    made.ok("gompcc", "-O1", "-g", "-fopenmp", made.write("sum.c", SUM), "-o", "sum")
    return made


@pytest.mark.parametrize("how", ["program", "region"])
def test_all_descriptors_closed(tools: Tools, how: str) -> None:
    """Neither the device nor a file that got one of the numbers suffers, and the device ends with the program."""
    file = tools.write("file", "precious")
    done = tools.run("./closes_all", how, file)
    pid, wrong, on_device = map(int, done.stdout.split())
    assert (wrong, on_device, done.stderr, done.returncode) == (0, 1, "", 0)
    assert file.read_text() == "precious"
    assert gone(pid)


def test_closed_descriptors_and_another_program(tools: Tools) -> None:
    """A program that closes all and becomes another one has no device any more."""
    file = tools.write("file", "precious")
    with subprocess.Popen(
        [tools.work / "closes_all", "exec", file], stdout=subprocess.PIPE, text=True, env=tools.env
    ) as process:
        assert process.stdout is not None
        pid, wrong, on_device = map(int, process.stdout.read().split())
        assert (wrong, on_device) == (0, 1)
        try:
            assert gone(pid)
            assert process.poll() is None
        finally:
            process.kill()


def test_killed_program_whose_region_closed_all(tools: Tools) -> None:
    """The device of a program that is killed ends, also when it has none of its descriptors."""
    source = r"""
#include <stdio.h>
#include <unistd.h>
int main (void)
{
  int pid;
  #pragma omp target map (from: pid)
  { pid = getpid (); closefrom (3); }
  printf ("%d\n", pid);
  fflush (stdout);
  pause ();
}
"""
    tools.ok("gompcc", "-D_GNU_SOURCE", "-O1", "-fopenmp", tools.write("pauses.c", source), "-o", "pauses")
    with subprocess.Popen([tools.work / "pauses"], stdout=subprocess.PIPE, text=True, env=tools.env) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        assert gone(pid)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        # Room for an arena of 64 or 128 MiB in the host, not beside the device process's stacks and libraries.
        *((f"-v {kib}", None) for kib in (60000, 76000, 100000, 142000, 274000)),
        ("-d 100000", None),
        # How far the device's start gets with so little depends on the C library: exec, dynamic loader, first thread.
        *(
            (f"-d {kib}", "device 0 (intelmic): * (private memory is limited: ulimit -d)")
            for kib in range(800, 3200, 200)
        ),
        ("-n 4", "cannot make a pipe: Too many open files (open files are limited: ulimit -n)"),
        ("-f 0", "cannot map 4 MiB of memory for it: File too large (the size of files is limited: ulimit -f)"),
    ],
)
def test_limits(tools: Tools, limit: str, reason: str | None) -> None:
    """A limit that leaves room is lived with; another one is named."""
    done = tools.run("sh", "-c", f"ulimit {limit}; exec ./sum")
    if reason is None:
        assert (done.stdout, done.stderr, done.returncode) == ("5050 device\n", "", 0)
        return
    begin, _, end = reason.partition("*")
    assert done.returncode == 1
    assert re.search(f"^libgomp: .*{re.escape(begin)}.*{re.escape(end)}$", done.stderr, re.MULTILINE), done.stderr


def test_no_memory_asked_for(tools: Tools) -> None:
    """OFFLOAD_EMUL_MEM=0 is no size; what is taken instead is told."""
    done = tools.run("./sum", env={"OFFLOAD_EMUL_MEM": "0"})
    assert done.stdout == "5050 device\n"
    assert done.stderr.strip() == "libgomp: OFFLOAD_EMUL_MEM=0: not a size from 1 to 16T, such as 512M; using 4G"
    assert tools.ok("./sum", env={"OFFLOAD_EMUL_MEM": "1"}) == "5050 device\n"


def test_ended_children_are_not_waited_for(tools: Tools) -> None:
    """With SIGCHLD ignored the kernel reaps the device, and its death is told all the same."""
    done = tools.run("./sum", "ignore")
    assert done.stdout == "5050 device\n"
    assert "region main._omp_fn.1 (sum.c:2" in done.stderr
    assert done.returncode == 1


def test_no_proc(tools: Tools) -> None:
    """Without /proc the image goes through a file that is gone afterwards."""
    hide = "mount -t tmpfs none /proc"
    if subprocess.run(["unshare", "-m", "sh", "-c", hide], capture_output=True).returncode != 0:
        pytest.skip("no namespace of one's own for mounts")
    temporary = tools.work / "temporary"
    temporary.mkdir()
    done = tools.run("unshare", "-m", "sh", "-c", f"{hide}; exec ./sum", env={"TMPDIR": str(temporary)})
    assert (done.stdout, done.stderr, done.returncode) == ("5050 device\n", "", 0)
    assert not list(temporary.iterdir())


def test_proc_of_another_namespace(tools: Tools) -> None:
    """Where processes have other numbers than /proc knows, the image is found all the same."""
    command = ["unshare", "-p", "-f", "sh", "-c"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespace of one's own for processes")
    done = tools.run(*command, "./sum; true")
    assert (done.stdout, done.stderr, done.returncode) == ("5050 device\n", "", 0)
