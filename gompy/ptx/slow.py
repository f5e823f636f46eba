"""The functions behind slow accesses, which all units call: they are compiled once for a CPU, without and with checks.

They are like the executor's (abi.OPS), but that vectors are passed as such.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import additions
from .checks import ALLOCATED, WRITTEN, repeated
from .emit import IOTA, LONGEST

NARROWEST = 4
"""Bytes of the narrowest values that are gathered: LLVM takes others apart."""

SITE = "ptr %unit, i32 %line) #1"
ROOM = "  %p = alloca <32 x i64>, align 64\n  %q = alloca <32 x i64>, align 64\n"
LAST = "slow:\n  store <32 x i64> %a, ptr %p\n"
CALL = f"  call void %f(ptr %w, i32 %m, ptr %p, ptr %q, {SITE}\n"
LANES = """  %b0 = insertelement <32 x i64> poison, i64 %base, i32 0
  %b = shufflevector <32 x i64> %b0, <32 x i64> poison, <32 x i32> zeroinitializer
  %e0 = insertelement <32 x i64> poison, i64 %limit, i32 0
  %e = shufflevector <32 x i64> %e0, <32 x i64> poison, <32 x i32> zeroinitializer
  %d = sub <32 x i64> %a, %b
  %in = icmp ule <32 x i64> %d, %e
  %low = and <32 x i64> %a, splat (i64 {low})
  %al = icmp eq <32 x i64> %low, zeroinitializer
  %fit = and <32 x i1> %in, %al
