"""The device's compiler is started before Python is: once, with the same image; what was guessed wrong is done again.

The other side of each comparison is the same link by Python alone (GOMPY_LINK_AHEAD=0), as it was before.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from link_tools import BDIR, STREAMS, built, call, environment, link, no_leftovers

from gompy.objects import lto

pytestmark = built

MAIN = """
int a(int);
int main(void)
{
  int x = 40;
#pragma omp target map(tofrom: x)
  x += 1;
  return a(x) - 42;
}
"""
REGION = """
int __attribute__((weak)) shared(int x) { return x; }
int a(int x)
{
#pragma omp target map(tofrom: x)
  x += shared(1);
  return x;
}
"""


GCC = shlex.quote(shutil.which("gcc") or "gcc")
"""The release's of the tests, which need not be the system's own; below the names of these links' folder."""


class Links:
    """Links in a folder, with a gcc and a Python that note how they are called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.scratch = folder / "scratch"
        self.bin.mkdir()
        self.scratch.mkdir()
        self.compiles = folder / "compiles"
        self.calls = folder / "calls"
        to = shlex.quote(str(self.compiles))
        self.tool("gcc", f'case " $* " in *" -xlto "*|" @"*) echo "$@" >>{to};; esac\nexec {GCC} "$@"')
        self.linker()
        self.python()
        self.objects: list[Path | str] = [self.compile("main", MAIN), self.compile("a", REGION)]

    def tool(self, name: str, body: str) -> None:
        """A shell script in the first folder of PATH."""
        (self.bin / name).write_text(f"#!/bin/bash\n{body}\n")
        (self.bin / name).chmod(0o755)

    def linker(self, redirections: str = "") -> None:
        """An ld in whose environment the compiler is ours."""
        self.tool("ld", f'export COLLECT_GCC={shlex.quote(str(self.bin))}/gcc\nexec /usr/bin/ld "$@" {redirections}')

    def python(self, before: str = "") -> None:
        """The Python of the links; ``before``: a shell's commands that are done first, with the folder in $folder.

        It is no shell itself: bash reaps all children, those of the program whose place it has taken, too.
        """
        program = self.bin / "python"
        program.write_text(
            f"#!{sys.executable} -IS\nimport os, subprocess, sys\n"
            f"word = sys.argv[4]\n"
            f"if word.startswith('--begun='):\n    open({str(self.calls)!r}, 'a').write(word)\n"
            f"env = os.environ | {{'folder': word.split(':', 5)[-1]}}\n"
            f"subprocess.run(['/bin/sh', '-c', {before!r}], env=env)\n"
            f"os.execv({sys.executable!r}, sys.argv)\n"
        )
        program.chmod(0o755)

    def compile(self, name: str, text: str, *options: str) -> Path:
        """An object of gompcc's kind; the options name a level."""
        (self.folder / f"{name}.c").write_text(text)
        command = ["gcc", "-B", BDIR, "-fopenmp", *STREAMS, *(options or ("-O1",)), "-c", f"{name}.c"]
        call(*command, cwd=self.folder, GOMPY_AS="rename")
        return self.folder / f"{name}.o"

    def link(self, *options: str, check: bool = True, **env: str) -> tuple[bytes, list[str], bool]:
        """Link: the program, the compiler's commands, and whether one was begun by the front."""
        output = self.folder / "prog"
        for path in (output, self.compiles, self.calls):
            path.unlink(missing_ok=True)
        env = {"GOMPY_LINK_CACHE": "0", "GOMPY_PYTHON": str(self.bin / "python"), "TMPDIR": str(self.scratch)} | env
        self.done = link(self.objects, output, *options, f"-B{self.bin}", check=check, **env)
        commands = self.compiles.read_text().splitlines() if self.compiles.exists() else []
        return output.read_bytes() if output.exists() else b"", commands, self.calls.exists()

    def guard(self) -> int:
        """The number of the process that would have deleted the last link's folder, by the word that Python got."""
        return int(self.calls.read_text().split(":")[3])


def with_variable(setting: str) -> list[int]:
    """The processes that have it in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if setting.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def children() -> set[int]:
    """The processes that this one has to reap."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(path.parent.name))
        except OSError:
            pass
    return found


@pytest.fixture
def links(tmp_path: Path) -> Links:
    """Two objects and their links."""
    return Links(tmp_path)


def test_one_compiler_is_started_ahead_of_python(links: Links) -> None:
    """And the program is the same, byte by byte."""
    ahead = links.link()
    assert len(ahead[1]) == 1 and ahead[2]
    later = links.link(GOMPY_LINK_AHEAD="0")
    assert len(later[1]) == 1 and not later[2]
    assert ahead[0] == later[0]
    assert subprocess.run([links.folder / "prog"], env=environment(), timeout=60).returncode == 0
    no_leftovers(links.scratch)


