"""Variables that device code has a copy of its own of, though the host's constructs with ``target`` use them.

What is not ``declare target`` is taken along by gcc's own lto1 (docs/accel.md).  That is right for what nobody changes;
but what the host maps or updates never reaches such a copy.  gfortran 12 makes no device variable of what is ``declare
target link``: trans-decl.c adds the attribute, varpool.cc (varpool_node::get_create) looks for that of ``declare target
to`` alone; GCC's accelerator compilers refuse such code (lto-cgraph.cc, verify_node_partition).
"""

from __future__ import annotations

from gompy.objects.elf import SHF_WRITE, SHN_COMMON, SHN_UNDEF, STB_GLOBAL, STT_OBJECT, Elf
from gompy.objects.naming import Names, base_name
from mkoffload.inputs import Input
from mkoffload.vtables import host_uses


def _data(elf: Elf) -> list[str]:
    """Names of the writable variables that the file defines."""
    sections = {s.index for s in elf.sections if s.flags & SHF_WRITE and not s.name.startswith(".data.rel.ro")}
    return [
        s.name
        for s in elf.symbols()
        if s.type == STT_OBJECT and s.size and (s.shndx in sections or s.shndx == SHN_COMMON)
    ]


def _shown(symbol: str) -> str:
    """The name that the user wrote: ``__m_MOD_x`` is variable x of module m."""
    module, found, name = symbol.removeprefix("__").partition("_MOD_")
    return f"‘{name}’ (module {module})" if found and symbol.startswith("__") else f"‘{symbol}’"


def own_copies(inputs: list[Input], image: Elf, table: Names) -> list[tuple[Input, str]]:
    """A message for each object with such variables.

    ``image``: the device code as linked, without what no region reaches; ``table``: names of its device variables.
    """
    device = {base_name(name) for name in _data(image)}
    device -= {base_name(name) for name in table if name is not None}
    device = {name for name in device if "." not in name}  # static locals: nobody else can name them
    messages: list[tuple[Input, str]] = []
    for item in inputs if device else ():
        if not item.has_ir or item.lto:
            continue
        mine = device & {
            s.name for s in item.elf.symbols() if s.type == STT_OBJECT and s.bind == STB_GLOBAL and s.shndx != SHN_UNDEF
        }
        found = sorted(host_uses(item.elf, mine.__contains__)) if mine else []
        if found:
            more = f" and {len(found) - 8} more" if len(found) > 8 else ""
            text = (
                f"no map or update reaches {', '.join(map(_shown, found[:8]))}{more} on the device, which has its own "
                "copy: it is not ‘declare target to’ (gfortran makes no device variables of ‘declare target link’)"
            )
            messages.append((item, text))
    return messages
