"""What the compiler loads and compiles when a program starts: no more than the image needs."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gompy.ptx import build, reach, store
from gompy.ptx.index import index_file
from gompy.ptx.parser import parse
from gompy.ptx.words import cut
from gompy.records import dataclass, field, replace

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"
STACKS = ".visible .shared .align 8 .u64 __nvptx_stacks[32];\n"


def func(name: str, *calls: str, linkage: str = ".visible ", kind: str = ".func") -> str:
    """A function that calls others."""
    body = " ".join(f"call {other};" for other in calls)
    return f"{linkage}{kind} {name} {{ {body} ret; }}\n"


def facts(text: str) -> reach.Facts:
    """An object's index as the builder reads it."""
    return reach.Facts(index_file(parse(HEAD + text, "object")))


def test_only_what_kernels_reach() -> None:
    """Calls, addresses in code, addresses in variables; names that are not visible belong to their object."""
    program = ".extern .func far;\n.extern .global .u64 table[1];\n"
    program += func("k", "near", "far", kind=".entry") + func("near", linkage="") + func("idle", "other")
    program += ".visible .entry g () { .reg .u64 %a; mov.u64 %a, table; ld.u64 %a, [%a]; ret; }\n"
    library = func("far", "near") + func("near", linkage="") + func("other") + func("called", linkage="")
    library += ".visible .global .u64 table[1] = { called };\n"
    found = reach.reachable({"p": facts(program), "l": facts(library)})
    assert found == {"p": ["k", "near", "g"], "l": ["far", "near", "called"]}


def test_cut_and_old_files_are_refused() -> None:
    data = index_file(parse(HEAD + func("f"), "object"))
    for bad in (data[:50], data[:-1], b"X" + data[1:]):
        with pytest.raises(ValueError):
            reach.Facts(bad)


