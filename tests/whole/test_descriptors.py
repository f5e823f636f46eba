"""Descriptors that the compiled parts make: none is a standard one, none is inherited."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, make_wrappers
from nvptx_tools import NVPTX, has_compiler

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "gompy" / "native"
MAKERS = (
    "open(?:at)?(?:64|2)?|creat|f(?:re)?open(?:64)?|fdopendir|opendir|popen|pipe2?|memfd_create|dup[23]?|fcntl|socket(?:pair)?"
    "|accept4?|eventfd|timerfd_create|signalfd|epoll_create1?|inotify_init1?|userfaultfd|tmpfile|mko?stemp|shm_open"
    "|posix_openpt|SYS_(?:pidfd_open|memfd_create|openat)"
)


def test_descriptors_are_made_in_one_place() -> None:
    """Everything goes through gompy/native/descriptors.h."""
    pattern = re.compile(rf"(?<![\w.])(?:{MAKERS})\b ?\(|cimport.*\b(?:{MAKERS})\b")
    sources = [
        path
        for kind in ("pyx", "pxi", "pxd", "h", "c")
        for path in (ROOT / "gompy").rglob(f"*.{kind}")
        if "_native" not in path.parts and path.parent != SHARED
    ]
    assert len(sources) > 50
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(re.sub(r"/\*.*?\*/|/\*.*|#(?! *(include|define)).*|\".*?\"", "", line))
    ]
    assert not wrong


SOURCE = Path(__file__).parents[1] / "programs" / "closed_standard.c"
CLOSED = [numbers for count in range(4) for numbers in itertools.combinations(range(3), count)]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The compilers."""
    made = Tools(make_wrappers(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("work"))
    made.env["GOMPY_CUDA"] = "emulated"
    return made


def run_closed(tools: Tools, numbers: tuple[int, ...], *command: str | Path) -> int:
    """Run a command without these standard descriptors; the others are the null device.  Returns its exit status."""
    words = " ".join(f"{number}>&-" for number in numbers)
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {words}', "sh", *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tools.work,
        env=tools.env,
        timeout=100,
    ).returncode


@has_all
@pytest.mark.parametrize("options", [(), pytest.param((f"-foffload={NVPTX}",), marks=has_compiler)])
def test_standard_descriptors_are_the_programs_own(tools: Tools, options: tuple[str, ...]) -> None:
    """Whichever are closed at the start: results are right and regions are on the device; they stay closed."""
    for once, numbers in enumerate(CLOSED):
        program, result = tools.work / f"program{len(options)}", tools.work / "result"
        if not once:
            tools.ok("gompcc", "-O1", "-fopenmp", *options, SOURCE, "-o", program)
        result.unlink(missing_ok=True)
        status = run_closed(tools, numbers, program, result)
        assert (numbers, status, result.read_text()) == (numbers, 0, "wrong 0 on device 1\n")


@has_all
@pytest.mark.parametrize("numbers", [(0,), (1,), (2,), (0, 1, 2)])
def test_compile_and_link_with_closed_descriptors(tools: Tools, numbers: tuple[int, ...]) -> None:
    """As gcc's own."""
    program, result = tools.work / "linked", tools.work / "result"
    program.unlink(missing_ok=True)
    assert run_closed(tools, numbers, "gompcc", "-O1", "-fopenmp", SOURCE, "-o", program) == 0
    assert run_closed(tools, (), program, result) == 0