"""
"""Which lanes' addresses are in device memory and aligned (%fit).  low: size of an access, less 1."""
FIRST = """  %lane1 = call i32 @llvm.cttz.i32(i32 %m, i1 false)
  %lane = and i32 %lane1, 31
  %wide = zext i32 %lane to i64
  %a0 = extractelement <32 x i64> %a, i32 %lane
  %s0 = insertelement <32 x i64> poison, i64 %a0, i32 0
  %s = shufflevector <32 x i64> %s0, <32 x i64> poison, <32 x i32> zeroinitializer
  %low0 = and i64 %a0, {low}
  %even = icmp eq i64 %low0, 0
{alone}
  %base = load i64, ptr %w
  %l1 = getelementptr i8, ptr %w, i64 {limit}
  %l2 = load i64, ptr %l1
  %limit = sub i64 %l2, {longest}
  %d0 = sub i64 %a0, %base
  %g0 = icmp ule i64 %d0, %limit
  %h1 = getelementptr i8, ptr %w, i64 {shared}
  %h2 = load i64, ptr %h1
  %h3 = getelementptr i8, ptr %w, i64 {shared_size}
  %h4 = load i64, ptr %h3
  %room = call i64 @llvm.usub.sat.i64(i64 %h4, i64 {low})
  %t0 = sub i64 %a0, {shared_base}
  %g1 = icmp ult i64 %t0, %room
  %hostshared = add i64 %t0, %h2
  %known = or i1 %g0, %g1
  %scalar1 = and i1 %known, %even
  %scalar = and i1 %scalar1, %same
  %place0 = select i1 %g0, i64 %a0, i64 %hostshared
  br i1 %scalar, label %one, label %several
one:
  %p0 = inttoptr i64 %place0 to ptr
{one}
several:
  br i1 %g0, label %memory, label %elsewhere
memory:
{lanes}  %bf = bitcast <32 x i1> %fit to i32
  %bn = xor i32 %bf, -1
  %bm = and i32 %bn, %m
  %bg = icmp eq i32 %bm, 0
  br i1 %bg, label %host, label %slow
elsewhere:
  br i1 %g1, label %inshared, label %local
inshared:
  %c0 = sub <32 x i64> %a, splat (i64 {shared_base})
  %c1 = insertelement <32 x i64> poison, i64 %room, i32 0
  %c2 = shufflevector <32 x i64> %c1, <32 x i64> poison, <32 x i32> zeroinitializer
  %c3 = icmp ult <32 x i64> %c0, %c2
  %c4 = and <32 x i64> %a, splat (i64 {low})
  %c5 = icmp eq <32 x i64> %c4, zeroinitializer
  %c6 = and <32 x i1> %c3, %c5
  %cf = bitcast <32 x i1> %c6 to i32
  %cn = xor i32 %cf, -1
  %cm = and i32 %cn, %m
  %cg = icmp eq i32 %cm, 0
  %c7 = insertelement <32 x i64> poison, i64 %h2, i32 0
  %c8 = shufflevector <32 x i64> %c7, <32 x i64> poison, <32 x i32> zeroinitializer
  %c9 = add <32 x i64> %c0, %c8
  br i1 %cg, label %host, label %slow
local:
  %e1 = getelementptr i8, ptr %w, i64 {local}
  %e2 = load i64, ptr %e1
  %e3 = getelementptr i8, ptr %w, i64 {local_size}
  %e4 = load i64, ptr %e3
  %e5 = sub <32 x i64> %a, splat (i64 {local_base})
  %e6 = insertelement <32 x i64> poison, i64 %e4, i32 0
  %e7 = shufflevector <32 x i64> %e6, <32 x i64> poison, <32 x i32> zeroinitializer
  %e8 = icmp ult <32 x i64> %e5, %e7
  %e9 = and <32 x i64> %a, splat (i64 {low})
  %ea = icmp eq <32 x i64> %e9, zeroinitializer
  %eb = and <32 x i1> %e8, %ea
  %ef = bitcast <32 x i1> %eb to i32
  %en = xor i32 %ef, -1
  %em = and i32 %en, %m
  %eg = icmp eq i32 %em, 0
  %ec = and <32 x i64> %e5, splat (i64 -8)
  %ed = shl <32 x i64> %ec, splat (i64 5)
  %ee = and <32 x i64> %e5, splat (i64 7)
  %eh = or <32 x i64> %ed, %ee
  %ei = add <32 x i64> %eh, {words}
  %ej = insertelement <32 x i64> poison, i64 %e2, i32 0
  %ek = shufflevector <32 x i64> %ej, <32 x i64> poison, <32 x i32> zeroinitializer
  %el = add <32 x i64> %ei, %ek
  br i1 %eg, label %vector, label %slow
host:
  %there = phi <32 x i64> [ %a, %memory ], [ %c9, %inshared ]
  %f1 = mul i64 %wide, {size}
  %f2 = sub i64 %a0, %f1
  %f3 = insertelement <32 x i64> poison, i64 %f2, i32 0
  %f4 = shufflevector <32 x i64> %f3, <32 x i64> poison, <32 x i32> zeroinitializer
  %f5 = sub <32 x i64> %a, {row_of}
  %f6 = icmp eq <32 x i64> %f5, %f4
  %f7 = bitcast <32 x i1> %f6 to i32
  %f8 = xor i32 %f7, -1
  %f9 = and i32 %f8, %m
  %fa = icmp eq i32 %f9, 0
  br i1 %fa, label %row, label %apart
row:
  %r2 = sub i64 %place0, %f1
  %r3 = inttoptr i64 %r2 to ptr
  %r4 = bitcast i32 %m to <32 x i1>
{row}
apart:
  br i1 %g0, label %{ahead}, label %vector
"""
"""What the addresses of the active lanes are.  One word of device or shared memory: accessed as such (`one`).  All in
device memory, in shared, or in local memory, and aligned: by one masked access if they follow each other (`row`),
else by addresses of the host (%places, in `vector`).  The executor does the rest (`slow`).

low: size of an access, less 1; alone: defines %same, whether one word is accessed."""
SAME = """  %ne = icmp ne <32 x i64> %a, %s
  %nb = bitcast <32 x i1> %ne to i32
  %nm = and i32 %nb, %m
  %same = icmp eq i32 %nm, 0"""
ALONE = """  %nb = sub i32 %m, 1
  %nm = and i32 %nb, %m
  %same = icmp eq i32 %nm, 0"""
