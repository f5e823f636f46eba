"""Random sequences of mapping constructs on the runtime's own mapping functions, against the model of the rules."""

from __future__ import annotations

import ctypes
import sys

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from machine_steps import examples
from mapping_model import Counter, Entry, Mapping, Model, Record, Refused

from gompy.runtime.libgompy import MAP_KINDS, Device, MappingError

SLOTS, SLOT = 6, 16
STRUCT = SLOTS * SLOT
"""The struct, four members of 8 bytes, is mapped by members only."""
SIZE = STRUCT + 32

kinds = st.sampled_from(["alloc", "to", "from", "tofrom", "always_to", "always_from", "always_tofrom"])
whole_slots = st.integers(0, SLOTS - 1).map(lambda i: (i * SLOT, SLOT))
parts = st.tuples(st.integers(0, SLOTS - 1), st.integers(0, 12), st.integers(1, 8)).map(
    lambda t: (t[0] * SLOT + t[1], min(t[2], STRUCT - t[0] * SLOT - t[1]))
)
ranges = st.one_of(whole_slots, whole_slots, whole_slots, parts)
map_entries = st.lists(st.tuples(ranges, kinds).map(lambda t: (*t[0], t[1])), min_size=1, max_size=4)
sections = st.integers(0, STRUCT - 1).map(lambda p: (p, 0, "zero_len_array_section"))
target_entries = st.lists(
    st.one_of(st.tuples(ranges, kinds).map(lambda t: (*t[0], t[1])), sections), min_size=0, max_size=5
)
exit_entries = st.lists(
    st.one_of(
        st.tuples(ranges, st.sampled_from(["from", "always_from", "release", "delete"])).map(lambda t: (*t[0], t[1])),
        sections,
        st.integers(0, STRUCT - 1).map(lambda p: (p, 0, "delete_zero_len_array_section")),
    ),
    min_size=1,
    max_size=4,
)
update_entries = st.lists(
    st.tuples(ranges, st.sampled_from(["to", "from"])).map(lambda t: (*t[0], t[1])), min_size=1, max_size=3
)
member_sets = st.sets(st.integers(0, 3), min_size=1).map(sorted)
noise = st.binary(min_size=4, max_size=4)


HOW = ["before", "after", "enter"]


def check(what: bool) -> None:
    assert what


