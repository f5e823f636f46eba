"""What is wrong with the offload data of a file: the one comparison behind ``gompy verify`` and ``inspect --check``.

Host tables are held against each image's by name and order, streams against tables, objects against each other.  A
finding has a cause in the user's words and its mend; docs/diagnosis.md lists the kinds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gompy import plural
from gompy.objects import dynamic, names, streams, tables
from gompy.objects.naming import comparable, host_spelling
from gompy.objects.pairing import Pairing, differences
from gompy.objects.view import Damaged

if TYPE_CHECKING:
    from gompy.cli.inspect_report import Inspected
    from gompy.objects.decode import TableRef
    from gompy.objects.images import Image
    from gompy.objects.pairing import ObjectDesc

LINKED: Final = ("executable", "shared")
SHOWN: Final = 4
"""Regions that one line names; the rest is counted."""
NO_IMAGE_MEND: Final = "link with gompcc -fopenmp or -fopenacc, and without -static and -foffload=disable"
BFD_MEND: Final = "compile and link with gompcc, or link by ld.bfd"
NO_PTX_MEND: Final = "compile with gompy cuda cc, or with nvcc's -gencode arch=compute_80,code=compute_80 --no-compress"
NO_CODE_MEND: Final = "compile it again, with gompcc, without -foffload=disable, and do not strip it before the link"
KINDS: Final[dict[str, str]] = {
    "damaged": "a part of the file contradicts another",
    "empty": "no offload data at all",
    "outside": "entries that the linker has put beside the marks of the tables",
    "no-image": "regions and no device image, or kernels of CUDA and no PTX",
    "host-only": "an image without device code for some of the regions",
    "missing": "regions or variables that the image lacks",
    "dropped": "the image has entries that the program lacks",
    "order": "the same entries in another order",
    "name": "entries of different names at one place",
    "object": "the image's objects are not those of the program",
    "stream": "an object's streams and tables differ",
    "mixed": "objects with and without device code together",
}


@dataclass
class Finding:
    """One thing that is wrong with ``file``; ``regions`` are the names concerned, ``details`` a line for each entry."""

    file: str
    kind: str
    cause: str
    mend: str = ""
    regions: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, without the file."""
        keys = ("kind", "cause", "mend", "regions", "details")
        return {key: getattr(self, key) for key in keys}


def counted(funcs: int, variables: int) -> str:
    """``N regions and M variables``, as far as there are any."""
    counts = ((funcs, "region"), (variables, "variable"))
    return " and ".join(plural(number, what) for number, what in counts if number)


