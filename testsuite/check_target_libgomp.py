#!/usr/bin/env python3
"""Run GCC 12's libgomp testsuite under DejaGnu, by GCC's own .exp files: ``make check-target-libgomp``.

Exit status: 0 if the results differ from the kept list in nothing, 1 if they do, 2 if the suite cannot be run.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import resource
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parent)) if path not in sys.path]

from dejagnu import expectation, log, report, site, suite, workers  # noqa: E402
from gcc_suite import gangs  # noqa: E402

PROGRAM = "check-target-libgomp"
REST = "without-offloading.txt"
"""The kept list of the tests without offloading, the same for every compiler."""
Entries = list[expectation.Entry]


def arguments() -> argparse.Namespace:
    """The command line; what make passes has the names of make's variables."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="GCC 12's libgomp testsuite under DejaGnu.")
    parser.add_argument("--cc", default="gompcc", help="compiler command, with options if need be (default: gompcc)")
    parser.add_argument("--all", action="store_true", help="also tests without offloading (ALL=1)")
    parser.add_argument("--rest", action="store_true", help="only tests without offloading (ALL=rest)")
    parser.add_argument("--runtestflags", default="", help='RUNTESTFLAGS, such as "c.exp=target-*.c"')
    parser.add_argument("--offload-target", choices=sorted(site.TARGETS), default="intelmic", help="OFFLOAD_TARGET")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: cores)")
    parser.add_argument("--dirs", default="", help="only these drivers, such as libgomp.c,libgomp.fortran")
    parser.add_argument(
        "--expected", help="a list of testsuite/expected/dejagnu, a path, or none (default: by compiler)"
    )
    parser.add_argument("--out", type=Path, default=HERE / "out" / "dejagnu", help="where the results go")
    parser.add_argument("--source", type=Path, help="GCC's source tree (default: Debian's gcc-12-source)")
    parser.add_argument("--timeout", type=int, default=0, help="seconds for a compilation or run (default: GCC's 300)")
    parser.add_argument("--levels", default="", help="only option sets with these levels, such as 0,2 for -O0 and -O2")
    parser.add_argument("--skip", default="", metavar="A,B", help="leave out tests whose file name matches a pattern")
    parser.add_argument("--device-only", action="store_true", help="OpenACC: without the pass for the host")
    return parser.parse_args()


def compiler_command(text: str) -> list[str]:
    """The compiler as words, its program as an absolute path: the tests run elsewhere.  Raises SuiteError."""
    words = shlex.split(text) or ["gompcc"]
    beside = Path(sys.executable).parent / words[0]
    found = str(beside) if words[0].startswith("gomp") and beside.exists() else shutil.which(words[0])
    if not found:
        raise suite.SuiteError(f"{words[0]}: no such compiler")
    words[0] = os.path.abspath(found)
    return words


def list_name(compiler: list[str], target: str) -> str:
    """The kept list for a compiler: by its name, the target, and for ours the accelerator compiler."""
    if not Path(compiler[0]).name.startswith("gomp"):
        return f"stock-{target}"
    return f"{target}-{os.environ.get('GOMPY_ACCEL', 'gcc')}" if target == "intelmic" else target


def expectations(choice: str | None, compiler: list[str], options: argparse.Namespace) -> tuple[str, Entries]:
    """The list's name; its entries, and those of tests without offloading if these run.  Raises ExpectationError."""
    lists = HERE / "expected" / "dejagnu"
    name = choice or list_name(compiler, options.offload_target)
    if name == "none":
        return name, []
    path = Path(name) if "/" in name else lists / f"{name}.txt"
    if choice is None and not path.exists():
        return "none", []
    entries = expectation.read(path) + (expectation.read(lists / REST) if options.all or options.rest else [])
    many = options.offload_target == "intelmic" and gangs.are_many(compiler[0])
    return str(path), [entry for entry in entries if gangs.holds(entry.reason, many)]


