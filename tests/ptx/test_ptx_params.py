"""`.param` variables of functions: whatever widths caller and callee access them by, each lane has its own bytes.

Random functions take and return structures of 1 to 24 bytes; the model is Python's bytes of one lane at a time.
By hand, for long: `python tests/ptx/test_ptx_params.py FIRST LAST`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_MEMORY, CHECK_SYNC, LIBRARY, Device, ExecutorError

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
STACKS = ".visible .shared .align 8 .u64 __nvptx_stacks[32];\n"
"""What tells that kernels are GCC's OpenMP code: what is the same in all lanes is scalar then, calls too (form S)."""
M64 = (1 << 64) - 1
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 24)
SCALARS = {2: "b16", 4: "b32", 8: "b64"}
WORDS = 12  # results that a lane keeps
SHAPES = ((32, 1), (8, 9))
SEEDS = range(20)
Tile = tuple[int, int, int]
"""Offset, bytes of an element, elements."""


def tiles(rng: random.Random, size: int) -> list[Tile]:
    """Accesses that cover a variable once, in any order."""
    found, at = [], 0
    while at < size:
        fitting = [
            (width, count)
            for width in (1, 2, 4, 8)
            for count in (1, 2, 4)
            if width * count <= 16 and at % (width * count) == 0 and at + width * count <= size
        ]
        width, count = rng.choice(fitting)
        found.append((at, width, count))
        at += width * count
    rng.shuffle(found)
    return found


def access(opcode: str, variable: str, tile: Tile, registers: list[str], sign: str = "b") -> str:
    """One ld.param or st.param."""
    at, width, count = tile
    kind = f"{'' if count == 1 else f'.v{count}'}.{sign}{8 * width}"
    value = registers[0] if count == 1 else "{" + ", ".join(registers) + "}"
    place = f"[{variable}+{at}]"
    return f"{opcode}.param{kind} {f'{place}, {value}' if opcode == 'st' else f'{value}, {place}'};"


def spread(opcode: str, variable: str, some: list[Tile], stem: str, sign: str = "b") -> str:
    """Accesses one after the other, to registers numbered from 0."""
    text, number = [], 0
    for tile in some:
        text.append(access(opcode, variable, tile, [f"{stem}{number + i}" for i in range(tile[2])], sign))
        number += tile[2]
    return " ".join(text)


def elements(some: list[Tile]) -> list[tuple[int, int]]:
    """Offset and bytes of each element, in the order of the registers."""
    return [(at + i * width, width) for at, width, count in some for i in range(count)]


def declare(name: str, size: int, scalar: bool) -> str:
    if scalar and size in SCALARS:
        return f".param .{SCALARS[size]} {name}"
    return f".param .align {8 if size % 8 == 0 else 4} .b8 {name}[{size}]"


