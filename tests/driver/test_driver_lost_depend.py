"""gfortran 12 drops depend of combined target constructs: gompfortran says where."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gompy.driver import lost_depend

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

SOURCE = """program t
 integer :: x, c(8)
 !$omp target teams distribute nowait depend(out: c) map(c)
 do x=1,8
  c(x)=x
 end do
 !$omp target nowait depend(out: c) map(c)
 c(1)=2
 !$omp end target
 !$omp taskwait
end
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (SOURCE, [3]),
        ("!$omp target depend(out: c)\n", []),
        ("!$omp target parallel do &\n!$omp depend(in: c)\n", [1]),
        ("!$OMP TARGET SIMD &\n!$OMP& DEPEND (IN: C)\n!$omp target simd\n", [1]),
        ("c$omp target teams\nc$omp+ depend(in: c)\n", [1]),
        ("!$omp target teams ! depend(in: c)\n", []),
        ("!$omp target update depend(in: c)\n!$omp target enter data depend(in: c)\n", []),
        ("! target teams depend(in: c)\n", []),
    ],
)
def test_where_it_is_lost(tmp_path: Path, text: str, lines: list[int]) -> None:
    """Both forms with continuation lines, any case; not in comments, not where gfortran keeps the clause."""
    file = tmp_path / "t.f90"
    file.write_text(text)
    assert lost_depend.places(str(file)) == lines


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Is gcc's to tell."""
    assert lost_depend.places(str(tmp_path / "none.f90")) == []


def test_the_warning(tmp_path: Path) -> None:
    """One line with file, line and mend; the compile goes on."""
    (tmp_path / "t.f90").write_text(SOURCE)
    command = [BIN / "gompfortran", "-fopenmp", "-c", "t.f90"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, check=True
    )
    assert done.stderr == (
        "gompfortran: warning: t.f90:3: gfortran 12 drops 'depend' of this combined construct: its order is lost; "
        "write 'target' and what it is combined with as two constructs, or wait by 'taskwait'\n"
    )


def test_gfortran_drops_it_indeed(tmp_path: Path) -> None:
    """Of the two constructs only the plain one keeps its clause: when this fails, the warning may go."""
    (tmp_path / "t.f90").write_text(SOURCE)
    command = ["gfortran", "-fopenmp", "-fdump-tree-original=dump", "-c", "t.f90"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "dump").read_text().count("depend(out:") == 1
