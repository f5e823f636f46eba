"""IREE's PTX on the emulated GPU, by its own LLVM: modules of MLIR, whose results its runtime fetches.

The modules here are our own; each test holds a result against numpy's.
"""

import unittest

import iree.compiler
import iree.runtime
import numpy as np

RANDOM = np.random.default_rng(1)


def called(text, *arguments):
    """What function `f` of a module returns."""
    binary = iree.compiler.compile_str(text, target_backends=["cuda"], extra_args=["--iree-cuda-target=sm_80"])
    context = iree.runtime.SystemContext(config=iree.runtime.Config("cuda"))
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, binary))
    return context.modules.module["f"](*arguments).to_host()


def product(kind, total, size):
    """A matrix product of square matrices."""
    matrix, out = f"tensor<{size}x{size}x{kind}>", f"tensor<{size}x{size}x{total}>"
    zero = "0" if total[0] == "i" else "0.0"
    return f"""func.func @f(%a: {matrix}, %b: {matrix}) -> {out} {{
      %zero = arith.constant {zero} : {total}
      %empty = tensor.empty() : {out}
      %sums = linalg.fill ins(%zero : {total}) outs(%empty : {out}) -> {out}
      %found = linalg.matmul ins(%a, %b : {matrix}, {matrix}) outs(%sums : {out}) -> {out}
      return %found : {out}
    }}"""


def each(operation):
    """An operation on each element."""
    return f"""func.func @f(%a: tensor<1000xf32>) -> tensor<1000xf32> {{
      %found = {operation} %a : tensor<1000xf32>
      return %found : tensor<1000xf32>
    }}"""


class Kernels(unittest.TestCase):
    """Each compares with numpy."""

    def test_device(self):
        self.assertIn("cuda", iree.runtime.query_available_drivers())

    def test_products_of_singles(self):
        a, b = (RANDOM.standard_normal((96, 96)).astype(np.float32) for _ in range(2))
        np.testing.assert_allclose(called(product("f32", "f32", 96), a, b), a @ b, rtol=1e-2, atol=1e-2)

    def test_products_of_halves(self):
        """By tensor cores' instructions."""
        a, b = (RANDOM.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
        np.testing.assert_array_equal(called(product("f16", "f32", 128), a, b), a.astype(np.float32) @ b)

    def test_products_of_integers(self):
        a, b = (RANDOM.integers(-100, 100, (40, 40), dtype=np.int32) for _ in range(2))
        np.testing.assert_array_equal(called(product("i32", "i32", 40), a, b), a @ b)

    def test_functions(self):
        v = (np.arange(1000, dtype=np.float32) + 1) * np.float32(0.01)
        for name, want in (("sin", np.sin), ("exp", np.exp), ("tanh", np.tanh), ("log", np.log), ("sqrt", np.sqrt)):
            np.testing.assert_allclose(called(each(f"math.{name}"), v), want(v), rtol=1e-4, atol=1e-6)

    def test_reductions(self):
        text = """func.func @f(%a: tensor<64x512xf32>) -> tensor<64xf32> {
          %zero = arith.constant 0.0 : f32
          %empty = tensor.empty() : tensor<64xf32>
          %first = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
          %found = linalg.reduce { arith.addf } ins(%a : tensor<64x512xf32>) outs(%first : tensor<64xf32>)
            dimensions = [1]
          return %found : tensor<64xf32>
        }"""
        data = RANDOM.standard_normal((64, 512)).astype(np.float32)
        np.testing.assert_allclose(called(text, data), data.sum(axis=1), rtol=1e-3, atol=1e-4)

    def test_softmax(self):
        text = """func.func @f(%a: tensor<16x300xf32>) -> tensor<16x300xf32> {
          %empty = tensor.empty() : tensor<16x300xf32>
          %found = linalg.softmax dimension(1) ins(%a : tensor<16x300xf32>) outs(%empty : tensor<16x300xf32>)
            -> tensor<16x300xf32>
          return %found : tensor<16x300xf32>
        }"""
        data = RANDOM.standard_normal((16, 300)).astype(np.float32)
        powers = np.exp(data - data.max(axis=1, keepdims=True))
        want = powers / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(called(text, data), want, rtol=1e-3)

    def test_transposition(self):
        text = """func.func @f(%a: tensor<96x160xi32>) -> tensor<160x96xi32> {
          %empty = tensor.empty() : tensor<160x96xi32>
          %found = linalg.transpose ins(%a : tensor<96x160xi32>) outs(%empty : tensor<160x96xi32>) permutation = [1, 0]
          return %found : tensor<160x96xi32>
        }"""
        data = RANDOM.integers(0, 1 << 30, (96, 160), dtype=np.int32)
        np.testing.assert_array_equal(called(text, data), data.T)

    def test_convolution(self):
        text = """func.func @f(%a: tensor<1x18x18x4xf32>, %k: tensor<3x3x4x8xf32>) -> tensor<1x16x16x8xf32> {
          %zero = arith.constant 0.0 : f32
          %empty = tensor.empty() : tensor<1x16x16x8xf32>
          %first = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
          %found = linalg.conv_2d_nhwc_hwcf ins(%a, %k : tensor<1x18x18x4xf32>, tensor<3x3x4x8xf32>)
            outs(%first : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
          return %found : tensor<1x16x16x8xf32>
        }"""
        data, kernel = (RANDOM.standard_normal(s).astype(np.float32) for s in ((1, 18, 18, 4), (3, 3, 4, 8)))
        want = sum(data[:, i : i + 16, j : j + 16] @ kernel[i, j] for i in range(3) for j in range(3))
        np.testing.assert_allclose(called(text, data, kernel), want, rtol=1e-2, atol=1e-2)
