"""``gompy doctor``: what this machine has, and lacks, for compiling and running offloaded regions.

Every line is something that was tried, not assumed.  Exit status 1 if a thing is missing without which C programs
cannot be built or run on the emulated device.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from gompy.abi import targets
from gompy.abi.gcc import NAMED, major_of, nearest, newer, offload_package
from gompy.driver import compiler, errors, paths, plan
from gompy.objects.names import DEVICE_IR_SECTION_PREFIX, OFFLOAD_OPTS_SECTION

PROBE = """\
#include <omp.h>
int main (void)
{
  int host = 1;
  #pragma omp target map(tofrom: host)
  host = omp_is_initial_device ();
  return host ? 3 : 0;
}
"""
"""Exit status 0 if its region ran on a device, 3 if on the host."""

SOURCES = {
    "gompcc": (".c", "int x; void f (void) {\n#pragma omp target map(x)\nx = 1;\n}\n"),
    "gompc++": (".cc", "int x; void f (void) {\n#pragma omp target map(x)\nx = 1;\n}\n"),
    "gompfortran": (".f90", "subroutine f (x)\ninteger :: x\n!$omp target map(x)\nx = 1\n!$omp end target\nend\n"),
}
VARIABLES = ("GOMPY_", "OMP_TARGET_OFFLOAD", "OMP_DEFAULT_DEVICE", "OFFLOAD_", "LD_PRELOAD", "LD_LIBRARY_PATH", "GOMP_")
"""Beginnings of the names of environment variables that change what happens."""

OK, NOTE, BAD = "ok", "--", "NO"


class Report:
    """The lines, printed as they come; ``failed`` once something needed is missing."""

    def __init__(self) -> None:
        self.failed = False

    def title(self, text: str) -> None:
        """Begin a part."""
        print(f"\n{text}" if text != "gompy" else text, flush=True)

    def line(self, state: str, text: str, mend: str = "") -> None:
        """One finding; ``mend`` says what to do about it."""
        self.failed |= state == BAD
        print(f"  {state}  {text}" + (f"  -> {mend}" if mend else ""), flush=True)


def environment() -> dict[str, str]:
    """The environment for probes."""
    return {**os.environ, "LC_ALL": "C"}


def run(command: list[str], path: str | None = None, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a probe; returns its status (-1: not started, or killed after 60 s) and what it printed."""
    try:
        done = subprocess.run(
            command,
            executable=path,
            env=env or environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return -1, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def check_parts(report: Report) -> None:
    """The installation's files, and whether they load."""
    report.title("gompy")
    from gompy.cli.main import version

    report.line(OK, f"version {version()} in {paths.PREFIX}")
    missing = paths.missing()
    if not missing:
        report.line(OK, f"{len(paths.NEEDED)} compiled parts in {paths.NATIVE}")
    for path in missing:
        report.line(BAD, f"missing: {path}", "build again")
    for name in (name for name in paths.NEEDED if name.startswith("lib/") and name.endswith(".so.1")):
        path = os.path.join(paths.NATIVE, name)
        if os.path.exists(path):
            load(report, path, BAD)


def check_plugins(report: Report) -> None:
    """The device plugins: how many devices each has, or why it has none."""
    from gompy.cli.device_probe import all_kinds

    report.title("device plugins")
    for kind in all_kinds():
        count = len(kind.devices)
        if count:
            report.line(OK, f"{kind.shown}: {count} device{'s' if count != 1 else ''}")
        else:
            report.line(BAD if kind.name == targets.INTELMIC.plugin else NOTE, f"{kind.shown}: {kind.why}")


def load(report: Report, path: str, otherwise: str) -> None:
    """Try dlopen, in a process of its own."""
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)"
    status, text = run([sys.executable, "-I", "-c", script, path])
    if status == 0:
        report.line(OK, f"{os.path.basename(path)} loads")
    else:
        report.line(otherwise, f"{os.path.basename(path)} does not load: {last_line(text)}")


