"""The JSON of gompcc --save-regions: against what programs ask of the runtime, and its parts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import regions_trace
from driver_tools import ROOT, Tools, for_preload, has_all, needs

from gompy.cli.regions import schema_path
from gompy.regions import dump

PROGRAMS = ROOT / "tests" / "programs"
try:
    import tree_sitter  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    import tree_sitter_c  # type: ignore[import-not-found,unused-ignore]
    import tree_sitter_cpp  # type: ignore[import-not-found,unused-ignore]
    import tree_sitter_fortran  # type: ignore[import-not-found,unused-ignore]  # noqa: F401

    HAS_TEXT = bool(tree_sitter_c and tree_sitter_cpp)
except ImportError:
    HAS_TEXT = False
has_text = pytest.mark.skipif(not HAS_TEXT, reason="not installed: the extra 'regions' (tree-sitter)")

CASES = [
    ("gompcc", PROGRAMS / "regions.c", 3),
    ("gompc++", PROGRAMS / "regions.cc", 3),
    ("gompfortran", PROGRAMS / "regions.f90", 2),
    ("gompcc", ROOT / "testsuite" / "gompy" / "attach-chain.c", 0),
    ("gompcc", ROOT / "testsuite" / "gompy" / "map-sizes.c", 0),
    ("gompfortran", ROOT / "testsuite" / "gompy" / "derived-allocatable.f90", 0),
    ("gompfortran", PROGRAMS / "regions_optional.f90", 0),
]


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """The commands, in a folder of the test's own."""
    return Tools(bin_folder, tmp_path)


def document(folder: Path, name: str, kind: str = "regions") -> dict[str, Any]:
    """A document of a folder."""
    content: dict[str, Any] = json.loads((folder / f"{name}.{kind}.json").read_text())
    return content


@pytest.mark.slow(sample=1)
@has_all
@needs("gfortran")
@pytest.mark.parametrize(("command", "source", "regions"), CASES, ids=lambda case: getattr(case, "name", None))
def test_kinds_and_order_are_those_of_the_runtime(
    tools: Tools, tmp_path: Path, command: str, source: Path, regions: int
) -> None:
    """Each construct that runs asks for the kinds that the JSON has, in its order; gompy regions agrees."""
    made = tmp_path / "json"
    tools.ok(command, "-w", "-O1", "-fopenmp", f"--save-regions={made}", source, "-o", tmp_path / "a")
    done = tools.run(tmp_path / "a", env={"LD_PRELOAD": for_preload(regions_trace.build(tmp_path), tools.work)})
    assert done.returncode == 0, done.stderr
    ran, _others, wrong = regions_trace.compare(tmp_path / "a", made, done.stderr)
    assert wrong == []
    assert ran >= max(regions, 1)
    assert "each has its JSON" in tools.ok("gompy", "regions", "--check", tmp_path / "a", made)


@pytest.mark.slow(sample=1)
@has_all
@pytest.mark.parametrize("options", [(), ("--param=openacc-kernels=decompose",)], ids=["", "decompose"])
def test_openacc(tools: Tools, tmp_path: Path, options: tuple[str, ...]) -> None:
    """The same for OpenACC, also with kernels in parts."""
    made = tmp_path / "json"
    tools.ok("gompcc", "-O1", "-fopenacc", *options, f"--save-regions={made}", PROGRAMS / "regions_acc.c", "-o", "a")
    done = tools.run(
        "./a", env={"LD_PRELOAD": for_preload(regions_trace.build(tmp_path), tools.work), "ACC_DEVICE_TYPE": "intelmic"}
    )
    assert done.returncode == 0, done.stderr
    ran, others, wrong = regions_trace.compare(tmp_path / "a", made, done.stderr)
    assert wrong == []
    assert (ran, others) == (2, 8 if options else 7)


@has_all
def test_what_gcc_does_not_compile_with_debugging_words(tools: Tools, tmp_path: Path) -> None:
    """Kernels in parts, "gimple_debug not yet supported": all but the types is there."""
    text = "int a[9];\nvoid f (void)\n{\n#pragma acc kernels copyout (a)\n"
    text += "  for (int i = 0; i < 9; i++)\n    a[i] = i;\n}\n"
    (tmp_path / "k.c").write_text(text)
    tools.ok("gompcc", "-O2", "-fopenacc", "--param=openacc-kernels=decompose", "-c", "k.c", "--save-regions")
    (region,) = document(tmp_path, "k")["regions"]
    assert [(p["name"], p["kind"], "type" in p) for p in region["parameters"]] == [
        ("i", "present", False),
        ("a", "present", False),
    ]


