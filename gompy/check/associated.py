"""Routines that map to device memory of the program's own, acc_map_data and its like: why they are refused."""

from __future__ import annotations

import re

from gompy.check.findings import Finding
from gompy.check.log import Event
from gompy.check.mapped import Mapping, amount, made_here
from gompy.check.names import Names, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
    from typing import Final
else:
    from gompy.records import dataclass

ROUTINES: Final = ("acc_map_data", "omp_target_associate_ptr")
TAKEN: Final = r"(host|device) address \[(0x[0-9a-f]+), \+(\d+)\] is already mapped"
REFUSED: Final = r"refusing to unmap block \[(0x[0-9a-f]+),\+(\d+)\] that has not been mapped by"
MIDDLE: Final = r"\[(0x[0-9a-f]+),(\d+)\] surrounds (0x[0-9a-f]+)"
ABSENT: Final = r"(0x[0-9a-f]+|\(nil\)) is not a mapped block"
STILL: Final = r"refusing to free device memory space at 0x[0-9a-f]+ that is still mapped at \[(0x[0-9a-f]+),\+(\d+)\]"


@dataclass(frozen=True, slots=True)
class State:
    """What a finding asks for: names, and what is mapped, by the host's address and size or by the device's."""

    names: Names
    on_host: Callable[[int, int, int], Mapping | None]
    on_device: Callable[[int, int, int], Mapping | None]


def is_associated(mapping: Mapping) -> bool:
    """Whether a routine has made it; then its contents are copied by updates alone."""
    return mapping.what in ROUTINES


def routine_finding(text: str, event: Event, place: Place, state: State) -> Finding | None:
    """Why a routine is refused, from the runtime's message; None: it is another one."""
    device, kind = event.device, "mapping"
    if match := re.search(TAKEN, text):
        size, mended = int(match[3]), "end the first mapping before this one"
        if match[1] == "host":
            start = int(match[2], 16)
            mapping = state.on_host(device, start, size)
            words = f"acc_map_data of {{}} ({amount(size)}), which is mapped to device {device} already"
        else:
            mapping = state.on_device(device, int(match[2], 16), size)
            start = mapping.start if mapping is not None else 0
            words = f"acc_map_data to {amount(size)} of device {device}'s memory, where {{}} is mapped already"
    elif match := re.search(STILL, text):
        start, size = int(match[1], 16), int(match[2])
        mapping = state.on_host(device, start, size)
        words = f"acc_free of memory of device {device} that {{}} ({amount(size)}) is mapped to"
        mended = "end that mapping before, or leave the memory to it"
    elif match := re.search(REFUSED, text):
        start, size = int(match[1], 16), int(match[2])
        mapping = state.on_host(device, start, size)
        words = f"acc_unmap_data of {{}} ({amount(size)}), which acc_map_data has not mapped"
        mended = "acc_delete, or exit data delete({})"
    elif match := re.search(MIDDLE, text):
        begin, size, start = int(match[1], 16), int(match[2]), int(match[3], 16)
        mapping = state.on_host(device, begin, size)
        words = f"acc_unmap_data of {{}} ({amount(size)}) by an address within it, from its byte {start - begin} on"
        start, mended = begin, "acc_unmap_data of where {} begins"
    elif match := re.search(ABSENT, text):
        start, size, kind = int(match[1], 16) if match[1].startswith("0x") else 0, 0, "not-present"
        mapping = None
        words = f"acc_unmap_data of {{}}, which is not mapped to device {device}"
        mended = "remove it, or add the acc_map_data that is missing"
    else:
        return None
    name = (mapping.name if mapping is not None else "") or (state.names.at(start, size, event.frame) if start else "")
    finding = Finding(kind, place, words.format(name or "memory"), device, "", name, start, size)
    finding.mend = mended.format(name or "it")
    if mapping is not None:
        finding.notes.append(made_here(mapping))
    return finding
