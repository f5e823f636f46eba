"""OMPT: a tool compiled against LLVM's omp-tools.h is found, started and told what the target constructs do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN
from ompt_tools import HEADERS, PROGRAM, PROGRAMS, TOOL, header_option, needs_header, with_lines

GOMPCC = Path(sys.executable).parent / "gompcc"
if not PLUGIN.exists() or not GOMPCC.exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

pytestmark = needs_header

START = ["OpenMP 202011, gompy (libgompy.so.1)", "tool begins"]
RESULT = "1, on the device"
ROUTINES = [
    "operation 1, host -> device, code known, target task none",
    "operation 2, host -> device, code known, target task none",
    "operation 3, device -> device, code known, target task none",
    "operation 3, device -> host, code known, target task none",
    "operation 5, host -> device, code known, target task none",
    "operation 6, host -> device, code known, target task none",
    "operation 4, device -> host, code known, target task none",
    "target begin, target task 0",
    "operation 1, host -> device, code known, target task known",
    "operation 2, host -> device, code known, target task known",
    "target end, target task 7",
    "target begin, target task 0",
    "operation 4, device -> host, code known, target task known",
    "target end, target task 7",
    "1 1",
]
"""Operations by OMPT's numbers: alloc, to the device, from it, delete, associate, disassociate."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program that has the tool, the program alone, and the tool as a library."""
    folder = tmp_path_factory.mktemp("ompt")
    words = [GOMPCC, "-g", "-fopenmp", *header_option(), PROGRAM]
    subprocess.run([*words, TOOL, "-o", "whole"], check=True, cwd=folder)
    subprocess.run([*words, "-o", "alone"], check=True, cwd=folder)
    subprocess.run(["gcc", "-shared", "-fPIC", *header_option(), TOOL, "-o", "tool.so"], check=True, cwd=folder)
    return folder


def run(built: Path, program: str, **more: str) -> tuple[list[str], list[str]]:
    """What a program prints on standard output and error."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP", "LD_"))}
    done = subprocess.run(
        [built / program], capture_output=True, text=True, env=clean | more, timeout=60, check=True, cwd=built
    )
    return with_lines(done.stdout, built / program), done.stderr.splitlines()


@pytest.mark.slow
def test_each_event_with_its_line(built: Path) -> None:
    """Begin and end of everything, in order, numbered as the tool wants it; codeptr_ra is a line of the source."""
    out, err = run(built, "whole")
    assert out == (PROGRAMS / "ompt_gcc.txt").read_text().splitlines()
    assert err == []


def test_a_tool_of_a_library_sees_the_same(built: Path) -> None:
    """OMP_TOOL_LIBRARIES: the first that has a tool; the search is told where it is asked for."""
    out, err = run(built, "alone", OMP_TOOL_LIBRARIES=f"/none.so:{PLUGIN}:./tool.so", OMP_TOOL_VERBOSE_INIT="stderr")
    assert [line.replace(" of alone:", " of whole:").replace(" - ", "") for line in out] == (
        PROGRAMS / "ompt_gcc.txt"
    ).read_text().splitlines()
    assert err == [
        "libgompy: OMPT: the program: no ompt_start_tool",
        "libgompy: OMPT: /none.so: /none.so: cannot open shared object file: No such file or directory",
        f"libgompy: OMPT: {PLUGIN}: no ompt_start_tool",
        "libgompy: OMPT: ./tool.so: it has a tool",
        "libgompy: OMPT: the tool is active",
    ]


def test_callbacks_without_words_of_their_own(built: Path) -> None:
    """Those of OpenMP 5.0: operations at their end, launches at their begin."""
    out, _ = run(built, "whole", OMPT_TRY="old")
    assert out == (PROGRAMS / "ompt_old.txt").read_text().splitlines()


def test_records_of_a_device(built: Path) -> None:
    """Traces: each construct, operation and launch, in order, in buffers of three records."""
    out, _ = run(built, "whole", OMPT_TRY="trace")
    assert out[3] == "trace: set 5, set work 1, start 1"
    records = [line for line in out if line.startswith(("record", "buffer"))]
    assert records == (PROGRAMS / "ompt_records.txt").read_text().splitlines()
    assert out[-3:] == [records[-1], "device 0 ends", "tool ends"]


def test_what_a_tool_may_ask(built: Path) -> None:
    """What setting callbacks leads to, states, callbacks, ids."""
    out, _ = run(built, "whole", OMPT_TRY="results")
    always = [f"set {number}: 5" for number in (8, 9, 10, 33, 34, 35)]
    assert out[: out.index("device 0 begins: intelmic")] == [
        *START,
        *always,
        "set 36: 3",
        *(f"set {number}: 5" for number in (12, 13, 14)),
        "state 0 ompt_state_work_serial",
        "state 0x80 ompt_state_wait_target",
        "state 0x81 ompt_state_wait_target_map",
        "state 0x82 ompt_state_wait_target_update",
        "callback 1 1, other 0",
        "ids differ, devices 1",
        "unknown routine: none, work: 1",
    ]


@pytest.mark.parametrize(
    ("variables", "out", "err"),
    [
        ({"OMP_TOOL": "disabled"}, [RESULT], []),
        ({"OMPT_TRY": "none"}, [RESULT], []),
        ({"OMPT_TRY": "decline"}, [*START, RESULT], []),
        (
            {"OMPT_TRY": "decline", "OMP_TOOL": "on"},
            [*START, RESULT],
            ["libgompy: OMP_TOOL=on: neither enabled nor disabled; taken as enabled"],
        ),
        (
            {"OMPT_TRY": "decline", "OMP_TOOL_VERBOSE_INIT": "/none/log"},
            [*START, RESULT],
            ["libgompy: OMP_TOOL_VERBOSE_INIT=/none/log: cannot be written: No such file or directory"],
        ),
        (
            {"OMPT_TRY": "none", "OMP_TOOL_VERBOSE_INIT": "stderr"},
            [RESULT],
            ["libgompy: OMPT: the program: ompt_start_tool returns NULL"],
        ),
    ],
)
def test_tools_that_do_not_start(built: Path, variables: dict[str, str], out: list[str], err: list[str]) -> None:
    assert run(built, "whole", **variables) == (out, err)


def test_the_log_of_the_search_in_a_file(built: Path, tmp_path: Path) -> None:
    """The program's output is its own."""
    out, err = run(built, "alone", OMP_TOOL_VERBOSE_INIT=str(tmp_path / "log"))
    assert (out, err) == ([RESULT], [])
    assert (tmp_path / "log").read_text() == "libgompy: OMPT: the program: no ompt_start_tool\n"


