"""dg- directives for output of several lines, and those that stand for no line: what GCC's multiline.exp does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gompy.dg import blocks, directives, messages, plan, program, runner, targets


def oracle(word: str, flags: Sequence[str]) -> bool | None:
    return {"lp64": True, "ia32": False}.get(word)


def planned(text: str) -> plan.TestPlan:
    return plan.make(directives.parse(text), (), ("-O2",), oracle, text)


def block(*lines: str, xfail: bool = False) -> blocks.Block:
    return blocks.Block(2, 1 + len(lines), lines, xfail)


def test_lines_between_begin_and_end() -> None:
    text = '/* { dg-begin-multiline-output "" }\n int x = 1\n          ^\n   { dg-end-multiline-output "" } */\n'
    assert planned(text).blocks == [blocks.Block(2, 3, (" int x = 1", "          ^"), False)]


def test_selectors_of_a_block() -> None:
    text = '/* { dg-begin-multiline-output "" }\n x\n   { dg-end-multiline-output "" %s } */\n'
    assert planned(text % "{ target lp64 }").blocks == [blocks.Block(2, 2, (" x",), False)]
    assert planned(text % "{ target ia32 }").blocks == []
    assert planned(text % "{ xfail *-*-* }").blocks == [blocks.Block(2, 2, (" x",), True)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('/* { dg-begin-multiline-output "" } */\n', "1: unterminated dg-begin-multiline-output"),
        ('/* { dg-begin-multiline-output "" } */\n' * 2, "1: unterminated dg-begin-multiline-output"),
        ('/* { dg-end-multiline-output "" } */\n', "1: dg-end-multiline-output without dg-begin-multiline-output"),
        ("x; /* { dg-line a } */\ny; /* { dg-line a } */\n", "dg-line var a defined at line 2, but previously defined"),
        ('x; /* { dg-error "a" "b" { target *-*-* } .+1 x } */\n', "1: too many arguments"),
        ('x; /* { dg-error "a" "b" { target *-*-* } .+x } */\n', "dg-line var .+x used, but not defined"),
    ],
)
def test_mistakes(text: str, reason: str) -> None:
    with pytest.raises(directives.DirectiveError) as error:
        planned(text)
    assert reason in str(error.value)


def test_quoted_lines_may_go_on() -> None:
    """They have the directives in comments; a line of marks has to be the whole line."""
    output = "a.c:1:3: error: odd\n int x = y; /* { dg-error odd } */\n          ^\nrest\n"
    left, (result,) = blocks.take_blocks(output, [block(" int x = y;", "          ^")])
    assert result.passed and left == "a.c:1:3: error: odd\nrest\n"
    assert not blocks.take_blocks(output, [block(" int x = y;", "         ^")])[1][0].passed
    assert not blocks.take_blocks(output.replace("^", "^~~"), [block(" int x = y;", "          ^")])[1][0].passed
    assert not blocks.take_blocks(output, [block("          ^", " int x = y;")])[1][0].passed


def test_special_characters_are_themselves() -> None:
    line = r" f (a[1]) {$x.y\n|*+?}"
    assert blocks.take_blocks(f"{line}\n", [block(line)])[1][0].passed
    assert not blocks.take_blocks(f"{line.replace('.', 'z')}\n", [block(line)])[1][0].passed


def test_leading_blanks_of_the_first_block_do_not_count() -> None:
    two = [block("   a", "   ^"), block("   b", "   ^")]
    assert [r.passed for r in blocks.take_blocks("a\n   ^\n   b\n   ^\n", two)[1]] == [True, True]
    assert [r.passed for r in blocks.take_blocks("a\n   ^\nb\n   ^\n", two)[1]] == [True, False]


def test_a_block_is_taken_once() -> None:
    left, results = blocks.take_blocks(" a\n ^\n", [block(" a", " ^"), block(" a", " ^")])
    assert left == "" and [r.passed for r in results] == [True, False]


def test_line_numbers_at_the_margin() -> None:
    output = "5 | x\n   12 | y (3);\n      | ^\n 100 | z\n"
    assert blocks.obscured(output) == "   NN | x\n   NN | y (3);\n      | ^\n   NN | z\n"
    wanted = planned('/* { dg-enable-nn-line-numbers "" } */\n')
    assert not wanted.number_lines
    wanted.blocks.append(block("   NN | y (3);", "      | ^"))
    assert messages.excess("   12 | y (3);\n      | ^\n", wanted)[0] == ""


def test_regular_expressions_of_no_line() -> None:
    wanted = planned('/* { dg-regexp {cannot find .*-lodd: No [a-z]+\\n} } */\n/* { dg-regexp "absent" } */\n')
    left, results = messages.excess("ld: cannot find\n-lodd: No such\n", wanted)
    assert [r.passed for r in results] == [False, False] and left
    left, results = messages.excess("cannot find -lodd: No such\nld: more\n", wanted)
    assert [r.passed for r in results] == [True, False] and left == "ld: more"
    assert results[0].name.startswith('dg-regexp 1 was found: "cannot find')
    assert results[1].name == 'dg-regexp 2 not found: "absent"'


def test_environment_of_the_compiler() -> None:
    wanted = planned('/* { dg-set-compiler-env-var A "b c" } */\n/* { dg-set-target-env-var D "e" } */\n')
    assert (wanted.compiler_environment, wanted.environment) == ({"A": "b c"}, {"D": "e"})


def test_directives_with_nothing_to_do() -> None:
    wanted = planned('/* { dg-additional-files "x.h" } */\n/* { dg-require-named-sections "" } */\n')
    assert wanted.supported
    assert not planned('/* { dg-require-dll "" } */\n').supported


PROGRAM = """\
/* { dg-do compile } */
/* { dg-options "-fdiagnostics-show-caret -fno-diagnostics-show-line-numbers" } */
int f (void)
{
  return missing; /* { dg-error "'missing' undeclared" } */
}
/* { dg-begin-multiline-output "" }
   return missing;
          ^~~~~~~
   { dg-end-multiline-output "" } */
