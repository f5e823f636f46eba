"""What `make bench` draws, and the conditions that it makes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import common  # noqa: E402
import draw  # noqa: E402
import share  # noqa: E402

SIDES = {"gompy": {"median": 10.0, "rounds": [[9.0], [10.0], [12.0]]}, "LLVM": {"median": 40.0, "rounds": [[40.0]]}}
RUN = {"median": 200.0}
REPORTS: list[tuple[dict[str, Any], list[str]]] = [
    (
        {
            "name": "link",
            "title": "A link",
            "results": [
                {"name": "one", "median": 1.0, "quartiles": [0.9, 1.0, 1.2]},
                {"name": "two", "median": 2.0, "quartiles": [2.0, 2.0, 2.0]},
                {"name": "three", "missing": "no compiler"},
            ],
        },
        ["one : two", " 0.50"],
    ),
    (
        {"name": "llvm", "title": "A device", "results": [{"title": "a launch", "wanted": 3, **SIDES}]},
        ["a launch", " 0.25"],
    ),
    (
        {"name": "nvptx", "title": "A GPU", "drivers": {"null": [{"name": "a region", "gompy": 3.0, "gcc": 2.0}]}},
        ["a region, null driver", " 1.50"],
    ),
    (
        {"name": "crowd", "title": "A crowd", "results": [{"title": "a mode", "gompy": [RUN], "LLVM": [RUN]}]},
        ["a mode", "LLVM"],
    ),
    (
        {"name": "rests", "title": "Rests", "results": [{"title": "after 5 ms", "one": RUN, **SIDES}]},
        ["after 5 ms", " 0.25"],
    ),
    (
        {"name": "turns", "results": [{"title": "a copy", "now": {"median": 1.0}, "before": {"median": 4.0}}]},
        ["a copy", " 0.25"],
    ),
    (
        {"name": "unhooked", "results": [{"title": "a copy", "now": {"median": 1.0}, "before": {"median": 4.0}}]},
        ["a copy", " 0.25"],
    ),
    (
        {
            "name": "many",
            "totals": [{"size": 1000}, {"size": 10000}],
            "results": [{"name": "enter", **SIDES}, {"name": "enter", **SIDES}],
        },
        ["enter data to", "mappings"],
    ),
]


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(("report", "texts"), REPORTS, ids=[report["name"] for report, _ in REPORTS])
def test_a_report_is_drawn(
    report: dict[str, Any], texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(draw, "OUT", tmp_path)
    with pyplot.rc_context({"svg.fonttype": "none"}):
        path = draw.draw(report)
    assert path == tmp_path / f"{report['name']}.svg"
    drawn = path.read_text()
    assert [text for text in texts if text not in drawn] == []


def test_a_command_is_waited_for_in_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks now and then whether it is over: a program of 1 ms would take 2."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it slept"))
    seconds, used = common.timed(["sh", "-c", "exec >&- 2>&-; sleep 0.1"], tmp_path, {**os.environ})
    assert seconds >= 0.1 and used >= 0
    with pytest.raises(common.BenchError, match=r"^sh -c 'echo no; exit 3': exit status 3\nno$"):
        common.timed(["sh", "-c", "echo no; exit 3"], tmp_path, {**os.environ})
    with pytest.raises(common.BenchError, match=r"^\./none: .*No such file"):
        common.timed(["./none"], tmp_path, {**os.environ})
    monkeypatch.setattr(common, "LIMIT_S", 0.01)
    with pytest.raises(common.BenchError, match=r"^sleep 60: not over after 0\.01 seconds$"):
        common.timed(["sleep", "60"], tmp_path, {**os.environ})


def test_a_group_gets_half_a_processor() -> None:
    try:
        with share.half_a_processor() as words:
            group = Path(words[-1])
            ask = 'echo $$ members $(cat "$1/cgroup.procs"); cat "$1/cpu.max" "$1/cpu.cfs_quota_us" 2>/dev/null'
            done = subprocess.run([*words, "sh", "-c", ask, "sh", str(group)], capture_output=True, text=True)
    except share.NoGroupError as error:
        pytest.skip(str(error))
    members, limit = done.stdout.splitlines()
    assert members.split()[0] in members.split()[2:], done.stdout
    assert limit.split()[0] == str(share.PERIOD // 2)
    assert not group.exists()


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="threads on two processors at once")
def test_times_have_what_other_threads_take(tmp_path: Path) -> None:
    # Linux's clock of a process alone misses nearly all of the hundred rounds.
    program = tmp_path / "times"
    source = ROOT / "tests" / "programs" / "thread_times.c"
    subprocess.run(["gcc", "-O2", "-pthread", str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0 missed\n"


@pytest.mark.parametrize(
    "name", ["gpu", "gpu_examples", "gpu_races", "check_any", "check_programs", "remote", "run", "scale", "turns"]
)
def test_help(name: str) -> None:
    done = bench(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name}.py")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["remote", "x"], "remote.py: error: it takes no arguments\n"),
        (["gpu", "--before"], "gpu.py: error: --before: which file?\n"),
        (["gpu", "--before", "/dev/null"], "gpu.py: error: /dev/null: it is no report of this benchmark\n"),
    ],
)
def test_wrong_words(words: list[str], said: str) -> None:
    done = bench(*words)
    assert (done.returncode > 0, done.stdout, done.stderr) == (True, "", said)


def bench(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
