"""The first region of an nvptx image with indirect functions: one block, which makes the image's hash table of them.

GCC's device code has the first block make it, and others look into it before it is done.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import needs
from nvptx_tools import REGISTERED
from runtime_tools import compile_program, run

pytestmark = [needs("gcc"), has_driver, has_executor]
PTX = r"""
.version 6.0
.target sm_35
.address_size 64
.visible .func called () { ret; }
.visible .global .align 8 .u64 $offload_ind_func_table[] = {called};
.visible .global .align 8 .u64 __gomp_indirect_addr_map[1];
.visible .entry region (.param .u64 vars, .param .u64 stacks, .param .u64 size)
{
  .reg .u64 %r; .reg .u32 %w;
  ld.param.u64 %r, [vars]; ld.u64 %r, [%r]; mov.u32 %w, %nctaid.x; st.u32 [%r], %w; ret;
}
"""
PROGRAM = (
    REGISTERED
    + r"""
static struct launch launches[1] = {{"region"}};
static struct registered masked = {0x200, codes, 1, 0, 0, launches, 1, INDIRECT};
static void region (void *w) { puts ("no device"); }
static void called (void) { }
static void *funcs[1] = {region}, *indirect[1] = {called};
static void *table[6] = {funcs, funcs + 1, 0, 0, indirect, indirect + INDIRECT};
__attribute__ ((constructor)) static void reg (void) { GOMP_offload_register_ver (0x30001, table, 5, &masked); }
int main (void)
{
  for (int i = 0; i < 2; i++)
    {
      int x = 0;
      void *addr[1] = {&x}, *args[] = {(void *) (1 << 8 | 5L << 16), 0};
      size_t size[1] = {4}; unsigned short kind[1] = {0x203};
      GOMP_target_ext (-1, region, 1, addr, size, kind, 0, 0, args);
      printf ("%d ", x);
    }
  GOMP_offload_unregister_ver (0x30001, table, 5, &masked);
}
"""
)


@pytest.mark.parametrize(("indirect", "blocks"), [("1", "1 5 "), ("0", "5 5 ")])
def test_one_block_makes_the_table(tmp_path: Path, indirect: str, blocks: str) -> None:
    """It runs all teams one after another; images without such functions start at once."""
    text = "".join(f'"{line}\\n"' for line in PTX.splitlines())
    source = PROGRAM.replace("INDIRECT", indirect).replace("= PTX;", f"= {text};")
    program = compile_program(tmp_path, source)
    done = run(tmp_path, program, "nvptx", GOMPY_CUDA="emulated", OMP_TARGET_OFFLOAD="mandatory", GOMPY_STATS="0")
    assert (done.rc, done.out) == (0, blocks), done.err
