"""What GCC's nvptx accelerator compiler makes: PTX objects one behind the other, and the marks in them for mkoffload.

Source: GCC 12 config/nvptx/mkoffload.cc (process, record_id) for the form, nvptx.cc (nvptx_record_offload_symbol,
nvptx_name_replacement) for the names.
"""

from __future__ import annotations

import re

from gompy.objects.naming import Names, comparable, host_spelling, ptx_name
from gompy.tools.process import ToolError
from mkoffload.nvptx_errata import mended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.ptx.simt import Mistake

Dims = tuple[int, int, int]
"""Gang, worker and vector sizes of an OpenACC region; 0: not fixed by the compiler.  OpenMP regions have (0, 0, 0)."""

_MARK = b"\n//:"
_CONSTRUCTORS = b".entry __do_global_ctors__entry"
_SIMT_STACK = b"%simtstack_ar"


class PtxImage:
    """``objects``: the code, each with its final NUL; ``functions`` and ``variables``: entries in the image's order.

    ``indirect``: functions of ``declare target indirect`` (GCC 14), as ``functions`` without sizes.
    ``mistakes``: of GCC in ``simd`` loops, which cannot be mended here.
    """

    mistakes: tuple[Mistake, ...] = ()

    def __init__(self, objects: list[bytes], functions: list[tuple[str, Dims]], variables: list[str]) -> None:
        self.objects = objects
        self.functions = functions
        self.variables = variables
        self.indirect: list[str] = []

    @property
    def constructs(self) -> bool:
        """Whether it constructs device variables: GCC 15's compiler makes a kernel of that, which the plugin runs."""
        return any(_CONSTRUCTORS in code for code in self.objects)

    @property
    def tables(self) -> tuple[Names, Names]:
        """Names of the entries as the host has them."""
        return [host_spelling(name) for name, _ in self.functions], [host_spelling(name) for name in self.variables]


def split(data: bytes, name: str) -> PtxImage:
    """Take the compiler's output apart.  ``name``: of the file, for messages.  Raises ToolError."""
    image = PtxImage([], [], [])
    chunks = data.split(b"\0")
    if not chunks[-1]:
        chunks.pop()
    for chunk in chunks:
        image.objects.append(mended(_strip(chunk.replace(b"\r", b""), image, name)) + b"\0")
    if not image.objects:
        raise ToolError(f"{name}: the accelerator compiler wrote no PTX")
    if any(_SIMT_STACK in code for code in image.objects):
        from gompy.ptx import simt

        texts, found = simt.mended([code.decode("utf-8", "surrogateescape") for code in image.objects])
        image.objects = [text.encode("utf-8", "surrogateescape") for text in texts]
        image.mistakes = tuple(found)
    return image


def missing_vtables(image: PtxImage) -> list[str]:
    """C++ vtables, and descriptions of types in such, that the code names though no object has them.

    GCC 12 streams few to accelerators, and its PTX does not even declare them: nvptx-ld cannot tell, the driver does.
    """
    found: dict[str, None] = {}
    for code in image.objects:
        if b"_ZTV" in code or b"_ZTT" in code:
            import re  # a third of the time that all of this tool's modules take together

            for name in re.findall(rb"[ \t,({](_ZT[VTI]\w+)", code):
                found[name.decode()] = None
    return [name for name in found if not any(f" VAR DEF: {name}\n".encode() in code for code in image.objects)]


def _strip(code: bytes, image: PtxImage, name: str) -> bytes:
    """The code without its marked lines, which are entered into the image's maps."""
    at = code.find(_MARK)
    if at < 0:
        return code
    parts = []
    start = 0
    while at >= 0:
        parts.append(code[start : at + 1])
        end = code.find(b"\n", at + 1)
        if end < 0:
            raise ToolError(f"{name}: malformed ptx file: its last line is cut off")
        _record(code[at + len(_MARK) : end].decode("utf-8", "surrogateescape"), image, name)
        start = end + 1
        at = code.find(_MARK, end)
    parts.append(code[start:])
    return b"".join(parts)


def _record(mark: str, image: PtxImage, name: str) -> None:
    """One mark: ``FUNC_MAP "name"[, gang, worker, vector]``, ``VAR_MAP "name"`` or ``IND_FUNC_MAP "name"``."""
    keyword, _, rest = mark.partition(" ")
    symbol, _, sizes = rest[1:].partition('"')
    numbers: list[int] = []
    try:
        numbers = [int(word, 16) for word in sizes.replace(",", " ").split()]
    except ValueError:
        keyword = ""
    if keyword == "FUNC_MAP" and symbol and len(numbers) in (0, 3):
        gang, worker, vector = numbers or (0, 0, 0)
        image.functions.append((symbol, (gang, worker, vector)))
    elif keyword == "VAR_MAP" and symbol and not numbers:
        image.variables.append(symbol)
    elif keyword == "IND_FUNC_MAP" and symbol and not numbers:
        image.indirect.append(symbol)
    else:
        raise ToolError(f"{name}: malformed ptx file: ‘//:{mark}’")


_DECLARATION = b"// BEGIN GLOBAL FUNCTION DECL: "
FUNCTION_TABLE, INDIRECT_TABLE = "$offload_func_table", "$offload_ind_func_table"
"""Arrays of functions' addresses that the plugin reads: for reverse offload, and of indirect functions."""


def table_object(image: PtxImage, table: str, functions: list[str | None]) -> bytes:
    """A PTX object that defines an array of functions' addresses (None: 0).  Raises ToolError if one is not declared.

    The function without contents keeps old drivers from taking the addresses for NULL (GCC PR 108098).
    """
    head = re.search(rb"\.version[^\n]*\n(?:[^\n]*\n)*?\.target[^\n]*\n", image.objects[-1])
    lines = [head[0] if head is not None else b".version 6.0\n.target sm_30\n", b".address_size 64\n"]
    dummy = f"{table}$dummy".encode()
    lines += [b".func " + dummy + b" ();\n.func " + dummy + b" ()\n{\n}\n"]
    for name in dict.fromkeys(filter(None, functions)):
        assert name is not None
        found = None
        for code in image.objects:
            found = found or re.search(_DECLARATION + re.escape(name.encode()) + rb"\n[^\n]*?(\.func [^\n]*)\n", code)
        if found is None:
            raise ToolError(f"no declaration of the function ‘{host_spelling(name)}’ in the device code")
        lines.append(b".extern " + found[1] + b"\n")
    words = ",".join(name or "0" for name in functions)
    lines.append(f".visible .global .align 8 .u64 {table}[] = {{{words}}};\n".encode())
    return b"".join(lines) + b"\0"


def order_for(host: Names, image: Names) -> list[int] | None:
    """Which entry of the image belongs to each of the host's, by name; entries of one name stay in order.

    None if the names do not tell: then the image's order is to be taken, and compared.  nvptx-tools' assembler writes
    the marks of variables in another order than the compiler where ``declare target link`` variables come first.
    """
    mine, theirs = comparable(host, ptx_name), comparable(image, ptx_name)
    if len(mine) != len(theirs) or mine == theirs or None in mine:
        return None
    places: dict[str | None, list[int]] = {}
    for index, name in enumerate(theirs):
        places.setdefault(name, []).append(index)
    order = []
    for name in mine:
        found = places.get(name)
        if not found:
            return None
        order.append(found.pop(0))
    return order
