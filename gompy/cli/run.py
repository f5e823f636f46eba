"""``gompy run [OPTION…] PROG [ARG…]``: a program with the runtime's settings as options, and what they lead to.

The exit status is the program's; 127 if there is no such program, 126 if it cannot be run, 2 for a usage error.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from gompy.abi import targets
from gompy.cli.run_options import DEVICES, EXIT_USAGE, parse, parser
from gompy.cli.run_program import Program, RunError, look_at
from gompy.driver import paths
from gompy.tools.child import become
from gompy.tools.process import ToolError
from gompy.tools.toolmain import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Final

    from gompy.cli.run_options import Options

EXIT_FOUND: Final = 86
NVPTX: Final = targets.NVPTX.plugin
MAX_GPUS: Final = 16
"""Most devices of the emulated CUDA driver (GOMPY_CUDA_DEVICES)."""


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy run``); the exit status."""
    options, words = parse(argv)
    if options.check is None and (options.check_json or options.check_sarif or options.check_status is not None):
        options.check = "1"
    if options.show_maps and (options.check or options.under):
        parser().error("--show-maps goes with neither --check nor --under")
    if options.device == "host" and options.mandatory:
        parser().error("--device host and --mandatory exclude each other")
    try:
        return _run(options, words)
    except RunError as error:
        _error(str(error))
        return error.status


def _error(text: str) -> None:
    print(f"gompy run: error: {one_line(text)}", file=sys.stderr)


def _run(options: Options, words: list[str]) -> int:
    for option, path in (("--check-json", options.check_json), ("--check-sarif", options.check_sarif)):
        _see_writable(option, path)
    _see_writable("--trace", options.trace or "", regular=True)
    program = look_at(words[0], options.any, cuda=options.under is not None and _is_gdb(options.under))
    environment = settings(options, program)
    command = [program.path, *words[1:]]
    if options.under and _is_gdb(options.under):
        import shlex

        from gompy.cli.run_gdb import gdb_command

        command = gdb_command(shlex.split(options.under), program, words[1:], environment)
        environment = dict(os.environ)
    elif options.under and _is_rr(options.under):
        import shlex

        from gompy.cli.run_rr import rr_command

        command = rr_command(shlex.split(options.under), command)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if (options.check or options.show_maps or options.info) and not (options.under and _is_gdb(options.under)):
            return _run_watched(options, command, environment)
        become(command, environment)
    except OSError as error:
        raise RunError(f"{error.filename or command[0]}: {error.strerror}") from None
    except ToolError as error:  # no folder for temporary files
        raise RunError(str(error)) from None


def _why_not(path: str, access: int) -> int:
    """Why a path is not to be had so; 0: it is."""
    if os.access(path, access):
        return 0
    return errno.EROFS if os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES


def _see_writable(option: str, path: str, regular: bool = False) -> None:
    """RunError where a file cannot be written; ``regular``: it must be none but a regular one, or not there."""
    if not path:
        return
    why = 0
    try:
        mode = (os.lstat if regular else os.stat)(path).st_mode
        if regular and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise RunError(f"{option} {path}: it is no regular file", EXIT_USAGE)
        why = errno.EISDIR if stat.S_ISDIR(mode) else _why_not(path, os.W_OK)
    except FileNotFoundError:
        folder = os.path.dirname(path) or "."
        there = os.path.isdir(folder)
        why = errno.ENOENT if not there else _why_not(folder, os.W_OK | os.X_OK)
    except OSError as error:
        why = error.errno or errno.EIO
    if why:
        raise RunError(f"{option} {path}: {os.strerror(why)}", EXIT_USAGE)


def _run_watched(options: Options, command: list[str], environment: dict[str, str]) -> int:
    """Run a program of which something is to be told at its end."""
    from gompy.check.run import Files
    from gompy.cli.main import version
    from gompy.cli.run_watched import Wanted, run_watched

    by = version() if options.check_sarif else ""  # that takes a parser of pyproject.toml where nothing is installed
    files = Files(options.check_json, options.check_sarif, by) if options.check else None
    trace = bool(options.trace)
    status = EXIT_FOUND if options.check_status is None else options.check_status
    wanted = Wanted(files, status, options.show_maps, options.info, trace)
    return run_watched(command, environment, wanted)


def _tool(under: str) -> str:
    """The name of the command."""
    import shlex

    try:
        words = shlex.split(under)
    except ValueError as error:
        raise RunError(f"--under {under}: {error}", EXIT_USAGE) from None
    return os.path.basename(words[0]) if words else ""


def _is_gdb(under: str) -> bool:
    return _tool(under).startswith(("gdb", "cgdb"))


def _is_rr(under: str) -> bool:
    return _tool(under) == "rr"


def settings(options: Options | argparse.Namespace, program: Program) -> dict[str, str]:
    """The environment for the program; RunError where it has no code for the device that is asked for."""
    env = dict(os.environ)
    target = DEVICES.get(options.device or "", "")
    if target and program.targets and target not in program.targets:
        has = ", ".join(sorted(kind for kind, name in DEVICES.items() if name in program.targets))
        raise RunError(f"{program.name}: it has no code for {options.device}, only for {has or 'other devices'}")
    if options.device == "host":
        env["OMP_TARGET_OFFLOAD"] = "disabled"
    elif options.device:
        env["GOMPY_PLUGINS"] = options.device
        env.pop("OMP_TARGET_OFFLOAD", None)
    elif program.preload and "GOMPY_PLUGINS" not in env and program.targets == {targets.NVPTX.name}:
        env["GOMPY_PLUGINS"] = NVPTX  # a program of stock gcc: libgompy would look for the emulated MIC only
    if options.devices is not None:
        if options.device == NVPTX and options.devices > MAX_GPUS:
            raise RunError(f"--devices {options.devices}: the emulated driver has at most {MAX_GPUS} GPUs", EXIT_USAGE)
        env["OFFLOAD_EMUL_NUM"] = str(options.devices)
        env["GOMPY_CUDA_DEVICES"] = str(min(options.devices, MAX_GPUS))
    if options.mandatory:
        env["OMP_TARGET_OFFLOAD"] = "mandatory"
    if options.trace:
        env["GOMPY_TRACE_FILE"] = os.path.abspath(options.trace)
    if options.check:
        env["GOMPY_CHECK"] = options.check
    if options.info:
        env["GOMPY_STATS"] = "1"
    if options.under and not _is_gdb(options.under) and not _is_rr(options.under):
        env["OFFLOAD_EMUL_RUN"] = options.under
    if program.stock_clang:
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, (paths.LLVMLIBDIR, env.get("LD_LIBRARY_PATH"))))
    if program.preload:
        runtime = os.path.join(paths.LIBDIR, "libgompy.so.1")
        if not os.path.exists(runtime):
            raise RunError(f"{runtime}: not there; build gompy again")
        # The loader splits LD_PRELOAD at blanks; the library's folder has none where it is looked for by name.
        env["LD_PRELOAD"] = " ".join(filter(None, ("libgompy.so.1", env.get("LD_PRELOAD"))))
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, (paths.LIBDIR, env.get("LD_LIBRARY_PATH"))))
    return env
