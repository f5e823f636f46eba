"""Options of the host that are not for GPUs: left out of the image's compile, or named where they have changed code."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_tools import Tools, has_all
from nvptx_tools import has_compiler

from gompy.tools.options import read
from mkoffload.nvptx import Options
from mkoffload.nvptx_explain import problems

pytestmark = has_all
REGION = """int main (void)
{
  int a = 1;
#pragma omp target map(tofrom: a)
  a++;
  return a != 2;
}
"""


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """The commands, and a folder to work in."""
    work = tmp_path / "work"
    work.mkdir()
    return Tools(bin_folder, work)


@has_compiler
@pytest.mark.parametrize("option", ["-fcf-protection", "-Wa,--noexecstack", "-Xassembler=--noexecstack"])
def test_options_that_are_the_hosts(tools: Tools, option: str) -> None:
    """GCC's mkoffload passes them on: the link fails, or the assembler complains."""
    tools.write("a.c", REGION)
    done = tools.run("gompcc", "-fopenmp", "-foffload=nvptx-none", *option.split("="), "a.c", "-o", "a")
    assert (done.returncode, done.stderr) == (0, "")


def test_options_for_the_assembler_that_are_the_devices() -> None:
    assert Options(read(["-fopenmp", "-fcf-protection=branch", "-Xassembler", "--x", "-Wa,--verify"])).words == [
        "-fopenmp",
        "-Wa,--verify",
    ]


def test_instrumented_code() -> None:
    """What the host's options have put into the code before it became the device's."""
    text = "<built-in>: error: variable ‘__gcov0.main._omp_fn.0’ has been referenced in offloaded code but hasn’t …\n"
    text += "unresolved symbol __ubsan_handle_add_overflow\nunresolved symbol __cyg_profile_func_exit\n"
    text += "unresolved symbol __sanitizer_cov_trace_pc\n"
    without = "compile its file without that"
    lacks = "device function ‘f’ uses ‘{}’: nvptx-none has no {}; " + without
    assert [p.what for p in problems(text, lambda _: [("f", "")], lambda _: [])] == [
        "target region ‘main._omp_fn.0’ is instrumented (--coverage, -fprofile-generate), and nvptx-none has no "
        f"counters; {without}, or give the function around it the attribute ‘no_profile_instrument_function’",
        lacks.format("__ubsan_handle_add_overflow", "-fsanitize=undefined"),
        lacks.format("__cyg_profile_func_exit", "-finstrument-functions"),
        lacks.format("__sanitizer_cov_trace_pc", "-fsanitize-coverage"),
    ]
