"""Pairing of the host's and the image's tables by object (docs/internals.md)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gompy.objects.names import (
    OBJECT_KIND_HOST_ONLY,
    OBJECT_KIND_ID,
    OBJECT_KIND_LTO,
    OBJECT_KIND_STOCK,
)
from gompy.objects.pairing import ObjectDesc, by_object
from gompy.objects.tables import ObjectRecord
from gompy.runtime.libgompy import MappingError, pair

Record = tuple[int, int, int, str]
Object = tuple[int, int, int, str, int]

A: Record = (0xA, 2, 1, "a.c")
B: Record = (0xB, 1, 0, "b.c")
C: Record = (0xC, 1, 2, "c.c")


def obj(record: Record, kind: int = OBJECT_KIND_ID) -> Object:
    """The image's description of an object."""
    return (*record, kind)


def test_all_linked() -> None:
    assert pair([A, B, C], [obj(A), obj(B), obj(C)], (4, 3), (4, 3)) == ([0, 1, 2, 3], [0, 1, 2])


def test_host_in_another_order() -> None:
    assert pair([C, A, B], [obj(A), obj(B), obj(C)], (4, 3), (4, 3)) == ([3, 0, 1, 2], [1, 2, 0])


def test_member_not_linked() -> None:
    """An object that was offered to the link but not linked: the image's entries of it are skipped."""
    assert pair([A, C], [obj(A), obj(B), obj(C)], (3, 3), (4, 3)) == ([0, 1, 3], [0, 1, 2])


def test_same_object_twice() -> None:
    assert pair([B, A, B], [obj(B), obj(A), obj(B)], (4, 1), (4, 1)) == ([0, 1, 2, 3], [0])


def test_joint_lto_table() -> None:
    """The record of id 0 stands for all objects that went through host LTO."""
    joint = (0, 3, 1, "ltrans0")
    objects = [obj((1, 2, 1, "x.c"), OBJECT_KIND_LTO), obj((2, 1, 0, "y.c"), OBJECT_KIND_LTO), obj(B)]
    assert pair([joint, B], objects, (4, 1), (4, 1)) == ([0, 1, 2, 3], [0])
    assert pair([B, joint], objects, (4, 1), (4, 1)) == ([3, 0, 1, 2], [0])


def test_host_only_object_has_no_device_code() -> None:
    plain = obj((0, 2, 1, "plain.c"), OBJECT_KIND_HOST_ONLY)
    assert pair([A, C], [obj(A), plain, obj(C)], (5, 4), (3, 3)) == ([0, 1, -1, -1, 2], [0, -1, 1, 2])


def test_stock_object_by_position() -> None:
    """With an object without a record, the pairing is by position, over what is linked."""
    stock = obj((0, 2, 0, "stock.c"), OBJECT_KIND_STOCK)
    assert pair([A, C], [obj(A), stock, obj(B), obj(C)], (5, 3), (6, 3)) == ([0, 1, 2, 3, 5], [0, 1, 2])


@pytest.mark.parametrize(
    ("records", "objects", "host", "image", "name"),
    [
        ([A], [(0xA, 3, 1, "a.c", OBJECT_KIND_ID)], (2, 1), (3, 1), "a.c"),
        ([A], [obj(A)], (1, 1), (2, 1), "a.c"),
        ([A], [obj(A)], (4, 1), (2, 1), "after the last"),
        ([A], [obj(A)], (2, 1), (3, 1), "list of objects"),
        ([(0, 4, 0, "ltrans0")], [obj(A, OBJECT_KIND_LTO)], (4, 0), (2, 1), "ltrans0"),
        ([A], [obj(A), obj((0, 2, 0, "stock.c"), OBJECT_KIND_STOCK)], (3, 1), (4, 1), "stock.c"),
        ([], [obj(A)], (2, 1), (2, 1), "after the last"),
    ],
)
def test_disagreement_names_the_object(
    records: list[Record], objects: list[Object], host: tuple[int, int], image: tuple[int, int], name: str
) -> None:
    with pytest.raises(MappingError) as error:
        pair(records, objects, host, image, "prog")
    text = str(error.value)
    assert text.startswith("libgompy: prog: offload tables of the host and of the device image disagree: ")
    assert name in text


def test_object_that_the_linker_kept_from_the_plugin() -> None:
    with pytest.raises(MappingError) as error:
        pair([A, B], [obj(A)], (3, 1), (2, 1), "prog")
    assert str(error.value) == (
        "libgompy: prog: object b.c has regions or device variables and is not in the device image: the linker plugin "
        "did not get it, or not its device code. If that was taken out (strip or objcopy, sections "
        ".gnu.offload_lto_*), compile it again; if the linker is mold before 2.30, link with -fuse-ld=bfd, or compile "
        "it with -flto, too"
    )


