"""Damaged files: whatever is flipped or cut, the readers answer, soon, and with one line for each problem."""

from __future__ import annotations

import contextlib
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import inspect_inputs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from inspect_inputs import Inputs

from gompy.cli import inspect_graph, inspect_json
from gompy.cli.findings import check
from gompy.cli.inspect_report import inspect_bytes
from gompy.cli.inspect_text import report_lines
from gompy.objects import archive, bytecode, decode, images
from gompy.objects.view import Damaged, ElfView

NAMES = (
    "apple.fat.o",
    "joined.o",
    "prog",
    "prog.stripped",
    "lib.a",
    "prog.mic",
    "prog.stockmic",
    "prog.gcn",
    "image.so",
)
SECONDS_PER_CASE = 2.0
CASES = 120
VALUES = (0, 1, 0x7F, 0x80, 0xFF, 1 << 31, (1 << 32) - 1, 1 << 63, (1 << 64) - 1)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inputs]:
    yield inspect_inputs.make(tmp_path_factory.mktemp("inputs"))


def digest(data: bytes, name: str) -> list[str]:
    """Everything the command does with a file, without the disk; the problems."""
    start = time.process_time()
    whole = inspect_bytes(data, name)
    for part in whole.parts():
        check(part)
    report_lines(whole.report)
    inspect_json.dumps([whole.report])
    with contextlib.suppress(inspect_graph.GraphTooLarge):
        inspect_graph.draw([whole], svg=True)
    assert time.process_time() - start < SECONDS_PER_CASE
    for problem in whole.problems:
        assert problem.startswith(name) and "\n" not in problem
    return whole.problems


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Cut, or change some bytes and words, half of them in the headers."""
    if chance.random() < 0.15:
        return data[: chance.randrange(len(data))]
    spans = [(0, len(data)), (0, 64)]
    if data.startswith(b"\x7fELF"):
        table = int.from_bytes(data[40:48], "little")
        spans.append((table, len(data)))
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8, 40))):
        low, high = chance.choice(spans)
        at = chance.randrange(low, max(high, low + 1))
        if at + 8 > len(changed):
            continue
        if chance.random() < 0.6:
            changed[at] ^= 1 << chance.randrange(8)
        else:
            value = chance.choice((*VALUES, len(data), chance.randrange(1 << 20)))
            changed[at & ~7 : (at & ~7) + 8] = value.to_bytes(8, "little")
    return bytes(changed)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", NAMES)
def test_mutations(inputs: Inputs, name: str) -> None:
    chance = random.Random(name)
    data = inputs[name].read_bytes()
    assert digest(data, name) == []
    damaged = sum(bool(digest(mutate(data, chance), name)) for _ in range(CASES))
    assert damaged > CASES // 10, "the mutations hit nothing"


@pytest.mark.parametrize("name", ["apple.fat.o", "prog.mic", "lib.a"])
def test_truncations(inputs: Inputs, name: str) -> None:
    """Every cut is noticed: an object ends with its section headers, a shortened archive with a member too short."""
    data = inputs[name].read_bytes()
    for length in range(64, len(data) - 8, len(data) // 60):
        assert digest(data[:length], name), length


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=300))
@example(b"\x28\xb5\x2f\xfd\x04")
@example(b"\x78\x9c")
def test_streams_of_noise(data: bytes) -> None:
    for read in (
        bytecode.decompress,
        decode.decode_opts,
        decode.decode_offload_table,
        decode.decode_symbol_nodes,
        decode.decode_symtab,
        decode.decode_decl_slots,
        decode.parse_header,
    ):
        try:
            read(data)
        except decode.StreamError as error:
            assert 0 <= error.offset <= len(data) + 1


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_files_of_noise(data: bytes) -> None:
    for start in (b"", b"\x7fELF\x02\x01", b"!<arch>\n", b"!<thin>\n", b".version 6.0\n"):
        try:
            digest(start + data, "noise")
        except OSError:
            pytest.fail("a file was read")


@given(st.binary(max_size=200))
def test_archives_of_noise(data: bytes) -> None:
    try:
        list(archive.members(archive.MAGIC + data, "x.a"))
    except Damaged as error:
        assert str(error).startswith("x.a: offset 0x")


def test_image_pointing_into_itself(inputs: Inputs) -> None:
    """A target data whose image spans the whole file, and one with 2**40 objects."""
    data = inputs["prog.mic"].read_bytes()
    elf = ElfView(data, "prog.mic")
    at = data.index(b"GOMPYMIC")
    huge = bytearray(data)
    huge[at + 56 : at + 64] = (1 << 40).to_bytes(8, "little")
    (image,) = images.find_images(ElfView(bytes(huge), "prog.mic"))
    assert any("object descriptions are not in the file" in problem for problem in image.problems)
    assert images.find_images(elf)[0].problems == []


PATHOLOGICAL = {
    "ptx pointers": (
        'const char ptx[] = "\\0.version 6.0\\n\\0";\n'
        "const char *tab[50000] = { [0 ... 49999] = ptx + 1 };\n"
        "const void *tabs[50000] = { [0 ... 49999] = tab };\n"
    ),
    "magic": (
        "struct { void *start, *end; char magic[8]; unsigned long rest[8]; } t[5000] = { [0 ... 4999] = "
        '{ t, t + 5000, "GOMPYMIC", { 1, 0, 0, 0, 0, 0, 0, 0 } } };\n'
    ),
}


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("options", [("-no-pie",), ("-pie",), ("-c",)])
@pytest.mark.parametrize("case", PATHOLOGICAL)
def test_search_for_images_is_bounded(tmp_path: Path, case: str, options: tuple[str, ...]) -> None:
    """Files full of what looks like descriptions of images: an answer in seconds."""
    (tmp_path / "x.c").write_text(PATHOLOGICAL[case] + "int main (void) { return 0; }\n")
    inspect_inputs.run("gcc", *options, tmp_path / "x.c", "-o", tmp_path / "x")
    start = time.process_time()
    whole = inspect_bytes((tmp_path / "x").read_bytes(), "x")
    assert time.process_time() - start < 20
    assert len(whole.problems) >= 1


def test_names_that_overlap() -> None:
    """Many symbols whose names are tails of one enormous name."""
    source = "a" * 40_000 + "\0"
    symbols = b"".join(struct.pack("<IBBHQQ", i, 0, 0, 0, 0, 0) for i in range(8_000))
    shstrtab = b"\0.symtab\0.strtab\0"
    body = symbols + source.encode() + shstrtab
    offsets = (64, 64 + len(symbols), 64 + len(symbols) + len(source))
    rows = [(0,) * 10, (1, 2, 0, 0, offsets[0], len(symbols), 2, 0, 8, 24)]
    rows += [(9, 3, 0, 0, offsets[1], len(source), 0, 0, 1, 0), (9, 3, 0, 0, offsets[2], len(shstrtab), 0, 0, 1, 0)]
    table = b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 1, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, 4, 3)
    with pytest.raises(Damaged, match="names overlap"):
        ElfView(header + body + table, "x").symbols()
