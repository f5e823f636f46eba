"""What routines copy (omp_target_memcpy): copies that a device refuses, and those that leave a block of its memory."""

from __future__ import annotations

import re

from gompy.abi.check_log import Copied
from gompy.check.associated import State
from gompy.check.blocks import Blocks
from gompy.check.failed import COPYING
from gompy.check.findings import Finding, Note
from gompy.check.log import Event
from gompy.check.mapped import Mapping, amount, made_here
from gompy.check.names import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import replace
else:
    from gompy.records import replace


def copied_finding(event: Event, place: Place, blocks: Blocks, state: State) -> Finding | None:
    """Why a routine's copy is wrong; None: nothing is known against it."""
    device, way = event.device, "from" if event.kind else "to"
    block = blocks.around(device, event.address)
    mapped = state.on_device(device, event.address, 1) if block is None else None
    gone = blocks.at(device, event.address) if block is None and mapped is None else None
    words = f"{event.what} is to copy {amount(event.size)} {way} {{}} on device {device}, "
    if gone is not None:
        finding = _about(gone, "unmapped-since", place, words + "which has been freed", event, gone.name)
        finding.notes.append(Note(gone.gone or Place(), f"freed here ({gone.gone_by})"))
        finding.mend = f"free {gone.name or 'it'} after the copy"
    elif (around := block or mapped) is not None:
        there = around.address + around.size - event.address
        if event.size <= there:
            return None
        if around is block:
            name, kind = blocks.pointer_to(block, event.frame), "past-block"
            made, mended = "are allocated", "was allocated, or allocate more"
        else:
            name, kind, made, mended = around.name, "past-section", "are mapped", "is mapped, or map more"
        finding = _about(around, kind, place, words + f"of which {amount(there)} {made}", event, name)
        finding.mend = f"copy no more of {name or 'it'} than {mended}"
    elif event.flags & Copied.REFUSED:
        name = state.names.at(event.address, 1, event.frame)
        why = "which is the host's" if name else "which has no such memory"
        text = words.format(name or f"{event.address:#x}") + why
        finding = Finding("mapping", place, text, device, "", name, event.address, event.size)
        finding.mend = "give an address of device memory that has so many bytes"
        if event.start and blocks.around(device, event.start) is not None:
            numbers = "addresses" if event.what.startswith("acc_") else "device numbers"
            finding.mend = f"exchange the two {numbers}: destination, then source"
    else:
        return None
    return finding


def refused_copy(text: str, event: Event) -> Event | None:
    """The copy that OpenACC's routine was to make, of the runtime's text; None: that is about something else."""
    match = re.search(COPYING, text)
    if match is None or not event.what.startswith("acc_memcpy_"):
        return None
    source, end, device, _ = (int(group, 16) for group in (match[1], match[2], match[4], match[5]))
    back = match[3] == "host"
    host, device = (device, source) if back else (source, device)
    return replace(event, kind=int(back), start=host, address=device, size=end - source, flags=Copied.REFUSED)


def _about(block: Mapping, kind: str, place: Place, words: str, event: Event, name: str) -> Finding:
    """A finding about a block, or a mapping, with where that was made."""
    finding = Finding(kind, place, words.format(name or "memory"), event.device, "", name, block.start, block.size)
    finding.notes.append(made_here(block, name))
    return finding