@dataclass
class Case:
    """A function and the kernel that calls it."""

    seed: int
    how: str = "direct"

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        self.how = rng.choice(("direct", "branch", "guard", "indirect", "recursive", "branch recursive"))
        self.size, self.back = rng.choice(SIZES), rng.choice(SIZES)
        self.scalar = rng.random() < 0.4
        self.sign = rng.choice("bsu")
        self.put, self.take = tiles(rng, self.size), tiles(rng, self.size)
        self.give, self.get = tiles(rng, self.back), tiles(rng, self.back)
        same = rng.random() < 0.3  # the same in all lanes
        self.factors = [0 if same or rng.random() < 0.2 else rng.getrandbits(63) | 1 for _ in elements(self.put)]
        self.terms = [rng.getrandbits(63) for _ in elements(self.put)]
        self.picks = [rng.randrange(len(elements(self.take))) for _ in elements(self.give)]

    def text(self) -> str:
        n, deep = self.seed, "recursive" in self.how
        p, q = declare("p", self.size, self.scalar), declare("q", self.size, self.scalar)
        r, s = declare("r", self.back, self.scalar), declare("s", self.back, self.scalar)
        result = " ".join(f"mad.lo.u64 %y{i}, %x{pick}, 3, {i};" for i, pick in enumerate(self.picks)) + spread(
            "st", "r", self.give, "%y"
        )
        again = f"""{{ {q}; .param .b32 m; {s};
        {spread("ld", "p", self.take, "%x")} {spread("st", "q", self.take, "%x")}
        sub.u16 %h, %h, 1; cvt.u32.u16 %k, %h; or.b32 %k, %k, 0xabcd0000; st.param.b32 [m], %k;
        call (s), f{n}, (q, m); {spread("ld", "s", self.give, "%y")} {spread("st", "r", self.give, "%y")} }} ret;"""
        call = f"call (s), f{n}, (q, m);"
        before = after = ""
        if self.how == "indirect":
            call = f"mov.u64 %f, f{n}; P: .callprototype ({s}) _ ({q}, .param .b32 m); call (s), %f, (q, m), P;"
        elif self.how == "guard":
            call = f"@%p {call}"
        if self.how.startswith("branch"):
            before, after = "@!%p bra OVER;", "OVER:"
        numbers = enumerate(zip(self.factors, self.terms, strict=True))
        make = " ".join(f"mad.lo.u64 %v{i}, %t, {a}, {b};" for i, (a, b) in numbers)
        keep = " ".join(f"st.global.u64 [%o+{8 * i}], %w{i};" for i in range(len(elements(self.get))))
        return f"""
.func ({r}) f{n} ({p}, .param .b32 k) {{
.reg .b64 %x<25>, %y<25>; .reg .b32 %k; .reg .b16 %h; .reg .pred %p;
ld.param.u16 %h, [k]; setp.eq.u16 %p, %h, 0; @%p bra BASE; {again if deep else ""}
BASE: {spread("ld", "p", self.take, "%x", self.sign)} {result} ret; }}
.visible .entry k{n} (.param .u64 out) {{
.reg .b64 %o, %t, %f, %v<25>, %w<25>; .reg .b32 %i, %j, %k; .reg .pred %p;
ld.param.u64 %o, [out]; mov.u32 %i, %tid.x; mov.u32 %j, %tid.y; mov.u32 %k, %ntid.x; mad.lo.u32 %i, %j, %k, %i;
mad.wide.u32 %o, %i, {8 * WORDS * 2}, %o; cvt.u64.u32 %t, %i; rem.u32 %k, %i, 3; setp.eq.u32 %p, %k, 1;
and.b32 %k, %i, 3; or.b32 %k, %k, 0x12340000; {"" if deep else "mov.b32 %k, 0xffff0000;"} {make} {before}
{{ {q}; .param .b32 m; {s}; {spread("st", "q", self.put, "%v")} st.param.b32 [m], %k;
{call} {spread("ld", "s", self.get, "%w")} }}
{keep} {after} ret; }}
"""

    def model(self, thread: int) -> list[int] | None:
        """What a thread keeps; None if it does not call."""
        if self.how in ("guard", "branch", "branch recursive") and thread % 3 != 1:
            return None
        data, out = bytearray(self.size), bytearray(self.back)
        for (at, width), a, b in zip(elements(self.put), self.factors, self.terms, strict=True):
            data[at : at + width] = ((thread * a + b) & (1 << 8 * width) - 1).to_bytes(width, "little")
        read = [
            int.from_bytes(data[at : at + width], "little", signed=self.sign == "s")
            for at, width in elements(self.take)
        ]
        for i, ((at, width), pick) in enumerate(zip(elements(self.give), self.picks, strict=True)):
            out[at : at + width] = ((read[pick] * 3 + i) & (1 << 8 * width) - 1).to_bytes(width, "little")
        return [int.from_bytes(out[at : at + width], "little") for at, width in elements(self.get)]


def compare(device: Device, cases: list[Case], head: str) -> list[str]:
    """Run the cases; what is wrong."""
    module, wrong = device.load(head + "".join(case.text() for case in cases)), []
    for case in cases:
        for shape in SHAPES:
            threads = shape[0] * shape[1]
            out = device.upload(bytes(16 * WORDS * threads))
            module.function(f"k{case.seed}").launch((1, 1, 1), (*shape, 1), [out])
            rows = np.frombuffer(device.download(out, 16 * WORDS * threads), dtype=np.uint64).reshape(threads, -1)
            for thread, row in enumerate(rows.tolist()):
                want = case.model(thread)
                if want is not None and row[: len(want)] != want:
                    where = f"seed {case.seed} ({case.how}) thread {thread} of {shape}"
                    wrong.append(f"{where}: {row[: len(want)]}, not {want}")
                    break
    return wrong


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def device(cache: None) -> Iterator[Device]:
    with Device(1 << 22) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "check", "seeds"),
    [(HEAD, 0, SEEDS[::2]), (HEAD + STACKS, 0, SEEDS[1::2]), (HEAD, CHECK_MEMORY | CHECK_SYNC, SEEDS[::9])],
    ids=["any", "openmp", "checked"],
)
def test_structures_by_value(cache: None, head: str, check: int, seeds: range) -> None:
    with Device(1 << 22, check) as made:
        assert compare(made, [Case(seed) for seed in seeds], head) == []


