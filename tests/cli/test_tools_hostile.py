"""Every tool under hostile circumstances: one line that says what is wrong, gcc's exit status, nothing left behind.

For each of the programs: damaged and missing files, odd names, standard streams that are closed or full or have no
reader, no room for temporary files, limits, signals.
"""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, needs
from link_tools import BDIR, TARGET

pytestmark = [has_all, needs("gcc")]

MIC = str(BDIR / "accel" / TARGET / "mkoffload")
NVPTX = str(BDIR / "accel" / "nvptx-none" / "mkoffload")
WRAPPER = str(BDIR / "lto-wrapper")
REGION = "int NAME (int x)\n{\n  #pragma omp target map(x)\n  x++;\n  return x;\n}\n"
"""A function that adds one, on the device."""
NAMES = ["a b.o", "c\rd.o", "e'f.o", 'g"h.o', "@i.o", "j\\k.o", "ü.o", os.fsdecode(b"\xff.o"), "$(l).o", "m,n.o"]
"""Those of objects; what begins with a dash is an option, and what has a line break stands below."""


class Shop:
    """A folder with an object, damaged ones, a program; ``call`` runs a tool and says what it left."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.work = tools.work
        self.temporary = self.work / "tmp"
        self.temporary.mkdir()
        tools.write("a.c", REGION.replace("NAME", "a"))
        tools.ok("gompcc", "-fopenmp", "-c", "a.c")
        data = (self.work / "a.o").read_bytes()
        (self.work / "cut.o").write_bytes(data[: len(data) // 2])
        (self.work / "noise.o").write_bytes(data[:64] + bytes(range(256)) * 20)
        (self.work / "empty.o").touch()
        (self.work / "folder.o").mkdir()
        found = tools.ok("gcc", "-print-prog-name=lto1").strip()
        self.link = {
            "COLLECT_GCC": "gcc",
            "COLLECT_GCC_OPTIONS": "'-O1' '-fopenmp' '-o' 'prog'",
            "COMPILER_PATH": f"{BDIR}/:{os.path.dirname(found)}/:/usr/bin/",
            "LIBRARY_PATH": f"{BDIR}/:{os.path.dirname(found)}/:/usr/lib/x86_64-linux-gnu/",
            "OFFLOAD_TARGET_NAMES": TARGET,
        }

    def words(self, tool: str, *objects: str) -> list[str]:
        """The tool's command line for those objects."""
        if tool == WRAPPER:
            lines = "".join(f"{name}\n" for name in [len(objects), *objects])
            (self.work / "list").write_bytes(lines.encode("utf-8", "surrogateescape"))
            return [WRAPPER, "-foffload-objects=list"]
        if tool in (MIC, NVPTX):
            return [tool, "-fopenmp", "-o", "out.o", *objects]
        return [*tool.split(), *objects]

    def start(self, words: list[str], redirect: str = "", **how: object) -> subprocess.Popen[bytes]:
        """Begin a run, with the shell's redirections."""
        env = {**self.tools.env, **self.link, "TMPDIR": str(self.temporary), "LC_ALL": "C.UTF-8"}
        env |= how.pop("env", {})  # type: ignore[arg-type, call-overload]
        shell = ["sh", "-c", f'exec "$@" {redirect}', "sh", *words]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.work}
        return subprocess.Popen(shell, env=env, **{**pipes, **how})  # type: ignore[call-overload, no-any-return]

    def call(self, words: list[str], redirect: str = "", **how: object) -> tuple[int, str, str]:
        """A whole run: exit status, standard output, standard error.  Fails for what no run may do."""
        process = self.start(words, redirect, **how)
        out, errors = ((data or b"").decode("utf-8", "surrogateescape") for data in process.communicate(timeout=60))
        for name in out.split("\n") if WRAPPER in words else ():
            if name:
                os.unlink(self.work / name)  # the linker's now
        self.nothing_left(words, errors)
        return process.returncode, out, errors

    def nothing_left(self, words: list[str], errors: str) -> None:
        """Whether no temporary file is there, and nothing was said that is Python's."""
        for sign in ("Traceback", "internal error", "Exception ignored"):
            assert sign not in errors, f"{words}: {errors}"
        left = [path.name for path in self.temporary.iterdir()]
        for name in left:
            os.unlink(self.temporary / name)
        assert left == [], f"{words}: {errors}"