def offloading(root: Path) -> set[str]:
    """Tests with offloading, as results name them (log.Result.file)."""
    suite_ = root / "libgomp" / "testsuite"
    return {
        f"{driver.directory}/{os.path.relpath(path, suite_ / driver.directory)}"
        for driver in suite.DRIVERS
        for path in suite.tests_of(root, driver)
        if suite.offloads(driver, path)
    }


def select(root: Path, options: argparse.Namespace, file: Path) -> tuple[int, Path | None]:
    """Write drivers and paths of the tests to run; how often tests will be begun, and the file (None: all tests)."""
    names = set(filter(None, options.dirs.split(",")))
    unknown = names - {driver.directory for driver in suite.DRIVERS}
    if unknown:
        raise suite.SuiteError(f"--dirs: {', '.join(sorted(unknown))}: no such directory of tests")
    drivers = [driver for driver in suite.DRIVERS if not names or driver.directory in names]
    skip = [pattern for pattern in options.skip.split(",") if pattern]
    total = 0
    chosen: list[str] = []
    for driver in drivers:
        paths = [
            path for path in suite.tests_of(root, driver) if options.all or suite.offloads(driver, path) != options.rest
        ]
        paths = [path for path in paths if not any(fnmatch.fnmatch(path.name, pattern) for pattern in skip)]
        chosen += [f"{driver.directory}:{path}" for path in paths]
        # OpenACC's drivers go through their tests for each offload target and once more for the host.
        passes = bool(site.TARGETS[options.offload_target]) + (not options.device_only)
        total += len(paths) * (passes if driver.openacc else 1)
    if options.all and not names and not skip:
        return total, None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in chosen))
    return total, file


def run(options: argparse.Namespace) -> int:
    """Fetch, run, merge, report, compare."""
    begin = time.monotonic()
    compiler = compiler_command(options.cc)
    name, known = expectations(options.expected, compiler, options)
    missing = suite.missing_packages(need_source=options.source is None)
    if missing:
        suite.install(missing)
    root = suite.root_of(options.source) if options.source else suite.root()
    out: Path = options.out.resolve()
    total, selection = select(root, options, out / "selection")
    flags = shlex.split(options.runtestflags)
    where = site.Site(
        root / "libgomp" / "testsuite",
        shlex.join(compiler),
        options.offload_target,
        selection,
        options.timeout,
        levels=tuple(f"-O{level}" for level in filter(None, options.levels.split(","))),
        device_only=options.device_only,
    )
    progress = workers.Progress(0 if flags else total, lambda line: print(line, flush=True))
    folders = workers.run(where, out / "work", max(1, options.j), flags, progress)
    workers.merge(root / "contrib", folders, out)
    results = log.read(out / "libgomp.log")
    if not results:
        raise suite.SuiteError("no test was run; do RUNTESTFLAGS name one?")
    report.junit(results, out / "libgomp.xml")
    idle = report.never_launched(results)
    (out / "never-launched.txt").write_text("".join(f"{line}\n" for line in idle))
    print(f"\n{report.table(results)}\n")
    if options.offload_target != "disable":
        print(f"passed without a region known to have run on the device: {len(idle)}, see never-launched.txt")
    launches = name != "none" and where.counts_launches
    difference = expectation.compare(known, results, launches and offloading(root))
    for line in difference.unexpected:
        print(f"unexpected: {line}")
    for line in difference.gone:
        print(f"expected otherwise: {line}")
    shutil.rmtree(out / "work", ignore_errors=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = f"{time.monotonic() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time"
    print(f"{out}: libgomp.sum, libgomp.log, libgomp.xml; compared with {name}; {spent}")
    return 1 if difference else 0


def main() -> int:
    """The program; errors are one line."""
    options = arguments()
    # Python's end kills the processes: TERM is to have one too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run(options)
    except (suite.SuiteError, workers.WorkerError, expectation.ExpectationError) as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{PROGRAM}: error: {error.filename or ''}: {error.strerror}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
