"""What ``gompy run --show-maps`` tells while the program runs: its trace and its log, read as they grow."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from typing import Any, Final

from gompy.check.log import Log, read_more
from gompy.check.names import Names
from gompy.cli.run_maps import Teller

PERIOD: Final = 0.05
"""Seconds between two looks."""
LIST_END: Final = b"]"


class Follower:
    """Reads what the runtime has written, and prints what there is to say of it."""

    def __init__(self, trace: str, log: str) -> None:
        self.trace = trace
        self.path = log
        self.read = {trace: 0, log: 0}
        self.log = Log(follows=True)
        self.names = Names(self.log, self.peek)
        self.teller = Teller(self.names)
        self.memory = -1
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.any = False

    def begin(self, pid: int) -> None:
        """The program has started."""
        # Where the system does not allow it, what global pointers point to has no names until the end.
        with contextlib.suppress(OSError):
            self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.thread.start()

    def peek(self, address: int) -> int | None:
        """A word of the program as it is now."""
        try:
            word = os.pread(self.memory, 8, address)
        except (OSError, OverflowError):
            return None
        return int.from_bytes(word, "little") if len(word) == 8 else None

    def follow(self) -> None:
        """Look until the program has ended."""
        while not self.over.wait(PERIOD):
            self.step()

    def end(self) -> None:
        """The program has ended: tell what is left."""
        self.over.set()
        if self.thread.ident is not None:
            self.thread.join()
        self.step()
        if self.memory >= 0:
            os.close(self.memory)
        if not self.any:
            print("gompy run: --show-maps: the program has not used a device's runtime", file=sys.stderr)

    def step(self) -> None:
        """What has been written since the last time.  The log is written first, so it is read last."""
        events = self.events()
        data = self.rest(self.path)
        if data:
            known = len(self.log.events)
            self.read[self.path] += read_more(self.log, data)
            new = self.log.events[known:]
            self.names.more(new)
            self.teller.take(new)
        for line in self.teller.lines(events):
            self.say(line)

    def say(self, line: str) -> None:
        """Where all lines go."""
        print(line, file=sys.stderr, flush=True)

    def rest(self, path: str) -> bytes:
        """A file from where it was read last."""
        try:
            with open(path, "rb") as file:
                file.seek(self.read[path])
                data = file.read()
        except FileNotFoundError:
            return b""
        self.any = True
        return data

    def events(self) -> list[dict[str, Any]]:
        """The trace's new events.  One stands on a line; what follows the last one is overwritten by the next."""
        found = []
        for line in self.rest(self.trace).splitlines(True):
            text = line.rstrip(b",\n")
            if text == LIST_END or not line.endswith(b"\n"):
                break
            if text.startswith(b"{"):
                try:
                    found.append(json.loads(text))
                except ValueError:
                    break  # while it was written
            last = text.startswith(b"{") and not line.endswith(b",\n")
            self.read[self.trace] += len(text) if last else len(line)
        return found