def fill(folder: Path, texts: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the compiler as the executor does."""
    requests = ""
    for key, text in texts.items():
        (folder / f"{key}.ptx").write_text(HEAD + text)
        requests += f"object {key} {key}.o\n"
    for key in texts:
        if not (folder / f"{key}.I").exists():
            requests += f"want {key} I\n"
    command = [sys.executable, "-I", "-S", str(Path(build.__file__).with_name("__main__.py")), "fill", str(folder)]
    return subprocess.run(command, input=requests + "auto\n", capture_output=True, text=True, env=os.environ)


def test_later_images_add_functions(tmp_path: Path) -> None:
    """A library's file has what its first image needs; what a second image needs besides gets files of its own."""
    library = func("one") + func("two", "three") + func("three") + func("never")
    first = STACKS + ".extern .func one;\n" + func("k", "one", kind=".entry")
    second = STACKS + ".extern .func two;\n" + func("j", "two", kind=".entry")
    done = fill(tmp_path, {"a" * 32: first, "b" * 32: library})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert reach.functions_of_code(store.of_folder(tmp_path), "b" * 32 + ".S") == {"one"}
    before = {f.name: f.stat().st_mtime_ns for f in tmp_path.iterdir()}
    done = fill(tmp_path, {"c" * 32: second, "b" * 32: library})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    new = {f.name for f in tmp_path.iterdir()} - set(before)
    own = {f"{'b' * 32}.S.{build.function_hash(name)}" for name in ("two", "three")}
    assert new == own | {"c" * 32 + suffix for suffix in (".ptx", ".I", ".S")}


def test_large_objects_are_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of an object are files of their own, and several processes make them."""
    monkeypatch.setattr(build, "CHUNK", 20)
    monkeypatch.setattr(build, "SHARE", 20)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    lines = "\n" * 9
    names = [f"f{i}" for i in range(8)]
    text = STACKS + "".join(f".func {n} {{ {lines} ret; }}\n" for n in names) + func("k", *names, kind=".entry")
    key = "d" * 32
    (tmp_path / f"{key}.ptx").write_text(HEAD + text)
    builder = build.Builder(str(tmp_path))
    builder.names[key] = "big.o"
    builder.index(key)
    builder.make(builder.automatic(False))
    assert (builder.status, builder.messages) == (build.OK, [])
    assert len(list(tmp_path.glob(f"{key}.S+*"))) >= 2
    assert reach.functions_of_code(store.of_folder(tmp_path), f"{key}.S") == {*names, "k"}
    assert not [f.name for f in tmp_path.iterdir() if f.name.startswith(".")]


def test_mistakes_of_other_processes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SHARE", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    builder = build.Builder(str(tmp_path))
    for key, body in (("e" * 32, "add.u32 %a, %a, 1;\n" * 60), ("f" * 32, "nonsense %a;\n" * 60)):
        text = HEAD + f".visible .entry k{key[0]} {{ .reg .u32 %a; {body} ret; }}\n"
        (tmp_path / f"{key}.ptx").write_text(text)
        builder.names[key] = f"{key[0]}.o"
        builder.index(key)
    builder.make(builder.automatic(False))
    assert builder.status == build.BAD_PTX
    assert builder.messages == ["f.o:4: error: unknown opcode 'nonsense'"]
    assert (tmp_path / f"{'e' * 32}.E").exists()


def test_start_loads_little(tmp_path: Path) -> None:
    """The modules that cost most of the start when they crept in; llvmlite's own among them."""
    source = Path(build.__file__).with_name("__main__.py")
    (tmp_path / f"{'a' * 32}.ptx").write_text(HEAD + func("k", kind=".entry"))
    requests = f"object {'a' * 32} a.o\nwant {'a' * 32} I\nauto\n"
    code = f"""import sys
sys.argv = [{str(source)!r}, 'fill', {str(tmp_path)!r}]
__file__ = {str(source)!r}
import os
leave = os._exit
os._exit = lambda status: (print(*sorted(sys.modules), flush=True), leave(status))
exec(open(__file__).read())
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, input=requests, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "gompy.ptx.backend" in loaded
    assert not loaded & {"re", "enum", "collections", "ctypes"}
    assert not loaded & {"site", "dataclasses", "inspect", "typing", "pathlib", "traceback", "llvmlite", "subprocess"}
    assert (tmp_path / f"{'a' * 32}.E").exists()


@pytest.mark.slow
@given(st.integers(), st.text(), st.integers(0, 3))
def test_records_are_like_dataclasses(number: int, text: str, extra: int) -> None:
    @dataclass(slots=True, frozen=True)
    class Frozen:
        a: int
        b: str = "x"

    @dataclass(slots=True)
    class Open:
        a: int
        items: list[int] = field(default_factory=list)

    assert Frozen(number, text) == Frozen(number, text) and hash(Frozen(number)) == hash(Frozen(number, "x"))
    assert Frozen(number, text) != Frozen(number + 1, text) and Frozen(number).b == "x"
    assert repr(Frozen(number, text)).endswith(f"Frozen(a={number!r}, b={text!r})")
    one, two = Open(number), Open(number)
    one.items += range(extra)
    assert one != two and two.items == [] and not hasattr(one, "__dict__")
    changed = replace(Frozen(number, text), b="other")
    assert changed == Frozen(number, "other") and replace(one, a=7).items is one.items


WORD = re.compile(
    r"""(?P<line>\n)|(?P<comment>//[^\n]*|/\*.*?\*/)|"[^"\n]*"
    |(?P<directive>\.file\b(?:[^"\n]*"[^"\n]*"(?:[ \t]*,[ \t]*[0-9]+)*|[^\n]*)|\.loc\b[^\n]*)
    |[%$_A-Za-z][\w$]*(?:\.[A-Za-z0-9_:]+)*|\.[a-z_]\w*
    |0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+
    |0[xX][0-9a-fA-F]+U?|[0-9]+U?|\S""",
    re.VERBOSE | re.DOTALL,
)


def words_by_expression(text: str) -> tuple[list[str], list[int], list[tuple[int, str]]]:
    """What `words.cut` shall find, by a regular expression."""
    words, lines, directives = [], [], []
    line = 1
    for match in WORD.finditer(text):
        if match["directive"]:
            directives.append((line, match[0]))
        elif not match["line"] and not match["comment"]:
            words.append(match[0])
            lines.append(line)
        line += match[0].count("\n")
    return [*words, ""], [*lines, line], directives


PIECES = [
    "%r22", "ld.param.u64", "$L3:", "@!%p1", "bra", "[%rd1+8]", "0f3F800000", "0dBFF0000000000000", "1.5e-3", "0x1FU",
    "12U", "7.", "1e5", ".loc 1 2 3", ".file 1 \"a b.c\"", ".local", ".filex", "// words", "/* a\nb */", "/* open",
    '"text', '"text"', "{", "}", ";", "\n", " ", "\t", "\r", ".", "..", "/", "é", "a.b.", "mbar.shared::cta", "0f12",
    ".file 2 \"c\", 12 , 3",
    "-", "_", "%", "0x", "1U2", "\udcff", "٣", "\f", "\x85",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=40))
def test_words_are_those_of_the_expression(text: str) -> None:
    assert cut(text) == words_by_expression(text)


def test_words_without_newlines() -> None:
    """As GCC's mkoffload writes a table of functions."""
    text = '.version 6.0.target sm_30.file 2 "<dummy>".func f ( );'
    words = [".version", "6.0", ".target", "sm_30", ".func", "f", "(", ")", ";", ""]
    assert cut(text) == (words, [1] * len(words), [(1, '.file 2 "<dummy>"')])


@pytest.mark.slow
def test_words_of_real_ptx() -> None:
    """Everything that GCC's device libraries for nvptx consist of, if they are here."""
    texts = [HEAD + func("f")]
    for archive in glob.glob("/usr/lib/gcc/x86_64-linux-gnu/12/accel/nvptx-none/lib*.a"):
        texts.append(Path(archive).read_bytes().decode("utf-8", "surrogateescape"))
    for text in texts:
        assert cut(text) == words_by_expression(text)


def test_another_python_is_told(tmp_path: Path) -> None:
    """A Python that cannot load the compiled parts: one line that says which, and what to do."""
    package = tmp_path / "gompy" / "ptx"
    shutil.copytree(Path(build.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (tmp_path / "gompy" / "__init__.py").touch()
    command = [sys.executable, "-I", "-S", str(package / "__main__.py"), "fill", str(tmp_path)]
    done = subprocess.run(command, input="auto\n", capture_output=True, text=True)
    assert done.returncode == build.NO_COMPILER
    assert not done.stderr
    assert re.fullmatch(
        r"error: compiling PTX with \S+ \(3\.\S+\): .*'llvm'.*: build gompy .* GOMPY_PYTHON .*\n", done.stdout
    )