"""Whether one lane is there."""
VECTOR = """vector:
  %hosts = phi <32 x i64> {origins}
  %places = inttoptr <32 x i64> %hosts to <32 x ptr>
  %lanes = bitcast i32 %m to <32 x i1>
"""
AHEAD = """start:
  %inline = and <32 x i64> %a, splat (i64 63)
  %begins = icmp eq <32 x i64> %inline, zeroinitializer
  %bits = bitcast <32 x i1> %begins to i32
  %lines = and i32 %bits, %m
  %count = call i32 @llvm.ctpop.i32(i32 %lines)
  %few = icmp ult i32 %count, 8
  br i1 %few, label %vector, label %coming
coming:
  %left = phi i32 [ %lines, %start ], [ %rest, %coming ]
  %at = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %one1 = sub i32 %left, 1
  %rest = and i32 %left, %one1
  %address = extractelement <32 x i64> %a, i32 %at
  %further = add i64 %address, 256
  %place1 = inttoptr i64 %further to ptr
  call void @llvm.prefetch.p0(ptr %place1, i32 0, i32 3, i32 1)
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %vector, label %coming
"""
"""Lanes that come to a new cache line ask for one further on: 32 lanes go more ways than the processor can foresee.
Rows of a matrix take half the time.  At random addresses some lanes begin a line each time, other ones: how many the
processor would foretell wrongly, and what is fetched is in vain; so it takes a quarter of the lanes."""
ADDRESSES = """  %base = load i64, ptr %w
  %l1 = getelementptr i8, ptr %w, i64 {limit}
  %l2 = load i64, ptr %l1
  %limit = sub i64 %l2, 256
{lanes}  %lanes = bitcast i32 %m to <32 x i1>
  %out = xor <32 x i1> %fit, splat (i1 true)
  %wrong = and <32 x i1> %out, %lanes
  %some = bitcast <32 x i1> %wrong to i32
  %fine = icmp eq i32 %some, 0
  br i1 %fine, label %memory, label %slow
memory:
  %s1 = getelementptr i8, ptr %w, i64 {shadow}
  %s2 = load ptr, ptr %s1
  %marks = getelementptr i8, ptr %s2, <32 x i64> %d
  %vs = call {kind} @llvm.masked.gather.v32{one}.v32p0(<32 x ptr> %marks, i32 1, <32 x i1> %lanes, {kind} splat ({one} {want}))
  %vm = and {kind} %vs, splat ({one} {want})
  %vc = icmp eq {kind} %vm, splat ({one} {want})
  %vb = bitcast <32 x i1> %vc to i32
  %right = icmp eq i32 %vb, -1
  br i1 %right, label %vector, label %slow
vector:
  %places = inttoptr <32 x i64> %a to <32 x ptr>
"""  # noqa: E501
"""Whether all active lanes' accesses are right, by a gather of their shadow."""


def function(checked: bool, result: str, name: str, arguments: str, body: str) -> str:
    """One of them, with the executor's function of that name in %f."""
    return (
        f"define {result} @{abi.SLOW_PREFIXES[checked]}{name}"
        f"(ptr %w, i32 %m, {arguments}, ptr %unit, i32 %line) #0 {{\n"
        f"  %o1 = getelementptr i8, ptr %w, i64 {abi.WARP['ops']}\n  %o2 = load ptr, ptr %o1\n"
        f"  %o3 = getelementptr i8, ptr %o2, i64 {8 * abi.OP_INDEX[name]}\n  %f = load ptr, ptr %o3\n"
        f"{body}\n}}"
    )


def uniform(checked: bool) -> list[str]:
    """Accesses by one address of all lanes."""
    load = f"  %r = call i64 %f(ptr %w, i32 %m, i64 %a, i32 %n, {SITE}\n  ret i64 %r"
    store = f"  call void %f(ptr %w, i32 %m, i64 %a, i64 %v, i32 %n, {SITE}\n  ret void"
    return [
        function(checked, "i64", "load_uniform", "i64 %a, i32 %n", load),
        function(checked, "void", "store_uniform", "i64 %a, i64 %v, i32 %n", store),
    ]


def permute(checked: bool) -> str:
    """The words of other lanes, by their numbers."""
    return (
        f"define <32 x i32> @{abi.SLOW_PREFIXES[checked]}permute"
        "(ptr %w, i32 %m, <32 x i32> %v, <32 x i32> %n, ptr %unit, i32 %line) #0 {\n"
        "  %p = alloca <32 x i32>, align 64\n  store <32 x i32> %v, ptr %p\n"
        "  %a = getelementptr i32, ptr %p, <32 x i32> %n\n"
        "  %r = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %a, i32 4, <32 x i1> splat (i1 true), "
        "<32 x i32> poison)\n  ret <32 x i32> %r\n}"
    )


def vectors(checked: bool, size: int, loading: str, storing: str) -> list[str]:
    """Accesses by an address for each lane: what is tried first, ending in a branch to %slow or a return; the rest."""
    kind = f"<32 x i{8 * size}>"
    return [
        function(
            checked,
            kind,
            f"load{size}",
            "<32 x i64> %a",
            f"{ROOM}{loading}{LAST}{CALL}  %r = load {kind}, ptr %q\n  ret {kind} %r",
        ),
        function(
            checked,
            "void",
            f"store{size}",
            f"<32 x i64> %a, {kind} %v",
            f"{ROOM}{storing}{LAST}  store {kind} %v, ptr %q\n{CALL}  ret void",
        ),
    ]


