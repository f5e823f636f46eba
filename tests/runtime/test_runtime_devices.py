"""Plugins, devices, images and their lives: what is asked in which order, what goes wrong and how it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_tools import LIBGOMPY, REGISTERING, build_plugin, compile_program, run

ONE_REGION = """
#include <stdio.h>
int main (void) {
  int x = 1;
  #pragma omp target map(tofrom: x)
  x++;
  printf ("%d\\n", x);
  return 0;
}
"""

MAPPING_ERRORS = {
    "Trying to map into device [": """
  #pragma omp target enter data map(to: a[0:4])
  #pragma omp target enter data map(to: a[2:4])""",
    "structure element when other mapped elements from the same structure weren't mapped together with it": """
  #pragma omp target enter data map(to: s.a)
  #pragma omp target enter data map(to: s.a, s.c)""",
    "Trying to update [": """
  #pragma omp target enter data map(to: a[0:4])
  #pragma omp target update to(a[2:4])""",
    "use_device_ptr pointer wasn't mapped": """
  #pragma omp target data use_device_ptr(p)
  p++;""",
    "attempt to attach null pointer": """
  s.p = 0;
  #pragma omp target enter data map(to: s.p, s.p[0:n])""",
}


@pytest.mark.parametrize("message", MAPPING_ERRORS)
def test_mapping_errors_have_libgomps_texts(tmp_path: Path, message: str) -> None:
    build_plugin(tmp_path)
    source = """
struct S { int a, b, c; int *p; } s;
int a[10], n = 2;
int main (void) {
  int *p = a;
%s
  return 0;
}
"""
    done = run(tmp_path, compile_program(tmp_path, source % MAPPING_ERRORS[message]))
    assert done.rc == 1
    assert f"\nlibgomp: {message}" in done.err or f" {message}\n" in done.err
    assert done.log[-1].startswith("fini 0"), "exit handlers finalise the device"


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-DINIT_FAILS", "device initialization failed"),
        ("-DALLOC_FAILS", "device memory allocation fail"),
        ("-DCOPY_FAILS", "Copying of host object ["),
        ("-DINIT_ENDS", "no device\n"),
        ("-DALLOC_ENDS", "no more memory\n"),
    ],
)
def test_failing_device(tmp_path: Path, option: str, message: str) -> None:
    build_plugin(tmp_path, option)
    plain = run(tmp_path, compile_program(tmp_path, ONE_REGION))
    assert plain.rc == 1
    assert f"\nlibgomp: {message}" in plain.err
    # With an image, whose destructor takes the locks that are held here.
    build_plugin(tmp_path, option, "-DCAPS=4")
    done = run(tmp_path, compile_program(tmp_path, IMAGES + IMAGE_MAIN, "-DVERSION=0", "-DNVARS=4"))
    assert done.rc == 1
    assert "\nlibgomp: " in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-DVERSION=4"], "plugin version mismatch (it has 4, this libgompy needs 1 to 3)"),
        (["-DNO_RUN"], "undefined symbol: GOMP_OFFLOAD_run"),
        (["-DCAPS=(4|8)"], "plugin missing OpenACC handler function (GOMP_OFFLOAD_openacc_exec)"),
    ],
)
def test_refused_plugin(tmp_path: Path, options: list[str], message: str) -> None:
    """A message, and the program goes on with the host."""
    build_plugin(tmp_path, *options)
    done = run(tmp_path, compile_program(tmp_path, ONE_REGION))
    assert (done.rc, done.out) == (0, "2\n")
    assert f"\nlibgomp: while loading libgomp-plugin-fake.so.1: {message}\n" in done.err


def test_several_plugins_and_devices(tmp_path: Path) -> None:
    """Numbered in the order of GOMPY_PLUGINS; those that cannot OpenMP come last and are not counted."""
    build_plugin(tmp_path, "-DNDEV=2", name="two")
    build_plugin(tmp_path, "-DCAPS=0", name="deaf")
    build_plugin(tmp_path, name="one")
    program = compile_program(
        tmp_path,
        """
#include <omp.h>
#include <stdio.h>
int main (void) {
  int x = 5;
  printf ("%d\\n", omp_get_num_devices ());
  for (int d = 0; d < 3; d++) {
    #pragma omp target enter data map(to: x) device(d)
    #pragma omp target device(d) map(x)
    x += d;
  }
  for (int d = 0; d < 3; d++) {
    #pragma omp target exit data map(from: x) device(d)
    printf ("%d\\n", x);
    void *p = omp_target_alloc (4, d), *q = omp_target_alloc (4, (d + 1) % 3);
    if (omp_target_memcpy (p, q, 4, 0, 0, d, (d + 1) % 3) != 0) return 1;
    omp_target_free (p, d); omp_target_free (q, (d + 1) % 3);
  }
  return 0;
}""",
    )
    done = run(tmp_path, program, plugins="deaf,two,one,")
    assert (done.rc, done.out) == (0, "3\n5\n6\n7\n")
    runs = [line.split()[1] for line in done.log if line.startswith("run")]
    assert runs == ["0", "1", "0"], "number in the plugin"


