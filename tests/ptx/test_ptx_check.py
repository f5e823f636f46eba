"""Checked code: accesses against the exact block, memory that was never written, barriers that not all reach."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_SYNC, LIBRARY, Device, ExecutorError, Kernel

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

EVERYTHING = CHECK_MEMORY | CHECK_INIT | CHECK_SYNC
ILLEGAL, MISALIGNED, TIMEOUT = 700, 716, 702
GCC = "// BEGIN PREAMBLE\n"
HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"
SIZE = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "f64": 8}


def kernel(body: str, variables: str = "", head: str = HEAD) -> str:
    """A kernel k (a, b, n): `%a`, `%b` and `%n` are its arguments, `%t` is %tid.x; lines are counted from 1."""
    return f"""{head}{variables}
.file 1 "prog.c"
.visible .entry k (.param .u64 %pa, .param .u64 %pb, .param .u64 %pn) {{
.reg .u64 %a, %b, %n, %x, %y, %z; .reg .u32 %t, %i, %j; .reg .u16 %h; .reg .f64 %d; .reg .pred %p, %q;
ld.param.u64 %a, [%pa]; ld.param.u64 %b, [%pb]; ld.param.u64 %n, [%pn]; mov.u32 %t, %tid.x; cvt.u64.u32 %x, %t;
.loc 1 42 0
{body}
ret; }}
"""


def run(
    device: Device, text: str, *arguments: int, block: tuple[int, int, int] = (32, 1, 1), shared: int = 0, grid: int = 1
) -> None:
    """Launch k."""
    words = [*arguments, 0, 0, 0][:3]
    device.load(text).function("k").launch((grid, 1, 1), block, words, shared, threads=1)


def fails(device: Device, code: int, text: str, *arguments: int, **options: object) -> str:
    """Launch k, which fails; the line."""
    with pytest.raises(ExecutorError) as failure:
        run(device, text, *arguments, **options)  # type: ignore[arg-type]
    assert failure.value.code == code, failure.value.log
    return failure.value.log


def access(kind: str, store: bool, place: str, space: str = "") -> str:
    """One access of %a[index]: each lane its element, the elements in another order, or all lanes element n."""
    index = {
        "lane": "mov.u64 %y, %x;",
        "scattered": "xor.b64 %y, %x, 5;",
        "uniform": "mov.u64 %y, %n;",
    }[place]
    register = {"u8": "%i", "u16": "%h", "u32": "%i", "u64": "%z", "f64": "%d"}[kind]
    value = f"mov.{'f64' if kind == 'f64' else 'u' + {'%i': '32', '%h': '16', '%z': '64'}[register]} {register}, "
    value += "0d3ff0000000000000;" if kind == "f64" else "1;"
    move = f"{value} st{space}.{kind} [%y], {register};" if store else f"ld{space}.{kind} {register}, [%y];"
    return f"{index} mad.lo.u64 %y, %y, {SIZE[kind]}, %a; {move}"


@pytest.mark.parametrize("place", ["lane", "scattered", "uniform"])
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("kind", ["u8", "u16", "u32", "u64", "f64"])
def test_the_last_element_and_the_one_behind(kind: str, store: bool, place: str) -> None:
    """A block of exactly 32 elements; with one byte less the last element is beyond its end."""
    with Device(1 << 20, EVERYTHING) as device:
        text = kernel(access(kind, store, place))
        size = 32 * SIZE[kind]
        whole = device.upload(bytes(size))
        run(device, text, whole, 0, 31)
        assert device.warnings == []
        short = device.upload(bytes(size - 1))
        line = fails(device, ILLEGAL, text, short, 0, 31)
        at = short + size - SIZE[kind]
        wanted = f"illegal address {at:#x} {'written' if store else 'read'} ({SIZE[kind]} byte"
        assert line.startswith(wanted), line
        if SIZE[kind] > 1:
            assert ", the last 1 beyond the end)" in line
        lane = {"lane": 31, "scattered": 31 ^ 5, "uniform": 0}[place]
        assert " in 'k' at prog.c:42 (" in line
        assert f"kernel 'k', block (0,0,0), thread ({lane},0,0); " in line
        assert line.endswith(f"bytes {'past the end of' if SIZE[kind] == 1 else 'into'} a block of {size - 1} bytes")


def test_unchecked_code_goes_on() -> None:
    """The same store is not found without checks: it is inside of the device's memory."""
    with Device(1 << 20) as device:
        run(device, kernel(access("u32", True, "lane")), device.upload(bytes(100)))


