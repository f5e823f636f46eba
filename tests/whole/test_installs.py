"""What make check-newcomer and make check-installs judge by, without their trees."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from driver_tools import ROOT, needs

sys.path.insert(0, str(ROOT / "testsuite"))
from installs import newcomer, pythons, run, trees, uses
from matrix import tree

TEN = ("Install", "region", "forgotten map", "check", "copied", "what is in", "CMake", "Fortran", "GPUs", "OpenACC")


def test_the_page_has_the_ten_things() -> None:
    things = list(dict.fromkeys(one.thing for one in newcomer.lines_of_page()))
    assert len(things) == 10
    for number, (thing, word) in enumerate(zip(things, TEN, strict=True), 1):
        assert thing.startswith(f"{number}. ") and word.lower() in thing.lower()


def typed_by(*lines: str, shown: list[str]) -> list[newcomer.Typed]:
    """Lines of one thing, typed into a shell; each is to print the same."""
    typed = [newcomer.Typed("1. Thing", line, shown, []) for line in lines]
    done = subprocess.run(["bash"], input=newcomer.session(typed), capture_output=True, text=True, timeout=60)
    newcomer.listen(typed, done.stdout)
    return typed


@pytest.mark.parametrize(
    "run",
    [
        "sys.path.insert(0, 'testsuite'); from installs.places import Places as P; P(Path.cwd(), {}).run('/bin/cat')",
        "sys.path.insert(0, 'recipes/debian'); import build; build.run('/bin/cat')",
    ],
    ids=["installs", "deb"],
)
def test_a_command_that_asks_gets_no_answer(run: str) -> None:
    """It waited for one without an end, with its question in what was not shown."""
    words = [sys.executable, "-c", f"import sys; from pathlib import Path; {run}"]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE) as asks:
        try:
            assert asks.wait(60) == 0
        finally:
            asks.kill()


@needs("bash")
def test_lines_share_a_shell_and_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    typed = typed_by(f"cd '{tmp_path}' && x=2; echo a 2", "printf 'a %s' $x", "echo a $x >&2", shown=["a 2"])
    assert [one.printed for one in typed] == [["a 2"]] * 3
    assert newcomer.report("Here", typed)
    assert "1. Thing" in capsys.readouterr().out
    typed[1].shown = ["b"]
    assert not newcomer.report("Here", typed)
    assert "but the page shows" in capsys.readouterr().out


@needs("bash")
def test_more_than_ten_minutes_are_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    typed = typed_by("echo a", shown=["a"])
    typed[0].seconds = newcomer.MOST_SECONDS + 1
    assert not newcomer.report("Here", typed)
    assert "more than ten minutes" in capsys.readouterr().out


@needs("bash")
def test_a_shell_that_ends_early_is_told() -> None:
    with pytest.raises(tree.TreeError, match="after 0 of 2 lines"):
        typed_by("exit 3", "echo a", shown=["a"])


def test_what_is_compiled_elsewhere_comes_with_its_headers(tmp_path: Path) -> None:
    uses.sources(tmp_path)
    texts = [path.read_text() for path in tmp_path.iterdir()]
    wanted = {name for text in texts for name in re.findall(r'^#include "(.*)"$', text, re.MULTILINE)}
    assert "common.cuh" in wanted
    assert wanted <= {path.name for path in tmp_path.iterdir()}


def test_the_wheel_for_a_python() -> None:
    wheels = [Path(f"gompy-0.1.0-cp{n}-cp{n}-manylinux_2_34_x86_64.whl") for n in (311, 313)]
    assert trees.fits(wheels, "3.13") == wheels[1] and trees.fits(wheels, "3.14") is None
    assert trees.fits(wheels, "3.1") is None


def test_files_in_which_wheels_differ(tmp_path: Path) -> None:
    for name, texts in {"a": {"same": "1", "other": "2"}, "b": {"same": "1", "other": "3", "new": ""}}.items():
        with zipfile.ZipFile(tmp_path / name, "w") as wheel:
            for file, text in texts.items():
                wheel.writestr(file, text)
    assert run.different_files(tmp_path / "a", tmp_path / "b") == ["new", "other"]


def test_another_python_has_what_a_build_needs(tmp_path: Path) -> None:
    assert not pythons.usable(Path("/bin/false"))
    assert "{}.{}".format(*sys.version_info[:2]) not in pythons.found()


def test_what_an_installation_stands_names_each_compiler(tmp_path: Path) -> None:
    said = " ".join(make for make, _, _ in uses.lines(tmp_path))
    assert "gompcc " in said and len(uses.CLOSED) == 5
    uses.sources(tmp_path)
    for make, _, _ in uses.lines(tmp_path):
        assert [word for word in make.split() if (tmp_path / word).is_file()], make
