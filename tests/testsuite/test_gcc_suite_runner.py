"""The runner of GCC's libgomp tests: directives, selectors, messages, plans, lists of expected failures, reports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from intelmic_driver import gone

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testsuite"))

import run_gcc_tests  # noqa: E402
from gcc_suite import expected, report, source, stock  # noqa: E402

from gompy.dg import directives, messages, plan, program, runner, selectors, targets, tcl  # noqa: E402
from gompy.dg.expressions import are  # noqa: E402


def oracle(word: str, flags: Sequence[str]) -> bool | None:
    known = {"lp64": True, "ia32": False, "offload_device": False, "run_expensive_tests": False, "c": False}
    if word == "__OPTIMIZE__":
        return any(f.startswith("-O") and f != "-O0" for f in flags)
    return known.get(word)


def planned(text: str, option_set: Sequence[str] = (), default: Sequence[str] = ("-O2",)) -> plan.TestPlan:
    return plan.make(directives.parse(text), option_set, default, oracle)


# --- Tcl ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a b  c", ["a", "b", "c"]),
        ('"a b" {c "d} e', ["a b", 'c "d', "e"]),
        ("{ {a b} c }", [" {a b} c "]),
        (r'"\\\[\[0-9\]+\\\]"', [r"\[[0-9]+\]"]),
        (r"{\\\[verbatim\\\]}", [r"\\\[verbatim\\\]"]),
        (r'"one\ntwo\t\x41\101"', ["one\ntwo\tAA"]),
        ("", []),
        ('""', [""]),
    ],
)
def test_words(text: str, result: list[str]) -> None:
    assert tcl.words(text, tcl.Variables()) == result


@pytest.mark.parametrize("text", ["{a", '"a', "{a}b", "$unset", "[exec ls]"])
def test_words_refused(text: str) -> None:
    with pytest.raises(tcl.TclError):
        tcl.words(text, tcl.Variables())


def test_commands_count() -> None:
    variables = tcl.Variables()
    assert tcl.words("[variable c_loop 0]", variables) == [""]
    assert tcl.words("l_loop[incr c_loop] l_loop$c_loop", variables) == ["l_loop1", "l_loop1"]


# --- directives -----------------------------------------------------------------------------------------------------


def test_one_directive_a_line_whatever_stands_around() -> None:
    found = directives.parse(
        """/* { dg-do run } */
