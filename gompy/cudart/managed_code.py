"""`__managed__` variables of CUDA C++ by clang, which knows them in HIP only.

Device code and host code both compile a device variable in a section of its own (cuda_runtime.h).  The host's copy is
the variable: libcudart registers it (managed.pxi).  Device code comes to it by a pointer, NAME$managed, which
libcudart sets when the code is loaded; the first line of the PTX tells it which there are.
"""

from __future__ import annotations

import os
import re
import struct
from typing import Final

from gompy.driver.errors import DriverError
from gompy.objects.elf import Elf
from gompy.ptx.index import initial_bytes
from gompy.ptx.parser import parse

SECTION: Final = "gompy_managed"
"""Of the host's object; cuda_runtime.h names it, too."""
TITLE: Final = "// gompy managed:"
"""Begins the first line of the PTX; names follow, each behind a blank (managed.pxi)."""
POINTER: Final = "$managed"
"""Ends the name of a variable's pointer (managed.pxi)."""
PAGE: Final = 4096
"""Variables of two objects share no page: a GPU's own driver registers pages, and each once."""
ALIGNMENT_AT: Final = 48
"""sh_addralign in a section's header of ELF64."""
SYMBOL: Final = r"(?<![\w$%.])({})(?![\w$])"


def names(data: bytes, source: str) -> dict[str, int]:
    """The managed variables of a host object, and where their bytes lie in its file."""
    elf = Elf(data, source)
    section = elf.find(SECTION)
    if section is None:
        return {}
    return {
        symbol.name: section.offset + symbol.value
        for symbol in elf.symbols()
        if symbol.shndx == section.index and symbol.size
    }


def shared(ptx: bytes, variables: list[str], source: str) -> bytes:
    """Device code that comes to managed variables by their pointers.

    Raises DriverError where another variable begins with the address of one.
    """
    pattern = re.compile(SYMBOL.format("|".join(map(re.escape, variables))))
    lines, defined = [f"{TITLE} {' '.join(variables)}"], False
    for line in ptx.decode("utf-8", "surrogateescape").split("\n"):
        if line.startswith("\t.section"):
            defined = False  # what debuggers read names the variables as they are
        if not line.startswith("\t") and ".global" in line and (address := pattern.search(line.partition("=")[2])):
            raise DriverError(f"{source}: a variable begins with the address of '{address[1]}', which is __managed__")
        if not defined or not line.startswith("\t") or not line.endswith(";") or line.startswith("\t."):
            lines.append(line)
            if line.startswith(".address_size"):
                lines += [f".visible .const .align 8 .u64 {name}{POINTER};" for name in variables]
                defined = True
            continue
        used = sorted(set(pattern.findall(line)))
        if not used:
            lines.append(line)
            continue
        lines.append("\t{")
        code = line
        for number, name in enumerate(used):
            lines += [f"\t.reg .b64 %managed{number};", f"\tld.const.u64 %managed{number}, [{name}{POINTER}];"]
            code = re.sub(SYMBOL.format(re.escape(name)), f"%managed{number}", code)
        lines += [code, "\t}"]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def filled(data: bytes, ptx: bytes, source: str) -> bytes:
    """A host object whose managed variables begin as the device code says.  Raises DriverError."""
    made, module = bytearray(data), parse(ptx.decode("utf-8", "surrogateescape"), os.path.basename(source))
    for name, at in names(data, source).items():
        if name not in module.variables:
            continue
        content, addresses = initial_bytes(module.variables[name], source)
        if addresses:
            raise DriverError(f"{source}: the __managed__ variable '{name}' begins with an address: not implemented")
        made[at : at + len(content)] = content
    section = Elf(data, source).find(SECTION)
    if section is not None:
        (headers,) = struct.unpack_from("<Q", data, 40)
        struct.pack_into("<Q", made, headers + 64 * section.index + ALIGNMENT_AT, PAGE)
    return bytes(made)
