"""What of mkoffload works on words and text alone: assembly, names, response files, command lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_tools import built

from gompy.tools.options import read
from gompy.tools.process import ToolError
from gompy.tools.response import expand, join, split
from mkoffload.hostobject import host_object_text, string
from mkoffload.inputs import Described as Desc
from mkoffload.intelmic import Options
from mkoffload.job import Request

pytestmark = built


def test_strings_for_the_assembler() -> None:
    assert string('a"b\\c\n\u00e9') == '"a\\"b\\\\c\\012\\303\\251"'


@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)), max_size=4)
)
def test_host_object_text_names_every_object(items: list[tuple[int, int, int, int]]) -> None:
    described = [Desc(i, f, v, k, f"o{n}.o") for n, (i, f, v, k) in enumerate(items)]
    text = host_object_text("x.so", described, 3, 4, "prog")
    assert text.count("\t.quad .Lname") == len(items)
    for item in described:
        assert f"\t.quad {item.id:#x}\n\t.long {item.nfuncs}, {item.nvars}, {item.kind}, 0" in text


WORDS = st.lists(st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=8), max_size=6)


@given(WORDS)
def test_response_files_round_trip(words: list[str]) -> None:
    assert split(join(words)) == words


def test_response_files_nest_and_missing_ones_stay(tmp_path: Path) -> None:
    (tmp_path / "inner").write_text("-c 'd e'")
    (tmp_path / "outer").write_text(f'-a "@{tmp_path / "inner"}" "-b"')
    assert expand([f"@{tmp_path / 'outer'}", "@/nonexistent"]) == ["-a", "-c", "d e", "-b", "@/nonexistent"]
    (tmp_path / "loop").write_text(f'"@{tmp_path / "loop"}"')
    assert len(expand([f"@{tmp_path / 'loop'}"])) == 1


def test_command_line() -> None:
    request = Request(
        read(
            [
                "-o",
                "x.o",
                "a.o",
                "lib.a@0x9c",
                "-fPIE",
                "-fopenmp",
                "-O2",
                "-g",
                "-foffload-abi=lp64",
                "-dumpbase",
                "./p.x",
                "-lm",
                "-L",
                "dir",
                "-Wl,-z,now",
                "-save-temps",
                "-v",
                "-Xassembler",
                "-x",
            ]
        )
    )
    options = Options(request.options)
    assert (request.output, request.dumpbase, request.objects) == ("x.o", "./p.x", ["a.o", "lib.a@0x9c"])
    assert options.compile == ["-fopenmp", "-O2", "-g", "-Xassembler", "-x"]
    assert options.link == ["-lm", "-Ldir", "-z", "now"]
    assert request.save_temps and request.verbose
    with pytest.raises(ToolError, match="output file"):
        Request(read(["a.o"]))