! { dg-options "-O0 -g" { target lp64 } }
int x; /* !TODO { dg-additional-options "-DA" } and more */
/* {dg-do link} no blanks: not one */
/* { dg-output "a{2}" } */
"""
    )
    assert [(d.line, d.name, d.args) for d in found] == [
        (1, "dg-do", ("run",)),
        (2, "dg-options", ("-O0 -g", " target lp64 ")),
        (3, "dg-additional-options", ("-DA",)),
        (5, "dg-output", ("a{2}",)),
    ]


def test_unknown_directive_is_dejagnus_error() -> None:
    with pytest.raises(directives.DirectiveError) as error:
        planned('\n{ dg-foo 2 "x" }\n')
    assert error.value.text == 'unknown dg option: dg-foo 2 2 "x" for " dg-foo 2 2 "x" "'


# --- selectors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "truth"),
    [
        ("lp64", True),
        ("*-*-*", True),
        ("i?86-*-* x86_64-*-*", True),
        ("powerpc*-*-* aarch64-*-linux*", False),
        ("{ ! lp64 }", False),
        ("! run_expensive_tests", True),
        (" { { i?86-*-* x86_64-*-* } && lp64 } ", True),
        ("{ ia32 || { ! offload_device } }", True),
        ("{ lp64 && { ia32 || offload_device } }", False),
        ("skip-all-targets", False),
        ("iN-VAl-Id", False),
    ],
)
def test_selector(selector: str, truth: bool) -> None:
    assert selectors.evaluate(selector, selectors.Context(oracle)) is truth


@pytest.mark.parametrize("selector", ["no_such_thing", "lp64 && ia32 && lp64", "", "{ ! }"])
def test_selector_refused(selector: str) -> None:
    with pytest.raises(selectors.SelectorError):
        selectors.evaluate(selector, selectors.Context(oracle))


def test_target_and_xfail() -> None:
    context = selectors.Context(oracle)
    assert selectors.process("target lp64", context) == selectors.Verdict(True, False)
    assert selectors.process("target { ! lp64 } xfail *-*-*", context) == selectors.Verdict(False, True)
    assert selectors.process("xfail ia32", context) == selectors.Verdict(True, False)
    assert selectors.process("target c ", context).selected is False
    with pytest.raises(selectors.SelectorError):
        selectors.process("lp64", context)
    with pytest.raises(selectors.SelectorError):
        selectors.process("xfail lp64", context, xfail_allowed=False)


@pytest.mark.parametrize(
    ("includes", "excludes", "flags", "selected"),
    [
        (["*"], [], [], True),
        (["*"], [""], ["-O2"], True),
        (["*"], ["-O0"], ["-O0"], False),
        (["-O0", "-O2"], [], ["-g", "-O2"], True),
        (["-O3 -g"], [], ["-O3"], False),
        (["-O3 -g"], [], ["-O3", "-g"], True),
        (["-foffload=*"], [], ["-foffload=nvptx-none"], True),
    ],
)
def test_flags(includes: list[str], excludes: list[str], flags: list[str], selected: bool) -> None:
    assert selectors.flags_selected(includes, excludes, flags) is selected


# --- plans ----------------------------------------------------------------------------------------------------------


def test_default_is_run_with_the_default_options() -> None:
    made = planned("int main () {}")
    assert (made.action, made.options, made.supported) == ("run", ["-O2"], True)


def test_options_replace_and_extend_in_file_order() -> None:
    assert planned('{ dg-options "-O0" }\n{ dg-additional-options "-DA" }').options == ["-O0", "-DA"]
    assert planned('{ dg-additional-options "-DA" }\n{ dg-options "-O0" }').options == ["-O0"]
    assert planned('{ dg-additional-options "-DA" { target ia32 } }').options == ["-O2"]
    assert planned('{ dg-additional-options "-std=gnu99" {target c } }').options == ["-O2"]


def test_do_with_selectors() -> None:
    assert planned("{ dg-do link }").action == "link"
    assert not planned("{ dg-do run { target offload_device } }").supported
    assert planned("{ dg-do run { target lp64 } }").supported
    assert planned("{ dg-do run { xfail lp64 } }").run_xfail
    both = planned("{ dg-do run { target ia32 } }\n{ dg-do link { target lp64 } }")
    assert (both.action, both.supported) == ("link", True)


def test_skips() -> None:
    assert not planned("{ dg-require-effective-target offload_device }").supported
    assert planned("{ dg-require-effective-target offload_device { target ia32 } }").supported
    companion = planned('{ dg-skip-if "" { *-*-* } }')
    assert not companion.supported and companion.companion
    slow = '{ dg-skip-if "" { ! run_expensive_tests } { "*" } { "-O2" } }'
    assert not planned(slow, ("-O3",), ()).supported
    assert planned(slow, ("-O2",), ()).supported


def test_optimize_sees_the_tests_own_flags() -> None:
    text = "{ dg-require-effective-target __OPTIMIZE__ }"
    assert planned(text).supported
    assert not planned(text, ("-O0",), ()).supported
    assert not planned('{ dg-options "-O0" }\n' + text).supported


def test_environment_output_and_failure() -> None:
    made = planned(
        """{ dg-set-target-env-var OMP_NUM_TEAMS "6" }
{ dg-output "a(\\n|\\r)" }
{ dg-output "b$" }
{ dg-output "c" { target ia32 } }
{ dg-shouldfail "" }
{ dg-timeout 10 }
{ dg-additional-sources "x.c y.c" }
{ dg-xfail-run-if TODO { lp64 } }
"""
    )
    assert made.environment == {"OMP_NUM_TEAMS": "6"}
    assert made.output == ["a(\n|\r)", "b$"]
    assert made.should_fail and made.run_xfail and made.timeout == 10
    assert made.sources == ["x.c", "y.c"]


def test_lines_of_messages() -> None:
    made = planned(
        """{ dg-line here }