@has_all
def test_clauses_types_and_arguments(tools: Tools, tmp_path: Path) -> None:
    """A region's facts: implicit clauses with lengths, types without -g, words and references."""
    tools.ok("gompcc", "-O2", "-fopenmp", "--save-regions", PROGRAMS / "regions.c", "-c", "-o", tmp_path / "x.o")
    first, second, third = document(tmp_path, "regions")["regions"]
    assert [item["function"][-1] for item in (first, second, third)] == ["0", "2", "4"]
    facts = [(p["name"], p["by"], p.get("type"), p.get("length")) for p in first["parameters"]]
    assert facts == [
        ("n", "word", "int", None),
        ("x", "reference", "float[1000]", "4000"),
        ("y", "reference", "float[1000]", "4000"),
        ("a", "reference", "float", None),
    ]
    table = {"name": "map", "kind": "tofrom", "variable": "table", "length": "16", "implicit": True}
    assert table in second["clauses"]
    pointer = second["parameters"][0]
    assert (pointer["name"], pointer["pointer"], pointer["type"]) == ("p", "p", "float")
    assert [p["by"] for p in third["parameters"]] == ["reference", "reference", "reference", "none"]
    data = document(tmp_path, "regions", "data")["data"]
    assert [item["construct"] for item in data] == [
        *("target data", "target enter data", "target update", "target exit data"),
    ]
    assert data[0]["parameters"][0]["numbers"] == [1, 15]  # `to`, or a section without length


@has_all
def test_arguments_of_a_section_that_begins_at_an_expression(tools: Tools, tmp_path: Path) -> None:
    """Where it begins is an argument of its own, before the section's."""
    (tmp_path / "s.c").write_text(
        "void f (int *a, int k)\n{\n#pragma omp target parallel for map(a[k:9])\n"
        "  for (int i = 0; i < 9; i++)\n    a[i + k]++;\n}\n"
    )
    tools.ok("gompcc", "-fopenmp", "-c", "s.c", "--save-regions")
    (region,) = document(tmp_path, "s")["regions"]
    begin, other, section = region["parameters"]
    assert (begin["by"], other["name"], section["name"]) == ("word", "k", "a")
    assert "pointer" not in begin
    assert section["pointer"] == "a"


@has_all
@has_text
def test_text_of_regions(tools: Tools, tmp_path: Path) -> None:
    """Directive, statement, loops, calls and the text of what is called; macros as written and expanded."""
    (tmp_path / "m.c").write_text(
        '#define N 8\n#define TARGET(x) _Pragma("omp target map(tofrom: v)") x\n'
        "typedef struct { int k; } item;\nstatic int twice (item t) { return 2 * t.k; }\n"
        "int main (void)\n{\n  int v[N];\n#pragma omp target \\\n  map(from: v) // all\n"
        "  for (int i = 0; i < N; i++)\n    v[i] = twice ((item) { i });\n  TARGET (v[0]++;)\n  return v[0] - 1;\n}\n"
    )
    tools.ok("gompcc", "-fopenmp", "--save-regions", "m.c", "-o", "m")
    tools.ok("./m")
    made = document(tmp_path, "m")
    first, second = made["regions"]
    assert first["pragma"].split() == ["#pragma", "omp", "target", "map(from:", "v)", "//", "all"]
    assert first["source"] == "for (int i = 0; i < N; i++)\n    v[i] = twice ((item) { i });"
    assert first["expanded"] == first["source"].replace("N", "8")
    assert first["loops"] == [{"initializer": "int i = 0", "condition": "i < N", "update": "i++"}]
    assert first["lines"] == [10, 11]
    assert (first["calls"], list(made["functions"]), list(made["types"])) == (["twice"], ["twice"], ["item"])
    assert second["source"] == "v[0]++;"
    assert "macro" in second["no_written_text"]


@has_all
@has_text
@needs("gfortran")
def test_text_of_fortran(tools: Tools, tmp_path: Path) -> None:
    """A loop's directive without end, and a block with one."""
    tools.ok("gompfortran", "-fopenmp", "--save-regions", PROGRAMS / "regions.f90", "-c", "-o", tmp_path / "x.o")
    first, second = document(tmp_path, "regions")["regions"]
    assert first["source"].split("\n")[0] == "do i = 1, n"
    assert first["loops"] == [{"control": "i = 1, n"}]
    assert second["source"] == "x(1) = 7; k = 3"


@pytest.mark.slow
@has_all
def test_the_compile_is_the_same(tools: Tools, tmp_path: Path) -> None:
    """Only the documents come to what the command writes; several sources, dependencies, other outputs."""
    for name in ("a", "b"):
        body = f"int {name} (void)\n{{\n  int v = 1;\n#pragma omp target\n  v++;\n  return v;\n}}\n"
        (tmp_path / f"{name}.c").write_text(body)
    command = ("gompcc", "-O2", "-fopenmp", "-MD", "-MF", "a.d", "-save-temps=obj", "-c", "a.c", "-o", "a.o")
    tools.ok(*command)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    tools.ok(*command, "--save-regions=j")
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert set(after) == set(before)
    assert (after["a.i"], after["a.d"]) == (before["a.i"], before["a.d"])
    assert sorted(os.listdir(tmp_path / "j")) == ["a.data.json", "a.regions.json"]
    tools.ok("gompcc", "-O2", "-fopenmp", "-shared", "-fPIC", "a.c", "b.c", "-o", "ab.so", env={"GOMPY_REGIONS": "k"})
    assert set(os.listdir(tmp_path)) - set(before) == {"ab.so", "j", "k"}
    assert len(os.listdir(tmp_path / "k")) == 4


