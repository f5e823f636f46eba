"""The device addresses that a program sees while its device is changed: one range, cut into blocks."""

from __future__ import annotations

from bisect import bisect_left, insort

ALIGN = 64


class Window:
    """Blocks of a range of addresses, first fit.  MemoryError if none is large enough."""

    def __init__(self, base: int, size: int) -> None:
        self.base, self.size = base, size
        self.free_parts: list[tuple[int, int]] = [(base, base + size)]
        self.blocks: dict[int, int] = {}
        """Address: bytes, of what is in use."""

    def alloc(self, size: int) -> int:
        """The address of a block of ``size`` bytes, aligned to 64."""
        room = max(size + ALIGN - 1 & -ALIGN, ALIGN)
        for place, (start, end) in enumerate(self.free_parts):
            if end - start >= room:
                if end - start == room:
                    del self.free_parts[place]
                else:
                    self.free_parts[place] = (start + room, end)
                self.blocks[start] = size
                return start
        raise MemoryError(f"no room for {size} bytes in the {self.size} of the device that can be changed")

    def free(self, address: int) -> None:
        """Give a block back; its neighbours that are free become one with it.  KeyError: there is none."""
        size = self.blocks.pop(address)
        start, end = address, address + max(size + ALIGN - 1 & -ALIGN, ALIGN)
        place = bisect_left(self.free_parts, (start, end))
        if place < len(self.free_parts) and self.free_parts[place][0] == end:
            end = self.free_parts.pop(place)[1]
        if place and self.free_parts[place - 1][1] == start:
            start = self.free_parts.pop(place - 1)[0]
        insort(self.free_parts, (start, end))