def test_debian_nvptx_plugin_is_asked_without_noise(tmp_path: Path) -> None:
    done = run(tmp_path, compile_program(tmp_path, ONE_REGION), plugins="nvptx")
    assert (done.rc, done.out) == (0, "2\n")
    assert "nvptx" not in done.err or "cannot open shared object" in done.err


IMAGES = (
    "#include <omp.h>"
    + REGISTERING
    + """
int var = 11, dev_var[1] = {500}, link[4] = {1, 2, 3, 4}, dev_number = -1;
int *dev_link;
static void region (void **args) { *(int *) args[0] = dev_var[0] + dev_number; dev_var[0]++; }
static void host_region (void **args) { *(int *) args[0] = -1; }
struct pair pairs[4];
struct image image = {pairs, 4};
void *funcs[1] = {host_region};
void *vars[4] = {&var, (void *) sizeof var, link, (void *) (sizeof link | (uintptr_t) 1 << 63)};
void *table[4] = {funcs, funcs + 1, vars, vars + NVARS};
__attribute__ ((constructor)) static void reg (void) {
  pairs[0] = (struct pair) {(uintptr_t) region, (uintptr_t) region + 1};
  pairs[1] = (struct pair) {(uintptr_t) dev_var, (uintptr_t) (dev_var + 1)};
  pairs[2] = (struct pair) {(uintptr_t) &dev_link, (uintptr_t) (&dev_link + 1)};
  pairs[3] = (struct pair) {(uintptr_t) &dev_number, (uintptr_t) (&dev_number + 1)};
  GOMP_offload_register_ver (VERSION, table, 6, &image);
}
__attribute__ ((destructor)) static void unreg (void) { GOMP_offload_unregister_ver (VERSION, table, 6, &image); }
static int go (int device) {
  int out = 0;
  void *addr[1] = {&out}; size_t size[1] = {sizeof out}; unsigned short kind[1] = {0x203};
  GOMP_target_ext (device, (void (*) (void *)) host_region, 1, addr, size, kind, 0, 0, 0);
  return out;
}
"""
)
IMAGE_MAIN = """
int main (void) {
  int first = go (0), second = go (0);
  printf ("%d %d %d\\n", first, second, go (-2));
  #pragma omp target update from(var)
  printf ("%d\\n", var);
  printf ("%d %d\\n", omp_target_is_present (&var, 0), omp_target_is_present (link, 0));
  #pragma omp target enter data map(to: link[1:2])
  printf ("%d %d\\n", dev_link[1], dev_link[2]);
  #pragma omp target exit data map(release: link[1:2])
  printf ("%d\\n", omp_target_is_present (link + 1, 0));
  GOMP_offload_unregister_ver (VERSION, table, 6, &image);
  printf ("%d\\n", go (0));
  GOMP_offload_register_ver (VERSION, table, 6, &image);
  printf ("%d\\n", go (0));
  return 0;
}
"""


def test_image_life(tmp_path: Path) -> None:
    """Functions, variables, a link variable, the device's number; unloaded and loaded again in use.

    A link variable is present without a map: its pointer is (GCC 16's libgomp.c/omp_target_is_present.c).
    """
    build_plugin(tmp_path, "-DCAPS=4")
    done = run(tmp_path, compile_program(tmp_path, IMAGES + IMAGE_MAIN, "-DVERSION=0", "-DNVARS=4"))
    assert (done.rc, done.out) == (0, "500 501 -1\n502\n1 1\n2 3\n1\n-1\n502\n"), done.err
    assert [line.split()[0] for line in done.log if line.split()[0] in ("init", "load", "unload", "fini")] == [
        *("init", "load", "unload", "load", "fini"),
    ], "no unload after the device is finalised"


