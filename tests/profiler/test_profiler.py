"""ACC_PROFLIB=$(gompy config --prof): the tables at a program's exit, word for word but for times."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, make_wrappers, needs

from gompy.driver import paths

LIBRARY = Path(paths.LIBDIR) / "libgompy-prof.so.1"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
pytestmark = [has_all, needs("readelf")]

OPENACC = """\
libgompy-prof: T ms

region where runs ms mean ms longest ms on
square._omp_fn.0 profile_acc.c:10 3 T T T device 0
main._omp_fn.0 profile_acc.c:22 1 - - - device 0
main._omp_fn.1 profile_acc.c:29 1 T T T the host

directive where times ms copies to device to host ms copying
acc enter data profile_acc.c:18 1 T 1 4000 0 T
acc update profile_acc.c:21 1 T 1 0 4000 T
acc_wait_all profile_acc.c:26 1 T 0 0 0 T
acc exit data profile_acc.c:27 1 T 0 0 0 T

variable first mapped at bytes mapped copies to device to host
table profile_acc.c:18 4000 1 2 4000 4000
(stack or heap) profile_acc.c:10 4 3 3 12 0
(stack or heap) profile_acc.c:22 4 1 1 4 0

device launches copies to device to host ms copying allocated
device 0 (intelmic) 4 N N 4000 T N
"""

OPENMP = """\
libgompy-prof: T ms

region where runs ms mean ms longest ms on
MAIN__._omp_fn.0 profile_omp.f90:5 2 T T T device 0

directive where times ms copies to device to host ms copying
target enter data profile_omp.f90:3 1 T 1 40 0 T
target exit data profile_omp.f90:9 1 T 1 0 40 T

variable first mapped at bytes mapped copies to device to host
a profile_omp.f90:3 40 1 2 40 40

device launches copies to device to host ms copying allocated
device 0 (intelmic) 2 N N 40 T N
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The compilers; ACC_PROFLIB is what the command says."""
    made = Tools(make_wrappers(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("work"))
    made.env = {name: value for name, value in made.env.items() if not name.startswith("ACC_")}
    made.env["ACC_PROFLIB"] = made.ok("gompy", "config", "--prof").strip()
    assert made.env["ACC_PROFLIB"] == str(LIBRARY)
    return made


def masked(text: str) -> str:
    """Times are T; columns are one blank apart; gcc's numbers of local variables are left out.

    What the plugin copies and allocates besides is N.
    """
    text = re.sub(r"^(\w+)\.\d+ ", r"\1 ", text, flags=re.M)
    text = re.sub(r"\d+\.\d{3}", "T", text)
    text = re.sub(r"^(device 0 .*?) (\d+) +\d+ +\d+ +(\d+) +T +\d+$", r"\1 \2 N N \3 T N", text, flags=re.M)
    return re.sub(r"  +", " ", text)


def test_openacc_program(tools: Tools) -> None:
    """Regions that are waited for, one in a queue, one on the host; directives, variables, the device."""
    tools.ok("gompcc", "-g", "-O1", "-fopenacc", PROGRAMS / "profile_acc.c", "-o", "acc")
    done = tools.run("./acc")
    assert (done.returncode, done.stdout) == (0, "16 1\n")
    assert masked(done.stderr) == OPENACC


@needs("gfortran")
def test_openmp_program_into_a_file(tools: Tools) -> None:
    """GOMPY_PROF names a file; it is appended to."""
    tools.ok("gompfortran", "-g", "-fopenmp", PROGRAMS / "profile_omp.f90", "-o", "omp")
    out = tools.work / "profile.txt"
    for times in (1, 2):
        done = tools.run("./omp", env={"GOMPY_PROF": str(out)})
        assert (done.returncode, done.stderr) == (0, "")
        assert masked(out.read_text()) == OPENMP * times


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("profile.txt", "libgompy-prof: GOMPY_PROF=profile.txt: not an absolute path; the profile is written here\n"),
        (
            "/nowhere/at/all",
            "libgompy-prof: GOMPY_PROF=/nowhere/at/all: cannot be written: No such file or directory\n",
        ),
    ],
)
def test_a_file_that_cannot_be(tools: Tools, where: str, said: str) -> None:
    """One line; the program's own status and output stay."""
    tools.ok("gompcc", "-g", "-fopenmp", ROOT / "docs" / "programs" / "hello.c", "-o", "hello")
    done = tools.run("./hello", env={"GOMPY_PROF": where})
    assert (done.returncode, done.stdout) == (0, "1 4 9 16, on the device\n")
    assert done.stderr.startswith(said)
    assert ("main._omp_fn.0" in done.stderr) == (where == "profile.txt")


def test_without_debug_information(tools: Tools) -> None:
    """The function stands for the line; a stripped program has addresses."""
    tools.ok("gompcc", "-fopenmp", ROOT / "docs" / "programs" / "hello.c", "-o", "plain")
    assert "main._omp_fn.0 in main 1 T T T device 0\n" in masked(tools.run("./plain").stderr)
    subprocess.run([shutil.which("strip") or "strip", "plain"], cwd=tools.work, check=True)
    assert re.search(r"^0x[0-9a-f]+ \? 1 T T T device 0$", masked(tools.run("./plain").stderr), re.M)


@needs("gcc")
def test_a_program_of_plain_gcc(tools: Tools) -> None:
    """It has no libgompy: that is said in a line, and no more."""
    tools.write("plain.c", "int main (void)\n{\n#pragma omp parallel\n  ;\n}\n")
    tools.ok("gcc", "-fopenmp", "plain.c", "-o", "stock")
    done = tools.run("./stock")
    assert done.stderr == ("libgompy-prof: no profile: this program was not linked by gompcc, gompc++ or gompfortran\n")


def test_a_child_writes_no_second_profile(tools: Tools) -> None:
    """A forked child that exits has no profile of its own."""
    tools.write(
        "forks.c",
        """
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main (void)
        {
        #pragma omp target
          ;
          if (fork () == 0)
            exit (0);
          wait (0);
        }
        """,
    )
    tools.ok("gompcc", "-fopenmp", "forks.c", "-o", "forks")
    assert tools.run("./forks").stderr.count("libgompy-prof") == 1
