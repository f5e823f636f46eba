"""Loads, stores and fences with an order in LLVM's code for a GPU, by the device's own instructions.

LLVM's code generator for PTX had no loads with acquire order up to release 18, and ends by an error ("Cannot select").
A program that has such a load is compiled to LLVM's code, which is changed here, and that to PTX.  Source: LLVM
Language Reference ("Atomic Memory Ordering Constraints"), PTX ISA ("ld", "st", "fence"; sm_70 and later have them).
"""

from __future__ import annotations

import re
from typing import Final

FIRST_ARCHITECTURE: Final = 70
SCOPES: Final = {"": "sys", "block": "cta", "workgroup": "cta", "device": "gpu", "agent": "gpu", "singlethread": "cta"}
SPACES: Final = {"": "", "1": ".global", "3": ".shared"}
BITS: Final = {"8": ("b8", "h"), "16": ("b16", "h"), "32": ("b32", "r"), "64": ("b64", "l")}
"""Of an integer: the instruction's type, the constraint of its register.  A byte travels in one of 16 bits."""
POINTER: Final = r"(?:ptr|i\d+)(?: addrspace\((?P<space>\d+)\))?\*?"
TAIL: Final = r"(?: syncscope\(\"(?P<scope>[\w-]+)\"\))? (?P<order>acquire|release|seq_cst), align \d+"
LOAD: Final = re.compile(
    rf"^(?P<to>\s*%[\w.]+ = )load atomic (?:volatile )?i(?P<bits>\d+), (?P<type>{POINTER}) (?P<from>[%@][\w.$]+){TAIL}",
    re.MULTILINE,
)
STORE: Final = re.compile(
    r"^(?P<to>\s*)store atomic (?:volatile )?i(?P<bits>\d+) (?P<value>[^,]+), "
    rf"(?P<type>{POINTER}) (?P<from>[%@][\w.$]+){TAIL}",
    re.MULTILINE,
)
FENCE: Final = re.compile(
    r"^\s*fence(?: syncscope\(\"(?P<scope>[\w-]+)\"\))? (?P<order>acquire|release|acq_rel|seq_cst)", re.MULTILINE
)


def is_ours(error: str) -> bool:
    """Whether this is why clang ended."""
    return "Cannot select" in error and re.search(r"Atomic(?:Load|Store|Fence)", error) is not None


def _fence(scope: str, order: str) -> str:
    """A fence as a statement."""
    kind = "sc" if order == "seq_cst" else "acq_rel"
    return f'  call void asm sideeffect "fence.{kind}.{SCOPES.get(scope, "sys")};", "~{{memory}}"()\n'


def _access(found: re.Match[str], is_load: bool) -> str:
    """A load or store by an instruction; left alone where there is none for its size and place."""
    space, scope = found["space"] or "", found["scope"] or ""
    if found["bits"] not in BITS or space not in SPACES:
        return found[0]
    kind, register = BITS[found["bits"]]
    wide = "16" if kind == "b8" else found["bits"]
    before = _fence(scope, "seq_cst") if found["order"] == "seq_cst" else ""
    place = f"{SCOPES.get(scope, 'sys')}{SPACES[space]}.{kind}"
    address = f"{found['type']} {found['from']}"
    narrow = f"i{found['bits']}"
    if is_load:
        name = found["to"].strip().removesuffix("=").strip()
        to = name if wide == found["bits"] else f"%ordered.{found.start()}"
        asm = f'"ld.acquire.{place} $0, [$1];", "={register},l,~{{memory}}"'
        text = f"{before}  {to} = call i{wide} asm sideeffect {asm}({address})"
        return text if to == name else f"{text}\n  {name} = trunc i{wide} {to} to {narrow}"
    value = found["value"]
    if wide != found["bits"]:
        value = f"%ordered.{found.start()}"
        before += f"  {value} = zext {narrow} {found['value']} to i{wide}\n"
    asm = f'"st.release.{place} [$0], $1;", "l,{register},~{{memory}}"'
    return f"{before}  call void asm sideeffect {asm}({address}, i{wide} {value})"


def lowered(code: str) -> str:
    """LLVM's code with the device's instructions for what has an order."""
    code = LOAD.sub(lambda found: _access(found, True), code)
    code = STORE.sub(lambda found: _access(found, False), code)
    return FENCE.sub(lambda found: _fence(found["scope"] or "", found["order"]).rstrip("\n"), code)
