"""Where the accelerator compiler fails and gcc's own is tried: whose messages are seen, and when."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from link_tools import Program, built, call, compile_c, link

from gompy.tools import accelstore as store

pytestmark = built

SOURCE = "int x;\n#pragma omp declare target to(x)\nint main (void)\n{\n#pragma omp target\nx = 1;\n}\n"
FAILS = "#!/bin/sh\necho 'lto1: error: cannot read these streams' >&2\nexit 1\n"
OUTPUT = "lto1: error: cannot read these streams\n"
NOTE = "mkoffload: note: the accelerator compiler cannot make this image (-v shows why), gcc's own lto1 has:"


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A data folder with an accelerator compiler for this gcc that fails on everything."""
    lto1 = call("gcc", "-print-prog-name=lto1").stdout.strip()
    folder = tmp_path / "data" / "gompy" / "accel" / "fails"
    folder.mkdir(parents=True)
    (folder / store.LTO1).write_text(FAILS)
    (folder / store.LTO1).chmod(0o755)
    store.write_conf(str(folder / store.CONF), {"format": store.FORMAT, "host_identity": store.identity(lto1)})
    return str(tmp_path / "data")


def test_only_a_note_tells_of_the_first(tmp_path: Path, data: str) -> None:
    """The link succeeds; what the first compiler said is not seen."""
    source = compile_c(SOURCE, tmp_path / "a.o")
    done = link([source], tmp_path / "a", GOMPY_ACCEL="auto", XDG_DATA_HOME=data)
    assert done.stderr.startswith(NOTE) and done.stderr.count("\n") == 1
    assert Program(tmp_path / "a").image_tables()[1] == ["x"]


def test_everything_is_seen_with_v(tmp_path: Path, data: str) -> None:
    """In order: the first compiler's command and words, that it has failed, the second's, the note."""
    source = compile_c(SOURCE, tmp_path / "a.o")
    done = link([source], tmp_path / "a", "-v", GOMPY_ACCEL="auto", XDG_DATA_HOME=data)
    said = done.stderr.replace('"', "")  # a word with a blank is shown in quotes
    places = [
        said.find(text)
        for text in (
            f"mkoffload: accelerator compiler: {os.path.join(data, 'gompy/accel/fails/lto1')}",
            f" -B{os.path.join(data, 'gompy/accel/fails')}/",
            OUTPUT,
            "returned 1 exit status; trying the other compiler\n",
            "mkoffload: accelerator compiler: gcc's own lto1",
            NOTE,
        )
    ]
    assert -1 not in places and places == sorted(places)


def test_the_first_ones_messages_where_there_is_no_second(tmp_path: Path, data: str) -> None:
    """GOMPY_ACCEL=true leaves no choice, nor does an object without streams for gcc's own compiler."""
    source = compile_c(SOURCE, tmp_path / "a.o")
    done = link([source], tmp_path / "a", check=False, GOMPY_ACCEL="true", XDG_DATA_HOME=data)
    assert done.returncode and OUTPUT in done.stderr and NOTE not in done.stderr
    plain = compile_c(SOURCE, tmp_path / "b.o", "plain")
    done = link([plain], tmp_path / "b", check=False, GOMPY_ACCEL="auto", XDG_DATA_HOME=data)
    assert done.returncode and OUTPUT in done.stderr and NOTE not in done.stderr
    assert "mkoffload: fatal error: " in done.stderr and "returned 1 exit status" in done.stderr
