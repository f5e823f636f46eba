"""PTX with slips of the pen: it compiles, or is an error with its line, never a mistake of the compiler's own.

By hand, for long: `PYTHONPATH=tests python tests/ptx/test_ptx_damaged.py SEED COUNT`.
"""

from __future__ import annotations

import random
import re
import sys

import pytest

pytest.importorskip("llvmlite")

from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding

from gompy.ptx.compiler import ir, module_text
from gompy.ptx.emit import Links
from gompy.ptx.index import index_file
from gompy.ptx.parser import parse
from gompy.ptx.syntax import PtxError

HEAD = ".version 8.6\n.target sm_100\n.address_size 64\n"
DECLARED = """.shared .align 16 .b8 box[1024]; .const .u32 table[4] = {1, 2, 3, 4}; .global .u64 seen;
.func (.param .u32 r) twice (.param .u32 n) {
.reg .u32 %n; ld.param.u32 %n, [n]; shl.b32 %n, %n, 1; st.param.u32 [r], %n; ret; }
"""
BEGIN = """.visible .entry k (.param .u64 po, .param .u32 pn) {
.reg .u64 %o, %x, %a<8>; .reg .u32 %t, %r<16>; .reg .f32 %f<8>; .reg .f64 %g<4>; .reg .pred %p, %q; .reg .b16 %h<4>;
.local .align 4 .b8 own[64]; ld.param.u64 %o, [po]; ld.param.u32 %r0, [pn]; mov.u32 %t, %tid.x;
mad.wide.u32 %x, %t, 4, %o;
"""
KERNELS = {
    "numbers": """add.u32 %r1, %t, 5; sub.cc.u32 %r2, %r1, %r0; subc.u32 %r3, %r2, 0; mul.wide.u32 %a0, %r1, %r2;
    mad.lo.s32 %r4, %r1, %r2, %r3; div.u32 %r5, %r4, 7; rem.s32 %r6, %r4, %r5; min.u32 %r7, %r6, %r5; abs.s32 %r8, %r7;
    fma.rn.f32 %f0, %f1, %f2, 0f3f800000; sqrt.rn.f64 %g0, %g1; ex2.approx.ftz.f32 %f3, %f0; copysign.f32 %f4, %f3, %f0;
    sad.u32 %r9, %r8, %r7, 3; max.f32 %f5, %f4, %f3, %f2; rcp.rn.f32 %f6, %f5; testp.finite.f32 %p, %f6;
    st.global.f32 [%x], %f6; st.global.u32 [%x], %r9;""",
    "bits": """and.b32 %r1, %t, 31; shl.b32 %r2, %r1, 3; shf.l.wrap.b32 %r3, %r1, %r2, 5; popc.b32 %r4, %r3;
    bfe.u32 %r5, %r4, 2, 4; bfi.b32 %r6, %r5, %r4, 8, 8; prmt.b32 %r7, %r6, %r5, 0x3210; not.b32 %r9, %r8;
    lop3.b32 %r8, %r7, %r6, %r5, 0x96; bmsk.clamp.b32 %r10, %r9, 5; fns.b32 %r11, %r10, 3, 1; brev.b32 %r13, %r12;
    dp4a.u32.u32 %r12, %r11, %r10, 0; bfind.u32 %r14, %r13; st.global.u32 [%x], %r14;""",
    "moves": """setp.lt.and.u32 %p, %t, %r0, !%q; selp.u32 %r1, 1, 2, %p; slct.u32.f32 %r2, %r1, 3, %f0;
    set.eq.u32.f32 %r6, %f0, 0f00000000;
    cvt.rn.f32.u32 %f1, %r2; cvt.rzi.s64.f64 %a0, %g0; mov.b64 {%r3, %r4}, %a0; mov.b64 %a1, {%r4, %r3};
    mov.b32 {%h0, _}, %r3;
    mov.u64 %a2, box; cvta.shared.u64 %a3, %a2; isspacep.shared %q, %a3; mov.f64 %g1, 0d3ff0000000000000;
    cvt.pack.sat.u8.s32.b32 %r5, %r4, %r3, 0; @!%p mov.u32 %r7, %laneid; st.global.v2.u32 [%x], {%r5, %r7};""",
    "memory": """ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%x+16]; st.shared.u32 [box+4], %r1;
    ld.const.u32 %r5, [table+8];
    atom.global.add.u32 %r6, [%o], 1; atom.global.cas.b32 %r7, [%x], %r5, %r6; red.shared.max.u32 [box], %r7;
    ldu.global.u32 %r8, [%o];
    st.local.u32 [own+8], %r8; ld.local.u32 %r9, [own]; membar.gl; fence.acq_rel.gpu; prefetch.global.L1 [%x];
    createpolicy.fractional.L2::evict_last.b64 %a0, 1.0; ld.global.L2::cache_hint.u32 %r10, [%x], %a0;
    st.global.u32 [%x], %r10;""",
    "warps": """shfl.sync.idx.b32 %r1|%p, %t, 3, 31, -1; vote.sync.ballot.b32 %r2, %p, 0xffffffff; activemask.b32 %r3;
    redux.sync.add.u32 %r4, %t, -1; match.any.sync.b32 %r5, %t, -1; elect.sync %r6|%q, -1; bar.sync 0; bar.warp.sync -1;
    bar.red.popc.u32 %r7, 0, %q; barrier.sync.aligned 1, 32; barrier.cluster.arrive; barrier.cluster.wait;
    mapa.u64 %a0, %a1, 0; getctarank.u64 %a2, %a0; nanosleep.u32 5; st.global.u32 [%x], %r7;""",
    "flow": """top: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, %t; @%p bra top; @!%q bra.uni end;
    targets: .branchtargets top, end;
    brx.idx %r0, targets; end: { .param .u32 a; .param .u32 b; st.param.u32 [a], %r1; call.uni (b), twice, (a);
    ld.param.u32 %r2, [b]; } st.global.u32 [%x], %r2; @%p exit; @%q trap;""",
    "parts": """add.rn.f16x2 %r1, %r2, %r3; fma.rn.bf16 %h0, %h1, %h2, %h3; cvt.rn.bf16x2.f32 %r4, %f0, %f1;
    min.NaN.f16 %h0, %h1, %h2;
    cvt.rn.satfinite.e4m3x2.f32 %h1, %f0, %f1; add.rn.f32x2 %a0, %a1, %a2; vadd2.u32.u32.u32 %r5, %r4, %r3, %r2;
    vadd.u32.u32.u32.add %r6, %r5, %r4, %r3; setp.gt.f16x2 %p|%q, %r1, %r2; tanh.approx.f32 %f2, %f1;
    st.global.u32 [%x], %r6;""",
    "matrices": """mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4},
    {%r5, %r6}, {%f4, %f5, %f6, %f7};
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r7, %r8}, [box]; movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r8;
    wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {%r10, %r11}, [box], 16; st.global.u32 [%x], %r9;""",
    "textures": """tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a0, {%f4, %f5}]; txq.width.b32 %r1, [%a0];
    suld.b.1d.b32.trap %r2, [%a1, {%t}]; sust.b.1d.b32.trap [%a1, {%t}], %r2; suq.width.b32 %r3, [%a1];
    tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a0, {%f4, %f5}]; st.global.f32 [%x], %f0;""",
    "asynchronous": """mbarrier.init.shared.b64 [box], 32; mbarrier.arrive.shared.b64 %a0, [box];
    mbarrier.test_wait.shared.b64 %p, [box], %a0;
    cp.async.ca.shared.global [box+16], [%x], 4; cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;
    mbarrier.inval.shared.b64 [box]; st.global.u64 [%x], %a0;""",
}  # fmt: skip
WORDS = re.compile(r"\s+|[\w$%.]+(?:::[\w.]+)*|.")
OPERANDS = re.compile(r",(?![^{\[(]*[}\])])")
ODD = (
    "0", "-1", "%tid.x", "_", "!%p", "!%r0", "[%x]", "{%r0, %r1}", "%r0|%p", "1.5", "0f3f800000", "k", "nosuch",
    "[nosuch]", "9999999999999", "[0]", "%r0", "%p", "%x", "%f0", "{%r0}", "%h0", "box", "{}", "[%x+4]", "twice", "%a0",
    "%g0", "own", "po",
)  # fmt: skip
TYPES = (
    *("u8", "s8", "b8", "u16", "s16", "b16", "f16", "bf16", "f16x2", "u32", "s32", "b32", "f32", "u64", "b64", "f64"),
    *("pred", "v2", "v4", "b128", "rn", "sat", "ftz", "wide", "lo", "hi", "global", "shared", "local", "param"),
    *("cc", "sync"),
)
FORMS = (("E", "V", "S"), ("e", "v", "s"), ("1", "2", "3"), ("X", "W", "S"))


