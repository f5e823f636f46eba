"""Directives that GCC's tests have from GCC 14 and 15 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gompy.dg import directives, plan, scans


def planned(text: str) -> plan.TestPlan:
    return plan.make(directives.parse(text), (), ("-O2",), lambda word, flags: word == "yes", text)


@pytest.mark.parametrize(
    ("targets", "status"),
    [(("nvptx-none",), ["PASS"]), (("amdgcn-amdhsa",), []), (("amdgcn-amdhsa", "nvptx-none"), ["PASS"])],
)
def test_a_scan_of_one_target_only(tmp_path: Path, targets: tuple[str, ...], status: list[str]) -> None:
    """It is made where images for that target are, and nowhere else."""
    text = '/* { dg-final { only_for_offload_target nvptx-none scan-offload-tree-dump "= f53 " "optimized" } } */\n'
    (tmp_path / "v.xnvptx-none.mkoffload.123t.optimized").write_text("  v = f53 ();\n")
    (final,) = planned(text).finals
    results = scans.scan(final, "d/v.c ", Path("v.c"), tmp_path, targets)
    assert [result.status for result in results] == status


@pytest.mark.parametrize(("selector", "expected"), [("yes", True), ("no", False)])
def test_a_compiler_that_breaks(selector: str, expected: bool) -> None:
    """dg-ice: its messages are no failure, where it is expected."""
    found = planned(f"/* {{ dg-ice {{TODO}} {{ {selector} }} }} */\n")
    assert found.excess_xfail == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", True),
        (" { xfail yes }", True),
        (" { xfail no }", False),
        (" { target yes }", True),
        (" { target no }", False),
    ],
)
def test_excess_errors_that_are_expected(selector: str, expected: bool) -> None:
    """dg-excess-errors: an xfail that does not hold expects nothing."""
    assert planned(f'/* {{ dg-excess-errors "why"{selector} }} */\n').excess_xfail == expected


def test_features_that_need_no_option() -> None:
    """dg-add-options of weak_undefined adds nothing on GNU/Linux."""
    assert planned("/* { dg-add-options weak_undefined } */\n").options == ["-O2"]


@pytest.mark.parametrize("what", ["scan-tree-dump-not", "scan-assembler-not"])
def test_names_are_on_one_line(tmp_path: Path, what: str) -> None:
    """A pattern with line ends, tabs and backslashes is shown by escapes, as GCC's scripts do."""
    (tmp_path / "v.c.123t.optimized").write_text("x\n")
    (tmp_path / "v.s").write_text("x\n")
    final = plan.Final((what, "a[^\n\r\t]\\(", "optimized"), False)
    (result,) = scans.scan(final, "d/v.c ", Path("v.c"), tmp_path, ())
    shown = r"a[^\n\r\t]\\("
    assert result.name == (f"d/v.c {what} {shown}" if "assembler" in what else f'd/v.c {what} optimized "{shown}"')
    assert result.status == "PASS"
