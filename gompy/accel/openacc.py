"""The plugin that gives OpenACC's regions gangs, workers and vector lanes (hooks/openacc.cc): built for one gcc.

Its headers come with the distribution's package for plugins of that gcc.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gompy.accel import packages, store, tags
from gompy.accel.errors import AccelError
from gompy.accel.host import Host
from gompy.objects.elf import ElfError, open_object
from gompy.objects.names import TARGET_INTELMIC

SOURCE = Path(__file__).with_name("hooks") / "openacc.cc"
FLAGS = ("-O1", "-fPIC", "-shared", "-fno-rtti", "-fno-exceptions", "-w", "-s")
PROBE = """\
void gompy_probe (int *p)
{
  #pragma acc parallel loop num_gangs(4) copy(p[0:64])
  for (int i = 0; i < 64; i++)
    p[i] = i;
}
"""
ENTRY = "gompy_acc_gangs"
"""What a region calls first that has gangs."""


def compile_plugin(host: Host, output: Path) -> None:
    """Compile it for a compiler whose headers are there, and try it.  AccelError if that fails."""
    headers = packages.plugin_headers(host)
    command = [*packages.cxx(), *FLAGS, f"-I{headers}", str(SOURCE), "-o", str(output)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error: " in line]
        raise AccelError(f"the plugin for {host.title} does not compile: {tags.first_line(chr(10).join(errors))}")
    check(host, output)


def check(host: Host, plugin: Path) -> None:
    """Compile a region for the device with it: it must have gangs.  AccelError if not."""
    with tempfile.TemporaryDirectory(prefix="gompy-") as name:
        source, plain, device = (Path(name, file) for file in ("probe.c", "probe.o", "device.o"))
        source.write_text(PROBE)
        options = ["-O2", "-fopenacc", "-fPIC"]
        for words in (
            [*options, "-flto", "-foffload=disable", "-c", str(source), "-o", str(plain)],
            [*options, "-xlto", f"-fplugin={plugin}", "-flinker-output=dyn", "-c", str(plain), "-o", str(device)],
        ):
            done = subprocess.run([*host.command, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                raise AccelError(f"{host.title} cannot use the plugin {plugin}: {tags.first_line(done.stderr)}")
        try:
            symbols = {symbol.name for symbol in open_object(str(device)).symbols()}
        except ElfError as error:
            raise AccelError(f"cannot read {error}") from None
    if ENTRY not in symbols:
        raise AccelError(f"{plugin}: has no effect on {host.title}: a region with four gangs has one")


def build(host: Host, folder: Path, say: Callable[[str], None]) -> store.Installed:
    """Build it into the compiler's folder of a store.  AccelError says why not."""
    target = folder / host.name
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AccelError(f"cannot make {target}: {error.strerror}") from None
    packages.provide_for_plugin(host, say, target / store.LOG)
    say(f"compiling the plugin for {host.title}")
    part = target / f".{store.OPENACC}.part"
    try:
        compile_plugin(host, part)
        part.chmod(0o755)
        part.replace(target / store.OPENACC)
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
