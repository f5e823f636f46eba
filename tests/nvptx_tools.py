"""Help for the nvptx tests: a CUDA driver that records what is asked of it, and programs for it.

The driver's memory is malloc'ed.  A launch stores 77 into the first int that its argument block points to.
Environment: FAKE_DEVICES, FAKE_LOG (a file: one line for each call), FAKE_FAIL (``function=error``),
FAKE_LATER (what every call after that returns), FAKE_MEMORY (bytes
that may be allocated at once), FAKE_DEEP (the linker cannot tell how deep stacks get).
In a callback every function returns CUDA_ERROR_NOT_PERMITTED.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, make_wrappers

NVPTX = "nvptx-none"
REGISTERED = r"""
#include <stdint.h>
#include <stdio.h>
struct code { const char *text; size_t size; };
struct launch { const char *name; unsigned short dims[4]; };
extern void GOMP_offload_register_ver (unsigned, const void *, int, const void *);
extern void GOMP_offload_unregister_ver (unsigned, const void *, int, const void *);
extern void GOMP_target_ext (int, void (*) (void *), size_t, void **, size_t *, unsigned short *, unsigned, void **,
                             void **);
static const char ptx[] = PTX;
static struct code codes[1] = {{ptx, sizeof ptx}};
struct registered { uintptr_t mask; struct code *codes; unsigned n_codes; const char **vars; unsigned n_vars;
                    struct launch *launches; unsigned n_launches, n_indirect; };
"""
"""How a C program registers the image PTX by itself, behind the mask of `omp requires` that GCC 13 added."""
PTXAS = r"""#!/bin/sh
# A ptxas as CUDA 13's: it has forgotten the old architectures.
for word; do case $word in *sm_30*|*sm_35*)
  echo "ptxas fatal   : Value 'sm_35' is not defined for option 'gpu-name'" >&2; exit 255;; esac; done
exit 0
"""


def make_tools(factory: pytest.TempPathFactory, **env: str) -> Tools:
    """The compilers in a folder of their own, and these variables."""
    made = Tools(make_wrappers(factory.mktemp("bin")), factory.mktemp("work"))
    made.env |= {"LC_ALL": "C", **env}
    return made


def stock_file(tool: str) -> str:
    """A program of gcc's: its path, or its name alone if it is not there."""
    return subprocess.run(["gcc", f"-print-prog-name={tool}"], capture_output=True, text=True).stdout.strip()


def found(tool: str) -> bool:
    """Whether gcc has a file for the nvptx target."""
    answer = stock_file(tool)
    return "/" in answer and Path(answer).exists()


has_compiler = pytest.mark.skipif(
    not (shutil.which("gcc") and found(f"accel/{NVPTX}/mkoffload")), reason="gcc-12-offload-nvptx is not installed"
)


def stock_is_gcc_12() -> bool:
    """Whether the libgomp that programs find has gcc 12's interface for plugins, as the test's own plugin has."""
    import ctypes

    try:
        return not hasattr(ctypes.CDLL("libgomp.so.1"), "omp_get_mapped_ptr")
    except OSError:
        return False


under_stock = pytest.mark.skipif(not stock_is_gcc_12(), reason="libgomp.so.1 is newer than gcc 12: so are its plugins")


def has_stock_plugin() -> bool:
    """Whether the dynamic linker finds GCC's own plugin."""
    try:
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return False
    return "libgomp-plugin-nvptx.so.1" in listed


