"""gompy.objects.elf and lto: against pyelftools and nm on real objects, and on damaged ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_tools import built, call, compile_c, elf

from gompy.objects.elf import SHN_UNDEF, Elf, ElfError, open_object, read_object, split_member
from gompy.objects.lto import (
    KIND_COMMON,
    KIND_DEF,
    KIND_UNDEF,
    KIND_WEAKDEF,
    IrSymbol,
    ir_prefix,
    ir_symbols,
    parse_opts,
    parse_symtab,
    prevailing,
    resolution_text,
    resolve,
    restored,
    split_quoted,
    stream_ids,
)

pytestmark = built

SOURCE = """
int common_one;
#pragma omp declare target
int gv = 3;
static int sv = 4;
int helper(int x) { return x + gv + sv; }
#pragma omp end declare target
extern int other(int);
__attribute__((weak)) int weakling(void) { return 1; }
int run(int s)
{
#pragma omp target map(tofrom: s)
  s += helper(other(s));
  return s;
}
"""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("elf")
    return {
        mode: compile_c(SOURCE, folder / f"{mode}.o", mode, "-fcommon")
        for mode in ("ours", "lto", "plain", "stock-fat")
    }


@pytest.mark.parametrize("mode", ["ours", "lto", "plain", "stock-fat"])
def test_sections_symbols_and_relocations_as_pyelftools_reads_them(objects: dict[str, Path], mode: str) -> None:
    ours, theirs = open_object(str(objects[mode])), elf(objects[mode])
    expected = [(s.name, s["sh_flags"], s["sh_offset"], s["sh_size"]) for s in theirs.iter_sections()]
    assert [(s.name, s.flags, s.offset, s.size) for s in ours.sections] == expected
    table = theirs.get_section_by_name(".symtab")
    names = [(s.name, s["st_value"], s["st_size"]) for s in table.iter_symbols()]
    assert [(s.name, s.value, s.size) for s in ours.symbols()] == names
    for section in ours.sections:
        rela = theirs.get_section_by_name(".rela" + section.name)
        if rela is not None and section.name.startswith(".gnu.offload_"):
            expected_relocations = [
                (r["r_offset"], r["r_info_type"], r["r_info_sym"], r["r_addend"]) for r in rela.iter_relocations()
            ]
            assert ours.relocations(section) == expected_relocations
            assert expected_relocations


@pytest.mark.slow
def test_many_sections(tmp_path: Path) -> None:
    """More than 65280 sections: the real number and the symbols' section indices stand elsewhere."""
    source = tmp_path / "many.s"
    lines = [f'.section .t{i},"a"\n.globl s{i}\ns{i}: .byte {i & 255}\n' for i in range(0xFF10)]
    source.write_text("".join(lines))
    call("as", source, "-o", tmp_path / "many.o")
    file = open_object(str(tmp_path / "many.o"))
    assert len(file.sections) > 0xFF10
    symbols = {s.name: s for s in file.symbols()}
    for i in (0, 5, 0xFEFF, 0xFF0F):
        section = file.sections[symbols[f"s{i}"].shndx]
        assert section.name == f".t{i}" and file.contents(section) == bytes([i & 255])


def test_archive_members(objects: dict[str, Path], tmp_path: Path) -> None:
    archive = tmp_path / "l@x.a"
    call("ar", "rcs", archive, objects["plain"], objects["ours"])
    data = archive.read_bytes()
    content = objects["ours"].read_bytes()
    offset = data.index(content)
    assert read_object(f"{archive}@{offset:#x}") == content
    assert split_member(f"{archive}@{offset:#x}") == (str(archive), offset)
    assert split_member(str(archive)) == (str(archive), None)
    assert split_member("no@thing") == ("no@thing", None)
    with pytest.raises(ElfError, match=r"nothere\.o: No such file"):
        open_object("nothere.o")


