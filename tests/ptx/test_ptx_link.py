"""Reading, checking and linking of PTX: what is accepted, and the diagnostics."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from gompy.abi import ptx as abi
from gompy.ptx import build
from gompy.ptx.device import LIBRARY, Device, ExecutorError
from gompy.ptx.parser import parse
from gompy.ptx.syntax import PtxError, Register, Vector

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"
needs_executor = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Device(1 << 24) as found:
        yield found


def test_scopes_have_registers_of_their_own() -> None:
    module = parse(HEAD + ".func f { .reg .u32 %a; { .reg .u32 %a; mov.u32 %a, 1; } mov.u32 %a, 2; ret; }")
    body = module.functions["f"].body
    assert body is not None
    first, second = (code.operands[0] for code in body[:2])  # type: ignore[union-attr]
    assert isinstance(first, Register) and isinstance(second, Register)
    assert first is not second and first.name == second.name


def test_vector_registers_and_ranges() -> None:
    module = parse(HEAD + ".func f { .reg .v2 .u32 %v; .reg .u64 %R<3>; mov.u32 %v.y, 1; st.v2.u32 [%R2+8], %v; ret; }")
    body = module.functions["f"].body
    assert body is not None
    assert isinstance(body[1].operands[1], Vector)  # type: ignore[union-attr]
    assert len(module.functions["f"].registers) == 5


def test_comments_and_lines() -> None:
    module = parse(HEAD + "/* two\nlines */ .func f { // a comment\n ret; }\n.global .u32 x; ")
    assert module.functions["f"].line == 5
    assert module.variables["x"].line == 7


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("hello", 4, "unknown directive 'hello'"),
        (".func f { mov.u32 %x, 1; }", 4, "unknown register '%x'"),
        (".func f {\n .reg .u32 %x;\n mov.u32 %x 1; }", 6, "expected ';' before '1'"),
        (".func f { ret;", 4, "end of file in function 'f'"),
        (".global .u32 x[2] = { 1, 2", 4, "expected '}' before 'end of file'"),
        (".func f { @%p ret; }", 4, "'%p' is not a predicate register"),
        (".func f { .frob %x; }", 4, "unknown directive '.frob'"),
        (".visible .func f { ret; } .visible .func f { ret; }", 4, "'f' is defined twice (the first is on line 4)"),
    ],
)
def test_syntax_errors(text: str, line: int, message: str) -> None:
    with pytest.raises(PtxError) as caught:
        parse(HEAD + text, "a.o")
    assert str(caught.value) == f"a.o:{line}: error: {message}"


def test_not_ptx() -> None:
    with pytest.raises(PtxError, match="unknown directive"):
        parse("int main (void) { }", "a.c")


@needs_executor
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("frobnicate.u32 %x, %x;", "unknown opcode 'frobnicate.u32'"),
        ("add.u33 %x, %x, %x;", "unknown opcode 'add.u33'"),
        ("add.u32 %x, %x;", "'add.u32' needs 3 operands, 2 given"),
        ("mul.wide.u64 %x, %x, %x;", "unknown opcode 'mul.wide.u64'"),
        ("bra $NOWHERE;", "label '$NOWHERE' is not defined"),
        ("ld.param.u32 %x, [%nothing];", "unknown register '%nothing'"),
        ("setp.foo.u32 %p, %x, %x;", "unknown opcode 'setp.foo.u32'"),
    ],
)
def test_errors_have_object_and_line(device: Device, body: str, message: str) -> None:
    text = HEAD + ".visible .entry k (.param .u64 %a) { .reg .u32 %x; .reg .pred %p;\n" + body + "\nret; }"
    with pytest.raises(ExecutorError) as caught:
        device.load(text, names=["prog.o"])
    assert caught.value.code == 218
    assert caught.value.log.strip() == f"prog.o:5: error: {message}"


ENTRY = """.extern .func (.param .u32 %r) get; .visible .entry k (.param .u64 %a) { .reg .u64 %o; .reg .u32 %x;
ld.param.u64 %o, [%a]; { .param .u32 %v; call (%v), get; ld.param.u32 %x, [%v]; } st.u32 [%o], %x; ret; }"""


@needs_executor
def test_objects_are_linked_and_local_names_stay_apart(device: Device) -> None:
    first = HEAD + ENTRY + ".global .u32 $LC0 = 1;"
    second = (
        HEAD
        + """.global .u32 $LC0 = 20; .func (.param .u32 %r) inner { .reg .u32 %x; ld.global.u32 %x, [$LC0];
    st.param.u32 [%r], %x; ret; } .visible .func (.param .u32 %r) get { .reg .u32 %x; { .param .u32 %v;
    call (%v), inner;
    ld.param.u32 %x, [%v]; } st.param.u32 [%r], %x; ret; }"""
    )
    third = HEAD + ".func inner { trap; ret; } .visible .global .u32 exported[3] = { 7 };"
    module = device.load(first, second, third)
    out = device.upload(bytes(4))
    module.function("k").launch((1, 1, 1), (32, 1, 1), [out])
    assert struct.unpack("I", device.download(out, 4)) == (20,)
    address, size = module.variable("exported")
    assert size == 12 and struct.unpack("3I", device.download(address, 12)) == (7, 0, 0)
    with pytest.raises(ExecutorError) as caught:  # NVIDIA's driver gives functions, too; they cannot be launched
        module.function("get").launch((1, 1, 1), (32, 1, 1), [])
    assert caught.value.code == 1
    for missing in ("inner", "nothing"):
        with pytest.raises(ExecutorError) as caught:
            module.function(missing)
        assert caught.value.code == 500


@needs_executor
def test_undefined_reference(device: Device) -> None:
    with pytest.raises(ExecutorError) as caught:
        device.load(HEAD + ENTRY, names=["a.o"])
    assert caught.value.code == 302
    assert caught.value.log == "a.o:5: error: undefined reference to 'get'\n"


@needs_executor
def test_initial_values_of_what_is_not_defined(device: Device) -> None:
    """As C++ vtables without the functions in them: the variable and the name are told."""
    text = f"{HEAD}.visible .const .align 8 .u64 table[2] = {{0, missing}};\n.visible .entry k () {{ ret; }}\n"
    with pytest.raises(ExecutorError) as caught:
        device.load(text)
    assert "the initial value of 'table' names 'missing', which is not defined" in caught.value.log


@needs_executor
def test_multiple_definition(device: Device) -> None:
    one = HEAD + ".visible .global .u32 x;"
    with pytest.raises(ExecutorError) as caught:
        device.load(one, one, names=["a.o", "b.o"])
    assert caught.value.log == "b.o:4: error: multiple definition of 'x'; it is also defined in a.o\n"


@needs_executor
def test_weak_definitions_give_way(device: Device) -> None:
    weak = HEAD + ".weak .global .u32 x = 1;"
    module = device.load(weak, HEAD + ".visible .global .u32 x = 2;", weak)
    address, _ = module.variable("x")
    assert struct.unpack("I", device.download(address, 4)) == (2,)


@needs_executor
@pytest.mark.parametrize("last", [False, True])
def test_a_weak_function_gives_way_in_its_own_object(device: Device, last: bool) -> None:
    """As a linker has it: libgcc's weak functions for nvptx are replaced by libgomp's, also where libgcc calls them."""
    text = """{linkage} .func (.param .u32 %r) f {{ st.param.u32 [%r], {value}; ret; }}
      {linkage} .global .u32 x = {value};"""
    kernel = """.visible .entry k (.param .u64 %a) {
      .reg .u64 %o; .reg .u32 %v; ld.param.u64 %o, [%a];
      { .param .u32 %r; call (%r), f; ld.param.u32 %v, [%r]; } st.u32 [%o], %v;
      ld.global.u32 %v, [x]; st.u32 [%o+4], %v; ret; }"""
    weak = HEAD + text.format(linkage=".weak", value=1) + kernel
    strong = HEAD + text.format(linkage=".visible", value=2)
    module = device.load(*([strong, weak] if last else [weak, strong]))
    out = device.upload(bytes(8))
    module.function("k").launch((1, 1, 1), (1, 1, 1), [out])
    assert struct.unpack("2I", device.download(out, 8)) == (2, 2)


@needs_executor
def test_cache_is_used_and_damage_is_mended(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + ".visible .entry k (.param .u64 %a) { .reg .u64 %o; ld.param.u64 %o, [%a]; st.u64 [%o], %o; ret; }"
    device.load(text)
    files = {f: f.read_bytes() for f in tmp_path.rglob("*") if f.suffix in (".I", ".E")}
    assert len(files) == 2
    monkeypatch.setenv("GOMPY_PYTHON", "/bin/false")
    device.load(text)  # no compiler needed
    for file, data in files.items():
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ExecutorError) as caught:
        device.load(text)
    assert caught.value.code in (218, 221)
    monkeypatch.delenv("GOMPY_PYTHON")
    module = device.load(text)
    out = device.upload(bytes(8))
    module.function("k").launch((1, 1, 1), (1, 1, 1), [out])
    assert struct.unpack("Q", device.download(out, 8)) == (out,)
    assert {f: f.read_bytes() for f in files} == files


@needs_executor
def test_no_compiler_is_told(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_PYTHON", "/nonexistent/python")
    with pytest.raises(ExecutorError) as caught:
        device.load(HEAD + ".visible .entry k { ret; }")
    assert caught.value.code == 221
    assert (
        "the PTX compiler needs Python, which did not start: /nonexistent/python (set GOMPY_PYTHON)" in caught.value.log
    )


def test_check_command(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.ptx", tmp_path / "bad.ptx"
    good.write_text(HEAD + ".visible .entry k { ret; }")
    bad.write_text(HEAD + ".visible .entry k {\n nonsense; ret; }")
    command = [sys.executable, "-m", "gompy.ptx", "check"]
    assert subprocess.run([*command, good], env=os.environ).returncode == 0
    done = subprocess.run([*command, good, bad, tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        done.stdout == f"{bad}:5: error: unknown opcode 'nonsense'\n{tmp_path}/none: error: No such file or directory\n"
    )


def test_the_executor_has_the_identity_of_the_compiler() -> None:
    """The hash of the sources stands in the library, and in the file that the compiler reads."""
    assert abi.identity().encode() in LIBRARY.read_bytes() and set(abi.identity()) != {"0"}


def test_old_objects_leave_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the bound whole objects go, first those not used for longest; never those of this request."""
    monkeypatch.setattr(build, "LIMIT", 2500)
    for age, key in enumerate(("aa", "bb", "cc", "dd")):
        for form in ("I", "ptx"):
            file = tmp_path / f"{key}.{form}"
            file.write_bytes(bytes(500))
            os.utime(file, (10**9 - age * 100, 10**9 - age * 100))
    (tmp_path / ".aa.S.1").write_bytes(b"left")
    os.utime(tmp_path / ".aa.S.1", (10**9, 10**9))
    build.prune(tmp_path, {"dd"})
    assert sorted(f.name for f in tmp_path.iterdir()) == ["aa.I", "aa.ptx", "dd.I", "dd.ptx"]


