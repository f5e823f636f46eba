"""-Woffload-host: what the link and gompcc say of regions without device code, to the letter."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all

from gompy.abi.warnings import HOST, is_ours, setting
from gompy.objects.elf import Elf, open_object
from mkoffload.regionplaces import region_places

MIC = "x86_64-intelmicemul-linux-gnu"
TWO = """\
int first (int x)
{
  #pragma omp target map(tofrom: x)
  x++;
  return x;
}

int second (int x)
{
    #pragma omp target map(tofrom: x)
    x--;
    return x;
}
"""
MAIN = """\
int first (int), second (int);
int main (void)
{
  int x = 1;
#pragma omp target map(tofrom: x)
  x++;
  return first (second (x)) - 2;
}
"""
WHY = f"two.o: no device code for {MIC}"
NOTE = "two.o: note: compile it with gompcc, or take it as it is: gompy accel build\n"


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """The commands, and a folder to work in."""
    work = tmp_path / "work"
    work.mkdir()
    made = Tools(bin_folder, work)
    made.env["LC_ALL"] = "C.UTF-8"
    return made


def lines(kind: str, flag: str) -> str:
    """What is said of both regions."""
    first = f"two.c:3:11: {kind}: {WHY}; region ‘first._omp_fn.0’ runs on the host [{flag}]\n"
    return f"{first}two.c:10:13: {kind}: {WHY}; region ‘second._omp_fn.0’ runs on the host [{flag}]\n{NOTE}"


def linked(tools: Tools, *words: str, compiled: tuple[str, ...] = ("-g",)) -> subprocess.CompletedProcess[str]:
    """Link both with gompcc, two.c compiled by plain gcc."""
    tools.write("two.c", TWO)
    tools.write("main.c", MAIN)
    subprocess.run(["gcc", *compiled, "-fopenmp", "-c", "two.c"], check=True, cwd=tools.work)
    return tools.run("gompcc", "-fopenmp", *words, "main.c", "two.o", "-o", "prog", env={"GOMPY_ACCEL": "gcc"})


@has_all
def test_each_region_is_told_where_it_stands(tools: Tools) -> None:
    done = linked(tools)
    # in whatever order gcc has put the functions
    assert sorted(done.stderr.splitlines(True)) == sorted(lines("warning", "-Woffload-host").splitlines(True))
    assert done.stderr.endswith(NOTE) and done.returncode == 0
    assert tools.run("./prog").returncode == 0


@has_all
def test_without_g_the_object_is_told(tools: Tools) -> None:
    done = linked(tools, compiled=())
    mend = "compile it with gompcc, or take it as it is: gompy accel build"
    assert done.stderr == f"mkoffload: warning: {WHY}; its regions run on the host; {mend} [-Woffload-host]\n"


@pytest.mark.slow
@has_all
def test_the_warning_can_be_off_or_an_error(tools: Tools) -> None:
    both = ("-Werror=offload-host", "-Wno-offload-host")
    for words in (("-Wno-offload-host",), both, ("-w", "-Werror=offload-host")):
        done = linked(tools, *words)
        assert (done.stderr, done.returncode) == ("", 0)
    (tools.work / "prog").unlink()
    done = linked(tools, "-Werror=offload-host")
    for line in lines("error", "-Werror=offload-host").splitlines(True):
        assert line in done.stderr
    assert "mkoffload: fatal error: regions without device code are errors (-Werror=offload-host)\n" in done.stderr
    assert done.returncode == 1 and not (tools.work / "prog").exists()
    done = linked(tools, "-Werror=offload-host", "-Wno-error=offload-host")
    assert done.returncode == 0 and f"{WHY}; region ‘first._omp_fn.0’ runs on the host [-Woffload-host]" in done.stderr


@has_all
def test_the_drivers_own_warnings_have_it_as_well(tools: Tools) -> None:
    tools.write("main.c", MAIN)
    text = "a static program cannot load devices (libgompy is a shared library): its regions will run on the host"
    words = ("gompcc", "-fopenmp", "-static", "main.c", "-###")
    assert f"gompcc: warning: {text} [-Woffload-host]\n" in tools.run(*words).stderr
    assert text not in tools.run(*words, "-Wno-offload-host").stderr
    done = tools.run(*words[:-1], "-Werror=offload-host")
    assert (done.stderr, done.returncode) == (f"gompcc: error: {text} [-Werror=offload-host]\n", 1)


@has_all
def test_gcc_does_not_see_the_options(tools: Tools) -> None:
    tools.write("none.c", "int none;\n")
    for words in (["-fopenmp"], [], ["-fopenmp", "-foffload=disable"]):
        done = tools.run("gompcc", "-Woffload-host", "-Werror=offload-host", *words, "-c", "none.c")
        assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    "words",
    [
        ("-O0",),
        ("-O2",),
        ("-O2", "-ffunction-sections"),
        ("-O1", "-gdwarf-4"),
        ("-O1", "-gz"),
        ("-O1", "-gno-as-loc-support"),
        ("-Os", "-gno-column-info"),
    ],
)
def test_places_by_whatever_line_table(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "two.c").write_text(TWO)
    command = ["gcc", "-g", *words, "-fopenmp", "-c", "src/two.c", "-o", "two.o"]
    subprocess.run(command, check=True, cwd=tmp_path)
    places = region_places(open_object(str(tmp_path / "two.o")))
    if words[-1] in ("-gno-column-info", "-gno-as-loc-support"):  # gcc's own tables name the column after the row
        assert sorted(place.split(":")[1] for place in places) == ["10", "3"]
    else:
        assert sorted(places) == ["src/two.c:10:13", "src/two.c:3:11"]


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="no gfortran")
def test_places_of_fortran(tmp_path: Path) -> None:
    source = "subroutine s (x)\n  integer :: x\n  !$omp target map(tofrom: x)\n  x = x + 1\n  !$omp end target\nend\n"
    (tmp_path / "s.f90").write_text(source)
    subprocess.run(["gfortran", "-g", "-fopenmp", "-c", "s.f90"], check=True, cwd=tmp_path)
    (place,) = region_places(open_object(str(tmp_path / "s.o")))
    assert place.startswith("s.f90:3")


def test_a_damaged_line_table_has_no_places(tmp_path: Path) -> None:
    """Whatever stands there, the link goes on."""
    (tmp_path / "two.c").write_text(TWO)
    subprocess.run(["gcc", "-g", "-fopenmp", "-c", "two.c"], check=True, cwd=tmp_path)
    data = (tmp_path / "two.o").read_bytes()
    section = open_object(str(tmp_path / "two.o")).find(".debug_line")
    assert section is not None
    choose = random.Random(5)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(choose.randrange(1, 8)):
            damaged[section.offset + choose.randrange(section.size)] = choose.randrange(256)
        assert len(region_places(Elf(damaged, "damaged.o"))) == 2


def test_the_later_option_wins() -> None:
    assert setting("", HOST) == "warning"
    assert setting("-Wno-offload-host", HOST) == setting("-Werror=offload-host -Wno-offload-host", HOST) == ""
    assert setting("-Wno-offload-host -Woffload-host", HOST) == "warning"
    assert setting("-Wno-offload-host -Werror=offload-host", HOST) == "error"
    assert setting("-Werror=offload-host -Wno-error=offload-host", HOST) == "warning"
    assert is_ours("-Wno-error=offload-host") and not is_ours("-Woffload-hosts") and not is_ours("-Wall")