def run(device: Device, functions: str, body: str, head: str = HEAD) -> list[int]:
    """32 threads that leave %r each; %t is the thread's number."""
    text = f"""{head}{functions}
.visible .entry k (.param .u64 out) {{ .reg .u64 %o; .reg .b32 %t, %u, %r; .reg .b16 %a<9>; .reg .pred %p;
ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;
{body} st.global.u32 [%o], %r; ret; }}"""
    out = device.upload(bytes(128))
    device.load(text).function("k").launch((1, 1, 1), (32, 1, 1), [out])
    return np.frombuffer(device.download(out, 128), dtype=np.int32).tolist()


SHORT = """.func (.param .b32 r) f (.param .b32 p) {
.reg .b32 %r; .reg .b16 %a; ld.param.KIND %a, [p]; cvt.s32.s16 %r, %a; shl.b32 %r, %r, 1; st.param.b32 [r], %r; ret; }
"""


@pytest.mark.parametrize(("kind", "bits", "signed"), [("u16", 16, True), ("s8", 8, True), ("u8", 8, False)])
def test_a_word_that_is_read_as_a_short_or_a_char(device: Device, kind: str, bits: int, signed: bool) -> None:
    """A C function that takes a short has a parameter of a word (nvcc, clang); the caller has set all of the word."""
    call = "add.s32 %u, %t, -5; { .param .b32 q, s; st.param.b32 [q], %u; call (s), f, (q); ld.param.b32 %r, [s]; }"
    have = run(device, SHORT.replace("KIND", kind), call)
    values = [(t - 5) & (1 << bits) - 1 for t in range(32)]
    assert have == [2 * (v - (1 << bits) if signed and v >> bits - 1 else v) for v in values]


THREE = """.func (.param .align 1 .b8 r[3]) f (.param .b32 p) {
.reg .b16 %a<3>; ld.param.u8 %a0, [p]; st.param.b8 [r+0], %a0; add.s16 %a1, %a0, 1; st.param.b8 [r+1], %a1;
add.s16 %a2, %a0, 2; st.param.b8 [r+2], %a2; ret; }
"""
COMBINE = """cvt.u32.u16 %r, %a0; mul.lo.s32 %r, %r, 10000; cvt.u32.u16 %u, %a1; mad.lo.s32 %r, %u, 100, %r;
cvt.u32.u16 %u, %a2; add.s32 %r, %r, %u;"""


def test_a_structure_of_three_bytes_returned(device: Device) -> None:
    reads = " ".join(f"ld.param.b8 %a{i}, [s+{i}];" for i in range(3))
    call = f"{{ .param .b32 q; .param .align 1 .b8 s[3]; st.param.b32 [q], %t; call (s), f, (q); {reads} }} {COMBINE}"
    assert run(device, THREE, call) == [10000 * t + 100 * (t + 1) + t + 2 for t in range(32)]


def test_a_word_across_two_of_them(device: Device) -> None:
    """PTX leaves misaligned accesses open; here they are done."""
    function = """.func (.param .b32 r) f (.param .align 1 .b8 p[12]) {
    .reg .b32 %r; ld.param.u32 %r, [p+6]; st.param.b32 [r], %r; ret; }"""
    body = """{ .param .align 1 .b8 q[12]; .param .b32 s; .reg .b64 %d; cvt.u64.u32 %d, %t; mul.lo.u64 %d, %d, 0x10101;
    st.param.b64 [q+3], %d; st.param.b16 [q+1], %t; st.param.b8 [q+11], 7; call (s), f, (q); ld.param.b32 %r, [s]; }"""
    assert run(device, function, body) == [(t * 0x10101 >> 24) & 0xFFFFFFFF for t in range(32)]


