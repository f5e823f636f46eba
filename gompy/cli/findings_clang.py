"""What is wrong with clang's entries and images: for each image, which entries of the program it does not define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gompy.objects.view import Damaged

if TYPE_CHECKING:
    from gompy.objects.clang_images import ClangEntry, ClangImage, ClangTables

Wrong = tuple[str, str, str, list[str]]
"""Kind, cause, mend, names of the entries."""

NO_IMAGE_MEND: Final = "link with gompclang or clang -fopenmp -fopenmp-targets=, as the objects were compiled"
MISSING_MEND: Final = "compile and link every object with the same -fopenmp-targets="
SHOWN: Final = 4


def counted(entries: list[ClangEntry]) -> str:
    """How many regions and variables."""
    regions = sum(entry.is_region for entry in entries)
    counts = ((regions, "region"), (len(entries) - regions, "other entr"))
    ends = {"region": ("", "s"), "other entr": ("y", "ies")}
    return " and ".join(f"{number} {what}{ends[what][number != 1]}" for number, what in counts if number)


def _listed(entries: list[ClangEntry]) -> str:
    names = [str(entry.name) for entry in entries]
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def clang_findings(tables: ClangTables, kind: str, first: int) -> list[Wrong]:
    """What is wrong in a file of a kind, whose images of clang's are numbered from ``first``.  Raises Damaged."""
    needed = [entry for entry in tables.entries if entry.in_image]
    if kind == "relocatable":
        return _object(tables, needed)
    if kind not in ("executable", "shared"):
        return []
    if needed and not tables.images:
        cause = f"no device image for its {counted(needed)} by clang: no linker wrapper registered one"
        return [("no-image", cause, NO_IMAGE_MEND, [str(entry.name) for entry in needed])]
    found: list[Wrong] = []
    for number, image in enumerate(tables.images, first):
        found += _image(f"image {number} ({image.target})", image, needed)
    return found


def _image(head: str, image: ClangImage, needed: list[ClangEntry]) -> list[Wrong]:
    try:
        lacking, differing = image.lacking(needed), image.differing(needed)
    except Damaged:
        return []  # told with the report
    found: list[Wrong] = []
    if lacking:
        cause = f"{head}: {len(lacking)} of the program's {len(needed)} entries not in the image: {_listed(lacking)}"
        found.append(("missing", cause, MISSING_MEND, [str(entry.name) for entry in lacking]))
    for entry, size in differing:
        cause = f"{head}: {entry.name} has {entry.size} bytes on the host, {size} in the image"
        found.append(("name", cause, "compile the objects again, host and device from one source", [str(entry.name)]))
    return found


def _object(tables: ClangTables, needed: list[ClangEntry]) -> list[Wrong]:
    """An object has its code in one image a target; several objects joined by ld -r in several."""
    found: list[Wrong] = []
    if needed and not tables.images:
        cause = f"no device code for its {counted(needed)} by clang"
        return [("no-image", cause, MISSING_MEND, [str(entry.name) for entry in needed])]
    for target in dict.fromkeys(image.target for image in tables.images):
        mine = [image for image in tables.images if image.target == target]
        try:
            if any(image.symbols is None for image in mine):
                continue
            known = {name for image in mine for name in image.symbols or ()}
        except Damaged:
            continue
        lacking = [entry for entry in needed if entry.name is not None and entry.name not in known]
        if lacking:
            cause = f"device code for {target} lacks {len(lacking)} of {len(needed)} entries: {_listed(lacking)}"
            found.append(("missing", cause, "compile it again", [str(entry.name) for entry in lacking]))
    return found
