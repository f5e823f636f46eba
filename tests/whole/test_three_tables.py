"""The three tables of GCC's offloading wiki: apple, banana and citron with two regions each, in every mix of LTO.

For each mix: the offload table streams of the objects, the tables of the objects and of the LTRANS objects, the
table of the host program between the crtoffload symbols, and that of the image.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from link_tools import BDIR, Program, built, call, compile_c, link, object_tables, section_names, textrel

from gompy.objects.naming import base_name
from gompy.objects.streams import offload_table_names

pytestmark = built

FRUITS = ("apple", "banana", "citron")
FRUIT = """
#pragma omp declare target
int {0}_var = 5;
static int {0}_count[4] = {{ 1, 2, 3, 4 }};
#pragma omp end declare target
static int __attribute__((noinline)) {0}_two(int x) {{ return x * 2; }}
int {0}(int x)
{{
  int y = {0}_two(x);
#pragma omp target map(tofrom: y)
  y += {0}_var;
#pragma omp target map(tofrom: y)
  {{ {0}_count[1] += y; y *= 3; }}
  return y;
}}
"""
MAIN = """
#include <stdio.h>
int apple(int), banana(int), citron(int);
int main(void) { printf("%d %d %d\\n", apple(1), banana(2), citron(3)); return 0; }
"""
PARTITIONS = ("none", "one", "balanced", "1to1", "max")
RETAIN = 1 << 21


def functions(order: tuple[str, ...]) -> list[str]:
    """GCC's order within a unit: the last region first."""
    return [f"{fruit}._omp_fn.{n}" for fruit in order for n in (1, 0)]


def variables(order: tuple[str, ...]) -> list[str]:
    return [f"{fruit}_{what}" for fruit in order for what in ("var", "count")]


def tables(order: tuple[str, ...]) -> tuple[list[str], list[str]]:
    return functions(order), variables(order)


class Fruits:
    """The objects, compiled once in each mode."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[tuple[str, str], Path] = {}

    def get(self, fruit: str, mode: str) -> Path:
        if (fruit, mode) not in self.made:
            text = MAIN if fruit == "main" else FRUIT.format(fruit)
            self.made[fruit, mode] = compile_c(text, self.folder / f"{fruit}-{mode}.o", mode)
        return self.made[fruit, mode]

    def build(self, modes: tuple[str, str, str], folder: Path, *options: str) -> tuple[Program, list[Path]]:
        """Link main and the fruits; the program, run once, and the objects."""
        objects = [self.get(fruit, mode) for fruit, mode in zip(FRUITS, modes, strict=True)]
        main = self.get("main", "lto" if "lto" in modes[0] else "ours")
        output = folder / "prog"
        link([main, *objects], output, *options)
        assert call(output).stdout == "21 27 33\n"
        assert not textrel(output)
        return Program(output), objects


@pytest.fixture(scope="module")
def fruits(tmp_path_factory: pytest.TempPathFactory) -> Fruits:
    return Fruits(tmp_path_factory.mktemp("fruits"))


def streams(path: Path, family: str) -> list[str]:
    """Names in a file's offload table streams; a name that only the tree stream has is left as ``?``."""
    return [base_name(name) if name else "?" for _, name in offload_table_names(path, family)]


def check_streams(path: Path, fruit: str, families: set[str]) -> None:
    """The stream of each family lists the unit's two functions and two variables in the order of its tables."""
    for family in ("offload", "lto", "device-ir"):
        names = streams(path, family)
        if family not in families:
            assert names == []
        else:
            for name, expected in zip(names, functions((fruit,)) + variables((fruit,)), strict=True):
                assert name in (expected, "?")
            assert "?" not in names[:2]


