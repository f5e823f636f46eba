"""The command ``gompy inspect``: output, JSON, checks, extraction, the graph, exit codes, speed."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inspect_inputs
import networkx as nx
import pytest
from driver_tools import needs
from inspect_inputs import FUNCS, HAVE_NVPTX, VARS, Inputs, run

from gompy.cli import inspect_calls, inspect_graph, inspect_layout
from gompy.cli.inspect import main
from gompy.cli.inspect_report import inspect_bytes
from gompy.objects.view import ElfView

NATIVE = Path(inspect_graph.__file__).parents[1] / "_native"
COMMAND = (sys.executable, "-c", "import sys; from gompy.cli.inspect import main; sys.exit(main(sys.argv[1:]))")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inputs]:
    yield inspect_inputs.make(tmp_path_factory.mktemp("inputs"))


def inspect(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[dict[str, Any]]:
    status, out, err = inspect(capsys, "--json", *arguments)
    assert (status, err) == (0, "")
    reports: list[dict[str, Any]] = json.loads(out)
    return reports


@pytest.mark.slow
def test_text(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = inspect(capsys, inputs["apple.fat.o"])
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{inputs['apple.fat.o']}: relocatable, x86_64, {inputs['apple.fat.o'].stat().st_size} bytes"
    assert re.search(r"^ +3 +\.bss\+0x0 +400 +link +pips$", out, re.MULTILINE)
    assert re.search(r"^Streams: lto [0-9a-f]+: GCC \d+\.\d, fat, zstd, ", out, re.MULTILINE)
    assert re.search(r"^ .* -foffload-abi=lp64 ", out, re.MULTILINE)
    assert "\x1b" not in out
    heading = lines.index("  index  address     size  link  name")
    column = lines[heading].index("name")
    assert [line[column:] for line in lines[heading + 1 : heading + 5]] == VARS[:4]


def test_text_of_an_image(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    _status, out, _err = inspect(capsys, inputs["prog.mic"], "--table", "images")
    rows = [line.split() for line in out.splitlines() if line.startswith(("  func", "  var"))]
    assert [(r[1], r[2], r[3], r[4]) for r in rows] == [
        (str(i), n, str(i), n) for names in (FUNCS, VARS) for i, n in enumerate(names)
    ]
    assert "OFFLOADING IMAGE [0]:" in out and "by id" in out


def test_json_keys(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    objects = as_json(capsys, inputs["apple.fat.o"], inputs["prog.mic"])
    assert [o["schema"] for o in objects] == [1, 1]
    first, second = objects
    assert [f["name"] for f in first["funcs"]] == FUNCS[:2]
    assert set(first["funcs"][0]) == {"index", "name", "address", "section"}
    assert {(v["name"], v["size"], v["link"]) for v in first["vars"]} == {
        *(("core", 16, False), ("seeds", 4, False), ("hidden", 4, False), ("pips", 400, True))
    }
    assert all(re.fullmatch("0x[0-9a-f]+", e["address"]) for e in first["funcs"] + first["vars"])
    assert {u["family"] for u in first["units"]} == {"offload", "lto"}
    assert all(u["compression"] == "zstd" and u["slim"] is False for u in first["units"])
    (image,) = second["images"]
    assert [f["name"] for f in image["funcs"]] == FUNCS and [f["host"] for f in image["funcs"]] == [0, 1, 2]
    assert [v["link"] for v in image["vars"]] == [False, False, False, True, False]
    assert second["objects"] == [
        {"id": "000000000000000a", "name": "apple.c", "funcs": 2, "vars": 4},
        {"id": "000000000000000b", "name": "banana.c", "funcs": 1, "vars": 1},
    ]


def test_json_is_what_the_json_module_writes(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    """Our writer only lays it out differently."""
    _status, out, _err = inspect(capsys, "--json", inputs["lib.a"], inputs["prog.mic"])
    names = (inputs["lib.a"], inputs["prog.mic"])
    assert json.loads(out) == [inspect_bytes(p.read_bytes(), str(p)).report for p in names]


def test_one_table(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    (report,) = as_json(capsys, inputs["prog.mic"], "--table", "funcs")
    assert "funcs" in report and not {"vars", "images", "sections"} & set(report)
    _status, out, _err = inspect(capsys, inputs["prog.mic"], "--table", "vars")
    assert "Variables" in out and "Functions" not in out and "Sections" not in out


def test_archive(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lib.a", "thin.a"):
        (report,) = as_json(capsys, inputs[name])
        assert report["kind"] == "archive"
        assert [[f["name"] for f in m["funcs"]] for m in report["members"]] == [FUNCS[:2], FUNCS[2:]]
        assert [m["member"] for m in report["members"]] == ["apple.fat.o", "banana.o"]


def test_decode(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    def table(*options: str) -> list[str | None]:
        (report,) = as_json(capsys, inputs["apple.slim.o"], *options)
        unit = next(u for u in report["units"] if u["family"] == "lto")
        return [e["name"] for e in unit["offload_table"]]

    if not HAVE_NVPTX:
        pytest.skip("gcc-12-offload-nvptx is not installed")
    assert None in table() and "hidden" in table("--decode")


def test_check(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = inspect(
        capsys, "--check", inputs["prog.mic"], inputs["apple.fat.o"], inputs["prog.mic.stripped"]
    )
    assert (status, err) == (0, "")
    assert [line.rsplit(": ", 1)[1] for line in out.splitlines()] == ["agree", "agree", "lengths agree"]


def test_check_names_what_differs(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Two names of equal length exchanged in the image's string table: the same tables, other names."""
    data = inputs["prog.mic"].read_bytes()
    start = data.index(inputs["image.so"].read_bytes())
    image = inputs["image.so"].read_bytes().replace(b"\0seeds\0", b"\0weeds\0")
    broken = tmp_path / "broken"
    broken.write_bytes(data[:start] + image + data[start + len(image) :])
    status, _out, err = inspect(capsys, "--check", broken)
    assert status == 1
    prefix = f"gompy inspect: error: {broken}: image 0 (x86_64-intelmicemul-linux-gnu)"
    assert err == f"{prefix}: variables: entry 1: seeds on the host, weeds in the image (entry 1)\n"


