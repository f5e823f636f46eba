"""Additions of a warp to words of 32 bits, each lane to its own, whose results are not used, as LLVM IR; and those of
one lane to floats, as a warp's sum is added.

Shared memory, and the window and the table of sums that a host thread gathers (sums.h), belong to one thread of the
host: no lock is needed.  The function that does it is compiled once for a CPU, as those of slow.py are; it says whether
it did.  What it leaves goes to the executor.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .access import address_of
from .emit import Emitter
from .syntax import Instruction, Memory, Operand

NAMES = ("add4", "bump4")
"""The functions: of a number for each lane, and of one for all."""
KINDS = frozenset(("u32", "s32"))
LONE = {"f32": ("lone4", "float"), "f64": ("lone8", "double")}
"""The functions of one lane's addition to a float that is in the table already."""
NEVER = -1
"""A code that no sums have: of additions that may not be seen later."""

TEXT = """define i1 @{prefix}{name}(ptr %w, i32 %m, <32 x i64> %a, {kind} %v, i32 %code, ptr %unit, i32 %line) #0 {{
  %q = alloca <32 x i64>, align 64
  %u = alloca <32 x i32>, align 64
  %z1 = extractelement <32 x i64> %a, i32 0
  %z2 = and i32 %m, 1
  %z = icmp eq i32 %z2, 1
  br i1 %z, label %begin, label %later, !prof !1
later:
  store <32 x i64> %a, ptr %q
  call void asm sideeffect "", "r,~{{memory}}"(ptr %q)
  %lane1 = call i32 @llvm.cttz.i32(i32 %m, i1 false)
  %lane2 = and i32 %lane1, 31
  %lane = zext i32 %lane2 to i64
  %z3 = getelementptr i64, ptr %q, i64 %lane
  %z4 = load i64, ptr %z3
  br label %begin
begin:
  %a0 = phi i64 [ %z1, %0 ], [ %z4, %later ]
  %t0 = sub i64 %a0, {shared_base}
  %t1 = getelementptr i8, ptr %w, i64 {shared_size}
  %t2 = load i64, ptr %t1
  %t3 = call i64 @llvm.usub.sat.i64(i64 %t2, i64 3)
  %t4 = icmp ult i64 %t0, %t3
  br i1 %t4, label %shared, label %device
shared:
  %limit1 = sub i64 %t3, 1
  %h1 = getelementptr i8, ptr %w, i64 {shared}
  %host1 = load ptr, ptr %h1
  br label %both
device:
  %s1 = getelementptr i8, ptr %w, i64 {sums}
  %s = load ptr, ptr %s1
  %c1 = getelementptr i8, ptr %s, i64 {code}
  %c = load i32, ptr %c1
  %c2 = icmp eq i32 %c, %code
  %o1 = getelementptr i8, ptr %s, i64 {windowed}
  %o2 = load i64, ptr %o1
  %o3 = icmp ne i64 %o2, 0
  %o4 = and i1 %c2, %o3
  br i1 %o4, label %window, label %no
window:
  %l1 = getelementptr i8, ptr %s, i64 {low}
  %low2 = load i64, ptr %l1
  %l2 = getelementptr i8, ptr %s, i64 {limit}
  %limit2 = load i64, ptr %l2
  %host2 = getelementptr i8, ptr %s, i64 {window}
  br label %both
both:
  %low = phi i64 [ {shared_base}, %shared ], [ %low2, %window ]
  %limit = phi i64 [ %limit1, %shared ], [ %limit2, %window ]
  %host = phi ptr [ %host1, %shared ], [ %host2, %window ]
  %b1 = insertelement <32 x i64> poison, i64 %low, i32 0
  %b = shufflevector <32 x i64> %b1, <32 x i64> poison, <32 x i32> zeroinitializer
  %d = sub <32 x i64> %a, %b
  %e1 = insertelement <32 x i64> poison, i64 %limit, i32 0
  %e = shufflevector <32 x i64> %e1, <32 x i64> poison, <32 x i32> zeroinitializer
  %f1 = icmp ule <32 x i64> %d, %e
  %f2 = and <32 x i64> %a, splat (i64 3)
  %f3 = icmp eq <32 x i64> %f2, zeroinitializer
  %f4 = and <32 x i1> %f1, %f3
  %f5 = bitcast <32 x i1> %f4 to i32
  %f6 = xor i32 %m, -1
  %f7 = or i32 %f5, %f6
  %f8 = icmp eq i32 %f7, -1
  %f9 = icmp ne i32 %m, 0
  %f = and i1 %f8, %f9
  br i1 %f, label %right, label %no
right:
  %lanes = bitcast i32 %m to <32 x i1>
  %n1 = insertelement <32 x i64> poison, i64 %a0, i32 0
  %n2 = shufflevector <32 x i64> %n1, <32 x i64> poison, <32 x i32> zeroinitializer
  %n3 = icmp ne <32 x i64> %a, %n2
  %n4 = bitcast <32 x i1> %n3 to i32
  %n5 = and i32 %n4, %m
  %n = icmp eq i32 %n5, 0
  br i1 %n, label %one, label %several
one:
{sum}
  %r3 = sub i64 %a0, %low
  %r4 = getelementptr i8, ptr %host, i64 %r3
  %r5 = load i32, ptr %r4
  %r6 = add i32 %r5, %r2
  store i32 %r6, ptr %r4
  ret i1 true
several:
  store <32 x i64> %d, ptr %q
{keep}
  call void asm sideeffect "", "r,r,~{{memory}}"(ptr %q, ptr %u)
  %whole = icmp eq i32 %m, -1
  br i1 %whole, label %all, label %some
all:
{all}
  ret i1 true
some:
  %left = phi i32 [ %m, %several ], [ %rest, %some ]
  %i = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %i1 = zext i32 %i to i64
  %p1 = getelementptr i64, ptr %q, i64 %i1
  %p2 = load i64, ptr %p1
  %p3 = getelementptr i8, ptr %host, i64 %p2
{value}
  %p6 = load i32, ptr %p3
  %p7 = add i32 %p5, %p6
  store i32 %p7, ptr %p3
  %p8 = icmp eq i32 %rest, 0
  br i1 %p8, label %done, label %some
done:
  ret i1 true
no:
  ret i1 false
}}"""
"""The lanes' words are all in shared memory, or all in the window; `one` word, or several.

That the lanes' numbers go through memory is no loss: the processor loads two at a time from what it has just stored.
The asm keeps LLVM from taking them out of the vectors, which takes longer.
"""
LANE = """  %x{i}1 = getelementptr i64, ptr %q, i64 {i}
  %x{i}2 = load i64, ptr %x{i}1
  %x{i}3 = getelementptr i8, ptr %host, i64 %x{i}2
{value}
  %x{i}6 = load i32, ptr %x{i}3
  %x{i}7 = add i32 %x{i}5, %x{i}6
  store i32 %x{i}7, ptr %x{i}3"""