def test_a_region_on_the_host(built: Path) -> None:
    """No device: the constructs are the initial device's, which is number 0 then."""
    out, _ = run(built, "whole", OMP_TARGET_OFFLOAD="disabled")
    assert "target target begin device 0, number 1, task known, at ompt_program.c:15" in out
    assert not [line for line in out if line.startswith(("submit", "data_op", "map"))]


def test_the_headers_are_found() -> None:
    assert all(path.name == "omp-tools.h" for path in HEADERS)


def test_routines_and_target_tasks(tmp_path: Path) -> None:
    """Each operation of a routine has its place; a copy within a device is from it, as LLVM has it."""
    words = [GOMPCC, "-g", "-fopenmp", *header_option(), PROGRAMS / "ompt_routines.c", "-o", "routines"]
    subprocess.run(words, check=True, cwd=tmp_path)
    out, err = run(tmp_path, "routines")
    assert (out, err) == (ROUTINES, [])


def test_callbacks_that_libomp_denies(tmp_path: Path) -> None:
    """libomp 17 and newer answer ompt_set_never for those of maps: no tool expects them.  Tasks are libomp's."""
    source = "int main (void)\n{\n  int a = 1;\n#pragma omp target map(tofrom: a)\n  a++;\n  return a != 2;\n}\n"
    (tmp_path / "small.c").write_text(source)
    subprocess.run([GOMPCC, "-fopenmp", "small.c", "-o", "small"], check=True, cwd=tmp_path)
    words = ["gcc", "-shared", "-fPIC", *header_option(), PROGRAMS / "ompt_libomp.c", "-o", "libomp.so"]
    subprocess.run(words, check=True, cwd=tmp_path)
    out, _ = run(tmp_path, "small", LD_PRELOAD="./libomp.so")
    assert out == ["target 1, task libomp's, target task libomp's"] * 2