@pytest.mark.parametrize(
    ("defines", "message"),
    [
        (
            ["-DVERSION=0x40000", "-DNVARS=4"],
            "Library too old for offload (version 3 < 4): the program was linked by a newer gcc than gompy knows",
        ),
        (["-DVERSION=0", "-DNVARS=0"], "Cannot map target functions or variables (expected 1, have 4)"),
        (["-DVERSION=0", "-DNVARS=4", "-DSHORT"], "Cannot map target variables (size mismatch)"),
    ],
)
def test_image_errors(tmp_path: Path, defines: list[str], message: str) -> None:
    build_plugin(tmp_path, "-DCAPS=4")
    source = IMAGES.replace("(dev_var + 1)}", "((char *) dev_var + 2)}") if "-DSHORT" in defines else IMAGES
    done = run(tmp_path, compile_program(tmp_path, source + IMAGE_MAIN, *defines))
    assert done.rc == 1
    assert f"\nlibgomp: {message}\n" in done.err


def test_fork(tmp_path: Path) -> None:
    """The child never touches the parent's device: it initialises its own, with nothing mapped."""
    build_plugin(tmp_path)
    program = compile_program(
        tmp_path,
        """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main (void) {
  int x = 1, status;
  #pragma omp target data map(tofrom: x)
  {
    if (fork () == 0) {
      if (omp_target_is_present (&x, 0)) _exit (1);
      #pragma omp target map(tofrom: x)
      x += 10;
      if (x != 11) _exit (2);
      exit (0);
    }
    wait (&status);
    if (!omp_target_is_present (&x, 0)) exit (3);
    #pragma omp target map(x)
    x += 100;
  }
  if (fork () == 0) exit (0);
  wait (&status);
  printf ("%d %d\\n", x, status);
  return 0;
}""",
    )
    done = run(tmp_path, program)
    assert (done.rc, done.out) == (0, "101 0\n"), done.err
    pids = {line.split()[3] for line in done.log if line.startswith("init")}
    assert len(pids) == 2
    assert sorted(line.split()[0] for line in done.log if "pid" in line) == ["fini", "fini", "init", "init"]


def test_fork_with_a_plugin_that_serves_no_child(tmp_path: Path) -> None:
    """The child's regions run on the host."""
    build_plugin(tmp_path, "-DNO_CHILD")
    program = compile_program(
        tmp_path,
        """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main (void) {
  int x = 1, status;
  #pragma omp target enter data map(to: x)
  if (fork () == 0) {
    #pragma omp target map(tofrom: x)
    x += 10;
    exit (x == 11 ? 0 : 1);
  }
  wait (&status);
  printf ("%d\\n", status);
  return 0;
}""",
    )
    done = run(tmp_path, program)
    assert (done.rc, done.out) == (0, "0\n"), done.err
    assert "1 on the host: the device does not serve a forked child" in done.err


def test_exit_inside_a_region_of_target_data(tmp_path: Path) -> None:
    build_plugin(tmp_path)
    source = "#include <stdlib.h>\nint main (void) { int x;\n#pragma omp target data map(x)\nexit (7);\n}"
    done = run(tmp_path, compile_program(tmp_path, source))
    assert done.rc == 7
    assert done.log[-1].startswith("fini")


def test_main_returns_while_a_region_runs(tmp_path: Path) -> None:
    """The thread that loses its device does not report it, and the exit status is main's."""
    build_plugin(tmp_path, "-DDIES_AT_EXIT")
    program = compile_program(
        tmp_path,
        """
#include <pthread.h>
#include <unistd.h>
void *work (void *p) {
  #pragma omp target
  { }
  return 0;
}
int main (void) {
  pthread_t t;
  pthread_create (&t, 0, work, 0);
  usleep (50000);
  return 5;
}""",
        "-pthread",
    )
    done = run(tmp_path, program)
    assert done.rc == 5
    assert "device is gone" not in done.err


def test_after_the_device_is_finalised(tmp_path: Path) -> None:
    """Handlers that run after it: regions fall back, mapping does nothing."""
    build_plugin(tmp_path)
    program = compile_program(
        tmp_path,
        """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int x = 1;
void late (void) {
  int where = -1;
  #pragma omp target enter data map(to: x)
  #pragma omp target map(from: where)
  where = omp_is_initial_device ();
  printf ("%d %d\\n", where, omp_target_is_present (&x, 0));
}
int main (void) {
  atexit (late);
  #pragma omp target enter data map(to: x)
  return 0;
}""",
    )
    done = run(tmp_path, program)
    assert (done.rc, done.out) == (0, "1 0\n")
    assert "1 on the host: the device is finalized" in done.stats


def test_null_device(tmp_path: Path) -> None:
    """It runs nothing, and needs an image: without one the region is the host's."""
    done = run(tmp_path, compile_program(tmp_path, ONE_REGION), plugins="null")
    assert (done.rc, done.out) == (0, "2\n")
    assert "0 on device 0 (null), 1 on the host: no image" in done.stats
    assert (LIBGOMPY.parent / "libgomp-plugin-null.so.1").exists()
