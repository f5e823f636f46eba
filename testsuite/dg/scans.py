"""dg-final: what the compiler's dumps have to hold.

Source: GCC 12 gcc/testsuite/lib/scandump.exp, scantree.exp, scanoffload*.exp, scanasm.exp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dg.messages import are
from dg.plan import Final

OFFLOAD_TARGET = "x86_64-intelmicemul-linux-gnu"
_SCAN = re.compile(r"scan-(?P<offload>offload-)?(?P<kind>tree|rtl|ipa)-dump(?P<how>-times|-not|-dem)?$")


def scan(
    final: Final, test: str, source: Path, directory: Path, offload_targets: Sequence[str]
) -> list[tuple[str, str]]:
    """Carry a scan out: (status, name) of each result, the name with the test's own blank before it removed."""
    command = final.words[0] if final.words else ""
    if command == "xfail":
        return [("XFAIL", test + final.words[1])]
    if command == "scan-assembler-not":
        listing = directory / f"{source.stem}.s"
        found = are(final.words[1]).search(listing.read_text(errors="replace")) if listing.exists() else None
        good = "UNRESOLVED" if not listing.exists() else "PASS" if found is None else "FAIL"
        return [(good, f"{test}{command} {final.words[1]}")]
    match = _SCAN.match(command)
    if not match:
        return [("UNRESOLVED", f"{test}{command} is not implemented by this runner")]
    times = match["how"] == "-times"
    dump = final.words[3 if times else 2]
    letters = {"tree": "t", "rtl": "r", "ipa": "i"}[match["kind"]]
    results = []
    for target in offload_targets if match["offload"] else ("",):
        suffix = f".x{target}.mkoffload" if target else ""
        label = command if not target else command.replace("scan-", f"scan-{target}-", 1)
        shown = f'{dump} "{final.words[1]}"' + (f" {final.words[2]}" if times else "")
        name = f"{test}{label} {shown}"
        base = f"{source.stem}{suffix}" if target else f"*{source.name}"
        found = sorted(directory.glob(f"{base}.[0-9][0-9][0-9]{letters}.{dump}"))
        if not target:
            found = [f for f in found if ".mkoffload." not in f.name]
        if len(found) != 1:
            results.append(("UNRESOLVED", name))
            continue
        hits = len(list(are(final.words[1]).finditer(found[0].read_text(errors="replace"))))
        good = hits == int(final.words[2]) if times else (hits == 0) == (match["how"] == "-not")
        if final.xfail:
            results.append(("XPASS" if good else "XFAIL", name))
        else:
            results.append(("PASS" if good else "FAIL", name))
    return results
