"""Effective targets: what the compiler and the machine can do, found by small programs.

Source: GCC 12 gcc/testsuite/lib/target-supports.exp, libgomp/testsuite/lib/libgomp.exp.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

_ALWAYS_TRUE = frozenset(
    (
        *(
            "lp64",
            "alias",
            "size32plus",
            "shared",
            "tls",
            "pthread",
            "sync_int_long",
            "__float128",
            "offloading_enabled",
        ),
        *("fopenmp", "fopenacc", "int128", "int32plus", "le", "pie", "dlopen", "mmap", "glibc", "gld", "gas", "static"),
        *("exceptions", "global_constructor", "init_priority", "c99_runtime", "stdint_types", "alloca", "signal"),
        *("native", "cxa_atexit"),
    )
)
_ALWAYS_FALSE = frozenset(
    (
        *("ia32", "ilp32", "c", "c++", "aarch64_tiny", "openacc_host_selected", "openacc_nvidia_accel_selected"),
        *("openacc_radeon_accel_selected", "openacc_cuda", "openacc_cudart", "openacc_cublas", "openacc_libcudart"),
        *("openacc_libcublas", "offload_device_gcn", "gomp_hipblas", "gomp_libhipblas", "omp_usm", "openacc_libcuda"),
        *("gomp_libamdhip64", "gomp_hip_header_nvidia", "gomp_hipfort_module", "arm_eabi"),
        *("offload_target_amdgcn_with_xnack", "offload_target_amdgcn_offload_malloc", "gomp_hip_header_amd"),
    )
)
_CPU_FLAGS = {"sse2_runtime": "sse2", "avx_runtime": "avx", "vect_simd_clones": "avx512f"}

_PROBES = {
    "offload_device": """
#include <omp.h>
int main () { int a; _Pragma ("omp target map(from: a)") a = omp_is_initial_device (); return a; }
""",
    "offload_device_nonshared_as": """
int main () { int a = 8; _Pragma ("omp target map(to: a)") a++; return a != 8; }
""",
    "offload_device_shared_as": """
int main () { int x = 10; _Pragma ("omp target map(to: x)") x++; return x == 10; }
""",
    "offload_device_any_intel_mic": """
#include <omp.h>
int mic (void) { return 0; }
#pragma omp declare variant (mic) match(construct={target},device={arch(intel_mic)})
int arch (void) { return 1; }
int main ()
{
  for (int d = 0; d < omp_get_num_devices (); d++)
    {
      int r = 1;
      _Pragma ("omp target map(from: r) device(d)") r = arch ();
      if (!r) return 0;
    }
  return 1;
}
""",
    "offload_device_nvptx": """
int nvptx (void) { return 0; }
#pragma omp declare variant (nvptx) match(construct={target},device={arch(nvptx)})
int arch (void) { return 1; }
int main () { int r = 1; _Pragma ("omp target map(from: r)") r = arch (); return r; }
""",
    "omp_managedmem": """
#include <omp.h>
int main ()
{
  const omp_alloctrait_t traits[] = { { omp_atk_fallback, omp_atv_null_fb } };
  return omp_alloc (16, omp_init_allocator (ompx_gnu_managed_mem_space, 1, traits)) == 0;
}
""",
    "openacc_nvidia_accel_present": """
#include <openacc.h>
int main () { return !(acc_get_num_devices (acc_device_nvidia) > 0); }
""",
    "openacc_radeon_accel_present": """
#include <openacc.h>
int main () { return !(acc_get_num_devices (acc_device_radeon) > 0); }
""",
    "tls_runtime": "__thread int i; int main () { return i; }\n",
    "weak_undefined": "extern void foo () __attribute__((weak)); int main () { if (foo) return 1; return 0; }\n",
    "large_long_double": "int dummy[sizeof (long double) > sizeof (double) ? 1 : -1]; int main () { return 0; }\n",
    "fpic": "#if !defined __PIC__\n#error no PIC\n#endif\nint main () { return 0; }\n",
    "lto": "int main () { return 0; }\n",
    "fd_truncate": """
#include <unistd.h>
#include <stdio.h>
int main () { FILE *f = tmpfile (); return !f || ftruncate (fileno (f), 4096) != 0; }
""",
}
_PROBES["nonstandard_math_functions"] = """
#include <math.h>
int main () { double y = gamma (42.0) + __builtin_scalb (42.0, 2.0); return y == __builtin_significand (y); }
"""
_PROBE_FLAGS = {
    "fpic": ["-fPIC"],
    "lto": ["-flto"],
    "nonstandard_math_functions": ["-lm"],
    "openacc_nvidia_accel_present": ["-fopenacc"],
    "openacc_radeon_accel_present": ["-fopenacc"],
}
_ACC_SELECTED = {
    "openacc_host_selected": ("host", ""),
    "openacc_nvidia_accel_selected": ("nvidia", "openacc_nvidia_accel_present"),
    "openacc_radeon_accel_selected": ("radeon", "openacc_radeon_accel_present"),
}
"""Of OpenACC's drivers: the device type that is to be theirs, and what has to hold besides."""