def test_a_store_between_two_blocks_and_into_the_freed_one() -> None:
    with Device(1 << 20, EVERYTHING) as device:
        first, second = device.upload(bytes(128)), device.upload(bytes(128))
        text = kernel(access("u32", True, "lane"))
        run(device, text, second)
        device.free(second)
        assert "0 bytes into a block of 128 bytes" in fails(device, ILLEGAL, text, second)
        run(device, text, first)


def test_only_memory_is_checked_where_only_that_is_asked() -> None:
    with Device(1 << 20, CHECK_MEMORY) as device:
        text = kernel(access("u32", False, "lane"))
        run(device, text, device.allocate(128))
        assert device.warnings == []
        fails(device, ILLEGAL, text, device.allocate(127))
    with Device(1 << 20, CHECK_INIT) as device:
        run(device, text, device.allocate(127))
        assert len(device.warnings) == 2  # the place, and how many more


@pytest.mark.parametrize("place", ["lane", "scattered", "uniform"])
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("kind", ["u16", "u32", "u64"])
def test_misaligned(kind: str, store: bool, place: str) -> None:
    with Device(1 << 20, EVERYTHING) as device:
        block = device.upload(bytes(400))
        line = fails(device, MISALIGNED, kernel(access(kind, store, place)), block + 1, 0, 3)
        assert line.startswith("misaligned address ")
        assert "at prog.c:42" in line


@pytest.mark.parametrize("vector", ["v2.u32 {%i, %j}", "v4.u32 {%i, %j, %i, %j}", "v2.u64 {%y, %z}"])
@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("store", [False, True])
def test_vectors_are_aligned_as_a_whole(vector: str, varying: bool, store: bool) -> None:
    kind, _, names = vector.partition(" ")
    size = int(kind[1]) * SIZE[kind[3:]]
    # Not the other way round: a warp's first lane at a multiple, the second beside one.
    step = f"mad.lo.u64 %a, %x, {size}, %a;" if varying else ""
    move = f"st.{kind} [%a], {names};" if store else f"ld.{kind} {names}, [%a];"
    with Device(1 << 20, EVERYTHING) as device:
        block = device.upload(bytes(32 * 16 + 16))
        run(device, kernel(f"mov.u32 %i, 1; mov.u32 %j, 1; mov.u64 %y, 1; mov.u64 %z, 1; {step} {move}"), block)
        text = kernel(f"mov.u32 %i, 1; mov.u32 %j, 1; mov.u64 %y, 1; mov.u64 %z, 1; {step} {move}")
        line = fails(device, MISALIGNED, text, block + size // 2)
        assert line.startswith(f"misaligned address {block + size // 2:#x} of a vector of {size} bytes in 'k'")
        assert device.warnings == []


SHARED = ".shared .align 8 .b8 one[12];\n.shared .align 8 .b8 two[40];\n"


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("store", [False, True])
def test_shared_variables_have_ends(generic: bool, uniform: bool, store: bool) -> None:
    """`one` is 12 bytes, `two` begins at its next multiple of 8: four bytes are nobody's."""
    begin = "mov.u64 %y, two; " + ("cvta.shared.u64 %y, one;" if generic else "mov.u64 %y, one;")
    space = "" if generic else ".shared"
    index = "" if uniform else "and.b64 %z, %x, 1; mad.lo.u64 %y, %z, 4, %y;"
    move = f"st{space}.u32 [%y], %i;" if store else f"ld{space}.u32 %i, [%y];"
    text = kernel(f"{begin} mov.u32 %i, 1; add.u64 %y, %y, %n; {index} {move}", SHARED)
    with Device(1 << 20, CHECK_MEMORY) as device:
        last = 8 if uniform else 4
        run(device, text, 0, 0, last)
        line = fails(device, ILLEGAL, text, 0, 0, last + 4)
        assert f"of shared memory {'written' if store else 'read'} (4 bytes) in 'k' at prog.c:42" in line
        assert line.endswith("; 0 bytes past the end of the shared variable 'one' of 12 bytes")
        line = fails(device, ILLEGAL, text, 0, 0, 400)
        assert "bytes past the end of the shared variable 'two' of 40 bytes" in line


def test_dynamic_shared_memory_has_an_end() -> None:
    text = kernel(
        "mov.u64 %y, room; add.u64 %y, %y, %n; st.shared.u8 [%y], 1;", ".extern .shared .align 8 .b8 room[];\n"
    )
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, 0, 0, 99, shared=100)
        line = fails(device, ILLEGAL, text, 0, 0, 100, shared=100)
        assert line.endswith("; 0 bytes past the end of the dynamic shared memory of 100 bytes")


