"""omp_target_*: sizes and offsets that no memory has are refused on every device, and nothing is written."""

from __future__ import annotations

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import has_all, needs
from nvptx_tools import has_compiler, make_tools
from plugin_tools import build

pytestmark = [has_all, needs("gcc")]
SIZES = r"""
#include <omp.h>
#include <stdio.h>
#include <string.h>
#define CHECK(c) do { if (!(c)) { printf ("line %d, %zx: %s\n", __LINE__, n, #c); bad = 1; } } while (0)
static const size_t sizes[] = { -1, -8, (size_t) 1 << 63, (size_t) 1 << 62, ((size_t) 1 << 62) + 2, (size_t) 1 << 60 };
static int box (char *to, char *of, size_t element, size_t v0, size_t v1, size_t at0, size_t at1, size_t width)
{
  size_t volume[2] = { v0, v1 }, at[2] = { at0, at1 }, none[2] = { 0, 0 }, size[2] = { 4, width };
  int host = omp_get_initial_device (), dev = omp_get_default_device ();
  return omp_target_memcpy_rect (to, of, element, 2, volume, at, none, size, size, dev, host)
    ? omp_target_memcpy_rect (of, to, element, 2, volume, none, at, size, size, host, dev) : 0;
}
int main (void)
{
  int dev = omp_get_default_device (), host = omp_get_initial_device (), bad = 0;
  char zero[64] = "", back[64], own[64] = "";
  size_t n = 64;
  char *d = omp_target_alloc (64, dev);
  CHECK (d && !omp_target_memcpy (d, zero, 64, 0, 0, dev, host));
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    {
      n = sizes[i];
      CHECK (omp_target_alloc (n, dev) == NULL);
      CHECK (omp_target_memcpy (d, zero, n, 0, 0, dev, host) && omp_target_memcpy (d, d, n, 0, 0, dev, dev));
      CHECK (i < 2 || omp_target_memcpy (d, zero, 8, n, 0, dev, host));
      CHECK (box (d, zero, n, 1, 2, 0, 0, 8) && box (d, zero, 2, n, 2, 0, 0, 8) && box (d, zero, 2, 2, n, 0, 0, 8));
      CHECK (box (d, zero, 2, 1, 1, n, 0, 8) && box (d, zero, 2, 1, 1, 0, n, 8) && box (d, zero, 2, 2, 1, 0, 0, n));
      CHECK (box (d, zero, 1, n, 1, 0, 0, 0) && box (d, zero, 8, n, n, n, n, n));
      CHECK (!box (d, zero, n, 0, n, 0, 0, 8) && !box (d, zero, n, n, 0, 0, 0, 8) && !box (d, zero, 0, n, n, 0, 0, 8));
      CHECK (i > 1 || (omp_target_associate_ptr (own, d, n, 0, dev) && omp_target_associate_ptr (own, d, 8, n, dev)));
      CHECK (!omp_target_is_present (own, dev));
    }
  n = 1;
#pragma omp target map(tofrom: own)
  own[0]++;
  CHECK (own[0] == 1 && !omp_target_memcpy (back, d, 64, 0, 0, host, dev) && !memcmp (back, zero, 64));
  omp_target_free (d, dev);
  puts (bad ? "WRONG" : "all right");
  return bad;
}
"""


@pytest.mark.parametrize(
    "target", ["intelmic", pytest.param("nvptx-none", marks=[has_compiler, has_driver, has_executor])]
)
def test_absurd_sizes_are_refused(tmp_path_factory: pytest.TempPathFactory, target: str) -> None:
    tools = make_tools(tmp_path_factory, GOMPY_CUDA="emulated", OMP_TARGET_OFFLOAD="mandatory")
    program = build(tools, "sizes.c", SIZES, f"-foffload={target}")
    done = tools.run(program)
    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert "signal" not in done.stderr