@st.composite
def links(draw: st.DrawFn) -> tuple[list[Object], list[Object]]:
    """Objects of a link and those of them that are in the program, in the program's order."""
    count = draw(st.integers(0, 8))
    objects: list[Object] = []
    for i in range(count):
        nfuncs, nvars = draw(st.integers(0, 4)), draw(st.integers(0, 3))
        objects.append((i + 1, nfuncs, nvars, f"o{i}.c", OBJECT_KIND_ID))
    kept = [o for o in objects if draw(st.booleans())]
    return objects, draw(st.permutations(kept))


@given(links())
def test_any_order_any_selection(link: tuple[list[Object], list[Object]]) -> None:
    """Each host entry gets the image entry of the same object and the same place in it."""
    objects, linked = link
    image_funcs = [(o[0], k) for o in objects for k in range(o[1])]
    image_vars = [(o[0], k) for o in objects for k in range(o[2])]
    host_funcs = [(o[0], k) for o in linked for k in range(o[1])]
    host_vars = [(o[0], k) for o in linked for k in range(o[2])]
    funcs, variables = pair(
        [o[:4] for o in linked], objects, (len(host_funcs), len(host_vars)), (len(image_funcs), len(image_vars))
    )
    assert [image_funcs[i] for i in funcs] == host_funcs
    assert [image_vars[i] for i in variables] == host_vars


Sizes = tuple[int, int]
KINDS = (OBJECT_KIND_ID, OBJECT_KIND_LTO, OBJECT_KIND_HOST_ONLY, OBJECT_KIND_STOCK)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Record], list[Object], Sizes, Sizes]:
    """Records, objects and tables' lengths of a link, some of them not what a link would give."""
    objects: list[Object] = []
    for i in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(KINDS))
        ident = draw(st.integers(1, 4)) if kind == OBJECT_KIND_ID else 0
        if kind == OBJECT_KIND_HOST_ONLY:  # compiled by gompcc, its device code taken out
            ident = draw(st.integers(0, 4))
        objects.append((ident, draw(st.integers(0, 3)), draw(st.integers(0, 2)), f"o{i}.c", kind))
    linked = [o for o in objects if o[0] == 0 or draw(st.booleans())]
    by_position = any(o[4] in (OBJECT_KIND_HOST_ONLY, OBJECT_KIND_STOCK) for o in linked)
    records = [o[:4] for o in linked if o[0]]
    joint = [o for o in objects if o[4] == OBJECT_KIND_LTO]
    if joint:
        records.append((0, sum(o[1] for o in joint), sum(o[2] for o in joint), "ltrans0"))
    if not by_position:
        records = draw(st.permutations(records))
    present = [o for o in objects if o[4] != OBJECT_KIND_HOST_ONLY]
    sizes = [sum(o[n] for o in some) for some in (linked, present) for n in (1, 2)]
    where = draw(st.integers(0, 5))
    if where < 4:
        sizes[where] += draw(st.integers(0, 1))
    elif where == 4 and records:
        index = draw(st.integers(0, len(records) - 1))
        ident, nfuncs, nvars, name = records[index]
        records[index] = draw(st.sampled_from([(ident, nfuncs + 1, nvars, name), (9, nfuncs, nvars, name)]))
    return records, objects, (sizes[0], sizes[1]), (sizes[2], sizes[3])


@pytest.mark.slow
@settings(max_examples=400)
@given(tables())
def test_inspect_pairs_as_the_runtime_does(link: tuple[list[Record], list[Object], Sizes, Sizes]) -> None:
    """The rule stands in Python for files and in the library for programs: the same pairs, and the same are refused."""
    records, objects, host, image = link
    mine = [ObjectRecord(ident, nfuncs, nvars, name) for ident, nfuncs, nvars, name in records]
    theirs = [ObjectDesc(ident, nfuncs, nvars, kind, name) for ident, nfuncs, nvars, name, kind in objects]
    shown = by_object(host, image, mine, theirs)
    try:
        funcs, variables = pair(records, objects, host, image)
    except MappingError:
        assert shown.errors
        return
    assert shown.errors == []
    assert [-1 if there is None else there for _, there in shown.funcs] == funcs
    assert [-1 if there is None else there for _, there in shown.vars] == variables
