"""Triton's PTX on the emulated GPU: kernels of its language's kinds, by its own compiler as far as PTX, without ptxas.

Its own tests need torch.  The kernels here are our own; each test holds a result against numpy's.
"""

import ctypes
import unittest

import numpy
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

ARCH = 80
SCRATCH = 2
"""Pointers after the arguments: global and profile scratch, which these kernels do not use."""


def without_machine_code(self, stages, options, *rest, old=CUDABackend.add_stages):
    """The stages up to PTX: the text itself stands where machine code would."""
    old(self, stages, options, *rest)
    stages["cubin"] = lambda source, metadata: source.encode()


CUDABackend.add_stages = without_machine_code
CUDABackend.hash = lambda self: f"ptx-{self.target.arch}"


class Device:
    """The driver by ctypes: one context."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)

    def __call__(self, name, *arguments):
        """One call; anything but success is an error."""
        result = getattr(self.driver, name)(*arguments)
        if result:
            raise RuntimeError(f"{name}: {result}")

    def run(self, kernel, grid, arguments):
        """Launch; arrays among the arguments are copied in, and back again."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), kernel.asm["ptx"].encode())
        self("cuModuleGetFunction", ctypes.byref(function), module, kernel.metadata.name.encode())
        if kernel.metadata.shared > 48 << 10:
            self("cuFuncSetAttribute", function, 8, kernel.metadata.shared)
        words, arrays = [], []
        for argument in arguments:
            if isinstance(argument, numpy.ndarray):
                address = ctypes.c_uint64()
                self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(argument.nbytes))
                place = argument.ctypes.data_as(ctypes.c_void_p)
                self("cuMemcpyHtoD_v2", address, place, ctypes.c_size_t(argument.nbytes))
                arrays.append((address, place, argument.nbytes))
                words.append(address)
            else:
                words.append(ctypes.c_int32(argument))
        words += [ctypes.c_uint64(0)] * SCRATCH
        pointers = (ctypes.c_void_p * len(words))(*[ctypes.addressof(word) for word in words])
        threads = 32 * kernel.metadata.num_warps
        self("cuLaunchKernel", function, *grid, threads, 1, 1, kernel.metadata.shared, None, pointers, None)
        self("cuCtxSynchronize")
        for address, place, size in arrays:
            self("cuMemcpyDtoH_v2", place, address, ctypes.c_size_t(size))
            self("cuMemFree_v2", address)
        self("cuModuleUnload", module)


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    """A masked sum."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """A row a program."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + i, power / tl.sum(power, axis=0), mask=i < columns)


@triton.jit
def layer_norm(x, out, columns, BLOCK: tl.constexpr):
    """Mean and variance of a row."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    value = tl.load(x + row * columns + i, mask=inside, other=0.0)
    off = tl.where(inside, value - tl.sum(value, axis=0) / columns, 0.0)
    tl.store(out + row * columns + i, off / tl.sqrt(tl.sum(off * off, axis=0) / columns + 1e-5), mask=inside)


@triton.jit
def prefix_sum(x, out, BLOCK: tl.constexpr):
    """An inclusive scan of one block."""
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    """One block, ascending."""
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    """Atomic additions."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@triton.jit
def transpose(x, out, N: tl.constexpr):
    """A tile through shared memory."""
    i = tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + i[None, :])
    tl.store(out + i[:, None] * N + i[None, :], tl.trans(tile))


@triton.jit
def random_numbers(out, seed, BLOCK: tl.constexpr):
    """Philox."""
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.rand(seed, i))