@pytest.mark.parametrize("options", [(), ("-g",)], ids=["plain", "debug"])
def test_temporary_files_go_to_a_folder_with_a_blank(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The plugin sets a backslash before it, by which the front took the link for one that is not plain."""
    folder = tmp_path / "a b"
    folder.mkdir()
    links = Links(folder)
    program, commands, begun = links.link(*options)
    assert begun and len(commands) == 1
    assert links.link(*options, GOMPY_LINK_AHEAD="0")[0] == program
    no_leftovers(links.scratch)


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    "options",
    [
        ("-O0",),
        ("-Os", "-fno-strict-aliasing"),
        ("-O2", "-march=x86-64-v2", "-mno-avx"),
        ("-O3", "-ffast-math", "-fcf-protection", "-fno-common"),
        ("-Ofast", "-fopenacc", "-fPIE"),
        ("-O1", "-fPIC", "-fno-PIC", "-Wall"),
        ("-O1", "-g"),
        ("-O1", "-g0"),
        ("-O2", "-g3", "-gno-column-info"),
        ("-O2", "-ggdb", "-gdwarf-4"),
        ("-O1", "-fno-pie", "-fvisibility=hidden"),
        ("-O1", "-mtune=generic", "-mtune=skylake", "-fexceptions"),
    ],
    ids=" ".join,
)
def test_the_guess_is_right(links: Links, options: tuple[str, ...]) -> None:
    """One compilation, so the words, the resolution file and the objects were those of Python."""
    links.objects = [links.compile("main", MAIN, *options), links.compile("a", REGION, *options)]
    more = ("-no-pie",) if "-fno-pie" in options or "-fno-PIC" in options else ()
    program, commands, ahead = links.link("-fdiagnostics-color=never", *more)
    assert ahead and len(commands) == 1
    assert program == links.link("-fdiagnostics-color=never", *more, GOMPY_LINK_AHEAD="0")[0]


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(
    "case",
    [
        "different",
        "levels",
        "level",
        "stripped",
        "save-temps",
        "verbose",
        "archive",
        "classes",
        "offload-options",
        "true compiler",
    ],
)
def test_what_is_unusual_is_left_to_python(links: Links, case: str) -> None:
    """Nothing is begun, and all goes its usual way."""
    options: tuple[str, ...] = ()
    env: dict[str, str] = {}
    if case == "different":
        links.objects[1] = links.compile("a", REGION, "-O3")
    elif case in ("levels", "level", "stripped"):
        every = {"levels": ("-O2", "-Os"), "level": ("-O",), "stripped": ("-O1", "-g")}
        given = every[case]
        links.objects = [links.compile("main", MAIN, *given), links.compile("a", REGION, *given)]
        if case == "stripped":
            subprocess.run(["strip", "-g", *links.objects], check=True)
    elif case == "save-temps":
        options = ("-save-temps",)
    elif case == "verbose":
        options = ("-v",)
    elif case == "archive":
        subprocess.run(["ar", "rc", "liba.a", "a.o"], cwd=links.folder, check=True)
        links.objects[1] = "liba.a"
    elif case == "classes":
        links.objects[0] = links.compile("main", f"int _ZTVx;\n{MAIN}")
    elif case == "offload-options":
        env["GOMPY_OFFLOAD_OPTIONS"] = "-O1"
    else:
        (links.folder / "gompy" / "accel").mkdir(parents=True)
        env |= {"XDG_DATA_HOME": str(links.folder), "GOMPY_ACCEL": "auto"}
    program, commands, ahead = links.link(*options, **env)
    assert program and not ahead and len(commands) == 1


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("file", ["begun", "x.res", "0.main.o", "1.a.o"])
@pytest.mark.parametrize("debug", [(), ("-O1", "-g")], ids=["", "debug"])
def test_a_wrong_guess_is_done_again(links: Links, file: str, debug: tuple[str, ...]) -> None:
    """Where words or a file are not Python's, the command is ended, and Python's own makes the image."""
    links.objects = [links.compile("main", MAIN, *debug), links.compile("a", REGION, *debug)]
    good = links.link(GOMPY_LINK_AHEAD="0")[0]
    links.python(f'printf x >>"$folder/{file}"')
    program, commands, ahead = links.link()
    assert ahead and len(commands) == 2 and program == good
    no_leftovers(links.scratch)


def test_what_the_compiler_says_is_said(links: Links) -> None:
    """An error of the compiler's own comes once, as by Python alone."""
    body = f"echo x >>{shlex.quote(str(links.compiles))}; echo oh >&2; exit 3"
    links.tool("gcc", f'case " $* " in *" -xlto "*) {body};; esac\nexec {GCC} "$@"')
    assert links.link(check=False)[:2] == (b"", ["x"])
    said = links.done.stderr
    assert said.count("oh") == 1 and "returned 3 exit status" in said
    assert links.link(check=False, GOMPY_LINK_AHEAD="0")[1] == ["x"]
    assert links.done.stderr == said
    no_leftovers(links.scratch)


WARNED = """
int a(int x)
{
#pragma omp target map(tofrom: x)
  {
    char b[2];
    __builtin_memset(b, x, x > 0 ? 8 : 9);
    x += b[1];
  }
  return x;
}
"""


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    ("locale", "quote"),
    [
        ({"LC_ALL": "C.UTF-8"}, "‘"),
        ({"LC_ALL": "", "LC_CTYPE": "C.UTF-8"}, "‘"),
        ({"LC_ALL": "C"}, "'"),
        ({"LC_ALL": "", "LANG": "C", "LC_CTYPE": ""}, "'"),
    ],
    ids=["all", "ctype", "C", "lang"],
)
def test_warnings_are_in_the_users_locale(links: Links, locale: dict[str, str], quote: str) -> None:
    """In the C locale Python would set another one for its children."""
    links.objects = [links.compile(n, t, "-O2", "-Wall") for n, t in (("main", MAIN), ("a", WARNED))]
    env = locale | {"GOMPY_PYTHON": sys.executable}  # a Python that starts it would have set the other one
    assert links.link(**env)[0]
    said = links.done.stderr
    assert f"warning: {quote}__builtin_memset" in said
    links.link(GOMPY_LINK_AHEAD="0", **env)
    assert links.done.stderr == said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_starts(links: Links, number: int) -> None:
    """It waits until Python knows of the command and the folder; then both are gone."""
    pid = links.folder / "pid"
    to = shlex.quote(str(pid))
    links.tool("gcc", f'case " $* " in *" -xlto "*) echo $$ >{to}; exec sleep 60;; esac\nexec {GCC} "$@"')
    links.python(f"while [ ! -s {to} ]; do sleep 0.01; done\nkill -{int(number)} $PPID")
    assert not links.link(check=False)[0]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    shutil.rmtree(links.scratch / "x", ignore_errors=True)
    assert not [path for path in links.scratch.iterdir() if path.name.startswith("gompy")]


