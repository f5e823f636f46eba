"""The process of the PTX compiler: what it inherits, how it ends, and what is said when it does not answer."""

from __future__ import annotations

import ctypes
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from gompy.abi import ptx as abi
from gompy.ptx import build
from gompy.ptx.device import LIBRARY, Device, ExecutorError

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")
TEXT = ".version 6.0\n.target sm_35\n.address_size 64\n.visible .entry k (.param .u64 a) { ret; }\n"
LOAD = f"""import sys; sys.path.insert(0, {str(ROOT)!r})
from gompy.ptx.device import Device
with Device(1 << 22) as device:
    device.load({TEXT!r}).function("k").launch((1, 1, 1), (1, 1, 1), [0])
print("right")
"""


REAPS = """import os, signal
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0): pass
    except ChildProcessError:
        pass
"""


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GOMPY_PYTHON", raising=False)
    with Device(1 << 22) as made:
        yield made


def script(folder: Path, text: str) -> str:
    """A program in place of Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_children_of_other_threads_keep_nobody_waiting(device: Device, how: str) -> None:
    """What another thread starts while the compiler runs inherits nothing; what it forks may, and is not waited for."""
    children: list[int] = []
    stop = threading.Event()

    def start() -> None:
        while not stop.is_set() and len(children) < 40:
            if how == "spawn":
                children.append(os.posix_spawn("/bin/sleep", ["sleep", "300"], os.environ))
            else:
                child = ctypes.CDLL(None).fork()  # of C: Python's own takes locks
                if child == 0:
                    ctypes.CDLL(None).sleep(300)
                    os._exit(0)
                children.append(child)
            stop.wait(0.005)

    thread = threading.Thread(target=start)
    thread.start()
    try:
        while not children:
            time.sleep(0.001)
        device.load(TEXT)
        stop.set()
        thread.join()
        for child in children:  # all are there still
            assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        stop.set()
        thread.join()
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


@pytest.mark.parametrize(
    "setting",
    ["signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
     "signal.signal(signal.SIGCHLD, reap)", "os.closerange(0, 1)"],
)  # fmt: skip
def test_the_programs_signals_do_not_matter(tmp_path: Path, setting: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{REAPS}{setting}\n{LOAD}"],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_what_the_compiler_inherits(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor but its own, no signal blocked or ignored, bounded memory."""
    said = tmp_path / "said"
    to = shlex.quote(str(said))
    program = f"""cd /proc/$$; ls fd | grep -v '^10$' > {to}
    while read line; do echo "$line"; done < status >> {to}
    grep 'address space' limits >> {to}; exit 3"""
    monkeypatch.setenv("GOMPY_PYTHON", script(tmp_path, program))
    own = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(own, True)
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    ignored = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        with pytest.raises(ExecutorError):
            device.load(TEXT)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
        signal.signal(signal.SIGUSR2, ignored)
        os.close(own)
    text = said.read_text()
    descriptors = {int(word) for word in text.partition("Name:")[0].split()}  # before the lines of status
    assert {0, 1, 2, 3, 4} <= descriptors and own not in descriptors - {3, 4, 5}
    assert re.findall(r"Sig(?:Blk|Ign):\s*(\w+)", text) == ["0" * 16, "0" * 16]
    assert re.search(r"Max address space\s+\d+", text)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exit 5", "ended with status 5 before it answered"),
        ("kill -9 $$", "was ended by signal 9 (out of memory?) before it answered"),
        ("kill -11 $$", "was ended by signal 11 before it answered"),
        ("echo rubbish >&2; printf 'Fatal Python error\\n' >&2; exit 1", "ended with status 1 before it answered"),
        ("exit 0", "ended with status 0 before it answered"),
    ],
)
def test_no_answer_is_one_line(
    device: Device,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    program: str,
    said: str,
) -> None:
    monkeypatch.setenv("GOMPY_PYTHON", script(tmp_path, program))
    with pytest.raises(ExecutorError) as caught:
        device.load(TEXT)
    assert caught.value.code == 221 and caught.value.log.count("\n") == 1 and said in caught.value.log
    assert caught.value.log.startswith("error: the PTX compiler (") and capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("python", "said"), [("/nonexistent/python", "No such file or directory"), ("/etc/passwd", "Permission denied")]
)
def test_no_interpreter(device: Device, monkeypatch: pytest.MonkeyPatch, python: str, said: str) -> None:
    monkeypatch.setenv("GOMPY_PYTHON", python)
    with pytest.raises(ExecutorError) as caught:
        device.load(TEXT)
    want = f"error: the PTX compiler needs Python, which did not start: {python} (set GOMPY_PYTHON): {said}\n"
    assert (caught.value.code, caught.value.log) == (221, want)


def test_it_ends_with_the_program(tmp_path: Path) -> None:
    """A program that is killed while it waits for the compiler leaves no process behind."""
    pid = shlex.quote(str(tmp_path / "pid"))
    python = script(tmp_path, f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 300")
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "GOMPY_PYTHON": python}
    with subprocess.Popen([sys.executable, "-c", LOAD], env=env) as program:
        while not (tmp_path / "pid").exists():
            assert program.poll() is None
            time.sleep(0.01)
        compiler = int((tmp_path / "pid").read_text())
        program.kill()
    for _ in range(2000):
        try:
            with open(f"/proc/{compiler}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.01)
    os.kill(compiler, signal.SIGKILL)
    raise AssertionError("the compiler goes on")


def test_another_builds_compiler_is_told(tmp_path: Path) -> None:
    """The executor and the compiler's modules must be of one build."""
    program = str(ROOT / "gompy" / "ptx" / "__main__.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", program, "fill", str(tmp_path)],
        input=f"identity {'f' * 32} leaf\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and not done.stderr
    assert done.stdout == (
        "error: the PTX compiler and the executor are not of one build: build or install gompy again\n"
    )


def test_a_changed_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it made would be taken for what the compiler of the build makes, also when that is back."""
    request = f"identity {abi.identity()} leaf\n".encode()
    for built, status in ((abi.compiler_sources(), 0), ("another", 2)):
        (tmp_path / "sources").write_text(built)
        monkeypatch.setattr(abi, "SOURCES", str(tmp_path / "sources"))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(request)))
        answer = build.serve(str(tmp_path))
        assert answer[0] == status
        assert [message.rsplit(": ", 1)[1] for message in answer[1]] == ["run make"] * (status == 2)


def test_names_stay_on_their_line(device: Device) -> None:
    """An object's name is no request."""
    with pytest.raises(ExecutorError) as caught:
        device.load(TEXT.replace("ret;", "nonsense;"), names=["a\nwant x I\nb"])
    assert caught.value.log == "a?want x I?b:4: error: unknown opcode 'nonsense'\n"