def damaged(body: str, draw: random.Random) -> str:
    """Statements with a slip in one of them: an operand, a word or a part of an opcode is lost, doubled, another."""
    statements = re.findall(r"[^;{}]*(?:\{[^;{}]*\}[^;{}]*)*[;{}]", body)
    at = draw.randrange(len(statements))
    words = WORDS.findall(statements[at])
    places = [place for place, word in enumerate(words) if not word.isspace()]
    place = draw.choice(places)
    way = draw.choice(("lose", "double", "exchange", "replace", "operand", "operand", "part", "part"))
    if way == "lose":
        del words[place]
    elif way == "double":
        words.insert(place, words[place])
    elif way == "exchange":
        other = draw.choice(places)
        words[place], words[other] = words[other], words[place]
    elif way == "replace":
        words[place] = draw.choice(ODD)
    elif way == "part":
        parts = words[place].split(".")
        which = draw.randrange(len(parts))
        parts[which : which + 1] = draw.choice(([], [parts[which]] * 2, [draw.choice(TYPES)], [draw.choice(TYPES)]))
        words[place] = ".".join(parts)
    elif found := re.match(r"(\s*(?:@!?%\w+\s+)?[\w.:]+\s)(.*);$", statements[at], re.DOTALL):
        given = OPERANDS.split(found[2])
        which = draw.randrange(len(given))
        given[which : which + 1] = draw.choice(([], [given[which]] * 2, [" " + draw.choice(ODD)]))
        words = [found[1], ",".join(given), ";"]
    statements[at] = "".join(words)
    return "".join(statements)