def test_prefix_ids_and_restoring(objects: dict[str, Path]) -> None:
    ours = open_object(str(objects["ours"]))
    assert ir_prefix(ours) == ".gompyir_"
    assert ir_prefix(open_object(str(objects["lto"]))) == ".gnu.lto_"
    assert ir_prefix(open_object(str(objects["plain"]))) is None
    back = Elf(restored(ours), "back")
    assert ir_prefix(back) == ".gnu.lto_"
    assert stream_ids(back, ".gnu.lto_") == stream_ids(ours, ".gompyir_") != []
    changed = [(a.name, b.name) for a, b in zip(ours.sections, back.sections, strict=True) if a.name != b.name]
    assert changed and all(a.replace(".gompyir_", ".gnu.lto_") == b for a, b in changed)
    assert all(
        ours.contents(a) == back.contents(b)
        for a, b in zip(ours.sections, back.sections, strict=True)
        if a.name != ".shstrtab"
    )


def test_symtab_stream_against_the_linker_plugin(objects: dict[str, Path], tmp_path: Path) -> None:
    """Slots, ids and names are those that the plugin writes in the resolution file of a stock link."""
    main = compile_c(
        "extern int run(int); int other(int x) { return x; } int main(void) { return run(0); }",
        tmp_path / "main.o",
        "stock-lto",
    )
    call(
        "gcc",
        "-flto",
        "-fopenmp",
        "-foffload=disable",
        "-save-temps",
        objects["stock-fat"],
        main,
        "-o",
        "p",
        cwd=tmp_path,
    )
    lines = (tmp_path / "p.res").read_text().split("\n")
    symbols = [line.split() for line in lines if re.fullmatch(r"\d+ [0-9a-f]+ [A-Z_]+ \S+", line)]
    expected = {(slot, unit, name) for slot, unit, _, name in symbols}
    found = set()
    for path in (objects["stock-fat"], main):
        for symbol in ir_symbols(open_object(str(path)), ".gnu.lto_"):
            found.add((str(symbol.slot), symbol.id, symbol.name))
    assert found == expected
    kinds = {s.name: s.kind for s in ir_symbols(open_object(str(objects["stock-fat"])), ".gnu.lto_")}
    assert kinds["gv"] == KIND_DEF and kinds["other"] == KIND_UNDEF
    assert kinds["weakling"] == KIND_WEAKDEF and kinds["common_one"] == KIND_COMMON


def symbol(name: str, kind: int, slot: int = 0, size: int = 0, comdat: str = "") -> IrSymbol:
    return IrSymbol(name, comdat, kind, 0, size, slot, "1f")


def answers(*files: list[IrSymbol]) -> list[list[str]]:
    return [[line[2] for line in lines] for lines in resolve(list(files))]


def test_resolution_rules() -> None:
    d, w, u, c = KIND_DEF, KIND_WEAKDEF, KIND_UNDEF, KIND_COMMON
    only = "PREVAILING_DEF_IRONLY"
    assert answers([symbol("a", d)], [symbol("a", u), symbol("b", u)]) == [[only], ["RESOLVED_IR", "UNDEF"]]
    assert answers([symbol("a", w)], [symbol("a", d)]) == [["PREEMPTED_IR"], [only]]
    assert answers([symbol("a", w)], [symbol("a", w)]) == [[only], ["PREEMPTED_IR"]]
    assert answers([symbol("a", c, size=4)], [symbol("a", c, size=8)]) == [["PREEMPTED_IR"], [only]]
    assert answers([symbol("a", c, size=8)], [symbol("a", w)]) == [[only], ["PREEMPTED_IR"]]
    assert answers([symbol("a", d)], [symbol("a", d)]) == [[only], ["PREEMPTED_IR"]]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.integers(0, 9)), max_size=5), max_size=5)
)
def test_resolution_gives_each_defined_name_one_definition(files: list[list[tuple[str, int, int]]]) -> None:
    made = [[symbol(n, k, i, s) for i, (n, k, s) in enumerate(f)] for f in files]
    flat = [(line, s) for lines, f in zip(resolve(made), made, strict=True) for line, s in zip(lines, f, strict=True)]
    defined = {s.name for _, s in flat if s.defined}
    winners = [s.name for line, s in flat if line[2].startswith("PREVAILING")]
    assert sorted(winners) == sorted(defined)
    for line, s in flat:
        if not s.defined:
            assert line[2] == ("RESOLVED_IR" if s.name in defined else "UNDEF")
    strong = {s.name for _, s in flat if s.kind == KIND_DEF}
    assert all(w.kind == KIND_DEF for n, w in prevailing(made).items() if n in strong)


