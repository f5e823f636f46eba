"""Dr.Jit's PTX on the emulated GPU, which it writes itself, without LLVM: kernels of its language's kinds.

The kernels here are our own; each test holds a result against numpy's.
"""

import unittest

import drjit as dr
import numpy as np
from drjit.auto.ad import Float as Traced
from drjit.cuda import Array3f, Bool, Float, Float64, Int, Int64, Matrix3f, TensorXf, Texture2f, UInt, UInt64

N = 1000


class Kernels(unittest.TestCase):
    """Each compares with numpy."""

    def test_functions(self):
        x = (dr.arange(Float, N) + 1) * 0.01
        found = dr.sin(x) + dr.exp(-x) + dr.sqrt(x) + dr.tanh(x) + dr.log(x) + dr.rsqrt(x)
        v = ((np.arange(N, dtype=np.float32) + 1) * np.float32(0.01)).astype(np.float64)
        want = np.sin(v) + np.exp(-v) + np.sqrt(v) + np.tanh(v) + np.log(v) + 1 / np.sqrt(v)
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-4)

    def test_doubles(self):
        x = dr.linspace(Float64, -3, 3, N)
        v = np.linspace(-3, 3, N)
        found = dr.fma(x, x, dr.atan2(x, Float64(2))) / (1 + x * x)
        np.testing.assert_allclose(found.numpy(), (v * v + np.arctan2(v, 2)) / (1 + v * v), rtol=1e-12)

    def test_integers(self):
        x = dr.arange(UInt, N) * 2654435761
        v = (np.arange(N, dtype=np.uint64) * 2654435761).astype(np.uint32)
        np.testing.assert_array_equal(dr.popcnt(x).numpy(), [bin(int(w)).count("1") for w in v])
        np.testing.assert_array_equal(dr.lzcnt(x).numpy(), [32 - int(w).bit_length() for w in v])
        np.testing.assert_array_equal((x // 7).numpy(), v // 7)
        np.testing.assert_array_equal(((x >> 3) ^ (x << 5)).numpy(), (v >> 3) ^ (v << np.uint32(5)))
        np.testing.assert_array_equal(dr.mul_hi(x, UInt(123456789)).numpy(), (v.astype(np.uint64) * 123456789) >> 32)
        np.testing.assert_array_equal((Int(x) % 13).numpy(), np.fmod(v.astype(np.int32), 13))

    def test_reductions(self):
        data = np.random.default_rng(1).standard_normal(100_000).astype(np.float32)
        x = Float(data)
        self.assertAlmostEqual(dr.sum(x)[0], float(data.sum(dtype=np.float64)), delta=0.05)
        self.assertEqual((dr.min(x)[0], dr.max(x)[0]), (float(data.min()), float(data.max())))
        self.assertEqual(dr.count(x > 1)[0], int((data > 1).sum()))
        self.assertTrue(dr.any(x > 3) and not dr.all(x > 3))
        self.assertEqual(dr.prod(UInt64(1, 2, 3, 4, 5))[0], 120)

    def test_prefix_sums(self):
        data = np.random.default_rng(2).integers(0, 9, 5000, dtype=np.uint32)
        found = dr.cumsum(UInt(data))
        np.testing.assert_array_equal(found.numpy(), data.cumsum())

    def test_gathers_and_scatters(self):
        order = np.random.default_rng(3).permutation(N).astype(np.uint32)
        x, out = dr.arange(Float, N), dr.zeros(Float, N)
        dr.scatter(out, dr.gather(Float, x, UInt(order)) * 2, UInt(order[::-1].copy()))
        want = np.zeros(N, np.float32)
        want[order[::-1]] = order * np.float32(2)
        np.testing.assert_array_equal(out.numpy(), want)
        bins = dr.zeros(UInt, 10)
        dr.scatter_reduce(dr.ReduceOp.Add, bins, 1, UInt(order) % 10)
        np.testing.assert_array_equal(bins.numpy(), [100] * 10)

    def test_compress(self):
        data = np.random.default_rng(4).integers(0, 2, 3000).astype(bool)
        np.testing.assert_array_equal(dr.compress(Bool(data)).numpy(), np.flatnonzero(data))

    def test_loops(self):
        """Steps of the Collatz sequence: a loop whose turns depend on the lane."""
        n, steps = dr.arange(UInt, N) + 1, dr.zeros(UInt, N)
        n, steps = dr.while_loop(
            (n, steps), lambda n, steps: n != 1, lambda n, steps: (dr.select(n & 1 == 0, n >> 1, 3 * n + 1), steps + 1)
        )

        def collatz(n):
            count = 0
            while n != 1:
                n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
            return count

        np.testing.assert_array_equal(steps.numpy(), [collatz(n) for n in range(1, N + 1)])

    def test_branches(self):
        x = dr.arange(Int, N)
        found = dr.if_stmt((x,), x % 3 == 0, lambda x: x * x, lambda x: -x)
        v = np.arange(N)
        np.testing.assert_array_equal(found.numpy(), np.where(v % 3 == 0, v * v, -v))

    def test_calls(self):
        """Functions that are chosen by an index: indirect calls in PTX."""
        x = dr.arange(Float, N)
        kind = dr.arange(UInt, N) % 3
        found = dr.switch(kind, [lambda x: x + 1, lambda x: x * x, lambda x: dr.sqrt(x)], x)
        v = np.arange(N, dtype=np.float32)
        want = np.choose(np.arange(N) % 3, [v + 1, v * v, np.sqrt(v)])
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-6)

    def test_vectors_and_matrices(self):
        m = Matrix3f([[1, 2, 3], [0, 1, 4], [5, 6, 0]])
        x = Array3f(dr.arange(Float, 5), 1, 2)
        found = np.array((dr.rcp(m) @ (m @ x)).numpy())
        np.testing.assert_allclose(found, np.array([range(5), [1] * 5, [2] * 5]), atol=1e-4)
        self.assertAlmostEqual(dr.norm(Array3f(2, 3, 6))[0], 7, delta=1e-5)

    def test_gradients(self):
        x = dr.arange(Traced, 10)
        dr.enable_grad(x)
        dr.backward(dr.sum(x * dr.sin(x)))
        v = np.arange(10)
        np.testing.assert_allclose(dr.grad(x).numpy(), np.sin(v) + v * np.cos(v), rtol=1e-4, atol=1e-5)

    def test_textures(self):
        data = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
        texture = Texture2f(TensorXf(data), use_accel=True)
        at = dr.cuda.Array2f(Float(0.5, 0.25), Float(0.5, 0.5))
        np.testing.assert_allclose(texture.eval(at)[0].numpy(), [5.5, 4.5], atol=1e-2)

    def test_long_integers(self):
        x = dr.arange(Int64, N) - 500
        v = np.arange(N) - 500
        np.testing.assert_array_equal((x * x * x // 11).numpy(), np.trunc(v * v * v / 11))