def test_check_compares_stream_and_table(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.o"
    broken.write_bytes(inputs["apple.o"].read_bytes().replace(b"\0seeds\0", b"\0weeds\0", 1))
    data = inputs["apple.o"].read_bytes()
    elf = ElfView(data, "x")
    strings = elf.by_name[".strtab"]
    at = data.index(b"\0seeds\0", strings.offset)
    broken.write_bytes(data[: at + 1] + b"w" + data[at + 2 :])
    status, _out, err = inspect(capsys, "--check", broken)
    assert status == 1
    assert ".gnu.offload_lto_.offload_table: variables: entry 1: seeds in the stream, weeds in the table" in err


def test_extract(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "deep" / "images"
    status, _out, err = inspect(capsys, "--extract", target, inputs["prog.mic"], inputs["prog.mic"], inputs["prog.gcn"])
    assert (status, err) == (0, "")
    assert sorted(p.name for p in target.iterdir()) == [
        "prog.gcn.0.amdgcn-amdhsa.hsaco",
        "prog.mic.0.x86_64-intelmicemul-linux-gnu-2.so",
        "prog.mic.0.x86_64-intelmicemul-linux-gnu.so",
    ]
    image = target / "prog.mic.0.x86_64-intelmicemul-linux-gnu.so"
    assert image.read_bytes() == inputs["image.so"].read_bytes()
    (report,) = as_json(capsys, image)
    assert report["kind"] == "device image" and [f["name"] for f in report["funcs"]] == FUNCS


def test_extract_nothing(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _out, err = inspect(capsys, "--extract", tmp_path / "x", inputs["prog"])
    assert status == 1 and "no image in these files" in err


@pytest.mark.skipif(not HAVE_NVPTX, reason="gcc-12-offload-nvptx is not installed")
def test_extract_ptx(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    inspect(capsys, "--extract", tmp_path / "x", inputs["prog.nvptx"])
    first = tmp_path / "x" / "prog.nvptx.0.nvptx-none.00.ptx"  # with those of libgomp and newlib
    assert b"main$_omp_fn$0" in first.read_bytes()
    (report,) = as_json(capsys, first)
    assert report["kind"] == "ptx" and report["ptx"][0].startswith("PTX 6.0 sm_30, ")


def test_markers_of_a_ptx_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ptx = tmp_path / "x.mkoffload"
    ptx.write_text('.version 6.0\n.target sm_35\n//:VAR_MAP "v"\n//:FUNC_MAP "f$_omp_fn$0", 0x1, 0x1, 0x1\n\0')
    (report,) = as_json(capsys, ptx)
    assert ([f["name"] for f in report["funcs"]], [v["name"] for v in report["vars"]]) == (["f$_omp_fn$0"], ["v"])


@pytest.fixture(autouse=True)
def gccs_own_lto1(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accelerator compiler, where it is built, names link pointers in the image otherwise."""
    monkeypatch.setenv("GOMPY_ACCEL", "gcc")


@pytest.mark.skipif(not (NATIVE / "bdir/as").exists(), reason="the compiled parts are not built")
def test_what_gompcc_makes(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Objects and a program of our own tools: streams under our prefix, records, an image that agrees."""
    gompcc = (sys.executable, "-c", "import sys; from gompy.driver.main import gompcc; sys.exit(gompcc())")
    for name in ("apple", "banana"):
        run(*gompcc, "-O1", "-fopenmp", "-c", inputs[f"{name}.c"], "-o", tmp_path / f"{name}.o")
    program = tmp_path / "fruit"
    run(*gompcc, "-fopenmp", tmp_path / "apple.o", tmp_path / "banana.o", "-o", program)
    first, second, linked = as_json(capsys, tmp_path / "apple.o", tmp_path / "banana.o", program)
    assert {u["family"] for u in first["units"]} == {"offload", "device-ir"}
    assert {u["id"] for u in first["units"]} == {first["objects"][0]["id"]}
    assert linked["objects"] == first["objects"] + second["objects"]
    (image,) = linked["images"]
    assert [f["name"] for f in image["funcs"]] == [f["name"] for f in linked["funcs"]] == FUNCS
    assert [(v["name"], v["host"]) for v in image["vars"]] == [(n, i) for i, n in enumerate(VARS)]
    assert [o["id"] for o in image["objects"]] == [o["id"] for o in linked["objects"]]
    status, _out, err = inspect(capsys, "--check", tmp_path / "apple.o", tmp_path / "banana.o", program)
    assert (status, err) == (0, "")


# --- exit codes ------------------------------------------------------------------------------------------------------


def test_no_offload_data(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    status, _out, err = inspect(capsys, inputs["empty.o"])
    assert (status, err) == (1, f"gompy inspect: error: {inputs['empty.o']}: no offload data\n")


def test_worst_status_wins_and_all_files_are_shown(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    missing = inputs["missing.o"]
    status, out, err = inspect(capsys, inputs["empty.o"], missing, inputs["apple.o"])
    assert status == 2
    assert err.splitlines()[-1] == f"gompy inspect: error: {missing}: No such file or directory"
    assert "Functions: 2" in out


@pytest.mark.parametrize("arguments", [[], ["--table", "nonsense", "x"], ["--no-such-option", "x"]])
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    status, _out, err = inspect(capsys, *arguments)
    assert status == 2 and "usage: gompy inspect" in err


def test_graph_name(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect(capsys, inputs["prog"], "--graph", "x.png")[0] == 2


def test_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _out, err = inspect(capsys, tmp_path)
    assert (status, err) == (2, f"gompy inspect: error: {tmp_path}: Is a directory\n")


def test_damage_names_section_and_offset(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The rest of the file is still shown."""
    elf = ElfView(inputs["apple.o"].read_bytes(), "x")
    section = next(s for s in elf.sections if ".offload_table." in s.name)
    data = bytearray(elf.data)
    data[section.offset + 6] ^= 0xFF
    broken = tmp_path / "broken.o"
    broken.write_bytes(data)
    status, out, err = inspect(capsys, broken)
    assert status == 1 and "Functions: 2" in out
    assert re.fullmatch(
        rf"gompy inspect: error: {broken}: section {re.escape(section.name)} at offset {section.offset:#x}: \S.*\n", err
    )


def test_truncated(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.o"
    broken.write_bytes(inputs["apple.o"].read_bytes()[:-1])
    status, _out, err = inspect(capsys, broken)
    assert status == 1 and re.search(r"broken\.o: offset 0x[0-9a-f]+: the \d+ section headers lie beyond", err)


def test_missing_member_of_a_thin_archive(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "thin.a").write_bytes(inputs["thin.a"].read_bytes())
    status, _out, err = inspect(capsys, tmp_path / "thin.a")
    assert status == 2 and "apple.fat.o: No such file or directory" in err


def test_closed_pipe(inputs: Inputs) -> None:
    """``gompy inspect … | head -1`` says nothing on stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, inputs["apple.fat.o"]], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_colour_on_a_terminal_only(inputs: Inputs) -> None:
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen([*COMMAND, inputs["prog"]], stdout=slave, env=environment)
    os.close(slave)
    out = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    assert process.wait(60) == 0
    assert b"\x1b[1m" in out and b"seeds" in out


# --- 100,000 entries -------------------------------------------------------------------------------------------------

MANY = r"""
.altmacro
.macro fn n
f\n\()._omp_fn.0: ret
.type f\n\()._omp_fn.0, @function
.size f\n\()._omp_fn.0, 1
.pushsection .gnu.offload_funcs, "aw"
.quad f\n\()._omp_fn.0
.popsection
.endm
.text
.set i, 0
.rept 100000
fn %i
.set i, i+1
.endr
.section .note.GNU-stack, "", @progbits
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Folders with an object and a program of so many entries."""
    folders = {}
    for entries in (1000, 4000, 100_000):
        folders[entries] = folder = tmp_path_factory.mktemp("many")
        inspect_inputs.assemble(folder, "many", MANY.replace("100000", str(entries)))
        (folder / "main.c").write_text("int main (void) { return 0; }\n")
        run("gcc", "-fopenmp", "-foffload=disable", "main.c", "many.o", "-o", "many", cwd=folder)
    return folders


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", ["many.o", "many"])
def test_a_hundred_thousand_entries(many: dict[int, Path], name: str) -> None:
    lines = subprocess.run([*COMMAND, many[100_000] / name], stdout=subprocess.PIPE, check=True).stdout.decode()
    (last,) = [line for line in lines.splitlines()[100_000:] if line.startswith("  99999 ")]
    assert last.split()[::2] == ["99999", "f99999._omp_fn.0"]


def instructions(path: Path) -> int:
    """How many the whole command executes; the hashes of strings are the same each time."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*tool, *COMMAND, path], capture_output=True, text=True, check=True, env=env)
    (count,) = re.findall(r"I +refs: +([\d,]+)", done.stderr)
    return int(count.replace(",", ""))


@pytest.mark.slow
@needs("valgrind")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["many.o", "many"])
def test_a_hundred_thousand_entries_in_a_second(many: dict[int, Path], name: str) -> None:
    """An entry takes 40000 instructions; in a second a processor of 2023 executes 70000 for each of so many."""
    few, more = (instructions(many[entries] / name) for entries in (1000, 4000))
    assert (more - few) // 3000 < 70_000


# --- the graph -------------------------------------------------------------------------------------------------------


def graph_of(*paths: Path) -> nx.DiGraph:
    return inspect_graph.build([inspect_bytes(p.read_bytes(), str(p)) for p in paths])


def edges(graph: nx.DiGraph, kind: str) -> set[tuple[str, str]]:
    title = graph.nodes.data("title")
    return {(title[a], title[b]) for a, b, k in graph.edges.data("kind") if k == kind}


@pytest.mark.parametrize("name", ["apple.o", "prog", "prog.nopie", "apple.pic.o", "lib.so"])
def test_graph_calls_and_uses(inputs: Inputs, name: str) -> None:
    """The same uses are found in relocations and in linked code."""
    graph = graph_of(inputs[name])
    found = edges(graph, "uses")
    assert {("apple._omp_fn.0", "core"), ("apple._omp_fn.0", "hidden"), ("bite", "seeds"), ("bite", "hidden")} <= found
    assert ("main._omp_fn.0", "core") not in found
    called = {(a, b) for a, b in edges(graph, "calls") if b == "bite"}
    assert called == {("apple._omp_fn.0", "bite"), ("main._omp_fn.0", "bite")}


def test_graph_of_the_trip(inputs: Inputs) -> None:
    graph = graph_of(inputs["apple.fat.o"], inputs["banana.o"], inputs["prog.mic"])
    assert edges(graph, "linked") == {("apple.fat.o", "prog.mic"), ("banana.o", "prog.mic")}
    assert edges(graph, "compiled") == {("LTO IR", "image 0")}
    entries = edges(graph, "entry")
    assert {("image 0", n) for n in FUNCS} | {("apple.fat.o", n) for n in FUNCS[:2]} <= entries
    assert ("banana.o", FUNCS[0]) not in entries
    assert ("main._omp_fn.0", "hidden") in edges(graph, "uses")


@pytest.mark.skipif(not HAVE_NVPTX, reason="gcc-12-offload-nvptx is not installed")
def test_graph_of_nvptx(inputs: Inputs) -> None:
    graph = graph_of(inputs["apple.o"], inputs["prog.nvptx"])
    assert edges(graph, "compiled") == {("offload IR", "image 0")}
    assert ("banana._omp_fn.0", "peel") in edges(graph, "uses")


@pytest.mark.parametrize(
    ("code", "size"),
    [
        (b"\xc7\x05\0\0\0\0", 4),  # movl $imm32, x(%rip)
        (b"\x66\xc7\x05\0\0\0\0", 2),  # movw
        (b"\xc6\x05\0\0\0\0", 1),  # movb
        (b"\x83\x3d\0\0\0\0", 1),  # cmpl $imm8
        (b"\x8b\x05\0\0\0\0", 0),  # movl x(%rip), %eax
        (b"\xf7\x05\0\0\0\0", 4),  # testl
        (b"\xf7\x25\0\0\0\0", 0),  # mull
        (b"\x0f\xba\x25\0\0\0\0", 1),  # btl $imm8
    ],
)
def test_immediate_after_the_displacement(code: bytes, size: int) -> None:
    """Against the assembler: the relocation's addend is -4 minus the immediate's size."""
    assert inspect_calls.immediate_size(code, len(code) - 4) == size


def test_svg_has_no_overlaps(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "trip.svg"
    files = (inputs["apple.fat.o"], inputs["banana.o"], inputs["prog.mic"])
    assert inspect(capsys, "--graph", target, *files)[0] == 0
    root = ElementTree.parse(target).getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = []
    for group in root.iter(f"{space}g"):
        rect = group.find(f"{space}rect")
        assert rect is not None
        x, y, width, height = (float(rect.get(k, "0")) for k in ("x", "y", "width", "height"))
        boxes.append((x, y, x + width, y + height))
        for line in group.iter(f"{space}text"):
            assert len(line.text or "") * 6.9 + float(line.get("x", "0")) <= x + width
            assert y < float(line.get("y", "0")) < y + height
    assert len(boxes) > 12
    total = (float(root.get("width", "0")), float(root.get("height", "0")))
    for i, a in enumerate(boxes):
        assert a[0] >= 0 and a[1] >= 0 and a[2] <= total[0] and a[3] <= total[1]
        for b in boxes[i + 1 :]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_edges_pass_between_boxes(inputs: Inputs) -> None:
    """The place where an edge crosses a column lies in no box of it."""
    layout = inspect_layout.Layout(graph_of(inputs["apple.fat.o"], inputs["banana.o"], inputs["prog.mic"]))
    crossings = 0
    for column in layout.columns:
        for edge in (box for box in column if not box.lines):
            crossings += 1
            assert not any(box.y <= edge.middle <= box.y + box.height for box in column if box.lines)
    assert crossings > 5


def test_dot(inputs: Inputs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "trip.dot"
    assert inspect(capsys, "--graph", target, inputs["prog.mic"])[0] == 0
    source = target.read_text()
    assert source.startswith("digraph trip {") and source.count("{") == source.count("}")
    assert "main._omp_fn.0" in source and "->" in source


def test_graph_of_too_many_regions(many: dict[int, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _out, err = inspect(capsys, "--graph", tmp_path / "x.svg", "--table", "opts", many[100_000] / "many.o")
    assert status == 1 and "a graph is drawn of up to 400 nodes" in err


VIRTUAL = """
struct B { virtual int f () const { return 1; } };
struct D : B { int f () const override { return 42; } };
int main ()
{
  int r = 0;
#pragma omp target map(tofrom: r)
  { D d; B *b = &d; r = b->f (); }
  return r != 42;
}
"""


def test_tables_with_entries_of_the_host_object(tmp_path: Path) -> None:
    """A program whose registered table is gompy_host_table: the C++ vtable behind the linker's table is shown."""
    source = tmp_path / "virtual.cc"
    source.write_text(VIRTUAL)
    compiler = Path(sys.executable).with_name("gompc++")
    subprocess.run([compiler, "-O0", "-fopenmp", source, "-o", tmp_path / "virtual"], check=True)
    report = json.loads(
        subprocess.run(
            [*COMMAND, "--json", tmp_path / "virtual"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )[0]
    assert [entry["name"] for entry in report["vars"]] == ["_ZTV1D"]


def test_summary(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _err = inspect(capsys, "--summary", inputs["prog.mic"])
    counts = f"{len(FUNCS)} functions, {len(VARS)} variables"
    assert status == 0 and len(out.splitlines()) == 3
    assert out.splitlines()[1].startswith(f"  {counts}, ") and out.splitlines()[1].endswith(", 1 image")
    assert out.splitlines()[2].endswith(f": {counts}: names and order agree")


def test_what_is_asked_most_comes_first(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    _status, out, _err = inspect(capsys, inputs["prog.mic"])
    places = [out.index(title) for title in ("\nFunctions:", "\nVariables:", "\nOFFLOADING IMAGE", "\nSections:")]
    assert places == sorted(places)
    assert re.search(r"^  agreement +names and order agree$", out, re.MULTILINE)
