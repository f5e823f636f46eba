"""When two table entries are the same: one rule for mkoffload, lto-wrapper and inspect, on names that tools make."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_tools import Tools, has_all, needs
from hypothesis import given
from hypothesis import strategies as st
from nvptx_tools import has_compiler

from gompy.abi.targets import GCN
from gompy.objects.names import TARGET_INTELMIC, TARGET_NVPTX
from gompy.objects.naming import (
    RENAMED,
    SUFFIXES,
    base_name,
    comparable,
    differences,
    host_spelling,
    plain_name,
    ptx_name,
    renumbered_name,
    rule_for,
    same,
)

pytestmark = [has_all, needs("gcc")]
FRUIT = """
#pragma omp declare target
static int NAME_var[4];
#pragma omp end declare target
int NAME (int i)
{
  #pragma omp target map(tofrom: i)
  { NAME_var[i & 3]++; i += NAME_var[i & 3]; }
  return i;
}
"""
MAIN = """
int apple (int), banana (int), citron (int);
int main (void) { return apple (1) + banana (2) + citron (3) - 9; }
"""


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    return Tools(bin_folder, tmp_path)


def fruits(tools: Tools) -> list[str]:
    """Sources of three regions, each with a static variable of its own, and of a main program."""
    tools.write("main.c", MAIN)
    for name in ("apple", "banana", "citron"):
        tools.write(f"{name}.c", FRUIT.replace("NAME", name))
    return ["main.c", "apple.c", "banana.c", "citron.c"]


def test_base_names() -> None:
    assert base_name("f._omp_fn.0") == "f._omp_fn.0"
    assert base_name("f._omp_fn.0.lto_priv.3") == "f._omp_fn.0"
    assert base_name("f._omp_fn.0.nohost.0.lto_priv.3") == "f._omp_fn.0"  # what only the host runs
    assert base_name("v.lto_priv.0.gompy_priv.12") == "v"
    # GCC 16's libgomp.fortran/struct-elem-map-1.f90: constants of the front end's own
    assert base_name("A.515.160") == base_name("A.129.48.lto_priv.0") and base_name("A.515") == "A.515"
    assert base_name("s.1234") == "s.1234" and base_name(".x") == ".x" and base_name("lto_priv.0") == "lto_priv.0"


def test_names_in_ptx() -> None:
    assert host_spelling("f$_omp_fn$0") == "f._omp_fn.0" and host_spelling("__nvptx_malloc") == "malloc"
    found = comparable(["v$linkptr", "count$3", "f._omp_fn.1", None, "__nvptx_call"], ptx_name)
    assert found == ["v", "count", "f._omp_fn.1", None, "call"]


def test_differences() -> None:
    assert differences(["a", "b.lto_priv.0", None], ["a.lto_priv.1", "b", "x"]) == []
    assert differences(["a", "b"], ["b", "a"]) == [(0, "a", "b"), (1, "b", "a")]
    assert differences(["a"], ["a", "z"]) == [(1, "(none)", "z")]
    assert differences(["a", None], ["a"]) == [(1, "(unnamed)", "(none)")]
    assert differences(["s.1"], ["s.2"]) == [(0, "s.1", "s.2")] and not differences(["s.1"], ["s$2"], ptx_name)


STEMS = st.sampled_from(["a", "_Z3fooi", "part", "cold.1", "f._omp_fn.0", "f._omp_fn.1", *RENAMED])
ADDED = st.lists(st.tuples(st.sampled_from(sorted(SUFFIXES)), st.integers(-1, 12)), max_size=4)


def changed(stem: str, added: list[tuple[str, int]]) -> str:
    """A name as compilers change it; a negative number stands for none."""
    return stem + "".join(f".{suffix}" + (f".{number}" if number >= 0 else "") for suffix, number in added)


@given(STEMS, ADDED, STEMS, ADDED)
def test_what_compilers_add_never_tells_names_apart_nor_joins_them(
    one: str, added: list[tuple[str, int]], other: str, more: list[tuple[str, int]]
) -> None:
    """Under each rule: changed names are the same exactly if their stems are, whoever is host and whoever image."""
    host, image = changed(one, added), changed(other, more)
    in_ptx = (f"__nvptx_{image}" if image in RENAMED else image).replace(".", "$")
    for rule, theirs in ((base_name, image), (renumbered_name, image), (ptx_name, in_ptx), (plain_name, in_ptx)):
        expected = rule(one) == rule(other)
        assert same(host, theirs, rule) == same(theirs, host, rule) == expected
        assert rule(rule(host)) == rule(host)
        assert (not differences([host], [theirs], rule)) == expected


def test_rule_of_each_image() -> None:
    assert rule_for(TARGET_INTELMIC, True) is base_name and rule_for(TARGET_INTELMIC, False) is renumbered_name
    assert rule_for(TARGET_NVPTX, False) is ptx_name and rule_for(GCN.name, False) is renumbered_name


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("partition", ["1to1", "none"])
def test_names_that_lto_wrapper_makes_agree(tools: Tools, partition: str) -> None:
    """docs/lto.md's example: variables that other partitions keep to themselves get names of ours."""
    sources = fruits(tools)
    lto = ("-fopenmp", "-O1", "-flto", f"-flto-partition={partition}")
    tools.ok("gompcc", *lto, *sources, "-o", "fruit")
    assert (".gompy_priv." in tools.ok("nm", "fruit")) == (partition == "1to1")
    assert tools.ok("gompy", "inspect", "--check", "fruit") == "fruit: 3 functions, 3 variables, 1 image: agree\n"
    assert "!" not in tools.ok("gompy", "inspect", "--table", "images", "fruit")


