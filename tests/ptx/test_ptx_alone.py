"""Kernels of GCC's OpenMP: warps that would only wait for work are not started, unless something could give them some;
grids whose blocks are done before another host thread would be awake."""

from __future__ import annotations

import struct

import pytest

from gompy.ptx.device import CHECK_MEMORY, Device, ExecutorError

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"

LIBRARY = f"""{HEAD}.visible .global .u64 work[1];
.visible .shared .align 8 .u64 __nvptx_stacks[32];
.visible .func gomp_nvptx_main (.param .u64 %fn, .param .u64 %arg) {{
.reg .u64 %f, %a; .reg .u32 %t; .reg .pred %p;
mov.u32 %t, %tid.y; setp.ne.u32 %p, %t, 0;
@%p bra wait;
ld.param.u64 %f, [%fn]; ld.param.u64 %a, [%arg];
bar.sync 0;
{{ proto: .callprototype _ (.param .u64 %in);
.param .u64 %out; st.param.u64 [%out], %a; call %f, (%out), proto; }}
bar.sync 0, 256;
ret;
wait:
bar.sync 0;
bar.sync 0, 256;
ld.global.u64 %f, [work]; setp.eq.u64 %p, %f, 0;
@%p bra done;
{{ .param .u64 %out; st.param.u64 [%out], %f; call %f, (%out), proto; }}
done:
ret;
}}
.visible .func meets () {{ bar.sync 0; ret; }}
.visible .func calls () {{ call meets; ret; }}
.visible .func harmless () {{ ret; }}
.visible .func gomp_fatal () {{ exit; }}
"""
"""Team start as in GCC's libgomp: warp 0 runs the function, the others wait."""

PROGRAM = f"""{HEAD}.extern .shared .align 8 .u64 __nvptx_stacks[32];
.extern .func gomp_nvptx_main (.param .u64 %fn, .param .u64 %arg);
.extern .func meets; .extern .func calls; .extern .func harmless; .extern .func gomp_fatal;
.extern .func other (.param .u64 %fn, .param .u64 %arg);
.visible .global .u32 warps[1];
.visible .global .u64 table[1] = {{ calls }};
.func region (.param .u64 %in) {{
.reg .u64 %a, %b; .reg .u32 %n; .reg .pred %p;
ld.param.u64 %a, [%in]; mov.u32 %n, %ntid.y; st.global.u32 [%a], %n;
BODY
ret; }}
.visible .entry k (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz) {{
.reg .u64 %a, %f; .reg .u32 %l; .reg .pred %p;
mov.u64 %f, __nvptx_stacks; mov.u32 %l, %laneid; setp.eq.u32 %p, %l, 0;
@%p atom.global.add.u32 _, [warps], 1;
ld.param.u64 %a, [%arg]; mov.u64 %f, region;
{{ .param .u64 %out; st.param.u64 [%out], %f; .param .u64 %out2; st.param.u64 [%out2], %a;
call START, (%out, %out2); }}
ret; }}
"""


def warps(body: str, library: str = LIBRARY, check: int = 0, start: str = "gomp_nvptx_main", seed: int = 0) -> int:
    """How many warps of a block of eight are started for a region with that code."""
    text = PROGRAM.replace("BODY", body).replace("START", start)
    with Device(1 << 20, check) as device:
        module = device.load(text, library)
        seen = device.upload(bytes(4))
        module.function("k").launch((1, 1, 1), (32, 8, 1), [seen, 0, 0], seed=seed)
        assert struct.unpack("<I", device.download(seen, 4))[0] == 8
        address, size = module.variable("warps")
        count: int = struct.unpack("<I", device.download(address, size))[0]
        return count


@pytest.mark.parametrize("body", ["", "call harmless;", "bar.warp.sync 0xffffffff;", "mov.u64 %b, table;",
                                  "setp.eq.u64 %p, %a, 0;\n@!%p bra go;\ntrap; exit;\ngo:"])  # fmt: skip
def test_only_the_first_warp_is_started(body: str) -> None:
    assert warps(body) == 1
    assert warps(body, seed=3) == 1


BY_POINTER = """mov.u64 %b, table; ld.u64 %b, [%b]; setp.eq.u64 %p, %a, 0;
@!%p bra out;
{ none: .callprototype _ (); call %b, none; }
out:"""


@pytest.mark.parametrize(
    "body",
    [
        "mov.u64 %b, meets;",  # what has a barrier, in another object
        "mov.u64 %b, calls;",  # what calls it
        "setp.eq.u64 %p, %a, 0;\n@%p bar.sync 1, 32;",
        "setp.eq.u64 %p, %a, 0;\n@%p exit;",
        "setp.eq.u64 %p, %a, 0;\n@%p trap;\n@%p exit;",
        BY_POINTER,
    ],
)
def test_all_are_started_where_others_may_matter(body: str) -> None:
    assert warps(body) == 8


def test_an_error_of_libgomps_ends_the_kernel() -> None:
    """gomp_fatal ends its warp, for which the others would wait."""
    assert warps("setp.eq.u64 %p, %a, 0;\n@%p call gomp_fatal;") == 1
    with pytest.raises(ExecutorError, match="at a barrier that nobody else will reach"):
        warps("call gomp_fatal;")


def test_all_are_started_for_checks_and_for_other_code() -> None:
    assert warps("", check=CHECK_MEMORY) == 8
    assert warps("", LIBRARY.replace("gomp_nvptx_main", "other"), start="other") == 8


WAITING = f"""{HEAD}
.visible .entry k (.param .u64 %arg, .param .u32 %wait) {{
.reg .u64 %a, %b; .reg .u32 %n, %w; .reg .pred %p, %q;
ld.param.u64 %a, [%arg]; ld.param.u32 %w, [%wait];
mov.u32 %n, %tid.x; setp.ne.u32 %q, %n, 0;
@%q bra out;
atom.global.add.u32 %n, [%a], 1;
again:
setp.eq.u32 %p, %w, 0;
@%p bra out;
ld.volatile.global.u32 %n, [%a];
setp.ge.u32 %p, %n, 2;
@!%p bra again;
out:
ret; }}
"""


def test_blocks_that_wait_for_each_other_after_short_launches() -> None:
    """Two blocks at a time, as there are two host threads, also if the launches before were over in no time."""
    with Device(1 << 20) as device:
        kernel = device.load(WAITING).function("k")
        count = device.upload(bytes(4))
        for _ in range(100):
            kernel.launch((2, 1, 1), (32, 1, 1), [count, 0], threads=2)
        assert struct.unpack("<I", device.download(count, 4))[0] == 200
        count = device.upload(bytes(4))
        kernel.launch((2, 1, 1), (32, 1, 1), [count, 1], threads=2)
        assert struct.unpack("<I", device.download(count, 4))[0] == 2