def check_compilers(report: Report, folder: str) -> compiler.Compiler | None:
    """The compilers, and whether they stream what a device needs; returns the C compiler if it will do."""
    report.title("compilers")
    found: compiler.Compiler | None = None
    for language in (compiler.C, compiler.CXX, compiler.FORTRAN):
        otherwise = BAD if language is compiler.C else NOTE
        try:
            command, known = compiler.fit(language)
        except errors.DriverError as error:
            if isinstance(error, compiler.Unanswered):  # no other release would step in
                mend = error.notes[0]
            else:
                mend = "" if os.environ.get(language.variable) else f"apt-get install {wanted_package(language)}"
            report.line(otherwise, f"{language.program}: {error.message}", mend)
            continue
        suffix, text = SOURCES[language.program]
        source = os.path.join(folder, f"probe{suffix}")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        made = plan.make(language, ["-fopenmp", "-c", source, "-o", source + ".o"])
        status, output = run(made.argv, made.path, {**plan.environment_of(made), "LC_ALL": "C"})
        what = f"{language.program}: {command.path}, gcc {known.version}"
        if status != 0:
            report.line(otherwise, f"{what} does not compile: {last_line(output)}")
            continue
        with open(source + ".o", "rb") as file:
            data = file.read()
        streams = OFFLOAD_OPTS_SECTION.encode() in data
        ours = f"{DEVICE_IR_SECTION_PREFIX}.opts".encode() in data
        if streams and ours:
            report.line(OK, f"{what}, streams device code{instead_of(language, command)}")
            found = command if language is compiler.C else found
        else:
            lacking = "offload streams" if not streams else f"{DEVICE_IR_SECTION_PREFIX}* sections"
            report.line(otherwise, f"{what}: no {lacking} in its objects")
    return found


def wanted_package(language: compiler.Language) -> str:
    """Debian's package of a compiler that will do: the distribution's own, unless that is there and will not."""
    path = compiler.which(language.default)
    if not path:
        return language.default
    version = compiler.facts(compiler.Compiler(path, [language.default])).version
    return f"{language.default}-{nearest(major_of(version))}"


def instead_of(language: compiler.Language, command: compiler.Compiler) -> str:
    """What to add where another compiler than the PATH's default one is taken because that is too new."""
    path = compiler.which(language.default)
    if not path or command.words == [language.default] or os.environ.get(language.variable):
        return ""
    version = compiler.facts(compiler.Compiler(path, [language.default])).version
    return f" ({language.default} is {version}; gompy needs {NAMED})" if newer(major_of(version)) else ""


def check_targets(report: Report, command: compiler.Compiler) -> None:
    """Device compilers of the stock gcc."""
    report.title("targets")
    for ours in (target for target in targets.TARGETS if target.emulated):
        report.line(OK, f"{ours.name} ({ours.alias}): emulated, always there")
    known = compiler.facts(command)
    for target in known.targets:
        name = f"accel/{target}/mkoffload"
        _, text = run([*command.words, f"-print-prog-name={name}"], command.path)
        path = text.strip()
        if os.path.isabs(path):
            report.line(OK, f"{target}: {path}")
        else:
            package = offload_package(target, major_of(known.version))
            registered = targets.find(target)
            packaged = registered is not None and registered.packaged
            mend = f"apt-get install {package}" if packaged else ""
            report.line(NOTE, f"{target}: its compiler is not installed", mend)


def check_versions(report: Report) -> None:
    """What else there is, of which version."""
    from gompy.cli import doctor_versions

    report.title("versions")
    found = [doctor_versions.libgomp(), doctor_versions.compilers(), doctor_versions.clangs(), doctor_versions.caches()]
    for fine, text, mend in (finding for part in found for finding in part):
        report.line(OK if fine else NOTE, text, mend)


