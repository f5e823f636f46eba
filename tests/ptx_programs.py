"""Random structured programs in PTX, and an interpreter for them that knows nothing of the executor.

A program is a tree of statements on a few registers of each type: arithmetic, ifs, loops whose trips depend on the
lane with break and continue, indexed branches, predicated instructions, local and shared memory, atomics, votes and
shuffles of the lanes that are there, barriers, calls (also by pointers, also recursive), early returns.  The
interpreter runs a warp with a set of active lanes, which is split and joined as the tree says: what the hardware does
in structured code.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

M16, M32, M64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
F32, F64 = np.float32, np.float64
KINDS = {"u16": 2, "u32": 6, "u64": 3, "f32": 3, "f64": 2, "pred": 3}
PREFIX = {"u16": "h", "u32": "a", "u64": "q", "f32": "f", "f64": "d", "pred": "p"}
LOCAL = 64  # bytes of a frame's array
CELLS = 8  # words of global memory that all lanes add to
OWN = 8  # words of global memory, and 4 of shared memory, of each thread

Lanes = list[Any]
Op = tuple[str, str, tuple[str, ...], Callable[..., Any]]  # result, text with {0} (result), {1}…, sources, model


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def divide(a: int, b: int) -> int:
    return a // b if b else M32


def to_unsigned(x: Any, most: int) -> int:
    x = float(x)
    return 0 if x != x or x <= 0 else most if x >= most else int(x)


def smaller(greater: bool) -> Callable[[Any, Any], Any]:
    def model(a: Any, b: Any) -> Any:
        if a != a or b != b:
            return b if a != a else a
        if a == b:
            return (a if np.signbit(a) else b) if not greater else (b if np.signbit(a) else a)
        return (a if a > b else b) if greater else (a if a < b else b)

    return model


def operations() -> list[Op]:
    """Arithmetic that is defined for all operands."""
    found: list[Op] = []

    def add(result: str, text: str, sources: str, model: Callable[..., Any]) -> None:
        found.append((result, text, tuple(sources.split()), model))

    for kind, mask in (("u16", M16), ("u32", M32), ("u64", M64)):
        bits = mask.bit_length()
        add(kind, f"add.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b, m=mask: a + b & m)
        add(kind, f"sub.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b, m=mask: a - b & m)
        add(kind, f"mul.lo.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b, m=mask: a * b & m)
        add(kind, f"xor.b{bits} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b: a ^ b)
        add(kind, f"and.b{bits} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b: a & b)
        add(kind, f"shr.s{bits} {{0}}, {{1}}, 3;", kind, lambda a, n=bits, m=mask: signed(a, n) >> 3 & m)
        add(kind, f"shl.b{bits} {{0}}, {{1}}, {{2}};", f"{kind} u32", lambda a, b, n=bits, m=mask: a << min(b, n) & m)
        add(kind, f"min.u{bits} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", min)
        add(kind, f"max.s{bits} {{0}}, {{1}}, {{2}};", f"{kind} {kind}",
            lambda a, b, n=bits: max(a, b, key=lambda v: signed(v, n)))  # fmt: skip
        add(kind, f"mov.{kind} {{0}}, {{1}};", kind, lambda a: a)
        for name, test in (("lt", lambda a, b: a < b), ("ne", lambda a, b: a != b)):
            add("pred", f"setp.{name}.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", test)
        if kind != "u16":
            add(kind, f"selp.b{bits} {{0}}, {{1}}, {{2}}, {{3}};", f"{kind} {kind} pred", lambda a, b, p: a if p else b)
    add("u32", "mad.lo.u32 {0}, {1}, {2}, {3};", "u32 u32 u32", lambda a, b, c: a * b + c & M32)
    add("u32", "div.u32 {0}, {1}, {2};", "u32 u32", divide)
    add("u32", "rem.u32 {0}, {1}, 7;", "u32", lambda a: a % 7)
    add("u32", "mul.hi.u32 {0}, {1}, {2};", "u32 u32", lambda a, b: a * b >> 32)
    add("u32", "popc.b64 {0}, {1};", "u64", lambda a: a.bit_count())
    add("u32", "clz.b32 {0}, {1};", "u32", lambda a: 32 - a.bit_length())
    add("u64", "mul.wide.u32 {0}, {1}, {2};", "u32 u32", lambda a, b: a * b)
    add("u64", "mad.wide.s32 {0}, {1}, {2}, {3};", "u32 u32 u64",
        lambda a, b, c: signed(a, 32) * signed(b, 32) + c & M64)  # fmt: skip
    add("u32", "cvt.u32.u64 {0}, {1};", "u64", lambda a: a & M32)
    add("u64", "cvt.s64.s32 {0}, {1};", "u32", lambda a: signed(a, 32) & M64)
    add("u16", "cvt.u16.u32 {0}, {1};", "u32", lambda a: a & M16)
    add("u32", "cvt.s32.s16 {0}, {1};", "u16", lambda a: signed(a, 16) & M32)
    add("f32", "cvt.rn.f32.u32 {0}, {1};", "u32", F32)
    add("f64", "cvt.rn.f64.s64 {0}, {1};", "u64", lambda a: F64(signed(a, 64)))
    add("f64", "cvt.f64.f32 {0}, {1};", "f32", F64)
    add("f32", "cvt.rn.f32.f64 {0}, {1};", "f64", F32)
    add("u32", "cvt.rzi.u32.f32 {0}, {1};", "f32", lambda a: to_unsigned(a, M32))
    add("u64", "cvt.rzi.u64.f64 {0}, {1};", "f64", lambda a: to_unsigned(a, M64))
    for kind in ("f32", "f64"):
        add(kind, f"add.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b: a + b)
        add(kind, f"mul.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b: a * b)
        add(kind, f"sub.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b: a - b)
        add(kind, f"div.rn.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b: a / b)
        add(kind, f"min.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", smaller(False))
        add(kind, f"abs.{kind} {{0}}, {{1}};", kind, abs)
        add("pred", f"setp.gtu.{kind} {{0}}, {{1}}, {{2}};", f"{kind} {kind}", lambda a, b: not a <= b)
    add("pred", "and.pred {0}, {1}, {2};", "pred pred", lambda a, b: a and b)
    add("pred", "xor.pred {0}, {1}, {2};", "pred pred", lambda a, b: a != b)
    add("pred", "not.pred {0}, {1};", "pred", lambda a: not a)
    return found


OPERATIONS = operations()


@dataclass
class Statement:
    """`what` says which; `args`: names of registers and numbers; `parts`: blocks."""

    what: str
    args: tuple[Any, ...] = ()
    parts: tuple[list[Statement], ...] = ()


@dataclass
class Body:
    """A kernel or a function; functions have the parameters a0, q0, f0, and give an u32 back."""

    name: str
    statements: list[Statement]
    recursive: bool = False


@dataclass
class Program:
    seed: int
    kernel: Body
    functions: list[Body]


class Maker:
    """Makes a program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.functions: list[Body] = []
        self.callable: list[str] = []

    def register(self, kind: str) -> str:
        return f"%{PREFIX[kind]}{self.rng.randrange(KINDS[kind])}"

    def arithmetic(self) -> Statement:
        op = self.rng.randrange(len(OPERATIONS))
        result, _, sources, _ = OPERATIONS[op]
        guard = (self.register("pred"), self.rng.random() < 0.5) if self.rng.random() < 0.25 else None
        target = self.register(result)
        while target == "%a0":  # stays the thread's number
            target = self.register(result)
        return Statement("op", (op, target, tuple(self.register(k) for k in sources), guard))

    def block(self, depth: int, loop: bool, kernel: bool, top: bool = False) -> list[Statement]:
        return [self.statement(depth, loop, kernel, top) for _ in range(self.rng.randint(1, 8 if top else 4))]

    def statement(self, depth: int, loop: bool, kernel: bool, top: bool) -> Statement:
        rng = self.rng
        choice = rng.random()
        small = "%a" + str(rng.randrange(1, KINDS["u32"]))
        if choice < 0.40 or (depth == 0 and choice < 0.70):
            return self.arithmetic()
        if depth and choice < 0.52:
            otherwise = self.block(depth - 1, loop, kernel) if rng.random() < 0.6 else []
            return Statement("if", (self.register("pred"),), (self.block(depth - 1, loop, kernel), otherwise))
        if depth and choice < 0.60:
            return Statement(
                "loop", (self.register("u32"), rng.choice((1, 3, 7))), (self.block(depth - 1, True, kernel),)
            )
        if depth and choice < 0.64:
            cases = tuple(self.block(depth - 1, loop, kernel) for _ in range(rng.randint(2, 6)))
            return Statement("switch", (self.register("u32"),), cases)
        if loop and choice < 0.70:
            return Statement(rng.choice(("break", "continue")), (self.register("pred"),))
        if choice < 0.76:
            width = rng.choice((1, 2, 4, 8))
            register = self.register("u64") if width == 8 else small
            return Statement(rng.choice(("load", "store")), (width, register, self.register("u32")))
        if choice < 0.79 and kernel:
            return Statement(rng.choice(("shared load", "shared store")), (small, self.register("u32")))
        if choice < 0.82:
            return Statement("red", (self.register("u32"), self.register("u32"), rng.choice(("add", "xor", "max"))))
        if choice < 0.84 and kernel:
            return Statement("atom", (small, self.register("u32"), self.register("u32")))
        if choice < 0.88:
            return Statement(
                rng.choice(("ballot", "all", "first", "match", "redux")),
                (small, self.register("pred"), self.register("u32")),
            )
        if choice < 0.96 and self.callable:
            how = rng.choice(("direct", "direct", "pointer"))
            name = rng.choice(self.callable)
            arguments = (self.register("u32"), self.register("u64"), self.register("f32"))
            return Statement("call", (how, name, small, *arguments, self.register("u32")))
        if choice < 0.975 and (not kernel or not top):
            return Statement("return", (self.register("pred"),))
        if top and kernel:
            return Statement("exchange", (small, self.register("u32"), rng.randrange(1, 40)))
        return self.arithmetic()

    def program(self) -> Program:
        for index in range(self.rng.randint(0, 3)):
            recursive = self.rng.random() < 0.3
            body = Body(f"f{self.seed}_{index}", self.block(2, False, False, False), recursive)
            self.functions.append(body)
            self.callable.append(body.name)
        return Program(self.seed, Body(f"k{self.seed}", self.block(3, False, True, True)), self.functions)