def listed(entries: Sequence[str]) -> str:
    """Some of the entries by name."""
    rest = len(entries) - SHOWN
    return ", ".join(entries[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def find(part: Inspected) -> list[Finding]:
    """What is wrong with one file or archive member; never raises Damaged."""
    file = part.report["file"]
    found = [Finding(file, "damaged", problem.removeprefix(f"{file}: ")) for problem in part.report["problems"]]
    if part.empty and not found:
        return [Finding(file, "empty", "no offload data", "compile with -fopenmp or -fopenacc")]
    try:
        return found + _compared(part)
    except Damaged as error:
        return [*found, Finding(file, "damaged", str(error).removeprefix(f"{file}: "))]


def _compared(part: Inspected) -> list[Finding]:
    found: list[Finding] = []
    host, elf = part.host, part.elf
    if elf is None:
        return found
    found += _by_clang(part)
    found += _of_cuda(part)
    if part.report["kind"] in LINKED:
        found += _outside(part)
        if not part.images and (host.funcs or host.vars):
            found.append(_no_image(part))
    if elf.relocatable:
        found += _streams(part)
        if not (host.funcs or host.vars):
            return found  # mkoffload's output: the host's tables are in other files
    for index, image in enumerate(part.images):
        found += _Comparison(part, index, image).findings()
    return found


def _of_cuda(part: Inspected) -> list[Finding]:
    """Kernels of CUDA that no PTX has: the emulated GPU runs nothing else."""
    if not part.cuda or any(image.kind == "ptx" and not image.packed for image in part.cuda):
        return []
    has = ", ".join(f"{image.about} for sm_{image.architecture}" for image in part.cuda)
    cause = f"no PTX of its kernels of CUDA that the emulated GPU could run: it has {has}"
    return [Finding(part.report["file"], "no-image", cause, NO_PTX_MEND)]


def _by_clang(part: Inspected) -> list[Finding]:
    if not part.clang.entries:
        return []
    from gompy.cli.findings_clang import clang_findings

    file, first = part.report["file"], len(part.images)
    found = clang_findings(part.clang, part.report["kind"], first)
    return [Finding(file, kind, cause, mend, regions, [cause]) for kind, cause, mend, regions in found]


def check(part: Inspected) -> list[str]:
    """What does not agree in a file, one line each: what ``gompy inspect --check`` prints."""
    return [line for finding in find(part) for line in finding.details]


def host_only(part: Inspected) -> int:
    """How many regions of a linked file have an image, but no device code in it: in the worst of its images."""
    pairings = [image.pair(part.host, part.records) for image in part.images]
    return max((sum(theirs is None for _, theirs in pairing.funcs) for pairing in pairings), default=0)


def _outside(part: Inspected) -> list[Finding]:
    """Entries of the tables' sections that are not between the marks: a linker that did not keep them together."""
    elf = part.elf
    assert elf is not None
    left = []
    for section, size, inside in (
        (names.OFFLOAD_FUNC_SECTION, names.FUNC_ENTRY_SIZE, len(part.host.funcs)),
        (names.OFFLOAD_VAR_SECTION, names.VAR_ENTRY_SIZE, len(part.host.vars)),
    ):
        left.append(max(0, sum(s.size for s in elf.sections if s.name == section) // size - inside))
    if not any(left):
        return []
    by = dynamic.linker(elf)
    cause = f"{counted(*left)} outside of the tables' marks: {by or 'the linker'} did not keep the sections together"
    return [Finding(part.report["file"], "outside", cause, BFD_MEND, [], [cause])]


def _no_image(part: Inspected) -> Finding:
    assert part.elf is not None
    what = counted(len(part.host.funcs), len(part.host.vars))
    detail = f"no device image for its {what}: they are the host's alone ({NO_IMAGE_MEND})"
    libraries = dynamic.needed(part.elf)
    if dynamic.is_static(part.elf):
        why, mend = "the program is static, and devices come with a shared library", "link without -static"
    elif any(name.startswith("libgompy.so") for name in libraries):
        why = "gompcc linked it, but no object brought device code, or its image was removed"
        mend = "compile with gompcc -fopenmp, link without -foffload=disable and not by lld (docs/driver.md)"
        linker = dynamic.linker(part.elf)
        if linker.startswith(("mold", "LLD")):
            why = f"{linker} linked it, and gave gcc's plugin no object with device code, or its image was removed"
            mend = "link by ld.bfd or gold" + (", or compile with -flto, too" if linker.startswith("mold") else "")
            mend += " (docs/driver.md)"
    else:
        why = "it was linked by a gcc that makes no device code, or with -foffload=disable"
        mend = NO_IMAGE_MEND
    return Finding(
        part.report["file"],
        "no-image",
        f"no device image for its {what}: {why}",
        mend,
        shown(part, range(len(part.host.funcs))),
        [detail],
    )


def shown(part: Inspected, indices: Iterable[int]) -> list[str]:
    """Regions of the host's table by name, with their places as far as the file tells them."""
    lines = part.lines
    found = []
    for index in indices:
        entry = part.host.funcs[index] if index < len(part.host.funcs) else None
        if entry is None:
            continue
        name = entry.name or (f"{entry.address:#x}" if entry.address is not None else f"entry {index}")
        place = lines.at(entry.address) if entry.address is not None and lines is not None else ""
        found.append(f"{name} ({place})" if place else name)
    return found


class _Comparison:
    """One image beside the tables of its host file."""

    def __init__(self, part: Inspected, index: int, image: Image) -> None:
        self.part, self.image = part, image
        self.file = part.report["file"]
        self.head = f"image {index} ({image.target})"
        self.pairing: Pairing = image.pair(part.host, part.records)
        assert part.elf is not None
        self.linker = dynamic.linker(part.elf)

    def findings(self) -> list[Finding]:
        """What does not agree, functions before variables, then what the host has alone."""
        found = []
        if self.image.objects:
            for error in self.pairing.errors:
                mend = "an object has lost its device code after it was compiled, or another linker has left one out"
                found.append(self._made("object", error, f"{mend}: compile it again and link with gompcc", [], [error]))
        host, image = self.part.host, self.image.tables
        for what, noun, pairs, mine, theirs in (
            ("functions", "region", self.pairing.funcs, host.funcs, image.funcs),
            ("variables", "variable", self.pairing.vars, host.vars, image.vars),
        ):
            details = [f"{what}: {line}" for line in differences(pairs, mine, theirs, self.image.rule)]
            if not self.image.objects:
                if len(mine) != len(theirs):
                    details.insert(0, f"{len(mine)} {what} on the host, {len(theirs)} in the image")
                found += self._tables(noun, mine, theirs, details)
            elif details:
                found += self._names(noun, pairs, mine, theirs, details)
        return found + [self._host_only(*alone) for alone in self.pairing.host_only]

    def _made(self, kind: str, cause: str, mend: str, regions: list[str], details: list[str]) -> Finding:
        prefixed = [f"{self.head}: {line}" for line in details]
        return Finding(self.file, kind, f"{self.head}: {cause}", mend, regions, prefixed)

    def _tables(
        self, noun: str, mine: Sequence[tables.Entry], theirs: Sequence[tables.Entry], details: list[str]
    ) -> list[Finding]:
        """Whole tables, paired by position."""
        if not details:
            return []
        ours = comparable([entry.name for entry in mine], self.image.rule)
        other = comparable([entry.name for entry in theirs], self.image.rule)
        if mine and theirs and (None in ours or None in other):
            cause = f"{plural(len(mine), noun)} on the host, {len(theirs)} in the image"
            kind = "missing" if len(mine) > len(theirs) else "dropped"
            return [self._made(kind, cause, self._mend(kind, noun, bool(mine)), [], details)]
        lacks, alone = Counter(ours) - Counter(other), Counter(other) - Counter(ours)
        if len(mine) == len(theirs) and lacks:
            return [self._made("name", f"{noun}s: {_first(details)}", self._mend("name", noun, True), [], details)]
        found = []
        if alone:
            extra = [
                host_spelling(text) if self.image.target == names.TARGET_NVPTX else text
                for text in (entry.name or "?" for entry in theirs)
                if self.image.rule(text) in alone
            ]
            where = f"the program's table has {len(mine) or 'none'}"
            cause = f"{plural(len(theirs), noun)} in the image, {where}; not in the program: {listed(extra)}"
            found.append(self._made("dropped", cause, self._mend("dropped", noun, bool(mine)), extra, details))
        if lacks:
            numbers = [number for number, name in enumerate(ours) if name in lacks]
            left = [str(name) for name in (mine[number].name for number in numbers)]
            left = shown(self.part, numbers) if noun == "region" else left
            cause = f"{len(lacks)} of the program's {plural(len(mine), noun)} not in the image: {listed(left)}"
            mend = self._mend("missing", noun, True)
            found.append(self._made("missing", cause, mend, left, [] if found else details))
        if not found:
            cause = f"the {plural(len(mine), noun)} stand in another order: {_first(details)}"
            found.append(self._made("order", cause, self._mend("order", noun, True), [], details))
        return found

    def _names(
        self,
        noun: str,
        pairs: Sequence[tuple[int, int | None]],
        mine: Sequence[tables.Entry],
        theirs: Sequence[tables.Entry],
        details: list[str],
    ) -> list[Finding]:
        """Entries paired by object whose names differ."""
        known = [(a, b) for a, b in pairs if b is not None and a < len(mine) and b < len(theirs)]
        ours = comparable([mine[a].name for a, _ in known], self.image.rule)
        other = comparable([theirs[b].name for _, b in known], self.image.rule)
        kind = "order" if Counter(ours) == Counter(other) else "name"
        cause = f"{noun}s: {_first(details)}"
        return [self._made(kind, cause, self._mend(kind, noun, True), [], details)]

    def _host_only(self, item: ObjectDesc, func: int, variable: int) -> Finding:
        """An object that the link took without device code."""
        what = counted(item.funcs, item.vars)
        regions = shown(self.part, range(func, func + item.funcs))
        if item.id:
            why, mend = "its device code was taken out after gompcc compiled it", NO_CODE_MEND
        elif self.image.target == names.TARGET_INTELMIC:
            why = "plain gcc compiled it, or gompcc with -foffload=disable"
            mend = f"{NO_CODE_MEND}; or take it as it is: gompy accel build"
        else:
            why, mend = "it has no offload streams", NO_CODE_MEND
        text = f": {listed(regions)}" if regions else ""
        cause = f"no device code of {item.name}, so its {what} are the host's alone ({why}){text}"
        return self._made("host-only", cause, mend, regions, [])

    def _mend(self, kind: str, noun: str, some: bool) -> str:
        """What to do about tables that do not agree; ``some``: the host has entries."""
        if kind in ("dropped", "order") and self.linker:
            return f"{self.linker} linked it: {BFD_MEND}"
        if kind == "dropped" and not some:
            return "the linker dropped the tables (--gc-sections): link without it, or compile with gompcc"
        if kind == "dropped":
            return (
                "the linker left out objects whose device code lto-wrapper took (members of an archive, GCC PR109128): "
                "link with gompcc, which pairs object by object"
            )
        if kind == "missing":
            return "compile and link every object with the same -foffload=; gompcc names those without device code"
        if kind == "order" and noun == "variable":
            return (
                "nvptx's assembler moves the marks of 'declare target link' variables: "
                "link with gompcc, which orders them by name"
            )
        if kind == "order":
            return f"the objects' tables are not in lto-wrapper's order: {BFD_MEND}"
        return "the image belongs to other objects than the program: link it again, or put the right image in"


def _first(details: Sequence[str]) -> str:
    """The first difference, without the word of the table, and how many follow."""
    line = details[0].partition(": ")[2]
    return line + (f"; and {len(details) - 1} more" if len(details) > 1 else "")


def _streams(part: Inspected) -> list[Finding]:
    """An object's streams beside its tables."""
    host, file = part.host, part.report["file"]
    if not (host.funcs or host.vars):
        return []
    found = []
    for family in ("offload", "lto", "device-ir"):
        refs = [ref for unit, refs in part.units if unit.family == family for ref in refs]
        details = [f"{streams.FAMILY_PREFIXES[family]}.offload_table: {line}" for line in _stream(refs, host)]
        if details:
            more = f"; and {len(details) - 1} more" if len(details) > 1 else ""
            found.append(Finding(file, "stream", details[0] + more, "compile it again", [], details))
    return found


def _stream(refs: Sequence[TableRef], host: tables.Tables) -> list[str]:
    """Compare the entries of one family of streams with the tables."""
    if not refs:
        return []
    found: list[str] = []
    for what, kind, entries in (
        ("functions", "func", host.funcs),
        ("variables", "var", host.vars),
        ("indirect functions", "indirect", host.indirect),
    ):
        mine = [ref.name for ref in refs if ref.kind == kind]
        if len(mine) != len(entries):
            found.append(f"{len(mine)} {what} in the stream, {len(entries)} in the table")
            continue
        for index, (name, entry) in enumerate(zip(mine, entries, strict=True)):
            if name is not None and entry.name is not None and name != entry.name:
                found.append(f"{what}: entry {index}: {name} in the stream, {entry.name} in the table")
    return found


def mixed(parts: Iterable[Inspected]) -> list[Finding]:
    """Objects with regions that lack what other objects of the same command have: ``-foffload=`` was not everywhere."""
    objects = [
        part
        for part in parts
        if part.elf is not None and part.elf.relocatable and not part.images and (part.host.funcs or part.host.vars)
    ]
    families = [{unit.family for unit, _ in part.units} for part in objects]
    found = []
    for part, has in zip(objects, families, strict=True):
        what = counted(len(part.host.funcs), len(part.host.vars))
        regions = [entry.name or "?" for entry in part.host.funcs]
        if not has:
            cause = f"no device code for its {what}: it has no streams"
        elif has == {"offload"} and any(other != {"offload"} and other for other in families):
            cause = f"no device code for the emulated MIC for its {what}, which other objects have"
            cause += ": plain gcc compiled it, or gompcc with -foffload=disable"
        else:
            continue
        found.append(Finding(part.report["file"], "mixed", cause, NO_CODE_MEND, regions))
    return found
