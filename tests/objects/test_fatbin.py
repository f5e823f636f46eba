"""Containers of CUDA's device code in objects and linked files, as the commands show them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from driver_tools import needs
from hypothesis import given
from hypothesis import strategies as st

from gompy.cli import images, inspect, verify
from gompy.objects import fatbin
from gompy.objects.view import Damaged, ElfView

pytestmark = [needs("gcc")]
PTX = b".version 7.0\n.target sm_70\n.visible .entry _Z3addPi (.param .u64 p) { ret; }\n.entry other () { ret; }\n"


def container(*files: tuple[int, int, bytes, int]) -> bytes:
    """A container of files: kind, architecture, contents, flags more than usual."""
    body = b""
    for kind, arch, data, flags in files:
        data += bytes(-len(data) % 8)
        body += fatbin.FILE.pack(
            kind, fatbin.FILE_VERSION, 64, len(data), 0, 0, 0, arch, 64, 0, fatbin.FLAGS | flags, 0, 0
        )
        body += data
    return fatbin.HEAD.pack(fatbin.MAGIC, 1, 16, len(body)) + body


def program(folder: Path, data: bytes, *words: str) -> Path:
    """A program, or with -c an object, that has them in its section."""
    (folder / "data").write_bytes(data)
    (folder / "prog.c").write_text("int main (void) { return 0; }\n")
    (folder / "fat.s").write_text(f'.section .nv_fatbin, "a"\n.p2align 3\n.incbin "{folder}/data"\n')
    (folder / "fat.s").write_text((folder / "fat.s").read_text() + '.section .note.GNU-stack, "", @progbits\n')
    sources = ["fat.s"] if "-c" in words else ["prog.c", "fat.s"]
    subprocess.run(["gcc", *words, *sources, "-o", "prog"], cwd=folder, check=True)
    return folder / "prog"


def read(path: Path) -> list[fatbin.CudaImage]:
    return fatbin.read_fatbins(ElfView(path.read_bytes(), path.name))


@pytest.mark.parametrize("words", [(), ("-c",), ("-shared", "-fPIC")])
def test_files_in_order(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Two containers with filling between them, as a linker joins objects' sections."""
    cubin = b"\x7fELF" + bytes(60)
    data = fatbin.pack([(70, PTX)]) + bytes(16) + container((2, 80, cubin, 0), (1, 80, b"x" * 8, 0x2000))
    found = read(program(tmp_path, data, *words))
    assert [(i.kind, i.target, i.packed, i.extension) for i in found] == [
        ("ptx", "cuda-sm_70", False, "ptx"),
        ("cubin", "cuda-sm_80", False, "cubin"),
        ("ptx", "cuda-sm_80", True, "ptx"),
    ]
    assert found[0].files == [PTX] and found[1].files == [cubin]
    assert [image.kernels for image in found] == [["_Z3addPi", "other"], [], []]
    assert all(bool(image.address) == ("-c" not in words) for image in found)
    with pytest.raises(Damaged, match="cuda-sm_80: compressed ptx is not implemented"):
        _ = found[2].files


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path, fatbin.pack([(70, PTX)]) + container((1, 80, b"x" * 8, 0x2000)))
    assert images.main(["list", "prog"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "  image  target      bytes  files  regions  vars  name",
        f"      0  cuda-sm_70    {len(PTX) + 8 - len(PTX) % 8}      1        2     -  of CUDA: ptx",
        "      1  cuda-sm_80      8      1        -     -  of CUDA: ptx, compressed",
    ]
    assert images.main(["extract", "prog", "--image", "0", "--to", "out"]) == 0
    assert capsys.readouterr().out == "out/prog.0.cuda-sm_70.ptx\n"
    assert Path("out/prog.0.cuda-sm_70.ptx").read_bytes() == PTX
    assert images.main(["extract", "prog", "--to", "out"]) == 1
    assert "cuda-sm_80: compressed ptx is not implemented" in capsys.readouterr().err
    for command in (["strip"], ["replace", "--image", "0"]):
        assert images.main([*command, "prog", *(["data"] if command[0] == "replace" else [])]) == 1
        assert "CUDA's is not implemented" in capsys.readouterr().err
    assert verify.main(["prog"]) == 0
    assert capsys.readouterr().out == "prog: 2 kernels of CUDA, 2 images (cuda-sm_70, cuda-sm_80): PTX is there\n"
    assert inspect.main(["--json", "prog"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["fatbins"][0]["kernels"] == ["_Z3addPi", "other"]


def test_no_ptx(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path, container((2, 80, bytes(64), 0), (1, 90, bytes(64), 0x8000)))
    assert verify.main(["prog"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "prog: error: no PTX of its kernels of CUDA that the emulated GPU could run: it has cubin for sm_80, ptx, "
        "compressed for sm_90 [no-image]",
        "prog: note: compile with gompy cuda cc, or with nvcc's -gencode arch=compute_80,code=compute_80 --no-compress",
    ]


@given(st.binary(max_size=200), st.integers(0, 200), st.integers(0, 255))
def test_damage(tmp_path_factory: pytest.TempPathFactory, more: bytes, at: int, byte: int) -> None:
    """Whatever stands there: images or one line."""
    good = fatbin.pack([(70, PTX)])
    bad = bytearray(good + more)
    bad[at % len(bad)] = byte
    elf = CACHE.setdefault("elf", None) or program(tmp_path_factory.mktemp("damage"), good + bytes(300))
    CACHE["elf"] = elf
    data = bytearray(elf.read_bytes())
    where = data.index(good)
    data[where : where + len(bad)] = bad
    try:
        for image in fatbin.read_fatbins(ElfView(bytes(data), "prog")):
            assert image.size <= len(bad) + 300
    except Damaged as error:
        assert "prog" in str(error) and "\n" not in str(error)


CACHE: dict[str, Path | None] = {}
