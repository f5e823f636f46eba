"""OffloadBinary and clang's tables: written and read again, held against clang's own tools, and damaged."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_inputs import assemble, run

from gompy.abi import llvm
from gompy.cli import inspect_json
from gompy.cli.findings import check, find
from gompy.cli.inspect_report import Inspected, inspect_bytes
from gompy.cli.inspect_text import report_lines, summary_lines
from gompy.objects.clang_images import read_clang
from gompy.objects.offload_binary import MAGIC, packed, read_all, read_one
from gompy.objects.view import Damaged, ElfView

PACKAGER = shutil.which("clang-offload-packager-16")
OBJDUMP = shutil.which("llvm-objdump-16")
TRIPLE = "x86_64-pc-linux-gnu"

words = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12)
images = st.binary(max_size=200)


@given(images, st.dictionaries(words, words, max_size=5), st.integers(0, 7), st.integers(0, 4))
def test_round_trip(image: bytes, strings: dict[str, str], kind: int, producer: int) -> None:
    data = packed(image, strings, kind, producer)
    found = read_one(data, "x")
    assert (found.image, found.strings, found.image_kind, found.offload_kind) == (image, strings, kind, producer)
    assert found.size == len(data) and len(data) % 8 == 0


@given(st.lists(images, max_size=4), st.integers(0, 3))
def test_several_with_gaps(contents: list[bytes], gap: int) -> None:
    data = b"".join(packed(image, {"triple": "t"}, 1) + bytes(8 * gap) for image in contents)
    assert [binary.image for binary in read_all(data, "x")] == contents


@pytest.mark.skipif(PACKAGER is None, reason="not installed: clang-tools-16")
def test_the_bytes_are_those_of_clangs_packager(tmp_path: Path) -> None:
    chance = random.Random(16)
    source, output = tmp_path / "i.o", tmp_path / "o.bin"
    for _ in range(12):
        image = chance.randbytes(chance.randrange(60))
        triple, arch = chance.choice((TRIPLE, "gnu")), chance.choice(("", "gnu", "sm_70", "triple", "arch"))
        source.write_bytes(image)
        run(str(PACKAGER), "-o", output, f"--image=file={source},triple={triple},arch={arch},kind=openmp")
        assert packed(image, {"triple": triple, "arch": arch}, llvm.IMG_OBJECT) == output.read_bytes()


@pytest.mark.skipif(OBJDUMP is None, reason="not installed: llvm-16")
@pytest.mark.parametrize("kind", range(6))
def test_llvm_reads_what_is_written(tmp_path: Path, kind: int) -> None:
    data = packed(b"abc", {"triple": TRIPLE, "arch": "a1"}, kind) + packed(b"", {"triple": "t", "arch": ""}, 0, 2)
    (tmp_path / "x.bin").write_bytes(data)
    theirs = run(str(OBJDUMP), "--offloading", tmp_path / "x.bin")
    mine = [line for line, _ in report_lines(inspect_bytes(data, "x.bin").report)]
    for line in theirs.partition("OFFLOADING")[1:][1].splitlines()[1:]:
        assert not line or line.rstrip() in mine


# Cases of llvm-objdump's and obj2yaml's tests for damaged binaries (LLVM 16, llvm/test/tools/llvm-objdump/Offloading).
DAMAGE = (
    ("magic", 0, b"\x10\xff\x10\xae", "magic"),
    ("version", 4, struct.pack("<I", 2), "version 2 is not implemented"),
    ("size", 8, struct.pack("<Q", 1 << 40), "bytes are not there"),
    ("too small", 8, struct.pack("<Q", 8), "bytes are not there"),
    ("entry", 16, struct.pack("<Q", 1 << 20), "entry"),
    ("image", 32 + 24, struct.pack("<Q", 1 << 63), "image"),
    ("strings", 32 + 8, struct.pack("<Q", 1 << 63), "strings"),
    ("many strings", 32 + 16, struct.pack("<Q", 1 << 60), "strings"),
    ("string", 72, struct.pack("<Q", 1 << 62), "does not end"),
)


@pytest.mark.parametrize(("at", "value", "cause"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_damage_is_told(at: int, value: bytes, cause: str) -> None:
    data = bytearray(packed(b"image", {"triple": "t", "arch": ""}, 1))
    data[at : at + len(value)] = value
    with pytest.raises(Damaged, match=cause):
        list(read_all(bytes(data), "x.bin"))


def reads(data: bytes, file: str = "noise") -> Inspected:
    """All that the commands do with a file; damage is told in lines that name it."""
    whole = inspect_bytes(data, file)
    for part in whole.parts():
        check(part)
        find(part)
    report_lines(whole.report)
    summary_lines(whole.report)
    inspect_json.dumps([whole.report])
    assert all(line.startswith(file) and "\n" not in line for line in whole.problems)
    return whole


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_binary_crashes_the_reader(data: st.DataObject) -> None:
    whole = bytearray(packed(data.draw(images), data.draw(st.dictionaries(words, words, max_size=3)), 1))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) // 8 - 1)) * 8
        value = data.draw(st.integers(0, (1 << 64) - 1) | st.sampled_from((0, 1, 72, len(whole), 1 << 63)))
        whole[at : at + 8] = value.to_bytes(8, "little")
    reads(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_no_noise_crashes_the_reader(data: bytes) -> None:
    reads(MAGIC + data)


IMAGE = """
#define REGION(name) __attribute__((visibility("protected"))) void name (void)
int seeds = 5; void *pips_decl_tgt_ref_ptr;
REGION (__omp_offloading_1_2_main_l3) { seeds++; }
REGION (__omp_offloading_1_2_apple_l9) { seeds--; }
"""
HOST = """
	.section .llvm.offloading,"{flags}",@0x6fff4c0b
	.balign 8
