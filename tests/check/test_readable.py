"""Names of functions in reports: Python's reading of them and that of the program's own messages are the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gompy.check.readable import demangled, gpu_name

HEADER = Path(__file__).parents[2] / "gompy/plugins/cxx_names.h"

NAMES = {
    "main._omp_fn.0": "main._omp_fn.0",
    "_ZN1M3runEv._omp_fn.1": "M::run._omp_fn.1",
    "_Z5scaleIfEvPT_._omp_fn.0": "scale<float>._omp_fn.0",
    "_Z5twicePfi": "twice",
    "_ZN4listIiEixEm._omp_fn.2": "list<int>::operator[]._omp_fn.2",
    "_ZN4fileclEPFviE": "file::operator()",
    "_ZZ4mainENKUlvE_clEv._omp_fn.0": "main::{lambda()#1}::operator()._omp_fn.0",
    "_ZZ7reversePiE4tile": "reverse::tile",
    "_ZZN1M3runEiE5count_0": "M::run::count",
    "_Znothing": "_Znothing",
    "": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_demangled(name: str) -> None:
    """What stands for a function, and what is no name of C++'s."""
    assert demangled(name) == NAMES[name]


def test_kernels() -> None:
    """PTX has $ for dots, and the region itself is another function."""
    assert gpu_name("_ZN1M3runEv$_omp_fn$0$impl") == "M::run._omp_fn.0"


def test_as_in_the_program(tmp_path: Path) -> None:
    """The program's messages have the same names."""
    source = tmp_path / "names.cpp"
    source.write_text(
        f'#include "{HEADER}"\n'
        "int main (int argc, char **argv)\n"
        "{ for (int i = 1; i < argc; i++)\n"
        "    { char room[200]; strcpy (room, argv[i]); gompy_readable_name (room, sizeof room); puts (room); } }\n"
    )
    subprocess.run(["g++", "-Wl,--no-as-needed", "-o", tmp_path / "names", source], check=True)
    told = subprocess.run([tmp_path / "names", *NAMES], check=True, capture_output=True, text=True).stdout
    assert told.split("\n")[:-1] == list(NAMES.values())