@pytest.mark.parametrize("generic", [False, True])
def test_local_memory_has_an_end(generic: bool) -> None:
    begin = "cvta.local.u64 %y, %own;" if generic else "mov.u64 %y, %own;"
    text = kernel(
        f".local .align 8 .b8 %own[32]; {begin} add.u64 %y, %y, %n; st{'' if generic else '.local'}.u32 [%y], %t;"
    )
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, 0, 0, 28)
        line = fails(device, ILLEGAL, text, 0, 0, 32)
        assert "of local memory written (4 bytes)" in line
        assert line.endswith("; 0 bytes past the end of the thread's 32 bytes of local memory in use")


def test_constants_have_ends() -> None:
    text = kernel("cvta.const.u64 %y, table; add.u64 %y, %y, %n; ld.u32 %i, [%y];", ".const .align 4 .b8 table[10];\n")
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, 0, 0, 4)
        assert ", the last 2 beyond the end)" in fails(device, ILLEGAL, text, 0, 0, 8)
        assert device.warnings == []


@pytest.mark.parametrize(("align", "head", "right"), [(8, GCC, True), (4, GCC, False), (8, "", False)])
def test_gcc_reads_bit_fields_by_words_of_a_variable(align: int, head: str, right: bool) -> None:
    """An aligned word whose beginning is the variable's, as csmith's packed structures had; not one behind it."""
    variable = f".global .align {align} .b8 field[28] = {{1}};\n"
    text = kernel("mov.u64 %y, field; add.u64 %y, %y, %n; ld.u64 %y, [%y];", variable)
    text = head + text
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, 0, 0, 16)
        if right:
            run(device, text, 0, 0, 24)
        else:
            assert ", the last 4 beyond the end)" in fails(device, ILLEGAL, text, 0, 0, 24)
        assert "illegal address" in fails(device, ILLEGAL, text, 0, 0, 32)
        stored = text.replace("ld.u64 %y, [%y];", "st.u64 [%y], %n;")
        assert ", the last 4 beyond the end)" in fails(device, ILLEGAL, stored, 0, 0, 24)


def test_atomics_are_checked() -> None:
    text = kernel("mad.lo.u64 %a, %x, 4, %a; atom.add.u32 %i, [%a], 1;")
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, device.upload(bytes(128)))
        assert "updated (4 bytes)" in fails(device, ILLEGAL, text, device.upload(bytes(124)))
        assert device.warnings == []
        run(device, text, device.allocate(128))
        assert "read (4 bytes) that was never written" in device.warnings[0]


@pytest.mark.parametrize(
    ("name", "size"), [("strlen", 13), ("strlen", 8), ("strlenient", 13), ("__atomic_fetch_add_1", 13)]
)
def test_library_functions_that_go_by_words(name: str, size: int) -> None:
    """newlib's strlen and libatomic's small operations look at the rest of a word; others may not."""
    update = ".reg .u64 %o; atom.cas.b64 %o, [%q], %v, %v;" if name.startswith("__") else ""
    function = f""".func {name} (.param .u64 %at) {{
.reg .u64 %q, %v; ld.param.u64 %q, [%at]; ld.u64 %v, [%q]; {update} ret; }}
"""
    call = "{ .param .u64 %out; st.param.u64 [%out], %n; call NAME, (%out); }".replace("NAME", name)
    text = kernel(f"add.u64 %n, %n, %a; {call}", function)
    with Device(1 << 20, EVERYTHING) as device:
        block = device.upload(bytes(size))
        device.upload(bytes(64))
        if size == 13 and name != "strlenient":
            run(device, text, block, 0, 8)
            assert device.warnings == []
            run(device, kernel(access("u8", False, "uniform")), block, 0, 12)
            assert device.warnings == []
            assert "13 bytes" in fails(device, ILLEGAL, kernel(access("u8", False, "uniform")), block, 0, 13)
            assert f" in '{name}'" in fails(device, ILLEGAL, text, block, 0, 16)
        else:
            assert f" in '{name}'" in fails(device, ILLEGAL, text, block, 0, 8)


