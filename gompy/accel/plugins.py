"""Plugins for gcc's compilers: compiled with the headers that a distribution has for them, kept beside ``lto1``."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gompy.accel import packages, tags
from gompy.accel.errors import AccelError
from gompy.accel.host import Host
from gompy.objects.elf import ElfError, open_object
from gompy.objects.names import TARGET_INTELMIC
from gompy.tools import accelstore as store

FLAGS = ("-O1", "-fPIC", "-shared", "-fno-rtti", "-fno-exceptions", "-w", "-s")


def compile_source(host: Host, source: Path, output: Path) -> None:
    """Compile a plugin for a compiler whose headers are there.  AccelError if that fails."""
    headers = packages.plugin_headers(host)
    command = [*packages.cxx(), *FLAGS, f"-I{headers}", str(source), "-o", str(output)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error: " in line]
        raise AccelError(f"the plugin for {host.title} does not compile: {tags.first_line(chr(10).join(errors))}")


def try_out(host: Host, plugin: Path, program: str, steps: Sequence[Sequence[str]], entry: str, lack: str = "") -> None:
    """Compile a program with a plugin: ``steps`` lead from probe.c to probe.o, which must name ``entry``.

    A step has options; ``{folder}`` and ``{plugin}`` stand for theirs.  AccelError if one fails, or with ``lack`` if
    the symbol is not there.
    """
    with tempfile.TemporaryDirectory(prefix="gompy-") as folder:
        Path(folder, "probe.c").write_text(program)
        for step in steps:
            words = [word.format(folder=folder, plugin=plugin) for word in step]
            done = subprocess.run([*host.command, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                raise AccelError(f"{host.title} cannot use the plugin {plugin}: {tags.first_line(done.stderr)}")
        try:
            symbols = {symbol.name for symbol in open_object(str(Path(folder, "probe.o"))).symbols()}
        except ElfError as error:
            raise AccelError(f"cannot read {error}") from None
    if entry not in symbols:
        raise AccelError(f"{plugin}: has no effect on {host.title}{lack}")


def build(
    host: Host, folder: Path, program: str, compile_plugin: Callable[[Host, Path], None], say: Callable[[str], None]
) -> store.Installed:
    """Build one into the compiler's folder of a store, under the name ``program``.  AccelError says why not."""
    target = folder / host.name
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AccelError(f"cannot make {target}: {error.strerror}") from None
    packages.provide_for_plugin(host, say, target / store.LOG)
    say(f"compiling the plugin for {host.title}")
    part = target / f".{program}.part"
    try:
        compile_plugin(host, part)
        part.chmod(0o755)
        part.replace(target / program)
    finally:
        part.unlink(missing_ok=True)
    old = store.read_conf(str(target / store.CONF))
    conf = old if store.Installed(str(target), old).fits(host.identity) else identity(host)
    store.write_conf(str(target / store.CONF), conf)
    for path in (folder, target, target / store.CONF):  # what others can write is not run
        if path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode & ~0o022)
    return store.Installed(str(target), conf)


def identity(host: Host) -> store.Conf:
    """What ``accel.conf`` says of any folder."""
    return {
        "format": store.FORMAT,
        "target": TARGET_INTELMIC,
        "compiler": host.title,
        "host_lto1": host.lto1,
        "host_identity": host.identity,
        "built": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
