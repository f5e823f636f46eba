"""GCC's `simd` loops on a warp's lanes: variables that they must not share, stacks that must suffice (simt.py)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, has_all, needs
from nvptx_tools import has_compiler, has_stock_plugin, make_tools

from gompy.driver import paths
from gompy.ptx.simt import mended

pytestmark = [has_all, needs("gcc"), has_compiler, has_driver, has_executor]
PROGRAM = Path(__file__).parents[1] / "programs" / "simd_bodies.c"
NESTED = PROGRAM.with_name("simd_nested.c")
REGIONS = (
    *("once", "calls nothing", "in a loop", "in a function", "shared by two loops", "used after the loop"),
    *("made before the loop", "private array", "deep calls", "aligned variables"),
)
RIGHT = "".join(f"{name}: 0 wrong\n" for name in REGIONS)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return make_tools(tmp_path_factory, OMP_TARGET_OFFLOAD="mandatory")


@pytest.mark.slow
def test_lanes_have_variables_of_their_own(tools: Tools) -> None:
    tools.ok("gompcc", "-O2", "-g", "-fopenmp", "-foffload=nvptx-none", PROGRAM, "-o", "simd")
    assert tools.run(tools.work / "simd").stdout == RIGHT


@pytest.mark.slow
@pytest.mark.skipif(not has_stock_plugin(), reason="libgomp-plugin-nvptx1 is not installed")
def test_programs_of_stock_gcc_on_the_emulated_gpu(tools: Tools) -> None:
    options = ["-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify"]
    command = ["gcc", "-O1", "-fopenmp", *options, PROGRAM, "-o", tools.work / "stock"]
    subprocess.run(command, check=True, capture_output=True)
    done = tools.run(tools.work / "stock", env={"LD_LIBRARY_PATH": paths.CUDALIBDIR})
    assert done.stdout == RIGHT, done.stderr


def test_what_cannot_be_mended_is_told_with_its_line(tools: Tools) -> None:
    options = ["-O2", "-g", "-fopenmp", "-foffload=nvptx-none", "-DWARNS", str(PROGRAM), "-o", "warns"]
    done = tools.run("gompcc", *options)
    line = 1 + PROGRAM.read_text().split("\n").index("          c[m] = d[m] + i;")
    told = [text for text in done.stderr.split("\n") if "warning" in text]
    assert done.returncode == 0 and len(told) == 1
    assert told[0].startswith(f"mkoffload: warning: {PROGRAM}:{line}: ‘main._omp_fn.")
    assert "all lanes of a ‘simd’ loop may share the variable that is written here" in told[0]


def test_loops_in_loops_of_lanes_are_told(tools: Tools) -> None:
    """Each lane is at an iteration of its own, and GCC has it run one in 32 of the inner loop's."""
    options = ["-O2", "-g", "-fopenmp", "-foffload=nvptx-none", str(NESTED), "-o", "nested"]
    done = tools.run("gompcc", *options, "-DWARNS")
    lines = NESTED.read_text().split("\n")
    places = [f"{NESTED}:{1 + at}" for at, line in enumerate(lines) if "/* WARNS: " in line]
    told = sorted(text for text in done.stderr.split("\n") if "warning" in text)
    assert done.returncode == 0 and len(told) == len(places) == 3
    for place, text in zip(places, told, strict=True):
        assert text.startswith(f"mkoffload: warning: {place}: ‘main._omp_fn.")
        assert "only one in 32 of the inner one's iterations runs" in text


def test_other_loops_are_right_and_nothing_is_told(tools: Tools) -> None:
    done = tools.run("gompcc", "-O2", "-g", "-fopenmp", "-foffload=nvptx-none", NESTED, "-o", "fine")
    assert (done.returncode, done.stderr) == (0, "")
    names = ["simd in parallel for", "no construct in loop", "collapse", "call of plain code", "call in parallel for"]
    names += ["one after the other", "calls of plain code that the frame keeps"]
    right = "".join(f"{name}: 0 wrong\n" for name in names)
    done = tools.run(tools.work / "fine")
    assert done.stdout == right, done.stderr