def test_strings_of_printf_are_checked() -> None:
    text = kernel(
        """{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %a; st.param.b64 [v], %b;
        call (r), vprintf, (f, v); }""",
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n",
    )
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, device.upload(b"x\n\0"), 0, block=(1, 1, 1))
        assert device.output == "x\n"
        line = fails(device, ILLEGAL, text, device.upload(b"endless"), 0, block=(1, 1, 1))
        assert line.startswith("string for vprintf at an illegal address in 'k'")
        assert line.endswith("; 0 bytes past the end of a block of 7 bytes")


def test_results_are_the_same() -> None:
    """Checked code computes what the other does."""
    text = kernel(
        "mad.lo.u64 %y, %x, 8, %a; mad.lo.u64 %z, %x, 8, %b; ld.f64 %d, [%y]; add.f64 %d, %d, %d; st.f64 [%z], %d;"
        "xor.b64 %y, %x, 7; mad.lo.u64 %y, %y, 8, %a; ld.f64 %d, [%y]; st.f64 [%z+256], %d;"
    )
    data = np.arange(32.0)
    with Device(1 << 20, EVERYTHING) as device:
        out = device.allocate(512)
        run(device, text, device.upload(data.tobytes()), out)
        found = np.frombuffer(device.download(out, 512))
        assert (found[:32] == 2 * data).all() and (found[32:] == np.arange(32) ^ 7).all()
        assert device.warnings == []


# --- memory that was never written -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["lane", "scattered", "uniform"])
@pytest.mark.parametrize("kind", ["u8", "u16", "u32", "u64", "f64"])
def test_device_memory_that_was_never_written(kind: str, place: str) -> None:
    with Device(1 << 20, EVERYTHING) as device:
        block = device.allocate(256)
        run(device, kernel(access(kind, False, place)), block, 0, 3)
        first, *rest = device.warnings
        assert re.match(
            rf"device memory at 0x[0-9a-f]+ read \({SIZE[kind]} bytes\) that was never written in 'k' at prog.c:42 \(",
            first,
        )
        assert "kernel 'k', block (0,0,0), thread (0,0,0); " in first and "bytes into a block of 256 bytes" in first
        assert rest == ([] if place == "uniform" else ["kernel 'k': 31 more of these in this launch"])
        run(device, kernel(access(kind, True, place)), block, 0, 3)
        device.warnings = []
        run(device, kernel(access(kind, False, place)), block, 0, 3)
        assert device.warnings == []


LOOP = """mov.u64 %y, %a; mad.lo.u64 %z, %n, 4, %a;
again: {};
.loc 1 43 0
add.u64 %y, %y, 4; setp.lt.u64 %q, %y, %z; @%q bra again;"""
"""Each of n words by one address: of a line that is all written nothing more is looked at (seen.py)."""


def test_a_word_of_a_loop_that_was_never_written() -> None:
    """The others of its line have been."""
    with Device(1 << 20, EVERYTHING) as device:
        block = device.allocate(1024)
        some = "sub.u64 %x, %y, %a; setp.ne.u64 %p, %x, 148; mov.u32 %i, 5; @%p st.global.u32 [%y], %i"
        for _ in range(2):
            run(device, kernel(LOOP.format(some)), block, 0, 256)
        assert device.warnings == []
        run(device, kernel(LOOP.format("ld.global.u32 %i, [%y]")), block, 0, 256)
        assert [
            f"read (4 bytes) at {block + 148:#x}" in w or f"{block + 148:#x} read" in w for w in device.warnings
        ] == [True]