class MappingMachine(RuleBasedStateMachine):
    """The constructs of a program, in any order and nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = ctypes.create_string_buffer(bytes(range(SIZE)), SIZE)
        self.base = ctypes.addressof(self.memory)
        self.declared = ctypes.create_string_buffer(SLOT)
        self.pointer = ctypes.c_void_p(self.base)
        self.device = Device()
        self.model = Model(bytearray(self.memory.raw))

    def start_over(self) -> None:
        """A device without mappings: after a failure the old one is of no use, as the program would be over."""
        self.device.close()
        self.device = Device()
        self.model = Model(bytearray(self.memory.raw))

    def teardown(self) -> None:
        self.device.close()

    @initialize(declare=st.booleans())
    def declare(self, declare: bool) -> None:
        """A declare target variable in slot 0."""
        if declare:
            self.device.declare(self.base, ctypes.addressof(self.declared), SLOT)
            self.model.new(0, SLOT, Counter(None), "alloc").data[:] = self.declared.raw

    def real(self, entries: list[Entry]) -> list[tuple[int, int, int]]:
        return [(self.base + start, size, MAP_KINDS[kind]) for start, size, kind in entries]

    def both(self, ours: object, model: object) -> object:
        """Do the same on both sides; if the model refuses, ours must, with that message."""
        try:
            result = model()  # type: ignore[operator]
        except Refused as refused:
            with pytest.raises(MappingError, match=str(refused)):
                ours()  # type: ignore[operator]
            self.start_over()
            return None
        ours()  # type: ignore[operator]
        return result

    # --- the program's own doing ---

    @rule(at=st.integers(0, SIZE - 4), data=noise)
    def host_writes(self, at: int, data: bytes) -> None:
        ctypes.memmove(self.base + at, data, 4)
        self.model.host[at : at + 4] = data

    def write_device(self, at: int, data: bytes) -> None:
        for m in self.model.mapped:
            if m.start <= at and at + 4 <= m.end:
                address = self.device.address(self.base + at, 4)
                assert address is not None
                self.device.write(address, data)
                m.data[at - m.start : at - m.start + 4] = data

    def with_pointer(self, entries: list[Entry], kind: str | None) -> list[tuple[int, int, int]]:
        """As GCC lists `p[:n]`: behind it p, to be attached or detached, which is not mapped."""
        pointer = [(ctypes.addressof(self.pointer), 0, MAP_KINDS[kind])] if kind else []
        return [*self.real(entries), *pointer]

    # --- constructs ---

    @rule(entries=map_entries, pointer=st.sampled_from([None, "attach"]))
    def enter_data(self, entries: list[Entry], pointer: str | None) -> None:
        real = self.with_pointer(entries, pointer)
        self.both(lambda: self.device.enter_data(real), lambda: self.model.map(entries, []))

    @rule(entries=exit_entries, pointer=st.sampled_from([None, "detach", "force_detach"]))
    def exit_data(self, entries: list[Entry], pointer: str | None) -> None:
        if any(len(self.model.overlapping(start, start + size)) > 1 for start, size, _ in entries):
            return  # which of them the runtime finds is not defined
        real = self.with_pointer(entries, pointer)
        self.both(lambda: self.device.exit_data(real), lambda: self.model.exit(entries))

    @rule(entries=update_entries)
    def update(self, entries: list[Entry]) -> None:
        self.both(lambda: self.device.update(self.real(entries)), lambda: self.model.update(entries))

    @rule(entries=map_entries)
    def begin_data(self, entries: list[Entry]) -> None:
        records = self.both(lambda: self.device.begin_data(self.real(entries)), lambda: self.model.map(entries, []))
        if records is not None:
            self.model.open.append(records)  # type: ignore[arg-type]

    @precondition(lambda self: self.model.open)
    @rule()
    def end_data(self) -> None:
        self.device.end_data()
        self.model.unmap(self.model.open.pop())

    @rule(entries=target_entries, writes=st.lists(st.tuples(st.integers(0, SIZE - 4), noise), max_size=3))
    def target(self, entries: list[Entry], writes: list[tuple[int, bytes]]) -> None:
        records: list[Record | None] = []

        def region(words: list[int]) -> None:
            for (start, size, _), word, record in zip(entries, words, records, strict=True):
                there = self.device.address(self.base + start, max(size, 1))
                assert word == (self.base + start if record is None else there), "what is not mapped keeps its value"
            for at, data in writes:
                self.write_device(at, data)

        def model() -> None:
            records.extend(self.model.map(entries, []))

        def ours() -> None:
            self.device.target(self.real(entries), region)
            self.model.unmap(records)

        self.both(ours, model)

    def struct_is_clear(self, members: list[int]) -> bool:
        """Whether the members that are mapped up to the last one belong to one mapping of the struct."""
        last = STRUCT + members[-1] * 8 + 8
        return len({m.group for m in self.model.overlapping(STRUCT, last)}) <= 1

    @rule(members=member_sets, kind=kinds)
    def enter_struct(self, members: list[int], kind: str) -> None:
        if not self.struct_is_clear(members):
            return  # which of the two the runtime finds is not defined
        entries = [(STRUCT + m * 8, 8, kind) for m in members]
        real = [(self.base + STRUCT, len(members), MAP_KINDS["struct"]), *self.real(entries)]
        self.both(lambda: self.device.enter_data(real), lambda: self.model.map_struct(entries, [], STRUCT))

    @rule(members=member_sets, kind=kinds, data=noise)
    def target_struct(self, members: list[int], kind: str, data: bytes) -> None:
        if not self.struct_is_clear(members):
            return
        entries = [(STRUCT + m * 8, 8, kind) for m in members]
        real = [(self.base + STRUCT, len(members), MAP_KINDS["struct"]), *self.real(entries)]
        records: list[Record | None] = []

        def region(words: list[int]) -> None:
            assert words[1] - words[0] == members[0] * 8
            assert words[1:] == [self.device.address(self.base + start) for start, _, _ in entries]
            self.write_device(STRUCT + members[0] * 8, data)

        def ours() -> None:
            self.device.target(real, region)
            self.model.unmap(records)

        self.both(ours, lambda: records.extend(self.model.map_struct(entries, [], STRUCT)))

    @rule(
        members=member_sets, pointers=member_sets, kind=kinds, pointee=st.integers(0, STRUCT), how=st.sampled_from(HOW)
    )
    def struct_with_pointers(self, members: list[int], pointers: list[int], kind: str, pointee: int, how: str) -> None:
        """Members are listed, and pointers of the struct attached, before or after them, that nothing lists."""
        pointers = [p for p in pointers if p not in members]
        if self.model.overlapping(STRUCT, SIZE) or not pointers or (how == "enter" and kind not in ("alloc", "to")):
            return
        for p in pointers:
            self.host_writes(STRUCT + p * 8, (self.base + pointee).to_bytes(8, sys.byteorder)[:4])
            self.host_writes(STRUCT + p * 8 + 4, (self.base + pointee).to_bytes(8, sys.byteorder)[4:])
        entries = [(STRUCT + m * 8, 8, kind) for m in members]
        real = [(self.base + STRUCT, len(members), MAP_KINDS["struct"]), *self.real(entries)]
        attach = MAP_KINDS["attach_zero_length_array_section"]
        attached = [(self.base + STRUCT + p * 8, 0, attach) for p in pointers]
        real = [*attached, *real] if how == "before" else [*real, *attached]

        def values() -> list[bytes]:
            """What the device's pointers are to be: where the target is, or what they are on the host."""
            there = self.device.address(self.base + pointee)
            return [(there or self.base + pointee).to_bytes(8, sys.byteorder)] * len(pointers)

        def found() -> list[bytes]:
            return [self.device.read(self.device.address(self.base + STRUCT + p * 8) or 0, 8) for p in pointers]

        if how == "enter":
            self.device.enter_data(real)
            self.model.map_struct(entries, [], STRUCT, [STRUCT + p * 8 for p in pointers])
            assert found() == values()
            for m in self.model.mapped:
                if m.start - STRUCT in [p * 8 for p in pointers]:
                    m.data[:] = values()[0]
            return
        self.device.target(real, lambda _: check(found() == values()))
        self.model.unmap(self.model.map_struct(entries, [], STRUCT))

    @rule(members=member_sets, kind=st.sampled_from(["from", "release", "delete", "always_from"]))
    def exit_struct(self, members: list[int], kind: str) -> None:
        entries = [(STRUCT + m * 8, 8, kind) for m in members]
        self.both(lambda: self.device.exit_data(self.real(entries)), lambda: self.model.exit(entries))

    # --- what must hold ---

    @invariant()
    def same(self) -> None:
        assert self.memory.raw == bytes(self.model.host)
        ours = [(start - self.base, end - self.base, count) for start, end, _, count in self.device.mappings()]
        expected: list[Mapping] = sorted(self.model.mapped, key=lambda m: m.start)
        assert ours == [(m.start, m.end, m.counter.value) for m in expected]
        for (start, end, address, _), m in zip(self.device.mappings(), expected, strict=True):
            assert self.device.read(address, end - start) == bytes(m.data)

    @invariant()
    def no_leak(self) -> None:
        if not self.model.open and all(m.counter.value is None for m in self.model.mapped):
            assert self.device.live_blocks == 0


TestMapping = MappingMachine.TestCase
TestMapping.settings = settings(
    max_examples=examples(100, 30), stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