ONE = """define i1 @{prefix}{name}(ptr %w, i32 %m, <32 x i64> %a, <32 x {word}> %v, i32 %code, ptr %unit, i32 %at) #0 {{
  %q = alloca <32 x i64>, align 64
  %u = alloca <32 x {word}>, align 64
  %n1 = call i32 @llvm.ctpop.i32(i32 %m)
  %n = icmp eq i32 %n1, 1
  br i1 %n, label %lone, label %no, !prof !1
lone:
  %z1 = extractelement <32 x i64> %a, i32 0
  %y1 = extractelement <32 x {word}> %v, i32 0
  %z = icmp eq i32 %m, 1
  br i1 %z, label %begin, label %later, !prof !1
later:
  store <32 x i64> %a, ptr %q
  store <32 x {word}> %v, ptr %u
  call void asm sideeffect "", "r,r,~{{memory}}"(ptr %q, ptr %u)
  %lane1 = call i32 @llvm.cttz.i32(i32 %m, i1 true)
  %lane2 = and i32 %lane1, 31
  %lane = zext i32 %lane2 to i64
  %z3 = getelementptr i64, ptr %q, i64 %lane
  %z4 = load i64, ptr %z3
  %y3 = getelementptr {word}, ptr %u, i64 %lane
  %y4 = load {word}, ptr %y3
  br label %begin
begin:
  %a0 = phi i64 [ %z1, %lone ], [ %z4, %later ]
  %v0 = phi {word} [ %y1, %lone ], [ %y4, %later ]
  %s1 = getelementptr i8, ptr %w, i64 {sums}
  %s = load ptr, ptr %s1
  %c1 = getelementptr i8, ptr %s, i64 {code}
  %c = load i32, ptr %c1
  %c2 = icmp eq i32 %c, %code
  %b1 = lshr i64 %a0, {near}
  %b2 = lshr i64 %a0, {far}
  %b3 = xor i64 %b1, %b2
  %b4 = and i64 %b3, {last}
  %b5 = shl i64 %b4, 4
  %b6 = add i64 %b5, {table}
  %p = getelementptr i8, ptr %s, i64 %b6
  %p1 = load i64, ptr %p
  %p2 = icmp eq i64 %p1, %a0
  %p3 = icmp ne i64 %a0, 0
  %p4 = and i1 %p2, %p3
  %p5 = and i1 %p4, %c2
  br i1 %p5, label %right, label %no
right:
  %r1 = getelementptr i8, ptr %p, i64 8
  %r2 = load {float}, ptr %r1
  %r3 = bitcast {word} %v0 to {float}
  %r4 = fadd {float} %r2, %r3
  store {float} %r4, ptr %r1
  ret i1 true
no:
  ret i1 false
}}"""
"""The executor has tested an address that a place of the table has, and the same kind of addition has put it there.

No address is 0, which is what an empty place has.
"""