HEAD = """.version 6.0
.target sm_30
.address_size 64
.file 1 "a.c"
.func g (.param .u64 %in_ar0);
.func (.param .u32 %value_out) f (.param .u64 %in_ar0)
{
.reg .u64 %stack; .reg .u64 %frame; .reg .u64 %sspslot; .reg .u64 %sspprev; .reg .u64 %r1; .reg .u32 %r2; .reg .pred %p;
.reg .u64 %r3;
{
ld.shared.u64 %sspprev,[%sspslot];
sub.u64 %frame,%sspprev,16;
sub.u64 %stack,%frame,0;
}
.local .align 8 .b8 %simtstack_ar[136];
"""
ENTER = """cvta.local.u64 %r1,%simtstack_ar + 136;
sub.u64 %r1,%r1,48;
st.u64 [%r1 + -8],%stack;
sub.u64 %stack,%r1,8;
mov.u32 %r2,%laneid;
"""
LEAVE = "ld.u64 %stack,[%r1 + -8];\nbar.warp.sync 0xffffffff;\n"
WRITE = ".loc 1 7 3\nst.u32 [%frame+4],%r2;\n"
READ = "ld.u32 %r2,[%frame+4];\n"
FILL = "st.v2.u32 [%frame],{1,1};\nst.u64 [%frame+8],0;\n"
PASS = "{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%frame;\ncall g,(%out_arg1);\n}\n"
AGAIN = "setp.gt.u32 %p,%r2,9;\n@ %p bra $A;\n"


@pytest.mark.parametrize(
    ("body", "local", "told"),
    [
        (ENTER + WRITE + READ + LEAVE, True, False),
        (FILL + ENTER + WRITE + READ + LEAVE, True, False),
        (ENTER + PASS + LEAVE, True, False),
        (ENTER + "add.u64 %r3,%frame,4;\nst.u32 [%r3],%r2;\n" + LEAVE, True, False),
        (ENTER + READ + LEAVE, False, False),
        (ENTER + WRITE + LEAVE + READ, False, False),
        (PASS + ENTER + WRITE + LEAVE, False, True),
        (ENTER + WRITE + LEAVE + PASS, False, True),
        (ENTER + WRITE + LEAVE + ENTER + READ + LEAVE, False, True),
        (ENTER + FILL + READ + LEAVE + ENTER + FILL + WRITE + READ + LEAVE, True, False),
        ("$A:\n" + ENTER + FILL + READ + LEAVE + AGAIN, True, False),
        ("$A:\n" + ENTER + WRITE + READ + LEAVE + AGAIN, False, True),
        ("$A:\n" + ENTER + "@ %p bra $B;\n" + FILL + "$B:\n" + READ + LEAVE + AGAIN, False, True),
        (ENTER + "st.u64 [%r1],%frame;\n" + WRITE + LEAVE, False, True),
    ],
)
def test_when_a_frame_is_the_lanes_own(body: str, local: bool, told: bool) -> None:
    """Where a loop alone has what is in it: run once, or writing all of it first; and nobody else is told of it."""
    text = HEAD + body + "ret;\n}\n"
    (made,), found = mended([text])
    assert ("cvta.local.u64 %frame, %simtframe;" in made, bool(found)) == (local, told)
    assert not told or (found[0].function == "f" and (found[0].place in ("a.c:7", "")))
    assert made.count("\n") == text.count("\n")
    assert mended([made]) == ([made], [])


