"""Random sets of objects through compile and link: host table and image agree, and the records pair them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_tools import Described, Program, built, call, compile_c, link

pytestmark = built


@dataclass(frozen=True)
class Unit:
    """One source: ``number`` tells it from the others, ``regions`` and ``variables`` are the lengths of its tables."""

    number: int
    mode: str
    regions: int
    variables: int

    @property
    def stem(self) -> str:
        return f"u{self.number}"

    def text(self) -> str:
        """The source: every region adds to its argument, so that the result tells which ran."""
        lines = ["#pragma omp declare target"]
        for i in range(self.variables):
            kind = ("int", "static int __attribute__((used))")[i % 2]
            lines.append(f"{kind} {self.stem}_v{i} = {i};")
        lines += ["#pragma omp end declare target", f"int {self.stem}(int x) {{"]
        for i in range(self.regions):
            used = f" + {self.stem}_v{i}" if i < self.variables else ""
            lines += ["#pragma omp target map(tofrom: x)", f"  x += {i + 1}{used};"]
        return "\n".join([*lines, "  return x;", "}", ""])

    def result(self, x: int) -> int:
        """What the function returns."""
        return x + sum(i + 1 + (i if i < self.variables else 0) for i in range(self.regions))

    def names(self) -> tuple[set[str], set[str]]:
        """The entries it must have."""
        functions = {f"{self.stem}._omp_fn.{i}" for i in range(self.regions)}
        return functions, {f"{self.stem}_v{i}" for i in range(self.variables)}


@dataclass(frozen=True)
class Piece:
    """One word of the link line: an object, a bundle of objects made with ld -r, or an archive."""

    kind: str
    units: tuple[Unit, ...]


class Workshop:
    """Objects, bundles and archives, each made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects: dict[Unit, Path] = {}
        self.count = 0

    def object(self, unit: Unit) -> Path:
        """The unit's object."""
        if unit not in self.objects:
            name = f"{unit.stem}-{unit.mode}-{unit.regions}-{unit.variables}.o"
            self.objects[unit] = compile_c(unit.text(), self.folder / name, unit.mode)
        return self.objects[unit]

    def main(self, units: list[Unit], mode: str) -> Path:
        """A program that calls every unit."""
        lines = ["#include <stdio.h>", *(f"int {u.stem}(int);" for u in units), "int main(void) {"]
        lines += [f'  printf("%d ", {u.stem}({u.number}));' for u in units]
        self.count += 1
        return compile_c("\n".join([*lines, "  return 0;", "}", ""]), self.folder / f"main{self.count}.o", mode)

    def piece(self, piece: Piece, target: Path) -> Path:
        """The file for a word of the link line."""
        objects = [self.object(u) for u in piece.units]
        if piece.kind == "object":
            return objects[0]
        if piece.kind == "bundle":
            call("ld", "-r", *objects, "-o", target.with_suffix(".o"))
            return target.with_suffix(".o")
        call("ar", "rcs", target.with_suffix(".a"), *objects)
        return target.with_suffix(".a")


MODES = ("ours", "ours", "ours", "lto", "fat", "stock-lto", "stock-fat")


@st.composite
def lines(draw: st.DrawFn) -> list[Piece]:
    """A link line: up to six units, alone, bundled or archived, in any order."""
    pieces: list[Piece] = []
    numbers = iter(draw(st.permutations(range(6))))
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(("object", "object", "bundle", "archive")))
        shared = draw(st.sampled_from(("ours", "ours", "lto")))
        units = []
        for _ in range(1 if kind == "object" else draw(st.integers(1, 3))):
            number = next(numbers, None)
            if number is None:
                break
            mode = shared if kind == "bundle" else draw(st.sampled_from(MODES))
            units.append(Unit(number, mode, draw(st.integers(0, 3)), draw(st.integers(0, 3))))
        if units:
            pieces.append(Piece(kind, tuple(units)))
    return pieces


def pair(
    records: list[tuple[int, int, int, str]], described: list[Described], lengths: tuple[int, int]
) -> list[tuple[int, int]] | None:
    """Host entry → image entry of functions and variables, by the rules of docs/internals.md; None: by position."""
    if any(d.kind in (2, 3) for d in described):
        return None
    starts: list[tuple[int, int]] = []
    at = (0, 0)
    for item in described:
        starts.append(at)
        at = (at[0] + item.nfuncs, at[1] + item.nvars)
    assert at == lengths
    pairs: list[tuple[int, int]] = []
    host = 0
    for ident, nfuncs, _, _ in records:
        group = [i for i, d in enumerate(described) if (d.kind == 0 and d.id == ident if ident else d.kind == 1)]
        assert group and sum(described[i].nfuncs for i in group) == nfuncs
        for index in group:
            for offset in range(described[index].nfuncs):
                pairs.append((host, starts[index][0] + offset))
                host += 1
    return pairs


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines(), st.booleans(), st.sampled_from(("", "1to1", "none")), st.booleans(), st.sampled_from(("ours", "lto")))
def test_random_sets_of_objects(
    workshop: Workshop, pieces: list[Piece], main_first: bool, partition: str, collect: bool, main_mode: str
) -> None:
    units = [u for p in pieces for u in p.units]
    folder = workshop.folder / "link"
    folder.mkdir()
    try:
        main = workshop.main(units, main_mode)
        files: list[Path | str] = [workshop.piece(p, folder / f"p{i}") for i, p in enumerate(pieces)]
        archives = any(p.kind == "archive" for p in pieces)
        words = [main, *files] if main_first or archives else [*files, main]
        options = [f"-flto-partition={partition}"] if partition else []
        options += ["-Wl,--gc-sections"] if collect else []
        link(words, folder / "prog", "-flto=1", *options)
        answers = [int(word) for word in call(folder / "prog").stdout.split()]
        assert answers == [u.result(u.number) for u in units]
        if not any(u.regions + u.variables for u in units):
            return  # nothing to offload: no image
        program = Program(folder / "prog")
        host, image = program.host_tables(), program.image_tables()
        assert host == image
        for table in (0, 1):
            expected = set().union(*(u.names()[table] for u in units))
            assert set(host[table]) == expected and len(host[table]) == len(expected)
        pairs = pair(program.records(), program.described(), (len(image[0]), len(image[1])))
        if pairs is None:
            assert any(u.mode.startswith("stock") for u in units)
        else:
            assert [h for h, _ in pairs] == list(range(len(host[0])))
            assert all(host[0][h] == image[0][i] for h, i in pairs)
    finally:
        shutil.rmtree(folder)
