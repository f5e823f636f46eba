"""The index of mapped ranges, against a sorted list with the same comparison."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from machine_steps import examples

from gompy.runtime.libgompy import MappingError, RangeIndexView

Range = tuple[int, int]
SPAN = 60


def overlap(a: Range, b: Range) -> bool:
    """libgomp's equality of keys (libgomp.h, splay_compare), two empty ranges being equal at one address only."""
    if a == b:
        return True
    return not (a[1] <= b[0] or a[0] >= b[1])


ranges = st.builds(lambda s, n: (s, s + n), st.integers(1, SPAN), st.sampled_from([0, 1, 1, 2, 5, 12]))


class TreeMachine(RuleBasedStateMachine):
    """Random inserts, removals and lookups."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = RangeIndexView()
        self.model: list[Range] = []

    def equal(self, r: Range) -> list[Range]:
        return [m for m in self.model if overlap(m, r)]

    @rule(r=ranges)
    def insert(self, r: Range) -> None:
        if self.equal(r):
            with pytest.raises(MappingError, match="Duplicate node"):
                self.tree.insert(*r)
        else:
            self.tree.insert(*r)
            self.model.append(r)

    @rule(r=ranges)
    def lookup(self, r: Range) -> None:
        found = self.tree.lookup(*r)
        assert (found in self.equal(r)) if self.equal(r) else found is None

    @rule(p=st.integers(1, SPAN))
    def pointer(self, p: int) -> None:
        """Into a range, else one past the end of one, else an empty one."""
        for r in ((p, p + 1), (p - 1, p), (p, p)):
            if self.equal(r):
                assert self.tree.lookup_pointer(p) in self.equal(r)
                return
        assert self.tree.lookup_pointer(p) is None

    @rule(p=st.integers(1, SPAN))
    def section(self, p: int) -> None:
        """A section without length is in the range that holds its first byte, not in one that ends there."""
        found = self.equal((p, p + 1))
        assert self.tree.lookup_section(p, p) == (found[0] if found else None)

    @rule(r=ranges)
    def remove(self, r: Range) -> None:
        if r in self.model:
            self.tree.remove(*r)
            self.model.remove(r)
        else:
            with pytest.raises(KeyError):
                self.tree.remove(*r)

    @invariant()
    def in_order(self) -> None:
        assert self.tree.ranges() == sorted(self.model)
        assert len(self.tree) == len(self.model)


TestTree = TreeMachine.TestCase
TestTree.settings = settings(max_examples=examples(60, 50), stateful_step_count=50, deadline=None)


def test_empty_range_is_in_what_has_it_strictly_inside() -> None:
    tree = RangeIndexView()
    tree.insert(10, 20)
    assert tree.lookup(15, 15) == (10, 20)
    assert tree.lookup(10, 10) is None
    assert tree.lookup(20, 20) is None
    assert tree.lookup_pointer(20) == (10, 20)


def test_two_empty_ranges() -> None:
    """libgomp takes them as equal wherever they are, and refuses the second; here only at one address."""
    tree = RangeIndexView()
    tree.insert(10, 10)
    tree.insert(12, 12)
    assert tree.lookup(12, 12) == (12, 12)
    with pytest.raises(MappingError):
        tree.insert(10, 10)


def test_many_in_any_order() -> None:
    tree = RangeIndexView()
    order = [(i * 7919) % 20000 for i in range(20000)]
    for i in order:
        tree.insert(16 * i, 16 * i + 16)
    assert tree.ranges() == [(16 * i, 16 * i + 16) for i in range(20000)]
    assert tree.lookup(16 * 777 + 3, 16 * 777 + 4) == (16 * 777, 16 * 778)