@triton.jit
def matmul(a, b, c, m, n, k, PRECISION: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    """A tile of c a program, the inner loop pipelined by Triton."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, DEPTH)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for first in range(0, k, DEPTH):
        at = first + inner
        left = tl.load(a + rows[:, None] * k + at[None, :], mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(
            b + at[:, None] * n + columns[None, :], mask=(at[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        total = tl.dot(left, right, total, input_precision=PRECISION)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=inside)


class Kernels(unittest.TestCase):
    """Each kernel against numpy."""

    @classmethod
    def setUpClass(cls):
        cls.device = Device()
        cls.random = numpy.random.default_rng(1)

    def start(self, function, signature, constants, grid, arguments, even=False, **options):
        """Compile for the architecture, launch.  even: arguments are multiples of 16."""
        names = function.arg_names
        attributes = {(i,): [["tt.divisibility", 16]] for i in range(len(arguments))} if even else None
        types = dict(zip(names, signature.split(), strict=False)) | dict.fromkeys(constants, "constexpr")
        source = ASTSource(
            function, types, {(names.index(name),): value for name, value in constants.items()}, attributes
        )
        kernel = triton.compile(source, target=GPUTarget("cuda", ARCH, 32), options=options)
        self.device.run(kernel, grid, arguments)
        return kernel.asm["ptx"]

    def floats(self, *shape, dtype="float32"):
        """Numbers of a fixed sequence."""
        return self.random.standard_normal(shape).astype(dtype)

    def product(self, dtype, word, precision, stages, tolerance, even=False):
        """One matrix product; the PTX."""
        m, n, k = (96, 80, 160) if even else (100, 72, 96)
        a, b = self.floats(m, k, dtype=dtype), self.floats(k, n, dtype=dtype)
        c = numpy.zeros((m, n), "float32")
        constants = {"PRECISION": precision, "BLOCK": 32, "DEPTH": 32}
        signature = f"*{word} *{word} *fp32 i32 i32 i32"
        grid = (-(-m // 32), -(-n // 32), 1)
        ptx = self.start(matmul, signature, constants, grid, [a, b, c, m, n, k], even=even, num_stages=stages)
        wanted = a.astype("float64") @ b.astype("float64")
        self.assertLess(float(abs(c - wanted).max()), tolerance)
        return ptx

    def test_vector_add(self):
        x, y = self.floats(10007), self.floats(10007)
        out = numpy.zeros_like(x)
        self.start(vector_add, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}, (10, 1, 1), [x, y, out, 10007])
        self.assertTrue((out == x + y).all())

    def test_vector_add_half(self):
        x, y = self.floats(10007, dtype="float16"), self.floats(10007, dtype="float16")
        out = numpy.zeros_like(x)
        self.start(vector_add, "*fp16 *fp16 *fp16 i32", {"BLOCK": 1024}, (10, 1, 1), [x, y, out, 10007])
        self.assertTrue((out == x + y).all())

    def test_softmax(self):
        x = self.floats(37, 781)
        out = numpy.zeros_like(x)
        self.start(softmax, "*fp32 *fp32 i32", {"BLOCK": 1024}, (37, 1, 1), [x, out, 781])
        power = numpy.exp(x - x.max(axis=1, keepdims=True))
        numpy.testing.assert_allclose(out, power / power.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)

    def test_layer_norm(self):
        x = self.floats(37, 781)
        out = numpy.zeros_like(x)
        self.start(layer_norm, "*fp32 *fp32 i32", {"BLOCK": 1024}, (37, 1, 1), [x, out, 781])
        wanted = (x - x.mean(axis=1, keepdims=True)) / numpy.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        numpy.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)

    def test_prefix_sum(self):
        x = self.random.integers(-99, 99, 2048, dtype="int32")
        out = numpy.zeros_like(x)
        self.start(prefix_sum, "*i32 *i32", {"BLOCK": 2048}, (1, 1, 1), [x, out])
        self.assertTrue((out == x.cumsum()).all())

    def test_sort(self):
        x = self.random.integers(-9999, 9999, 512, dtype="int32")
        out = numpy.zeros_like(x)
        self.start(sort, "*i32 *i32", {"BLOCK": 512}, (1, 1, 1), [x, out])
        self.assertTrue((out == numpy.sort(x)).all())

    def test_histogram(self):
        x = self.random.integers(0, 17, 10007, dtype="int32")
        out = numpy.zeros(17, "int32")
        self.start(histogram, "*i32 *i32 i32", {"BLOCK": 1024}, (10, 1, 1), [x, out, 10007])
        self.assertTrue((out == numpy.bincount(x, minlength=17)).all())

    def test_transpose(self):
        x = self.floats(64, 64)
        out = numpy.zeros_like(x)
        self.start(transpose, "*fp32 *fp32", {"N": 64}, (1, 1, 1), [x, out])
        self.assertTrue((out == x.T).all())

    def test_random_numbers(self):
        out = numpy.zeros(4096, "float32")
        self.start(random_numbers, "*fp32 i32", {"BLOCK": 4096}, (1, 1, 1), [out, 7])
        self.assertTrue(((out >= 0) & (out < 1)).all())
        self.assertGreater(len(set(out.tolist())), 4000)
        self.assertAlmostEqual(float(out.mean()), 0.5, delta=0.03)

    def test_matmul_single(self):
        self.product("float32", "fp32", "ieee", 1, 1e-4)

    def test_matmul_single_pipelined(self):
        self.assertIn("cp.async", self.product("float32", "fp32", "ieee", 3, 1e-4))

    def test_matmul_tf32(self):
        self.assertIn("mma.sync", self.product("float32", "fp32", "tf32", 1, 0.1))

    def test_matmul_half(self):
        self.assertIn("mma.sync", self.product("float16", "fp16", "ieee", 1, 1e-3))

    def test_matmul_half_pipelined(self):
        self.assertIn("cp.async", self.product("float16", "fp16", "ieee", 3, 1e-3, even=True))


if __name__ == "__main__":
    unittest.main()
