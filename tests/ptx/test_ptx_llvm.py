"""PTX of LLVM's own compiler for NVPTX, run by the executor: it computes what LLVM's code for this CPU does.

Functions of LLVM IR are compiled twice by llvmlite: to PTX, as clang does for CUDA and OpenMP, and for the host.
What comes of an operation there (128-bit products, atomics on bytes by compare-and-swap, vectors of bytes by prmt)
nobody writes by hand.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import llvmlite.binding as llvm

from gompy.ptx.device import LIBRARY, Device, Module

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

LANES = 32
BYTES = {
    "i8": 1, "i16": 2, "i32": 4, "i64": 8, "i128": 16, "half": 2, "<2 x half>": 4, "float": 4, "double": 8,
    "<2 x i16>": 4, "<4 x i8>": 4,
}  # fmt: skip
SUFFIX = {
    "half": "f16",
    "<2 x half>": "v2f16",
    "float": "f32",
    "double": "f64",
    "<2 x i16>": "v2i16",
    "<4 x i8>": "v4i8",
}
FLOATS = {"half": np.float16, "<2 x half>": np.float16, "float": np.float32, "double": np.float64}
TARGETS = (("sm_75", "+ptx78"), ("sm_90", "+ptx80"))
TO_PTX = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
machine = target.create_target_machine(cpu=sys.argv[1], features=sys.argv[2], opt=2)
sys.stdout.write(machine.emit_assembly(llvm.parse_assembly(sys.stdin.read())))
"""


@dataclass
class Operation:
    """`body` makes %v of %x, %y, %z (of type `kind`); %a is %x's address."""

    kind: str
    body: str
    result: str
    declares: str = ""

    def function(self, name: str, head: str, index: str) -> str:
        """The IR of a function (x, y, z, out)."""
        text = f"define {head} @{name}(ptr %p, ptr %q, ptr %r, ptr %o{index}) {{\n"
        if not index:
            text += "%i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
        for pointer, address, value in (("p", "a", "x"), ("q", "b", "y"), ("r", "c", "z")):
            text += f"%{address} = getelementptr {self.kind}, ptr %{pointer}, i32 %i\n"
            text += f"%{value} = load {self.kind}, ptr %{address}\n"
        text += f"{self.body}\n%d = getelementptr {self.result}, ptr %o, i32 %i\n"
        return f"{text}store {self.result} %v, ptr %d\nret void\n}}\n"


def call(name: str, kind: str, count: int, extra: str = "") -> Operation:
    """An intrinsic on one to three operands."""
    full = f"@llvm.{name}.{SUFFIX.get(kind, kind)}"
    operands = ", ".join(f"{kind} %{v}" for v in "xyz"[:count]) + (", i1 false" if extra else "")
    declares = f"declare {kind} {full}(" + ", ".join([kind] * count) + (", i1" if extra else "") + ")"
    return Operation(kind, f"%v = call {kind} {full}({operands})", kind, declares)


def operations() -> Iterator[Operation]:
    integers = ("i8", "i16", "i32", "i64", "i128", "<2 x i16>", "<4 x i8>")
    for kind in integers:
        for name in ("add", "mul", "xor", "shl", "lshr", "ashr"):
            yield Operation(kind, f"%v = {name} {kind} %x, %y", kind)
        if kind != "i128":
            for name in ("udiv", "srem"):
                yield Operation(kind, f"%v = {name} {kind} %x, %y", kind)
        for name in ("smin", "umax", "uadd.sat", "ssub.sat"):
            yield call(name, kind, 2)
        for name in ("fshl", "fshr"):
            yield call(name, kind, 3)
        for name in ("bitreverse", "ctpop"):
            yield call(name, kind, 1)
        for name in ("abs", "ctlz", "cttz"):
            yield call(name, kind, 1, "i1")
    for kind in FLOATS:
        for name in ("fadd", "fsub", "fmul", "fdiv"):
            yield Operation(kind, f"%v = {name} {kind} %x, %y", kind)
        yield call("fma", kind, 3)
        for name in ("minnum", "maximum", "copysign"):
            yield call(name, kind, 2)
        for name in ("fabs", "floor", "trunc", "rint", "roundeven", "sqrt"):
            yield call(name, kind, 1)
        bits = "<2 x i1>" if kind[0] == "<" else "i1"
        for test in ("oeq", "une", "olt", "uge"):
            body = f"%k = fcmp {test} {kind} %x, %y\n%v = select {bits} %k, {kind} %x, {kind} %z"
            yield Operation(kind, body, kind)
    scalar = [k for k in FLOATS if k[0] != "<"]
    for kind in scalar:
        for whole in ("i8", "i16", "i32", "i64"):
            yield Operation(kind, f"%v = fptosi {kind} %x to {whole}", whole)
            yield Operation(whole, f"%v = uitofp {whole} %x to {kind}", kind)
    for kind, other in (("half", "float"), ("half", "double"), ("float", "double")):
        yield Operation(kind, f"%v = fpext {kind} %x to {other}", other)
        yield Operation(other, f"%v = fptrunc {other} %x to {kind}", kind)
    for kind in ("i8", "i16", "i32", "i64"):
        for name, order in (("add", "seq_cst"), ("umax", "acq_rel"), ("nand", "monotonic"), ("xchg", "release")):
            yield Operation(kind, f"%v = atomicrmw {name} ptr %a, {kind} %y {order}", kind)
        body = f"%w = cmpxchg ptr %a, {kind} %x, {kind} %z acq_rel acquire\n%v = extractvalue {{ {kind}, i1 }} %w, 0"
        yield Operation(kind, body, kind)
        body = f"store atomic {kind} %y, ptr %a release, align 8\nfence seq_cst\n"
        yield Operation(kind, body.replace("align 8", f"align {BYTES[kind]}")
                        + f"%v = load atomic {kind}, ptr %a acquire, align {BYTES[kind]}", kind)  # fmt: skip
    for kind in ("float", "double"):
        for name in ("fadd", "fmin", "fmax"):
            yield Operation(kind, f"%v = atomicrmw {name} ptr %a, {kind} %y monotonic", kind)


