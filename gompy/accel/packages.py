"""What building needs from the system: headers, programs, the compiler's source package; getting it or saying how."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from gompy.abi.gcc import SUPPORTED
from gompy.accel.errors import AccelError
from gompy.accel.host import Host, ask

HEADERS = {
    "gmp.h": "libgmp-dev",
    "mpfr.h": "libmpfr-dev",
    "mpc.h": "libmpc-dev",
    "zstd.h": "libzstd-dev",
    "zlib.h": "zlib1g-dev",
}
"""Headers that lto1 is built with, and Debian's packages of them."""
PROGRAMS = {"make": "make", "g++": "g++", "ar": "binutils", "tar": "tar", "xz": "xz-utils", "patch": "patch"}
"""Programs that run during the build.  (No flex, no bison: GCC's releases carry what those would make.)"""
NO_NETWORK = re.compile(
    r"Temporary failure resolving|Could not resolve|Unable to connect|Network is unreachable|No route to host"
    r"|Connection (?:refused|timed out|failed)|Could not connect",
    re.I,
)
Say = Callable[[str], None]


def cxx() -> list[str]:
    """The C++ compiler that compiles lto1 and plugins: GOMPY_CXX, else g++, g++-12 and later.  Empty if there is none.

    Debian's g++-14 has no g++ beside it.
    """
    given = shlex.split(os.environ.get("GOMPY_CXX", ""))
    numbered = [[f"g++-{major}"] for major in sorted(SUPPORTED)]
    for words in ([given] if given else []) + [["g++"], *numbered, ["c++"]]:
        if shutil.which(words[0]):
            return words
    return []


def missing_headers(host: Host) -> list[str]:
    """Those of HEADERS that the compiler does not find."""
    source = "".join(
        f'#if !__has_include(<{name}>)\n#pragma message("gompy-missing {name}")\n#endif\n' for name in HEADERS
    )
    done = subprocess.run([*host.command, "-fsyntax-only", "-xc", "-"], input=source, capture_output=True, text=True)
    found = re.findall(r"gompy-missing ([\w.]+)", done.stderr)
    return [name for name in HEADERS if name in found]


def missing_programs() -> list[str]:
    """Those of PROGRAMS that are not in PATH."""
    return [name for name in PROGRAMS if not (cxx() if name == "g++" else shutil.which(name))]


def source_archive(host: Host) -> Path | None:
    """GCC's source as the distribution's package installs it, for this very version; None if it is not there."""
    name = f"gcc-{host.major}-source"
    done = subprocess.run(
        ["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", name], capture_output=True, text=True
    )
    if done.returncode or done.stdout.split() != ["installed", host.package]:
        return None
    folder = Path("/usr/src") / f"gcc-{host.major}"
    return next(iter(sorted(folder.glob("gcc-*.tar.xz"))), None)


def needed(host: Host, with_source: bool) -> list[str]:
    """Debian packages to install before building (``name`` or ``name=version``)."""
    packages = [HEADERS[name] for name in missing_headers(host)]
    packages += [PROGRAMS[name] for name in missing_programs()]
    if with_source and source_archive(host) is None:
        packages.append(f"gcc-{host.major}-source={host.package}")
    return packages


def provide(host: Host, with_source: bool, say: Say, log: Path) -> None:
    """See to it that everything needed is there: install it where that may be done, else say what to type.

    ``with_source``: the distribution's source package is needed too.  AccelError if something stays missing.
    """
    if not shutil.which("apt-get") or not shutil.which("dpkg-query"):
        lacking = missing_headers(host) + missing_programs()
        if lacking:
            raise AccelError(
                f"building needs {', '.join(lacking)}",
                "install the development packages of GMP, MPFR, MPC, zstd and zlib, and make, g++, xz and patch",
            )
        if with_source:
            raise AccelError(
                "this system has no apt-get, so the compiler's source must come from elsewhere",
                f"unpack the source of {host.title}, with the distribution's own patches, "
                "and name its folder: gompy accel build --source DIR",
            )
        return
    if with_source and not host.package:
        raise AccelError(
            f"{host.command[0]}: is {host.title}, not a package of this distribution",
            "name the folder of its source: gompy accel build --source DIR",
        )
    install(lambda: needed(host, with_source), host, say, log)


def plugin_headers(host: Host) -> Path | None:
    """The folder of the headers that plugins for a compiler are compiled with; None if it is not there."""
    folder = Path(ask(list(host.command), "-print-file-name=plugin").strip(), "include")
    return folder if (folder / "gcc-plugin.h").exists() else None


def needed_for_plugin(host: Host) -> list[str]:
    """Debian packages to install before a plugin for a compiler can be built."""
    packages = [] if plugin_headers(host) else [f"gcc-{host.major}-plugin-dev={host.package}"]
    return packages + ([] if cxx() else [PROGRAMS["g++"]])


def provide_for_plugin(host: Host, say: Say, log: Path) -> None:
    """The same for a plugin.  AccelError if something stays missing."""
    lacking = needed_for_plugin(host)
    if lacking and not (shutil.which("apt-get") and shutil.which("dpkg-query") and host.package):
        raise AccelError(
            f"{host.command[0]}: no C++ compiler, or no headers for plugins of {host.title}",
            "they are in a package of the compiler's, such as gcc-plugin-devel",
        )
    install(lambda: needed_for_plugin(host), host, say, log)


def install(needed: Callable[[], list[str]], host: Host, say: Say, log: Path) -> None:
    """Install what is needed where that may be done.  AccelError, with what to type, where not."""
    packages = needed()
    if not packages:
        return
    words = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() == 0:
        prefix: list[str] = []
    elif shutil.which("sudo") and not subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode:
        prefix = ["sudo", "-n"]
    else:
        raise AccelError("packages are missing; type:", f"sudo {shlex.join(words)}")
    say(f"installing {' '.join(packages)}")
    _apt([*prefix, "apt-get", "update", "-q"], host, packages, log)
    _apt([*prefix, *words], host, packages, log)
    still = needed()
    if still:
        raise AccelError(f"still missing after the installation: {', '.join(still)} (see {log})")


def _apt(command: list[str], host: Host, packages: list[str], log: Path) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    text = done.stdout + done.stderr
    with log.open("a") as file:
        file.write(f"$ {shlex.join(command)}\n{text}\n")
    if NO_NETWORK.search(text) and (done.returncode or "update" in command):
        raise AccelError(
            f"no network: apt-get cannot reach the package archive, and {', '.join(packages)} must be fetched",
            "try again when the network is there, or install them from elsewhere",
        )
    for package, what in ((f"gcc-{host.major}-source", "the source"), (f"gcc-{host.major}-plugin-dev", "the headers")):
        if done.returncode and package in text:
            raise AccelError(
                f"the package archive does not have {package} {host.package}, {what} of {host.title}",
                f"upgrade gcc-{host.major} to the version that the archive has"
                + (", or use --source DIR" if what == "the source" else ""),
            )
    if done.returncode:
        lines = [line for line in text.splitlines() if line.startswith("E:")]
        raise AccelError(f"{shlex.join(command)} failed: {lines[0] if lines else f'see {log}'}")
