"""A device that is changed while the program runs: its data moves, its number and its addresses stay.

``GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=gompy.virtual:Swap`` (docs/swap.md).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from gompy import plural
from gompy.objects import tables
from gompy.objects.view import ElfView
from gompy.plugins.python import Device, Image, Launch, Table
from gompy.virtual.control import Listener
from gompy.virtual.swap_backends import SwapBackend, SwapError, make_backend
from gompy.virtual.swap_variables import Variables, point
from gompy.virtual.window import Window

START, MEMORY, WATCHED, POLICY, STATS = (
    "GOMPY_SWAP_START",
    "GOMPY_SWAP_MEMORY",
    "GOMPY_SWAP",
    "GOMPY_SWAP_POLICY",
    "GOMPY_STATS",
)
ROOM = 1 << 30
"""Bytes of device memory, if nothing else is said."""


class Loaded(NamedTuple):
    """An image of the program: its content, its functions' words in the program, how many variables it has."""

    data: bytes
    words: list[int]
    variables: int


class Policy(Protocol):
    """What GOMPY_SWAP_POLICY names."""

    def after(self, region: str, backend: str, seconds: float) -> str | None:
        """The backend to go on with after a region; None: the same."""


class Saved(NamedTuple):
    """What moves: blocks by their addresses, each image's variables in their order."""

    blocks: dict[int, bytes]
    variables: dict[int, list[bytes]]


