"""The plugin that makes -foffload-check fast (hooks/loops.cc): accesses of a loop are asked about once, before it.

``python -m gompy.accel.loops`` builds it beside the compiled parts, for ``make``; with a compiler as arguments into
the user's data folder, for the first use of -foffload-check (gompy/driver/check_plugin.py).
"""

from __future__ import annotations

import fcntl
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gompy.accel import host as hosts
from gompy.accel import packages, plugins
from gompy.accel.errors import AccelError
from gompy.accel.folders import own_store
from gompy.accel.host import Host
from gompy.tools import accelstore as store

SOURCE = Path(store.HOOKS) / "loops.cc"
PROBE = "void gompy_probe (int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }\n"
ENTRY = "gompy_access_range"
"""What stands before a loop (gompy/access/hooks.c)."""
FAILED = "loops.failed"
"""In a compiler's folder: why the plugin could not be built for it, newer than what it was built of."""
SLOW = "-foffload-check costs up to 50 times, as its plugin is not built for"


def compile_plugin(host: Host, output: Path) -> None:
    """Compile it for a compiler whose headers are there, and try it.  AccelError if that fails."""
    plugins.compile_source(host, SOURCE, output)
    step = ("-O2", "-fsanitize=thread", "-fplugin={plugin}", "-c", "{folder}/probe.c", "-o", "{folder}/probe.o")
    plugins.try_out(host, output, PROBE, [step], ENTRY)


def build(host: Host, folder: Path, say: Callable[[str], None]) -> store.Installed:
    """Build it into the compiler's folder of a store.  AccelError says why not."""
    return plugins.build(host, folder, store.LOOPS, compile_plugin, say)


def mend(host: Host) -> str:
    """What to type for a plugin, where something is missing; "" if nothing is."""
    lacking = packages.needed_for_plugin(host)
    if not lacking:
        return ""
    if not host.package or not Path("/usr/bin/apt-get").exists():
        return "install gcc's headers for plugins (a package such as gcc-plugin-devel)"
    return shlex.join([*(["sudo"] if os.geteuid() else []), "apt-get", "install", *lacking])


def build_at_hand(host: Host, folder: Path) -> str:
    """Build it if all that it needs is there, once.  What the user is to know of that, "" if nothing."""
    missing = mend(host)
    if missing:
        return f"{SLOW} {host.title}; type: {missing}"
    target = folder / host.name
    failed = target / FAILED
    try:
        target.mkdir(parents=True, exist_ok=True)
        with (target / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            there = store.find(host.identity, [str(folder)], store.LOOPS)
            if there is not None and Path(there.loops).stat().st_mtime >= store.loops_changed():
                return ""
            if failed.exists() and failed.stat().st_mtime > store.loops_changed():
                return f"{SLOW} {host.title}; 'gompy accel build --check' says why"
            try:
                done = build(host, folder, lambda text: None)
            except AccelError as error:
                failed.write_text(f"{error.message}\n")
                return f"{SLOW} {host.title}: {error.message}"
    except OSError as error:
        return f"{SLOW} {host.title}: {error.filename or folder}: {error.strerror}"
    return (
        ""
        if folder == Path(store.BUILT_IN)
        else f"built, once, a plugin for {host.title} by which -foffload-check costs less: {done.loops}"
    )


def main(arguments: Sequence[str]) -> int:
    """Print one line, or nothing.  Whatever is wrong, the caller goes on."""
    try:
        if not arguments:
            host = hosts.choose()
            text = "" if mend(host) else build_at_hand(host, Path(store.BUILT_IN))  # the Makefile has tried to
            print(text, file=sys.stderr, end="\n" if text else "")
            return 0
        folder = own_store()
        host = hosts.examine(list(arguments), arguments[0])
        if folder is None:
            print(f"{SLOW} {host.title}; there is no home folder to build it in")
        else:
            print(build_at_hand(host, folder))
    except AccelError as error:
        print(f"-foffload-check costs up to 50 times: {error.message}", file=sys.stdout if arguments else sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
