"""What the runtime, a device or the emulated GPU's driver has said while the program ran: which finding it is."""

from __future__ import annotations

import os
import re

from gompy.check import constructs, regions
from gompy.check.log import Event
from gompy.check.names import Place
from gompy.check.readable import demangled, gpu_name
from gompy.check.situation import Situation
from gompy.check.streams import stream_finding, stream_race

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

PLACE_MIC: Final = r"(?: \((?:[^\n]*: )?([^:\n]*):(\d+)\))?"
PLACE_GPU: Final = r"(?: at ([^:\n]*):(\d+))?"
"""Where messages name a line: a file's name may have blanks and parentheses, a library's stands before it."""
REGION_MIC: Final = rf"region ([^\n]+?)(?:, in [^\n]+?)?{PLACE_MIC}: "
"""Names of C++ may have blanks, too: `f<long, unsigned long>._omp_fn.0`."""
FAULT_MIC: Final = rf"{REGION_MIC}(signal \d+ \([^)]*\)(?:: (.*))?)"
ADDRESS: Final = r"(?s)address (0x[0-9a-f]+) (.*)"
FAULT_GPU: Final = (
    rf"(?s)illegal address (0x[0-9a-f]+) (\w+) \(\d+ bytes\) in '[^']+'{PLACE_GPU}"
    r".*?, kernel '([^']+)'.*?; (.*)"
)
ENDED_GPU: Final = rf"(?s)launch failed: (.+?) in '[^']+'{PLACE_GPU}.*?, kernel '([^']+)', block"
NEWLIB: Final = "/newlib/libc/"
"""What the path of a source of the device's C library has."""
READ_GPU: Final = (
    r"(?s)device memory at (0x[0-9a-f]+) read \((\d+) bytes\) that (was never written|the host has changed [a-z ]*) in "
    rf"'[^']+'{PLACE_GPU}.*?, kernel '([^']+)'"
)
READ_MIC: Final = rf"{REGION_MIC}address (0x[0-9a-f]+) is read, which (nothing|the host)"
RACE_MIC: Final = (
    rf"{REGION_MIC}address (0x[0-9a-f]+) is (read|written), "
    rf"which another thread has (read|written){PLACE_MIC}, and nothing"
)
RACE_GPU: Final = (
    r"(?s)race on \w+ memory at (0x[0-9a-f]+) \(\d+ bytes\): (read|written|updated atomically) in '[^']+'"
    rf"{PLACE_GPU}.*?, and (read|written|updated atomically) in '[^']+'{PLACE_GPU}.*?"
    r"kernel '([^']+)'"
)


def gpu_place(file: str | None, line: str | None) -> Place:
    """A line of source as the driver tells it, which has the whole path."""
    return Place(os.path.basename(file or ""), int(line or 0))


def told(now: Situation, event: Event) -> None:
    """What the runtime, or a driver, has told the program of a region, or of a construct that fails."""
    text = event.payload.decode("utf-8", "replace").strip()
    if match := re.search(FAULT_MIC, text):
        region, file, line, signal, why = match.groups()
        region, place = demangled(region), Place(file or "", int(line or 0))
        if fault := re.fullmatch(ADDRESS, why or ""):
            regions.fault(now, region, place, int(fault[1], 16), fault[2])
        else:
            regions.ended(now, region, place, why if why and why.startswith("address ") else signal)
    elif match := re.search(FAULT_GPU, text):
        address, _, file, line, region, why = match.groups()
        regions.fault(now, gpu_name(region), gpu_place(file, line), int(address, 16), why)
    elif match := re.search(ENDED_GPU, text):
        why, file, line, region = match.groups()
        library = file is not None and NEWLIB in file
        regions.ended(now, gpu_name(region), Place() if library else gpu_place(file, line), why)
    elif match := re.search(READ_MIC, text):
        region, file, line, address, who = match.groups()
        place = Place(file or "", int(line or 0))
        regions.read_doubtful(now, demangled(region), place, int(address, 16), 1, who == "the host")
    elif match := re.search(RACE_MIC, text):
        region, file, line, address, late, early, other, at = match.groups()
        places = Place(file or "", int(line or 0)), Place(other or "", int(at or 0))
        regions.race(now, demangled(region), int(address, 16), (late, early), places)
    elif (queues := stream_race(text)) is not None:
        device, _ = now.launch_of()
        finding = stream_finding(device, now.on_device(device, queues[0]), queues, now.acc)
        now.found.setdefault(finding.key(), finding)
    elif match := re.search(RACE_GPU, text):
        address, early, other, at, late, file, line, region = match.groups()
        places = gpu_place(file, line), gpu_place(other, at)
        regions.race(now, gpu_name(region), int(address, 16), (late, early), places)
    elif match := re.search(READ_GPU, text):
        address, size, what, file, line, region = match.groups()
        place, changed = gpu_place(file, line), what.startswith("the host")
        regions.read_doubtful(now, gpu_name(region), place, int(address, 16), int(size), changed)
    elif event.thread in now.failed and text.startswith("libgomp: "):
        constructs.failure(now, now.failed.pop(event.thread), text.removeprefix("libgomp: "))
