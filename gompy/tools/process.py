"""Processes and temporary files of the link tools: started with posix_spawn, echoed with -v, cleaned up at every end.

Own small code instead of subprocess, tempfile and shutil, whose import costs more than the work they would do here.
"""

from __future__ import annotations

import os
import sys

from gompy import UserError

TYPE_CHECKING = False  # type checkers take it for True; importing typing for it would cost a millisecond
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType
    from typing import NoReturn
else:
    import _signal as signal  # the C part, without the enumerations


class ToolError(UserError):
    """A fatal error of one of the link tools; its text is the message after ``tool: fatal error: ``."""


class ChildFailed(ToolError):
    """A child process failed; ``status`` is its exit status, or 128 + signal."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def discard(path: str) -> None:
    """Delete a file if it is there and may be deleted."""
    try:  # noqa: SIM105 (contextlib is not imported on this path)
        os.unlink(path)
    except OSError:
        pass


def write_file(path: str, data: bytes | str) -> None:
    """Write a file anew; text as UTF-8, with the bytes of names as they were.  Raises ToolError."""
    try:
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise ToolError(f"cannot write {path}: {error.strerror}") from None


def write_output(text: str) -> None:
    """Write to standard output, all of it, at once.  Raises ToolError."""
    data = memoryview(text.encode("utf-8", "surrogateescape"))
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError as error:
        raise ToolError(f"cannot write to standard output: {error.strerror}") from None


def temporary_root() -> str:
    """Where temporary files go, as GCC chooses it (libiberty's make-temp-file.c)."""
    for folder in (*map(os.environ.get, ("TMPDIR", "TMP", "TEMP")), "/tmp", "/var/tmp", "/usr/tmp"):
        if folder and os.access(folder, os.R_OK | os.W_OK | os.X_OK) and os.path.isdir(folder):
            return folder
    return "."


def is_temporary(path: str) -> bool:
    """Whether the path is that of an object which gcc makes and deletes when it compiles and links at once."""
    folder, name = os.path.split(path)
    stem = name.partition(".")[0]
    named_so = stem.startswith("cc") and len(stem) == 8 and stem.isalnum()
    return named_so and bool(folder) and same(folder, temporary_root())


def linker_appends() -> bool:
    """Whether the linker that started us puts what its plugin adds behind crtoffloadend.o: mold does.

    (GNU ld and gold put host LTO's objects where the first LTO object stood.)
    """
    try:
        return "mold" in os.path.basename(os.readlink(f"/proc/{os.getppid()}/exe"))
    except OSError:
        return False


BEGUN = "--begun="
"""First word of a tool whose first command runs already (gompy/tools/begun.py)."""


class Ahead:
    """A command that runs before anybody has asked for it, in the first folder of the run (gompy/tools/begun.py).

    ``good``: nobody has asked for something else so far; ``has_folder``: somebody has got the folder.
    """

    folder = ""
    has_folder = False
    good = True

    def dismiss_guard(self) -> None:
        """End the process that deletes the folder if this one ends before it can."""
        raise NotImplementedError

    def has(self, path: str, data: bytes) -> bool:
        """Whether a file of the folder is there with these bytes."""
        raise NotImplementedError

    def child(self, words: Sequence[str], env: Mapping[str, str], captured: set[int]) -> Child | None:
        """The running command, if it is this one with these descriptors captured; the caller's from then on."""
        raise NotImplementedError

    def end(self) -> None:
        """End the command, if nobody has taken it over."""
        raise NotImplementedError


class Temps:
    """Temporary files and folders of one run.  ``remove`` deletes all of them that were not released."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.root = temporary_root()
        self.begun: Ahead | None = None  # whose folder the first one is

    def name(self, suffix: str) -> str:
        """A new empty file of ours, named as GCC names its temporary files."""
        return self._make(f"cc{{}}{suffix}", _create_file)

    def folder(self) -> str:
        """A new folder; what lies in it goes with it."""
        if self.begun is not None and not self.begun.has_folder:
            self.begun.has_folder = True
            return self.begun.folder
        return self._make("gompy{}", _create_folder)

    def _make(self, form: str, create: Callable[[str], None]) -> str:
        while True:
            path = os.path.join(self.root, form.format(os.urandom(4).hex()))
            self.paths.append(path)  # before it is there: a signal may come between
            try:
                create(path)
            except OSError as error:
                self.paths.remove(path)
                if isinstance(error, FileExistsError):
                    continue
                raise ToolError(f"cannot create {path}: {error.strerror}") from None
            return path

    def adopt(self, begun: Ahead) -> None:
        """Take over a command that runs already, and its folder, which will be the first one."""
        self.begun = begun
        self.paths.append(begun.folder)

    def release(self, path: str) -> None:
        """Leave that file to somebody else."""
        self.paths.remove(path)

    def remove(self) -> None:
        """Delete everything that is still ours."""
        if self.begun is not None:
            self.begun.end()
        paths, self.paths = self.paths, []
        for path in paths:
            if not os.path.isdir(path):
                discard(path)
                continue
            for _ in range(3):  # a process that was told to end may still have made a file
                for entry in os.listdir(path):
                    discard(os.path.join(path, entry))
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    continue


def _create_file(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _create_folder(path: str) -> None:
    os.mkdir(path, 0o700)


class Killed(BaseException):
    """Raised by the signal handler, so that ``finally`` clauses run; carries the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def _raise_killed(number: int, _frame: FrameType | None) -> NoReturn:
    for other in SIGNALS:  # the first one ends the run, and nothing the cleaning up
        signal.signal(other, signal.SIG_IGN)
    raise Killed(number)


_woken = -1  # becomes readable when a signal has come


def catch_signals() -> None:
    """Turn the signals that end a link into the exception Killed (those that are ignored stay so)."""
    global _woken
    _woken, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _raise_killed)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, children could not be waited for