@has_compiler
def test_names_that_ptx_has_otherwise_agree(tools: Tools) -> None:
    """``call`` means something in PTX; local statics are numbered by each compiler, behind a dollar there."""
    text = "#pragma omp declare target\nint call = 3;\nint f (void) { static int n[3]; return n[1]++ + call; }\n"
    text += "#pragma omp end declare target\nint main (void) {\nint x = 0;\n#pragma omp target map(x)\nx = f ();\n"
    tools.write("call.c", text + "return x - 3; }\n")
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "call.c", "-o", "call")
    assert tools.ok("gompy", "inspect", "--check", "call").endswith("1 image: agree\n")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("option", ["-foffload=disable", "-static"])
def test_a_program_without_image_does_not_agree(tools: Tools, option: str) -> None:
    sources = fruits(tools)
    tools.run("gompcc", "-fopenmp", option, *sources, "-o", "fruit")
    done = tools.run("gompy", "inspect", "--check", "fruit")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gompy inspect: error: fruit: no device image for its 3 regions and 3 variables: ")
    tools.ok("gompcc", "-fopenmp", "-c", "apple.c")
    assert tools.ok("gompy", "inspect", "--check", "apple.o") == "apple.o: 1 function, 1 variable: agree\n"


@pytest.mark.parametrize("sections", [(".gompyir_*",), (".gompyir_*", ".gnu.offload_lto_*")])
def test_an_object_without_its_device_code_is_not_blamed_on_the_linker(tools: Tools, sections: tuple[str, ...]) -> None:
    """Without what our compiler reads its regions run on the host; without streams the plugin does not see it."""
    sources = fruits(tools)
    tools.ok("gompcc", "-fopenmp", "-c", "apple.c")
    tools.ok("objcopy", "-w", *(word for section in sections for word in ("-R", section)), "apple.o")
    linked = tools.run("gompcc", "-fopenmp", "apple.o", *(s for s in sources if s != "apple.c"), "-o", "fruit")
    done = tools.run("./fruit")
    if len(sections) == 1:
        assert "apple.o: no device code for x86_64-intelmicemul-linux-gnu; its regions run on the host" in linked.stderr
        assert (done.returncode, done.stderr) == (0, "")
        assert "1 of the functions on the host only: agree" in tools.ok("gompy", "inspect", "--check", "fruit")
    else:
        assert "object apple.c has regions" in done.stderr and "taken out (strip or objcopy, " in done.stderr


def test_regions_without_device_code_are_counted(tools: Tools) -> None:
    sources = fruits(tools)
    tools.ok("gcc", "-fopenmp", "-c", "apple.c")
    tools.ok("gompcc", "-fopenmp", "apple.o", *(s for s in sources if s != "apple.c"), "-o", "fruit")
    out = tools.ok("gompy", "inspect", "--check", "fruit")
    assert out == "fruit: 3 functions, 3 variables, 1 image, 1 of the functions on the host only: agree\n"