_NOTHING: Mapping[str, str] = {}
_PLUGINS = {"nvidia": "nvptx"}


def with_plugin(acc_type: str) -> dict[str, str]:
    """What has libgompy load the plugin of OpenACC's device type for a program without an image, as libgomp does.

    Of itself it loads the emulated MIC's then.
    """
    return {"GOMPY_PLUGINS": _PLUGINS[acc_type]} if acc_type in _PLUGINS else {}


class EffectiveTargets:
    """The oracle for selectors: ``keyword (word, flags)``, None for a word that is no effective target.

    compiler: the command.  always: options of every compilation.  Answers are kept; safe to call from several threads.
    """

    def __init__(self, compiler: Sequence[str], always: Sequence[str], environment: dict[str, str]) -> None:
        self.compiler = list(compiler)
        self.always = list(always)
        self.environment = environment
        self._known: dict[object, bool] = {}
        self._lock = threading.RLock()

    def keyword(self, word: str, flags: Sequence[str]) -> bool | None:
        """Whether the effective target holds."""
        if word in _ALWAYS_TRUE:
            return True
        if word in _ALWAYS_FALSE:
            return False
        if word in _CPU_FLAGS:
            return _CPU_FLAGS[word] in _cpu_flags()
        if word == "run_expensive_tests":
            return bool(os.environ.get("GCC_TEST_RUN_EXPENSIVE"))
        if word == "__OPTIMIZE__":
            return self._remember(("optimize", *_only(flags, "-O")), lambda: self._defines(_only(flags, "-O"), word))
        if word in ("offload_target_nvptx", "offload_target_amdgcn", "offload_target_any"):
            chosen = _only(flags, "-foffload")
            name = {"nvptx": "nvptx", "amdgcn": "amdgcn", "any": "="}[word.rpartition("_")[2]]
            return self._remember((word, *chosen), lambda: name in self._offload_names(chosen))
        if word in _PROBES:
            return self._remember(word, lambda: self._runs(word))
        return None

    def acc_keyword(self, acc_type: str, language: str, word: str, flags: Sequence[str]) -> bool | None:
        """Whether the effective target holds in OpenACC's drivers: acc_type is the device's, language the driver's."""
        if word in _ACC_SELECTED:
            selected, present = _ACC_SELECTED[word]
            return acc_type == selected and (not present or bool(self.keyword(present, flags)))
        if word in ("c", "c++") and language != "fortran":
            return word == language
        return self.keyword(word, flags)

    def _remember(self, key: object, answer: object) -> bool:
        with self._lock:
            if key not in self._known:
                assert callable(answer)
                self._known[key] = bool(answer())
            return self._known[key]

    def _run(
        self, command: Sequence[str], directory: str | None = None, besides: Mapping[str, str] = _NOTHING
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**besides, **self.environment},
            cwd=directory,
            timeout=300,
        )

    def _runs(self, word: str) -> bool:
        with tempfile.TemporaryDirectory(prefix="gompy-probe-") as directory:
            source = Path(directory) / f"{word}.c"
            source.write_text(_PROBES[word])
            flags = ["-fopenmp", *_PROBE_FLAGS.get(word, [])]
            built = self._run([*self.compiler, str(source), *self.always, *flags, "-o", f"{source}.exe"], directory)
            if built.returncode or built.stdout:
                return False
            plugin = with_plugin("nvidia") if word == "openacc_nvidia_accel_present" else {}
            try:
                return self._run([f"{source}.exe"], directory, plugin).returncode == 0
            except subprocess.TimeoutExpired:
                return False

    def _defines(self, flags: Sequence[str], macro: str) -> bool:
        shown = self._run([*self.compiler, *flags, "-dM", "-E", "-x", "c", "/dev/null"])
        return f"#define {macro} " in shown.stdout

    def _offload_names(self, flags: Sequence[str]) -> str:
        shown = self._run([*self.compiler, "-v", "-fopenmp", *flags])
        return " ".join(t for t in shown.stdout.splitlines() if "OFFLOAD_TARGET_NAMES=" in t)


def _only(flags: Sequence[str], prefix: str) -> list[str]:
    return [flag for flag in flags if flag.startswith(prefix)]


def _cpu_flags() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    for line in text.splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()
