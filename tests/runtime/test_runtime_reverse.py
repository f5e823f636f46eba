"""Reverse offload in the runtime: what a device's construct hands to the host's function, on a hand-made program.

The region runs in this process, as the tests' plugin has it, and calls what plugins call; no newer gcc is needed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_tools import REGISTERING, Run, build_plugin, compile_program, run

PROGRAM = (
    REGISTERING
    + r"""
#pragma weak GOMP_PLUGIN_target_rev
extern void GOMP_PLUGIN_target_rev (uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, int, void *);
int mapped[4] = {1, 2, 3, 4};
static void host_region (void **args) { puts ("no device"); }
static void twin (void **w) { puts ("never called"); }
static void host_function (void **w) { HOST; }
#define CALL(...) do { void *w[] = {__VA_ARGS__}; \
  GOMP_PLUGIN_target_rev (WHICH, sizeof w / sizeof *w, (uintptr_t) w, (uintptr_t) size, (uintptr_t) kind, 0, 0); \
} while (0)
static void region (void **args) { int *device = args[0]; REGION; }
struct pair pairs[2];
struct { uintptr_t mask; struct image image; } masked = {0x280, {pairs, 2}};
void *funcs[2] = {host_region, host_function}, *table[6] = {funcs, funcs + 2, 0, 0, 0, 0};
__attribute__ ((constructor)) static void reg (void) {
  pairs[0] = (struct pair) {(uintptr_t) region, (uintptr_t) region + 1};
  pairs[1] = (struct pair) {(uintptr_t) twin, (uintptr_t) twin + 1};
  GOMP_offload_register_ver (0x30000, table, 6, &masked);
}
int main (void) {
  void *addr[1] = {mapped}; size_t size[1] = {sizeof mapped}; unsigned short kind[1] = {0x203};
  GOMP_target_ext (-1, (void (*) (void *)) host_region, 1, addr, size, kind, 0, 0, 0);
  printf ("%d %d %d %d\n", mapped[0], mapped[1], mapped[2], mapped[3]);
  GOMP_offload_unregister_ver (0x30000, table, 6, &masked);
}
"""
)


def go(folder: Path, region: str, host: str, which: str = "(uintptr_t) twin") -> Run:
    """A region on the device and the host's function that it calls."""
    build_plugin(folder, "-DCAPS=4", "-DVERSION=3", "-DFULFILS=0x80")
    source = PROGRAM.replace("REGION;", region + ";").replace("HOST;", host + ";").replace("WHICH", which)
    return run(folder, compile_program(folder, source, "-Wl,-z,dynamic-undefined-weak"))


def test_present_data_is_the_hosts_own(tmp_path: Path) -> None:
    """Nothing is copied of what is mapped, unless always says so; the region's end copies what it always did."""
    region = """size_t size[] = {4, 4, 4}; unsigned short kind[] = {0x203, 0x211, 0x212};
      device[0] = 10; device[1] = 20; CALL (device, device + 1, device + 2);
      printf ("%d %d %d\\n", device[0], device[1], device[2])"""
    host = """int **p = (int **) w; printf ("%d %d %d %d\\n", p[0] == mapped, *p[0], *p[1], *p[2]);
      *p[0] = *p[1] = *p[2] = 77"""
    done = go(tmp_path, region.replace("\n", " "), host.replace("\n", " "))
    assert (done.rc, done.out) == (0, "1 1 20 3\n10 20 77\n10 20 77 4\n"), done.err


def test_the_regions_own_data_is_copied(tmp_path: Path) -> None:
    """There and back as the clause says; firstprivate and to stay away."""
    region = """int a[5] = {1, 2, 3, 4, 5}; size_t size[] = {4, 4, 4, 4, 4, 7};
      unsigned short kind[] = {0x20c, 0x201, 0x202, 0x203, 0x200, 13};
      CALL (a, a + 1, a + 2, a + 3, a + 4, (void *) 7l);
      printf ("%d %d %d %d %d\\n", a[0], a[1], a[2], a[3], a[4])"""
    host = """int **p = (int **) w, i; printf ("%d %d %d %ld\\n", *p[0], *p[1], *p[3], (long) w[5]);
      for (i = 0; i < 5; i++) *p[i] = 70 + i"""
    done = go(tmp_path, region.replace("\n", " "), host.replace("\n", " "))
    assert (done.rc, done.out) == (0, "1 2 4 7\n1 2 72 73 5\n1 2 3 4\n"), done.err


def test_structs_and_pointers(tmp_path: Path) -> None:
    """Members are one piece; a pointer in it, and one of a Fortran descriptor, point to the copy of what they did."""
    region = """struct { int a, b; int *p; int c; } s = {1, 2, device + 1, 4}; int data[2] = {5, 6};
      struct { int *p; long n; } d = {data, 2};
      size_t size[] = {3, 4, 8, 4, 0, 8, 16, 0};
      unsigned short kind[] = {0x31c, 0x203, 0x300, 0x203, 0x50, 0x203, 0x305, 0x304};
      CALL (&s, &s.b, &s.p, &s.c, &s.p, data, &d, &d.p);
      printf ("%d %d %d %d %d %d\\n", s.a, s.b, s.c, s.p == device + 1, data[0], data[1])"""
    host = """struct { int a, b; int *p; int c; } *s = w[0]; struct { int *p; long n; } *d = w[6];
      printf ("%d %d %d %d %d\\n", s->b, s->c, (void *) &s->b == w[1], d->n == 2 && d->p == (int *) w[5], d->p[1]);
      s->b = 8; s->c = 9; d->p[1] = 60"""
    done = go(tmp_path, region.replace("\n", " "), host.replace("\n", " "))
    assert (done.rc, done.out) == (0, "2 4 1 1 6\n1 8 9 1 5 60\n1 2 3 4\n"), done.err


@pytest.mark.parametrize("kind", ["0x295", "0x206"])
def test_what_must_be_present(tmp_path: Path, kind: str) -> None:
    """In GCC's words where it is not."""
    region = f"int own = 1; size_t size[] = {{4}}; unsigned short kind[] = {{{kind}}}; CALL (&own)"
    done = go(tmp_path, region, 'puts ("called")')
    assert done.rc == 1 and "called" not in done.out
    assert "libgomp: present clause: no corresponding data on parent device at 0x" in done.err
    region = region.replace("CALL (&own)", "device[0] = 5; CALL (device)")
    done = go(tmp_path, region, 'printf ("%d\\n", ((int **) w)[0][0])')
    assert (done.rc, done.out) == (0, f"{1 if kind == '0x206' else 5}\n5 2 3 4\n"), done.err


def test_what_is_no_function_of_the_hosts(tmp_path: Path) -> None:
    """An address that no image has, and an entry that this cannot do, end the program."""
    call = "size_t size[] = {4}; unsigned short kind[] = {0x203}; CALL (device)"
    done = go(tmp_path, call, "", "(uintptr_t) twin + 1")
    assert done.rc == 1 and "libgomp: Cannot find reverse-offload function" in done.err
    done = go(tmp_path, call.replace("0x203", "0x20e"), "")
    assert done.rc == 1 and "libgompy: reverse offload: a map entry of kind 0xe is not implemented" in done.err
