"""PTX that is cut, damaged or boundless: one line with its place, in bounded time and memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx import build
from gompy.ptx.device import LIBRARY, Device, ExecutorError
from gompy.ptx.parser import parse
from gompy.ptx.syntax import PtxError

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"
needs_executor = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")
BILLION = 10**9


def kernel(body: str, before: str = "", parameters: str = ".param .u64 a") -> str:
    return f"{HEAD}{before}.visible .entry k ({parameters}) {{\n{body} ret; }}\n"


BOUNDLESS = {
    "registers": (kernel(f".reg .u64 %rd<{BILLION}>;"), 5, f"more than 262144 registers: '%rd<{BILLION}>'"),
    "registers in parts": (kernel(".reg .u64 %a<200000>;\n.reg .u32 %b<200000>;"), 6, "more than 262144 registers"),
    "variables": (HEAD + f".global .u32 x<{BILLION}>;\n", 4, "more than 65536 variables"),
    "bytes": (HEAD + f".global .u64 x[{BILLION}][{BILLION}];\n", 4, "'x' has 8000000000000000000 bytes"),
    "negative": (HEAD + ".global .u32 x[-1];\n", 4, "'x' has -4 bytes"),
    "alignment": (HEAD + f".global .align {1 << 62} .u32 x;\n", 4, "an alignment is a power of two"),
    "odd alignment": (HEAD + ".global .align 3 .u32 x;\n", 4, "an alignment is a power of two, 1048576 at most: 3"),
    "parameters": (
        kernel("", parameters=f".param .b8 p[{40000}]"),
        4,
        "takes 40000 bytes of parameters: 32764 at most",
    ),
    "a parameter": (HEAD + f".func f (.param .b8 p[{BILLION}]) {{ ret; }}\n", 4, "'p' has 1000000000 bytes"),
    "an argument": (kernel(f".param .b8 p[{BILLION}];"), 5, "'p' has 1000000000 bytes"),
    "threads": (f"{HEAD}.entry k () .maxntid {BILLION}, 8 {{ ret; }}\n", 4, "'.maxntid 8000000000' is out of range"),
    "a number": (kernel(f"mov.u64 %x, 0x{'f' * 5000};", ".reg .u64 %x;"), 4, ""),
    "digits": (HEAD + f".global .u32 x = {'9' * 5000};\n", 4, "is not an integer"),
    "wide": (HEAD + f".global .u64 x = 0x{'f' * 17};\n", 4, "'0xfffffffffffffffff' does not fit into 64 bits"),
    "a float": (HEAD + ".global .f32 x = 1e300;\n", 4, "1e+300 does not fit into .f32"),
    "version": (".version 99999999999999999999.0\n", 2, "'.version' needs a number"),
    "line": (f"{HEAD}.loc 1 {1 << 40} 0\n", 4, "'.loc' needs a file number and a line"),
    "scopes": (kernel("{" * 5000), 5, "nested too deeply"),
    "braces": (HEAD + ".global .u32 x[] = " + "{" * 5000, 4, "nested too deeply"),
    "vectors": (kernel("mov.u32 " + "{" * 5000), 5, "nested too deeply"),
    "bars": (kernel(".reg .u32 %x; mov.u32 " + "%x|" * 5000), 5, "nested too deeply"),
    "marks": (kernel("mov.u32 " + "!" * 5000), 5, "nested too deeply"),
}


@pytest.mark.parametrize("what", BOUNDLESS)
def test_the_boundless_is_an_error_with_its_line(what: str) -> None:
    text, line, message = BOUNDLESS[what]
    with pytest.raises(PtxError) as caught:
        from gompy.ptx.index import index_file

        index_file(parse(text, "a.o"))
    shown = build.shown(str(caught.value))
    assert shown.startswith(f"a.o:{line}: error: ") and message in shown and len(shown) < 700


@needs_executor
def test_large_initialised_arrays_cost_what_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of 10^9 bytes of which three are given: neither the compiler nor the cache has the zeros."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = kernel("", ".visible .global .b8 x[1000000] = {1, 2, 3};\n.visible .global .b8 y[4] = {9, 0, 7};\n")
    with Device(1 << 24) as device:
        module = device.load(text)
        address, size = module.variable("x")
        assert size == 1000000 and device.download(address, 5) == bytes((1, 2, 3, 0, 0))
        assert device.download(module.variable("y")[0], 4) == bytes((9, 0, 7, 0))
        with pytest.raises(ExecutorError) as caught:
            device.load(text.replace("1000000", str(BILLION)))
    assert caught.value.code == 2 and "out of device memory" in caught.value.log
    assert sum(file.stat().st_size for file in tmp_path.rglob("*")) < 200000


@needs_executor
def test_cut_and_damaged_texts_are_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    whole = kernel(".reg .u64 %o;\nld.param.u64 %o, [a];\nst.u64 [%o], %o;")
    texts = [
        whole[:at].encode() for at in (len(HEAD) + 10, whole.index("%o;") + 1, whole.index("st.") + 2, len(whole) - 4)
    ]
    texts += [b"", b"\x7fELF\x02\x01\x01", bytes(range(1, 256)), HEAD.encode() + bytes(range(1, 256)) * 20]
    texts += [HEAD.encode() + b"\xff\xfe{\r\n\x1b[2J", kernel("{" * 20000).encode(), b".version 6.0\n\n\n}"]
    with Device(1 << 24) as device:
        for text in texts:
            with pytest.raises(ExecutorError) as caught:
                device.load(text, names=["bad.o"])
            log = caught.value.log
            assert log.count("\n") == 1 and log.startswith("bad.o") and "error: " in log and len(log) < 700, log
            assert "Traceback" not in log and "internal error" not in log and "\x1b" not in log
        assert caught.value.code == 218
    kept = {file.suffix for file in tmp_path.rglob("*") if file.is_file()}
    assert kept <= {".ptx"}


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A compiler that gets no memory says so in a line."""
    (tmp_path / f"{'a' * 64}.ptx").write_text(HEAD + " " * (200 << 20))
    program = str(Path(build.__file__).with_name("__main__.py"))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

    done = subprocess.run(
        [sys.executable, "-I", "-S", program, "fill", str(tmp_path)],
        input=f"object {'a' * 64} big.o\nwant {'a' * 64} I\n",
        capture_output=True,
        text=True,
        preexec_fn=limited,
    )
    assert done.returncode in (build.BAD_PTX, build.NO_COMPILER) and done.stdout.count("\n") == 1
    assert "memory" in done.stdout and not done.stderr
