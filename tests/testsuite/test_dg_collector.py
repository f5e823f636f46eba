"""The pytest plugin for dg- programs: its directives, and pytest on directories of a user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import setuptools

from gompy.dg import collector, directives

ROOT = Path(__file__).resolve().parents[2]
STOCK = "gcc -foffload=disable"
PLUGIN = 'pytest_plugins = ["gompy.dg.collector"]\n'


def run(folder: Path, *options: str, compiler: str = STOCK, conftest: str = PLUGIN) -> tuple[int, str]:
    """pytest on a folder of programs, outside of this repository: exit status and what it said."""
    if conftest:
        (folder / "conftest.py").write_text(conftest)
    words = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull]
    environment = {**os.environ, "GOMPY_DG_CC": compiler, "GOMPY_ACCEL": "gcc"}
    for name in ("OMP_TARGET_OFFLOAD", "CI", "BUILD_NUMBER"):
        environment.pop(name, None)
    command = [*words, "--rootdir", str(folder), *(options or (str(folder),))]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert "Traceback" not in said and "collector.py" not in said, said
    return done.returncode, said


def test_the_installed_package_has_it() -> None:
    assert "gompy.dg" in setuptools.find_packages(str(ROOT), include=["gompy*"])


def test_nobody_pays_for_it_unasked() -> None:
    modules = "import sys, gompy.driver.main, lto_wrapper, mkoffload, gompy.cli.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", modules], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"gompy.dg", "pytest"} & set(done.stdout.split())
    assert "pytest11" not in (ROOT / "pyproject.toml").read_text()


# --- directives of our own --------------------------------------------------------------------------------------------


def test_own_directives() -> None:
    text = '/* { gompy-sets "-O0" "-O3 -g" } */\nint x = {1};\n'
    text += '// { gompy-prepare "for i in $(seq 3); do echo \\"$i\\"; done" }\n'
    found = collector.own_directives(text)
    assert found["sets"] == ["-O0", "-O3 -g"]
    assert found["prepare"] == ['for i in $(seq 3); do echo "$i"; done']
    assert found["launches"] == []


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{ gompy-foo 1 }", "unknown directive gompy-foo; there are gompy-sets,"),
        ("{ gompy-launches many }", "gompy-launches: many is no number"),
        ('{ gompy-sets "-O0 }', "gompy-sets: no closing quotation"),
    ],
)
def test_own_directives_refused(line: str, text: str) -> None:
    with pytest.raises(collector.OwnDirectiveError, match=text) as error:
        collector.own_directives(f"\n/* {line} */\n")
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("/* { dg-do run } */", True),
        ("! { dg-do compile { target lp64 } }", True),
        ("/* {dg-do run} */", False),
        ("/* { dg-options -O2 } */", False),
    ],
)
def test_which_texts_are_programs(text: str, truth: bool) -> None:
    assert directives.says_what_to_do(text) is truth


def test_files_that_cannot_be_read_are_nobodys(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "dangling.c").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo.c")
    (tmp_path / "folder.c").mkdir()
    for name in ("dangling.c", "fifo.c", "folder.c", "gone.c"):
        assert collector.pytest_collect_file(tmp_path / name, request.session) is None


# --- whole runs -------------------------------------------------------------------------------------------------------

GOOD = """/* { dg-do run } */
/* { gompy-sets "-DR=0" "-DR=1" } */
int main (void) { return R; }
"""
MADE = """/* { dg-do run } */
/* { gompy-prepare "echo 'int x = 0;' > x.h" } */
/* { dg-options "-I." } */
#include "x.h"
int main (void) { return x; }
"""
OTHER = """/* { dg-do run } */
/* { gompy-differs "no device" } */
int main (void) { return 1; }
"""


@pytest.mark.slow
def test_programs_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text(GOOD)
    (tmp_path / "made.c").write_text(MADE)
    (tmp_path / "other.c").write_text(OTHER)
    (tmp_path / "second.c").write_text("int no_test;\n")
    status, said = run(tmp_path)
    assert status == 1
    assert "PASSED good.c::good.c[-DR=0]" in said
    assert "FAILED good.c::good.c[-DR=1]" in said
    assert "PASSED made.c::made.c" in said
    assert "SKIPPED [1] other.c:1: no device" in said
    assert "1 failed, 2 passed, 1 skipped" in said
    assert "second.c" not in said


@pytest.mark.slow
def test_without_a_conftest_by_an_option(tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text(GOOD)
    status, said = run(tmp_path, conftest="")
    assert (status, "no tests ran" in said) == (5, True)
    assert "1 failed, 1 passed" in run(tmp_path, "-p", "gompy.dg.collector", "good.c", conftest="")[1]
    said = run(tmp_path, "-p", "gompy.dg.collector", "--dg-cc", "no-such-cc", "good.c", conftest="")[1]
    assert "no-such-cc: no such compiler (--dg-cc and GOMPY_DG_CC name it)" in said


ALL = {
    "compile.c": """/* { dg-do compile } */
