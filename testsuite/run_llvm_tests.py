"""`make check-libomptarget`: LLVM's tests of libomptarget by its lit and FileCheck, with gompy's library or LLVM's own.

    run_llvm_tests.py [--llvm 16 | 19] [--stock] [--nvptx | --shared | --plugin | --info | --tools] [-j N]
                      [--filter REGEX]
    run_llvm_tests.py --llvm 19 --ompt [--stock] [-j N]

Failures are compared with testsuite/expected/libomptarget.txt, or libomptarget-nvptx.txt and so on, in both directions.
Those of 19's tests are in libomptarget-19.txt, with its own library in libomptarget-19-stock.txt.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "testsuite")]

from gcc_suite import expected  # noqa: E402
from llvm_suite import info, source, tools  # noqa: E402

from gompy.driver import paths  # noqa: E402

EXPECTED: Final = ROOT / "testsuite" / "expected"
X86: Final = "x86_64-pc-linux-gnu"
NVPTX: Final = "nvptx64-nvidia-cuda"
TARGETS: Final = (
    "x86_64-pc-linux-gnu nvptx64-nvidia-cuda aarch64-unknown-linux-gnu amdgcn-amd-amdhsa"
    " powerpc64le-ibm-linux-gnu powerpc64-ibm-linux-gnu"
)
"""All that the tests' RUN lines name: lit leaves out those of the others."""
SITE: Final = """\
config.test_c_compiler = {clang!r}
config.test_cxx_compiler = {clang!r} + "++"
config.test_compiler_features = ["clang"]
config.test_openmp_flags = "-fopenmp"
config.test_extra_flags = ""
config.cuda_path = config.cuda_libdir = config.cuda_test_arch = ""
config.libomptarget_obj_root = {out!r}
config.library_dir = config.omp_host_rtl_directory = config.llvm_lib_directory = "{libomp}/lib"
config.llvm_library_dir = config.llvm_library_intdir = "{libomp}/lib"
config.omp_header_directory = "{libomp}/lib/clang/{release}/include"
config.test_fortran_compiler = config.amdgpu_test_arch = ""
config.has_libomptarget_ompt = True
config.libomptarget_has_libc = False
config.operating_system = "Linux"
config.libomptarget_all_targets = "{targets}".split()
config.libomptarget_current_target = "{target}"
config.libomptarget_filecheck = "{llvm}/bin/FileCheck"
config.libomptarget_not = "{llvm}/bin/not"
config.libomptarget_debug = False
config.environment.update({environment!r})
lit_config.load_config(config, {tests!r} + "/lit.cfg")
config.available_features |= set({features!r})
"""
GOOD: Final = {"PASS": "PASS", "XFAIL": "XFAIL", "UNSUPPORTED": "UNSUPPORTED", "SKIPPED": "UNSUPPORTED"}


def environment(release: source.Release, stock: bool, kind: str, target: str) -> dict[str, str]:
    """What the tests' programs get: four devices, as LLVM's plugin for this machine has; or the emulated GPU; or the
    device that shares the program's memory; or LLVM's own library, with our devices as its plugin."""
    libomp = str(release.libomp / "lib")
    if kind == "plugin":
        return {"LD_LIBRARY_PATH": f"{paths.LLVMRTLDIR}:{libomp}", "OFFLOAD_EMUL_NUM": "4", "KMP_BLOCKTIME": "0"}
    if stock:
        return {"LD_LIBRARY_PATH": libomp}
    library = f"{paths.LLVMLIBDIR}:{libomp}" if release.beside else paths.LLVMLIBDIR
    if target == NVPTX:
        clang = {"GOMPY_CLANG": str(release.llvm / "bin/clang"), "GOMPY_CLANGXX": str(release.llvm / "bin/clang++")}
        linked = {"LIBRARY_PATH": libomp} if release.beside else {}
        return {"LD_LIBRARY_PATH": library, "GOMPY_CUDA": "emulated", "KMP_BLOCKTIME": "0"} | clang | linked
    if kind == "shared":
        return {"LD_LIBRARY_PATH": library, "GOMPY_SHARED_MEMORY": "1"}
    return {"LD_LIBRARY_PATH": library, "OFFLOAD_EMUL_NUM": "4", "KMP_BLOCKTIME": "0"}


def run_lit(
    release: source.Release,
    tests: Path,
    out: Path,
    given: dict[str, str],
    target: str,
    jobs: int,
    pattern: str,
    features: list[str],
) -> list[tuple[str, str]]:
    """Each test's status and name."""
    out.mkdir(parents=True, exist_ok=True)
    site = SITE.format(
        llvm=release.llvm,
        libomp=release.libomp,
        clang=str(Path(sys.executable).with_name("gompclang") if target == NVPTX else release.llvm / "bin/clang"),
        target=target,
        release=release.number,
        targets=TARGETS,
        out=str(out),
        tests=str(tests),
        environment=given,
        features=features,
    )
    (out / "lit.site.cfg").write_text(site)
    return lit_results(release.llvm, out, out, jobs, pattern)