# --- PTX -------------------------------------------------------------------------------------------------------------


class Writer:
    """The program as PTX."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.labels = 0
        self.loops: list[tuple[str, str]] = []
        self.kernel = True

    def label(self) -> str:
        self.labels += 1
        return f"$L{self.labels}"

    def put(self, *lines: str) -> None:
        self.lines += lines

    def text(self) -> str:
        for function in self.program.functions:
            self.put(f".func (.param .u32 r) {function.name} (.param .u32 x, .param .u64 y, .param .f32 z);")
        if self.program.functions:
            names = ", ".join(f.name for f in self.program.functions)
            count = len(self.program.functions)
            self.put(f".global .u64 table{self.program.seed}[{count}] = {{{names}}};")
        for function in self.program.functions:
            self.function(function)
        self.main()
        return "\n".join(self.lines)

    def registers(self) -> None:
        for kind, count in KINDS.items():
            self.put(f".reg .{kind} %{PREFIX[kind]}<{count}>;")
        self.put(".reg .u32 %t, %u, %m, %n<9>; .reg .u64 %x, %y, %g; .reg .pred %c, %e;")
        self.put(f".local .align 8 .b8 l[{LOCAL}];")
        self.put(*(f"mov.u64 %x, 0; st.local.u64 [l+{i}], %x;" for i in range(0, LOCAL, 8)))

    def zeros(self, *known: str) -> None:
        for kind, count in KINDS.items():
            for index in range(count):
                name = f"%{PREFIX[kind]}{index}"
                if name in known:
                    continue
                if kind == "pred":
                    self.put(f"setp.ne.u32 {name}, {index % 2}, 0;")
                else:
                    value = {"f32": f"0f{bits32(index + 0.5):08X}", "f64": f"0d{bits64(index - 1.5):016X}"}
                    self.put(f"mov.{kind} {name}, {value.get(kind, index * 3 + 1)};")

    def function(self, body: Body) -> None:
        self.kernel = False
        self.put(f".func (.param .u32 r) {body.name} (.param .u32 x, .param .u64 y, .param .f32 z) {{")
        self.registers()
        self.zeros("%a0", "%q0", "%f0")
        self.put("ld.param.u32 %a0, [x]; ld.param.u64 %q0, [y]; ld.param.f32 %f0, [z];")
        self.put("ld.global.u64 %g, [globals];")
        if body.recursive:
            go = self.label()
            self.put("and.b32 %t, %a0, 3;", f"setp.eq.u32 %c, %t, 0; @%c bra {go};", "sub.u32 %t, %t, 1;")
            self.call(body.name, "%a1", "%t", "%q0", "%f0")
            self.put(f"{go}:")
        self.block(body.statements)
        self.put("st.param.u32 [r], %a1; ret; }")

    def main(self) -> None:
        self.kernel = True
        seed = self.program.seed
        self.put(f".visible .entry k{seed} (.param .u64 po, .param .u64 pg, .param .u32 pn) {{")
        self.registers()
        self.put(".reg .u64 %o; .reg .u32 %linear, %total; .shared .align 8 .b8 s[16384];")
        self.put(
            "ld.param.u64 %o, [po]; ld.param.u64 %g, [pg]; st.global.u64 [globals], %g; ld.param.u32 %total, [pn];"
        )
        self.put("mov.u32 %t, %tid.x; mov.u32 %u, %tid.y; mov.u32 %m, %ntid.x; mad.lo.u32 %linear, %u, %m, %t;")
        self.zeros("%a0", "%a3", "%q0", "%f0")
        self.put("mov.u32 %a0, %linear; mul.lo.u32 %a3, %a0, 7; mov.u32 %a4, %ctaid.x; ld.param.u32 %a5, [pn];")
        self.put(
            "mov.u64 %x, 0x9E3779B97F4A7C15; cvt.u64.u32 %q0, %a0; mul.lo.u64 %q0, %q0, %x; cvt.rn.f32.u32 %f0, %a0;"
        )
        self.put("mul.wide.u32 %x, %linear, 16; mov.u64 %y, s; add.u64 %x, %x, %y;")
        self.put("mov.u64 %y, 0; st.shared.u64 [%x], %y; st.shared.u64 [%x+8], %y; bar.sync 0;")
        self.put("mov.u32 %n0, %ctaid.x; mad.lo.u32 %n0, %n0, %total, %linear;")
        self.put(f"mad.wide.u32 %o, %n0, {record_size()}, %o;")
        self.block(self.program.kernel.statements)
        at = 0
        for kind, count in KINDS.items():
            for index in range(count):
                name = f"%{PREFIX[kind]}{index}"
                if kind == "pred":
                    self.put(f"selp.u32 %t, 1, 0, {name}; st.global.u32 [%o+{at}], %t;")
                elif kind == "u16":
                    self.put(f"cvt.u32.u16 %t, {name}; st.global.u32 [%o+{at}], %t;")
                else:
                    self.put(f"st.global.{kind} [%o+{at}], {name};")
                at += 8
        for offset in range(0, LOCAL, 8):
            self.put(f"ld.local.u64 %x, [l+{offset}]; st.global.u64 [%o+{at}], %x;")
            at += 8
        self.put("ret; }")

    def block(self, statements: list[Statement]) -> None:
        for statement in statements:
            getattr(self, "write_" + statement.what.replace(" ", "_"))(*statement.args, *statement.parts)

    def write_op(self, op: int, target: str, sources: tuple[str, ...], guard: tuple[str, bool] | None) -> None:
        prefix = f"@{'!' if guard[1] else ''}{guard[0]} " if guard else ""
        self.put(prefix + OPERATIONS[op][1].format(target, *sources))

    def write_if(self, condition: str, then: list[Statement], otherwise: list[Statement]) -> None:
        other, out = self.label(), self.label()
        self.put(f"@!{condition} bra {other};")
        self.block(then)
        self.put(f"bra {out};", f"{other}:")
        self.block(otherwise)
        self.put(f"{out}:")

    def write_loop(self, source: str, mask: int, body: list[Statement]) -> None:
        """for (i = source & mask; i != 0; i--)"""
        head, out, again = self.label(), self.label(), self.label()
        counter = f"%i{self.labels}"
        self.put(f".reg .u32 {counter}; .reg .pred %c{self.labels};")
        test = f"%c{self.labels}"
        self.put(
            f"and.b32 {counter}, {source}, {mask};", f"{head}: setp.eq.u32 {test}, {counter}, 0; @{test} bra {out};"
        )
        self.loops.append((out, again))
        self.block(body)
        self.loops.pop()
        self.put(f"{again}: sub.u32 {counter}, {counter}, 1; bra {head};", f"{out}:")

    def write_switch(self, source: str, *cases: list[Statement]) -> None:
        out, names = self.label(), [self.label() for _ in cases]
        number = self.labels
        self.put(f"rem.u32 %t, {source}, {len(cases)};", f"T{number}: .branchtargets {', '.join(names)};")
        self.put(f"brx.idx %t, T{number};")
        for name, case in zip(names, cases, strict=True):
            self.put(f"{name}:")
            self.block(case)
            self.put(f"bra {out};")
        self.put(f"{out}:")

    def write_break(self, condition: str) -> None:
        self.put(f"@{condition} bra {self.loops[-1][0]};")

    def write_continue(self, condition: str) -> None:
        self.put(f"@{condition} bra {self.loops[-1][1]};")

    def place(self, width: int, index: str) -> None:
        self.put(
            f"and.b32 %t, {index}, {LOCAL // width - 1}; mul.wide.u32 %x, %t, {width}; "
            "mov.u64 %y, l; add.u64 %x, %x, %y;"
        )

    def write_load(self, width: int, register: str, index: str) -> None:
        self.place(width, index)
        self.put(f"ld.local.u{8 * width} {register}, [%x];")

    def write_store(self, width: int, register: str, index: str) -> None:
        self.place(width, index)
        self.put("cvta.local.u64 %x, %x;", f"st.u{8 * width} [%x], {register};")

    def own_shared(self, index: str) -> None:
        self.put(f"and.b32 %t, {index}, 3; mad.lo.u32 %t, %linear, 4, %t; mul.wide.u32 %x, %t, 4; mov.u64 %y, s;")
        self.put("add.u64 %x, %x, %y;")

    def write_shared_load(self, register: str, index: str) -> None:
        self.own_shared(index)
        self.put(f"ld.shared.u32 {register}, [%x];")

    def write_shared_store(self, register: str, index: str) -> None:
        self.own_shared(index)
        self.put(f"st.shared.u32 [%x], {register};")

    def write_red(self, index: str, value: str, op: str) -> None:
        at = {"add": 0, "xor": 1, "max": 2}[op] * CELLS
        kind = "b32" if op == "xor" else "u32"
        self.put(f"and.b32 %t, {index}, {CELLS - 1}; add.u32 %t, %t, {at}; mad.wide.u32 %x, %t, 4, %g;")
        self.put(f"red.global.{op}.{kind} [%x], {value};")

    def write_atom(self, register: str, index: str, value: str) -> None:
        self.own_shared(index)
        self.put(f"atom.shared.add.u32 {register}, [%x], {value};")

    def write_ballot(self, register: str, condition: str, value: str) -> None:
        self.put(f"activemask.b32 %m; vote.sync.ballot.b32 {register}, {condition}, %m;")

    def write_all(self, register: str, condition: str, value: str) -> None:
        self.put(f"activemask.b32 %m; vote.sync.all.pred %c, {condition}, %m; selp.u32 {register}, 5, 9, %c;")

    def write_first(self, register: str, condition: str, value: str) -> None:
        self.put(
            "activemask.b32 %m; brev.b32 %t, %m; clz.b32 %t, %t;", f"shfl.sync.idx.b32 {register}, {value}, %t, 31, %m;"
        )

    def write_match(self, register: str, condition: str, value: str) -> None:
        self.put(f"and.b32 %t, {value}, 3; activemask.b32 %m; match.any.sync.b32 {register}, %t, %m;")

    def write_redux(self, register: str, condition: str, value: str) -> None:
        self.put(f"activemask.b32 %m; redux.sync.add.u32 {register}, {value}, %m;")

    def call(self, name: str, result: str, *arguments: str) -> None:
        self.put("{ .param .u32 px; .param .u64 py; .param .f32 pz; .param .u32 pr;")
        for param, kind, argument in zip("xyz", ("u32", "u64", "f32"), arguments, strict=True):
            self.put(f"st.param.{kind} [p{param}], {argument};")
        proto = ", P" if name == "%x" else ""
        if proto:
            self.put("P: .callprototype (.param .u32 _) _ (.param .u32 _, .param .u64 _, .param .f32 _);")
        self.put(f"call (pr), {name}, (px, py, pz){proto}; ld.param.u32 {result}, [pr]; }}")

    def write_call(self, how: str, name: str, result: str, a: str, b: str, c: str, selector: str) -> None:
        if how == "direct":
            self.call(name, result, a, b, c)
            return
        count = self.callable_count(name)
        self.put(f"rem.u32 %t, {selector}, {count}; mov.u64 %y, table{self.program.seed}; mad.wide.u32 %x, %t, 8, %y;")
        self.put("ld.global.u64 %x, [%x];")
        self.call("%x", result, a, b, c)

    def callable_count(self, name: str) -> int:
        """Pointers go to the functions up to this one, so that functions do not call each other for ever."""
        return [f.name for f in self.program.functions].index(name) + 1

    def write_return(self, condition: str) -> None:
        if self.kernel:
            self.put(f"@{condition} ret;")
            return
        go = self.label()
        self.put(f"@!{condition} bra {go}; st.param.u32 [r], %a1; ret; {go}:")

    def write_exchange(self, register: str, index: str, step: int) -> None:
        self.put("bar.sync 0;")
        self.put(
            f"add.u32 %t, %linear, {step}; rem.u32 %t, %t, %total; and.b32 %u, {index}, 3; mad.lo.u32 %t, %t, 4, %u;"
        )
        self.put(
            f"mul.wide.u32 %x, %t, 4; mov.u64 %y, s; add.u64 %x, %x, %y; ld.shared.u32 {register}, [%x]; bar.sync 0;"
        )


def bits32(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def bits64(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def record_size() -> int:
    return 8 * sum(KINDS.values()) + LOCAL


# --- the interpreter -------------------------------------------------------------------------------------------------


@dataclass
class Frame:
    """A warp's registers and local memory in a function."""

    lanes: int
    registers: dict[str, Lanes] = field(default_factory=dict)
    local: list[bytearray] = field(default_factory=list)
    result: Lanes = field(default_factory=list)
    ended: set[int] = field(default_factory=set)  # lanes that have left the kernel early

    def __post_init__(self) -> None:
        for kind, count in KINDS.items():
            for index in range(count):
                value: Any = index * 3 + 1
                if kind == "pred":
                    value = index % 2 != 0
                elif kind[0] == "f":
                    value = F32(index + 0.5) if kind == "f32" else F64(index - 1.5)
                self.registers[f"%{PREFIX[kind]}{index}"] = [value] * self.lanes
        self.local = [bytearray(LOCAL) for _ in range(self.lanes)]
        self.result = [0] * self.lanes


