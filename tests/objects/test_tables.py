"""Offload tables of files, against readelf, objdump and the layout; pairing of host and image."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import inspect_inputs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_inputs import FUNCS, HAVE_NVPTX, VARS, Inputs, run

from gompy.objects import archive, images, names, pairing, tables
from gompy.objects.elf import member_reference
from gompy.objects.naming import plain_name, ptx_name
from gompy.objects.pairing import ObjectDesc, by_object, by_position
from gompy.objects.tables import Entry, ObjectRecord
from gompy.objects.view import Damaged, ElfView, flag_letters


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inputs]:
    yield inspect_inputs.make(tmp_path_factory.mktemp("inputs"))


def view(path: Path) -> ElfView:
    return ElfView(path.read_bytes(), path.name)


def symbol_values(path: Path) -> dict[str, int]:
    """Values of the defined symbols, as readelf has them (nm shows the LTO plugin's for objects with LTO streams)."""
    found = {}
    for line in run("readelf", "-sW", path).splitlines():
        words = line.split()
        if len(words) == 8 and words[0][:-1].isdigit() and words[6] != "UND":
            found[words[7]] = int(words[1], 16)
    return found


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("name", ["prog", "prog.nopie", "lib.so", "prog.mic"])
def test_linked_tables_against_readelf(inputs: Inputs, name: str) -> None:
    found = tables.read_tables(view(inputs[name]))
    symbols = symbol_values(inputs[name])
    assert [e.name for e in found.funcs] == FUNCS
    assert [e.name for e in found.vars] == VARS
    assert [e.address for e in found.funcs] == [symbols[n] for n in FUNCS]
    assert [e.address for e in found.vars] == [symbols[n] for n in VARS]
    assert [e.size for e in found.vars] == [16, 4, 4, 400, 8]
    assert [e.link for e in found.vars] == [False, False, False, True, False]


def test_stripped(inputs: Inputs) -> None:
    """Without names the addresses and sizes are the same."""
    whole, stripped = (tables.read_tables(view(inputs[n])) for n in ("prog", "prog.stripped"))
    assert [e._replace(name=None) for e in whole.funcs + whole.vars] == stripped.funcs + stripped.vars


@pytest.mark.parametrize("name", ["apple.o", "apple.fat.o", "apple.pic.o"])
def test_relocatable_against_readelf(inputs: Inputs, name: str) -> None:
    found = tables.read_tables(view(inputs[name]))
    symbols = symbol_values(inputs[name])
    assert {e.name for e in found.funcs} == set(FUNCS[:2])
    assert [e.name for e in found.vars] == VARS[:4]
    for entry in found.funcs + found.vars:
        assert entry.name and entry.address == symbols[entry.name]
    assert {e.section for e in found.funcs} == {".text"}


def test_joined_object(inputs: Inputs) -> None:
    found = tables.read_tables(view(inputs["joined.o"]))
    assert ([e.name for e in found.funcs], [e.name for e in found.vars]) == (FUNCS, VARS)


def test_symbols_of_other_files(tmp_path: Path) -> None:
    """Entries that refer to other objects, as in an LTRANS object, keep the relocation's name."""
    source = '.section .gnu.offload_funcs,"aw"\n.quad elsewhere\n.section .gnu.offload_vars,"aw"\n.quad data, 8\n'
    found = tables.read_tables(view(inspect_inputs.assemble(tmp_path, "x", source)))
    assert found.funcs == [Entry("elsewhere", None)]
    assert found.vars == [Entry("data", None, "", 8, False)]


def test_packed_relative_relocations(inputs: Inputs, tmp_path: Path) -> None:
    """DT_RELR: the pointers stand in place."""
    program = tmp_path / "relr"
    objects = (inputs["apple.o"], inputs["banana.o"])
    run("gcc", "-fopenmp", "-foffload=disable", "-Wl,-z,pack-relative-relocs", *objects, "-o", program)
    assert "RELR" in run("readelf", "-SW", program)
    assert [e.name for e in tables.read_tables(view(program)).funcs] == FUNCS


@pytest.mark.parametrize(("section", "size"), [(".gnu.offload_funcs", 12), (".gnu.offload_vars", 24)])
def test_broken_table_length(tmp_path: Path, section: str, size: int) -> None:
    path = inspect_inputs.assemble(tmp_path, "x", f'.section {section},"aw"\n.zero {size}\n')
    offset = view(path).by_name[section].offset
    with pytest.raises(Damaged, match=rf"^x\.o: section {section} at offset {offset:#x}: {size} bytes are no whole"):
        tables.read_tables(view(path))


def test_sections_and_flags_against_readelf(inputs: Inputs) -> None:
    for name in ("apple.fat.o", "prog", "lib.so"):
        elf = view(inputs[name])
        listed = re.findall(
            r"^ +\[ *(\d+)\] (\S*) +(?:\S+) +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) [0-9a-f]{2} ([A-Zolp ]*?) +\d",
            run("readelf", "-SW", inputs[name]),
            re.MULTILINE,
        )
        rows = {(n, int(a, 16), int(o, 16), int(s, 16), f.strip()) for i, n, a, o, s, f in listed if i != "0"}
        mine = {(s.name, s.address, s.offset, s.size, flag_letters(s)) for s in elf.sections[1:]}
        assert len(rows) == len(mine) and rows == mine


def test_symbols_against_readelf(inputs: Inputs) -> None:
    elf = view(inputs["apple.o"])
    rows = [line.split() for line in run("readelf", "-sW", inputs["apple.o"]).splitlines()]
    listed = {(int(r[1], 16), int(r[2], 0), r[7]) for r in rows if len(r) == 8 and r[0][:-1].isdigit()}
    mine = {(s.value, s.size, s.name) for s in elf.symbols() if s.name and s.type != 3}
    assert mine == {row for row in listed if not row[2].startswith(".text")} - {
        (s.value, s.size, elf.sections[s.shndx].name) for s in elf.symbols() if s.type == 3
    }


def test_records(inputs: Inputs) -> None:
    assert tables.read_records(view(inputs["prog.mic"])) == [
        ObjectRecord(0xA, 2, 4, "apple.c"),
        ObjectRecord(0xB, 1, 1, "banana.c"),
    ]


def test_record_of_odd_length(tmp_path: Path) -> None:
    path = inspect_inputs.assemble(tmp_path, "x", '.section gompy_offload_objects,"a"\n.zero 65\n')
    with pytest.raises(Damaged, match="65 bytes are no whole number of records"):
        tables.read_records(view(path))


@pytest.mark.parametrize("name", ["prog.mic", "prog.mic.stripped", "host.o"])
def test_image_of_ours(inputs: Inputs, name: str) -> None:
    """Found in programs with and without symbols and in mkoffload's relocatable."""
    (image,) = images.find_images(view(inputs[name]))
    assert image.files == [inputs["image.so"].read_bytes()]
    assert ([e.name for e in image.tables.funcs], [e.name for e in image.tables.vars]) == (FUNCS, VARS)
    assert (image.name, image.accel, image.abi, image.problems) == ("prog.mic", 1, 1, [])
    assert image.objects == [ObjectDesc(0xA, 2, 4, 0, "apple.o"), ObjectDesc(0xB, 1, 1, 0, "banana.o")]


def test_image_shorter_than_announced(inputs: Inputs) -> None:
    (image,) = images.find_images(view(inputs["prog.mic.short"]))
    (problem,) = image.problems
    assert "3 functions and 5 variables announced, the image has 2 and 5" in problem


def test_image_of_gcc_intelmic(inputs: Inputs) -> None:
    (image,) = images.find_images(view(inputs["prog.stockmic"]))
    assert image.files == [inputs["image.so"].read_bytes()]
    assert (image.target, image.device_type) == (names.TARGET_INTELMIC, 6)
    assert [e.name for e in image.tables.funcs] == FUNCS


def test_image_gcn(inputs: Inputs) -> None:
    (image,) = images.find_images(view(inputs["prog.gcn"]))
    assert image.files == [inputs["image.hsaco"].read_bytes()]
    assert [e.name for e in image.tables.funcs] == FUNCS
    assert len(image.tables.vars) == 5


@pytest.mark.skipif(not HAVE_NVPTX, reason="gcc-12-offload-nvptx is not installed")
@pytest.mark.parametrize("name", ["prog.nvptx", "prog.nvptx.stripped"])
def test_image_nvptx(inputs: Inputs, name: str) -> None:
    (image,) = images.find_images(view(inputs[name]))
    assert [plain_name(e.name or "") for e in image.tables.funcs] == FUNCS
    assert {plain_name(e.name or "") for e in image.tables.vars} == set(VARS)
    assert all(b".version" in data for data in image.files)
    assert b"main$_omp_fn$0" in image.files[0]


@pytest.mark.skipif(not HAVE_NVPTX, reason="gcc-12-offload-nvptx is not installed")
def test_check_names_the_entries_that_nvptx_tools_displace(inputs: Inputs) -> None:
    """A link variable that is not the last one moves the others (pipeline of nvptx-tools' assembler)."""
    elf = view(inputs["prog.nvptx"])
    (image,) = images.find_images(elf)
    host = tables.read_tables(elf)
    pairs = image.pair(host, [])
    assert pairs.errors == []
    found = pairing.differences(pairs.funcs, host.funcs, image.tables.funcs, image.rule)
    found += pairing.differences(pairs.vars, host.vars, image.tables.vars, image.rule)
    in_image = [plain_name(e.name or "") for e in image.tables.vars]
    assert (found == []) == (in_image == VARS)
    assert len(found) == sum(a != b for a, b in zip(in_image, VARS, strict=True))


def test_archive_members(inputs: Inputs, tmp_path: Path) -> None:
    data = inputs["lib.a"].read_bytes()
    found = list(archive.members(data, str(inputs["lib.a"])))
    assert [m.name for m in found] == run("ar", "t", inputs["lib.a"]).split()
    assert [m.data for m in found] == [inputs["apple.fat.o"].read_bytes(), inputs["banana.o"].read_bytes()]
    assert all(data[m.offset :].startswith(m.data) for m in found)
    thin = list(archive.members(inputs["thin.a"].read_bytes(), str(inputs["thin.a"])))
    assert [m.data for m in thin] == [m.data for m in found]


def test_archive_with_long_names(tmp_path: Path) -> None:
    longer = "a-name-that-does-not-fit-into-the-header.o"
    (tmp_path / longer).write_bytes(b"odd")
    (tmp_path / "short.o").write_bytes(b"even")
    run("ar", "rc", "x.a", longer, "short.o", cwd=tmp_path)
    found = list(archive.members((tmp_path / "x.a").read_bytes(), "x.a"))
    assert [(m.name, m.data) for m in found] == [(longer, b"odd"), ("short.o", b"even")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("x.a@0x9c", ("x.a", 0x9C)), ("x@y.a@156", ("x@y.a", 156)), ("x.o", None), ("x@y", None), ("@0x1", None)],
)
def test_member_names(name: str, expected: tuple[str, int] | None) -> None:
    assert member_reference(name) == expected


