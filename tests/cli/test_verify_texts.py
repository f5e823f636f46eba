"""`gompy verify`: what a finding can say, from the code, against the lines that tests hold."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from text_pieces import held, pieces

from gompy.cli import findings, findings_clang
from gompy.objects import names
from gompy.objects.clang_images import ClangEntry, ClangImage, ClangTables
from gompy.objects.offload_binary import OffloadBinary
from gompy.objects.pairing import ObjectDesc
from gompy.objects.tables import Tables

TESTS = Path(__file__).resolve().parents[1]
REGION = ClangEntry("__omp_offloading_1_2_main_l3", 0x4000, 0, 0)
TABLE = ClangEntry("table", 0x4010, 400, 0)


def image(known: dict[str, int]) -> ClangImage:
    """An image that defines symbols of some sizes."""
    made = ClangImage(OffloadBinary(b"", {"triple": "x86_64-pc-linux-gnu"}))
    made.__dict__["symbols"] = known
    return made


@pytest.mark.parametrize(
    ("kind", "images", "found"),
    [
        (
            "executable",
            [],
            (
                "no-image",
                "no device image for its 1 region and 1 other entry by clang: no linker wrapper registered one",
                "link with gompclang or clang -fopenmp -fopenmp-targets=, as the objects were compiled",
            ),
        ),
        (
            "shared",
            [{"table": 400}],
            (
                "missing",
                "image 2 (x86_64-pc-linux-gnu): 1 of the program's 2 entries not in the image: "
                "__omp_offloading_1_2_main_l3",
                "compile and link every object with the same -fopenmp-targets=",
            ),
        ),
        (
            "executable",
            [{"table": 404, "__omp_offloading_1_2_main_l3": 9}],
            (
                "name",
                "image 2 (x86_64-pc-linux-gnu): table has 400 bytes on the host, 404 in the image",
                "compile the objects again, host and device from one source",
            ),
        ),
        (
            "relocatable",
            [],
            (
                "no-image",
                "no device code for its 1 region and 1 other entry by clang",
                "compile and link every object with the same -fopenmp-targets=",
            ),
        ),
        (
            "relocatable",
            [{"table": 400}],
            (
                "missing",
                "device code for x86_64-pc-linux-gnu lacks 1 of 2 entries: __omp_offloading_1_2_main_l3",
                "compile it again",
            ),
        ),
    ],
)
def test_what_clang_made(kind: str, images: list[dict[str, int]], found: tuple[str, str, str]) -> None:
    tables = ClangTables([REGION, TABLE], [image(known) for known in images])
    (wrong,) = findings_clang.clang_findings(tables, kind, 2)
    assert wrong[:3] == found
    right = ClangTables([REGION, TABLE], [image({"table": 400, "__omp_offloading_1_2_main_l3": 9})])
    assert findings_clang.clang_findings(right, kind, 2) == []


def comparison(linker: str, target: str) -> findings._Comparison:
    """An image beside a host file of which nothing is asked but who linked it."""

    made = findings._Comparison.__new__(findings._Comparison)
    stub: Any = SimpleNamespace(report={"file": "prog"}, host=Tables([], []), lines=None, target=target)
    made.part = made.image = stub
    made.file, made.head, made.linker = "prog", f"image 0 ({target})", linker
    return made


BY_LINKER = "mold 1.10 linked it: compile and link with gompcc, or link by ld.bfd"
UNCODED = "compile it again, with gompcc, without -foffload=disable, and do not strip it before the link"


@pytest.mark.parametrize(
    ("linker", "kind", "noun", "some", "mend"),
    [
        ("mold 1.10", "dropped", "region", True, BY_LINKER),
        ("mold 1.10", "order", "variable", True, BY_LINKER),
        (
            "",
            "dropped",
            "region",
            True,
            "the linker left out objects whose device code lto-wrapper took (members of an archive, GCC PR109128): "
            "link with gompcc, which pairs object by object",
        ),
        (
            "",
            "order",
            "region",
            True,
            "the objects' tables are not in lto-wrapper's order: compile and link with gompcc, or link by ld.bfd",
        ),
    ],
)
def test_mends_of_tables(linker: str, kind: str, noun: str, some: bool, mend: str) -> None:
    assert comparison(linker, names.TARGET_NVPTX)._mend(kind, noun, some) == mend


@pytest.mark.parametrize(
    ("number", "target", "why", "mend"),
    [
        (7, names.TARGET_INTELMIC, "its device code was taken out after gompcc compiled it", UNCODED),
        (
            0,
            names.TARGET_INTELMIC,
            "plain gcc compiled it, or gompcc with -foffload=disable",
            f"{UNCODED}; or take it as it is: gompy accel build",
        ),
        (0, names.TARGET_NVPTX, "it has no offload streams", UNCODED),
    ],
)
def test_an_object_whose_regions_are_the_hosts(number: int, target: str, why: str, mend: str) -> None:
    item = ObjectDesc(number, 2, 1, names.OBJECT_KIND_HOST_ONLY, "b.o")
    found = comparison("", target)._host_only(item, 0, 0)
    cause = f"image 0 ({target}): no device code of b.o, so its 2 regions and 1 variable are the host's alone ({why})"
    assert (found.kind, found.cause, found.mend) == ("host-only", cause, mend)


def test_no_image_in_a_line_of_inspect(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main (void)\n{\n#pragma omp target\n  ;\n}\n")
    subprocess.run(["gcc", "-fopenmp", "-foffload=disable", "a.c", "-o", "prog"], cwd=tmp_path, check=True)
    command = [TESTS.parent / ".venv" / "bin" / "gompy", "inspect", "--check", "prog"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    line = (
        "no device image for its 1 region: they are the host's alone "
        "(link with gompcc -fopenmp or -fopenacc, and without -static and -foffload=disable)"
    )
    assert (done.returncode, line in done.stdout + done.stderr) == (1, True), done.stdout + done.stderr


def test_a_stream_without_the_indirect_functions() -> None:
    host: Any = SimpleNamespace(funcs=[], vars=[], indirect=[SimpleNamespace(name="f")])
    refs: Any = [SimpleNamespace(kind="lost", name="f")]
    assert findings._stream(refs, host) == ["0 indirect functions in the stream, 1 in the table"]


@pytest.mark.slow
def test_each_text_is_held_by_a_test() -> None:
    """Or shown by a page, whose commands are run."""
    known = held(sorted(TESTS.rglob("test_*.py")))
    known += (TESTS.parent / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    kinds = set(findings.KINDS.values())  # docs/diagnosis.md has them in words of its own
    said = pieces(Path(str(module.__file__)) for module in (findings, findings_clang))
    assert {piece: file for piece, file in said.items() if piece not in known and piece not in kinds} == {}
    assert len(said) > 40