x; { dg-error "own" }
{ dg-warning "named" "name" { target *-*-* } here }
{ dg-message "relative" "" { target *-*-* } .-1 }
{ dg-error "none" "" { target *-*-* } 0 }
"""
    )
    assert [(m.kind, m.line, m.own_line) for m in made.messages] == [
        ("dg-error", 2, 2),
        ("dg-warning", 1, 3),
        ("dg-message", 3, 4),
        ("dg-error", None, 5),
    ]
    assert planned("{ dg-line never }").warnings == ["dg-line var never defined, but not used"]


def test_final_commands() -> None:
    made = planned('{ dg-final { scan-tree-dump-times "omp target \\\\(1\\\\)" 3 "original" { xfail *-*-* } } }')
    assert made.finals == [plan.Final(("scan-tree-dump-times", r"omp target \(1\)", "3", "original"), True)]


# --- messages -------------------------------------------------------------------------------------------------------


def message(kind: str, regex: str, line: int | None, own: int = 7) -> plan.Message:
    return plan.Message(kind, regex, "", line, own, False)


def test_a_line_of_output_serves_one_directive() -> None:
    output = "t.c:7:3: error: too bad\nt.c:8:1: warning: odd [-Wodd]\nlto1: fatal error: gone"
    wanted = [message("dg-error", "bad", 7), message("dg-warning", "odd", 8), message("dg-error", "gone", None)]
    left, results = messages.match(output, wanted)
    assert left == "" and [r.passed for r in results] == [True, True, True]
    assert results[1].name == " at line 7 (test for warnings, line 8)"
    left, results = messages.match(output, [message("dg-error", "bad", 7), message("dg-bogus", "bad", 7)])
    assert [r.passed for r in results] == [True, True]
    assert not messages.match(output, [message("dg-error", "bad", 8)])[1][0].passed
    assert not messages.match(output, [message("dg-warning", "bad", 7)])[1][0].passed


def test_excess() -> None:
    noise = (
        "t.c: In function 'main':\nt.c:3:1: note: declared here\nIn file included from a.h:1,\n         from t.c:2:\n"
    )
    wanted = plan.TestPlan()
    assert messages.excess(noise, wanted) == ("", [])
    assert messages.excess(noise, plan.TestPlan(keep_notes=True))[0] == "t.c:3:1: note: declared here"
    assert messages.excess(noise + "mkoffload: error: no", wanted)[0] == "mkoffload: error: no"
    assert messages.excess("mkoffload: error: no", plan.TestPlan(prune=["mkoffload"]))[0] == ""


@pytest.mark.parametrize(
    "line",
    [
        "a.C:7:   required from 'struct S<int>'",
        "a.C:7:   recursively required from 'struct S<int>'",
        "a.C:9:   [ skipping 12 instantiation contexts ]",
        "a.C:9:   in 'constexpr' expansion of 'f()'",
        "In module imported at a.C:3:1:",
        "2 errors.",
        "gcc: warning: x.o: linker input file unused since linking not done",
        "/usr/bin/ld: warning: a.o: requires executable stack (because the .note.GNU-stack section is executable)",
        "lto-wrapper: warning: using serial compilation of 3 LTRANS jobs",
        "/usr/bin/ld: error: ld returned 1 exit status",
        "{standard input}: Assembler messages:",
    ],
)
def test_lines_that_do_not_count(line: str) -> None:
    """What prune.exp leaves out, where it stands alone and among others."""
    assert messages.excess(line, plan.TestPlan())[0] == ""
    assert messages.excess(f"a.c:1:1: error: x\n{line}\n", plan.TestPlan())[0] == "a.c:1:1: error: x"


def test_fortran_messages_on_one_line() -> None:
    output = "a.f90:3:5:\n\nError: Symbol 'x' has no type\na.f90:9:\n\n  9 | y\n    |  1\nWarning: odd"
    assert messages.fortran(output) == "a.f90:3:5: Error: Symbol 'x' has no type\na.f90:9:0: Warning: odd"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a.b", "a\nb", True),
        ("a$", "a\n", False),
        (r"\[[0-9]+\]", "[42]", True),
        (r"\ya\y", "x a y", True),
        ("[^x]y", "\ny", True),
        ("[[:digit:]]+x", "42x", True),
        ("(?n)^b$", "a\nb\nc", True),
    ],
)
def test_advanced_regular_expressions(pattern: str, text: str, found: bool) -> None:
    assert bool(are(pattern).search(text)) is found


# --- expected failures, report --------------------------------------------------------------------------------------


def test_expected_differences_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# a comment\n\na.c execution test  # why\nb.c execution test  # why not\nnever.c x  # not run\n")
    known = expected.read(path)
    assert known["a.c execution test"] == "why"
    results = [("FAIL", "a.c execution test"), ("PASS", "b.c execution test"), ("FAIL", "c.c execution test")]
    difference = expected.compare(known, results)
    assert difference.unexpected == ["FAIL: c.c execution test"]
    assert difference.gone == ["b.c execution test"]
    assert difference.summary() == "bad results: 1 on the list, 1 unexpected; good though on the list: 1"


def test_expected_names_for_all_option_sets() -> None:
    known = {"a.c * execution test": "why", "b[1].c *": "why not"}
    good, bad = ("PASS", "a.c -DX  -O0  execution test"), ("FAIL", "a.c -DX  -O2  execution test")
    assert expected.compare(known, [good, bad, ("FAIL", "b[1].c x")]) == expected.Difference([], [], 2)
    assert expected.compare(known, [good, ("FAIL", "ba.c -O2  execution test")]) == expected.Difference(
        ["FAIL: ba.c -O2  execution test"], ["a.c * execution test"]
    )


def test_expected_without_a_reason_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("a.c execution test\n")
    with pytest.raises(expected.ExpectedError, match=r"list\.txt:1: no reason"):
        expected.read(path)
    with pytest.raises(expected.ExpectedError, match="No such file"):
        expected.read(tmp_path / "none.txt")


def test_the_lists_that_we_ship_can_be_read() -> None:
    lists = sorted((ROOT / "testsuite/expected").glob("*.txt"))
    assert lists and all(isinstance(expected.read(path), dict) for path in lists)


# --- whole runs -----------------------------------------------------------------------------------------------------

TREE = {
    "libgomp.c/good.c": """/* { dg-do run } */
