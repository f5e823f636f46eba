"""LTO and offload streams: names, headers, options, the offload table, against encoders written from the format."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import inspect_inputs
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from inspect_inputs import FUNCS, HAVE_NVPTX, VARS, Inputs

from gompy.objects import bytecode, decode, streams, tables
from gompy.objects.naming import base_name
from gompy.objects.view import Damaged, ElfView


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inputs]:
    yield inspect_inputs.make(tmp_path_factory.mktemp("inputs"))


def uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def table_stream(entries: list[tuple[str, int]], requires: int | None = None) -> bytes:
    tags = {"func": 1, "var": 5, "indirect": 6}
    body = b"".join(bytes([tags[kind]]) + uleb(decl) for kind, decl in entries)
    if requires is not None:
        mask = uleb(requires)
        body += b"\x03" + (mask[:-1] + bytes([mask[-1] | 0x80, 0]) if mask[-1] & 0x40 else mask)  # the sign's bit is 0
    body += b"\0"
    return struct.pack("<i", len(body)) + body


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".gnu.offload_lto_.opts", ("offload", "opts", "", -1, "")),
        (".gnu.offload_lto_.decls.3f07d3bc0b22095d", ("offload", "decls", "", -1, "3f07d3bc0b22095d")),
        (".gnu.lto_main._omp_fn.0.23.ca8", ("lto", "function_body", "main._omp_fn.0", 23, "ca8")),
        (".gompyir_.omp_data_kinds.8.2.21.ab", ("device-ir", "function_body", ".omp_data_kinds.8.2", 21, "ab")),
        (".gnu.debuglto_.debug_info", ("debug", "debug_info", "", -1, "")),
    ],
)
def test_section_names(name: str, expected: tuple[object, ...]) -> None:
    assert streams.parse_section_name(name) == expected


def test_other_sections_are_no_streams() -> None:
    assert streams.parse_section_name(".gnu.offload_funcs") is None
    assert streams.parse_section_name(".text") is None


@given(
    st.lists(st.tuples(st.sampled_from(["func", "var", "indirect"]), st.integers(0, 2**40))),
    st.one_of(st.none(), st.integers(0, 0x7FF)),
)
def test_offload_table_round_trip(entries: list[tuple[str, int]], requires: int | None) -> None:
    decoded = decode.decode_offload_table(table_stream(entries, requires))
    assert [(e.kind, e.decl) for e in decoded.entries] == entries
    assert decoded.requires == requires


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", "within its header"),
        (struct.pack("<i", 9) + b"\0", "length 9"),
        (struct.pack("<i", -1) + b"\0", "length -1"),
        (struct.pack("<i", 1) + b"\x01", "within a number"),
        (struct.pack("<i", 2) + b"\x02\x00", "tag 2"),
        (struct.pack("<i", 2) + b"\x04\x00", "tag 4"),
        (struct.pack("<i", 1) + b"\x03", "within a number"),
        (struct.pack("<i", 5) + b"\x03\x10\x03\x10\x00", "tag 3"),
        (struct.pack("<i", 3) + b"\x00\x01\x02", "after the end"),
        (struct.pack("<i", 13) + b"\x01" + b"\xff" * 12, "more than 64 bits"),
    ],
)
def test_damaged_offload_table(data: bytes, cause: str) -> None:
    with pytest.raises(decode.StreamError, match=cause):
        decode.decode_offload_table(data)


@given(st.lists(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126)), min_size=1), max_size=4))
def test_opts_round_trip(lists: list[list[str]]) -> None:
    def quoted(option: str) -> str:
        return "'" + option.replace("'", "'\\''") + "'"

    data = b"".join(" ".join(map(quoted, options)).encode() + b"\0" for options in lists)
    assert decode.decode_opts(data) == lists


@pytest.mark.parametrize("data", [b"'-O2'", b"'-O2\0", b"-O2\0"])
def test_damaged_opts(data: bytes) -> None:
    with pytest.raises(decode.StreamError):
        decode.decode_opts(data)


@pytest.mark.parametrize("pack", [zlib.compress, zstandard.ZstdCompressor().compress, lambda data: data])
def test_decompress(pack: object) -> None:
    data = table_stream([("func", 3), ("var", 300)])
    assert bytecode.decompress(pack(data)) == data  # type: ignore[operator]


@pytest.mark.parametrize("pack", [zlib.compress, zstandard.ZstdCompressor().compress])
def test_decompress_damaged(pack: object) -> None:
    packed = pack(bytes(range(256)) * 50)  # type: ignore[operator]
    with pytest.raises(decode.StreamError):
        bytecode.decompress(packed[: len(packed) // 2])


def test_decompression_bomb() -> None:
    """A stream that would fill the memory is refused, not unpacked."""
    compressor = zstandard.ZstdCompressor().compressobj()
    packed = b"".join(compressor.compress(bytes(1 << 24)) for _ in range(20)) + compressor.flush()
    with pytest.raises(decode.StreamError, match="MiB"):
        bytecode.decompress(packed)


def test_header() -> None:
    assert decode.parse_header(struct.pack("<hhBBH", 12, 0, 1, 0, 1)) == (12, 0, True, "zstd")
    assert decode.parse_header(struct.pack("<hhBBH", 12, 0, 0, 0, 0)) == (12, 0, False, "zlib")
    with pytest.raises(decode.StreamError, match="unknown compression 7"):
        decode.parse_header(struct.pack("<hhBBH", 12, 0, 0, 0, 7))


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(("name", "family"), [("apple.o", "offload"), ("apple.fat.o", "lto"), ("apple.slim.o", "lto")])
def test_table_names(inputs: Inputs, name: str, family: str) -> None:
    """Names come from the streams alone; the static scalar's stands in the tree stream only."""
    found = streams.offload_table_names(inputs[name], family)
    assert [n for k, n in found if k == "func"] == FUNCS[:2]
    assert [n for k, n in found if k == "var"] == ["core", "seeds", None, "pips"]


