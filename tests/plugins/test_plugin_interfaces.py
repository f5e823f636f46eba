"""Which interface of libgomp a plugin speaks: that of the runtime that asks; and the stock libgomp with our plugins.

The stock libgomp of this machine is asked, whatever its release, and those that GOMPY_TEST_LIBGOMP names.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, for_preload, has_all, needs
from nvptx_tools import has_compiler, has_stock_plugin, make_tools

from gompy.driver import paths

pytestmark = [has_all, needs("gcc")]
LIB = Path(paths.LIBDIR)
RUNTIME = """
#include <dlfcn.h>
#ifdef THREE
void GOMP_target_map_indirect_ptr (void) {}
#endif
#ifdef TWO
void omp_get_mapped_ptr (void) {}
#endif
unsigned NAME_version (void *plugin)
{
  volatile unsigned answer = ((unsigned (*) (void)) dlsym (plugin, "GOMP_OFFLOAD_version")) ();
  return answer;
}
int NAME_count (void *plugin, unsigned mask)
{
  volatile int answer = ((int (*) (unsigned)) dlsym (plugin, "GOMP_OFFLOAD_get_num_devices")) (mask);
  return answer;
}
"""
ASK = """
#include <dlfcn.h>
#include <stdio.h>
extern unsigned one_version (void *), two_version (void *), three_version (void *);
extern int one_count (void *, unsigned), two_count (void *, unsigned), three_count (void *, unsigned);
int main (int argc, char **argv)
{
  void *p = dlopen (argv[1], RTLD_NOW);
  if (p == NULL)
    return puts (dlerror ()), 1;
  for (char *c = argv[2]; *c; c++)
    {
      unsigned v = *c == '1' ? one_version (p) : *c == '2' ? two_version (p) : three_version (p);
      int (*count) (void *, unsigned) = *c == '1' ? one_count : *c == '2' ? two_count : three_count;
      printf ("%u: %d %d; ", v, count (p, 0), count (p, 0x20));
    }
  puts ("");
  return 0;
}
"""
OPENMP = r"""
#include <omp.h>
#include <stdio.h>
#pragma omp declare target
int factor = 3;
#pragma omp end declare target
int main (void)
{
  enum { N = 1000 };
  static double a[N], b[N];
  int device = -1, later = 0, *p, host[4];
  double sum = 0;
  for (int i = 0; i < N; i++)
    a[i] = i;
  #pragma omp target enter data map(to: a)
  #pragma omp target teams distribute parallel for map(from: b)
  for (int i = 0; i < N; i++)
    b[i] = factor * a[i];
  #pragma omp target map(from: device)
  device = omp_is_initial_device () ? -1 : omp_get_device_num ();
  #pragma omp target nowait map(tofrom: later) depend(out: later)
  later = 5;
  #pragma omp taskwait
  #pragma omp target exit data map(delete: a)
  for (int i = 0; i < N; i++)
    sum += b[i];
  p = omp_target_alloc (sizeof host, 0);
  omp_target_memcpy (p, (int[4]) {9, 8, 7, 6}, sizeof host, 0, 0, 0, omp_get_initial_device ());
  omp_target_memcpy (host, p, sizeof host, 0, 0, omp_get_initial_device (), 0);
  printf ("%d device, on %d, %g %d %d\n", omp_get_num_devices (), device, sum, later, host[3]);
  return 0;
}
"""
OPENACC = r"""
#include <openacc.h>
#include <stdio.h>
int main (void)
{
  enum { N = 1000 };
  static double a[N], b[N], c[N];
  int device = 0;
  double sum = 0;
  for (int i = 0; i < N; i++)
    a[i] = i;
  #pragma acc data copyin(a) copyout(b, c)
  {
    #pragma acc parallel loop present(a, b)
    for (int i = 0; i < N; i++)
      b[i] = 2 * a[i];
    #pragma acc parallel loop async(1)
    for (int i = 0; i < N; i++)
      c[i] = 3 * a[i];
    #pragma acc parallel async(1) copyout(device)
    device = acc_on_device (acc_device_not_host);
    #pragma acc wait
  }
  for (int i = 0; i < N; i++)
    sum += b[i] + c[i];
  printf ("%g, on %d\n", sum, device);
  return 0;
}
"""
SOURCES = {"openmp": OPENMP, "openacc": OPENACC}
RIGHT = {"openmp": "1 device, on 0, 1.4985e+06 5 6\n", "openacc": "2.4975e+06, on 1\n"}


def system_libgomp() -> str:
    """The stock library that programs find."""
    text = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True).stdout.strip()
    return str(Path(text).resolve()) if "/" in text else ""


LIBGOMPS = [path for path in [system_libgomp(), *os.environ.get("GOMPY_TEST_LIBGOMP", "").split(":")] if path]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """Three libraries that ask as libgomp of GCC 12, 13 and 14 does, with a program on them; the two programs."""
    made = make_tools(tmp_path_factory, GOMPY_CUDA="emulated")
    for name, macros in (("one", ()), ("two", ("-DTWO",)), ("three", ("-DTWO", "-DTHREE"))):
        source = made.write(f"{name}.c", RUNTIME.replace("NAME", name))
        made.ok("gcc", "-shared", "-fPIC", *macros, source, "-o", made.work / f"lib{name}.so")
    source = made.write("ask.c", ASK)
    libraries = [made.work / f"lib{name}.so" for name in ("one", "two", "three")]
    made.ok("gcc", source, "-o", made.work / "ask", *libraries, "-ldl", f"-Wl,-rpath,{made.work}")
    return made


def folder_with(made: Tools, name: str, *links: tuple[Path, str]) -> Path:
    """A folder of links to what a program is to find under other names."""
    folder = made.work / name
    folder.mkdir()
    for target, link in links:
        (folder / link).symlink_to(target)
    return folder


@pytest.mark.parametrize("plugin", ["intelmic", "null", "nvptx", "python"])
def test_the_version_is_that_of_who_asks(tools: Tools, plugin: str) -> None:
    """The first that asks decides; another one gets its own version, and no device.  0x20: unified shared memory."""
    path = LIB / f"libgomp-plugin-{plugin}.so.1"
    if not path.exists():
        pytest.skip(f"{path.name} is not built")
    example = Path(__file__).resolve().parent.parent.parent / "examples/python_device/tracer.py"
    env = {"GOMPY_PYTHON_DEVICE": f"{example}:Tracer", "OFFLOAD_EMUL_NUM": "1"}
    if plugin == "nvptx" and not Path(paths.CUDALIBDIR, "libcuda.so.1").exists():
        pytest.skip("the emulated driver is not built")
    for order, answers in {
        "1": "1: 1 1; \n",
        "2": "2: 1 -1; \n",
        "33": "3: 1 -1; 3: 1 -1; \n",
        "13": "1: 1 1; 3: 0 0; \n",
        "31": "3: 1 -1; 1: 0 0; \n",
    }.items():
        assert tools.ok(tools.work / "ask", path, order, env=env) == answers, order


@has_compiler
@has_driver
@has_executor
@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("libgomp", LIBGOMPS)
def test_our_nvptx_plugin_under_the_stock_library(tools: Tools, libgomp: str, language: str) -> None:
    """A program of plain gcc, with nothing of ours but the plugin and the driver."""
    source = tools.write(f"gpu-{language}.c", SOURCES[language])
    program = tools.work / f"gpu-{language}"
    no_ptxas = "-foffload-options=nvptx-none=-Wa,--no-verify"
    tools.ok("gcc", "-O2", f"-f{language}", "-foffload=nvptx-none", no_ptxas, source, "-o", program)
    stock = Path(libgomp).parent
    env = {"LD_LIBRARY_PATH": f"{LIB}:{stock}:{paths.CUDALIBDIR}", "LD_PRELOAD": libgomp, "GOMPY_STATS": "1"}
    done = tools.run(program, env=env)
    assert (done.stdout, done.returncode) == (RIGHT[language], 0), done.stderr
    assert done.stderr == "libgompy: regions: 0 on the host\n"  # it is there, for the plugin is linked to it, but idle


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("libgomp", LIBGOMPS)
def test_the_emulated_mic_under_the_stock_library(tools: Tools, libgomp: str, language: str) -> None:
    """The stock library asks for plugins of fixed names: it finds the emulated MIC under that of another."""
    links = [(path, path.name) for path in LIB.iterdir() if not path.name.startswith("libgomp-plugin-")]
    name = f"mic-{language}-{LIBGOMPS.index(libgomp)}"
    folder = folder_with(tools, name, *links, (LIB / "libgomp-plugin-intelmic.so.1", "libgomp-plugin-gcn.so.1"))
    source = tools.write(f"{name}.c", SOURCES[language])
    program = tools.work / f"{name}.out"
    tools.ok("gompcc", "-O2", f"-f{language}", "-foffload=intelmic", source, "-o", program)
    done = tools.run(program, env={"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": libgomp})
    assert (done.stdout, done.returncode) == (RIGHT[language], 0), done.stderr


@has_compiler
@has_driver
@has_executor
@pytest.mark.skipif(not has_stock_plugin(), reason="libgomp-plugin-nvptx1 is not installed")
@pytest.mark.parametrize("language", SOURCES)
def test_the_stock_plugin_under_libgompy(tools: Tools, language: str) -> None:
    """GCC's own nvptx plugin, of the system's release, on the emulated driver."""
    links = [(LIB / name, name) for name in ("libgompy.so.1",)]
    folder = tools.work / f"behind-{language}"
    folder.mkdir()
    for target, name in links:
        (folder / name).write_bytes(target.read_bytes())
    source = tools.write(f"stock-{language}.c", SOURCES[language])
    program = tools.work / f"stock-{language}"
    no_ptxas = "-foffload-options=nvptx-none=-Wa,--no-verify"
    tools.ok("gcc", "-O2", f"-f{language}", "-foffload=nvptx-none", no_ptxas, source, "-o", program)
    library = for_preload(folder / "libgompy.so.1", tools.work)
    env = {"LD_PRELOAD": library, "LD_LIBRARY_PATH": paths.CUDALIBDIR, "GOMPY_STATS": "1"}
    done = tools.run(program, env=env)
    assert (done.stdout, done.returncode) == (RIGHT[language], 0), done.stderr
    assert "libgompy: regions: 3 on device 0 (nvptx)" in done.stderr
