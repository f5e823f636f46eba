"""bdir/as: what it does to GCC's objects, and what it leaves alone."""

from __future__ import annotations

import os
import re
import shlex
import signal
import struct
from pathlib import Path

import pytest
from link_tools import BDIR, built, call, compile_c, elf, environment, section_names
from page_faults import page_faults

pytestmark = built

AS = BDIR / "as"
SOURCE = """
#pragma omp declare target
int gv = 3, gw[5];
int helper(int x) { return x + gv; }
#pragma omp end declare target
int run(int s)
{
#pragma omp target map(tofrom: s)
  s += helper(s);
#pragma omp target map(tofrom: s)
  s += 2;
  return s;
}
int main(void) { return run(1) - 7; }
"""
RECORD = "gompy_offload_objects"
RETAIN = 1 << 21


def records(path: Path) -> list[tuple[int, int, int, str]]:
    section = elf(path).get_section_by_name(RECORD)
    assert section["sh_flags"] == 2 | RETAIN and section["sh_addralign"] == 8
    return [(i, f, v, n.rstrip(b"\0").decode()) for i, f, v, n in struct.iter_unpack("<QII48s", section.data())]


def contents(path: Path) -> list[bytes]:
    """Contents of all sections but the name table, in order."""
    return [s.data() for s in elf(path).iter_sections() if s.name not in (".shstrtab", RECORD) and s["sh_type"] != 8]


def stream_id(path: Path) -> str:
    return next(n for n in section_names(path) if "lto_.symtab." in n or "gompyir_.symtab." in n).rpartition(".")[2]


def test_rename_keeps_everything_but_names(tmp_path: Path) -> None:
    stock = compile_c(SOURCE, tmp_path / "ours.o", "stock-fat").rename(tmp_path / "stock.o")
    ours = compile_c(SOURCE, tmp_path / "ours.o", "ours")
    assert contents(ours) == contents(stock)
    mine, gccs = stream_id(ours), stream_id(stock)
    assert len(mine) == 16 and mine[0] != "0" and mine != gccs
    renamed = [n.replace(".gnu.lto_", ".gompyir_").replace(gccs, mine) for n in section_names(stock)]
    assert section_names(ours) == [*renamed, RECORD]
    file = elf(ours)
    assert file["e_ident"]["EI_OSABI"] == "ELFOSABI_LINUX"
    for label in (".gnu.offload_funcs", ".gnu.offload_vars"):
        assert file.get_section_by_name(label)["sh_flags"] == 3 | RETAIN
    assert records(ours) == [(int(mine, 16), 2, 2, "ours.c")]


def test_keep_mode_keeps_the_prefix(tmp_path: Path) -> None:
    path = compile_c(SOURCE, tmp_path / "x.o", "fat")
    names = section_names(path)
    assert any(n.startswith(".gnu.lto_.symtab.") for n in names) and not any("gompyir" in n for n in names)
    assert records(path)[0][1:] == (2, 2, "x.c")
    slim = compile_c(SOURCE, tmp_path / "slim.o", "lto")
    assert RECORD not in section_names(slim)


