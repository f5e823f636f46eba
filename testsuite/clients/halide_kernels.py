"""Halide's PTX on the emulated GPU, by its own LLVM: pipelines of its language's kinds.

The pipelines here are our own; each test holds a result against numpy's.
"""

import unittest

import halide as hl
import numpy as np

x, y, xo, yo, xi, yi = (hl.Var(name) for name in ("x", "y", "xo", "yo", "xi", "yi"))
RANDOM = np.random.default_rng(1)


def target():
    """The host, with its GPU."""
    features = hl.TargetFeature.CUDA, hl.TargetFeature.CUDACapability80
    found = hl.get_host_target()
    for feature in features:
        found = found.with_feature(feature)
    return found


def realized(function, *size):
    """What a pipeline gives, as an array of rows."""
    buffer = function.realize(list(size), target())
    buffer.copy_to_host()
    return np.array(buffer)


class Kernels(unittest.TestCase):
    """Each compares with numpy."""

    def test_functions(self):
        f = hl.Func("f")
        v = (hl.cast(hl.Float(32), x) + 1) * 0.01
        f[x] = hl.sin(v) + hl.exp(-v) + hl.sqrt(v) + hl.tanh(v) + hl.log(v) + hl.pow(v, 1.5)
        f.gpu_tile(x, xo, xi, 64)
        v = (np.arange(1000) + 1) * 0.01
        want = np.sin(v) + np.exp(-v) + np.sqrt(v) + np.tanh(v) + np.log(v) + v**1.5
        np.testing.assert_allclose(realized(f, 1000), want, rtol=1e-4)

    def test_tiles(self):
        f = hl.Func("f")
        f[x, y] = x * 3 + y
        f.gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
        found = realized(f, 64, 48)
        found = found if found.shape == (64, 48) else found.T
        np.testing.assert_array_equal(found, 3 * np.arange(64)[:, None] + np.arange(48))

    def test_blur_in_shared_memory(self):
        data = RANDOM.random((66, 66)).astype(np.float32)
        source = hl.Buffer(data)
        rows, blur = hl.Func("rows"), hl.Func("blur")
        rows[x, y] = (source[x, y] + source[x + 1, y] + source[x + 2, y]) / 3
        blur[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) / 3
        blur.gpu_tile(x, y, xo, yo, xi, yi, 16, 16)
        rows.compute_at(blur, xo).gpu_threads(x, y)
        want = sum(data[i : i + 64, j : j + 64] for i in range(3) for j in range(3)) / 9
        np.testing.assert_allclose(realized(blur, 64, 64), want, rtol=1e-5)

    def test_matrix_product(self):
        a, b = (RANDOM.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
        first, second, product = hl.Buffer(a), hl.Buffer(b), hl.Func("product")
        k = hl.RDom([hl.Range(0, 64)])
        product[x, y] = 0.0
        product[x, y] += first[x, k.x] * second[k.x, y]
        product.gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
        product.update(0).gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
        np.testing.assert_allclose(realized(product, 64, 64), b @ a, rtol=1e-3, atol=1e-4)

    def test_histogram(self):
        """Atomic additions."""
        data = RANDOM.integers(0, 16, 4096, dtype=np.uint8)
        source, bins = hl.Buffer(data), hl.Func("bins")
        k = hl.RDom([hl.Range(0, 4096)])
        bins[x] = 0
        bins[hl.cast(hl.Int(32), source[k.x])] += 1
        bins.gpu_tile(x, xo, xi, 16)
        ro, ri = hl.RVar("ro"), hl.RVar("ri")
        bins.update(0).atomic().split(k.x, ro, ri, 64).gpu_blocks(ro).gpu_threads(ri)
        np.testing.assert_array_equal(realized(bins, 16), np.bincount(data, minlength=16))

    def test_short_types(self):
        data = RANDOM.integers(0, 256, (32, 32), dtype=np.uint8)
        f, source = hl.Func("f"), hl.Buffer(data)
        f[x, y] = hl.cast(hl.UInt(8), (hl.cast(hl.UInt(16), source[x, y]) * 3 + 7) >> 2)
        f.gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
        np.testing.assert_array_equal(realized(f, 32, 32), ((data.astype(np.uint16) * 3 + 7) >> 2).astype(np.uint8))

    def test_doubles(self):
        f = hl.Func("f")
        f[x] = hl.sqrt(hl.cast(hl.Float(64), x)) / (hl.cast(hl.Float(64), x) + 1)
        f.gpu_tile(x, xo, xi, 32)
        v = np.arange(256, dtype=float)
        np.testing.assert_allclose(realized(f, 256), np.sqrt(v) / (v + 1), rtol=1e-14)

    def test_stages(self):
        """Two kernels, the first one's result in device memory."""
        squares, sums = hl.Func("squares"), hl.Func("sums")
        squares[x] = x * x
        sums[x] = squares[x] + squares[x + 1]
        squares.compute_root().gpu_tile(x, xo, xi, 32)
        sums.gpu_tile(x, xo, xi, 32)
        v = np.arange(128)
        np.testing.assert_array_equal(realized(sums, 128), v * v + (v + 1) * (v + 1))