/* { dg-output "sum 6" } */
#include <stdio.h>
int main () { int s = 0;
#pragma omp target map(tofrom: s)
s = 6;
printf ("sum %d\\n", s); return 0; }
""",
    "libgomp.c/bad.c": """/* { dg-do run } */
int main () {
#pragma omp target
;
return 1; }
""",
    "libgomp.c/shouldfail.c": """/* { dg-do run } */
/* { dg-shouldfail "" } */
/* { dg-set-target-env-var STATUS "3" } */
#include <stdlib.h>
int main () {
#pragma omp target
;
return atoi (getenv ("STATUS")); }
""",
    "libgomp.c/excess.c": """int main () { int unused;
#pragma omp target
;
return undeclared; }
""",
    "libgomp.c/nothing.c": "int main () { return 1; }\n",
    "libgomp.c-c++-common/both.c": """/* { dg-additional-options "-Wall" } */
int main () { int unused; /* { dg-warning "unused variable" } */
#pragma omp target
;
return 0; }
""",
    "libgomp.fortran/f.f90": """! { dg-do run }
program p
integer :: i
i = 0
!$omp target map(tofrom: i)
i = 1
!$omp end target
if (i /= 1) stop 1
end program
""",
    "libgomp.c++/x.C": "int main () { return 0; }\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        path = tmp_path / "libgomp/testsuite" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "include").mkdir()
    return tmp_path


def run_suite(tree: Path, *options: str) -> tuple[int, str, list[str]]:
    out = tree / "out"
    command = [sys.executable, str(ROOT / "testsuite/run_gcc_tests.py"), str(tree), "--out", str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    lines = (out / "libgomp.sum").read_text().splitlines() if (out / "libgomp.sum").exists() else []
    return done.returncode, done.stdout + done.stderr, lines


STOCK = ("--cc", "gcc -foffload=disable")


@pytest.mark.slow
def test_run_with_the_stock_compiler(tree: Path) -> None:
    status, output, lines = run_suite(tree, *STOCK)
    assert status == 1, output
    assert "PASS: libgomp.c/good.c output pattern test" in lines
    assert "FAIL: libgomp.c/bad.c execution test" in lines
    assert "PASS: libgomp.c/shouldfail.c execution test" in lines
    assert "FAIL: libgomp.c/excess.c (test for excess errors)" in lines
    assert "UNRESOLVED: libgomp.c/excess.c compilation failed to produce executable" in lines
    for driver in ("libgomp.c", "libgomp.c++"):
        assert f"PASS: {driver}/../libgomp.c-c++-common/both.c  (test for warnings, line 2)" in lines
    assert "PASS: libgomp.fortran/f.f90   -O2  execution test" in lines
    assert not any("nothing.c" in line or "x.C" in line for line in lines)
    assert "# of unexpected failures\t2" in lines and "\t\t=== libgomp Summary ===" in lines
    assert "unexpected: FAIL: libgomp.c/bad.c execution test" in output
    log = (tree / "out/libgomp.log").read_text()
    assert "Executing on host: gcc -foffload=disable" in log and "'undeclared' undeclared" in log


def test_output_in_a_file(tree: Path) -> None:
    """dg-output-file: word for word; a file that is not there is an ERROR, as in DejaGnu."""
    folder = tree / "libgomp/testsuite/libgomp.c"
    text = "/* {{ dg-do run }} */\n/* {{ dg-output-file {0}.output }} */\n"
    text += '#include <stdio.h>\nint main (void)\n{{\n#pragma omp target\n  ;\n  puts ("1.5\\n[a]");\n}}\n'
    for name, output in (("same", "1.5\n[a]\n"), ("other", "125\n[a]\n"), ("longer", "1.5\n[a]\nmore\n"), ("none", "")):
        (folder / f"out-{name}.c").write_text(text.format(f"out-{name}"))
        if output:
            (folder / f"out-{name}.output").write_text(output)
    status, said, lines = run_suite(tree, *STOCK, "--filter", "out-")
    assert status == 1
    assert [line for line in lines if "output file test" in line] == [
        "FAIL: libgomp.c/out-longer.c output file test",
        "FAIL: libgomp.c/out-other.c output file test",
        "PASS: libgomp.c/out-same.c output file test",
    ], said
    (missing,) = [line for line in lines if line.startswith("ERROR")]
    assert missing.startswith("ERROR: libgomp.c/out-none.c: dg-output-file: ") and "No such file" in missing


def test_expected_failures_decide_the_exit_status(tree: Path) -> None:
    known = tree / "known.txt"
    known.write_text("libgomp.c/bad.c execution test  # returns 1\n")
    status, output, _ = run_suite(tree, *STOCK, "--filter", "bad.c", "--filter", "good.c", "--expected", str(known))
    assert status == 0, output
    known.write_text("libgomp.c/good.c execution test  # it does not\n")
    status, output, _ = run_suite(tree, *STOCK, "--filter", "good.c", "--expected", str(known))
    assert status == 1 and "expected to fail (it does not), but good: libgomp.c/good.c execution test" in output


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--cc", "no-such-compiler"), "no-such-compiler: no such compiler"),
        ((*STOCK, "--filter", "zzz"), "no test is selected"),
        ((*STOCK, "--dirs", "libgomp.ada"), "libgomp.ada: no such directory"),
        ((*STOCK, "--expected", "nowhere"), "nowhere.txt: No such file"),
    ],
)
def test_wrong_usage_is_one_line(tree: Path, options: tuple[str, ...], text: str) -> None:
    status, output, _ = run_suite(tree, *options)
    assert status == 2
    assert output.startswith("run_gcc_tests.py: error: ") and text in output and len(output.splitlines()) == 1


def test_a_directory_that_is_not_gccs(tmp_path: Path) -> None:
    with pytest.raises(source.SourceError, match="no libgomp/testsuite"):
        source.testsuite_of(tmp_path)


def test_files_that_are_skipped(tree: Path) -> None:
    status, output, lines = run_suite(tree, *STOCK, "--filter", "bad.c", "--filter", "good.c", "--skip", "b*.c")
    assert status == 0, output
    assert any("good.c" in line for line in lines) and not any("bad.c" in line for line in lines)


@pytest.mark.parametrize(
    ("member", "taken"),
    [
        ("libgomp/testsuite/libgomp.c/a.c", True),
        ("libgomp/oacc-int.h", True),
        ("gcc/testsuite/c-c++-common/goacc/cache-1.c", True),
        ("gcc/testsuite/gfortran.fortran-torture/execute/math.f90", True),
        ("gcc/testsuite/c-c++-common/goacc/loop-1.c", False),
        ("libgomp/target.c", False),
    ],
)
def test_what_is_unpacked_of_gccs_source(member: str, taken: bool) -> None:
    """Tests of libgomp's include some of the compilers'."""
    assert bool(source.is_of_the_tests(f"gcc-14.2.0/{member}")) == taken


def test_torture_sets(tree: Path) -> None:
    tests = source.testsuite_of(tree)
    (fortran,) = source.find(tests, "libgomp.fortran")
    stock = runner.Settings(tests, ("gcc",), targets.EffectiveTargets(["gcc"], [], {}), {}, all_sets=True)
    assert len(runner.option_sets(fortran, stock)) == 6
    assert runner.option_sets(fortran, replace(stock, all_sets=False)) == (("-O2",),)
    assert runner.full_name(fortran, ("-O3", "-g")) == "libgomp.fortran/f.f90   -O3 -g  "
    names = [t.name for t in source.find(tests, "libgomp.c")]
    assert names == sorted(names) and "libgomp.c/../libgomp.c-c++-common/both.c" in names


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    child, seconds = tmp_path / "child", 0.2
    script = f"sleep 300 & echo $! > {child}.new; mv {child}.new {child}; sleep 300"
    while not child.exists():  # a busy machine does not come as far in the first
        status, _ = runner.execute(["/bin/sh", "-c", script], tmp_path, runner.base_environment(), seconds)
        assert status is None
        seconds *= 2
    assert gone(int(child.read_text()))


def test_effective_targets_of_the_stock_compiler(tmp_path: Path) -> None:
    known = targets.EffectiveTargets(["gcc", "-foffload=disable"], [], runner.base_environment())
    assert known.keyword("offload_device", []) is False
    assert known.keyword("offload_device_shared_as", []) is True
    assert known.keyword("offload_device_nonshared_as", []) is False
    assert known.keyword("offload_target_nvptx", []) is False
    assert known.keyword("__OPTIMIZE__", ["-O2"]) is True and known.keyword("__OPTIMIZE__", ["-O2", "-O0"]) is False
    assert known.keyword("tls_runtime", []) is True
    assert known.keyword("no_such_keyword", []) is None


def test_table_counts_tests_not_lines(tmp_path: Path) -> None:
    test = program.TestFile("libgomp.c", "libgomp.c/a.c", tmp_path / "a.c", "c", "")
    good = runner.Outcome(test, ("-O0",), [("PASS", "a"), ("PASS", "b")], is_run=True, launches=2)
    bad = runner.Outcome(test, ("-O2",), [("PASS", "a"), ("FAIL", "b")], is_run=True, launches=0)
    rows = report.rows([good, bad])
    assert (rows[0].tests, rows[0].passed, rows[0].failed, rows[0].launched) == (1, 0, 1, 1)
    assert rows[-1].directory == "all" and report.rows([good])[-1].passed == 1


@pytest.mark.parametrize("newer", [False, True])
def test_tests_of_openmp_50_fail_under_a_newer_libgomp(monkeypatch: pytest.MonkeyPatch, newer: bool) -> None:
    """With its own runtime, gcc's are expected to fail where libgomp follows 5.1; gompy's, and other tests, never."""
    monkeypatch.setattr(stock, "keeps_unmapped_pointers", lambda: newer)
    names = [
        f"libgomp.c{'++' if file.endswith('.C') else ''}/{file} execution test" for file in source.openmp_50_tests()
    ]
    results = [("FAIL", name) for name in [*names, "libgomp.c/target-20.c execution test"]]
    ours = expected.compare(run_gcc_tests.expectations("nvptx", ["gompcc"]), results)
    assert len(ours.unexpected) == len(names) + 1
    theirs = expected.compare(run_gcc_tests.expectations("nvptx", ["gcc"]), results)
    assert len(theirs.unexpected) == (1 if newer else len(names) + 1)
    passes = expected.compare(run_gcc_tests.expectations("nvptx", ["gcc"]), [("PASS", name) for name in names])
    assert len(passes.gone) == (len(names) if newer else 0)


@pytest.mark.parametrize(("release", "older"), [(13, True), (16, False)])
def test_lists_of_a_release_beneath_the_stock_runtime(
    monkeypatch: pytest.MonkeyPatch, release: int, older: bool
) -> None:
    """They have names of their own; where there is none all has to pass.  GCC 14's tests know OpenMP 5.1's rule."""
    monkeypatch.setattr(stock, "keeps_unmapped_pointers", lambda: True)
    words = [f"gcc-{release}", "-foffload=nvptx-none"]
    theirs = run_gcc_tests.expectations(None, words, release)
    kept = run_gcc_tests.HERE / "expected" / f"nvptx-{release}-stock.txt"
    assert set(expected.read(kept) if kept.exists() else {}) <= set(theirs)
    assert any("in OpenMP 5.0" in reason for reason in theirs.values()) == older