AGREED = """.func (.param .align 4 .b8 r[12]) f (.param .b32 p) { .reg .b32 %a<4>; .reg .pred %p;
ld.param.b32 %a0, [p]; mov.u32 %a1, %laneid; MASK and.b32 %a1, %a1, %a2; add.u32 %a1, %a1, %a0;
st.param.b8 [r], 5; st.param.b32 [r+4], %a1; st.param.v2.b16 [r+8], {1, 2}; ret; }
"""
AGREED_CALL = """{ .param .b32 q; .param .align 4 .b8 s[12]; st.param.b32 [q], 40; call (s), f, (q);
ld.param.b32 %r, [s+4]; ld.param.u8 %a0, [s]; cvt.u32.u16 %u, %a0; add.u32 %r, %r, %u; }"""


def test_a_structure_that_might_differ_and_does_not(device: Device) -> None:
    """A function called with the same arguments by all lanes, in scalar code, returns one value."""
    same = AGREED.replace("MASK", "mov.b32 %a2, 0;")
    assert run(device, same, AGREED_CALL, HEAD + STACKS) == [45] * 32
    with pytest.raises(ExecutorError, match="returned values that differ"):
        run(device, AGREED.replace("MASK", "mov.b32 %a2, 1;"), AGREED_CALL, HEAD + STACKS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (".param .b64 q; .param .b32 s; call (s), f, (q)", "'f' takes 4 bytes, the call has 8 bytes"),
        (".param .b32 q, s; call (s), f, (q, q)", "'f' takes 4 bytes, the call has 4 and 4 bytes"),
        (".param .b32 q, s; call (s), f", "'f' takes 4 bytes, the call has nothing"),
        (".param .b32 q; .param .b64 s; call (s), f, (q)", "'f' returns 4 bytes, the call has 8 bytes"),
        (".param .b32 q; call g, (q)", "'g' returns 16 bytes, the call has nothing"),
    ],
)
def test_a_call_that_does_not_fit_its_function(device: Device, call: str, message: str) -> None:
    wide = ".func (.param .align 8 .b8 r[16]) g (.param .b32 p) { ret; }"
    with pytest.raises(ExecutorError, match=message):
        run(device, SHORT.replace("KIND", "u16") + wide, f"{{ {call}; }}")
    assert run(device, SHORT.replace("KIND", "u16"), "{ .param .b32 q; call f, (q); } mov.b32 %r, 1;") == [1] * 32