OPERATIONS = list(operations())


def data(operation: Operation, place: int) -> bytes:
    """Operands for which the operation is defined."""
    random = np.random.default_rng(place + 10 * len(operation.body))
    kind, body = operation.kind, operation.body
    size = BYTES[kind] * LANES
    if kind in FLOATS:
        count = size // np.dtype(FLOATS[kind]).itemsize
        numbers = random.standard_normal(count) * 40
        if "fpto" not in body:
            edges = [0, -0.0, np.inf, -np.inf, np.nan, 1, 6e-8, 6e4]
            numbers[:8] = np.roll(edges, 3 * place)
        return bytes(numbers.astype(FLOATS[kind]).tobytes())
    raw = np.frombuffer(random.bytes(size), dtype=np.uint8).copy()
    if place == 1:
        part = {"<2 x i16>": 2, "<4 x i8>": 1}.get(kind, BYTES[kind])
        parts = raw.reshape(-1, part)
        if re.search(r"= (shl|lshr|ashr) ", body):
            parts[:, 0] &= 8 * part - 1
            parts[:, 1:] = 0
        elif re.search(r"= (udiv|srem) ", body):
            parts[:, 0] |= 1
    return raw.tobytes()


def declarations() -> str:
    return "\n".join(sorted({o.declares for o in OPERATIONS if o.declares})) + "\n"


@pytest.fixture(scope="module")
def wanted() -> list[tuple[bytes, bytes]]:
    """Results, and what is left at %a, of each operation on the host."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for library in ("libgcc_s.so.1", "libm.so.6"):
        llvm.load_library_permanently(library)
    if not llvm.address_of_symbol("__truncsfhf2"):
        pytest.skip("the host's libgcc has no conversions of half")
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1, jit=True)
    text = declarations() + "".join(o.function(f"f{n}", "void", ", i32 %i") for n, o in enumerate(OPERATIONS))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    found = []
    for number, operation in enumerate(OPERATIONS):
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int)(
            engine.get_function_address(f"f{number}")
        )
        sources = [ctypes.create_string_buffer(data(operation, place), LANES * 16 + 64) for place in range(3)]
        out = ctypes.create_string_buffer(LANES * 16 + 64)
        for lane in range(LANES):
            function(*(ctypes.addressof(b) for b in (*sources, out)), lane)
        found.append((out.raw[: LANES * BYTES[operation.result]], sources[0].raw[: LANES * BYTES[operation.kind]]))
    engine.close()
    return found


@pytest.fixture(scope="module", params=TARGETS, ids=[t[0] for t in TARGETS])
def compiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Device, Module]]:
    head = 'target triple = "nvptx64-nvidia-cuda"\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n' + declarations()
    text = head + "".join(o.function(f"f{n}", "ptx_kernel void", "") for n, o in enumerate(OPERATIONS))
    made = subprocess.run([sys.executable, "-c", TO_PTX, *request.param], input=text, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"LLVM: {made.stderr.strip()[:200]}")
    with pytest.MonkeyPatch.context() as patch, Device(1 << 24) as device:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield device, device.load(made.stdout)


def same(have: bytes, want: bytes, kind: str) -> bool:
    if kind not in FLOATS:
        return have == want
    a, b = np.frombuffer(have, FLOATS[kind]), np.frombuffer(want, FLOATS[kind])
    nan = np.isnan(b)
    return bool((np.isnan(a) == nan).all() and a[~nan].tobytes() == b[~nan].tobytes())


@pytest.mark.slow
def test_operations(compiled: tuple[Device, Module], wanted: list[tuple[bytes, bytes]]) -> None:
    device, module = compiled
    bad = []
    for number, operation in enumerate(OPERATIONS):
        sources = [device.upload(data(operation, place)) for place in range(3)]
        size, result = LANES * BYTES[operation.kind], LANES * BYTES[operation.result]
        out = device.upload(bytes(result))
        module.function(f"f{number}").launch((1, 1, 1), (LANES, 1, 1), [*sources, out])
        values, left = wanted[number]
        if not same(device.download(out, result), values, operation.result) or not same(
            device.download(sources[0], size), left, operation.kind
        ):
            bad.append(f"{operation.kind}: {operation.body}")
    assert not bad
    assert len(OPERATIONS) > 200