def test_a_loop_that_goes_past_its_block() -> None:
    with Device(1 << 20, EVERYTHING) as device:
        block = device.upload(bytes(1000))
        for code in ("ld.global.u32 %i, [%y]", "st.global.u32 [%y], %t"):
            run(device, kernel(LOOP.format(code)), block, 0, 250)
            line = fails(device, ILLEGAL, kernel(LOOP.format(code)), block, 0, 251)
            assert f"illegal address {block + 1000:#x}" in line
    with Device(1 << 20, EVERYTHING) as device:
        odd = LOOP.replace("%z, %n", "%z, 10").replace("%y, 4", "%y, 2")
        assert "misaligned" in fails(
            device, MISALIGNED, kernel(odd.format("ld.global.u32 %i, [%y]")), device.upload(bytes(1000))
        )


def test_a_place_is_told_once() -> None:
    with Device(1 << 20, EVERYTHING) as device:
        block = device.allocate(256)
        k = device.load(kernel("ld.u32 %i, [%a];")).function("k")
        for _ in range(3):
            k.launch((2, 1, 1), (32, 1, 1), [block, 0, 0], threads=1)
        assert len(device.warnings) == 2
        assert device.warnings[1] == "kernel 'k': 1 more of these in this launch"


def test_twenty_places_are_told() -> None:
    with Device(1 << 20, EVERYTHING) as device:
        run(device, kernel("\n".join(f"ld.u32 %i, [%a+{4 * i}];" for i in range(30))), device.allocate(256))
        assert len(device.warnings) == 21
        assert device.warnings[20].startswith("kernel 'k': 10 more of these in this launch, some at other places")


def test_loads_that_are_masked_off() -> None:
    """GCC at -O0 reads a word to keep none of its bits; a word that is read besides is told of."""
    masked = "ld.u32 %i, [%a]; and.b32 %j, %i, 0; or.b32 %j, %j, 7; st.u32 [%a], %j;"
    with Device(1 << 20, EVERYTHING) as device:
        run(device, kernel(masked), device.allocate(256))
        assert device.warnings == []
        for other in (" st.u32 [%a+4], %i;", " @%p st.u32 [%a+4], %i;", " add.u32 %i, %i, 1; st.u32 [%a], %i;"):
            run(device, kernel("setp.eq.u32 %p, %t, 0; " + masked + other), device.allocate(256))
            assert "read (4 bytes) that was never written" in device.warnings[0], other
            device.warnings = []
        line = fails(device, ILLEGAL, kernel(masked), device.allocate(256) + 256)
        assert "illegal address" in line and "written (4 bytes)" in line


def test_words_that_are_written_in_part() -> None:
    """Structures with gaps are copied by words."""
    with Device(1 << 20, EVERYTHING) as device:
        run(device, kernel("mov.u32 %i, 1; st.u8 [%a+3], %i; ld.u64 %y, [%a];"), device.allocate(256))
        assert device.warnings == []


@pytest.mark.parametrize("generic", [False, True])
def test_shared_memory_that_was_never_written(generic: bool) -> None:
    """Each block's is new: what the block before wrote is gone."""
    begin = "cvta.shared.u64 %y, two;" if generic else "mov.u64 %y, two;"
    s = "" if generic else ".shared"
    text = kernel(f"{begin} ld{s}.u32 %i, [%y+8]; st{s}.u32 [%y+8], %i; ld{s}.u32 %j, [%y+8];", SHARED)
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, grid=3)
        assert len(device.warnings) == 2
        assert re.match(
            r"shared memory at 0x7f0000\w\w read \(4 bytes\) that was never written in 'k' ", device.warnings[0]
        )
        assert device.warnings[0].endswith("; 8 bytes into the shared variable 'two' of 40 bytes")
        assert device.warnings[1].startswith("kernel 'k': 2 more")


def test_what_one_warp_writes_another_reads() -> None:
    text = kernel(
        "mov.u64 %y, two; setp.lt.u32 %p, %t, 32; @%p st.shared.u32 [%y], 1; bar.sync 0; ld.shared.u32 %i, [%y];",
        SHARED,
    )
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text, block=(64, 1, 1))
        assert device.warnings == []