def test_folders_of_other_versions_leave_the_cache(tmp_path: Path) -> None:
    """Those that nobody uses; what is not a folder of ours stays."""
    for name, age in (("7-cpu", 30), ("8-cpu", 1), ("9-cpu", 30), ("9-other", 30), ("notes", 30)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "aa.I").write_bytes(b"x")
        os.utime(tmp_path / name / "aa.I", (time.time() - age * 86400,) * 2)
    build.prune_others(tmp_path / "9-cpu")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["8-cpu", "9-cpu", "notes"]


@pytest.mark.slow
def test_kernels_of_a_large_object_in_blocks_of_any_shape(device: Device) -> None:
    """Code of many kernels is in several files; that for warps that are no rows comes when it is called."""
    text = HEAD
    for number in range(3):
        text += f".visible .entry k{number} (.param .u64 o) {{ .reg .u32 %x, %t, %u; .reg .u64 %o, %p;\n"
        text += "ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mov.u32 %u, %tid.y; mad.lo.u32 %x, %u, 8, %t;\n"
        text += "mad.wide.u32 %p, %x, 4, %o; mov.u32 %t, %x;\n"
        text += "xor.b32 %x, %x, %t;\nsub.u32 %x, %u, %x;\n" * 1400
        text += f"add.u32 %x, %x, {number}; st.global.u32 [%p], %x; ret; }}\n"
    out = device.upload(bytes(288))
    module = device.load(text)
    for number in range(3):
        module.function(f"k{number}").launch((1, 1, 1), (8, 9, 1), [out])
        found = list(struct.unpack("<72I", device.download(out, 288)))
        for thread in range(72):
            wanted = thread
            for _ in range(1400):
                wanted = (thread // 8 - (wanted ^ thread)) & 0xFFFFFFFF
            assert found[thread] == (wanted + number) & 0xFFFFFFFF
