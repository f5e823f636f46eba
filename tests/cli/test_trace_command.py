"""``gompy run --trace`` and ``gompy trace summary``: what is in the file, that it is whole, and what it adds up to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from driver_tools import ROOT, Tools, has_all

from gompy import UserError
from gompy.cli import trace_png

pytestmark = has_all

ENDS = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int shared[16];
int main (int argc, char **argv)
{
  int x = 1;
  char how = argc > 1 ? argv[1][0] : ' ';
#pragma omp target map(tofrom: shared)
  shared[0]++;
  if (how == 'f' && fork ())
    return wait (NULL) < 0;
#pragma omp target map(tofrom: x) if (how != 'k')
  {
    x++;
    if (how == 'k')
      kill (getpid (), SIGKILL);
    if (how == 'd')
      abort ();
  }
  return 0;
}
"""
OPENACC = r"""
int a[100];
int main (void)
{
#pragma acc data copy (a)
  {
#pragma acc parallel loop async (3)
    for (int i = 0; i < 100; i++)
      a[i] = i;
#pragma acc wait
  }
  return a[7] != 7;
}
"""
SUMMARY = """\
# ms

region          where            runs     ms  on
main._omp_fn.0  ends.c:11           1  #  device 0
main._omp_fn.1  ends.c:15           1  #  device 0

variable             bytes  mapped  copies  to device  to host
shared                  64       1       2         64       64
4 bytes at 0x#      4       1       2          4        4

device               launches  copies  to device  to host  ms copying  allocated
device 0 (intelmic)         2       4        #       68       #        #
"""


