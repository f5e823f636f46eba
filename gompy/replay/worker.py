"""Runs recorded regions again, in a process of its own.

``python -m gompy.replay.worker RECORDING DEVICE RESULT STORES NUMBER…``

It writes lines as a recording has them to RESULT: ``begin`` before a region, ``result`` with the contents of its memory
after, in the order and the addresses of the recording, or ``refused`` with the reason.  STORES, if it is not empty, is
a file with a list of ranges of the recorded memory: what is stored there is in the result, too.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any, Final

from gompy import UserError
from gompy.replay.devices import Failed, Here, Place, Plugged, functions_of, variables_of
from gompy.replay.moving import Moves
from gompy.replay.recording import KERNELS, Image, Loaded, Recording, Region

BLOCK: Final = 1 << 16
"""What an argument block is kept apart from other memory by."""


class Runner:
    """A recording and what runs its regions."""

    def __init__(self, recording: Recording, where: str, device: Place, stores: str = "") -> None:
        self.recording, self.where = recording, where
        self.stores = stores
        self.stored: list[dict[str, Any]] = []
        self.device = device
        self.pairs: dict[int, list[tuple[int, int]]] = {}

    def image_pairs(self, image: Image) -> list[tuple[int, int]]:
        """Where an image's functions and variables are now; it is loaded once."""
        if image.number not in self.pairs:
            self.pairs[image.number] = self.device.load(self.recording, image)
        return self.pairs[image.number]

    def function(self, region: Region) -> tuple[int, Image, Loaded]:
        """The device's word for a region now, its image here, and what was loaded when it was recorded."""
        loaded = region.home
        if loaded is None:
            raise UserError("its image is not in the recording")
        image = self.recording.images[loaded.image]
        index = [pair[0] for pair in loaded.table].index(region.word)
        if image.kind == self.device.kind:
            pairs = self.image_pairs(image)
            if index >= len(pairs):
                raise UserError("its image is not in the recording")
            return pairs[index][0], image, loaded
        if image.kind == KERNELS:
            raise UserError(f"not implemented: a kernel of CUDA on {self.where}")
        if image.by_clang:
            raise UserError(f"not implemented: a region by clang, recorded on {region.kind}, on {self.where}")
        name = plain(functions_of(self.recording, image)[index])
        for other in self.recording.images.values():
            if other.kind == self.device.kind:
                names = [plain(word) for word in functions_of(self.recording, other)]
                if name in names:
                    return self.image_pairs(other)[names.index(name)][0], other, loaded
        raise UserError(f"the recording has no code of it for {self.device.kind}")

    def run(self, region: Region) -> tuple[list[bytes], dict[str, Any]]:
        """Run a region; its memory after it, and how that came about."""
        function, image, loaded = self.function(region)
        variables = self.variables(region, image, loaded)
        blocks = [span for span in region.memory if span.start not in variables]
        if any(span.blob < 0 for span in region.memory):
            raise UserError("its memory is not in the recording")
        wanted = [(span.start, span.size) for span in blocks]
        arguments = region.arguments
        if not arguments and region.words and region.shape is None:  # OpenACC's come without a block
            arguments = (max((start + size for start, size in wanted), default=0) + 2 * BLOCK) & -BLOCK
            wanted.append((arguments, 8 * len(region.words)))
        at = list(zip(wanted, self.device.place(wanted), strict=True))
        moves = [(start, new, size) for (start, size), new in at]
        moves += [(span.start, variables[span.start], span.size) for span in region.memory if span.start in variables]
        if image.number == loaded.image and image.kind == "intelmic":
            now = self.image_pairs(image)
            count = min(loaded.functions, len(now))
            moves += [(loaded.table[k][0], now[k][0], 0) for k in range(count)]
        found, pointers = self.launch(region, function, arguments, Moves(moves))
        how: dict[str, Any] = {"same": all(start == new for (start, _), new in at), "pointers": pointers}
        return found, {**how, "stores": self.stored} if self.stores else how

    def launch(self, region: Region, function: int, arguments: int, moves: Moves) -> tuple[list[bytes], int]:
        """Fill the memory, run, and fetch it; also how many pointers were moved."""
        words = [moves.address(word) for word in region.words]
        pointers = 0
        for span in region.memory:
            data, count = moves.contents(self.recording.contents(span), span.start)
            pointers += count
            self.device.write(moves.address(span.start), data)
        if not region.arguments:
            pointers += sum(old != new for old, new in zip(region.words, words, strict=True))
        if not region.arguments and region.shape is None:
            self.device.write(moves.address(arguments), b"".join(word.to_bytes(8, "little") for word in words))
        back = moves.reversed()
        if self.stores:
            with open(self.stores, encoding="ascii") as file:
                self.device.watch([(moves.address(start), size) for start, size in json.load(file)])
        self.device.run(function, moves.address(arguments), region, words)
        if self.stores:
            self.stored = self.device.stores(self.recording)
            for store in self.stored:
                store["address"] = back.address(store["address"])
        found = [
            back.contents(self.device.read(new, span.size), new)[0]
            for span in region.after or region.memory
            for new in [moves.address(span.start)]
        ]
        self.device.release()
        return found, pointers

    def variables(self, region: Region, image: Image, loaded: Loaded) -> dict[int, int]:
        """Device addresses of the images' variables, then and now."""
        found: dict[int, int] = {}
        for known in region.loaded:
            old = self.recording.images[known.image]
            table = known.table[known.functions :]
            if old.kind == self.device.kind:
                now = self.image_pairs(old)[known.functions :]
                found |= {a[0]: b[0] for a, b in zip(table, now, strict=False) if a[0] and b[0]}
            elif known is loaded:
                names = [plain(name) for name in variables_of(self.recording, image)]
                first = len(functions_of(self.recording, image))
                now = self.image_pairs(image)
                for name, pair in zip(variables_of(self.recording, old), table, strict=False):
                    if plain(name) in names and first + names.index(plain(name)) < len(now):
                        found[pair[0]] = now[first + names.index(plain(name))][0]
        return found