def test_without_a_python(links: Links) -> None:
    """The message, and nothing else is left."""
    assert not links.link(check=False, GOMPY_PYTHON="/nonexistent/python")[0]
    assert "cannot run /nonexistent/python" in links.done.stderr
    assert not [path for path in links.scratch.iterdir() if path.name.startswith("gompy")]


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_python_that_ends_at_once(links: Links, end: str) -> None:
    """What was begun is gone soon afterwards, as is the process that has seen to that."""
    marker = f"MARKER={links.folder}"
    (links.bin / "python").write_text(
        f"#!{sys.executable} -IS\nimport os\n" + ("os._exit(1)\n" if end == "exit" else "os.kill(os.getpid(), 9)\n")
    )
    env = {"MARKER": str(links.folder)}
    assert not links.link(check=False, **env)[0]
    assert "lto-wrapper failed" in links.done.stderr
    deadline = time.monotonic() + 60
    while (left := [*links.scratch.glob("gompy*"), *with_variable(marker)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


def test_no_guard_is_left(links: Links) -> None:
    """Each link, right or wrong, ends the process that would have deleted its folder, and has reaped it.

    A command that is ended in the middle has children of its own.  Nobody but the system can reap those.
    """
    libc, subreaper = ctypes.CDLL(None, use_errno=True), 36  # PR_SET_CHILD_SUBREAPER
    guards = []
    assert libc.prctl(subreaper, 1, 0, 0, 0) == 0  # what nobody has reaped comes to us
    try:
        for before in ("", 'printf x >>"$folder/x.res"'):
            links.python(before)
            assert links.link()[2]
            guards.append(links.guard())
            assert guards[-1] not in children()
    finally:
        libc.prctl(subreaper, 0, 0, 0, 0)
    assert all(guard > 0 for guard in guards)


@pytest.mark.parametrize("redirections", ["0<&-", "2>&-", "0<&- 2>&-"])
def test_closed_descriptors(links: Links, redirections: str) -> None:
    """Then Python starts the compiler."""
    links.linker(redirections)
    program, commands, ahead = links.link()
    assert program and len(commands) == 1 and not ahead


def test_a_python_that_a_program_starts(links: Links) -> None:
    """A program of GOMPY_PYTHON that stays is the command's parent, and has reaped it: the image is made again."""
    good = links.link(GOMPY_LINK_AHEAD="0")[0]
    links.tool("python", f'echo >>{shlex.quote(str(links.calls))}\n{sys.executable} "$@"\nexit $?')
    assert links.link() == (good, links.compiles.read_text().splitlines(), True)
    no_leftovers(links.scratch)


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("cache", ["0", "1"])
@pytest.mark.parametrize("stays", [True, False])
def test_a_python_that_has_no_descriptors(links: Links, stays: bool, cache: str) -> None:
    """A program of GOMPY_PYTHON has closed them, as Python's subprocess does: the image is made again."""
    good = links.link(GOMPY_LINK_AHEAD="0")[0]
    start = f"subprocess.run([{sys.executable!r}, *sys.argv[1:]]).returncode"
    body = f"sys.exit({start})" if stays else f"os.closerange(3, 64)\nos.execv({sys.executable!r}, sys.argv)"
    (links.bin / "python").write_text(f"#!{sys.executable} -IS\nimport os, subprocess, sys\n{body}\n")
    program, commands, _ = links.link(GOMPY_LINK_CACHE=cache, XDG_CACHE_HOME=str(links.folder / "cache"))
    assert program == good and len(commands) == 2
    assert "Traceback" not in links.done.stderr
    deadline = time.monotonic() + 60
    while (left := [*links.scratch.glob("gompy*")]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


def test_a_signal_while_a_wrong_guess_is_ended(links: Links) -> None:
    """The command does not end at once, and is gone with the link all the same."""
    pid = links.folder / "pid"
    to = shlex.quote(str(pid))
    body = f"trap '' TERM; echo $$ >{to}; for i in {{1..150}}; do sleep 0.1; done"
    links.tool("gcc", f'case " $* " in *" -xlto "*) {body};; esac\nexec {GCC} "$@"')
    wait = f"while [ ! -s {to} ]; do sleep 0.01; done"
    links.python(f'{wait}\nprintf x >>"$folder/x.res"\n(sleep 1; kill -TERM $PPID) </dev/null >/dev/null 2>&1 &')
    assert not links.link(check=False)[0]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not [path for path in links.scratch.iterdir() if path.name.startswith("gompy")]


@pytest.mark.parametrize("ahead", ["1", "0"])
def test_the_compiler_inherits_nothing_of_ours(links: Links, ahead: str) -> None:
    """With the cache of links, either: its folder is Python's alone."""
    held = links.folder / "held"
    to = shlex.quote(str(held))
    links.tool(
        "gcc",
        f'case " $* " in *" -xlto "*) for fd in /proc/$$/fd/*; do readlink $fd; done >{to};; esac\nexec {GCC} "$@"',
    )
    cache = {"GOMPY_LINK_CACHE": "1", "XDG_CACHE_HOME": str(links.folder / "cache")}
    assert links.link(GOMPY_LINK_AHEAD=ahead, **cache)[2] == (ahead == "1")
    assert (links.folder / "cache" / "gompy" / "links").is_dir()
    assert held.read_text() and "/cache/" not in held.read_text()


def test_a_limit_of_file_sizes(links: Links) -> None:
    """No signal ends the link: Python says what could not be written, and nothing is left."""
    links.tool("ld", f'export COLLECT_GCC={links.bin}/gcc\nulimit -f 2\nexec /usr/bin/ld "$@"')
    assert not links.link(check=False)[0]
    assert "File too large" in links.done.stderr
    no_leftovers(links.scratch)


@pytest.mark.slow
def test_symbols_are_resolved_alike(links: Links) -> None:
    """Strong, common and weak definitions in several objects, in either order: the guess holds."""
    texts = (
        "int one; int __attribute__((weak)) two = 1; int three = 3;\n",
        "int one[4]; int two = 2; extern int three;\n",
        "int __attribute__((weak)) two = 3; int __attribute__((weak)) none(void); int four(void) { return three; }\n",
    )
    head = "#pragma omp declare target\nextern int three;\n"
    texts = tuple(f"{head}{text}#pragma omp end declare target\n" for text in texts)
    extra = [links.compile(f"s{number}", text, "-O1", "-fcommon") for number, text in enumerate(texts)]
    links.objects = [links.compile("main", MAIN, "-O1", "-fcommon"), links.compile("a", REGION, "-O1", "-fcommon")]
    both = [*links.objects]
    for order in (extra, extra[::-1]):
        links.objects = [*both, *order]
        program, commands, _ = links.link("-Wl,-z,muldefs", check=False)
        again = links.link("-Wl,-z,muldefs", check=False, GOMPY_LINK_AHEAD="0")
        assert len(commands) == len(again[1]) == 1 and program == again[0]


def test_the_ranks_are_all_there() -> None:
    """The header has one for each kind: a kind without one is no definition."""
    assert set(lto.RANKS) == {lto.KIND_DEF, lto.KIND_WEAKDEF, lto.KIND_COMMON} and BDIR.exists()