@pytest.fixture(scope="module")
def built(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    tools = Tools(bin_folder, tmp_path_factory.mktemp("trace"))
    tools.env |= {"LC_ALL": "C"}
    tools.write("ends.c", ENDS)
    tools.ok("gompcc", "-g", "-fopenmp", "ends.c", "-o", "ends")
    tools.write("queue.c", OPENACC)
    tools.ok("gompcc", "-g", "-fopenacc", "queue.c", "-o", "queue")
    return tools


def traced(tools: Tools, *command: str, rc: int = 0) -> list[dict[str, Any]]:
    """The events of a run."""
    done = tools.run("gompy", "run", "--trace", "t.json", *command)
    assert (done.returncode, done.stderr) == (rc, "") or rc < 0 or rc > 128, done.stderr
    events: list[dict[str, Any]] = json.loads((tools.work / "t.json").read_text())
    return events


def named(events: list[dict[str, Any]], *phases: str) -> list[str]:
    return [event["name"] for event in events if event["ph"] in phases]


def test_what_is_in_a_file(built: Tools) -> None:
    """Directives with begin and end on the thread's track; copies and launches on the device's; marks for maps."""
    events = traced(built, "./ends")
    assert named(events, "B") == [
        "target main._omp_fn.0", "main._omp_fn.0", "target main._omp_fn.1", "main._omp_fn.1",
    ]  # fmt: skip
    assert sum(event["ph"] == "E" for event in events) == 4
    region = ["alloc", "copy to device", "copy to host", "free"]
    assert named(events, "X") == ["start device", "load image", *region, *region, "end device"]
    assert named(events, "i") == ["new", "removed", "new", "removed"]
    host = {event["pid"] for event in events if event.get("name") == "alloc"}
    device = {event["pid"] for event in events if event.get("cat") in ("copy", "launch")}
    assert len(host) == 1 and device == {1000000}
    names = {(e["name"], e["args"]["name"]) for e in events if e["ph"] == "M" and e["pid"] == 1000000}
    assert ("process_name", "device 0 (intelmic)") in names
    new = next(event for event in events if event["ph"] == "i")
    assert new["args"] | {"host": "", "target": ""} == {
        "device": 0, "size": 64, "bytes": 64, "host": "", "variable": "shared", "target": "", "map": "tofrom",
        "count": 1, "of": "target main._omp_fn.0",
    }  # fmt: skip
    times = [event["ts"] for event in events if event["ph"] in "BE"]
    assert times == sorted(times)


def test_summary(built: Tools) -> None:
    traced(built, "./ends")
    text = built.ok("gompy", "trace", "summary", "t.json", "--svg", "t.svg")
    text = re.sub(r"0x[0-9a-f]+", "0x#", re.sub(r"\d+\.\d+", "#", text))
    rows, wanted = ([line.split() for line in lines.splitlines()[:9]] for lines in (text, SUMMARY))
    rows[3:5] = sorted(rows[3:5])  # regions are in the order of their times
    assert rows == wanted
    assert [line.split()[:5] for line in text.splitlines()[9:]] == [
        line.split()[:5] for line in SUMMARY.splitlines()[9:]
    ]
    svg = ET.parse(built.work / "t.svg").getroot()
    titles = [title.text or "" for title in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert [t.split(",")[0] for t in titles if "launch" not in t].count("main._omp_fn.0") == 1
    report = json.loads(built.ok("gompy", "trace", "summary", "--json", "t.json"))
    assert next(row["name"] for row in report["variables"]) == "shared"
    assert report["regions"][0]["runs"] == 1


def test_names_of_memory(built: Tools) -> None:
    """The trace alone names global variables; with --info, whose log has frames, it gets the others'."""
    built.ok("gompy", "run", "--info", "--trace", "named.json", "./ends")
    report = json.loads(built.ok("gompy", "trace", "summary", "--json", "named.json"))
    assert {row["name"] for row in report["variables"]} == {"shared", "x"}


def test_a_trace_that_is_full(built: Tools) -> None:
    """Its last event says so, and the summary too."""
    last = {"ph": "M", "name": "gompy_limit", "pid": 0, "tid": 0, "args": {}}
    built.write("full.json", json.dumps([*traced(built, "./ends"), last]))
    done = built.run("gompy", "trace", "summary", "full.json")
    assert done.returncode == 0 and "main._omp_fn.0" in done.stdout
    assert done.stderr == "gompy trace: note: full.json: it was full before the run's end\n"


def test_a_path_with_a_line_break(built: Tools) -> None:
    """The trace has it as JSON writes it, so that the lines of the program are found; messages show it as \\n."""
    (built.work / "a\nb").mkdir()
    (built.work / "a\nb" / "ends").write_bytes((built.work / "ends").read_bytes())
    (built.work / "a\nb" / "ends").chmod(0o755)
    events = traced(built, "a\nb/ends")
    places = {
        event["args"]["at"].rpartition("+")[0] for event in events if event["ph"] == "B" and "at" in event["args"]
    }
    assert places == {str(built.work / "a\nb" / "ends")}
    assert "ends.c:11" in built.ok("gompy", "trace", "summary", "t.json")
    assert built.ok("gompy", "verify", "a\nb/ends").startswith("a\\nb/ends: 2 regions, 1 image (")


MANY = r"""
int a[64];
int main (void)
{
  for (int i = 0; i < 4000; i++)
    {
#pragma omp target update to (a)
    }
#pragma omp target map (a)
  a[0]++;
  int names[99][99];
  for (int i = 0; i < 99; i++)
    {
#pragma omp target map (names[i])
      names[i][0] = i;
    }
  return 0;
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
@pytest.mark.parametrize("info", ["", "--info "], ids=["", "names"])
def test_a_full_disk(built: Tools, info: str) -> None:
    """The trace ends before, and is whole; the program goes on.  Names that find no room are left out."""
    built.write("many.c", MANY)
    built.ok("gompcc", "-g", "-fopenmp", "many.c", "-o", "many")
    (built.work / "small").mkdir(exist_ok=True)
    run = f"gompy run {info}--trace small/t.json ./many"
    steps = f"mount -t tmpfs -o size=300k none small && {run}; echo $?; cat small/t.json"
    done = built.run("unshare", "-m", "sh", "-c", steps)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no mount namespace here")
    said = "libgompy: the trace ends here: No space left on device\n"
    assert said in done.stderr if info else done.stderr == said
    code, _, trace = done.stdout.partition("\n")
    assert code == "0" and len(json.loads(trace)) > 500


LIMITED = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
int a[64];
static void end (int number) { _Exit (number); }
int main (int argc, char **argv)
{
  struct rlimit limit = { 1000 * atoi (argv[1]), RLIM_INFINITY };
  struct sigaction before;
  signal (SIGXFSZ, argc > 2 ? end : SIG_DFL);
#pragma omp target map (a)
  a[0]++;
  setrlimit (RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 4000; i++)
    {
#pragma omp target map (a)
      a[1]++;
    }
  sigaction (SIGXFSZ, 0, &before);
  return before.sa_handler != (argc > 2 ? end : SIG_DFL);
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("program", [[], ["own"]], ids=["", "handler"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--trace", "t.json"], ["the trace"]),
        (["run", "--check", "--trace", "t.json"], ["the trace", "the log of mappings and copies"]),
        (["record", "-o", "t.rec"], ["the recording"]),
    ],
    ids=["trace", "check", "record"],
)
def test_a_limit_on_the_size_of_files(built: Tools, words: list[str], said: list[str], program: list[str]) -> None:
    """ulimit -f, met by what is written for a tool: it ends there, the program goes on and gets no signal of it."""
    built.write("limited.c", LIMITED)
    built.ok("gompcc", "-g", "-fopenmp", "limited.c", "-o", "limited")
    done = built.run("gompy", *words, "./limited", "100", *program)
    assert done.returncode == (86 if "--check" in words else 0)  # not all was checked
    for what in said:
        assert f"libgompy: {what} ends here: File too large\n" in done.stderr
    if "t.json" in words:
        trace = (built.work / "t.json").read_text()
        # The last event is gompy's, which has no limit.
        assert 80_000 < len(trace.partition('{"ph": "M", "name": "gompy_names"')[0]) <= 100_000
        assert len(json.loads(trace)) > 200


RANGES = r"""
extern int nvtxRangePushA (const char *);
extern int nvtxRangePop (void);
extern int roctxRangePushA (const char *);
extern int roctxRangePop (void);
extern void nvtxMarkA (const char *);
int main (void)
{
  int x = 0, bad = nvtxRangePop () != -1;
  bad |= nvtxRangePushA ("step \"1\"\303\274\342\202\254\360\237\230\200\200\355\240\200\300\257") != 0;
  bad |= roctxRangePushA ("inner") != 1;
#pragma omp target map(tofrom: x)
  x++;
  nvtxMarkA ("half");
  bad |= roctxRangePop () != 1;
  bad |= nvtxRangePop () != 0;
  return bad;
}
"""


def test_ranges_of_the_program(built: Tools) -> None:
    """They enclose the directives on the thread's track; without a trace the functions say that nobody listens."""
    built.write("ranges.c", RANGES)
    built.ok("gompcc", "-g", "-fopenmp", "ranges.c", "-o", "ranges")
    events = traced(built, "./ranges")
    assert named(events, "B")[:3] == ['step "1"ü€😀??????', "inner", "target main._omp_fn.0"]
    assert [event["name"] for event in events if event["ph"] == "i" and event["cat"] == "range"] == ["half"]
    assert sum(event["ph"] == "E" for event in events) == len(named(events, "B")) == 4
    text = re.sub(r"\d+\.\d+", "#", built.ok("gompy", "trace", "summary", "t.json"))
    words = [line.split() for line in text.splitlines()]
    assert words[2:5] == [["range", "times", "ms"], ["step", '"1"ü€😀??????', "1", "#"], ["inner", "1", "#"]]
    assert built.run("./ranges").returncode == 1


def test_a_picture_as_png(built: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By what draws SVG here; without that it is said what is missing."""
    traced(built, "./ends")
    done = built.run("gompy", "trace", "summary", "t.json", "--png", "t.png")
    if done.returncode == 0:
        assert (built.work / "t.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert built.run("gompy", "trace", "summary", "t.json", "--png", "missing/t.png").returncode == 1
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="pip install cairosvg, or apt install librsvg2-bin; --svg needs neither"):
        trace_png.write_png("<svg/>", str(tmp_path / "t.png"))


def test_queues_have_tracks(built: Tools) -> None:
    events = traced(built, "./queue")
    tracks = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert "queue 3" in tracks
    assert {"acc data in main", "acc parallel main._omp_fn.0", "end of acc data in main"} <= set(named(events, "B"))


def test_a_program_that_is_killed_in_a_region(built: Tools) -> None:
    """The file is whole; the region and its directive have begun and are not over."""
    events = traced(built, "./ends", "kill", rc=-9)
    assert named(events, "B")[:2] == ["target main._omp_fn.0", "main._omp_fn.0"]
    text = built.ok("gompy", "trace", "summary", "t.json")
    assert "main._omp_fn.0" in text


def test_a_region_that_dies(built: Tools) -> None:
    """What was begun is in the file, without its end."""
    events = traced(built, "./ends", "dies", rc=255)
    assert named(events, "B")[-2:] == ["target main._omp_fn.1", "main._omp_fn.1"]
    assert sum(event["ph"] == "E" for event in events) == 2


def test_a_forked_child_writes_nothing(built: Tools) -> None:
    done = built.run("gompy", "run", "--trace", "t.json", "./ends", "fork")
    assert (done.returncode, done.stderr.count("not usable in a forked child")) == (0, 1)
    events = json.loads((built.work / "t.json").read_text())
    assert len({event["pid"] for event in events if event["pid"] != 1000000}) == 1
    assert named(events, "B") == ["target main._omp_fn.0", "main._omp_fn.0"]


def test_fallback_has_its_reason(built: Tools) -> None:
    done = built.run("gompy", "run", "--device", "host", "--trace", "t.json", "./ends")
    assert done.returncode == 0
    text = built.ok("gompy", "trace", "summary", "t.json")
    assert "main._omp_fn.0  ends.c:11     1" in text and "the host: OMP_TARGET_OFFLOAD is disabled" in text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("relative.json", "GOMPY_TRACE_FILE=relative.json: not an absolute path; no trace is written"),
        ("{}/link", "GOMPY_TRACE_FILE={}/link: cannot be written: Too many levels of symbolic links"),
        ("{}/pipe", "GOMPY_TRACE_FILE={}/pipe: cannot be written: No such device or address"),
        ("{}/none/t", "GOMPY_TRACE_FILE={}/none/t: cannot be written: No such file or directory"),
        ("/dev/null", "GOMPY_TRACE_FILE=/dev/null: cannot be written: not a regular file"),
    ],
)
def test_files_that_are_refused(built: Tools, tmp_path: Path, path: str, text: str) -> None:
    """The program runs without a trace, and what a link leads to is left alone."""
    (tmp_path / "other").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run(
        [built.work / "ends"],
        env=built.env | {"GOMPY_TRACE_FILE": path.format(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, f"libgompy: {text.format(tmp_path)}\n")
    assert (tmp_path / "other").read_text() == "mine"


def test_a_file_is_written_anew(built: Tools) -> None:
    (built.work / "t.json").write_text("x" * 100000)
    assert traced(built, "./ends")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "not JSON"),
        ("[" * 100000, "not JSON"),
        ("{}", "not a trace: no list of events"),
        ('[{"ph": "X"}]', "not a trace of gompy's"),
        ("[1]", "not a trace of gompy's"),
    ],
)
def test_what_is_no_trace(built: Tools, content: str, text: str) -> None:
    (built.work / "bad.json").write_text(content)
    done = built.run("gompy", "trace", "summary", "bad.json")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"gompy trace: error: bad.json: {text}\n")


def test_what_the_readers_number_is_the_writers() -> None:
    from gompy.cli.trace_events import DEVICE_PID

    source = (ROOT / "gompy/runtime/tools/trace_file.pxi").read_text()
    assert f"DEVICE_PID = {DEVICE_PID}" in source