image:	.incbin "{image}"
image_end:
	.section .rodata
n0:	.asciz "seeds"
n1:	.asciz "pips_decl_tgt_ref_ptr"
n2:	.asciz "__omp_offloading_1_2_main_l3"
n3:	.asciz "__omp_offloading_1_2_apple_l9"
r2:	.byte 0
r3:	.byte 0
	.data
seeds:	.long 5, 0
pips:	.quad 0
	.section omp_offloading_entries,"aw"
	.quad seeds, n0, {size}
	.long 0, 0
	.quad pips, n1, 8
	.long 1, 0
	.quad r2, n2, 0
	.long 0, 0
	.quad r3, {last}, 0
	.long 0, 0
"""
DESCRIPTOR = """
	.section .data.rel.ro,"aw"
	.balign 8
images:	.quad image, image_end, __start_omp_offloading_entries, __stop_omp_offloading_entries
	.long 1, 0
	.quad images, __start_omp_offloading_entries, __stop_omp_offloading_entries
	.hidden __start_omp_offloading_entries, __stop_omp_offloading_entries
"""
END = '\t.section .note.GNU-stack,"",@progbits\n'
ENTRIES = ["seeds", "pips_decl_tgt_ref_ptr", "__omp_offloading_1_2_main_l3", "__omp_offloading_1_2_apple_l9"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An object and programs by clang's layout, made by hand: these tests need no clang."""
    made = tmp_path_factory.mktemp("clang")
    (made / "image.c").write_text(IMAGE)
    (made / "main.c").write_text("int main (void) { return 0; }\n")
    run("gcc", "-O1", "-fPIC", "-shared", "-nostdlib", made / "image.c", "-o", made / "image.so")
    (made / "image.bin").write_bytes(
        packed((made / "image.so").read_bytes(), {"triple": TRIPLE, "arch": ""}, llvm.IMG_OBJECT)
    )
    known = {"image": made / "image.bin", "size": 4, "last": "n3"}
    assemble(made, "fat", HOST.format(flags="e", **known) + END)
    assemble(made, "host", HOST.format(flags="a", **known) + DESCRIPTOR + END)
    assemble(made, "other", HOST.format(flags="a", **known | {"size": 8, "last": "n3 + 2"}) + DESCRIPTOR + END)
    for name, options in (("prog", ()), ("prog.nopie", ("-no-pie",)), ("other", ())):
        host = made / ("other.o" if name == "other" else "host.o")
        run("gcc", *options, made / "main.c", host, "-o", made / name)
    run("gcc", made / "main.c", made / "fat.o", "-o", made / "bare")
    run("strip", "-o", made / "prog.stripped", made / "prog")
    run("ld", "-r", made / "fat.o", "-o", made / "joined.o")
    run("ar", "rc", "lib.a", "fat.o", "image.bin", cwd=made)
    yield made