/* { dg-options "-O2 -Wall -fdump-tree-optimized" } */
int f (void) { int unused; return 42; } /* { dg-warning "unused variable" } */
int g (void) { return f (); }
/* { dg-warning "no such" "" { xfail *-*-* } .-1 } */
/* { dg-bogus "too many" "" { target ia32 } .-2 } */
/* { dg-final { scan-assembler {\\$42} } } */
/* { dg-final { scan-assembler-times "\\tret" 2 } } */
/* { dg-final { scan-assembler-not "xyzzy" } } */
/* { dg-final { scan-tree-dump-times "return 42" 2 "optimized" } } */
/* { dg-final { output-exists } } */
""",
    "error.C": """// { dg-do compile }
int x = y; // { dg-error "'y' was not declared" }
int z = x +; // { dg-error {expected primary-expression} "after +" }
// { dg-message "note me" "" { target c } .-1 }
""",
    "link.c": """/* { dg-do link } */
/* { dg-additional-options "-DN=1" { target lp64 } } */
/* { dg-additional-sources "part.c" } */
/* { dg-require-effective-target lp64 } */
extern int part (void);
int main (void) { return part () + N; }
""",
    "part.c": "int part (void) { return 0; }\n",
    "run.c": """/* { dg-do run } */
/* { dg-additional-sources "part.c" } */
/* { dg-set-target-env-var WHO "world" } */
/* { dg-shouldfail "by intent" } */
/* { dg-output "hello, (w|x)orld" } */
#include <stdio.h>
#include <stdlib.h>
int main (void) { printf ("hello, %s\\n", getenv ("WHO")); return 3; }
""",
    "saved.c": """/* { dg-do run } */
/* { dg-options "-O1 -save-temps" } */
/* { dg-final { scan-assembler "main" } } */
/* { dg-final { scan-file written "42" } } */
#include <stdio.h>
int main (void) { fputs ("42", fopen ("written", "w")); return 0; }
""",
    "object.c": """/* { dg-do assemble } */
/* { dg-final { output-exists-not other.s } } */
/* { dg-final { scan-file object.o "ELF" } } */
int x;
""",
    "xfail.c": """/* { dg-do run { xfail *-*-* } } */
int main (void) { return 1; }
""",
    "xfail-if.c": """/* { dg-do run } */
/* { dg-xfail-run-if "a reason" { *-*-* } } */
int main (void) { return 1; }
""",
    "skip.c": """/* { dg-do run } */
/* { dg-skip-if "only elsewhere" { x86_64-*-* } } */
int main (void) { return 1; }
""",
    "needs.c": """/* { dg-do run } */
/* { dg-require-effective-target offload_device } */
int main (void) { return 1; }
""",
    "f.f90": """! { dg-do run }
! { dg-additional-sources "c_part.c" }
program p
  interface
    integer(4) function c_part () bind (c)
    end function
  end interface
  if (c_part () /= 7) stop 1
end program
""",
    "c_part.c": "int c_part (void) { return 7; }\n",
}


@pytest.mark.slow
def test_every_directive(tmp_path: Path) -> None:
    for name, text in ALL.items():
        (tmp_path / name).write_text(text)
    status, said = run(tmp_path)
    assert status == 0, said
    assert "9 passed" in said and "2 skipped" in said
    assert "skip.c:1: only elsewhere" in said and "needs.c:1: needs offload_device" in said


WRONG = {
    "message.c": """/* { dg-do run } */
/* { dg-output "sum 7\\n" } */
#include <stdio.h>
int main (void)
{
  int unused;
  return printf ("sum 6\\n") < 0; /* { dg-warning "overflow" } */
}
""",
    "scan.c": """/* { dg-do compile } */
/* { dg-final { scan-assembler-times "\\tret" 7 } } */
/* { dg-final { scan-rtl-moon "x" } } */
int main (void) { return 0; }
""",
    "syntax.c": '/* { dg-do link } */\n/* { dg-optoins "-O2" } */\nint main (void) { return 0; }\n',
    "keyword.c": "/* { dg-do link { target moon } } */\nint main (void) { return 0; }\n",
    "own.c": "/* { dg-do link } */\n/* { gompy-set -O2 } */\nint main (void) { return 0; }\n",
    "prepare.c": '/* { dg-do link } */\n/* { gompy-prepare "echo so; exit 7" } */\nint main (void) { return 0; }\n',
    "undeclared.c": "/* { dg-do run } */\nint main (void) { return undeclared; }\n",
    "signal.c": "/* { dg-do run } */\nint main (void) { __builtin_trap (); }\n",
    "slow.c": "/* { dg-do run } */\n/* { dg-timeout 0.2 } */\nint main (void) { for (;;); }\n",
    "xpass.c": "/* { dg-do run { xfail *-*-* } } */\nint main (void) { return 0; }\n",
    "shouldfail.c": '/* { dg-do run } */\n/* { dg-shouldfail "" } */\nint main (void) { return 0; }\n',
}
SAID = {
    "message.c": """message.c:7: a warning was expected on line 7 and did not come:
    overflow
      7 |   return printf ("sum 6\\n") < 0; /* { dg-warning "overflow" } */