def test_module_variables_are_written() -> None:
    text = kernel("cvta.global.u64 %y, v; ld.u64 %z, [%y]; cvta.const.u64 %y, c; ld.u64 %z, [%y];",
                  ".global .align 8 .u64 v;\n.const .align 8 .u64 c = 5;\n")  # fmt: skip
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text)
        assert device.warnings == []


def test_stacks_of_gccs_openmp_code_may_hold_nothing() -> None:
    """A kernel as GCC writes them: (argument, stacks, size of a warp's)."""
    text = f"""{HEAD}.visible .shared .align 8 .u64 __nvptx_stacks[32];
.visible .entry k (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz) {{
.reg .u64 %a, %s; .reg .u32 %i;
ld.param.u64 %a, [%arg]; ld.param.u64 %s, [%stack];
ld.u32 %i, [%s+2044];
ld.u32 %i, [%a];
ret; }}
"""
    with Device(1 << 20, EVERYTHING) as device:
        stacks, other = device.allocate(2048), device.allocate(64)
        run(device, text, other, stacks, 1024, block=(32, 2, 1))
        assert len(device.warnings) == 2 and f"device memory at {other:#x} read" in device.warnings[0]
        device.warnings = []
        run(device, text, device.upload(bytes(64)), device.allocate(2048), 1024)  # one warp: the rest is no stack
        assert len(device.warnings) == 1


def test_stacks_of_gccs_openmp_code_have_ends() -> None:
    """A warp's stack must not grow into its neighbour's; after the kernel the bytes are anybody's."""
    text = f"""{HEAD}.visible .shared .align 8 .u64 __nvptx_stacks[32];
.visible .entry k (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz) {{
.reg .u64 %a, %s, %z;
ld.param.u64 %a, [%arg]; ld.param.u64 %s, [%stack]; ld.param.u64 %z, [%sz]; add.u64 %s, %s, %z; add.u64 %s, %s, %a;
st.u64 [%s], %a;
ret; }}
"""
    with Device(1 << 20, EVERYTHING) as device:
        stacks = device.allocate(4 * 8192)
        run(device, text, 256, stacks, 8192, block=(32, 2, 1), grid=2)
        line = fails(device, ILLEGAL, text, 248, stacks, 8192, block=(32, 2, 1), grid=2)
        assert line.endswith("; the stack of a warp, 8192 bytes, is exhausted")
        run(device, text, 248 - 8192, stacks, 16384, block=(32, 2, 1))


# --- barriers --------------------------------------------------------------------------------------------------------


def test_a_barrier_that_half_a_warp_reaches() -> None:
    text = kernel("setp.lt.u32 %p, %t, 16; @!%p bra out;\nbar.sync 0;\nout:")
    with Device(1 << 20, EVERYTHING) as device:
        run(device, text)
        assert len(device.warnings) == 1
        assert device.warnings[0].startswith("barrier 0 reached by 16 of 32 threads of the warp in 'k' at prog.c:42 (")
    with Device(1 << 20, CHECK_MEMORY) as device:
        run(device, text)
        assert device.warnings == []


def test_barrier_sync_may_diverge() -> None:
    """barrier.sync without .aligned."""
    with Device(1 << 20, EVERYTHING) as device:
        run(device, kernel("setp.lt.u32 %p, %t, 16; @!%p bra out;\nbarrier.sync 0;\nout:"))
        assert device.warnings == []
        run(device, kernel("setp.lt.u32 %p, %t, 16; @!%p bra out;\nbarrier.sync.aligned 0;\nout:"))
        assert len(device.warnings) == 1


def test_right_barriers() -> None:
    """By all; by some warps with their number; arrive and sync; a last warp that is not full."""
    body = """bar.sync 0; setp.lt.u32 %p, %t, 64; @%p bra first;
        bar.sync 1, 64; bar.arrive 2, 128; bra.uni out;
        first: bar.sync 2, 128; bar.warp.sync 0xffffffff;
        out: bar.sync 0;"""
    with Device(1 << 20, EVERYTHING) as device:
        for threads in (128, 100):
            run(device, kernel(body), block=(threads, 1, 1))
        assert device.warnings == []