CUDA = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long long ptr;
static FILE *file;
static __thread int context;  /* 1 + device */
static int module, sticky;
static __thread int in_callback;
static size_t stack = 1024;
static ptr bases[4096]; static size_t sizes[4096];
static size_t total, limit;
static int fails (const char *name)
{
  const char *f = getenv ("FAKE_FAIL");
  size_t n = strlen (name);
  if (!file && getenv ("FAKE_LOG"))
    file = fopen (getenv ("FAKE_LOG"), "a");
  if (file) { fprintf (file, "%s%s\n", name, in_callback ? " in a callback" : ""); fflush (file); }
  if (in_callback) return 800;
  if (sticky && getenv ("FAKE_LATER")) return atoi (getenv ("FAKE_LATER"));
  sticky = f && !strncmp (f, name, n) && f[n] == '=' ? atoi (f + n + 1) : 0;
  return sticky;
}
#define CALL do { int error = fails (__func__); if (error) return error; } while (0)
#define OK { CALL; return 0; }
static int take (ptr *p, size_t n)
{
  int i = 0;
  limit = getenv ("FAKE_MEMORY") ? atol (getenv ("FAKE_MEMORY")) : 1L << 30;
  if (total + n > limit) return 2;
  while (bases[i]) i++;
  bases[i] = (ptr) (uintptr_t) aligned_alloc (512, (n + 511) & ~511);
  sizes[i] = n; total += n; *p = bases[i];
  return 0;
}
static int inside (ptr p, size_t n)
{
  for (int i = 0; i < 4096; i++)
    if (bases[i] && p >= bases[i] && p + n <= bases[i] + sizes[i]) return 1;
  return 0;
}
int cuInit (unsigned f) OK
int cuDriverGetVersion (int *v) { CALL; *v = 12040; return 0; }
int cuDeviceGetCount (int *n) { CALL; *n = getenv ("FAKE_DEVICES") ? atoi (getenv ("FAKE_DEVICES")) : 1; return 0; }
int cuDeviceGet (int *d, int n) { CALL; *d = n; return 0; }
int cuDeviceGetName (char *s, int n, int d) { CALL; snprintf (s, n, "recorder %d", d); return 0; }
int cuDeviceTotalMem_v2 (size_t *n, int d) { CALL; *n = 1 << 30; return 0; }
int cuMemGetInfo_v2 (size_t *a, size_t *b) { CALL; *b = 1 << 30; *a = *b - total; return 0; }
int cuDeviceGetAttribute (int *v, int a, int d)
{ CALL; *v = a == 10 ? 32 : a == 1 ? 1024 : a == 39 ? 2048 : a == 12 || a == 82 ? 65536 : a == 16 ? 2 : 1; return 0; }
int cuCtxGetDevice (int *d) { CALL; if (!context) return 201; *d = context - 1; return 0; }
int cuCtxGetCurrent (void **c) { CALL; *c = (void *) (uintptr_t) context; return 0; }
int cuCtxCreate_v2 (void **c, unsigned f, int d) { CALL; context = 1 + d; *c = (void *) (uintptr_t) context; return 0; }
int cuCtxPushCurrent_v2 (void *c) { CALL; context = (int) (uintptr_t) c; return 0; }
int cuCtxPopCurrent_v2 (void **c) { CALL; *c = (void *) (uintptr_t) context; context = 0; return 0; }
int cuDevicePrimaryCtxRetain (void **c, int d) { CALL; *c = (void *) (uintptr_t) (1 + d); return 0; }
int cuDevicePrimaryCtxRelease_v2 (int d) OK
int cuCtxSetCurrent (void *c) { CALL; context = (int) (uintptr_t) c; return 0; }
int cuCtxSetLimit (int w, size_t n) { CALL; if (file) fprintf (file, "limit %d %zu\n", w, n); stack = n; return 0; }
int cuCtxGetLimit (size_t *n, int w) { CALL; *n = stack; return 0; }
int cuCtxDestroy_v2 (void *c) { CALL; context = 0; return 0; }
int cuCtxSynchronize (void) OK
int cuLinkCreate_v2 (unsigned n, int *o, void **v, void **s)
{ for (unsigned i = 0; i < n; i++) { if (o[i] == 7 && file) fprintf (file, "level %d\n", (int) (uintptr_t) v[i]);
    if (o[i] == 5) strcpy (v[i], "line 3: what is this");
    if (o[i] == 3 && getenv ("FAKE_DEEP")) strcpy (v[i], "warning : Stack size for entry function 'f' cannot be "
                                                         "statically determined"); }
  CALL; *s = &module; return 0; }
int cuLinkAddData_v2 (void *s, int t, void *d, size_t n, const char *f, unsigned k, int *o, void **v)
{ CALL; return t == 1 && strlen (d) + 1 == n ? 0 : 1; }
int cuLinkComplete (void *s, void **image, size_t *n) { CALL; *image = &module; *n = 8; return 0; }
int cuLinkDestroy (void *s) OK
int cuModuleLoadData (void **m, const void *i) { CALL; *m = &module; return 0; }
int cuModuleUnload (void *m) OK
int cuModuleGetFunction (void **f, void *m, const char *name) { CALL; *f = strdup (name); return 0; }
int cuFuncGetAttribute (int *v, int a, void *f) { CALL; *v = a == 4 ? 32 : 1024; return 0; }
int cuModuleGetGlobal_v2 (ptr *p, size_t *n, void *m, const char *name)
{ CALL; ptr q; if (name[0] == '_') return 500; take (&q, 4); if (p) *p = q; if (n) *n = 4; return 0; }
int cuMemAlloc_v2 (ptr *p, size_t n) { CALL; return n ? take (p, n) : 1; }
int cuMemFree_v2 (ptr p)
{ CALL; for (int i = 0; i < 4096; i++)
    if (bases[i] == p) { free ((void *) (uintptr_t) p); bases[i] = 0; total -= sizes[i]; return 0; }
  return 1; }
