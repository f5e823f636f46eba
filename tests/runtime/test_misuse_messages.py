"""What is said of programs that misuse OpenACC's routines, map what cannot be mapped, or were made by a later compiler.

The words are libgomp's own where it has any.  Each cause is real: a routine's wrong argument, or a compiler's call.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from driver_tools import Tools, has_all
from runtime_tools import LIBGOMPY

pytestmark = has_all
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
P = r"(?:0x[0-9a-f]+|\(nil\))"
OPENACC = {
    "free mapped": rf"refusing to free device memory space at {P} that is still mapped at \[{P},\+64\]",
    "map nothing": rf"\[\(nil\),\+64\]->\[{P},\+64\] is a bad map",
    "map twice": rf"host address \[{P}, \+64\] is already mapped",
    "map to the same": rf"device address \[{P}, \+64\] is already mapped",
    "map on the host": "cannot map data on shared-memory system",
    "unmap nothing": rf"{P} is not a mapped block",
    "unmap within": rf"\[{P},64\] surrounds {P}",
    "unmap a copy": rf"refusing to unmap block \[{P},\+64\] that has not been mapped by 'acc_map_data'",
    "copy nothing": r"\[\(nil\),\+8\] is a bad range",
    "delete more": rf"\[{P},\+16\] outside mapped block \[{P},\+8\]",
    "attach nothing": "struct not mapped for acc_attach",
    "to no device address": rf"invalid device address\n\nlibgomp: Copying of host object \[{P}\.\.{P}\) "
    rf"to dev object \[\(nil\)\.\.0x8\) failed",
    "from no host address": rf"invalid host address\n\nlibgomp: Copying of host object \[\(nil\)\.\.0x8\) "
    rf"to dev object \[{P}\.\.{P}\) failed",
    "too much": rf"invalid size\n\nlibgomp: Copying of host object \[{P}\.\.{P}\) "
    rf"to dev object \[{P}\.\.{P}\) failed",
    "copy from nothing within": r"invalid device address or size\n\nlibgomp: Copying of dev object "
    rf"\[\(nil\)\.\.0x8\) to dev object \[{P}\.\.{P}\) failed",
    "shutdown in data": "shutdown in 'acc data' region",
    "shutdown on the host": "shutdown during host fallback",
    "type in data": "acc_set_device_type in 'acc data' region",
    "shutdown twice": "no device initialized",
    "init twice": "device already active",
    "number": "device 99 out of range",
    "type": "unknown device type 99",
    "launch for a type": "device_type '3' offload parameters, libgomp is too old",
    "launch by a later gcc": "unrecognized offload code '9', libgomp is too old",
    "update of a kind": ">>>> GOACC_update UNHANDLED kind 0x7f",
    "data of a kind": ">>>> GOACC_enter_exit_data UNHANDLED kind 0x7f",
    "exit of a kind": ">>>> goacc_exit_data_internal UNHANDLED kind 0x7f",
    "enter of a kind": "unexpected mapping",
    "members apart": rf"Trying to map into device \[{P}\.\.{P}\) structure element when other mapped elements from "
    "the same structure weren't mapped together with it",
    "while it starts": "no device active: a profiling callback for its start has called OpenACC, which needs the "
    "device",
    "detach nothing": "struct not mapped for acc_detach",
    "detach of a kind": "struct not mapped for detach operation",
    "no code": "target function wasn't mapped",
}
OPENMP = {
    "overlap": rf"Trying to map into device \[{P}\.\.{P}\) object when \[{P}\.\.{P}\) is already mapped",
    "update more": rf"Trying to update \[{P}\.\.{P}\) object when only \[{P}\.\.{P}\) is mapped",
    "kind": "gomp_map_vars: unhandled kind 0x7f",
    "size": rf"the object at {P} to be mapped has 9223372036854775808 bytes, more than there are addresses; it may be "
    r"a Fortran pointer or allocatable array whose status is undefined \(nullify it\), or a section whose length was "
    "never set",
    "negative size": rf"the object at {P} to be mapped has -64 bytes; it may be a Fortran array with a negative "
    r"stride, as x\(n:1:-1\), which gfortran cannot map \(copy it first\), a section whose length is negative, or an "
    r"array whose status is undefined \(nullify it\)",
    "order": rf"Mapped array elements must be the same or in increasing address order \(got {P} > {P}\)",
}


@pytest.fixture(scope="module")
def tools(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """A folder with both programs."""
    made = Tools(bin_folder, tmp_path_factory.mktemp("messages"))
    for name, flag in (("acc_messages", "-fopenacc"), ("omp_messages", "-fopenmp")):
        made.ok("gompcc", flag, "-w", PROGRAMS / f"{name}.c", "-o", name)
    return made


def told(tools: Tools, name: str, what: str, **env: str) -> tuple[int, str]:
    """Status and messages of one misuse."""
    done = tools.run(f"./{name}", what, env=env)
    assert done.returncode == 0 or done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("what", OPENACC)
def test_openacc_routines_and_calls(tools: Tools, what: str) -> None:
    status, text = told(tools, "acc_messages", what)
    assert status == 1 and re.fullmatch(rf"\nlibgomp: {OPENACC[what]}\n", text), text


@pytest.mark.parametrize("what", OPENMP)
def test_mappings_of_openmp(tools: Tools, what: str) -> None:
    status, text = told(tools, "omp_messages", what)
    assert status == 1 and re.fullmatch(rf"\nlibgomp: {OPENMP[what]}\n", text), text


@pytest.mark.parametrize(
    ("env", "text"),
    [
        (
            {"GOMPY_PLUGINS": "a/b,intelmic"},
            "\nlibgomp: GOMPY_PLUGINS: a/b: not the name of a plugin but a path; a plugin NAME is "
            "libgomp-plugin-NAME.so.1 beside libgompy or in LD_LIBRARY_PATH\n",
        ),
        (
            {"GOMPY_RECORD_FILE": "x"},
            "libgompy: GOMPY_RECORD_FILE=x: not an absolute path; nothing is recorded\n",
        ),
        (
            {"GOMPY_RECORD_FILE": "/dev/full"},
            "libgompy: GOMPY_RECORD_FILE=/dev/full: cannot be made: File exists\n",
        ),
        (
            {"GOMPY_CHECK_LOG": "/dev/full"},
            "libgompy: the log of mappings and copies ends here: No space left on device\n",
        ),
        (
            {"GOMPY_TRACE": "/nonexistent/x"},
            "libgompy: GOMPY_TRACE=/nonexistent/x: cannot be written: No such file or directory\n",
        ),
        (
            {"GOMPY_TRACE": "/dev/full"},
            "libgompy: GOMPY_TRACE=/dev/full: cannot be written: No space left on device\n",
        ),
    ],
    ids=lambda part: next(iter(part.items()))[0] if isinstance(part, dict) else "",
)
def test_settings_that_cannot_be(tools: Tools, env: dict[str, str], text: str) -> None:
    """The program runs all the same."""
    assert told(tools, "omp_messages", "one", **env) == (0, text)


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({"OMP_TARGET_OFFLOAD": "DISABLED"}, "libgompy: no device: OMP_TARGET_OFFLOAD is set to DISABLED\n"),
        ({"GOMPY_PLUGINS": ","}, ""),
    ],
)
def test_no_device_of_any_kind(tools: Tools, env: dict[str, str], text: str) -> None:
    """Asked for by acc_device_not_host."""
    assert told(tools, "acc_messages", "no device", **env) == (1, f"{text}\nlibgomp: no device found\n")


CLANG = """
import ctypes, sys
core = ctypes.CDLL (sys.argv[1])
number, word = ctypes.c_int64, ctypes.c_void_p
replays = (core[f"gompy_llvm___tgt_{name}"] for name in ("target_kernel_replay", "activate_record_replay"))
print ([replay (-1, -1, None, None, 0, None, None, 0, 1, 1, 0) for replay in replays], core.omp_get_num_devices ())
launch = core.gompy_llvm___tgt_target_kernel
launch.argtypes = [word, number, ctypes.c_int, ctypes.c_int, word, word]
print (launch (ctypes.create_string_buffer (64), 0, 1, 1, 0x1000, (ctypes.c_uint * 64) (99)), flush=True)
give_back = core.gompy_llvm_llvm_omp_target_free_device
give_back.argtypes = [word, ctypes.c_int]
give_back (0x1234, 0)
"""


def test_calls_that_clang_makes(tools: Tools) -> None:
    """What llvm-omp-kernel-replay calls, a launch by a later clang, and a block that is none."""
    done = tools.run(sys.executable, "-c", CLANG, LIBGOMPY, env={"GOMPY_PLUGINS": "intelmic"})
    assert (done.returncode, done.stdout) == (1, "[-1, -1] 1\n-1\n")
    assert done.stderr == (
        "libgompy: __tgt_target_kernel_replay is not implemented\n"
        "libgompy: __tgt_activate_record_replay is not implemented\n"
        "libgompy: kernel arguments of version 99; this libgompy knows up to 3: the region runs on the host\n"
        "\nlibgomp: device 0 (intelmic): free of 0x1234, which is not an allocated block\n"
        "\nlibgomp: error in freeing device memory block at 0x1234\n"
    )


def test_a_folder_for_what_is_told(tools: Tools) -> None:
    status, text = told(tools, "omp_messages", "one", TMPDIR="/nonexistent", GOMPY_TRACE="1")
    wanted = r"libgompy: GOMPY_TRACE=1: /nonexistent/gompy-trace-\w{6}: cannot be made: No such file or directory\n"
    assert status == 0 and re.fullmatch(wanted, text), text
