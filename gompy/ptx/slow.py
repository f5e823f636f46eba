"""The functions behind slow accesses, which all units call: they are compiled once for a CPU, without and with checks.

They are like the executor's (abi.OPS), but that vectors are passed as such.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .checks import ALLOCATED, WRITTEN, repeated

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
RANGES = """  %lane1 = call i32 @llvm.cttz.i32(i32 %m, i1 false)
  %lane = and i32 %lane1, 31
  %a0 = extractelement <32 x i64> %a, i32 %lane
  %s0 = insertelement <32 x i64> poison, i64 %a0, i32 0
  %s = shufflevector <32 x i64> %s0, <32 x i64> poison, <32 x i32> zeroinitializer
  %ne = icmp ne <32 x i64> %a, %s
  %nb = bitcast <32 x i1> %ne to i32
  %nm = and i32 %nb, %m
  %same = icmp eq i32 %nm, 0
  %base = load i64, ptr %w
  %l1 = getelementptr i8, ptr %w, i64 {limit}
  %l2 = load i64, ptr %l1
  %limit = sub i64 %l2, 256
  %d0 = sub i64 %a0, %base
  %low0 = and i64 %a0, {low}
  %even = icmp eq i64 %low0, 0
{lanes}  %fb = bitcast <32 x i1> %fit to i32
  %nf = xor i32 %fb, -1
  %bad = and i32 %nf, %m
  %fine = icmp eq i32 %bad, 0
"""
"""What the addresses of the active lanes are: all the same (%same), all in device memory and aligned (%fine)."""
MANY = """many:
  br i1 %fine, label %{first}, label %slow
{ahead}vector:
  %places = inttoptr <32 x i64> %a to <32 x ptr>
  %lanes = bitcast i32 %m to <32 x i1>
"""
AHEAD = """start:
  %inline = and <32 x i64> %a, splat (i64 63)
  %begins = icmp eq <32 x i64> %inline, zeroinitializer
  %bits = bitcast <32 x i1> %begins to i32
  %lines = and i32 %bits, %m
  %none = icmp eq i32 %lines, 0
  br i1 %none, label %vector, label %coming
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
Rows of a matrix take half the time; at random addresses an eighth more is fetched, in vain."""
SLOW = "many:\n  br label %slow\n"
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
    texts = uniform(False)
    for size in (1, 2, 4, 8):
        one, kind = f"i{8 * size}", f"<32 x i{8 * size}>"
        ranges = RANGES.format(limit=abi.WARP["size"], low=size - 1, lanes=LANES.format(low=size - 1))
        together = (
            "  %i0 = icmp ule i64 %d0, %limit\n  %u1 = and i1 %same, %i0\n  %u2 = and i1 %u1, %even\n"
            "  br i1 %u2, label %one, label %many\none:\n  %p0 = inttoptr i64 %a0 to ptr\n"
            f"  %v0 = load {one}, ptr %p0\n  %v1 = insertelement {kind} poison, {one} %v0, i32 0\n"
            f"  %v2 = shufflevector {kind} %v1, {kind} poison, <32 x i32> zeroinitializer\n  ret {kind} %v2\n"
        )
        loading = storing = SLOW
        if size >= 4:  # narrower gathers are taken apart by LLVM
            loading = MANY.format(first="start", ahead=AHEAD)
            loading += f"  %v3 = call {kind} @llvm.masked.gather.v32{one}.v32p0(<32 x ptr> %places, i32 {size}, "
            loading += f"<32 x i1> %lanes, {kind} poison)\n  ret {kind} %v3\n"
            storing = MANY.format(first="vector", ahead="")
            storing += f"  call void @llvm.masked.scatter.v32{one}.v32p0({kind} %v, <32 x ptr> %places, i32 {size}, "
            storing += "<32 x i1> %lanes)\n  ret void\n"
        texts += vectors(False, size, ranges + together + loading, f"{ranges}  br label %many\n{storing}")
    return "\n".join(texts)


def checked_slow_paths() -> str:
    """Those of checked code."""
    texts = uniform(True)
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
