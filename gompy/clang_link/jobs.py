"""--wrapper-jobs: the links of several targets at once, each in a process of its own.

A child has a folder for its files, so that the parent can remove them whatever becomes of it.  Its answer and its
messages are files there: the parent shows the messages in the order of the targets.  With ``jobserver`` each job but
the first takes a token of make's, as GNU make's manual has it (Job Slots, POSIX Jobserver).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable

from gompy import UserError
from gompy.clang_link import commands
from gompy.clang_link.device import Linked
from gompy.clang_link.options import Options
from gompy.tools.process import ChildFailed, Temps, ToolError, catch_signals, end_tree, write_file

Target = tuple[str, str]
Link = Callable[[Target, Temps], list[Linked]]
_UNLIMITED = 1 << 10


class Tokens:
    """make's jobserver, by MAKEFLAGS; without one there are no tokens."""

    def __init__(self, flags: str) -> None:
        self.read = self.write = -1
        word = next((w for w in flags.split()[::-1] if w.startswith(("--jobserver-auth=", "--jobserver-fds="))), "")
        where = word.partition("=")[2]
        with contextlib.suppress(OSError, ValueError, IndexError):
            names = (
                [where[5:]] * 2 if where.startswith("fifo:") else [f"/proc/self/fd/{int(n)}" for n in where.split(",")]
            )
            if where:  # descriptions of our own: those of make's must go on blocking
                self.read = os.open(names[0], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                self.write = os.open(names[1], os.O_WRONLY | os.O_CLOEXEC)

    def take(self) -> bytes:
        """A token, if there is one now."""
        with contextlib.suppress(OSError):
            if self.write >= 0:
                return os.read(self.read, 1)
        return b""

    def give(self, token: bytes) -> None:
        """Give it back."""
        if token:
            os.write(self.write, token)


def wanted(options: Options) -> int:
    """How many jobs at once the command line allows; 0: as many as make's jobserver has.  Raises ToolError."""
    given = options.last("--wrapper-jobs", "1")
    if given == "jobserver":
        return 0
    if not given.isascii() or not given.isdigit() or int(given) == 0:
        raise ToolError(f"--wrapper-jobs={given}: it must be a positive number, or jobserver")
    return int(given)


def _child(link: Link, target: Target, folder: str) -> None:
    """One target's link; its answer is a file."""
    import json

    commands.EVENTS.clear()
    temps = Temps()
    temps.root = folder
    answer: dict[str, object] = {}
    try:
        answer["linked"] = [(image.kind, image.file, image.end.hex()) for image in link(target, temps)]
    except ChildFailed as error:
        answer |= {"error": str(error), "status": error.status}
    except UserError as error:
        answer["error"] = str(error)
    answer["events"] = commands.EVENTS
    write_file(os.path.join(folder, "answer"), json.dumps(answer))


def _start(link: Link, target: Target, folder: str) -> int:
    """Begin a child; its number."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        catch_signals()  # with a pipe of its own
        os.dup2(os.open(os.path.join(folder, "messages"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
        _child(link, target, folder)
        status = 0
    finally:
        os._exit(status)  # the frame of the tool is the parent's


def _read(folder: str, name: str) -> bytes:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _answer(target: Target, folder: str, dry: bool) -> list[Linked]:
    """A child's images, its messages shown.  Raises ToolError."""
    import json

    sys.stderr.write(_read(folder, "messages").decode("utf-8", "surrogateescape"))
    text = _read(folder, "answer")
    if not text:
        raise ToolError(f"the link of the image for {' '.join(target).strip()} has ended without an answer")
    answer = json.loads(text)
    commands.EVENTS.extend(answer["events"])
    if "status" in answer:
        raise ChildFailed(answer["error"], answer["status"])
    if "error" in answer:
        raise ToolError(answer["error"])
    found = []
    for kind, file, end in answer["linked"]:
        data = b""
        if not dry:
            with open(file, "rb") as made:
                data = made.read() + bytes.fromhex(end)
        found.append(Linked(data, kind, file, bytes.fromhex(end)))
    return found


def linked(options: Options, temps: Temps, targets: list[Target], link: Link) -> dict[Target, list[Linked]]:
    """Each target's images.  Raises ToolError, Damaged."""
    most = wanted(options)
    if most == 1 or len(targets) == 1:
        return {target: link(target, temps) for target in targets}
    tokens = Tokens(os.environ.get("MAKEFLAGS", "") if most == 0 else "")
    folders = {target: temps.folder() for target in targets}
    running: dict[int, bytes] = {}
    waiting = list(targets)
    sys.stderr.flush()
    try:
        while waiting or running:
            token = tokens.take() if waiting and running and not most else b""
            if waiting and len(running) < (most or _UNLIMITED) and (not running or most or token):
                target = waiting.pop(0)
                running[_start(link, target, folders[target])] = token
                continue
            tokens.give(token)
            pid = os.wait()[0]
            tokens.give(running.pop(pid, b""))
    finally:
        for pid, token in running.items():
            end_tree(pid)
            tokens.give(token)
    return {target: _answer(target, folders[target], options.dry) for target in targets}