int cuMemGetAddressRange_v2 (ptr *b, size_t *n, ptr p)
{ CALL; for (int i = 0; i < 4096; i++)
    if (bases[i] && p - bases[i] < sizes[i]) { if (b) *b = bases[i]; if (n) *n = sizes[i]; return 0; }
  return 1; }
#define COPY(name, D, S, checked, ...) \
  int name (D d, S s, size_t n __VA_ARGS__) \
  { CALL; if (!inside ((ptr) (uintptr_t) checked, n)) return 1; \
    memcpy ((void *) (uintptr_t) d, (void *) (uintptr_t) s, n); return 0; }
COPY (cuMemcpyHtoD_v2, ptr, const void *, d)
COPY (cuMemcpyDtoH_v2, void *, ptr, s)
COPY (cuMemcpyHtoDAsync_v2, ptr, const void *, d, , void *q)
COPY (cuMemcpyDtoHAsync_v2, void *, ptr, s, , void *q)
COPY (cuMemcpyDtoDAsync_v2, ptr, ptr, d, , void *q)
int cuLaunchKernel (void *f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                    void *stream, void **params, void **extra)
{
  ptr *block = params ? params[0] : (ptr *) extra[1];
  if (file) fprintf (file, "launch %s grid %u block %u,%u stream %p%s\n", (char *) f, x, bx, by, stream,
                     params ? "" : *(size_t *) extra[3] == 24 && block[2] == 131072 ? " stacks" : " wrong");
  CALL;
  for (int i = 0; i < 2; i++)
    {
      ptr *word = (ptr *) (uintptr_t) block[0] + i;
      if (inside ((ptr) (uintptr_t) word, 8) && inside (*word, 4)) { *(int *) (uintptr_t) *word = 77; break; }
    }
  return 0;
}
static ptr streams = 16;
int cuStreamCreate (void **s, unsigned f) { CALL; *s = (void *) (uintptr_t) streams++; return 0; }
int cuStreamDestroy_v2 (void *s) OK
int cuStreamQuery (void *s) OK
int cuStreamSynchronize (void *s) OK
int cuStreamAddCallback (void *s, void (*f) (void *, int, void *), void *d, unsigned u)
{ CALL; in_callback = 1; f (s, 0, d); in_callback = 0; return 0; }
int cuStreamWaitEvent (void *s, void *e, unsigned f) OK
int cuEventCreate (void **e, unsigned f) { CALL; *e = &module; return 0; }
int cuEventRecord (void *e, void *s) OK
int cuEventQuery (void *e) OK
int cuEventDestroy_v2 (void *e) OK
int cuGetErrorString (int e, const char **s)
{ *s = e == 719 ? "unspecified launch failure" : e == 2 ? "out of memory" : e == 1 ? "invalid argument" : "trouble";
  return 0; }
int cuGetErrorName (int e, const char **s)
{ *s = e == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
       : e == 1 ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_TROUBLE"; return 0; }
"""
UNUSED = """cuEventElapsedTime cuEventSynchronize cuMemAllocHost_v2 cuMemFreeHost cuMemcpy cuMemHostGetDevicePointer_v2
cuModuleLoad cuLinkAddData cuLinkCreate"""


def build_driver(tools: Tools, folder: Path, source: str = CUDA) -> Path:
    """A folder with a libcuda.so.1 that also has what only GCC's plugin asks for."""
    folder.mkdir(parents=True, exist_ok=True)
    functions = "".join(f"int {name} (void) {{ return 999; }}\n" for name in UNUSED.split())
    (folder / "cuda.c").write_text(source + functions)
    tools.ok("gcc", "-O1", "-shared", "-fPIC", "-w", folder / "cuda.c", "-o", folder / "libcuda.so.1")
    return folder