def test_stream_and_native_table_agree(inputs: Inputs) -> None:
    for name in ("apple.fat.o", "banana.fat.o", "joined.o"):
        elf = ElfView(inputs[name].read_bytes(), name)
        native = tables.read_tables(elf)
        names = streams.offload_table_names(inputs[name])
        assert [k for k, _n in names].count("func") == len(native.funcs)
        expected = [e.name for e in native.funcs + native.vars]
        by_kind = [n for k, n in names if k == "func"] + [n for k, n in names if k == "var"]
        assert all(n is None or n == e for n, e in zip(by_kind, expected, strict=True))


def test_renamed_prefix(inputs: Inputs, tmp_path: Path) -> None:
    """The same streams under the project's prefix, as the assembler filter leaves them."""
    renamed = tmp_path / "renamed.o"
    renamed.write_bytes(inputs["apple.fat.o"].read_bytes().replace(b".gnu.lto_", b".gompyir_"))
    expected = streams.offload_table_names(inputs["apple.fat.o"], "lto")
    assert streams.offload_table_names(renamed, "device-ir") == expected
    assert streams.offload_table_names(renamed, "lto") == []
    assert ("var", "hidden") in streams.offload_table_names(renamed, "device-ir", decode=True)


def test_decode_host_streams(inputs: Inputs) -> None:
    found = streams.offload_table_names(inputs["apple.slim.o"], "lto", decode=True)
    assert [n for k, n in found if k == "var"] == VARS[:4]


@pytest.mark.skipif(not HAVE_NVPTX, reason="gcc-12-offload-nvptx is not installed")
def test_decode_offload_streams(inputs: Inputs) -> None:
    found = streams.offload_table_names(inputs["apple.o"], "offload", decode=True)
    assert [n for k, n in found if k == "var"] == VARS[:4]


def test_decode_without_the_compiler(inputs: Inputs) -> None:
    elf = ElfView(inputs["apple.slim.o"].read_bytes(), "apple.slim.o")
    unit = next(u for u in streams.units(elf) if u.family == "lto")
    with pytest.raises(streams.DecodeError, match="no-such-gcc is not installed"):
        streams.name_with_gcc(elf, unit, streams.unit_table(elf, unit).entries, ("no-such-gcc",))


def test_archive_member_by_offset(inputs: Inputs) -> None:
    data = inputs["lib.a"].read_bytes()
    offset = data.index(inputs["banana.o"].read_bytes())
    assert streams.offload_table_names(f"{inputs['lib.a']}@{offset:#x}") == [("func", FUNCS[2]), ("var", "peel")]
    with pytest.raises(Damaged, match="no archive member"):
        streams.offload_table_names(f"{inputs['lib.a']}@0x3")


def test_wpa_partition(inputs: Inputs, tmp_path: Path) -> None:
    """WPA's streams are not compressed; the joint table is in the first partition only."""
    for name in ("apple.slim.o", "banana.slim.o"):
        shutil.copy(inputs[name], tmp_path)
    inspect_inputs.run(
        *("gcc", "-fopenmp", "-flto", "-flto-partition=one", "-foffload=disable", "-save-temps"),
        *("apple.slim.o", "banana.slim.o", "-o", "y"),
        cwd=tmp_path,
    )
    partition = tmp_path / "y.ltrans0.o"
    found = streams.offload_table_names(partition, "lto")
    assert [k for k, _n in found] == ["func"] * 3 + ["var"] * 5
    assert [base_name(n) for k, n in found if k == "func" and n] == FUNCS
    ltrans = tables.read_tables(ElfView((tmp_path / "y.ltrans0.ltrans.o").read_bytes(), "ltrans"))
    assert [e.name and base_name(e.name) for e in ltrans.funcs] == FUNCS


@pytest.mark.parametrize(("release", "thunk"), [(12, 35), (14, 35), (15, 34), (16, 37)])
def test_symbol_nodes_of_each_release(release: int, thunk: int) -> None:
    """A thunk and a variable behind it: the bit that says that a thunk's numbers follow moves."""
    plain = bytes([1, 0, 0x7F, 7, 0, 0, 0, 0, 0, 0])  # tag, order, clone of, declaration, count, …, comdat, first run
    body = b"\0" + plain + uleb(1 << thunk) + b"\0\0\0" + bytes(4)
    body += bytes([5, 3, 9, 0, 0, 0, 0, 0])
    data = struct.pack("<i", len(body)) + body
    assert [(node.order, node.decl) for node in decode.decode_symbol_nodes(data, release)] == [(0, 7), (3, 9)]


def test_long_streams_are_read_in_a_link(tmp_path: Path) -> None:
    """The tools of a link run without site-packages, where the library that reads compressed streams is."""
    plain = table_stream([("func", number) for number in range(500)], 0x200)
    (tmp_path / "frame").write_bytes(zstandard.compress(plain))
    text = "import sys; sys.path.insert(0, sys.argv[1]); from gompy.objects.bytecode import decompress\n"
    text += "sys.stdout.buffer.write(decompress(open(sys.argv[2], 'rb').read()))"
    root = Path(__file__).resolve().parent.parent.parent
    command = [sys.executable, "-I", "-S", "-c", text, str(root), str(tmp_path / "frame")]
    assert subprocess.run(command, capture_output=True, check=True).stdout == plain
