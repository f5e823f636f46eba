"""The virtual device: one device of the program, behind it a backend and implementations that are found at start."""

from __future__ import annotations

import os
import sys
from collections import Counter

from gompy import plural
from gompy.objects import tables
from gompy.objects.view import ElfView
from gompy.plugins.python import Device, Image, Launch, Table
from gompy.plugins.python.images import LoadedImage
from gompy.virtual import find
from gompy.virtual.backend import RefusedError, Run

STATS = "GOMPY_STATS"


class Virtual(Device):
    """A region runs as the first of: a file of GOMPY_KERNELS, a library's, an installed one, the image, the host."""

    name = "virtual"

    def __init__(self) -> None:
        self.backend = find.backend()
        self.name = f"virtual {self.backend.identifier}"
        self.num_devices = self.backend.num_devices
        self.installed = {item.function: item.run for item in find.implementations(self.backend)}
        self.libraries = find.library_regions(self.backend)
        self.functions: dict[int, str] = {}
        self.chosen: dict[tuple[int, int], tuple[Run, str]] = {}
        self.images: dict[tuple[int, int], LoadedImage] = {}
        self.runs: Counter[tuple[str, str]] = Counter()
        self.ended = 0

    def init(self, device: int) -> None:
        self.backend.init(device)

    def load_image(self, device: int, image: Image) -> Table:
        """Load the image for its code and variables, and choose how each of its regions runs."""
        loaded = LoadedImage(image.data)
        self.images[device, image.address] = loaded
        names = [entry.name or "" for entry in tables.read_tables(ElfView(image.data, "image")).funcs]
        for word, name in zip(loaded.table.functions, names, strict=True):
            self.functions[word] = name
            chosen = self._choose(device, word, name)
            if chosen is not None:
                self.chosen[device, word] = chosen
        return loaded.table

    def _choose(self, device: int, word: int, name: str) -> tuple[Run, str] | None:
        for path in find.files(name, self.backend):
            try:
                return find.load(path, name, self.backend, device), path
            except RefusedError as error:
                print(f"gompy: {error}", file=sys.stderr)
        if name in self.libraries:
            return self.libraries[name].bind(device), self.libraries[name].path
        if name in self.installed:
            return self.installed[name], "an installed implementation"
        if self.backend.shares_memory:
            return (lambda variables, launch: LoadedImage.call(word, variables)), "the image's code"
        return None

    def unload_image(self, device: int, image: Image) -> None:
        self.images.pop((device, image.address), None)

    def alloc(self, device: int, size: int) -> int:
        return self.backend.alloc(device, size)

    def free(self, device: int, address: int) -> None:
        self.backend.free(device, address)

    def host2dev(self, device: int, address: int, data: memoryview) -> None:
        self.backend.write(device, address, data)

    def dev2host(self, device: int, data: memoryview, address: int) -> None:
        self.backend.read(device, data, address)

    def can_run(self, function: int) -> bool:
        if any(word == function for _, word in self.chosen):
            return True
        self.runs[self.functions.get(function, "a region"), "the host"] += 1
        return False

    def run(self, device: int, function: int, variables: int, launch: Launch) -> None:
        run, how = self.chosen[device, function]
        self.runs[self.functions[function], how] += 1
        run(variables, launch)

    def fini(self, device: int) -> None:
        """With GOMPY_STATS=1, which ``gompy run --info`` sets, say how each region ran."""
        self.backend.fini(device)
        self.ended += 1
        if self.ended == self.num_devices and os.environ.get(STATS) == "1":
            for (name, how), times in sorted(self.runs.items()):
                print(f"gompy: {self.name}: {name}: {how}, {plural(times, 'time')}", file=sys.stderr, flush=True)