def test_room_for_private_variables_and_for_the_stacks_of_called_functions() -> None:
    callee = HEAD.replace(" f ", " g ").replace(".func g (.param .u64 %in_ar0);\n", "").replace("prev,16", "prev,816")
    callee = callee.replace(".local .align 8 .b8 %simtstack_ar[136];\n", "") + "ret;\n}\n"
    callee = callee.replace(".func (.param", ".visible .func (.param")
    plain = HEAD + ENTER + LEAVE + "ret;\n}\n"
    calls = HEAD + ENTER + PASS + LEAVE + "ret;\n}\n"
    for text, size in ((plain, 136), (plain.replace(",48;", ",400;"), 408), (calls, 136 + 48 + 816 - 128 + 16)):
        made = mended([text, callee])[0][0]
        assert ("sub.u64 %stack,%r1,8; and.b64 %stack,%stack,-16;" in made) is (text is calls)
        assert f"%simtstack_own[{size}];" in made and f"%simtstack_own + {size};" in made
        assert "%simtstack_ar" not in made


WITHOUT = HEAD.replace(".local .align 8 .b8 %simtstack_ar[136];\n", "")
STATIC = WITHOUT.replace(" f ", " own ")  # a static function, with no loop
LANES = STATIC.replace("}\n.local", "}\n") + "mov.u32 %r2,%laneid;\nret;\n}\n"
CALL = "{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%frame;\ncall (%value_in),own,(%out_arg1);\n}\n"


def caller(body: str) -> str:
    """An object whose visible function has a loop of lanes with `body` in it."""
    return HEAD.replace(".func (.param", ".visible .func (.param") + ".param .u32 %value_in;\n" + body + "ret;\n}\n"


def joined(static: str, function: str) -> str:
    """One object of two."""
    return static + function[function.index(".visible") :]


@pytest.mark.parametrize("first", [True, False])
def test_a_static_function_is_the_object_s_own(first: bool) -> None:
    """One of the same name in another object has a loop of lanes, and is not called here."""
    calls = joined(STATIC + "ret;\n}\n", caller(ENTER + CALL + LEAVE))
    assert mended([calls, LANES] if first else [LANES, calls])[1] == []
    loops = joined(LANES, caller(ENTER + CALL + LEAVE))
    plain = STATIC + "ret;\n}\n"
    (told,) = mended([loops, plain] if first else [plain, loops])[1]
    assert told.nested and told.function == "f"


def test_a_visible_function_is_that_of_all_objects() -> None:
    (told,) = mended([caller(ENTER + CALL + LEAVE), LANES.replace(".func (.param", ".visible .func (.param")])[1]
    assert told.nested


def test_room_is_for_the_static_function_of_the_object() -> None:
    """Not for the larger frame of another one's."""
    calls = joined(STATIC + "ret;\n}\n", caller(ENTER + CALL + LEAVE))
    large = (STATIC + "ret;\n}\n").replace("prev,16", "prev,4096")
    assert mended([calls, large])[0][0] == mended([calls])[0][0] == mended([large, calls])[0][1]
    assert mended([joined(large, caller(ENTER + CALL + LEAVE))])[0][0] != mended([calls])[0][0]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("mov.u64 %r3,own;\nst.u64 [%r1],%r3;\n", False),
        ("mov.u64 %r3,own;\nsetp.eq.u64 %p,%r3,%r1;\n", False),
        ("mov.u64 %r3,own;\n" + PASS, False),
        ("mov.u64 %r3,own;\n" + PASS.replace("%frame", "%r3"), True),
        ("mov.u64 %r3,own;\n" + PASS.replace("g,", "%r3,").replace(");\n}", "), $kind;\n}"), True),
    ],
)
def test_an_address_that_is_taken_calls_nobody(body: str, told: bool) -> None:
    """A function with a loop of lanes runs if it is called by its address, or a called one is given that."""
    kind = "$kind: .callprototype _ (.param .u64 _);\n" if "$kind" in body else ""
    found = mended([joined(LANES, caller(kind + ENTER + body + LEAVE))])[1]
    assert [mistake.nested for mistake in found] == [True] * told