EACH = {
    "kind": "<32 x i32>",
    "sum": "  %r1 = select <32 x i1> %lanes, <32 x i32> %v, <32 x i32> zeroinitializer\n"
    "  %r2 = call i32 @llvm.vector.reduce.add.v32i32(<32 x i32> %r1)",
    "keep": "  store <32 x i32> %v, ptr %u",
    "value": "  %p4 = getelementptr i32, ptr %u, i64 %i1\n  %p5 = load i32, ptr %p4",
}
ALL = {
    "kind": "i32",
    "sum": "  %r1 = call i32 @llvm.ctpop.i32(i32 %m)\n  %r2 = mul i32 %r1, %v",
    "keep": "",
    "value": "  %p5 = add i32 %v, 0",
}
"""What differs between the functions."""
VALUES = (
    "  %x{i}4 = getelementptr i32, ptr %u, i64 {i}\n  %x{i}5 = load i32, ptr %x{i}4",
    "  %x{i}5 = add i32 %v, 0",
)


def functions() -> list[str]:
    """The functions that all units share."""
    facts: dict[str, object] = {name: abi.WARP[name] for name in ("shared", "shared_size", "sums")}
    facts |= {name: abi.SUMS[name] for name in ("code", "windowed", "low", "limit", "window")}
    facts |= {"prefix": abi.SLOW_PREFIXES[False], "shared_base": abi.SHARED_BASE}
    texts = []
    for name, differs, value in zip(NAMES, (EACH, ALL), VALUES, strict=True):
        every = "\n".join(LANE.format(i=i, value=value.format(i=i)) for i in range(32))
        texts.append(TEXT.format(name=name, all=every, **facts, **differs))
    facts |= {"near": abi.SUM_NEAR, "far": abi.SUM_FAR, "last": abi.SUM_PLACES - 1, "table": abi.SUMS["table"]}
    for name, kind in LONE.values():
        texts.append(ONE.format(name=name, float=kind, word="i32" if kind == "float" else "i64", **facts))
    return texts


def applies(em: Emitter, code: Instruction, operation: str, kind: str) -> bool:
    """Whether an atomic operation is such an addition."""
    if not em.fast or em.checked or operation != "add" or id(code) not in em.sums().unused:
        return False
    if id(code) in em.sums().later:
        return kind in KINDS or kind in LONE
    return kind in KINDS and "shared" in {mod.partition("::")[0] for mod in code.mods}


def begin(em: Emitter, code: Instruction, memory: Memory, operand: Operand, number: int) -> str:
    """Try it, and begin the way of the executor; returns the label of what comes behind both."""
    addresses = em.splat(address_of(em, memory))
    kind = code.mods[-1]
    values = em.fit(em.read(operand, kind), "i64" if kind == "f64" else "i32")
    which = number if id(code) in em.sums().later else NEVER
    name = NAMES[not values.vector]
    if kind in LONE:
        name, values = LONE[kind][0], em.splat(values)
    did = em.slow(
        "i1",
        name,
        (addresses.full, addresses.text),
        (values.full, values.text),
        ("i32", str(which)),
    )
    rest, done = em.fresh("rest"), em.fresh("done")
    em.put(f"br i1 {did}, label %{done}, label %{rest}, !prof !1")
    em.label(rest)
    return done