def run_tools(release: source.Release, out: Path, jobs: int, pattern: str) -> list[tuple[str, str]]:
    """The same of our linker wrapper and our reader of images."""
    wrapper = ROOT / "gompy" / "_native" / "clang" / "clang-linker-wrapper"
    tests = tools.prepare(source.tools_folder(release), out, release.llvm, sys.executable, wrapper)
    return lit_results(release.llvm, tests, out, jobs, pattern)


def lit_results(llvm: Path, tests: Path, out: Path, jobs: int, pattern: str) -> list[tuple[str, str]]:
    """Run lit: each test's status and name."""
    results = out / "results.json"
    results.unlink(missing_ok=True)
    lit = llvm / "build/utils/lit/lit.py"
    command = [sys.executable, str(lit), "-q", "-j", str(jobs), "--output", str(results), str(tests)]
    subprocess.run([*command, *(["--filter", pattern] if pattern else [])])
    if not results.exists():
        return []
    found = [(test["name"].split(" :: ")[-1], test["code"]) for test in json.loads(results.read_text())["tests"]]
    return [(GOOD.get(code, "XPASS" if code == "XPASS" else "FAIL"), name) for name, code in sorted(found)]


def main() -> int:
    """Run, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--stock", action="store_true", help="LLVM's own library")
    parser.add_argument("--tools", action="store_true", help="of clang-linker-wrapper and llvm-objdump --offloading")
    parser.add_argument("--nvptx", action="store_true", help="for nvptx64, on the emulated GPU")
    parser.add_argument("--shared", action="store_true", help="on the device that shares the program's memory")
    parser.add_argument("--plugin", action="store_true", help="LLVM's own library with gompy's devices as its plugin")
    parser.add_argument("--info", action="store_true", help="what LIBOMPTARGET_INFO=-1 tells, beside LLVM's library")
    parser.add_argument("--ompt", action="store_true", help="OMPT's, which LLVM has for GPUs alone, on this machine")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="tests at a time")
    parser.add_argument("--filter", default="", metavar="REGEX", help="tests whose names match")
    parser.add_argument(
        "--llvm", type=int, choices=source.RELEASES, default=source.RELEASE, metavar="N", help="16 or 19: whose tests"
    )
    options = parser.parse_args()
    release = source.RELEASES[options.llvm]
    if release.beside and (options.info or options.plugin):
        parser.error(f"--info and --plugin are for {source.RELEASE}'s tests")
    if options.ompt and not release.beside:
        parser.error("--ompt is for 19's tests: 16's have none")
    part = next((kind for kind in ("tools", "nvptx", "shared", "plugin", "info", "ompt") if getattr(options, kind)), "")
    kind = "llvm-tools" if part == "tools" else f"libomptarget-{part}" if part else "libomptarget"
    kind += f"-{release.number}" if release.beside else ""
    listed = f"{kind}-stock" if options.stock and release.beside else "" if options.stock else kind
    lacking = release.missing()
    if lacking:
        print(f"run_llvm_tests: skipped: not installed: {' '.join(lacking)}", file=sys.stderr)
        return 77
    try:
        tests = source.fetch(release)
        known = expected.read(EXPECTED / f"{listed}.txt") if listed else {}
    except (source.SourceError, expected.ExpectedError) as error:
        print(f"run_llvm_tests: error: {error}", file=sys.stderr)
        return 2
    out = ROOT / "testsuite" / "out" / (f"{kind}-stock" if options.stock else kind)
    target = NVPTX if options.nvptx else X86
    if options.info:
        results = info.run(source.LLVM, tests, out, paths.LLVMLIBDIR, options.j, options.filter)
    elif options.tools:
        results = run_tools(release, out, options.j, options.filter)
    else:
        given = environment(release, options.stock, part, target)
        pattern = options.filter or ("ompt/" if options.ompt else "")
        features = ["gpu"] if options.ompt else []
        results = run_lit(release, tests, out, given, target, options.j, pattern, features)
    if not results:
        print("run_llvm_tests: error: lit has run no test", file=sys.stderr)
        return 2
    counts: dict[str, int] = {}
    for status, _ in results:
        counts[status] = counts.get(status, 0) + 1
    print(f"{'LLVM' if options.stock else 'gompy'}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    difference = expected.compare(known, results)
    for text in difference.unexpected:
        print(f"unexpected {text}")
    for name in difference.gone:
        print(f"not bad any more: {name}")
    return int(bool(difference.unexpected or difference.gone)) if listed else 0


if __name__ == "__main__":
    raise SystemExit(main())
