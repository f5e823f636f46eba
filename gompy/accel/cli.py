"""``gompy accel build|list|remove|test``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from gompy.accel.errors import AccelError
from gompy.accel.folders import needed_store, own_store, work_base
from gompy.objects.names import TARGET_INTELMIC
from gompy.tools import accelstore as store
from gompy.tools.helptext import Parser
from gompy.tools.linkcompiler import KEPT_IN, accel_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.accel.host import Host

EPILOG = """\
The accelerator compiler is GCC's lto1 for x86_64-intelmicemul-linux-gnu, built from the source of the very compiler
that GOMPY_CC is.  With it, target regions in objects of plain gcc run on the emulated device, and declare variant and
declare target link work as on any device.  GOMPY_ACCEL=auto|gcc|true says which one a link takes (auto: this one where
it is built, else gcc's own lto1).
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = Parser(
        prog="gompy accel",
        description="Build and keep the accelerator compiler of the emulated device.",
        epilog=EPILOG,
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="build it for the compiler in use (about five minutes on two cores)")
    build.add_argument(
        "--jobs", "-j", type=positive, default=0, metavar="N", help="compile N files at a time (default: all cores)"
    )
    build.add_argument(
        "--prefix", type=Path, metavar="DIR", help="install to DIR/share (default: the user's data folder)"
    )
    build.add_argument(
        "--source",
        type=Path,
        metavar="DIR",
        help="an unpacked GCC source tree (default: the distribution's source package)",
    )
    build.add_argument(
        "--openacc", action="store_true", help="build only the plugin that gives OpenACC regions gangs (seconds)"
    )
    build.add_argument(
        "--check", action="store_true", help="build only the plugin that makes -foffload-check fast (seconds)"
    )
    build.add_argument("--force", action="store_true", help="build it even if it is there")
    commands.add_parser("list", help="show those that are built")
    remove = commands.add_parser("remove", help="delete one, or that of the compiler in use")
    remove.add_argument("name", nargs="?", help="its name, as 'gompy accel list' shows it")
    remove.add_argument("--all", action="store_true", help="delete all of the user's, and what unfinished builds left")
    commands.add_parser("test", help="compile with plain gcc, link with gompcc, run on the device")
    return main


def positive(text: str) -> int:
    """An argument that counts."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    options = parser().parse_args(arguments)
    try:
        action = {"build": build, "list": show, "remove": remove, "test": test}[options.command]
        return action(options)
    except AccelError as error:
        print(f"gompy accel: error: {error.message}", file=sys.stderr)
        for note in error.notes:
            print(f"  {note}", file=sys.stderr)
        return 1
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"gompy accel: error: {what}", file=sys.stderr)
        return 1


def build(options: argparse.Namespace) -> int:
    """``gompy accel build``."""
    from gompy.accel import host, progress, source
    from gompy.accel.build import Build, Plan, Stopped

    compiler = host.choose()
    folder = options.prefix.absolute() / "share" / KEPT_IN if options.prefix else needed_store()
    if options.openacc:
        return build_plugin(compiler, folder, store.OPENACC, options.force)
    if options.check:
        return build_plugin(compiler, folder, store.LOOPS, options.force)
    there = store.find(compiler.identity, [str(folder)])
    if there is not None and not options.force:
        print(f"{there.path}: the accelerator compiler for {compiler.title} is built already")
        return 0
    tree = options.source.absolute() if options.source else None
    if tree is not None and not source.is_source_tree(tree, compiler):
        raise AccelError(
            f"{tree}: not a source tree of GCC {compiler.major}"
            + (f" with the target {TARGET_INTELMIC}" if compiler.has_target else "")
        )
    plan = Plan(compiler, options.jobs or len(os.sched_getaffinity(0)), folder, tree)
    shown = progress.make()
    try:
        done = Build(plan, shown).run()
    except Stopped as stopped:
        shown.close()
        print("gompy accel: interrupted; 'gompy accel build' goes on from here", file=sys.stderr)
        return 128 + stopped.number
    finally:
        shown.close()
    print(f"{done.lto1}: built in {done.conf['seconds']} s for {compiler.title}")
    if str(folder) not in accel_folders():
        print(f"to use it, put {folder.parent.parent} into XDG_DATA_DIRS")
    return 0


def build_plugin(compiler: Host, folder: Path, program: str, force: bool) -> int:
    """``gompy accel build --openacc``, ``--check``."""
    from gompy.accel import loops, openacc

    there = store.find(compiler.identity, [str(folder)], program)
    if there is not None and not force:
        print(f"{os.path.join(there.path, program)}: the plugin for {compiler.title} is built already")
        return 0
    maker = loops if program == store.LOOPS else openacc
    done = maker.build(compiler, folder, lambda text: print(text, file=sys.stderr))
    print(f"{os.path.join(done.path, program)}: built for {compiler.title}")
    return 0


def show(options: argparse.Namespace) -> int:
    """``gompy accel list``."""
    from gompy.accel import host

    found = store.kept()
    if not any(os.path.exists(item.lto1) for item in found):
        print("no accelerator compiler is built; 'gompy accel build' builds one")
    try:
        current = host.choose().identity
    except AccelError:
        current = ""
    programs = (store.LTO1, store.OPENACC, store.LOOPS)
    chosen = (store.find(current, store.loops_folders() if name == store.LOOPS else None, name) for name in programs)
    used = {item.path for item in chosen if item is not None}
    for item in found:
        parts = [f"{os.stat(item.lto1).st_size / 1e6:.0f} MB"] if os.path.exists(item.lto1) else []
        parts += ["plugin for OpenACC"] if os.path.exists(item.openacc) else []
        parts += ["plugin for -foffload-check"] if os.path.exists(item.loops) else []
        note = "in use" if item.path in used else ""
        note = f"not used: {item.distrusted}" if item.distrusted else note
        if not note and store.identity(item.conf.get("host_lto1", "")) != item.conf.get("host_identity"):
            note = "stale: its compiler has changed or is gone"
        note = f"  ({note})" if note else ""
        print(f"{item.name}  {item.conf.get('compiler', '?')}  {', '.join(parts)}  {item.path}{note}")
    return 0


def remove(options: argparse.Namespace) -> int:
    """``gompy accel remove``."""
    from gompy.accel import host

    found = store.kept()
    cache = work_base()
    if options.all:
        own = own_store()
        chosen = [item for item in found if own is not None and os.path.dirname(item.path) == str(own)]
    else:
        name = options.name or host.choose().name
        chosen = [item for item in found if item.name == name][:1]
        if not chosen and not (cache is not None and (cache / name).exists()):
            raise AccelError(f"no accelerator compiler named '{name}'; 'gompy accel list' shows those that are built")
    for item in chosen:
        shutil.rmtree(item.path)
        print(f"{item.path}: removed")
    leftover = cache if cache is None or options.all else cache / name
    if leftover is not None and leftover.exists():
        shutil.rmtree(leftover)
        print(f"{leftover}: unfinished build removed")
    return 0


def test(options: argparse.Namespace) -> int:
    """``gompy accel test``."""
    from gompy.accel import host, probe

    compiler = host.choose()
    there = store.find(compiler.identity)
    if there is None:
        raise AccelError(f"no accelerator compiler is built for {compiler.title}", "build it: gompy accel build")
    probe.check(compiler, Path(there.lto1))
    print(f"ok    probe object: {there.lto1}")
    wrappers = {}
    for name, function in (("gompcc", "gompcc"), ("gompc++", "gompcxx"), ("gompfortran", "gompfortran")):
        path = Path(sys.executable).with_name(name)
        code = f"import sys; from gompy.driver.main import {function}; sys.argv[0] = '{name}'; {function}()"
        wrappers[name] = [str(path)] if path.exists() else [sys.executable, "-c", code]
    failed = 0
    for title, wrong in probe.programs(compiler, wrappers):
        print(f"FAIL  {title}: {wrong}" if wrong else f"ok    {title}")
        failed += bool(wrong)
    return 1 if failed else 0