# --- pairing ----------------------------------------------------------------------------------------------------------

Sizes = tuple[int, int]


@st.composite
def links(draw: st.DrawFn) -> tuple[list[ObjectDesc], list[int]]:
    """Objects of an image, and the numbers of those linked, in the host's order (host-LTO ones stay together)."""
    count = draw(st.integers(0, 7))
    sizes = [(draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in range(count)]
    kinds = [draw(st.sampled_from([names.OBJECT_KIND_ID, names.OBJECT_KIND_LTO])) for _ in range(count)]
    objects = [
        ObjectDesc(i + 1 if k == names.OBJECT_KIND_ID else 0, f, v, k, f"o{i}.o")
        for i, ((f, v), k) in enumerate(zip(sizes, kinds, strict=True))
    ]
    by_id = [i for i, o in enumerate(objects) if o.kind == names.OBJECT_KIND_ID]
    linked = draw(st.permutations([i for i in by_id if draw(st.booleans())]))
    return objects, list(linked)


@given(links(), st.data())
def test_pairing_by_object(link: tuple[list[ObjectDesc], list[int]], data: st.DataObject) -> None:
    """Whatever was linked in whatever order, each host entry gets the image entry of its own object and number."""
    objects, order = link
    joint = [i for i, o in enumerate(objects) if o.kind == names.OBJECT_KIND_LTO]
    groups: list[list[int]] = [[i] for i in order]
    if joint:
        groups.insert(data.draw(st.integers(0, len(groups))), joint)
    records = [
        ObjectRecord(objects[g[0]].id, sum(objects[i].funcs for i in g), sum(objects[i].vars for i in g), "x")
        for g in groups
    ]
    host_funcs = [(i, n) for g in groups for i in g for n in range(objects[i].funcs)]
    host_vars = [(i, n) for g in groups for i in g for n in range(objects[i].vars)]
    image_funcs = [(i, n) for i, o in enumerate(objects) for n in range(o.funcs)]
    image_vars = [(i, n) for i, o in enumerate(objects) for n in range(o.vars)]
    found = by_object((len(host_funcs), len(host_vars)), (len(image_funcs), len(image_vars)), records, objects)
    assert found.errors == []
    assert [host_funcs[a] for a, _b in found.funcs] == [image_funcs[b] for _a, b in found.funcs if b is not None]
    assert [host_vars[a] for a, _b in found.vars] == [image_vars[b] for _a, b in found.vars if b is not None]
    assert [a for a, _b in found.funcs] == list(range(len(host_funcs)))


def test_pairing_with_host_only_objects() -> None:
    """Objects without device code have host entries only; then the order decides."""
    objects = [ObjectDesc(7, 1, 0, 0, "a.o"), ObjectDesc(0, 2, 1, 2, "b.o"), ObjectDesc(0, 1, 1, 3, "c.o")]
    found = by_object((4, 2), (2, 1), [ObjectRecord(7, 1, 0, "a.c")], objects)
    assert found.errors == []
    assert found.funcs == [(0, 0), (1, None), (2, None), (3, 1)]
    assert found.vars == [(0, None), (1, 0)]


@pytest.mark.parametrize(
    ("host", "image", "records", "cause"),
    [
        ((1, 0), (1, 0), [ObjectRecord(9, 1, 0, "z.c")], r"object z\.c \(id 0000000000000009\) is not in the image"),
        (
            (2, 0),
            (1, 0),
            [ObjectRecord(7, 2, 0, "a.c")],
            r"a\.c: 2 functions and 0 variables on the host, 1 and 0",
        ),
        ((3, 0), (1, 0), [ObjectRecord(7, 1, 0, "a.c")], "1 functions and 0 variables, the host's tables 3 and 0"),
        ((1, 0), (4, 0), [ObjectRecord(7, 1, 0, "a.c")], "1 functions and 0 variables, its tables 4 and 0"),
    ],
)
def test_pairing_errors(host: Sizes, image: Sizes, records: list[ObjectRecord], cause: str) -> None:
    found = by_object(host, image, records, [ObjectDesc(7, 1, 0, 0, "a.o")])
    assert len(found.errors) == 1 and re.search(cause, found.errors[0])


def test_by_position() -> None:
    found = by_position((2, 1), (1, 1))
    assert (found.funcs, found.vars, found.errors) == ([(0, 0)], [(0, 0)], ["2 functions on the host, 1 in the image"])


def test_differences_ignore_what_compilers_add() -> None:
    host = [Entry("a._omp_fn.0", 1), Entry("b.lto_priv.0", 2), Entry("c", 3), Entry(None, 4)]
    image = [Entry("a$_omp_fn$0", 1), Entry("b", 2), Entry("d$linkptr", 3), Entry("e", 4)]
    found = pairing.differences([(i, i) for i in range(4)], host, image, ptx_name)
    assert found == ["entry 2: c on the host, d$linkptr in the image (entry 2)"]


def test_objdump_sees_the_same_words(inputs: Inputs) -> None:
    """The function table of a no-PIE program, word for word as objdump prints the section."""
    out = subprocess.run(
        ["objdump", "-s", "-j", ".gnu.offload_funcs", inputs["prog.nopie"]], capture_output=True, text=True, check=True
    ).stdout
    hexes = "".join("".join(line.split()[1:5]) for line in re.findall(r"^ [0-9a-f]+ .{35}", out, re.MULTILINE))
    data = bytes.fromhex(re.sub(r"[^0-9a-f]", "", hexes))
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
    assert words == [e.address for e in tables.read_tables(view(inputs["prog.nopie"])).funcs]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("apple.o", "relocatable"), ("prog", "executable"), ("prog.nopie", "executable"), ("lib.so", "shared")],
)
def test_kind(inputs: Inputs, name: str, kind: str) -> None:
    assert view(inputs[name]).kind == kind


def test_kind_of_a_static_pie(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("int main (void) { return 0; }\n")
    run("gcc", "-static-pie", tmp_path / "x.c", "-o", tmp_path / "x")
    assert view(tmp_path / "x").kind == "executable"