def outcome(text: str, forms: tuple[str, str, str]) -> str:
    """What the compiler says of a text: an error with its line; "": it compiles, and LLVM takes what was made."""
    try:
        module = parse(text, "a.ptx")
        index_file(module)
        links = Links()
        functions = [(f, form) for f in module.functions.values() for form in (forms[:1] if f.entry else forms[1:])]
        body, _, _ = ir(module, functions, links)
    except PtxError as error:
        assert error.line > 0, error
        return str(error)
    made = binding.parse_assembly(module_text("\n".join([body, *links.slow.values()])))
    made.verify()
    made.close()
    return ""


def kernel(body: str) -> str:
    return f"{HEAD}{DECLARED}{BEGIN}{body}\nret; }}\n"


@pytest.mark.parametrize("forms", FORMS, ids="".join)
@pytest.mark.parametrize("name", KERNELS)
def test_without_a_slip_they_compile(name: str, forms: tuple[str, str, str]) -> None:
    assert outcome(kernel(KERNELS[name]), forms) == ""


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(KERNELS)), st.integers(0, 1 << 32), st.sampled_from(FORMS))
def test_a_slip_is_no_mistake_of_the_compiler(name: str, seed: int, forms: tuple[str, str, str]) -> None:
    said = outcome(kernel(damaged(KERNELS[name], random.Random(seed))), forms)
    assert re.match(r"(a\.ptx:\d+: error: .|$)", said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ld.global.u32 %r1;", "'ld.global.u32' needs 2 to 3 operands, 1 given"),
        ("ld.global.u32 %r1, %r2;", "operand 2 of 'ld.global.u32' must be an address"),
        ("st.param.u32 %r1, %r2;", "operand 1 of 'st.param.u32' must be an address"),
        ("mov.u32 %r1; add.u32 %r2, %r1, %r1;", "'mov.u32' needs 2 operands, 1 given"),
        ("add.u32 %r2, %t; mad.wide.u32 %a0, %r2, 4, %o;", "'add.u32' needs 3 operands, 2 given"),
        ("mul.lo.u32 %r2, %t; ld.global.u32 %r1, [%x];", "'mul.lo.u32' needs 3 operands, 2 given"),
        ("setp.lt.u32 %p, %q, %t, 5; @%p bra end; end:", "'setp.lt.u32' needs 3 operands, 4 given"),
        ("shr.s32 %r1, %t; add.u32 %r2, %r1, 3;", "'shr.s32' needs 3 operands, 2 given"),
        ("mul.wide.u32 %a0, !%p, 32;", "this operand cannot be read here"),
        ("mov.u32 %r1, !%r2;", "'!' needs a predicate register"),
        ("mov.f64 {%r1, %r2}, %g0;", "'mov.f64' cannot have a vector of 2 elements"),
        ("mov.b64 {%r1, %r2, %r3}, %a0;", "'mov.b64' cannot have a vector of 3 elements"),
        ("s16.wide.u32 %a0, %r1, 4;", "unknown opcode 's16.wide.u32'"),
        ("bar.warp.sync;", "'bar.warp.sync' needs 1 operands, 0 given"),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [box], 1, [box], 1, 1, 1;",
         "'red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32' is not implemented"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("forms", FORMS, ids="".join)
def test_what_is_said(text: str, said: str, forms: tuple[str, str, str]) -> None:
    found = outcome(kernel(text), forms)
    assert found == f"a.ptx:11: error: {said}"


def test_registers_of_another_size_than_the_instruction() -> None:
    """The step between threads is looked for in what has 32 bits."""
    body = "mul.wide.u32 %a0, %t, 24; add.u64 %a0, %a0, %o; ld.global.u32 %r1, [%a0]; st.global.u32 [%x], %r1;"
    text = kernel(body).replace("%t, %r<16>; .reg .f32", "%r<16>; .reg .b8 %t; .reg .f32")
    assert [outcome(text, forms) for forms in FORMS] == [""] * len(FORMS)


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        chance = random.Random(number)
        changed = kernel(damaged(KERNELS[chance.choice(sorted(KERNELS))], chance))
        try:
            outcome(changed, chance.choice(FORMS))
        except Exception as error:
            print(f"seed {number}: {error!r}", flush=True)