def test_resolution_text() -> None:
    text = resolution_text(["x.o", "y.o"], resolve([[symbol("a", KIND_DEF, 7)], []]))
    assert text == "2\nx.o 1\n7 1f PREVAILING_DEF_IRONLY a\ny.o 0\n"


def test_options_of_bundles(objects: dict[str, Path], tmp_path: Path) -> None:
    second = compile_c(
        SOURCE.replace("run", "run2").replace("helper", "h2").replace("gv", "g2").replace("weakling", "w2"),
        tmp_path / "second.o",
        "ours",
        "-O3",
    )
    call("ld", "-r", objects["ours"], second, "-o", tmp_path / "both.o")
    both = open_object(str(tmp_path / "both.o"))
    assert len(stream_ids(both, ".gompyir_")) == 2
    section = both.find(".gnu.offload_lto_.opts")
    assert section is not None
    units = parse_opts(both.contents(section))
    assert len(units) == 2 and "-O1" in units[0] and "-O3" in units[1] and "-foffload-abi=lp64" in units[1]


def test_quoted_words() -> None:
    assert split_quoted(r"'-O2' '-DX='\''a b'\''' '-o' 'my prog'") == ["-O2", "-DX='a b'", "-o", "my prog"]
    assert split_quoted("  ") == [] and split_quoted("-v 'x") == ["-v", "x"]


def test_damaged_symtab_is_an_error() -> None:
    good = b"name\0key\0" + bytes([2, 0]) + bytes(8) + (5).to_bytes(4, "little")
    (parsed,) = parse_symtab(good, "ab", "x.o")
    assert (parsed.name, parsed.comdat, parsed.kind, parsed.slot) == ("name", "key", 2, 5)
    for cut in range(1, len(good)):
        with pytest.raises(ElfError, match="damaged LTO symbol table"):
            parse_symtab(good[:cut], "ab", "x.o")


def exercise(data: bytes) -> None:
    """All readers; nothing but ElfError may come out of them."""
    try:
        file = Elf(data, "x.o")
        file.symbols()
        for section in file.sections:
            file.contents(section)
        for section in file.sections[:60]:
            file.relocations(section)
        prefix = ir_prefix(file)
        if prefix is not None:
            ir_symbols(file, prefix)
            restored(file)
    except ElfError as error:
        assert str(error).startswith("x.o: ")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_files_give_an_elf_error_and_nothing_else(objects: dict[str, Path], data: st.DataObject) -> None:
    good = bytearray(objects["ours"].read_bytes())
    header = int.from_bytes(good[40:48], "little")
    for _ in range(data.draw(st.integers(1, 6))):
        spot = st.one_of(st.integers(0, 63), st.integers(header, len(good) - 1), st.integers(0, len(good) - 1))
        good[data.draw(spot)] = data.draw(st.integers(0, 255))
    end = data.draw(st.one_of(st.just(len(good)), st.integers(0, len(good))))
    exercise(bytes(good[:end]))


def test_undefined_symbols_have_no_section(objects: dict[str, Path]) -> None:
    listed = call("nm", "-u", objects["plain"]).stdout.split()[1::2]
    found = [s.name for s in open_object(str(objects["plain"])).symbols() if s.shndx == SHN_UNDEF and s.name]
    assert sorted(found) == sorted(listed)
