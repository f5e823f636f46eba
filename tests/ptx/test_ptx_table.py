"""The table of opcodes: each record is whole, and what it names is there."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType

import pytest

from gompy.ptx import opcodes
from gompy.ptx.emit import Links
from gompy.ptx.lower import FAMILIES, TABLE, lower
from gompy.ptx.opcodes import LANES, LANEWISE, NO_LANES, OPCODES, VARYING
from gompy.ptx.parser import parse
from gompy.ptx.syntax import PtxError
from gompy.ptx.uniform import Uniformity, analyse

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n.visible .entry k () { .reg .u32 %a, %b, %c; .reg .pred %p;\n"
LAZY = {
    name: import_module(f"gompy.ptx.{name}")
    for name in (
        *("rare", "half", "packed", "matrix", "sparse", "wmma", "textures", "surfaces", "asynchronous", "bulk"),
        *("clusters", "video"),
    )
}


def lowerings(module: ModuleType) -> set[str]:
    """The functions of a module that have an instruction as their last argument and return nothing."""
    return {
        name
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and list(inspect.signature(function).parameters) == ["em", "code"]
        and inspect.signature(function).return_annotation == "None"
    }


def test_what_records_name_is_there() -> None:
    """Lowerings are looked up when the compiler starts (or when one is needed): a name with a mistake is found here."""
    modules = {**FAMILIES, **LAZY}
    named = {place for r in OPCODES.values() for place in (r.lowering, r.rare, r.half, r.packed) if place}
    there = {f"{name}.{function}" for name, module in modules.items() for function in lowerings(module)}
    helpers = {
        "rare.lower",
        "rare.signed_extreme",
        "rare.extreme_of_three",
        "rare.extreme_of_lanes",
        "asynchronous.arrive_for_copies",
        "bulk.copy",
        "matrix.quads",
    }
    assert named == there - helpers


def test_records_of_one_kind_do_not_mix() -> None:
    """What GCC writes is never loaded late, what others write never at the start."""
    for record in OPCODES.values():
        assert record.lowering.partition(".")[0] not in LAZY
        assert {place.partition(".")[0] for place in (record.rare, record.half, record.packed) if place} <= set(LAZY)
    assert set(TABLE) == {name for name, record in OPCODES.items() if record.lowering}


def test_every_opcode_that_is_lowered_says_whether_its_result_crosses_lanes() -> None:
    """By one of the words, for each of which there is a rule."""
    rules = Uniformity(analyse(parse(HEAD + "ret; }").functions["k"], "E", True, "k")).crosses
    assert {LANEWISE, VARYING, NO_LANES, *rules} == set(LANES)
    assert {record.lanes for record in OPCODES.values()} == set(LANES)


@pytest.mark.parametrize(
    ("operands", "lanes"), [("d, a", ""), ("d, a", "perhaps"), ("d, a", NO_LANES), ("a", LANEWISE), ("", VARYING)]
)
def test_a_record_without_the_word_is_refused(operands: str, lanes: str) -> None:
    """When the table is made: an opcode that nobody thought of would be the same in all lanes, without a word."""
    with pytest.raises(ValueError, match=r"^opcode 'frob': 'lanes' does not say whether its result crosses lanes$"):
        opcodes.opcode("frob", operands, lanes)
    assert "frob" not in OPCODES


def test_other_records_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^opcode 'add' is entered twice$"):
        opcodes.opcode("add", "d, a, b", LANEWISE)
    with pytest.raises(ValueError, match=r"^opcode 'frob': unknown effect 'sings'$"):
        opcodes.opcode("frob", "d", LANEWISE, effect="sings")


def test_an_opcode_without_a_record_is_told_with_its_line() -> None:
    """The analysis takes its result for one that varies; nothing is compiled."""
    module = parse(HEAD + "mov.u32 %a, 1;\nfrobnicate.u32 %b, %a; ret; }", "x.ptx")
    function = module.functions["k"]
    assert {r.name for r in analyse(function, "E", True, "k").varying} == {"%b"}
    with pytest.raises(PtxError, match=r"^x\.ptx:6: error: unknown opcode 'frobnicate\.u32'$"):
        lower(function, "E", True, Links(), module, "k")


@pytest.mark.parametrize(
    ("opcode", "least", "most"),
    [("add", 3, 3), ("mad", 4, 4), ("lop3", 5, 6), ("carry", 3, 5), ("activemask", 1, 1), ("st", 2, 3), ("bar", 0, 2)],
)
def test_numbers_of_operands(opcode: str, least: int, most: int) -> None:
    assert (OPCODES[opcode].count, OPCODES[opcode].most) == (least, most)


@pytest.mark.parametrize(
    "text", ["add.u32 %a, %b;", "mad.lo.u32 %a, %b, %c;", "bfe.u32 %a, %b;", "popc.b32 %a, %b, %c;"]
)
def test_other_numbers_are_told(text: str) -> None:
    name = text.split()[0]
    given, wanted = text.count(",") + 1, OPCODES[name.partition(".")[0]].count
    with pytest.raises(PtxError, match=rf"^x\.ptx:5: error: '{name}' needs {wanted} operands, {given} given$"):
        parse(HEAD + text + "\nret; }", "x.ptx")


def test_results_and_effects() -> None:
    """The lists that the analyses use, as the PTX ISA has them."""
    assert not OPCODES["red"].result and OPCODES["atom"].result
    assert {"st", "red", "bar", "membar", "ret", "bra"} <= opcodes.NO_RESULT
    assert {"st", "ld", "atom", "red", "bar", "trap", "nanosleep"} <= opcodes.SIDE_EFFECTS
    assert not {"add", "shfl", "vote", "prefetch"} & opcodes.SIDE_EFFECTS