message.c: the compiler said what no directive expects:
    {folder}/message.c:6:7: warning: unused variable 'unused' [-Wunused-variable]
message.c:2: the program's output does not match
    sum 7\\n
      2 | /* { dg-output "sum 7\\n" } */

compiler: exit status 0
$ gcc -foffload=disable -Wall {folder}/message.c """,
    "scan.c": """scan.c:2: scan.s: 1 matches of '\\tret', expected: 7
      2 | /* { dg-final { scan-assembler-times "\\tret" 7 } } */
scan.c:3: scan-rtl-moon is not implemented; there are scan-assembler,""",
    "syntax.c": 'syntax.c:2: unknown dg option: dg-optoins\n      2 | /* { dg-optoins "-O2" } */\n',
    "keyword.c": "keyword.c:1: dg-do: unrecognized keyword: moon\n",
    "own.c": "own.c:2: unknown directive gompy-set; there are gompy-sets, ",
    "prepare.c": "prepare.c: a command of gompy-prepare failed\n\nprepare: exit status 7\n$ echo so; exit 7\nso\n",
    "undeclared.c": """    {folder}/undeclared.c:2:26: error: 'undeclared' undeclared (first use in this function)
undeclared.c: there is no program to run: the compilation failed

compiler: exit status 1
""",
    "signal.c": "signal.c: the program: killed by SIGILL; expected: exit status 0\n",
    "slow.c": "slow.c: the program: killed after 0.2 s; expected: exit status 0\n",
    "xpass.c": "xpass.c: execution test passes, though xfail says that it will not\n",
    "shouldfail.c": "shouldfail.c: the program: exit status 0; expected: a failure (dg-shouldfail)\n",
}


@pytest.mark.slow
def test_what_failures_say(tmp_path: Path) -> None:
    for name, text in WRONG.items():
        (tmp_path / name).write_text(text)
    status, said = run(tmp_path, compiler=f"{STOCK} -Wall")
    assert status == 1 and f"{len(WRONG)} failed" in said.splitlines()[-1]
    assert "program: exit status 0\n$ ./message.exe\nsum 6\n" in said
    for name, text in SAID.items():
        assert text.replace("{folder}", str(tmp_path)) in said, name


@pytest.mark.slow
def test_work_directories_are_kept_on_demand(tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text(GOOD)
    status, said = run(tmp_path, str(tmp_path), "--dg-keep", str(tmp_path / "kept"))
    kept = sorted((tmp_path / "kept").iterdir())
    assert status == 1 and len(kept) == 2 and all((folder / "good.exe").exists() for folder in kept)
    assert any(f"work directory: {folder}\n" in said for folder in kept)


# --- regions on the device --------------------------------------------------------------------------------------------

DEVICE = """/* { dg-do run } */
int main (void) {
  int x = 1;
#pragma omp target map(x)
  x = 0;
  return x; }
"""


@pytest.mark.slow
def test_regions_must_run_on_the_device(tmp_path: Path) -> None:
    (tmp_path / "host.c").write_text("/* { dg-do run } */\nint main (void) { return 0; }\n")
    (tmp_path / "device.c").write_text(DEVICE)
    (tmp_path / "three.c").write_text(f"/* {{ gompy-launches 3 }} */\n{DEVICE}")
    (tmp_path / "off.c").write_text(f'/* {{ dg-set-target-env-var OMP_TARGET_OFFLOAD "disabled" }} */\n{DEVICE}')
    (tmp_path / "offoption.c").write_text(f'/* {{ dg-additional-options "-foffload=disable" }} */\n{DEVICE}')
    said = run(tmp_path, compiler="gompcc")[1]
    assert "PASSED device.c::device.c" in said
    assert "PASSED off.c::off.c" in said and "PASSED offoption.c::offoption.c" in said
    assert "host.c: 0 regions ran on the device, expected: at least 1 ({ gompy-launches 0 } if none is to)" in said
    assert "three.c: 1 regions ran on the device, expected: at least 3\n" in said


@pytest.mark.slow
def test_option_sets_are_not_overridden(tmp_path: Path) -> None:
    text = """/* { dg-do run } */
/* { gompy-sets "-O0 -DWANT=0" "-O1 -DWANT=1" } */
/* { gompy-launches 0 } */
#ifdef __OPTIMIZE__
enum { IS = 1 };
#else
enum { IS = 0 };
#endif
int main (void) { return IS != WANT; }
"""
    (tmp_path / "sets.c").write_text(text)
    assert "2 passed" in run(tmp_path)[1]