BY_ADDRESS = (
    HEAD
    + """
.visible .entry k (.param .u64 po, .param .align 8 .b8 s[24], .param .u32 last) {
.reg .u64 %o, %a, %b, %x; .reg .u32 %t, %r, %q; .reg .pred %p;
ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o; mov.b64 %a, s; mov.u64 %b, s+8;
BODY
st.u32 [%o], %r; ret; }
"""
)
"""A kernel that takes the address of a structure that it is passed, as clang writes it."""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("ld.param.u32 %r, [%a+4];", [2] * 32),
        ("ld.param.v2.u32 {%r, %q}, [%b]; add.u32 %r, %r, %q;", [7] * 32),
        ("rem.u32 %q, %t, 6; mad.wide.u32 %a, %q, 4, %a; ld.param.u32 %r, [%a];", [i % 6 + 1 for i in range(32)]),
        ("rem.u32 %q, %t, 12; mad.wide.u32 %b, %q, 2, %a; ld.param.u16 %r, [%b];",
         [(i % 12 // 2 + 1) * (i % 2 == 0) for i in range(32)]),
        ("setp.lt.u32 %p, %t, 4; mad.wide.u32 %a, %t, 4, %b; mov.u32 %r, 9; @%p ld.param.u32 %r, [%a];",
         [3, 4, 5, 6] + [9] * 28),
        ("ld.param.u32 %r, [%a+24];", [77] * 32),
    ],
    ids=["one", "vector", "each-lane", "halves", "some-lanes", "the-next"],
)  # fmt: skip
def test_addresses_of_a_kernels_parameters(device: Device, body: str, wanted: list[int]) -> None:
    """Structures passed by value: an element is chosen by a register."""
    data = np.array([1, 2, 3, 4, 5, 6, 77], dtype=np.uint32).tobytes()
    out = device.upload(bytes(128))
    kernel = device.load(BY_ADDRESS.replace("BODY", body)).function("k")
    kernel.launch((1, 1, 1), (32, 1, 1), out.to_bytes(8, "little") + data)
    assert np.frombuffer(device.download(out, 128), dtype=np.uint32).tolist() == wanted
    assert device.warnings == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("ld.param.u32 %r, [%a+28];", "0x24 .* thread .0,0,0."),
        ("ld.param.u32 %r, [%a+-12];", "0xfffffffffffffffc .* thread .0,0,0."),
        ("mad.wide.u32 %a, %t, 4, %a; ld.param.u32 %r, [%a];", "0x24 .* thread .7,0,0."),
    ],
    ids=["behind", "before", "one-lane"],
)
def test_no_load_beyond_the_parameters(device: Device, body: str, where: str) -> None:
    """It is an illegal address, as in other memory; the block has 36 bytes."""
    kernel = device.load(BY_ADDRESS.replace("BODY", body)).function("k")
    with pytest.raises(ExecutorError, match=f"illegal address {where}"):
        kernel.launch((1, 1, 1), (32, 1, 1), device.upload(bytes(128)).to_bytes(8, "little") + bytes(28))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BY_ADDRESS.replace("BODY", "cvta.param.u64 %a, %a;"), "generic addresses of parameters are not implemented"),
        (
            HEAD + ".func f (.param .b64 p) { .reg .b64 %a; mov.b64 %a, p; st.b64 [%a], %a; ret; }\n"
            ".visible .entry k () { .param .b64 a; st.param.b64 [a], 1; call f, (a); ret; }",
            "the address of a function's '.param' variable is not implemented",
        ),
    ],
    ids=["generic", "function"],
)
def test_addresses_that_are_not_there(device: Device, text: str, message: str) -> None:
    with pytest.raises(ExecutorError, match=message):
        device.load(text)


SCOPES = f"""{HEAD}.func (.param .u64 r) next (.param .u64 q) {{
.reg .u64 %q; ld.param.u64 %q, [q]; add.u64 %q, %q, 1; st.param.u64 [r], %q; ret; }}
.func (.param .u64 r) twice (.param .u64 n) {{
.reg .u64 %n, m; ld.param.u64 %n, [n]; st.param.u64 [r], %n; mov.u64 m, 2;
{{ .param .u64 n; .param .u64 r; st.param.u64 [n], %n; call (r), next, (n); ld.param.u64 %n, [r];
{{ .param .u64 n; .param .u64 m; st.param.u64 [m], %n; call (n), next, (m); ld.param.u64 %n, [n]; }} }}
mad.lo.u64 %n, %n, 100, m; {{ .reg .u64 %a, %b; ld.param.u64 %a, [n]; mad.lo.u64 %n, %a, 10000, %n; }}
st.param.u64 [r], %n; ret; }}
.visible .entry k (.param .u64 out, .param .u64 n) {{
.reg .u64 %a, %n, %m; ld.param.u64 %a, [out]; ld.param.u64 %n, [n];
{{ .param .u64 n; .param .u64 out; st.param.u64 [n], %n; call (out), twice, (n); ld.param.u64 %m, [out]; }}
st.global.u64 [%a], %m; ld.param.u64 %n, [n]; st.global.u64 [%a+8], %n; ret; }}
"""


def test_names_of_parameters_in_inner_scopes(device: Device) -> None:
    """A scope's variable may have the name of a parameter, a result or a register, which is another one."""
    out = device.upload(bytes(16))
    device.load(SCOPES).function("k").launch((1, 1, 1), (1, 1, 1), [out, 7])
    assert np.frombuffer(device.download(out, 16), dtype=np.uint64).tolist() == [70902, 7]


if __name__ == "__main__":
    first, last = int(sys.argv[1]), int(sys.argv[2])
    for start in range(first, last, 40):
        for check in (0, CHECK_MEMORY | CHECK_SYNC) if start % 200 == 0 else (0,):
            for preamble in (HEAD, HEAD + STACKS):
                with Device(1 << 22, check) as by_hand:
                    for line in compare(by_hand, [Case(seed) for seed in range(start, start + 40)], preamble):
                        print(line, flush=True)
        print(f"{start + 40} done", flush=True)