@pytest.mark.parametrize("name", ["fat.o", "joined.o", "prog", "prog.nopie", "prog.stripped"])
def test_tables_and_image(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    tables = read_clang(ElfView(data, name))
    assert [entry.name for entry in tables.entries] == ENTRIES
    assert [(entry.size, entry.flags, entry.is_region) for entry in tables.entries] == [
        *((4, 0, False), (8, 1, False)),
        *[(0, 0, True)] * 2,
    ]
    (image,) = tables.images
    assert image.binary.image == (folder / "image.so").read_bytes()
    assert (image.binary.triple, image.binary.kind, image.target) == (TRIPLE, "elf", TRIPLE)
    assert bool(image.record) == ("prog" in name)
    assert find(inspect_bytes(data, name)) == []


def test_archive(folder: Path) -> None:
    first, second = inspect_bytes((folder / "lib.a").read_bytes(), "lib.a").parts()
    assert (len(first.clang.images), first.report["kind"]) == (1, "relocatable")
    assert (len(second.clang.images), second.report["kind"]) == (1, "offload binary")


@pytest.mark.parametrize(
    ("name", "kinds"), [("other", ["missing", "name"]), ("bare", ["no-image"])], ids=["differs", "no wrapper"]
)
def test_what_is_wrong(folder: Path, name: str, kinds: list[str]) -> None:
    found = find(inspect_bytes((folder / name).read_bytes(), name))
    assert [finding.kind for finding in found] == kinds
    if name == "other":
        assert "1 of the program's 4 entries not in the image: omp_offloading_1_2_apple_l9" in found[0].cause
        assert "seeds has 8 bytes on the host, 4 in the image" in found[1].cause


@pytest.mark.parametrize("name", ["fat.o", "prog", "prog.stripped", "lib.a"])
def test_mutations(folder: Path, name: str) -> None:
    """Damage in files is told in lines; each eighth of them is hit in the sections that matter."""
    chance = random.Random(name)
    data = (folder / name).read_bytes()
    spans = [(0, 64), (0, len(data))]
    at = data.find(MAGIC)
    spans.append((at, at + 160))
    if data.startswith(b"\x7fELF"):
        spans.append((int.from_bytes(data[40:48], "little"), len(data)))
    damaged = 0
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 2, 8))):
            low, high = chance.choice(spans)
            where = chance.randrange(low, high - 8)
            value = chance.choice((0, 1, 255, 1 << 31, 1 << 63, len(data), chance.randrange(1 << 20)))
            changed[where : where + 8] = value.to_bytes(8, "little")
        damaged += bool(reads(bytes(changed), name).problems)
    assert damaged > 20


def test_newer_entries(tmp_path: Path) -> None:
    """LLVM 20's have 56 bytes; the layout is that of its Frontend/Offloading/Utility.h."""
    text = (
        '\t.section .rodata\nn0:\t.asciz "seeds"\n\t.data\nseeds:\t.long 5\n\t.section llvm_offload_entries,"aw"\n'
        "\t.quad 0\n\t.short 1, 1\n\t.long 1\n\t.quad seeds, n0, 4, 0, 0\n"
    )
    data = assemble(tmp_path, "new", text + END).read_bytes()
    (entry,) = read_clang(ElfView(data, "new.o")).entries
    assert (entry.name, entry.size, entry.flags, entry.section) == ("seeds", 4, 1, ".data")


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run gompy in a folder."""
    gompy = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "gompy"
    if not gompy.exists():
        pytest.skip("gompy is not installed in the tree")
    return subprocess.run([str(gompy), *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", ["prog", "prog.nopie", "prog.stripped"])
def test_images_are_changed(folder: Path, name: str) -> None:
    image = (folder / "image.so").read_bytes()
    done = command(folder, "images", "extract", name, "--to", "out")
    assert (folder / done.stdout.strip()).read_bytes() == image
    (folder / "large.so").write_bytes(image + bytes(90_000))
    done = command(folder, "images", "replace", name, "large.so", "-o", "changed")
    assert done.returncode == 0, done.stderr
    tables = read_clang(ElfView((folder / "changed").read_bytes(), "changed"))
    assert tables.images[0].binary.image == image + bytes(90_000)
    assert subprocess.run([folder / "changed"]).returncode == 0
    wrong = command(folder, "images", "replace", name, "fat.o", "-o", "wrong")
    assert wrong.returncode == 1 and f"what is to be put in is no library for {TRIPLE}" in wrong.stderr
    assert command(folder, "images", "strip", name, "-o", "bare.prog").returncode == 0
    verified = command(folder, "verify", "bare.prog")
    assert verified.returncode == 1 and "no device image for its 2 regions and 2 other entries" in verified.stderr
    assert subprocess.run([folder / "bare.prog"]).returncode == 0