def check_kernel(report: Report) -> None:
    """What a device process needs of the kernel."""
    import ctypes

    report.title("kernel")
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        os.close(os.memfd_create("gompy-doctor"))
        report.line(OK, "memfd_create")
    except (OSError, AttributeError) as error:
        report.line(BAD, f"memfd_create: {error}: the device's memory cannot be shared")
    child = subprocess.Popen([sys.executable, "-I", "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        buffer = ctypes.create_string_buffer(8)
        local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
        address = first_mapping(child.pid)
        remote = (ctypes.c_void_p * 2)(address, 8)
        got = libc.process_vm_readv(child.pid, local, ctypes.c_ulong(1), remote, ctypes.c_ulong(1), ctypes.c_ulong(0))
        if got == 8:
            report.line(OK, "process_vm_readv of a child")
        else:
            text = os.strerror(ctypes.get_errno())
            report.line(BAD, f"process_vm_readv of a child: {text}", "allow ptrace of children (seccomp?)")
    finally:
        child.communicate(b"\n")
    before = libc.personality(ctypes.c_ulong(0xFFFFFFFF))
    allowed = before >= 0 and libc.personality(ctypes.c_ulong(before | 0x0040000)) >= 0
    if allowed:
        libc.personality(ctypes.c_ulong(before))
        report.line(OK, "personality (ADDR_NO_RANDOMIZE)")
    else:
        report.line(NOTE, "personality (ADDR_NO_RANDOMIZE) is not allowed: device addresses differ from run to run")
    size = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    if size is not None:
        report.line(OK, f"/dev/shm: {size.f_bavail * size.f_frsize // 2**20} MiB free")


def first_mapping(pid: int) -> int:
    """An address that a process can read; 0 if none is known."""
    try:
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as file:
            for line in file:
                span, mode = line.split()[:2]
                if mode.startswith("r"):
                    return int(span.partition("-")[0], 16)
    except OSError:
        pass
    return 0


def check_trip(report: Report, folder: str) -> None:
    """A program with one region: compiled, linked, run."""
    report.title("the whole trip")
    source, program = os.path.join(folder, "trip.c"), os.path.join(folder, "trip")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROBE)
    made = plan.make(compiler.C, ["-fopenmp", source, "-o", program, "-foffload=intelmic"])
    status, text = run(made.argv, made.path, {**plan.environment_of(made), "LC_ALL": "C"})
    if status != 0:
        report.line(BAD, f"a program with one region does not build: {last_line(text)}")
        return
    status, text = run([program])
    if status == 0:
        report.line(OK, "a program with one region runs it on the emulated device")
    elif status == 3:
        reason = f": {last_line(text)}" if text.strip() else ""
        report.line(BAD, f"a program with one region runs it on the host{reason}", "see the environment below")
    else:
        report.line(BAD, f"a program with one region fails (status {status}): {last_line(text)}")


def check_environment(report: Report) -> None:
    """Variables that are set and change what happens."""
    report.title("environment")
    found = sorted(name for name in os.environ if name.startswith(VARIABLES))
    for name in found:
        report.line(NOTE, f"{name}={os.environ[name]}")
    if not found:
        report.line(OK, "nothing set that changes offloading")


def main(arguments: list[str]) -> int:
    """Check everything; returns 1 if something needed is missing, 2 for a usage error."""
    if arguments in (["--help"], ["-h"]):
        from gompy.tools.helptext import in_terminal

        text = "usage: gompy doctor\n\nTries what offloading needs; exit status 1 if something needed is missing."
        print(in_terminal(text))
        return 0
    if arguments:
        print("gompy doctor: error: takes no arguments", file=sys.stderr)
        return 2
    report = Report()
    folder = tempfile.mkdtemp(prefix="gompy-doctor-")
    try:
        check_parts(report)
        command = check_compilers(report, folder)
        if command is not None:
            check_targets(report, command)
        check_versions(report)
        check_kernel(report)
        if not paths.missing():
            check_plugins(report)
        if command is not None and not paths.missing():
            check_trip(report, folder)
        check_environment(report)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\nnot everything needed is here" if report.failed else "\nall that is needed is here")
    return 1 if report.failed else 0