def test_threads_that_leave_before_a_barrier() -> None:
    with Device(1 << 20, EVERYTHING) as device:
        run(device, kernel("setp.ge.u32 %p, %t, 32; @%p exit;\nbar.sync 0;"), block=(64, 1, 1))
        assert len(device.warnings) == 1
        assert re.match(r"barrier 0 of the whole block, which warps of the block (left before|leave without it) in 'k'",
                        device.warnings[0])  # fmt: skip
        device.warnings = []
        run(device, kernel("setp.lt.u32 %p, %t, 8; @%p bra stay;\nexit;\nstay: bar.sync 0;"))
        assert device.warnings[0].startswith(
            "barrier 0 of the whole block, which threads of the block left before in 'k'"
        )


def test_warps_that_mean_different_numbers() -> None:
    body = """setp.lt.u32 %p, %t, 32; @%p bra first;
        bar.sync 1, 64; bra.uni out;
        first: bar.sync 1, 32;
        out:"""
    with Device(1 << 20, EVERYTHING) as device:
        line = ""
        try:
            run(device, kernel(body), block=(64, 1, 1))
        except ExecutorError as error:
            assert error.code == TIMEOUT
            line = error.log
        run(device, kernel("mov.u32 %j, 96; bar.arrive 3, %j;"), block=(64, 1, 1))
        assert any("barrier 3 for 96 threads, more than the block has (64)" in text for text in device.warnings)
        assert line or any("where another warp waits for" in text for text in device.warnings)


def test_where_warps_wait_for_ever() -> None:
    body = """setp.lt.u32 %p, %t, 32; @%p bra first;
        bar.sync 1; bra.uni out;
        first:
        .loc 1 50 0
        bar.sync 2, 64;
        out:"""
    with Device(1 << 20, EVERYTHING) as device:
        line = fails(device, TIMEOUT, kernel(body), block=(64, 1, 1))
        assert re.match(
            r"every warp of the block waits at a barrier that nobody else will reach \(warp 0: barrier 2 for 64 threads"
            r", line \d+; warp 1: barrier 1 for 64 threads, line \d+\) in 'k' at prog.c:50 ",
            line,
        )


@pytest.mark.parametrize("target", ["sm_35", "sm_70"])
def test_masks_of_bar_warp_sync(target: str) -> None:
    head = f".version 6.0\n.target {target}\n.address_size 64\n"
    with Device(1 << 20, EVERYTHING) as device:
        run(device, kernel("bar.warp.sync 0x0000ffff;", head=head))
        assert device.warnings[0].startswith("bar.warp.sync with mask 0xffff, in which the thread itself is not in 'k'")
        assert "thread (16,0,0)" in device.warnings[0]
        device.warnings = []
        body = "setp.lt.u32 %p, %t, 16; @!%p bra out;\nbar.warp.sync 0xffffffff;\nout:"
        run(device, kernel(body, head=head))
        if target == "sm_35":
            assert device.warnings[0].startswith(
                "bar.warp.sync with mask 0xffffffff, of which 16 threads are elsewhere"
            )
        else:
            assert device.warnings == []
        device.warnings = []
        run(device, kernel("setp.lt.u32 %p, %t, 16; @!%p bra out;\nbar.warp.sync 0x0000ffff;\nout:", head=head))
        assert device.warnings == []


def test_checked_and_unchecked_code_side_by_side() -> None:
    """They are different files of the cache."""
    text = kernel(access("u32", True, "lane"))
    with Device(1 << 20, EVERYTHING) as checked, Device(1 << 20) as free:
        kernels: list[tuple[Device, Kernel]] = []
        for device in (checked, free, checked, free):
            kernels.append((device, device.load(text).function("k")))
        for device, k in kernels:
            short = device.upload(bytes(100))
            if device is free:
                k.launch((1, 1, 1), (32, 1, 1), [short, 0, 0])
                assert struct.unpack("<25I", device.download(short, 100)) == (1,) * 25
            else:
                with pytest.raises(ExecutorError):
                    k.launch((1, 1, 1), (32, 1, 1), [short, 0, 0])
