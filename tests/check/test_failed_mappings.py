"""The runtime's texts that name no variable, in the report's words (gompy/check/failed.py)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gompy.abi.check_log import FAILED, Copied, Op
from gompy.check.copied import refused_copy
from gompy.check.failed import REFUSALS, partial, pointer_words
from gompy.check.log import Event
from gompy.records import replace

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "gompy" / "runtime"
BIN = ROOT / ".venv" / "bin"


def test_each_text_of_the_runtime_has_words() -> None:
    sources = "".join(path.read_text() for path in RUNTIME.rglob("*.pxi"))
    texts = set(re.findall(r'fail_pointer\([^"]*b"([^"]+)"\)', sources))
    assert texts == set(REFUSALS)


@pytest.mark.parametrize(
    ("text", "what", "name", "words"),
    [
        (
            "attach count underflow\n",
            "exit data",
            "v.data",
            ("exit data is to detach v.data, which is not attached on device 1", "remove it, or attach v.data before"),
        ),
        (
            "attempt to attach null pointer",
            "enter data",
            "",
            ("enter data is to attach a pointer, which is a null pointer", "have it point to something mapped before"),
        ),
        (
            "use_device_ptr pointer wasn't mapped",
            "",
            "a",
            ("target is to translate a pointer to a, which is not mapped to device 1", "map a before"),
        ),
        (
            "Pointer target of array section wasn't mapped",
            "",
            "a",
            ("target is to attach a pointer to a, which is not mapped to device 1", "map a before"),
        ),
    ],
)
def test_pointers(text: str, what: str, name: str, words: tuple[str, str]) -> None:
    assert pointer_words(text, what, name, 1) == words


def test_copies_either_way() -> None:
    to = partial("Copying of host object [0x10..0x20) to dev object [0x90..0xa0) failed", "update", 0)
    back = partial("Copying of dev object [0x90..0xa0) to host object [0x10..0x20) failed", "update", 0)
    assert to is not None and back is not None
    assert (to.start, to.size) == (back.start, back.size) == (16, 16)
    assert to.words == "update: {size} cannot be copied to device 0 from {name}"
    assert back.words == "update: {size} cannot be copied from device 0 to {name}"
    assert partial("attach count underflow", "update", 0) is None


def test_sizes_that_no_object_has() -> None:
    for size in ("-24", "9223372036854775808"):
        told = partial(f"the object at 0x10 to be mapped has {size} bytes; it may be", "", 0)
        assert told is not None and (told.start, told.words) == (
            16,
            f"target is to map {{name}} with a size of {size} bytes",
        )
        assert told.mended == (
            "copy an array of negative stride first, nullify a pointer that points to nothing, or check the length"
        )


def test_a_copy_is_told_of_openacc_routines_alone() -> None:
    """A construct's is about what it maps."""
    text = "Copying of dev object [0x90..0xa0) to host object [0x10..0x20) failed"
    event = Event(Op.ABSENT, FAILED, 1, 0, 0, 0, 0, 0, 0, "acc_memcpy_from_device", b"", None)
    copy = refused_copy(text, event)
    assert copy is not None
    assert (copy.kind, copy.start, copy.address, copy.size, copy.flags) == (1, 16, 144, 16, Copied.REFUSED)
    assert refused_copy(text, replace(event, what="update")) is None
    assert refused_copy("attach count underflow", event) is None


POINTER_FIRST = """#include <stdlib.h>
struct row { int n, *v; } rows[3];
int
main (void)
{
  struct row *q = rows;
  int sum = 0;
  q[2].v = calloc (100, sizeof (int));
#pragma omp target map(to : q[ : 3], q[2].v[ : 100]) map(tofrom : sum)
  sum += q[2].v[5];
  free (q[2].v);
  return sum;
}
"""


def test_a_pointer_that_is_mapped_before_what_it_is_in(tmp_path: Path) -> None:
    """gcc 12 puts the entries into this order; the first has no bytes, and was told as if nothing were mapped."""
    (tmp_path / "prog.c").write_text(POINTER_FIRST)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("this gcc maps the structure first")
    assert done.returncode == 86
    assert done.stderr.splitlines()[-3:] == [
        "prog.c:9: error: target is to map 48 bytes of rows, but has mapped the pointer at byte 40 of these by itself "
        "before [extension]",
        "prog.c:9: mend: map rows by an enter data, and what its pointers point to by the next one",
        "gompy run: --check: 1 error",
    ]
