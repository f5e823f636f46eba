"""What ``gompy run`` loads before a program starts, and how it starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all
from hypothesis import given
from hypothesis import strategies as st

from gompy.cli import run_options
from gompy.tools.child import output_of, run_child

SLOW = {"argparse", "dataclasses", "inspect", "json", "pathlib", "shlex", "shutil", "subprocess", "tempfile", "typing"}
"""Modules that cost milliseconds, and crept in before."""
LOADED = """import os, sys
before = set(sys.modules)
{before}
from gompy.cli.main import dispatch
status = dispatch(["run", *sys.argv[1:]])
print(status, *sorted(set(sys.modules) - before))
"""
BECOME = """def become(*_):
    print(0, *sorted(set(sys.modules) - before))
    sys.exit(0)
os.execvpe = become
"""
PROGRAM = """int
main (void)
{
  int x = 0;
#pragma omp target map(tofrom: x)
  x += 1;
  return x - 1;
}
"""


@pytest.mark.parametrize("option", ["", "--check"])
@has_all
def test_start_loads_little(bin_folder: Path, tmp_path: Path, option: str) -> None:
    """A program that says nothing waits for no module that tells of findings, nor of images."""
    tools = Tools(bin_folder, tmp_path)
    tools.write("prog.c", PROGRAM)
    tools.ok("gompcc", "-g", "-fopenmp", "prog.c", "-o", "prog")
    code = LOADED.format(before="" if option else BECOME)
    env = tools.env | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-S", "-c", code, *filter(None, [option]), "./prog"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    status, *loaded = done.stdout.split()
    assert status == "0" and done.stderr == ""
    assert "gompy.cli.run_program" in loaded and ("gompy.check.analysis" in loaded) == bool(option)
    assert not {name for name in loaded if name.partition(".")[0] in SLOW | {"elftools"}}
    assert not {"gompy.objects.images", "gompy.objects.streams", "gompy.objects.tables"} & set(loaded)


WORDS = ("--check", "--check=race", "--device", "nvptx", "--device=host", "--devices=3", "--devices", "3", "65", "x")
WORDS += ("--info", "--show-maps", "--any", "--mandatory", "--trace", "--trace=t", "--under", "gdb -q", "--under=rr")
WORDS += ("--check-json", "-", "--check-sarif=s", "--check-status", "0", "--check-status=7", "--chec", "-x", "", "--")


@given(st.lists(st.sampled_from(WORDS), max_size=5))
def test_the_quick_way_reads_options_as_argparse_does(words: list[str]) -> None:
    """Those that it reads at all: all that are written as in the help."""
    ours = run_options._ours([*words, "prog"])
    quick = run_options.plain(ours)
    if quick is not None:
        given_to_argparse = ["--check=1" if word == "--check" else word for word in ours]
        wanted = run_options.parser().parse_args(given_to_argparse, run_options.Options())
        defaults = {name: value for name, value in vars(run_options.Options).items() if name[0] != "_"}
        assert {"command": [], **defaults, **vars(quick)} == {**defaults, **vars(wanted)}


def test_the_quick_way_knows_each_option() -> None:
    """It has none of its own."""
    options = {word for action in run_options.parser()._actions for word in action.option_strings}
    assert options - {"-h", "--help"} == {*run_options.FLAGS, *run_options.TAKES_VALUE, "--check"}
    assert run_options.plain(["--devices=" + "9" * 5000]) is None  # more digits than Python reads
    for words in (["--mandatory", "--device", "nvptx"], ["--check"], ["--check=race"], ["--trace=a b", "--info"]):
        assert run_options.plain(words) is not None


def test_output_of_a_program(tmp_path: Path) -> None:
    """All of it, whatever its length; nothing of one that does not end, or is not there."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nread line && echo had a line\necho told >&2\nseq $COUNT\n")
    script.chmod(0o755)
    assert output_of(str(script), {**os.environ, "COUNT": "30000"}, 20).split()[-1] == b"30000"
    script.write_text("#!/bin/sh\necho begun\nexec sleep 100\n")
    assert output_of(str(script), dict(os.environ), 0.2) == b""
    assert output_of(str(tmp_path / "none"), dict(os.environ), 1) == b""
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


OUTPUT = """import os, sys
from gompy.tools.child import output_of
for number in map(int, sys.argv[2:]):
    os.close(number)
told = output_of("/bin/pwd", dict(os.environ), 20)
open(sys.argv[1], "wb").write(told)
"""


@pytest.mark.parametrize("closed", [(), ("0",), ("1",), ("2",), ("0", "2"), ("1", "2"), ("0", "1", "2")], ids=str)
def test_output_of_a_program_without_streams(tmp_path: Path, closed: tuple[str, ...]) -> None:
    """The pipe is one of those descriptors that a program has for its streams, if they were closed."""
    command = [sys.executable, "-c", OUTPUT, str(tmp_path / "told"), *closed]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
    assert (tmp_path / "told").read_text() == f"{tmp_path}\n"


STARTED = """import os, sys
from gompy.tools.child import run_child
os.dup2(0, 7, inheritable=True)
try:
    print(run_child(sys.argv[1:], dict(os.environ)))
except OSError as error:
    print(type(error).__name__, error.filename)
"""


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["sh", "-c", "ls /proc/$$/fd"], "0\n1\n2\n0\n"),
        (["sh", "-c", "kill -9 $$"], "137\n"),
        (["./none"], "FileNotFoundError ./none\n"),
        (["none-such"], "FileNotFoundError none-such\n"),
        (["/"], "PermissionError /\n"),
    ],
    ids=str,
)
def test_a_child(command: list[str], told: str) -> None:
    """It has the standard streams alone; its end, or why there is none."""
    words = [sys.executable, "-c", STARTED, *command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert done.stdout == told and done.stderr == ""


def test_an_error_beside_a_child_waits_for_it(tmp_path: Path) -> None:
    """It could not be told of otherwise before the program's own output ends."""

    def fail(_: int) -> None:
        raise ValueError

    with pytest.raises(ValueError):
        run_child(["sh", "-c", f"sleep 0.3; touch {tmp_path}/done"], dict(os.environ), fail)
    assert (tmp_path / "done").exists()