def test_unset_means_keep(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(SOURCE)
    call("gcc", "-B", BDIR, "-fopenmp", "-flto", "-ffat-lto-objects", "-c", "x.c", cwd=tmp_path)
    assert any(n.startswith(".gnu.lto_.symtab.") for n in section_names(tmp_path / "x.o"))


@pytest.mark.parametrize("options", [(), ("-g",)])
def test_objects_are_the_same_from_run_to_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    seen = {compile_c(SOURCE, tmp_path / "x.o", "ours", *options).read_bytes() for _ in range(3)}
    assert len(seen) == 1


def test_length_of_the_random_id_does_not_show(tmp_path: Path) -> None:
    """GCC prints its random id without leading zeros; the object must not tell which length it had."""
    (tmp_path / "x.c").write_text(SOURCE)
    call("gcc", "-fopenmp", "-flto", "-ffat-lto-objects", "-S", "x.c", "-o", "gcc.s", cwd=tmp_path)
    text = (tmp_path / "gcc.s").read_text()
    old = re.findall(r"gnu\.lto_\.symtab\.([0-9a-f]+)", text)[0]
    seen = set()
    for new in ("1", "0123456789abcdef"[1:], "fedcba9876543210", old):
        (tmp_path / "x.s").write_text(text.replace(f".{old},", f".{new},"))
        call(AS, "x.s", "-o", "x.o", cwd=tmp_path, GOMPY_AS="rename")
        assert len(stream_id(tmp_path / "x.o")) == 16
        seen.add((tmp_path / "x.o").read_bytes())
    assert len(seen) == 1


def test_different_sources_get_different_ids(tmp_path: Path) -> None:
    one = compile_c(SOURCE, tmp_path / "x.o", "ours")
    other = compile_c(SOURCE.replace("s += 2", "s += 4"), tmp_path / "y.o", "ours")
    assert stream_id(one) != stream_id(other)


def test_idempotent(tmp_path: Path) -> None:
    """Assembling what was already edited (the output of the real assembler touched twice) changes nothing."""
    path = compile_c(SOURCE, tmp_path / "x.o", "ours")
    before = path.read_bytes()
    fake = tmp_path / "copy-as"
    fake.write_text(f'#!/bin/sh\ncp {shlex.quote(str(path))} "$2.new" && mv "$2.new" "$2"\n')
    fake.chmod(0o755)
    call(AS, "-o", tmp_path / "z.o", GOMPY_AS="rename", GOMPY_REAL_AS=str(fake))
    assert (tmp_path / "z.o").read_bytes() == before


def test_objects_without_streams_are_untouched(tmp_path: Path) -> None:
    source = tmp_path / "x.s"
    source.write_text('.globl f\nf: ret\n.section .gnu.other,"e"\n.ascii "x"\n')
    call("as", source, "-o", tmp_path / "stock.o")
    call(AS, source, "-o", tmp_path / "ours.o", GOMPY_AS="rename")
    assert (tmp_path / "ours.o").read_bytes() == (tmp_path / "stock.o").read_bytes()


def test_thirty_two_bit_objects_are_untouched(tmp_path: Path) -> None:
    source = tmp_path / "x.s"
    source.write_text('.section .gnu.lto_.symtab.ab,"e"\n.ascii "x"\n')
    call("as", "--32", source, "-o", tmp_path / "stock.o")
    call(AS, "--32", source, "-o", tmp_path / "ours.o", GOMPY_AS="rename")
    assert (tmp_path / "ours.o").read_bytes() == (tmp_path / "stock.o").read_bytes()


def test_tables_without_streams_get_a_record_of_id_zero(tmp_path: Path) -> None:
    source = tmp_path / "x.s"
    source.write_text(
        '.file "joint.c"\n.section .gnu.offload_funcs,"aw"\n.quad f, g, h\n'
        '.section .gnu.offload_vars,"aw"\n.quad v, 8\n'
    )
    call(AS, source, "-o", tmp_path / "x.o")
    assert records(tmp_path / "x.o") == [(0, 3, 1, "joint.c")]


def test_long_source_names_are_cut(tmp_path: Path) -> None:
    path = compile_c(SOURCE, tmp_path / ("n" * 80 + ".o"), "ours")
    assert records(path)[0][3] == "n" * 47


@pytest.mark.slow
def test_more_sections_than_a_header_can_count(tmp_path: Path) -> None:
    """65280 and more sections: numbers move to section header 0, on both sides of the limit."""
    for count in (0xFEF4, 0xFEF9, 0xFF10):
        source = tmp_path / "many.s"
        lines = ['.section .gnu.lto_.symtab.ab,"e"\n.byte 1\n.section .gnu.offload_funcs,"aw"\n.quad s0\n']
        lines += [f'.section .t{i},"a"\ns{i}: .byte {i & 255}\n' for i in range(count)]
        source.write_text("".join(lines))
        call("as", source, "-o", tmp_path / "stock.o")
        call(AS, source, "-o", tmp_path / "ours.o", GOMPY_AS="rename")
        ours, stock = elf(tmp_path / "ours.o"), elf(tmp_path / "stock.o")
        assert ours.num_sections() == stock.num_sections() + 1
        last = ours.get_section(ours.num_sections() - 1)
        assert last.name == RECORD
        listed = call("readelf", "-SW", tmp_path / "ours.o")
        assert ".gompyir_.symtab." in listed.stdout and f".t{count - 1} " in listed.stdout and not listed.stderr
        call("ld", "-r", tmp_path / "ours.o", "-o", tmp_path / "again.o")


def test_output_names(tmp_path: Path) -> None:
    """-o FILE, -oFILE, none, and from a response file."""
    (tmp_path / "x.c").write_text(SOURCE)
    call("gcc", "-fopenmp", "-flto", "-ffat-lto-objects", "-S", "x.c", cwd=tmp_path)
    (tmp_path / "words").write_text("--64 'x.s'\n-o \"in file.o\"\n")
    (tmp_path / "nested").write_text("@words\n")
    for words, name in (
        (["x.s", "-o", "a.o"], "a.o"),
        (["-ob.o", "x.s"], "b.o"),
        (["x.s"], "a.out"),
        (["@nested"], "in file.o"),
    ):
        call(AS, *words, cwd=tmp_path, GOMPY_AS="rename")
        assert any(n.startswith(".gompyir_") for n in section_names(tmp_path / name)), words


def test_no_regular_output(tmp_path: Path) -> None:
    (tmp_path / "x.s").write_text(".globl f\nf: ret\n")
    call(AS, "x.s", "-o", "/dev/null", cwd=tmp_path)
    assert Path("/dev/null").is_char_device()


def test_version_does_not_touch_an_old_output(tmp_path: Path) -> None:
    stock = compile_c(SOURCE, tmp_path / "a.o", "stock-fat")
    old = tmp_path / "a.out"
    old.write_bytes(stock.read_bytes())
    assert "GNU assembler" in call(AS, "--version", cwd=tmp_path, GOMPY_AS="rename").stdout
    assert old.read_bytes() == stock.read_bytes()


def test_errors_and_status_are_the_assemblers(tmp_path: Path) -> None:
    (tmp_path / "bad.s").write_text("nonsense here\n")
    ours = call(AS, "bad.s", "-o", "x.o", cwd=tmp_path, check=False)
    stock = call("as", "bad.s", "-o", "x.o", cwd=tmp_path, check=False)
    assert (ours.returncode, ours.stderr) == (stock.returncode, stock.stderr) and stock.returncode


def test_signal_of_the_assembler_is_passed_on(tmp_path: Path) -> None:
    fake = tmp_path / "real-as"
    fake.write_text("#!/bin/sh\nkill -SEGV $$\n")
    fake.chmod(0o755)
    done = call(AS, "x.s", check=False, GOMPY_REAL_AS=str(fake))
    assert done.returncode == -signal.SIGSEGV


def test_finds_the_real_one_with_itself_first_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    try:
        os.link(AS, tmp_path / "other" / "as")
    except OSError:  # TMPDIR is another file system
        os.symlink(AS, tmp_path / "other" / "as")
    path = f"{BDIR}:{tmp_path / 'other'}:{os.environ['PATH']}"
    version = call(AS, "--version", PATH=path, COMPILER_PATH=f"{BDIR}/:{tmp_path / 'other'}/").stdout
    assert "GNU assembler" in version


def test_compiler_path_comes_before_path(tmp_path: Path) -> None:
    fake = tmp_path / "as"
    fake.write_text("#!/bin/sh\necho mine\n")
    fake.chmod(0o755)
    assert call(AS, "--version", COMPILER_PATH=f"{BDIR}/:{tmp_path}/").stdout == "mine\n"


def test_missing_assembler_says_so(tmp_path: Path) -> None:
    if any(os.access(f"{d}/as", os.X_OK) for d in ("/usr/local/bin", "/usr/bin", "/bin")):
        done = call(AS, "x.s", check=False, GOMPY_REAL_AS=str(tmp_path / "none"))
        assert done.returncode == 1 and done.stderr.startswith("as: fatal error: ")


def test_the_host_code_is_that_of_a_plain_compile(tmp_path: Path) -> None:
    ours = compile_c(SOURCE, tmp_path / "x.o", "ours")
    (tmp_path / "s").mkdir()
    plain = compile_c(SOURCE, tmp_path / "s" / "x.o", "plain")
    one, other = (call("objdump", "-dr", p).stdout.partition("Disassembly")[2] for p in (ours, plain))
    assert one == other


def test_binutils_still_work_on_the_object(tmp_path: Path) -> None:
    path = compile_c(SOURCE, tmp_path / "x.o", "ours")
    for command in (["strip", "-g", "-o", "s.o"], ["objcopy"], ["ld", "-r", "-o", "r.o"]):
        done = call(*command, path, *(["c.o"] if command == ["objcopy"] else []), cwd=tmp_path)
        assert not done.stderr
    for name in ("s.o", "c.o", "r.o"):
        names = section_names(tmp_path / name)
        assert any(n.startswith(".gompyir_.symtab.") for n in names) and RECORD in names
        file = elf(tmp_path / name)
        assert file.get_section_by_name(".gnu.offload_funcs")["sh_flags"] & RETAIN
    call("gcc", "-fopenmp", "-foffload=disable", path, "-o", "plain", cwd=tmp_path)
    call(tmp_path / "plain")


def test_costs_little(tmp_path: Path) -> None:
    """A tenth of the assembler's own pages in addition: no interpreter."""
    (tmp_path / "x.s").write_text(".globl f\nf: ret\n")
    stock, ours = (page_faults([name, tmp_path / "x.s", "-o", tmp_path / "x.o"], environment()) for name in ("as", AS))
    assert ours < 1.5 * stock


@pytest.mark.parametrize("damage", ["short", "shoff", "shstrndx", "names", "section"])
def test_damaged_output_is_left_alone(tmp_path: Path, damage: str) -> None:
    """An assembler that wrote nonsense: we neither crash nor edit."""
    data = bytearray(compile_c(SOURCE, tmp_path / "x.o", "stock-fat").read_bytes())
    at = int.from_bytes(data[40:48], "little")
    if damage == "short":
        del data[at + 100 :]
    elif damage == "shoff":
        data[40:48] = (1 << 62).to_bytes(8, "little")
    elif damage == "shstrndx":
        data[62:64] = b"\xf0\xfe"
    elif damage == "names":
        data[at + 64 * 5 : at + 64 * 5 + 4] = b"\xff\xff\xff\x7f"
    else:
        data[at + 64 * 5 + 32 : at + 64 * 5 + 40] = b"\xff" * 8
    (tmp_path / "bad.o").write_bytes(data)
    fake = tmp_path / "real-as"
    fake.write_text(f"#!/bin/sh\n{shlex.join(['cp', f'{tmp_path}/bad.o', f'{tmp_path}/out.o'])}\n")
    fake.chmod(0o755)
    call(AS, "-o", tmp_path / "out.o", GOMPY_AS="rename", GOMPY_REAL_AS=str(fake))
    assert (tmp_path / "out.o").read_bytes() == bytes(data)