@pytest.mark.slow
@has_all
def test_same_name_in_two_folders(tools: Tools, tmp_path: Path) -> None:
    """The second source's documents get a number in their name; a compile again overwrites its own."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.c").write_text(f"void {folder} (void)\n{{\n#pragma omp target\n  ;\n}}\n")
    for _ in range(2):
        for folder in ("one", "two"):
            tools.ok("gompcc", "-fopenmp", "-c", f"{folder}/x.c", "-o", f"{folder}/x.o", "--save-regions=j")
    assert len(list((tmp_path / "j").glob("*.regions.json"))) == 2


@has_all
def test_errors(tools: Tools, tmp_path: Path) -> None:
    """The compiler's own error comes once; the option's mistakes and unreadable documents are one line."""
    (tmp_path / "bad.c").write_text("int main (void)\n{\n#pragma omp target\n  x;\n}\n")
    done = tools.run("gompcc", "-fopenmp", "--save-regions", "bad.c")
    assert done.returncode == 1
    assert done.stderr.count("error:") == 1
    done = tools.run("gompcc", "-fopenmp", "--save-regionsx", "bad.c")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    (tmp_path / "x.regions.json").write_text("[1]")
    done = tools.run("gompy", "regions", "x.regions.json")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert tools.run("gompy", "regions", "none.json").returncode == 2


@pytest.mark.slow
@has_all
def test_check_finds_what_does_not_agree(tools: Tools, tmp_path: Path) -> None:
    """A region without JSON and a JSON without region."""
    body = "int main (void)\n{\n#pragma omp target\n  ;\n  return 0;\n}\n"
    (tmp_path / "a.c").write_text(body)
    (tmp_path / "b.c").write_text("void f (void)\n{\n#pragma omp target\n  ;\n}\n" + body)
    tools.ok("gompcc", "-fopenmp", "--save-regions=j", "a.c", "-o", "a")
    tools.ok("gompcc", "-fopenmp", "b.c", "-o", "b")
    done = tools.run("gompy", "regions", "--check", "b", "j")
    assert done.returncode == 1
    assert "f._omp_fn.0: a region without JSON" in done.stderr
    tools.ok("gompcc", "-fopenmp", "--save-regions=j", "b.c", "-o", "b")
    done = tools.run("gompy", "regions", "--check", "a", "j")
    assert "f._omp_fn.0 (b.c:3): its JSON is there, but" in done.stderr


def test_the_schema_knows_each_field(tmp_path: Path) -> None:
    """What the documents are made of stands in the schema, and nothing more; by the source of both."""
    schema = json.loads(Path(schema_path()).read_text())
    source = (ROOT / "gompy" / "regions" / "document.py").read_text()
    for part in ("construct", "parameter", "clause"):
        for name in schema["$defs"][part]["properties"]:
            assert f'"{name}"' in source, name


def test_clauses_are_taken_apart() -> None:
    """Parentheses within, words without."""
    found = dump.split_clauses("num_teams(0) nowait map(to:*f (a, b) [len: (n + 1) * 4]) if(n > 3) ")
    assert found == [
        *(("num_teams", "0"), ("nowait", ""), ("map", "to:*f (a, b) [len: (n + 1) * 4]"), ("if", "n > 3")),
    ]


GCC_SAMPLE = (
    *("libgomp.c/target-21.c", "libgomp.c-c++-common/target-40.c", "libgomp.c++/target-16.C"),
    *("libgomp.fortran/target2.f90", "libgomp.fortran/target-has-device-addr-3.f90"),
)


@pytest.mark.slow(sample=1)
@has_all
@needs("gfortran")
@pytest.mark.parametrize("name", GCC_SAMPLE)
def test_tests_of_gcc(tools: Tools, tmp_path: Path, name: str) -> None:
    """The same for a few of GCC's own tests, if they are on this machine."""
    from testsuite.gcc_suite.source import cache_directory

    source = cache_directory() / "libgomp" / "testsuite" / name
    if not source.exists():
        pytest.skip("GCC's tests are not unpacked (make gcc-tests)")
    command = {".c": "gompcc", ".C": "gompc++"}.get(source.suffix, "gompfortran")
    test_kinds_and_order_are_those_of_the_runtime(tools, tmp_path, command, source, 1)