def check_loads(program: Program, path: Path) -> None:
    """The image loads as it is, with every symbol bound, and its exported table has the lengths it should."""
    path.write_bytes(program.image())
    library = ctypes.CDLL(str(path), mode=2)
    table = (ctypes.c_uint64 * 4).in_dll(library, "__OFFLOAD_TARGET_TABLE__")
    assert ((table[1] - table[0]) // 8, (table[3] - table[2]) // 16) == (6, 6)


def test_a_none_with_lto(fruits: Fruits, tmp_path: Path) -> None:
    program, objects = fruits.build(("ours", "ours", "ours"), tmp_path)
    for fruit, path in zip(FRUITS, objects, strict=True):
        check_streams(path, fruit, {"offload", "device-ir"})
        assert object_tables(path) == tables((fruit,))
    assert program.host_tables() == program.image_tables() == tables(FRUITS)
    assert [d.kind for d in program.described()] == [0, 0, 0]
    described = [(d.id, d.nfuncs, d.nvars) for d in program.described()]
    assert described == [r[:3] for r in program.records()]
    check_loads(program, tmp_path / "image.so")


def test_a_stock_objects_of_fat_lto_without_lto_link(fruits: Fruits, tmp_path: Path) -> None:
    """Objects of plain ``gcc -flto -ffat-lto-objects`` in a link are LTO objects, records or not."""
    program, _ = fruits.build(("stock-fat", "stock-fat", "stock-fat"), tmp_path)
    assert program.host_tables() == program.image_tables() == tables(FRUITS)
    assert [d.kind for d in program.described()] == [1, 1, 1]


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("mode", ["lto", "stock-lto"])
def test_b_all_with_lto(fruits: Fruits, tmp_path: Path, partition: str, mode: str) -> None:
    options = ("-flto=2", f"-flto-partition={partition}", "-save-temps")
    program, objects = fruits.build((mode, mode, mode), tmp_path, *options)
    for fruit, path in zip(FRUITS, objects, strict=True):
        check_streams(path, fruit, {"offload", "lto"})
        assert object_tables(path) == ([], [])
    assert program.host_tables() == program.image_tables() == tables(FRUITS)
    assert [d.kind for d in program.described()] == [1, 1, 1]
    assert sum(d.nfuncs for d in program.described()) == sum(d.nvars for d in program.described()) == 6
    assert [r[:3] for r in program.records()] == [(0, 6, 6)]
    made = sorted(tmp_path.glob("prog.ltrans*.ltrans.o")) or [tmp_path / "prog.lto.o"]
    with_tables = [p for p in made if any(n.startswith(".gnu.offload_") for n in section_names(p))]
    assert len(with_tables) == 1 and with_tables[0].name in ("prog.ltrans0.ltrans.o", "prog.lto.o")
    assert object_tables(with_tables[0]) == tables(FRUITS)
    assert len(made) == {"none": 1, "one": 1, "balanced": len(made), "1to1": 4, "max": len(made)}[partition]
    assert partition != "max" or len(made) > 6
    check_loads(program, tmp_path / "image.so")


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_c_banana_without_lto(fruits: Fruits, tmp_path: Path, partition: str) -> None:
    options = ("-flto", f"-flto-partition={partition}", "-save-temps")
    program, objects = fruits.build(("lto", "ours", "lto"), tmp_path, *options)
    check_streams(objects[1], "banana", {"offload", "device-ir"})
    assert object_tables(objects[1]) == tables(("banana",))
    order = ("apple", "citron", "banana")
    assert program.host_tables() == program.image_tables() == tables(order)
    assert [(d.kind, d.name.rpartition("/")[2]) for d in program.described()] == [
        (1, "apple-lto.o"),
        (1, "citron-lto.o"),
        (0, "banana-ours.o"),
    ]
    records = program.records()
    assert [r[:3] for r in records] == [(0, 4, 4), (program.described()[2].id, 2, 2)]
    made = sorted(tmp_path.glob("prog.ltrans*.ltrans.o")) or [tmp_path / "prog.lto.o"]
    with_tables = [p for p in made if any(n.startswith(".gnu.offload_") for n in section_names(p))]
    assert [object_tables(p) for p in with_tables] == [tables(("apple", "citron"))]
    check_loads(program, tmp_path / "image.so")


def test_plain_banana_has_host_entries_only(fruits: Fruits, tmp_path: Path) -> None:
    """Compiled by plain gcc: the image has no entries for it, the program still runs."""
    objects = [fruits.get("main", "ours"), *(fruits.get(f, "plain" if f == "banana" else "ours") for f in FRUITS)]
    done = link(objects, tmp_path / "prog", GOMPY_ACCEL="gcc")
    assert done.stderr.count("warning") == 1
    assert "banana-plain.o: no device code for x86_64-intelmicemul-linux-gnu" in done.stderr
    assert "its regions run on the host; compile it with gompcc" in done.stderr
    program = Program(tmp_path / "prog")
    assert program.host_tables() == tables(FRUITS)
    assert program.image_tables() == tables(("apple", "citron"))
    assert [(d.kind, d.nfuncs, d.nvars) for d in program.described()] == [(0, 2, 2), (2, 2, 2), (0, 2, 2)]
    assert call(tmp_path / "prog").stdout == "21 27 33\n"


SAME = """
#pragma omp declare target
static int same[4] = {{ {1} }};
#pragma omp end declare target
int {0}(int x)
{{
#pragma omp target map(tofrom: x)
  x += same[0] + same[x & 3]++;
  return x;
}}
"""


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_static_variables_of_one_name_in_many_partitions(tmp_path: Path, partition: str) -> None:
    """The joint table must not take one ``same`` for the other: each entry is of its own, with its contents."""
    objects = [compile_c(SAME.format(f, 10 + i), tmp_path / f"{f}.o", "lto") for i, f in enumerate(FRUITS)]
    main = compile_c(MAIN, tmp_path / "main.o", "lto")
    link([main, *objects], tmp_path / "prog", "-flto=2", f"-flto-partition={partition}")
    program = Program(tmp_path / "prog")
    begin, end = program.symbols["__offload_var_table"], program.symbols["__offload_vars_end"]
    entries = [(program.word(a), program.word(a + 8)) for a in range(begin, end, 16)]
    assert [size for _, size in entries] == [16, 16, 16]
    assert [program.word(address, 4) for address, _ in entries] == [10, 11, 12]
    assert call(tmp_path / "prog").stdout == "11 13 15\n"


def test_garbage_collection_keeps_the_tables(fruits: Fruits, tmp_path: Path) -> None:
    """Regions that the program never reaches stay, as stock gcc's tables do not."""
    options = ("-Wl,--gc-sections",)
    program, _ = fruits.build(("ours", "ours", "ours"), tmp_path, *options)
    assert program.host_tables() == program.image_tables() == tables(FRUITS)
    assert len(program.records()) == 3
    mixed, _ = fruits.build(("lto", "ours", "lto"), tmp_path, *options, "-flto-partition=1to1")
    assert mixed.host_tables() == mixed.image_tables() == tables(("apple", "citron", "banana"))


def test_host_and_image_are_of_the_same_kind_of_link(fruits: Fruits, tmp_path: Path) -> None:
    """-no-pie, -static-pie's like and shared libraries: the same tables."""
    for kind in (("-no-pie",), ("-pie",), ("-static-libgcc",)):
        objects = [fruits.get(f, "ours") for f in ("main", *FRUITS)]
        link(objects, tmp_path / "prog", *kind)
        assert call(tmp_path / "prog").stdout == "21 27 33\n"
        if kind != ("-no-pie",):
            assert Program(tmp_path / "prog").host_tables() == tables(FRUITS)
    shared = [compile_c(FRUIT.format(f), tmp_path / f"{f}.o", "ours", "-fPIC") for f in FRUITS]
    done = link(shared, tmp_path / "libfruits.so", "-shared")
    assert not done.stderr and not textrel(tmp_path / "libfruits.so")
    library = Program(tmp_path / "libfruits.so")
    assert library.image_tables() == tables(FRUITS)
    assert ctypes.CDLL(str(tmp_path / "libfruits.so")).apple(1) == 21


LIB = BDIR.parent / "lib"
RUN = """
#include <stdio.h>
#include <omp.h>
int apple(int), banana(int), citron(int);
int apple_where(void), banana_where(void), citron_where(void);
int main(void)
{
  printf("%d %d %d ", apple(1), banana(2), citron(3));
  printf("%d %d %d\\n", apple_where(), banana_where(), citron_where());
  return 0;
}
"""
WHERE = """
#include <omp.h>
int {0}_where(void)
{{
  int there = -1;
#pragma omp target map(tofrom: there)
  there = omp_is_initial_device() ? 0 : {1};
  return there;
}}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.skipif(not (LIB / "libgompy.so.1").exists(), reason="the runtime is not built")
@pytest.mark.parametrize(
    ("modes", "partition"),
    [
        (("ours", "ours", "ours"), "balanced"),
        (("lto", "lto", "lto"), "none"),
        (("lto", "lto", "lto"), "1to1"),
        (("stock-lto", "lto", "fat"), "max"),
        (("lto", "ours", "lto"), "1to1"),
        (("ours", "lto", "ours"), "balanced"),
    ],
)
def test_each_region_run_on_the_device_is_the_one_meant(
    tmp_path: Path, modes: tuple[str, str, str], partition: str
) -> None:
    """Every region computes something of its own, on the device."""
    objects: list[Path | str] = [compile_c(RUN, tmp_path / "main.o", "ours")]
    for number, (fruit, mode) in enumerate(zip(FRUITS, modes, strict=True)):
        text = FRUIT.format(fruit) + WHERE.format(fruit, 7 + number)
        objects.append(compile_c(text, tmp_path / f"{fruit}.o", mode))
    runtime = f"-Wl,--push-state,--no-as-needed,-L{LIB},-lgompy,--pop-state,-rpath,{LIB}"
    link(objects, tmp_path / "prog", runtime, "-flto=2", f"-flto-partition={partition}")
    assert call(tmp_path / "prog", OMP_TARGET_OFFLOAD="mandatory").stdout == "21 27 33 7 8 9\n"
