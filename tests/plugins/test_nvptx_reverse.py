"""Reverse offload on nvptx: `target device (ancestor: 1)` in a region is run by the host, on the emulated GPU.

The first tests bring PTX of their own, which does what GCC's device code does; no newer gcc is needed.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, make_wrappers, needs
from nvptx_tools import REGISTERED
from runtime_tools import Run, compile_program, run

from mkoffload import nvptx
from mkoffload.nvptx_ptx import PtxImage

pytestmark = [needs("gcc"), has_driver, has_executor]
REVERSE = Path(__file__).resolve().parent.parent / "programs" / "reverse.c"
LINES = "host 1\ndevice 2\nhost 3\ndevice 4\nhost 5, 5280\n200001061 6121 211407, 6\n40, 120 calls\n"
PTX = r"""
.version 6.0
.target sm_35
.address_size 64
.visible .func twin () { ret; }
.visible .global .align 8 .u64 __gomp_rev_offload_var[1];
.visible .global .align 8 .u64 $offload_func_table[] = {twin,0,0};
.visible .global .align 8 .u64 sizes[1] = {4};
.visible .global .align 2 .u16 kinds[1] = {515};
.visible .global .align 8 .u64 list[1];
.visible .entry inner (.param .u64 vars, .param .u64 stacks, .param .u64 size)
{
  .reg .u64 %r<2>; .reg .u32 %w<3>; .reg .pred %p;
  mov.u32 %w0, %tid.x; mov.u32 %w1, %tid.y; or.b32 %w0, %w0, %w1; setp.ne.u32 %p, %w0, 0; @%p bra done;
  ld.param.u64 %r0, [vars]; ld.u64 %r0, [%r0]; ld.u32 %w2, [%r0]; add.u32 %w2, %w2, 1; st.u32 [%r0], %w2;
done: ret;
}
.visible .entry region (.param .u64 vars, .param .u64 stacks, .param .u64 size)
{
  .reg .u64 %r<9>; .reg .u32 %w<5>; .reg .pred %p;
  mov.u32 %w0, %tid.x; mov.u32 %w1, %tid.y; or.b32 %w0, %w0, %w1; setp.ne.u32 %p, %w0, 0; @%p bra done;
  ld.param.u64 %r0, [vars]; ld.u64 %r1, [%r0]; ld.u32 %w2, [%r1];  // what is mapped: the first number
  ld.param.u64 %r2, [stacks]; st.u32 [%r2], %w2;  // the region's own variable
  mov.u32 %w3, 3;
  mov.u64 %r4, list; st.u64 [%r4], %r2; mov.u64 %r5, sizes; mov.u64 %r6, kinds; mov.u64 %r7, twin;
  ld.global.u64 %r3, [__gomp_rev_offload_var];
again: st.u64 [%r3+8], 1; st.u64 [%r3+16], %r4; st.u64 [%r3+24], %r5; st.u64 [%r3+32], %r6;
  membar.sys; st.volatile.u64 [%r3], %r7;
wait: ld.volatile.u64 %r8, [%r3]; membar.sys; setp.ne.u64 %p, %r8, 0; @%p bra wait;
  sub.u32 %w3, %w3, 1; setp.ne.u32 %p, %w3, 0; @%p bra again;
  ld.u32 %w4, [%r2]; st.u32 [%r1], %w4;
done: ret;
}
"""
PROGRAM = (
    REGISTERED
    + r"""
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
static struct launch launches[3] = {{"twin"}, {"region"}, {"inner"}};
static struct registered masked = {0x280, codes, 1, 0, 0, launches, 3, 0};
static void inner (void **w) { puts ("no device"); }
static void region (void **w) { puts ("no device"); }
static void target (void (*f) (void **), int *x) {
  void *addr[1] = {x}, *args[] = {(void *) (1 << 8 | 1L << 16), 0};
  size_t size[1] = {4}; unsigned short kind[1] = {0x203};
  GOMP_target_ext (-1, (void (*) (void *)) f, 1, addr, size, kind, 0, 0, args);
}
static void *data (void *p) {
  size_t size = 200 << 20;  /* more than is kept when it is freed */
  char *block = omp_target_alloc (size, 0);
  char c = 5, d = 0;
  omp_target_memcpy (block + 7, &c, 1, 0, 0, 0, omp_get_initial_device ());
  omp_target_memcpy (&d, block + 7, 1, 0, 0, omp_get_initial_device (), 0);
  omp_target_free (block, 0);
  *(int *) p = d;
  return 0;
}
static void called (int *x) { CALLED; }
static void host_function (void **w) { called (w[0]); }
static void *funcs[3] = {host_function, region, inner}, *table[6] = {funcs, funcs + 3, 0, 0, 0, 0};
__attribute__ ((constructor)) static void reg (void) { GOMP_offload_register_ver (0x30001, table, 5, &masked); }
int main (void)
{
  for (int i = 0; i < 2; i++)
    {
      int x = 6 + i;
      target (region, &x);
      printf ("%d\n", x);
    }
  GOMP_offload_unregister_ver (0x30001, table, 5, &masked);
}
"""
)


def go(folder: Path, called: str, **environment: str) -> Run:
    """A region that has the host's function run three times, twice."""
    text = "".join(f'"{line}\\n"' for line in PTX.splitlines())
    program = compile_program(folder, PROGRAM.replace("CALLED;", called + ";").replace("= PTX;", f"= {text};"))
    where = {"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "mandatory", "GOMPY_STATS": "0", **environment}
    return run(folder, program, "nvptx", **where)


@pytest.mark.parametrize("check", ["0", "1"])
def test_a_region_calls_the_host(tmp_path: Path, check: str) -> None:
    """With the region's own variable, there and back; with the checks of the emulated driver, too."""
    done = go(tmp_path, 'printf ("host: %d\\n", *x); *x *= 2', GOMPY_CHECK=check)
    assert (done.rc, done.out) == (0, "host: 6\nhost: 12\nhost: 24\n48\nhost: 7\nhost: 14\nhost: 28\n56\n"), done.err


def test_other_threads_go_on_meanwhile(tmp_path: Path) -> None:
    """What they allocate, copy and free does not wait for the region, which waits for the host's function."""
    threads = "pthread_t t; int d; pthread_create (&t, 0, data, &d); pthread_join (t, 0); *x += d; data (&d); *x += d"
    done = go(tmp_path, threads)
    assert (done.rc, done.out) == (0, "36\n37\n"), done.err


def test_the_hosts_function_starts_a_region(tmp_path: Path) -> None:
    """Beside the one that has called it."""
    done = go(tmp_path, "target (inner, x)")
    assert (done.rc, done.out) == (0, "9\n10\n"), done.err


def test_the_hosts_function_ends_the_program(tmp_path: Path) -> None:
    """Nobody waits for the region, which waits for ever."""
    done = go(tmp_path, 'puts ("host"); exit (7)')
    assert (done.rc, done.out, done.err) == (7, "host\n", "")


def test_the_table_is_in_the_images_final_order() -> None:
    """mkoffload puts the entries into the host's order first: the functions for the host are at the places that those
    have."""
    code = "// BEGIN GLOBAL FUNCTION DECL: f$_omp_fn$1$nohost$0\n.func f$_omp_fn$1$nohost$0 (.param.u64 %in_ar0);\n"
    functions = [("f$_omp_fn$0", (0, 0, 0)), ("f$_omp_fn$1$nohost$0", (0, 0, 0))]
    image = PtxImage([code.encode() + b"\0"], functions, [])
    nvptx.Image.add_tables(SimpleNamespace(reverse=True), image)  # type: ignore[arg-type]
    assert b"$offload_func_table[] = {0,f$_omp_fn$1$nohost$0};" in image.objects[-1]


@pytest.mark.parametrize(
    ("reverse", "words", "old"),
    [
        (True, "-march=sm_30", True),
        (True, "-misa=sm_30 -march=sm_53", False),
        (True, "", False),
        (False, "-march=sm_30", False),
    ],
    ids=["old", "new", "none", "no calls"],
)
def test_an_architecture_that_cannot(reverse: bool, words: str, old: bool) -> None:
    """What is asked for last counts."""
    said: list[str] = []
    image = SimpleNamespace(
        reverse=reverse, options=SimpleNamespace(words=words.split()), log=SimpleNamespace(warning=said.append)
    )
    assert nvptx.Image.too_old(image) == old  # type: ignore[arg-type]
    assert [text[:27] for text in said] == ["'omp requires reverse_offlo"] * old


@needs("gcc-14", "x86_64-linux-gnu-accel-nvptx-none-gcc-14")
@pytest.mark.parametrize("words", [["-O0"], ["-O2"]], ids=" ".join)
def test_device_code_of_gcc_14(tmp_path: Path, words: list[str]) -> None:
    """Output in order; data of all kinds; six threads of three teams; regions of the host's functions; nowait; exit."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"GOMPY_CC": "gcc-14", "OMP_TARGET_OFFLOAD": "mandatory", "GOMPY_CUDA": "emulated"}
    tools.ok("gompcc", *words, "-fopenmp", "-foffload=nvptx-none", str(REVERSE), "-o", "program")
    assert tools.ok("./program") == LINES
    done = tools.run("./program", "x")
    assert (done.returncode, done.stdout) == (7, "host 1\ndevice 2\nhost 3\n")