@pytest.fixture(scope="module")
def shop(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(Tools(bin_folder, tmp_path_factory.mktemp("shop")))


def one_message(errors: str, program: str, text: str) -> bool:
    """Whether there is one message of that program with that text, as gcc has it."""
    lines = [line for line in errors.splitlines() if line != "compilation terminated."]
    kind = "fatal error: " if program in ("lto-wrapper", "mkoffload") else "error: "
    return len(lines) == 1 and lines[0].startswith(f"{program}: {kind}") and text in lines[0]


PROGRAMS = {"lto-wrapper": WRAPPER, "mkoffload": MIC, "nvptx": NVPTX, "gompy inspect": "gompy inspect"}
DAMAGED = {
    "missing.o": "No such file or directory",
    "folder.o": "s a directory",
    "empty.o": "",
    "cut.o": "",
    "noise.o": "",
}


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("program", PROGRAMS)
def test_files_that_are_none(shop: Shop, program: str) -> None:
    shown = program.replace("nvptx", "mkoffload")
    for name, text in DAMAGED.items():
        status, _, errors = shop.call(shop.words(PROGRAMS[program], name))
        assert status in (1, 2) and one_message(errors, shown, name) and text in errors, (name, errors)


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("program", [*PROGRAMS, "gompy inspect --graph t.svg"])
def test_odd_names_of_objects(shop: Shop, program: str) -> None:
    for name in (*NAMES, "n\nm.o"):
        if not (shop.work / name).exists():
            os.link(shop.work / "a.o", shop.work / name)
    for names in [[name] for name in NAMES[1:4:2]] if program != "gompy inspect" else [NAMES]:
        status, _, errors = shop.call(shop.words(PROGRAMS.get(program, program), *names))
        assert (status, errors) == (0, ""), names
    status, _, errors = shop.call(shop.words(PROGRAMS.get(program, program), "n\nm.o"))
    if program == "lto-wrapper":  # the plugin's list has a line for each name
        assert status == 1 and one_message(errors, program, "the name of an object has a line break")
    else:
        assert (status, errors) == (0, "")
    status, _, errors = shop.call(shop.words(PROGRAMS.get(program, program), "no\n\r such.o"))
    assert status and len([line for line in errors.splitlines() if "error: " in line]) == len(errors.splitlines()[:1])


def test_a_link_of_objects_with_odd_names(shop: Shop) -> None:
    """Through gcc, ld, its plugin and lto-wrapper, with a response file."""
    names = [f"x{n}" for n in range(len(NAMES))]
    for function in names:
        shop.tools.write(f"{function}.c", REGION.replace("NAME", function))
    shop.tools.ok("gompcc", "-fopenmp", "-c", *(f"{function}.c" for function in names))
    for function, name in zip(names, NAMES, strict=True):
        (shop.work / f"{function}.o").rename(shop.work / f"linked {name}")
    declared, calls = " (int), ".join(names), "; n += ".join(f"{name} (0)" for name in names)
    shop.tools.write("y.c", f"int {declared} (int);\nint main (void) {{ int n = 0; n += {calls}; return n; }}\n")
    status, _, errors = shop.call(["gompcc", "-fopenmp", "y.c", *(f"./linked {n}" for n in NAMES), "-o", "linked"])
    assert (status, errors) == (0, "")
    assert shop.tools.run(shop.work / "linked", env={"OMP_TARGET_OFFLOAD": "mandatory"}).returncode == len(NAMES)


WRITERS = ("gompy --version", "gompy --help", "gompy inspect a.o", "gompy inspect --json a.o", "gompy config --libs")
WRITERS += ("gompy accel list", "gompcc -show -fopenmp -c a.c", "gompcc --showme:link", WRAPPER)


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("command", WRITERS, ids=lambda command: command.rpartition("/")[2])
def test_standard_output_that_takes_nothing(shop: Shop, command: str) -> None:
    """Full, closed, without a reader; and standard error as well: the status tells."""
    words = shop.words(command, "a.o") if command == WRAPPER else command.split()
    expected = 2 if command.startswith("gompy ") else 1
    for redirect, text in ((">/dev/full", "No space left on device"), ("1>&-", "Bad file descriptor")):
        shop.words(command, "a.o")
        status, _, errors = shop.call(words, redirect)
        program = "lto-wrapper" if command == WRAPPER else command.split()[0]
        assert status == expected and one_message(errors, program, f"cannot write to standard output: {text}")
    shop.words(command, "a.o")
    assert shop.call(words, ">/dev/full 2>/dev/full")[0] == expected
    shop.words(command, "a.o")
    read, write = os.pipe()
    os.close(read)
    status, _, errors = shop.call(words, stdout=write)
    os.close(write)
    assert status in ((-signal.SIGPIPE,) if command.startswith("gompcc") else (0, 1))  # gcc dies of it as well
    assert not errors or "Broken pipe" in errors


@pytest.mark.parametrize("program", ["lto-wrapper", "mkoffload"])
def test_links_with_closed_or_full_standard_error(shop: Shop, program: str) -> None:
    """A run that says nothing is as good without it, one that fails still fails."""
    for redirect in ("2>&-", "2>/dev/full", "0<&- 2>&-"):
        assert shop.call(shop.words(PROGRAMS[program], "a.o"), redirect)[0] == 0
        assert shop.call(shop.words(PROGRAMS[program], "missing.o"), redirect)[0] == 1


def limits(**values: int) -> Callable[[], None]:
    """What sets resource limits in the child."""

    def apply() -> None:
        for name, value in values.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return apply


@pytest.mark.parametrize("program", ["lto-wrapper", "mkoffload", "nvptx"])
def test_no_room_for_temporary_files(shop: Shop, program: str) -> None:
    words = shop.words(PROGRAMS[program], "a.o")
    status, _, errors = shop.call(words, preexec_fn=limits(FSIZE=512))
    first = errors.splitlines()[0]
    assert status == 1 and first.startswith("mkoffload: fatal error: cannot write /") and "File too large" in first
    status, _, errors = shop.call(shop.words(PROGRAMS[program], "a.o"), env={"TMPDIR": "/proc"})
    if os.geteuid() == 0:
        assert status == 1 and one_message(errors, program.replace("nvptx", "mkoffload"), "cannot create /proc/")
    else:  # who may not write there takes another folder, as gcc does
        assert (status, errors) == (0, "")
    # A folder that is none: the next that GCC would take.
    assert shop.call(shop.words(PROGRAMS[program], "a.o"), env={"TMPDIR": "/dev/null"})[0] == 0


@pytest.mark.parametrize("mebibytes", [20, 40])
def test_inspect_with_little_memory(shop: Shop, mebibytes: int) -> None:
    status, _, errors = shop.call(shop.words("gompy inspect", "a.o"), preexec_fn=limits(AS=mebibytes << 20))
    if status:
        assert all(line.startswith(("gompy inspect: error: ", "gompy: error: ")) for line in errors.splitlines())
        assert not errors.endswith(": \n")


def has_ended(pid: str) -> bool:
    """Whether a process is gone, or nobody has asked for its status yet.  It may go while it is looked at."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("program", ["lto-wrapper", "mkoffload", "nvptx"])
@pytest.mark.parametrize(("number", "group"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False)])
def test_signals(shop: Shop, program: str, number: signal.Signals, group: bool) -> None:
    """It dies of the signal, and so does what its compiler has started; the linker's lists go as well."""
    compiler = shop.work / "slow" / "gcc"
    started = shop.work / "slow" / "started"
    compiler.parent.mkdir(exist_ok=True)
    started.unlink(missing_ok=True)
    for name in ("gcc", "x86_64-linux-gnu-accel-nvptx-none-gcc-12"):
        to = shlex.quote(str(started))
        text = f"#!/bin/sh\necho $$ > {to}.new; mv {to}.new {to}\nsleep 99\nexit 1\n"
        compiler.with_name(name).write_text(text)
        compiler.with_name(name).chmod(0o755)
    words = shop.words(PROGRAMS[program], "a.o")
    if program == "lto-wrapper":
        objects, arguments = shop.temporary / "ccAAAAAA.ofldlist", shop.temporary / "ccBBBBBB.lto_wrapper_args"
        objects.write_text("1\na.o\n")
        arguments.write_text(f"-foffload-objects={objects}\n")
        words = [WRAPPER, f"@{arguments}"]
    process = shop.start(words, env={"COLLECT_GCC": str(compiler)}, start_new_session=True)
    sleeper: list[str] = []
    while not sleeper:
        assert process.poll() is None
        time.sleep(0.01)
        if started.exists():
            shell = started.read_text().strip()
            sleeper = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
    (os.killpg if group else os.kill)(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (-number, b"")
    shop.nothing_left(words, errors.decode())
    assert has_ended(sleeper[0])


def test_where_children_are_not_reported(shop: Shop) -> None:
    """SIGCHLD that is ignored is inherited, and nobody could be waited for."""
    shell = ["sh", "-c", 'trap "" CHLD; exec "$@"', "sh"]
    for program in ("mkoffload", "lto-wrapper"):
        status, _, errors = shop.call([*shell, *shop.words(PROGRAMS[program], "a.o")])
        assert (status, errors) == (0, "")