class Block:
    """One block of threads: its warps, its shared memory, the cells of global memory."""

    def __init__(self, program: Program, number: int, threads: int, cells: list[int]) -> None:
        self.program, self.number, self.threads, self.cells = program, number, threads, cells
        self.functions = {f.name: f for f in program.functions}
        self.shared = [[0] * 4 for _ in range(threads)]

    def run(self) -> list[Frame]:
        """All warps, one top-level statement after the other (barriers are there)."""
        frames: list[Frame] = []
        masks: list[set[int]] = []
        for first in range(0, self.threads, 32):
            frame = Frame(min(32, self.threads - first))
            ids = range(first, first + frame.lanes)
            r = frame.registers
            r["%a0"], r["%a3"] = list(ids), [i * 7 for i in ids]
            r["%a4"], r["%a5"] = [self.number] * frame.lanes, [self.threads] * frame.lanes
            r["%q0"] = [i * 0x9E3779B97F4A7C15 & M64 for i in ids]
            r["%f0"] = [F32(i) for i in ids]
            frames.append(frame)
            masks.append(set(range(frame.lanes)))
        with np.errstate(all="ignore"):
            for statement in self.program.kernel.statements:
                for index, frame in enumerate(frames):
                    out = self.one(statement, frame, masks[index], 32 * index, True)
                    masks[index] -= out[2]
                    frame.ended |= out[2]
        return frames

    def block(
        self, statements: list[Statement], f: Frame, mask: set[int], base: int, kernel: bool
    ) -> tuple[set[int], set[int], set[int]]:
        """Lanes that broke out, continued, returned; the others are at the block's end."""
        out: tuple[set[int], set[int], set[int]] = (set(), set(), set())
        mask = set(mask)
        for statement in statements:
            if not mask:
                break
            for mine, more in zip(out, self.one(statement, f, mask, base, kernel), strict=True):
                mine |= more
                mask -= more
        return out

    def one(
        self, s: Statement, f: Frame, mask: set[int], base: int, kernel: bool
    ) -> tuple[set[int], set[int], set[int]]:
        r, args = f.registers, s.args
        none: tuple[set[int], set[int], set[int]] = (set(), set(), set())
        lanes = sorted(mask)
        if not lanes:
            return none
        if s.what in ("break", "continue", "return"):
            some = {i for i in lanes if r[args[0]][i]}
            if s.what == "return":
                for i in some:
                    f.result[i] = r["%a1"][i]
            return tuple(some if s.what == what else set() for what in ("break", "continue", "return"))  # type: ignore
        if s.what == "if":
            yes = {i for i in lanes if r[args[0]][i]}
            first = self.block(s.parts[0], f, yes, base, kernel)
            second = self.block(s.parts[1], f, mask - yes, base, kernel)
            return tuple(a | b for a, b in zip(first, second, strict=True))  # type: ignore
        if s.what == "switch":
            out = none
            chosen = {i: r[args[0]][i] % len(s.parts) for i in lanes}
            for index, case in enumerate(s.parts):
                some = {i for i in lanes if chosen[i] == index}
                more = self.block(case, f, some, base, kernel)
                out = tuple(a | b for a, b in zip(out, more, strict=True))  # type: ignore
            return out
        if s.what == "loop":
            left = {i: r[args[0]][i] & args[1] for i in lanes}
            gone: set[int] = set()
            turn = {i for i in lanes if left[i]}
            while turn:
                broke, _, returned = self.block(s.parts[0], f, turn, base, kernel)
                gone |= returned
                turn -= broke | returned
                for i in turn:
                    left[i] -= 1
                turn = {i for i in turn if left[i]}
            return set(), set(), gone
        if s.what == "call":
            self.call(s, f, lanes, base)
            return none
        self.simple(s, f, lanes, base)
        return none

    def call(self, s: Statement, f: Frame, lanes: list[int], base: int) -> None:
        how, name, result, a, b, c, selector = s.args
        r = f.registers
        names = [g.name for g in self.program.functions]
        count = names.index(name) + 1
        groups: dict[str, list[int]] = {}
        for i in lanes:
            groups.setdefault(name if how == "direct" else names[r[selector][i] % count], []).append(i)
        values = {}
        for target, group in groups.items():
            values.update(self.enter(self.functions[target], f.lanes, group, r[a], r[b], r[c], base))
        for i in lanes:
            r[result][i] = values[i]

    def enter(
        self, body: Body, width: int, lanes: list[int], a: Lanes, b: Lanes, c: Lanes, base: int
    ) -> dict[int, int]:
        frame = Frame(width)
        for i in lanes:
            frame.registers["%a0"][i] = a[i]
            frame.registers["%q0"][i] = b[i]
            frame.registers["%f0"][i] = c[i]
        if body.recursive:
            deeper = [i for i in lanes if a[i] & 3]
            if deeper:
                less = [0] * width
                for i in deeper:
                    less[i] = (a[i] & 3) - 1
                for i, value in self.enter(body, width, deeper, less, b, c, base).items():
                    frame.registers["%a1"][i] = value
        _, _, returned = self.block(body.statements, frame, set(lanes), base, False)
        return {i: frame.result[i] if i in returned else frame.registers["%a1"][i] for i in lanes}

    def simple(self, s: Statement, f: Frame, lanes: list[int], base: int) -> None:
        r, args = f.registers, s.args
        if s.what == "op":
            op, target, sources, guard = args
            model = OPERATIONS[op][3]
            on = [i for i in lanes if guard is None or bool(r[guard[0]][i]) != guard[1]]
            new = {i: model(*(r[name][i] for name in sources)) for i in on}
            for i, value in new.items():
                r[target][i] = value
        elif s.what in ("load", "store"):
            width, register, index = args
            for i in lanes:
                at = (r[index][i] & LOCAL // width - 1) * width
                if s.what == "store":
                    f.local[i][at : at + width] = (r[register][i] & (1 << 8 * width) - 1).to_bytes(width, "little")
                else:
                    r[register][i] = int.from_bytes(f.local[i][at : at + width], "little")
        elif s.what == "shared load":
            for i in lanes:
                r[args[0]][i] = self.shared[base + i][r[args[1]][i] & 3]
        elif s.what == "shared store":
            for i in lanes:
                self.shared[base + i][r[args[1]][i] & 3] = r[args[0]][i]
        elif s.what == "atom":
            for i in lanes:
                cell, value = self.shared[base + i], r[args[2]][i]
                at = r[args[1]][i] & 3
                cell[at], r[args[0]][i] = cell[at] + value & M32, cell[at]
        elif s.what == "red":
            index, value, op = args
            for i in lanes:
                at = (r[index][i] & CELLS - 1) + {"add": 0, "xor": 1, "max": 2}[op] * CELLS
                old, new = self.cells[at], r[value][i]
                self.cells[at] = {"add": old + new & M32, "xor": old ^ new, "max": max(old, new)}[op]
        elif s.what == "exchange":
            register, index, step = args
            for i in lanes:
                r[register][i] = self.shared[(base + i + step) % self.threads][r[index][i] & 3]
        else:
            self.together(s, f, lanes)

    def together(self, s: Statement, f: Frame, lanes: list[int]) -> None:
        """What the active lanes do as one."""
        r = f.registers
        register, condition, value = s.args
        if s.what == "ballot":
            new = dict.fromkeys(lanes, sum(1 << i for i in lanes if r[condition][i]))
        elif s.what == "all":
            new = dict.fromkeys(lanes, 5 if all(r[condition][i] for i in lanes) else 9)
        elif s.what == "first":
            new = dict.fromkeys(lanes, r[value][lanes[0]])
        elif s.what == "redux":
            new = dict.fromkeys(lanes, sum(r[value][i] for i in lanes) & M32)
        else:
            new = {i: sum(1 << j for j in lanes if r[value][j] & 3 == r[value][i] & 3) for i in lanes}
        for i, word in new.items():
            r[register][i] = word


def expected(program: Program, blocks: int, threads: int) -> tuple[list[Frame], list[int]]:
    """The frames of all warps, and the cells."""
    cells = [0] * (3 * CELLS)
    frames: list[Frame] = []
    for number in range(blocks):
        frames += Block(program, number, threads, cells).run()
    return frames, cells
