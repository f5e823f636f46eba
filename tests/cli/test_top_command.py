"""``gompy top``: the counters of a program that runs, whoever started it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, needs

pytestmark = has_all

SOURCE = r"""#include <stdio.h>
static void on_host (void)
{
#pragma omp target if (0)
  ;
}
int main (void)
{
  static char a[1000000];
#pragma omp target enter data map(to: a)
  for (int i = 0; i < 7; i++)
    {
#pragma omp target map(tofrom: a)
      a[0]++;
    }
#pragma omp target map(tofrom: a)
  a[1]++;
#pragma omp target update from(a)
  on_host ();
  puts ("ready");
  fflush (stdout);
  getchar ();
  return 0;
}
"""


@pytest.fixture(scope="module")
def built(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    tools = Tools(bin_folder, tmp_path_factory.mktemp("top"))
    tools.env |= {"LC_ALL": "C"}
    tools.write("rounds.c", SOURCE)
    tools.ok("gompcc", "-g", "-fopenmp", "rounds.c", "-o", "rounds-of-top")
    return tools


@pytest.fixture
def waiting(built: Tools) -> Iterator[subprocess.Popen[str]]:
    """The program, all its regions over, waiting for input."""
    program = built.work / "rounds-of-top"
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=built.env
    ) as process:
        assert process.stdout and process.stdin
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def test_counters_for_a_program(built: Tools, waiting: subprocess.Popen[str]) -> None:
    """By name or number; nothing happens between the two looks."""
    done = built.run("gompy", "top", "--json", "--interval", "0.01", str(waiting.pid))
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert (found["schema"], found["process"], found["program"]) == (1, waiting.pid, "rounds-of-top")
    assert (found["host_regions"], found["host_regions_rate"]) == (1, 0)
    (device,) = found["devices"]
    assert (device["kind"], device["state"], device["launches"], device["launches_rate"]) == (
        "intelmic",
        "running",
        8,
        0,
    )
    assert device["bytes_to"] >= 1000000 and device["bytes_from"] == 1000000
    assert device["memory"] > 1000000
    assert [(row["region"], row["calls"]) for row in device["regions"]] == [
        ("main._omp_fn.0", 7),
        ("main._omp_fn.1", 1),
    ]


def test_the_table(built: Tools, waiting: subprocess.Popen[str]) -> None:
    done = built.run("gompy", "top", "--once", "--interval", "0.01", "rounds-of-top")
    assert done.stderr == ""
    shown = re.sub(r" +", " ", re.sub(r"\d+ MiB", "# MiB", done.stdout))
    mappings = re.search(r"# MiB (\d+) 8", shown)
    assert mappings
    assert shown.splitlines() == [
        f"rounds-of-top (process {waiting.pid}), 1 region on the host",
        "",
        "device kind state memory mappings launches 1/s MB/s to MB/s from",
        f"0 intelmic running # MiB {mappings[1]} 8 0 0.0 0.0",
        "",
        "region device calls 1/s",
        "main._omp_fn.0 0 7 0",
        "main._omp_fn.1 0 1 0",
    ]


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("99999999", "99999999: no such process"),
        ("SELF", "process SELF: it has not loaded libgompy.so.1 (gompcc makes such programs, gompy run runs any)"),
        ("no-such-program", "no-such-program: no process of yours by that name has loaded libgompy.so.1"),
    ],
)
def test_what_cannot_be_shown(built: Tools, word: str, error: str) -> None:
    if any("libgompy.so.1" in line for line in Path("/proc/self/maps").read_text().splitlines()):
        pytest.skip("this process has libgompy itself")
    word, error = (text.replace("SELF", str(os.getpid())) for text in (word, error))
    done = built.run("gompy", "top", "--once", word)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"gompy top: error: {error}\n")


def test_two_of_one_name(built: Tools, waiting: subprocess.Popen[str]) -> None:
    program = built.work / "rounds-of-top"
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=built.env) as other:
        assert other.stdout and other.stdin
        other.stdout.readline()
        done = built.run("gompy", "top", "--once", "rounds-of-top")
        other.stdin.close()
    pids = ", ".join(map(str, sorted((waiting.pid, other.pid))))
    text = f"gompy top: error: rounds-of-top: there are 2 such processes: {pids}; name one by its number\n"
    assert (done.returncode, done.stderr) == (1, text)


def test_it_ends_with_the_program(built: Tools, waiting: subprocess.Popen[str]) -> None:
    """The live view; one line, no traceback."""
    command = [built.bin / "gompy", "top", "--interval", "0.05", str(waiting.pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=built.env) as view:
        assert waiting.stdin and view.stdout
        while "main._omp_fn.0" not in view.stdout.readline():
            pass
        waiting.stdin.close()
        waiting.wait()
        _, error = view.communicate(timeout=60)
    assert (view.returncode, error) == (0, f"gompy top: process {waiting.pid} has ended\n")


def test_a_process_that_nobody_has_waited_for(built: Tools) -> None:
    with subprocess.Popen(["true"], stdin=subprocess.DEVNULL) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        done = built.run("gompy", "top", str(process.pid))
    assert (done.returncode, done.stderr) == (1, f"gompy top: error: process {process.pid} has ended\n")


@needs("script")
def test_a_narrow_terminal(built: Tools, waiting: subprocess.Popen[str]) -> None:
    """A row is cut, not broken."""
    command = ["script", "-qec", f"stty cols 40 rows 20; gompy top {waiting.pid} --interval 0.05", "/dev/null"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=built.env) as view:
        assert waiting.stdin and view.stdout
        text = ""
        while "running" not in text:
            line = view.stdout.readline()
            assert line, text
            text += line
        waiting.stdin.close()
        waiting.wait()
        text += view.communicate(timeout=60)[0]
    rows = [line for line in text.replace("\r", "\n").split("\n") if line.startswith("0 ")]
    assert rows and all("running" in row and len(row) <= 40 for row in rows)


def test_an_interval(built: Tools) -> None:
    done = built.run("gompy", "top", "--interval", "0", "x")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("'0' is no number of seconds from 0.01 to 3600")
