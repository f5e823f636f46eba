"""Taichi's PTX on the emulated GPU: kernels of its language's kinds, by its own LLVM; and that of its descendants.

Its tests are not in its package.  The kernels here are our own; each test holds a result against numpy's.
"""

import importlib
import math
import os
import unittest

import numpy as np

ti = importlib.import_module(os.environ["TAICHI"])

N = 1000


def setUpModule():
    """One context for all."""
    ti.init(arch=ti.cuda, offline_cache=False, random_seed=7, log_level=ti.ERROR)


class Kernels(unittest.TestCase):
    """Each compares with numpy."""

    def test_device(self):
        self.assertEqual(ti.lang.impl.current_cfg().arch, ti.cuda)

    def test_functions(self):
        x, y = ti.field(ti.f32, N), ti.field(ti.f64, N)

        @ti.kernel
        def fill():
            for i in x:
                v = (i + 1) * 0.01
                x[i] = ti.sin(v) + ti.exp(-v) + ti.sqrt(v) + ti.tanh(v) + ti.log(v) + ti.pow(v, 1.5)
                y[i] = ti.cast(ti.atan2(ti.cast(i, ti.f64), 3.0), ti.f64) + ti.acos(ti.cast(0.5, ti.f64))

        fill()
        v = (np.arange(N) + 1) * 0.01
        want = np.sin(v) + np.exp(-v) + np.sqrt(v) + np.tanh(v) + np.log(v) + v**1.5
        np.testing.assert_allclose(x.to_numpy(), want, rtol=1e-4)
        np.testing.assert_allclose(y.to_numpy(), np.arctan2(np.arange(N), 3.0) + math.acos(0.5), rtol=1e-12)

    def test_reductions(self):
        x, low, high = ti.field(ti.i32, N), ti.field(ti.i32, ()), ti.field(ti.i32, ())

        @ti.kernel
        def total() -> ti.i64:
            found = ti.cast(0, ti.i64)
            for i in x:
                found += x[i]
                ti.atomic_min(low[None], x[i])
                ti.atomic_max(high[None], x[i])
            return found

        data = np.random.default_rng(1).integers(-5000, 5000, N, dtype=np.int32)
        x.from_numpy(data)
        self.assertEqual(total(), data.sum())
        self.assertEqual((low[None], high[None]), (data.min(), data.max()))

    def test_histogram(self):
        bins = ti.field(ti.i32, 16)

        @ti.kernel
        def count(data: ti.types.ndarray(dtype=ti.i32, ndim=1)):
            for i in data:
                bins[data[i] % 16] += 1

        data = np.random.default_rng(2).integers(0, 1 << 20, N, dtype=np.int32)
        count(data)
        np.testing.assert_array_equal(bins.to_numpy(), np.bincount(data % 16, minlength=16))

    def test_matrices(self):
        a, b = ti.Matrix.field(3, 3, ti.f32, N), ti.Vector.field(3, ti.f32, N)

        @ti.kernel
        def solve():
            for i in b:
                m = ti.Matrix([[2.0, 1.0, 0.0], [0.0, 3.0, i * 0.1], [1.0, 0.0, 4.0]])
                a[i] = m.inverse() @ m
                b[i] = m @ ti.Vector([1.0, 2.0, 3.0])

        solve()
        np.testing.assert_allclose(a.to_numpy(), np.broadcast_to(np.eye(3), (N, 3, 3)), atol=1e-5)
        want = np.stack([np.full(N, 4.0), 6 + np.arange(N) * 0.3, np.full(N, 13.0)], axis=1)
        np.testing.assert_allclose(b.to_numpy(), want, rtol=1e-5)

    def test_shared_memory(self):
        x, sums = ti.field(ti.f32, N), ti.field(ti.f32, 8)
        x.from_numpy(np.arange(N, dtype=np.float32))

        @ti.kernel
        def blocks():
            ti.loop_config(block_dim=128)
            for i in range(1024):
                room = ti.simt.block.SharedArray((128,), ti.f32)
                t = i % 128
                room[t] = x[i] if i < N else 0.0
                ti.simt.block.sync()
                step = 64
                while step > 0:
                    if t < step:
                        room[t] += room[t + step]
                    ti.simt.block.sync()
                    step //= 2
                if t == 0:
                    sums[i // 128] = room[0]

        blocks()
        padded = np.zeros(1024, np.float32)
        padded[:N] = np.arange(N)
        np.testing.assert_allclose(sums.to_numpy(), padded.reshape(8, 128).sum(axis=1))

    def test_warp(self):
        x = ti.field(ti.i32, 64)

        @ti.kernel
        def shuffle():
            ti.loop_config(block_dim=32)
            for i in range(64):
                x[i] = ti.simt.warp.shfl_down_i32(ti.u32(0xFFFFFFFF), i, 1)

        shuffle()
        want = np.arange(64) + 1
        want[31], want[63] = 31, 63
        np.testing.assert_array_equal(x.to_numpy(), want)

    def test_random(self):
        x = ti.field(ti.f32, 20000)

        @ti.kernel
        def throw() -> ti.i32:
            inside = 0
            for i in x:
                u, v = ti.random(), ti.random()
                x[i] = u
                if u * u + v * v < 1:
                    inside += 1
            return inside

        self.assertAlmostEqual(throw() / 20000, math.pi / 4, delta=0.02)
        found = x.to_numpy()
        self.assertTrue((found >= 0).all() and (found < 1).all() and len(np.unique(found)) > 19000)

    def test_fluid(self):
        a, b = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (64, 64))

        @ti.kernel
        def step(x: ti.template(), y: ti.template()):
            for i, j in x:
                if 0 < i < 63 and 0 < j < 63:
                    y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

        start = np.random.default_rng(3).random((64, 64), dtype=np.float32)
        a.from_numpy(start)
        b.from_numpy(start)
        want = start.copy()
        for _ in range(10):
            step(a, b)
            a, b = b, a
            inner = 0.25 * (want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:])
            want = want.copy()
            want[1:-1, 1:-1] = inner
        np.testing.assert_allclose(a.to_numpy(), want, rtol=1e-5)

    def test_gradient(self):
        x, loss = ti.field(ti.f32, 16, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

        @ti.kernel
        def square():
            for i in x:
                loss[None] += x[i] ** 2

        x.from_numpy(np.arange(16, dtype=np.float32))
        with ti.ad.Tape(loss):
            square()
        np.testing.assert_allclose(x.grad.to_numpy(), 2.0 * np.arange(16))

    def test_sparse(self):
        """Each cell is activated by the first thread that comes: lanes of a warp wait for each other's lock."""
        x, count = ti.field(ti.i32), ti.field(ti.i32, ())
        blocks = ti.root.pointer(ti.i, 64)
        blocks.dense(ti.i, 16).place(x)

        @ti.kernel
        def fill():
            for i in range(N):
                if i % 48 < 20:
                    x[i] = i

        @ti.kernel
        def total() -> ti.i32:
            found = 0
            for i in x:
                found += x[i]
                count[None] += 1
            return found

        fill()
        active = {i // 16 for i in range(N) if i % 48 < 20}
        self.assertEqual(total(), sum(i for i in range(N) if i % 48 < 20))
        self.assertEqual(count[None], 16 * len(active))

    def test_dynamic(self):
        x = ti.field(ti.i32)
        some = ti.root.dynamic(ti.i, 4096, chunk_size=32)
        some.place(x)

        @ti.kernel
        def fill():
            for i in range(N):
                ti.append(x.parent(), [], i)

        @ti.kernel
        def length() -> ti.i32:
            return ti.length(x.parent(), [])

        fill()
        self.assertEqual(length(), N)
        self.assertEqual(sorted(x[i] for i in range(N)), list(range(N)))


if __name__ == "__main__":
    unittest.main()
