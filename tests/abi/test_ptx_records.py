"""gompy/abi/ptx.py: records and enumerations that Python packs and the executor's C reads."""

from __future__ import annotations

import struct

import pytest

from gompy.abi import ptx
from gompy.native import generate


@pytest.mark.parametrize("record", ptx.RECORDS)
def test_records_have_no_gaps(record: str) -> None:
    """What struct packs without alignment lies so in C, and in an array of them."""
    packed = struct.calcsize(ptx.layout(record))
    assert packed == struct.calcsize("@" + ptx.layout(record)[1:])
    assert packed % (8 if "Q" in ptx.layout(record) else 4) == 0


def test_the_hashed_part_of_a_file_begins_behind_the_hash() -> None:
    """HASHED_FROM is where `check` ends."""
    fields = ptx.RECORDS["file_head"].split(", ")
    before = fields[: fields.index("16s check") + 1]
    assert struct.calcsize("<" + "".join(field.split(" ")[0] for field in before)) == ptx.HASHED_FROM


def test_names_of_numbers_differ() -> None:
    """Two enumerations do not share a member's whole name."""
    members = sum(len(names) + 1 for names in ptx.ENUMERATIONS.values())
    assert len(generate.ptx_numbers()) == members + len(generate.PTX_NUMBERS)
