"""The crtoffload objects beside GCC's own: same symbols, sections, order and layout, but for the two mends.

Those of a gcc before 14 have no table of indirect functions; ours stands last, where such objects end.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from link_tools import BDIR, Linked, built, call, elf, textrel

from crtoffload import write_all
from gompy.abi.gcc import major_of, release

NAMES = ("crtoffloadbegin.o", "crtoffloadend.o", "crtoffloadtable.o")
TABLE = "__OFFLOAD_TABLE__"
INDIRECT = release(major_of(call("gcc", "-dumpversion").stdout)).indirect


def older(name: str) -> bool:
    """Whether a section or symbol of ours is of the table that the machine's gcc does not have."""
    return not INDIRECT and "_ind_func" in name


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crt")
    write_all(folder)
    return folder


def stock(name: str) -> Path:
    path = Path(call("gcc", f"-print-file-name={name}").stdout.strip())
    if not path.is_absolute():
        pytest.skip("this gcc has no crtoffload objects")
    return path


def global_symbols(path: Path) -> list[tuple[str, str, str, int, str]]:
    file = elf(path)
    table = file.get_section_by_name(".symtab")
    result = []
    for symbol in table.iter_symbols():
        if symbol["st_info"]["bind"] == "STB_GLOBAL" and symbol["st_shndx"] != "SHN_UNDEF":
            section = file.get_section(symbol["st_shndx"]).name
            if older(symbol.name):
                continue
            kind, visibility = symbol["st_info"]["type"], symbol["st_other"]["visibility"]
            # GCC's table lies in .rodata and has no symbol size; ours is in .data.rel.ro and tells its size.
            moved = symbol.name == TABLE
            result.append((symbol.name, kind, visibility, 0 if moved else symbol["st_size"], "" if moved else section))
    return result


@pytest.mark.parametrize("name", NAMES)
def test_symbols_are_those_of_gcc(ours: Path, name: str) -> None:
    assert global_symbols(ours / name) == global_symbols(stock(name))


@pytest.mark.parametrize("name", NAMES[:2])
def test_sections_are_those_of_gcc_and_retained(ours: Path, name: str) -> None:
    def tables(path: Path) -> list[tuple[str, str, int, int, int]]:
        return [
            (s.name, s["sh_type"], s["sh_flags"] & ~(1 << 21 | 1), s["sh_addralign"], s["sh_size"])
            for s in elf(path).iter_sections()
            if s.name.startswith(".gnu.offload_") and not older(s.name)
        ]

    assert tables(ours / name) == tables(stock(name))
    assert len(tables(ours / name)) == (3 if INDIRECT else 2)
    for section in elf(ours / name).iter_sections():
        if section.name.startswith(".gnu.offload_"):
            assert section["sh_flags"] & (1 << 21) and section["sh_flags"] & 1


def test_table_layout_is_that_of_gcc(ours: Path) -> None:
    def layout(path: Path) -> tuple[int, list[tuple[int, int, str, int]]]:
        file = elf(path)
        table = file.get_section_by_name(".symtab")
        rela = next(s for s in file.iter_sections() if s.name.startswith(".rela."))
        target = file.get_section(rela["sh_info"])
        entries = [
            (r["r_offset"], r["r_info_type"], table.get_symbol(r["r_info_sym"]).name, r["r_addend"])
            for r in rela.iter_relocations()
            if not older(table.get_symbol(r["r_info_sym"]).name)
        ]
        return target["sh_addralign"], entries

    assert layout(ours / NAMES[2]) == layout(stock(NAMES[2]))
    assert elf(ours / NAMES[2]).get_section_by_name(".rodata") is None


@built
@pytest.mark.parametrize("kind", [("-pie",), ("-no-pie",), ("-shared",), ("-static",)])
def test_link_of_every_kind_has_no_text_relocation(ours: Path, tmp_path: Path, kind: tuple[str, ...]) -> None:
    """The three objects in a hand-made link; gcc's table gives DT_TEXTREL in a PIE and in a shared object."""
    source = tmp_path / "m.c"
    source.write_text(
        'extern void *__OFFLOAD_TABLE__[4] __attribute__((visibility("hidden")));\n'
        "static int f(void) { return 3; }\n"
        'static void *t __attribute__((used, retain, section(".gnu.offload_funcs"))) = f;\n'
        "int n(void) { return (void **) __OFFLOAD_TABLE__[1] - (void **) __OFFLOAD_TABLE__[0]; }\n"
        "int main(void) { return n() != 1 || __OFFLOAD_TABLE__[2] != __OFFLOAD_TABLE__[3]; }\n"
    )
    flags = ["-fPIC"] if kind != ("-no-pie",) else ["-fno-pie"]
    call("gcc", *flags, "-c", source, "-o", tmp_path / "m.o")
    program = tmp_path / "m"
    parts = [ours / NAMES[0], tmp_path / "m.o", ours / NAMES[1], ours / NAMES[2]]
    done = call("gcc", *kind, "-Wl,--gc-sections", *parts, "-o", program)
    assert "TEXTREL" not in done.stderr
    if kind in (("-pie",), ("-shared",)):
        assert not textrel(program)
    if kind != ("-shared",):
        call(program)
    linked = Linked(program)
    assert linked.symbols["__offload_funcs_end"] - linked.symbols["__offload_func_table"] == 8


@built
def test_build_installed_them(ours: Path) -> None:
    for name in (*NAMES, "imgbegin.o", "imgend.o"):
        assert (BDIR / name).read_bytes() == (ours / name).read_bytes()


def test_failing_assembler_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"crtoffloadbegin\.o"):
        write_all(tmp_path, "false")
    assert not (tmp_path / "crtoffloadbegin.o").exists()