class Swap(Device):
    """One device of the program; behind it a backend at a time."""

    name = "swap"

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.users = 0
        self.moving = False
        self.images: dict[int, Loaded] = {}
        self.addresses: dict[int, int] = {}
        """A function's word in the program: its word on the backend."""
        self.names: dict[int, str] = {}
        self.runs: Counter[tuple[str, str]] = Counter()
        self.swaps = 0
        self.size = self._memory()
        self.watched = os.environ.get(WATCHED, "")
        self.seen = self._stamp()
        self.policy = self._policy()
        self.backend = make_backend(os.environ.get(START, "") or "intelmic")
        self.window = Window(0, 0)
        self.variables = Variables()

    @staticmethod
    def _memory() -> int:
        text = os.environ.get(MEMORY, "")
        number, unit = (text[:-1], text[-1:].upper()) if text[-1:].isalpha() else (text, "")
        if not text:
            return ROOM
        if not number.isdecimal() or unit not in ("", "K", "M", "G"):
            raise SwapError(f"{MEMORY}={text} is not a number of bytes, with K, M or G")
        return int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[unit]

    @staticmethod
    def _policy() -> Policy | None:
        text = os.environ.get(POLICY, "")
        if not text:
            return None
        module, _, name = text.partition(":")
        try:
            made: Policy = getattr(importlib.import_module(module), name)()
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise SwapError(f"{POLICY}={text}: {error}") from None
        if not callable(getattr(made, "after", None)):
            raise SwapError(f"{POLICY}={text}: it has no method after (region, backend, seconds)")
        return made

    def _stamp(self) -> int:
        try:
            return os.stat(self.watched).st_mtime_ns if self.watched else 0
        except OSError:
            return 0

    def init(self, device: int) -> None:
        """Start the first backend, and listen to ``gompy device swap``."""
        base = self.backend.open(self.size)
        self.window = Window(base, self.size)
        self.listener = Listener(self.swap)

    def fini(self, device: int) -> None:
        """End the backend; with GOMPY_STATS=1, which ``gompy run --info`` sets, say what ran where."""
        self.listener.close()
        self.backend.close()
        if os.environ.get(STATS) == "1":
            for (name, where), times in sorted(self.runs.items()):
                print(f"gompy: swap: {name}: {where}, {plural(times, 'time')}", file=sys.stderr)
            print(f"gompy: swap: changed {plural(self.swaps, 'time')}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def _using(self) -> Iterator[SwapBackend]:
        """The backend, which is not changed meanwhile."""
        with self.lock:
            self.lock.wait_for(lambda: not self.moving)
            self.users += 1
        try:
            yield self.backend
        finally:
            with self.lock:
                self.users -= 1
                self.lock.notify_all()

    def load_image(self, device: int, image: Image) -> Table:
        """Load the image; its functions get words that stay."""
        found = tables.read_tables(ElfView(image.data, "image"))
        first = len(self.names) + 1
        words = list(range(first, first + len(found.funcs)))
        loaded = Loaded(image.data, words, len(found.vars))
        self.names.update(zip(words, (entry.name or "" for entry in found.funcs), strict=True))
        with self._using() as backend:
            self.images[image.address] = loaded
            pairs = self._load(backend, loaded)
            self.variables.add(image.address, pairs)
        return Table(loaded.words, [(start, end - start) for start, end in pairs])

    def _load(self, backend: SwapBackend, loaded: Loaded) -> list[tuple[int, int]]:
        """Load an image on a backend; where its variables are."""
        pairs = backend.load(loaded.data)
        count = len(loaded.words)
        self.addresses.update(zip(loaded.words, (start for start, _ in pairs), strict=False))
        return pairs[count : count + loaded.variables]

    def unload_image(self, device: int, image: Image) -> None:
        self.images.pop(image.address, None)
        self.variables.drop(image.address)

    def alloc(self, device: int, size: int) -> int:
        with self._using():
            return self.window.alloc(size)

    def free(self, device: int, address: int) -> None:
        with self._using():
            self.window.free(address)

    def host2dev(self, device: int, address: int, data: memoryview) -> None:
        with self._using() as backend:
            places = self.variables.told_to_now()
            backend.write(self.variables.where(address), point(bytes(data), places) if places else data)

    def dev2host(self, device: int, data: memoryview, address: int) -> None:
        with self._using() as backend:
            data[:] = backend.read(self.variables.where(address), len(data))

    def run(self, device: int, function: int, variables: int, launch: Launch) -> None:
        self._watch()
        begin = time.perf_counter()
        with self._using() as backend:
            backend.run(self.addresses[function], variables, launch)
            where = backend.name
            self.runs[self.names[function], backend.where(self.addresses[function])] += 1
        if self.policy is not None:
            wanted = self.policy.after(self.names[function], where, time.perf_counter() - begin)
            if wanted and wanted != self.backend.name:
                self._try(str(wanted))

    def _watch(self) -> None:
        """Change the backend if the watched file has been written."""
        if self.watched and (stamp := self._stamp()) != self.seen:
            self.seen = stamp
            try:
                with open(self.watched, encoding="utf-8", errors="replace") as file:
                    wanted = file.read(200).strip()
            except OSError:
                return
            if wanted and wanted != self.backend.name:
                self._try(wanted)

    def _try(self, name: str) -> None:
        """Change the backend; if that fails, say so and go on with the old one."""
        try:
            self.swap(name)
        except SwapError as error:
            print(f"gompy: swap: {error}", file=sys.stderr, flush=True)

    def swap(self, name: str) -> str:
        """Change the backend, between two regions.

        name: of the new one.  Returns what was done.  Raises SwapError; then the old backend goes on.
        """
        new = make_backend(name)
        with self.lock:
            self.lock.wait_for(lambda: not self.moving)
            self.moving = True
            self.lock.wait_for(lambda: self.users == 0)
        try:
            return self._move(new)
        finally:
            with self.lock:
                self.moving = False
                self.lock.notify_all()

    def _move(self, new: SwapBackend) -> str:
        begin = time.perf_counter()
        old = self.backend
        saved = Saved(
            {address: old.read(address, size) for address, size in self.window.blocks.items()},
            {image: [old.read(one.now, one.size) for one in known] for image, known in self.variables.all.items()},
        )
        known = dict(self.variables.all)
        old.close()
        try:
            self._begin(new, saved)
        except SwapError as error:
            self.variables.all = known
            try:
                self._begin(old, saved)
            except SwapError as again:
                raise SwapError(f"{error}; nor can the old backend be used again: {again}") from None
            raise
        self.swaps += 1
        moved = sum(self.window.blocks.values())
        took = (time.perf_counter() - begin) * 1e3
        return f"{old.name} -> {new.name}: {len(saved.blocks)} blocks, {moved} bytes, {took:.1f} ms"

    def _begin(self, backend: SwapBackend, saved: Saved) -> None:
        """Begin with a backend: memory, images, data."""
        base = backend.open(self.size)
        try:
            if base != self.window.base:
                raise SwapError(
                    f"{backend.name}: its memory is at {base:#x}, the program's data at {self.window.base:#x}"
                )
            moved = []
            for image, loaded in self.images.items():
                moved += self.variables.settle(image, self._load(backend, loaded))
            for address, data in saved.blocks.items():
                backend.write(address, point(data, moved))
            for image, contents in saved.variables.items():
                for one, data in zip(self.variables.all[image], contents, strict=True):
                    pointed = point(data, moved)
                    if backend.read(one.now, one.size) != pointed:  # a constant may not be written to
                        backend.write(one.now, pointed)
        except SwapError:
            backend.close()
            raise
        self.backend = backend
