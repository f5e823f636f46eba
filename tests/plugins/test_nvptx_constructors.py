"""Constructors and destructors of device variables on nvptx, which GCC 15's compiler makes kernels of.

The PTX is the tests' own: no newer gcc is needed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import needs
from nvptx_tools import REGISTERED
from runtime_tools import Run, compile_program, run

from mkoffload.nvptx_ptx import PtxImage

pytestmark = [needs("gcc"), has_driver, has_executor]
PTX = r"""
.version 6.0
.target sm_52
.address_size 64
.extern .func (.param .u32 result) vprintf (.param .u64 text, .param .u64 values);
.visible .global .align 1 .u8 built[7] = {98,117,105,108,116,10,0};
.visible .global .align 1 .u8 gone[6] = {103,111,110,101,10,0};
.visible .global .align 4 .u32 value[1];
.func say (.param .u64 what)
{
  .reg .u64 %r<2>;
  ld.param.u64 %r0, [what];
  { .param .u32 result; .param .u64 text; .param .u64 values; st.param.u64 [text], %r0; mov.u64 %r1, 0;
    st.param.u64 [values], %r1; call (result), vprintf, (text, values); }
  ret;
}
.visible .entry __do_global_ctors__entrySUFFIX (PARAMETER)
{
  .reg .u64 %r<3>; .reg .u32 %w<2>;
  ld.global.u32 %w0, [value]; add.u32 %w0, %w0, 41;
  STACK
  st.global.u32 [value], %w0;
  mov.u64 %r1, built; cvta.global.u64 %r1, %r1;
  { .param .u64 what; st.param.u64 [what], %r1; call say, (what); }
  ret;
}
.visible .entry __do_global_dtors__entrySUFFIX (PARAMETER)
{
  .reg .u64 %r<2>;
  mov.u64 %r1, gone; cvta.global.u64 %r1, %r1;
  { .param .u64 what; st.param.u64 [what], %r1; call say, (what); }
  ret;
}
.visible .entry region (.param .u64 vars, .param .u64 stacks, .param .u64 size)
{
  .reg .u64 %r<2>; .reg .u32 %w<3>; .reg .pred %p;
  mov.u32 %w0, %tid.x; mov.u32 %w1, %tid.y; or.b32 %w0, %w0, %w1; setp.ne.u32 %p, %w0, 0; @%p bra done;
  ld.param.u64 %r0, [vars]; ld.u64 %r0, [%r0]; ld.global.u32 %w2, [value]; st.u32 [%r0], %w2;
done: ret;
}
"""
SOFT = "ld.param.u64 %r2, [top]; st.u32 [%r2-8], %w0; ld.u32 %w1, [%r2-131072]; ld.u32 %w0, [%r2-8];"
"""It has the 128 KiB below the address that it is given."""
PROGRAM = (
    REGISTERED
    + r"""
static struct launch launches[1] = {{"region"}};
static struct registered masked = {0x200, codes, 1, 0, 0, launches, 1, 0};
static void region (void **w) { puts ("no device"); }
static void *funcs[1] = {region}, *table[6] = {funcs, funcs + 1, 0, 0, 0, 0};
static int target (void)
{
  int x = 0;
  void *addr[1] = {&x}, *args[] = {(void *) (1 << 8 | 1L << 16), 0};
  size_t size[1] = {4}; unsigned short kind[1] = {0x203};
  GOMP_target_ext (-1, (void (*) (void *)) region, 1, addr, size, kind, 0, 0, args);
  return x;
}
int main (void)
{
  setvbuf (stdout, 0, _IONBF, 0);
  for (int i = 0; i < 2; i++)
    {
      GOMP_offload_register_ver (0x30001, table, 5, &masked);
      puts ("registered");
      printf ("%d\n", target ());
      printf ("%d\n", target ());
      if (i == 0)
        GOMP_offload_unregister_ver (0x30001, table, 5, &masked);
    }
  puts ("end");
}
"""
)


def go(folder: Path, suffix: str, first: str = "") -> Run:
    """The image loaded, unloaded, loaded again, and still there at the end.  ``first``: of the constructor's code."""
    code = PTX.replace("SUFFIX", suffix).replace("PARAMETER", ".param .u64 top" if suffix else "")
    code = code.replace("STACK", first + SOFT if suffix else first)
    text = "".join(f'"{line}\\n"' for line in code.splitlines())
    program = compile_program(folder, PROGRAM.replace("PTX;", text + ";"))
    return run(folder, program, plugins="nvptx", GOMPY_CUDA="emulated")


@pytest.mark.parametrize("suffix", ["", "__mgomp"])
def test_they_run_when_an_image_comes_and_goes(tmp_path: Path, suffix: str) -> None:
    """Once for each time that it is loaded; destructors also at the program's end, before the device is closed."""
    done = go(tmp_path, suffix)
    first, second = "registered\nbuilt\n", "built\nregistered\n"  # the device is open by then
    assert (done.rc, done.out) == (0, f"{first}41\n41\ngone\n{second}41\n41\nend\ngone\n"), done.err


def test_a_constructor_that_fails_is_named(tmp_path: Path) -> None:
    """And the program does not go on as if the variables were there."""
    done = go(tmp_path, "", "trap;")
    assert done.rc == 1
    assert "__do_global_ctors__entry error: " in done.err


def test_mkoffload_knows_that_an_image_constructs() -> None:
    """Then there is no warning of variables that stay zero."""
    assert PtxImage([PTX.encode()], [], []).constructs
    assert not PtxImage([PTX.replace("ctors", "c").encode()], [], []).constructs
