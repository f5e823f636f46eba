"""The host compiler for which an accelerator compiler is built."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

from gompy.abi.gcc import NAMED, SUPPORTED
from gompy.accel.errors import AccelError
from gompy.driver.compiler import answer
from gompy.tools import accelstore as store

LAST_WITH_TARGET = 12
"""GCC 13 removed the files of the target x86_64-intelmicemul-linux-gnu (gcc-13/changes.html, "Caveats").  What is left
is a plain x86-64 one to its configure scripts, which ``--enable-as-accelerator-for`` makes an accelerator's."""


@dataclass(frozen=True)
class Host:
    """A host gcc.

    ``command``: as it is called.  ``version``: ``12.2.0``.  ``vendor``, ``package``: of its ``--with-pkgversion``, such
    as ``Debian`` and ``12.2.0-14+deb12u1`` ("" if it has none).  ``lto1``: its link-time compiler.  ``languages``: what
    it was configured with.  ``machine``: its target triplet.
    """

    command: tuple[str, ...]
    path: str
    version: str
    vendor: str
    package: str
    machine: str
    languages: tuple[str, ...]
    lto1: str

    @property
    def major(self) -> int:
        """12 of 12.2.0."""
        return int(self.version.partition(".")[0])

    @property
    def has_target(self) -> bool:
        """Whether its source has files of the emulated device's target."""
        return self.major <= LAST_WITH_TARGET

    @property
    def identity(self) -> str:
        """See ``store.identity``."""
        return store.identity(self.lto1)

    @property
    def name(self) -> str:
        """Folder name for this compiler."""
        text = f"gcc-{self.package or self.version}"
        return re.sub(r"[^A-Za-z0-9._+~-]", "_", text)

    @property
    def title(self) -> str:
        """For messages: ``gcc 12.2.0 (Debian 12.2.0-14+deb12u1)``."""
        return f"gcc {self.version}" + (f" ({self.vendor} {self.package})" if self.package else "")


def read_v(text: str) -> dict[str, str]:
    """The facts in the output of ``gcc -v``: version, vendor, package, machine, languages (comma list)."""
    facts = {"version": "", "vendor": "", "package": "", "machine": "", "languages": ""}
    if found := re.search(r"^gcc version (\d+(?:\.\d+)*)", text, re.M):
        facts["version"] = found[1]
    if found := re.search(r"^gcc version .*\((\S+) (\S+)\)\s*$", text, re.M):
        facts["vendor"], facts["package"] = found[1], found[2]
    if found := re.search(r"^Target: (\S+)$", text, re.M):
        facts["machine"] = found[1]
    if found := re.search(r"--enable-languages=(\S+)", text):
        facts["languages"] = found[1].strip("'\"")
    return facts


def ask(command: list[str], *words: str) -> str:
    """Standard output and error of the compiler.  AccelError if it cannot be run, or fails."""
    output, errors, trouble = answer(command, "", *words)
    if trouble:
        raise AccelError(f"{shlex.join(command)} {trouble}")
    return output + errors


def examine(command: list[str], path: str) -> Host:
    """Find out all about a compiler.  AccelError if no accelerator compiler can be built for it, with the reason."""
    facts = read_v(ask(command, "-v"))
    if not facts["version"]:
        raise AccelError(f"{command[0]}: is not gcc; set GOMPY_CC to {NAMED}")
    lto1 = ask(command, "-print-prog-name=lto1").strip()
    host = Host(
        tuple(command),
        path,
        facts["version"],
        facts["vendor"],
        facts["package"],
        facts["machine"],
        tuple(name for name in facts["languages"].split(",") if name),
        lto1 if os.path.isabs(lto1) else "",
    )
    if not host.lto1:
        raise AccelError(f"{command[0]}: has no lto1, so it does not do link-time optimisation, nor offloading")
    if not host.machine.startswith("x86_64-"):
        raise AccelError(f"{command[0]}: compiles for {host.machine}; the emulated device is an x86-64 one")
    if host.major not in SUPPORTED:
        raise AccelError(f"{command[0]}: is {host.title}; gompy works with {NAMED}")
    return host


def choose() -> Host:
    """The compiler that gompcc would run (``GOMPY_CC``)."""
    from gompy.driver.compiler import C, fit
    from gompy.driver.errors import DriverError

    try:
        compiler, _ = fit(C)
    except DriverError as error:
        raise AccelError(error.message, *error.notes) from None
    return examine([compiler.path, *compiler.words[1:]], compiler.path)
