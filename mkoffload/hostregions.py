"""``-Woffload-host``: which regions have no device code, told once at the link, where they stand in the source."""

from __future__ import annotations

import os

from gompy.abi.warnings import HOST, VARIABLE, setting
from gompy.tools.process import ToolError
from mkoffload.regionplaces import region_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.tools.messages import Log
    from mkoffload.inputs import Input

MOST_SHOWN = 20
"""Regions of one object that have a line of their own."""


class HostRegions:
    """Tells of objects without device code.  Where these are to be errors, ``end`` ends the link."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.level = setting(os.environ.get(VARIABLE, ""), HOST)
        self.failed = False

    def tell(self, item: Input, why: str, mend: str = "", whole: str = "its regions run on the host") -> None:
        """One line for each region, and the mend; where they have no places, one for the object.

        ``why``: what there is not.  ``whole``: what becomes of the object's regions.
        """
        if not self.level:
            return
        self.failed |= self.level == "error"
        flag = f"[-W{'error=' if self.level == 'error' else ''}{HOST}]"
        regions = list(zip(item.host_names()[0], region_places(item.elf), strict=True))
        if not regions or not all(name and place for name, place in regions):
            text = "; ".join(filter(None, (f"{item.shown}: {why}", whole, mend)))
            self._say(f"{self.log.program}: ", f"{text} {flag}")
            return
        for name, place in regions[:MOST_SHOWN]:
            self._say(f"{place}: ", f"{item.shown}: {why}; region ‘{name}’ runs on the host {flag}")
        if len(regions) > MOST_SHOWN:
            self.log.text(f"{item.shown}: note: and {len(regions) - MOST_SHOWN} more regions\n")
        if mend:
            self.log.text(f"{item.shown}: note: {mend}\n")

    def _say(self, before: str, text: str) -> None:
        self.log.text(f"{before}{self.level}: {text}\n")

    def end(self) -> None:
        """Raise ToolError where something was told that is to be an error."""
        if self.failed:
            raise ToolError(f"regions without device code are errors (-Werror={HOST})")