def slow_paths() -> str:
    """The functions of code without checks."""
    texts = [*uniform(False), permute(False), *additions.functions()]
    for size in (1, 2, 4, 8):
        one, kind = f"i{8 * size}", f"<32 x i{8 * size}>"
        scalar = (
            f"  %v0 = load {one}, ptr %p0\n  %v1 = insertelement {kind} poison, {one} %v0, i32 0\n"
            f"  %v2 = shufflevector {kind} %v1, {kind} poison, <32 x i32> zeroinitializer\n  ret {kind} %v2"
        )
        single = f"  %v0 = extractelement {kind} %v, i32 %lane\n  store {one} %v0, ptr %p0\n  ret void"
        if size < NARROWEST:
            loading = branches(size, SAME, scalar, "  br label %slow", "slow")
            storing = branches(size, ALONE, single, "  br label %slow", "slow")
            loading += "vector:\n  br label %slow\n"
            storing += "vector:\n  br label %slow\n"
        else:
            row = f"  %v4 = call {kind} @llvm.masked.load.v32{one}.p0(ptr %r3, i32 {size}, <32 x i1> %r4, "
            row += f"{kind} poison)\n"
            loading = branches(size, SAME, scalar, f"{row}  ret {kind} %v4", "start") + AHEAD
            origins = "[ %there, %start ], [ %there, %coming ], [ %there, %apart ], [ %el, %local ]"
            loading += VECTOR.format(origins=origins)
            loading += f"  %v3 = call {kind} @llvm.masked.gather.v32{one}.v32p0(<32 x ptr> %places, i32 {size}, "
            loading += f"<32 x i1> %lanes, {kind} poison)\n  ret {kind} %v3\n"
            row = f"  call void @llvm.masked.store.v32{one}.p0({kind} %v, ptr %r3, i32 {size}, <32 x i1> %r4)\n"
            storing = branches(size, ALONE, single, f"{row}  ret void", "vector")
            storing += VECTOR.format(origins="[ %there, %apart ], [ %there, %apart ], [ %el, %local ]")
            storing += f"  call void @llvm.masked.scatter.v32{one}.v32p0({kind} %v, <32 x ptr> %places, i32 {size}, "
            storing += "<32 x i1> %lanes)\n  ret void\n"
        texts += vectors(False, size, loading, storing)
    return "\n".join(texts)


def branches(size: int, alone: str, one: str, row: str, ahead: str) -> str:
    """FIRST for accesses of some bytes, with the code of its cases."""
    places = {f"{name}_base": number for name, number in (("shared", abi.SHARED_BASE), ("local", abi.LOCAL_BASE))}
    places |= {name: abi.WARP[name] for name in ("shared", "shared_size", "local", "local_size")}
    return FIRST.format(
        low=size - 1, size=size, alone=alone, one=one, row=row, ahead=ahead, limit=abi.WARP["size"], longest=LONGEST,
        lanes=LANES.format(low=size - 1), words=IOTA[8], row_of=IOTA[size], **places,
    )  # fmt: skip


def checked_slow_paths() -> str:
    """Those of checked code."""
    texts = [*uniform(True), permute(True)]
    for size in (1, 2, 4, 8):
        one, kind = f"i{8 * size}", f"<32 x i{8 * size}>"
        facts = {"limit": abi.WARP["size"], "shadow": abi.WARP["shadow"], "kind": kind, "one": one}
        facts["lanes"] = LANES.format(low=size - 1)
        loading = storing = "  br label %slow\n"
        if size >= 4:
            loading = ADDRESSES.format(want=repeated(WRITTEN, size), **facts)
            loading += f"  %r1 = call {kind} @llvm.masked.gather.v32{one}.v32p0(<32 x ptr> %places, i32 {size}, "
            loading += f"<32 x i1> %lanes, {kind} poison)\n  ret {kind} %r1\n"
            storing = ADDRESSES.format(want=repeated(ALLOCATED, size), **facts)
            call = f"  call void @llvm.masked.scatter.v32{one}.v32p0({kind} "
            storing += f"{call}splat ({one} {repeated(WRITTEN, size)}), <32 x ptr> %marks, i32 1, <32 x i1> %lanes)\n"
            storing += f"{call}%v, <32 x ptr> %places, i32 {size}, <32 x i1> %lanes)\n  ret void\n"
        texts += vectors(True, size, loading, storing)
    return "\n".join(texts)