"""


def outcome(tmp_path: Path, text: str) -> runner.Outcome:
    path = tmp_path / "t.c"
    path.write_text(text)
    environment = runner.base_environment()
    oracle = targets.EffectiveTargets(("gcc",), [], environment)
    settings = runner.Settings(None, ("gcc", "-foffload=disable"), oracle, environment)
    return runner.Run(program.TestFile("d", "d/t.c", path, "c", text), (), settings).go()


def test_with_the_compiler(tmp_path: Path) -> None:
    found = outcome(tmp_path, PROGRAM)
    assert [status for status, _ in found.results] == ["PASS"] * 3, found.log
    regex = r"\s*return missing;[^\n\r]*\n          \^~~~~~~\n".replace("\n", "\\n")
    assert found.results[1][1] == f'd/t.c expected multiline pattern lines 8-9 was found: "{regex}"'


def test_with_the_compiler_and_a_wrong_mark(tmp_path: Path) -> None:
    found = outcome(tmp_path, PROGRAM.replace("          ^~~~~~~\n", "          ^~~~\n"))
    assert [status for status, _ in found.results] == ["PASS", "FAIL", "FAIL"]
    assert found.problems[0].line == 7 and found.problems[0].details == ("   return missing;", "          ^~~~")


def test_blank_lines_in_the_output(tmp_path: Path) -> None:
    text = '/* { dg-do compile } */\n_Pragma ("message \\"one\\\\n\\\\ntwo\\"")\nint x;\n'
    text += '/* { dg-prune-output "one" } */\n/* { dg-prune-output "two" } */\n'
    found = outcome(tmp_path, text)
    assert ("FAIL", "d/t.c 1 blank line(s) in output") in found.results, found.log
    allowed = outcome(tmp_path, text + "/* { dg-allow-blank-lines-in-output 1 } */\n")
    assert {status for status, _ in allowed.results} == {"PASS"}, allowed.log


@pytest.mark.parametrize(("target", "name"), [("nvptx-none", "nvidia"), ("x86_64-intelmicemul-linux-gnu", "intelmic")])
def test_openacc_device_of_a_target(target: str, name: str) -> None:
    """OpenACC's tests ask for the device that they are compiled for."""
    environment = runner.base_environment()
    oracle = targets.EffectiveTargets(("gcc",), [], environment)
    settings = runner.Settings(None, ("gcc",), oracle, environment, offload_targets=(target,))
    tags = (f"-DACC_DEVICE_TYPE_{name}=1", "-DACC_MEM_SHARED=0", f"-foffload={target}")
    assert runner.acc_tag(settings) == tags


@pytest.mark.parametrize("devices", [0, 1])
def test_the_device_type_that_is_selected(tmp_path: Path, devices: int) -> None:
    """GCC's own probe is asked: of the driver's type, and there is such a device."""
    compiler = tmp_path / "gcc"
    compiler.write_text(
        "#!/bin/sh\nfor word; do last=$word; done\n"
        "grep -q 'acc_get_num_devices (acc_device_nvidia) > 0' \"$1\" || exit 1\n"
        f'printf \'#!/bin/sh\\nexit {int(not devices)}\\n\' > "$last"; chmod +x "$last"\n'
    )
    compiler.chmod(0o755)
    oracle = targets.EffectiveTargets((str(compiler),), [], runner.base_environment())
    answers = {
        acc_type: oracle.acc_keyword(acc_type, "c", "openacc_nvidia_accel_selected", [])
        for acc_type in ("nvidia", "intelmic", "host")
    }
    assert answers == {"nvidia": bool(devices), "intelmic": False, "host": False}
    assert oracle.acc_keyword("host", "c", "openacc_host_selected", []) is True
    assert oracle.keyword("openacc_nvidia_accel_selected", []) is False