def release_signals() -> None:
    """From here on signals end the run; one that has come while they were blocked raises Killed."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def hold_signals() -> None:
    """From here on no signal ends the run; one that has come before raises Killed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def die_of(number: int) -> NoReturn:
    """End this process by that signal, as its parent expects."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def quote(words: Sequence[str]) -> str:
    """The words as GCC's -v shows them: those with blanks in double quotes."""
    return " ".join(f'"{word}"' if not word or set(word) & set(" \t\n\"'\\$") else word for word in words)


def echo(words: Sequence[str], verbose: bool) -> None:
    """Show a command with -v."""
    if verbose:
        sys.stderr.write(" " + quote(words) + "\n")
        sys.stderr.flush()


def find_in(directories: Sequence[str], name: str) -> str | None:
    """First executable file of that name."""
    for directory in directories:
        path = os.path.join(directory or ".", name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


def find_tool(name: str, avoid: str | None = None) -> str:
    """A binutils program: in COMPILER_PATH, then PATH, but not in the folder ``avoid``.  ToolError if missing."""
    directories = os.environ.get("COMPILER_PATH", "").split(":") + os.environ.get("PATH", "").split(":")
    directories = [d for d in directories if d and (avoid is None or not os.path.exists(avoid) or not same(d, avoid))]
    found = find_in([*directories, "/usr/local/bin", "/usr/bin", "/bin"], name)
    if found is None:
        raise ToolError(f"cannot find {name} in COMPILER_PATH or PATH (install binutils)")
    return found


def same(one: str, other: str) -> bool:
    """Whether both names are one folder."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _await(descriptors: Sequence[int], milliseconds: int | None = None) -> list[int]:
    """Those descriptors that can be read, when there is one; none after that time, in which signals do not count.

    A signal whose handler Python has not run yet would not interrupt a call that blocks from then on; it makes
    ``_woken`` readable.
    """
    import select

    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    if _woken >= 0 and milliseconds is None:
        poll.register(_woken, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(milliseconds)]  # Killed is raised here
        if _woken in ready:
            os.read(_woken, 4096)  # of a signal that is no end
            ready.remove(_woken)
        if ready or milliseconds is not None:
            return ready


def descendants(pid: int) -> list[int]:
    """The process and those that it and they started, the deepest last; without /proc the process alone."""
    parents: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        names = []
    for name in filter(str.isdigit, names):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
            parents.setdefault(int(words[1]), []).append(int(name))
        except (OSError, IndexError, ValueError):
            continue
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


GRACE = 2000
"""Milliseconds that processes get to end in when they are told to."""


def end_tree(pid: int) -> None:
    """End a child and all that it has started, and reap it; SIGKILL for those that do not end in time.

    A compiler driver that gets a signal does not hand it on: what it has started would write into folders of ours.
    They are stopped first, for one that ends lets its children go, and one that runs may start another.
    """
    opened: dict[int, int] = {}
    while new := [one for one in descendants(pid) if one not in opened]:
        for one in new:
            try:
                opened[one] = os.pidfd_open(one)
            except OSError:  # gone already, or an old kernel
                opened[one] = -1
            _send(opened[one], signal.SIGSTOP)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for descriptor in opened.values():
            _send(descriptor, number)
            _send(descriptor, signal.SIGCONT)
        if opened[pid] < 0:
            os.kill(pid, number)
        waiting = [descriptor for descriptor in opened.values() if descriptor >= 0]
        while waiting:
            ready = _await(waiting, GRACE)
            if not ready:
                break
            waiting = [descriptor for descriptor in waiting if descriptor not in ready]
        if not waiting:
            break
    for descriptor in opened.values():
        if descriptor >= 0:
            os.close(descriptor)
    try:
        os.waitpid(pid, 0)
    except OSError:
        return


def _send(descriptor: int, number: int) -> None:
    """Send a signal by a process's descriptor, where there is one."""
    try:
        if descriptor >= 0:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return


NOT_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these, and whom it starts would go on ignoring them."""


class Child:
    """A started process: ``wait`` gives its exit status, and what it wrote if that was asked for."""

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        stdin: bytes | None = None,
        capture_stdout: bool = False,
        capture_stderr: bool = False,
    ) -> None:
        self.words = words
        self.stdin = stdin
        self.pipes: dict[int, int] = {}  # the child's descriptor → our end
        self.captured = {1: b"", 2: b""}  # what it has written so far
        actions: list[tuple[int, int] | tuple[int, int, int]] = []
        close: list[int] = []
        for wanted, number in ((stdin is not None, 0), (capture_stdout, 1), (capture_stderr, 2)):
            if not wanted:
                continue
            read, write = os.pipe()
            ours, theirs = (write, read) if number == 0 else (read, write)
            actions.append((os.POSIX_SPAWN_DUP2, theirs, number))
            close.append(theirs)
            self.pipes[number] = ours
        # Until wait() is ready to end the child, no signal may end us.
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        spawn = os.posix_spawn if "/" in words[0] else os.posix_spawnp
        try:
            self.pid = spawn(
                words[0], list(words), dict(env), file_actions=actions, setsigmask=self.mask, setsigdef=NOT_IGNORED
            )
        except OSError as error:
            signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
            for descriptor in self.pipes.values():
                os.close(descriptor)
            self.pipes = {}
            raise ToolError(f"cannot run {words[0]}: {error.strerror}") from None
        finally:
            for descriptor in close:
                os.close(descriptor)

    def wait(self) -> tuple[int, bytes, bytes]:
        """(exit status, standard output, standard error); a death by signal is status 128 + signal.

        If we are interrupted, the child gets SIGTERM and is reaped before the interrupt goes on.
        """
        reaped = False
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
            if 0 in self.pipes:
                self._feed()
            self._drain()
            self._await_end()
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            reaped = True
        except BaseException:
            if not reaped:
                end_tree(self.pid)
            raise
        finally:
            for descriptor in self.pipes.values():
                os.close(descriptor)
            self.pipes = {}
        return (status if status >= 0 else 128 - status), self.captured[1], self.captured[2]

    def _feed(self) -> None:
        data = memoryview(self.stdin or b"")
        descriptor = self.pipes.pop(0)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        except BrokenPipeError:
            pass
        finally:
            os.close(descriptor)

    def _drain(self) -> None:
        numbers = {descriptor: number for number, descriptor in self.pipes.items()}
        waiting = list(numbers)
        while waiting:
            for descriptor in _await(waiting):
                data = os.read(descriptor, 65536)
                if data:
                    self.captured[numbers[descriptor]] += data
                else:
                    waiting.remove(descriptor)

    def _await_end(self) -> None:
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return  # an old kernel: waitpid will do
        try:
            _await([descriptor])
        finally:
            os.close(descriptor)


def run(words: Sequence[str], env: Mapping[str, str], verbose: bool = False, stdin: bytes | None = None) -> None:
    """Run a command to its end; ChildFailed with GCC's text if it fails (its own messages went to stderr)."""
    echo(words, verbose)
    status = Child(words, env, stdin).wait()[0]
    if status:
        raise child_failed(words[0], status)


def child_failed(program: str, status: int) -> ChildFailed:
    """GCC's text for a failed child (collect-utils.cc)."""
    if status > 128:
        try:
            name = signal.strsignal(status - 128) or ""
        except ValueError:
            name = ""
        return ChildFailed(f"{program} terminated with signal {status - 128} [{name}]", status)
    return ChildFailed(f"{program} returned {status} exit status", status)
