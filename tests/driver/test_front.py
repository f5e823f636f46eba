"""The compiled front of the drivers: what Python would have done, without Python, and only where it is so."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driver_tools import FRONTS, environment
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gompy.tools import entries

pytestmark = pytest.mark.skipif(not (FRONTS / "gompcc").exists(), reason="the fronts are not built")

COMPILER = """\
#!/bin/sh
if [ "$*" = -v ]; then
  printf 'OFFLOAD_TARGET_NAMES=nvptx-none\\ngcc version 12.2.0\\n' >&2
else
  printf '%s\\n' "$0" "$@"
  env
  ls -l /proc/self/fd | wc -l
fi
"""
FILES = {
    "a.c": "int a;\n",
    "b.c": "int b;\n",
    "openmp.c": "int c;\n",
    "a.cc": "int a;\n",
    "a.f90": "end\n",
    "depend.f90": "!$omp target parallel depend(in: x)\nend\n",
    "a.s": ".text\n",
    "fat.s": "\t.section .gnu.lto_.x\n\t.section .gnu.offload_lto_.x\n",
    "a.o": "an object",
    "b.o": "another object",
    "regions.o": "\0.gnu.offload_funcs\0",
    "clang.o": "\0.llvm.offloading\0",
    "a.a": "!<arch>\n",
    "libgomp.a": "!<arch>\n",
    "libgomp.so": "",
    "libgomp.x.o": "",
    "words": "-fopenmp",
}
"""Small ones, for plans go by what they contain."""


class Commands:
    """gompcc and the like with a cache of their own, a Python that counts its starts, and a compiler that tells all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "starts"
        for name in ("gompcc", "gompc++", "gompfortran"):
            (self.bin / name).write_bytes((FRONTS / name).read_bytes())
            (self.bin / name).chmod(0o755)
        to = shlex.quote(str(self.log))
        self.script(self.bin / "python3", f'#!/bin/sh\necho >>{to}\nexec {sys.executable} "$@"\n')
        self.compilers = folder / "compilers"
        self.compilers.mkdir()
        for name in ("gcc", "g++", "gfortran"):
            self.script(self.compilers / name, COMPILER)
        self.work = folder / "work"
        self.work.mkdir()
        for name, text in FILES.items():
            (self.work / name).write_text(text)
        self.cache = folder / "cache" / "gompy" / "commands"
        self.settle()

    def script(self, path: Path, text: str) -> None:
        """Write a program."""
        path.write_text(text)
        path.chmod(0o755)

    def settle(self) -> None:
        """Let what is there become older than a tick of the clock."""
        time.sleep(2 * entries.SETTLED / 1e9)

    def run(self, *words: str, program: str = "gompcc", **env: str) -> tuple[bool, tuple[int, bytes, bytes]]:
        """Run a command: whether a Python was started, and what came out."""
        before = self.starts()
        path = f"{self.compilers}:/usr/bin:/bin"
        whole = environment(PATH=path, XDG_CACHE_HOME=str(self.folder / "cache"), **env)
        done = subprocess.run([self.bin / program, *words], cwd=self.work, env=whole, capture_output=True, timeout=60)
        return self.starts() > before, (done.returncode, done.stdout, done.stderr)

    def starts(self) -> int:
        """How many Pythons have been started."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def entries(self) -> list[Path]:
        """What is kept."""
        return sorted(self.cache.iterdir()) if self.cache.exists() else []


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """Commands in an empty folder."""
    return Commands(tmp_path)


LINES = [
    ("-O2", "-fopenmp", "-c", "a.c", "-o", "x.o"),
    ("-O2", "-c", "a.c", "-MD", "-MF", "x.d", "-MT", "x.o"),
    ("-fopenacc", "a.o", "b.o", "-o", "x"),
    ("-fopenmp", "-foffload=nvptx-none", "a.c", "a.a", "-lm"),
    ("-fopenmp", "-flto", "-c", "a.cc"),
    ("a.o", "-o", "x"),
    ("--version",),
]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_the_same_command_starts_no_python(commands: Commands, line: tuple[str, ...]) -> None:
    """The compiler gets the same words and the same environment, and no descriptor more."""
    first, done = commands.run(*line)
    assert first and done[0] == 0 and done[2] == b""
    assert commands.run(*line) == (False, done)
    assert commands.cache.stat().st_mode & 0o777 == 0o700 and commands.entries()[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("program", ["gompc++", "gompfortran"])
def test_the_other_commands(commands: Commands, program: str) -> None:
    """Each has its own."""
    commands.run("-fopenmp", "-c", "a.c")
    started, done = commands.run("-fopenmp", "-c", "a.c", program=program)
    assert started and done[1].startswith(str(commands.compilers).encode())
    assert commands.run("-fopenmp", "-c", "a.c", program=program) == (False, done)


def test_another_file_of_that_kind(commands: Commands) -> None:
    """Its name is the only thing that is another."""
    first = commands.run("-fopenmp", "-c", "a.c", "-o", "x.o")[1][1]
    started, (_, other, _) = commands.run("-fopenmp", "-c", "b.c", "-o", "y.o")
    assert not started and other == first.replace(b"\na.c\n", b"\nb.c\n").replace(b"\nx.o\n", b"\ny.o\n")
    assert commands.run("-fopenmp", "-c", "a.cc", "-o", "x.o")[0]  # of another kind


@pytest.mark.parametrize(
    "line",
    [
        ("-fopenmp", "-c", "a.f90", "depend.f90"),
        ("-fopenmp", "a.o", "clang.o"),
        ("a.o", "regions.o"),
        ("a.a", "libgomp.a"),
        ("a.o", "libgomp.x.o"),
    ],
    ids=" ".join,
)
def test_a_file_that_makes_it_another_command(commands: Commands, line: tuple[str, ...]) -> None:
    """By what is in it, or by its name."""
    *options, usual, special = line
    commands.run(*options, usual)
    assert not commands.run(*options, usual)[0]
    assert commands.run(*options, special)[0]
    assert not commands.run(*options, usual)[0]


def earlier(commands: Commands) -> None:
    """Another compiler comes first in the PATH."""
    for name in ("gcc", "gcc-16"):
        commands.script(commands.compilers / name, COMPILER.replace("printf '%s", "printf 'another %s"))


def exchanged(commands: Commands) -> None:
    """The compiler is another file."""
    commands.script(commands.compilers / "gcc", COMPILER + "# another\n")


def gone(commands: Commands) -> None:
    """The compiler is not there any more."""
    (commands.compilers / "gcc").unlink()


@pytest.mark.parametrize("change", [earlier, exchanged, gone])
def test_the_compiler_has_changed(commands: Commands, change: Callable[[Commands], None]) -> None:
    """It is decided again."""
    commands.run("-c", "a.c")
    assert not commands.run("-c", "a.c")[0]
    change(commands)
    started, done = commands.run("-c", "a.c")
    assert started and done == commands.run("-c", "a.c")[1]


def test_a_compiler_that_has_just_been_made(commands: Commands) -> None:
    """It may have changed since it was looked at, so nothing is kept; on a busy machine 20 ms may pass first."""
    for _ in range(20):
        exchanged(commands)
        commands.run("-c", "a.c")
        if not commands.entries():
            return
        for entry in commands.entries():
            entry.unlink()
    pytest.fail("something was kept each time")


UNKEPT = [("-show", "-fopenmp", "-c", "a.c"), ("--help",), ("@words", "-c", "a.c")]


@pytest.mark.parametrize("line", UNKEPT, ids=" ".join)
def test_what_is_not_kept(commands: Commands, line: tuple[str, ...]) -> None:
    """Python has more to do than to become the compiler."""
    done = [commands.run(*line) for _ in range(2)]
    assert done[0] == done[1] and done[0][0] and not commands.entries()


def test_regions_are_saved_each_time(commands: Commands) -> None:
    """GOMPY_REGIONS asks for files besides."""
    assert [commands.run("-c", "a.c", GOMPY_REGIONS="there")[0] for _ in range(2)] == [True, True]


def test_not_wanted(commands: Commands) -> None:
    """GOMPY_COMMAND_CACHE=0."""
    assert [commands.run("-c", "a.c", GOMPY_COMMAND_CACHE="0")[0] for _ in range(2)] == [True, True]
    assert not commands.entries()


@pytest.mark.parametrize("home", ["/proc/none", ""])
def test_no_place_for_entries(commands: Commands, home: str) -> None:
    """The command is as ever."""
    done = subprocess.run(
        [commands.bin / "gompcc", "-c", "a.c"],
        cwd=commands.work,
        env=environment(PATH=f"{commands.compilers}:/usr/bin:/bin", HOME=home, XDG_CACHE_HOME=home),
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"") and b"\na.c\n" in done.stdout


@pytest.mark.parametrize("number", [0, 1, 2])
def test_closed_descriptors(commands: Commands, number: int) -> None:
    """Python sees to them: nothing of ours takes the place of one."""
    commands.run("-c", "a.c")
    line = f"'{commands.bin}/gompcc' -c a.c {number}>&-"
    env = environment(PATH=f"{commands.compilers}:/usr/bin:/bin", XDG_CACHE_HOME=str(commands.folder / "cache"))
    before = commands.starts()
    subprocess.run(["sh", "-c", line], cwd=commands.work, env=env, capture_output=True)
    assert commands.starts() == before + 1


def cut(path: Path) -> None:
    """Its end is missing."""
    path.write_bytes(path.read_bytes()[:300])


def damaged(path: Path) -> None:
    """A bit is wrong."""
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


def strangers(path: Path) -> None:
    """Anybody can write it."""
    path.chmod(0o666)


@pytest.mark.parametrize("change", [cut, damaged, strangers])
def test_entries_that_are_not_believed(commands: Commands, change: Callable[[Path], None]) -> None:
    """They are made again."""
    done = commands.run("-c", "a.c")[1]
    change(commands.entries()[0])
    assert commands.run("-c", "a.c") == (True, done)
    assert commands.run("-c", "a.c") == (False, done)


def test_links_and_relative_names(commands: Commands) -> None:
    """The Python beside the command is found as its script finds it."""
    (commands.work / "link").symlink_to(commands.bin / "gompcc")
    env = environment(PATH=f"{commands.compilers}:/usr/bin:/bin", XDG_CACHE_HOME=str(commands.folder / "cache"))
    for name in ("./link", "../bin/gompcc", "gompcc"):
        words = {**env, "PATH": f"{commands.bin}:{env['PATH']}"} if "/" not in name else env
        for starts in (1, 0):
            before = commands.starts()
            done = subprocess.run(["env", name, "-c", "a.c"], cwd=commands.work, env=words, capture_output=True)
            assert done.returncode == 0 and commands.starts() == before + starts, (name, starts, done.stderr)


def test_no_python(commands: Commands) -> None:
    """One line says so."""
    (commands.bin / "python3").unlink()
    done = subprocess.run([commands.bin / "gompcc", "-c", "a.c"], env={"PATH": "/none"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("gompcc: error: no python3 beside it") and done.stderr.count("\n") == 1


WORDS = st.sampled_from(
    [
        *("-fopenmp", "-fopenacc", "-fno-openmp", "-c", "-S", "-E", "-r", "-shared", "-static", "-v", "-O2", "-flto"),
        *("-fno-lto", "-fuse-ld=mold", "-fuse-ld=lld", "-foffload=disable", "-foffload=nvptx-none", "-foffload=none"),
        *("-foffload-options=-O1", "-Wl,-Bstatic", "-lgomp", "-lm", "-x", "c", "none", "-o", "-MF", "-l", "gomp"),
        *("-Woffload-host", "-m32", "-xassembler", "-", "", "-Wl,-r", "-fsanitize=address", "-save-temps"),
    ]
)
NAMES = st.sampled_from([*FILES, "missing.c", "missing.o", "some.d", ".c", "x.c.", "openacc.cc"])


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.lists(st.one_of(WORDS, NAMES), min_size=1, max_size=6), exchange=st.permutations(list(FILES)))
def test_any_line(commands: Commands, line: list[str], exchange: list[str]) -> None:
    """With names of other files it is what Python makes of it, whichever line was there before."""
    names = dict(zip(FILES, exchange, strict=True))
    other = [names.get(word, word) for word in line]
    for words in (line, other, line):
        wanted = commands.run(*words, GOMPY_COMMAND_CACHE="0")[1]
        found = commands.run(*words)[1]
        assert found == (wanted[0], wanted[1].replace(b"GOMPY_COMMAND_CACHE=0\n", b""), wanted[2])