def place_of(where: str, regions: list[Region]) -> Place:
    """What regions run on, which are all of one sort (running.py)."""
    if where == "host":
        return Here()
    if where == "nvptx" and any(region.is_kernel for region in regions):
        from gompy.replay.kernels import Kernels

        return Kernels()
    return Plugged(where, any(region.dims is not None for region in regions))


def plain(name: str) -> str:
    """A name as both kinds of images have it: PTX has no dots."""
    return name.replace("$", ".")


def put(out: IO[bytes], line: dict[str, Any], *data: bytes) -> None:
    """Write a line, and bytes behind it."""
    out.write(json.dumps({**line, "bytes": sum(map(len, data))}).encode() + b"\n")
    for part in data:
        out.write(part)
    out.flush()


def main(argv: list[str]) -> int:
    """Run the regions."""
    path, where, result, stores, *numbers = argv
    if stores:  # so that no thread stores what is watched while another one's store is looked at (watch.h)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with open(result, "ab") as out:
        try:
            recording = Recording(path)
            regions = [recording.regions[int(word)] for word in numbers]
            runner = Runner(recording, where, place_of(where, regions), stores)
        except UserError as error:
            put(out, {"is": "refused", "region": -1, "why": str(error)})
            return 1
        for region in regions:
            put(out, {"is": "begin", "region": region.number})
            try:
                contents, how = runner.run(region)
            except UserError as error:
                put(out, {"is": "refused", "region": region.number, "why": str(error)})
                if isinstance(error, Failed):
                    break  # the others get another process
                continue
            put(out, {"is": "result", "region": region.number, "sizes": [*map(len, contents)], **how}, *contents)
    sys.stdout.flush()
    os._exit(0)  # what the regions have left behind may not be fit for a usual end


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
