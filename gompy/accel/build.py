"""Building the accelerator compiler: lto1 for x86_64-intelmicemul-linux-gnu, and nothing else of GCC.

Steps leave a stamp each in the work folder, so that an interrupted build goes on where it was; make itself goes on
within the longest step.  GCC's top-level makefile is not used: it would build drivers, cc1 and more.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gompy.abi.gomp import GOMP_DEVICE_INTEL_MIC
from gompy.accel import loops, openacc, packages, plugins, probe, source, tags
from gompy.accel.errors import AccelError
from gompy.accel.folders import needed_work_base
from gompy.accel.host import Host
from gompy.accel.progress import Progress
from gompy.objects.names import TARGET_INTELMIC
from gompy.tools import accelstore as store

LIBRARIES = {
    "libiberty": "libiberty.a",
    "libbacktrace": "libbacktrace.la",
    "libcpp": "libcpp.a",
    "libdecnumber": "libdecnumber.a",
}
"""GCC's own libraries that lto1 links, and the make target that makes each."""
FLAGS = "-O1 -finline-small-functions -w -Wno-narrowing"
"""How lto1 is compiled: -O2 takes half as long again to build, -O0 makes an lto1 that is several times slower.

Narrowing is an error, which -w leaves one; GCC's own makefiles allow it, and GCC 14 has some."""
UNHURRIED = "gimple-match.o generic-match.o insn-emit.o insn-recog.o"
"""Huge generated files that take a fifth of the build with -O1, less than half of that without."""
DEVICE_NUMBER = f"-DACCEL_COMPILER_acc_device={GOMP_DEVICE_INTEL_MIC}"
"""What the target's tm.h has to say, for releases without one: the constant behind acc_on_device (gimple-fold.cc)."""
LIBS = "-lmpc -lmpfr -lgmp"
COMPILE_LINE = re.compile(rb"^\S*(?:g\+\+|c\+\+|gcc)\S*\s.*\s-c\s|^\S*(?:g\+\+|c\+\+)\S*\s.*\s-o (?:build/|lto1)")
WEIGHTS = {"source": 8.0, "configure": 16.0, "libraries": 5.0, "object": 0.45, "probe": 1.0}
"""Rough seconds on two cores, for the bar."""


@dataclass(frozen=True)
class Plan:
    """What to build: for which host, from which source (None: the distribution's), into which folder of the store."""

    host: Host
    jobs: int
    store: Path
    source: Path | None = None

    @property
    def target(self) -> Path:
        """The folder that will hold lto1."""
        return self.store / self.host.name

    @property
    def work(self) -> Path:
        """The work folder, in the user's cache.  AccelError where there can be none."""
        return needed_work_base() / self.host.name

    @property
    def flags(self) -> str:
        """How lto1's objects are compiled."""
        return FLAGS if self.host.has_target else f"{FLAGS} {DEVICE_NUMBER}"

    @property
    def object_flags(self) -> str:
        """The same as make evaluates it for each object."""
        return f"$(if $(filter {UNHURRIED},$@),{self.flags} -O0,{self.flags})"

    @property
    def make_flags(self) -> tuple[str, ...]:
        """For make in gcc/: its configure script takes optimisation levels out of CFLAGS."""
        words = (f"CFLAGS={self.flags}", f"CXXFLAGS={self.object_flags}")
        return (*words, "GCC_WARN_CFLAGS=-w", "GCC_WARN_CXXFLAGS=-w")

    @property
    def signature(self) -> str:
        """What the results of earlier steps depend on."""
        parts = (self.host.identity, str(self.source or "package"), self.object_flags, TARGET_INTELMIC, store.FORMAT)
        return "\n".join(parts) + "\n"


class Stopped(Exception):
    """The build was interrupted by that signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Build:
    """One run of the steps.  ``run`` returns the installed compiler; AccelError or Stopped end it early."""

    def __init__(self, plan: Plan, progress: Progress) -> None:
        self.plan = plan
        self.host = plan.host
        self.progress = progress
        self.work = plan.work
        self.log = self.work / store.LOG
        self.objects = self.work / "build"
        self.tree = plan.source or self.work / "source"
        self.children: list[subprocess.Popen[bytes]] = []
        self.tag = 0

    def run(self) -> store.Installed:
        """All steps, skipping those that are done."""
        began = time.monotonic()
        self._room()
        with self._lock(), self._interruptible():
            signature = self.work / "signature"
            if not signature.exists() or signature.read_text() != self.plan.signature:
                for name in ("source", "build"):
                    shutil.rmtree(self.work / name, ignore_errors=True)
                for stamp in self.work.glob("done-*"):
                    stamp.unlink()
                signature.write_text(self.plan.signature)
            packages.provide(self.host, self.plan.source is None, self.progress.say, self.log)
            self.tag = tags.host_tag(self.host)
            self._step("source", self._source)
            source.check(self.tree, self.host, self.tag)
            self._step("configure", self._configure)
            self._step("libraries", self._libraries)
            self._compile()
            result = self._install(time.monotonic() - began)
            self.progress.finish()
        for name in ("source", "build"):
            shutil.rmtree(self.work / name, ignore_errors=True)
        shutil.rmtree(self.work, ignore_errors=True)
        return result

    def _room(self) -> None:
        """The folders, and place in them."""
        for folder in (self.work, self.plan.store):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise AccelError(f"cannot make {folder}: {error.strerror}") from None
            if not os.access(folder, os.W_OK):
                raise AccelError(f"cannot write to {folder}: permission denied")
        free = shutil.disk_usage(self.work).free
        if free < 700 << 20 and not (self.work / "done-libraries").exists():
            raise AccelError(
                f"{self.work}: {free >> 20} MiB free, building needs about 600 MiB",
                "XDG_CACHE_HOME moves the work folder",
            )

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """One build at a time in this work folder."""
        with (self.work / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AccelError(f"another 'gompy accel build' is at work in {self.work}") from None
            yield

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """SIGINT, SIGTERM and SIGHUP end the children and become Stopped."""

        def stop(number: int, _frame: object) -> None:
            for child in self.children:
                _end(child)
            raise Stopped(number)

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        old = {number: signal.signal(number, stop) for number in numbers}
        try:
            yield
        except BaseException:
            for child in self.children:
                _end(child)
            raise
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _step(self, name: str, action: Callable[[], None]) -> None:
        stamp = self.work / f"done-{name}"
        if not stamp.exists():
            action()
            stamp.touch()
        self.progress.advance(WEIGHTS[name])

    def _source(self) -> None:
        if self.plan.source is not None:
            return
        self.progress.phase("unpacking the compiler's source")
        archive = packages.source_archive(self.host)
        if archive is None:
            package = f"gcc-{self.host.major}-source"
            raise AccelError(f"no gcc-*.tar.xz in /usr/src/gcc-{self.host.major}: reinstall {package}")
        shutil.rmtree(self.tree, ignore_errors=True)
        source.unpack(archive, self.tree, self.log)
        if tags.source_tag(self.tree) < self.tag:
            source.add_modula2(archive, self.tree, self.log)

    def _environment(self) -> dict[str, str]:
        cleared = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "CONFIG_SITE", "OFFLOAD_TARGET_NAMES")
        env = {name: value for name, value in os.environ.items() if name not in cleared}
        env |= {"LC_ALL": "C", "CFLAGS": FLAGS, "CXXFLAGS": FLAGS, "GMPLIBS": LIBS, "PWD": str(self.objects)}
        env |= {"CC": shlex.join(self.host.command), "CXX": shlex.join(packages.cxx())}
        for tool in ("as", "ld", "objdump", "nm", "readelf"):
            env[f"{tool.upper()}_FOR_TARGET"] = shutil.which(tool) or tool
        return env

    def _configure(self) -> None:
        self.progress.phase("configuring")
        shutil.rmtree(self.objects, ignore_errors=True)
        common = [f"--build={self.host.machine}", f"--host={self.host.machine}", f"--target={TARGET_INTELMIC}"]
        common += ["--disable-nls", "--disable-multilib", "--disable-werror", "--with-system-zlib"]
        # The assembler's features (TLS, CFI, comdat groups) are found by asking the host's: the device runs its code.
        own = ["--with-build-libsubdir=.", f"--enable-as-accelerator-for={self.host.machine}", "--enable-languages=lto"]
        own += ["--disable-bootstrap", "--enable-checking=release", "--enable-default-pie", "--disable-analyzer"]
        own += ["--enable-plugin", "--disable-gcov", *(f"--with-{tool}={shutil.which(tool)}" for tool in ("as", "ld"))]
        name, _, number = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        own += [f"--with-glibc-version={number}"] if name == "glibc" else []

        def libraries() -> None:
            for folder in LIBRARIES:
                self._configure_one(folder, common)

        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(self._configure_one, "gcc", [*common, *own]), pool.submit(libraries)]
            while not all(task.done() for task in tasks):
                time.sleep(0.05)  # waits here, so that a signal is handled
        for task in tasks:
            task.result()

    def _configure_one(self, folder: str, words: list[str]) -> None:
        place = self.objects / folder
        place.mkdir(parents=True, exist_ok=True)
        self._child([str(self.tree / folder / "configure"), *words], place, f"configuring {folder}")

    def _libraries(self) -> None:
        self.progress.phase("compiling GCC's libraries")
        for folder, target in LIBRARIES.items():
            self._child(["make", f"-j{self.plan.jobs}", target], self.objects / folder, f"compiling {folder}")

    def _compile(self) -> None:
        """make lto1, the long one; the bar follows the compile commands."""
        place = self.objects / "gcc"
        total = object_count(place)
        done = len(list(place.rglob("*.o")))
        self.progress.compiling(min(done, total), total)
        self._child(
            ["make", f"-j{self.plan.jobs}", "lto1", "MAKEINFO=true", *self.plan.make_flags],
            place,
            "compiling lto1",
            lambda line: self.progress.compiled() if COMPILE_LINE.match(line) else None,
        )

    def _child(
        self, command: list[str], place: Path, what: str, watch: Callable[[bytes], object] | None = None
    ) -> None:
        """Run one command, its output into the log.  AccelError with the first error it printed."""
        nice = ["nice", "-n", "5"] if shutil.which("nice") else []
        child = subprocess.Popen(
            [*nice, *command],
            cwd=place,
            env={**self._environment(), "PWD": str(place)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.children.append(child)
        last: list[bytes] = []
        with self.log.open("ab") as log:
            log.write(f"$ cd {place}; {shlex.join(command)}\n".encode())
            assert child.stdout is not None
            for line in child.stdout:
                log.write(line)
                last.append(line)
                del last[:-400]
                if watch is not None:
                    watch(line)
        status = child.wait()
        self.children.remove(child)
        if status:
            raise AccelError(f"{what} failed: {error_line(last)}", f"all output is in {self.log}")

    def _install(self, seconds: float) -> store.Installed:
        """Strip, probe, and move into the store; what was there of the same name is replaced."""
        self.progress.phase("probing")
        target = self.plan.target
        part = target.with_name(f".{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        self._child(["strip", "-o", str(part / store.LTO1), "lto1"], self.objects / "gcc", "stripping lto1")
        probe.check(self.host, part / store.LTO1)
        if packages.plugin_headers(self.host):
            openacc.compile_plugin(self.host, part / store.OPENACC)
            loops.compile_plugin(self.host, part / store.LOOPS)
        conf = plugins.identity(self.host) | {
            "lto_tag": str(self.tag),
            "source": str(self.plan.source or f"gcc-{self.host.major}-source {self.host.package}"),
            "seconds": f"{seconds:.0f}",
            "plugins": "yes",
        }
        store.write_conf(str(part / store.CONF), conf)
        shutil.copy(self.log, part / store.LOG)
        for path in (part, *part.iterdir(), part.parent):  # whatever the umask: what others can write is not run
            if path.stat().st_uid == os.geteuid():
                path.chmod(path.stat().st_mode & ~0o022)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
        self.progress.advance(WEIGHTS["probe"])
        return store.Installed(str(target), conf)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child and all that it started; make deletes what it was making."""
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            child.kill()


def object_count(place: Path) -> int:
    """How many objects lto1 is made of, by its makefile; those of the generator programs are a guess."""
    objects = "$(LTO_OBJS) $(OBJS) $(OBJS-libcommon) $(OBJS-libcommon-target)"
    text = f"include Makefile\ngompy-objects:\n\t@echo $(words $(sort {objects}))\n"
    done = subprocess.run(
        ["make", "-s", "-f", "-", "gompy-objects"], input=text, cwd=place, capture_output=True, text=True
    )
    words = done.stdout.split()
    return (int(words[-1]) if words and words[-1].isdigit() else 515) + 44


def error_line(lines: list[bytes]) -> str:
    """The line of a failed tool's output that tells most."""
    texts = [line.decode("utf-8", "replace").strip() for line in lines]
    for pattern in (r"\b(?:fatal )?error: ", r"No space left", r"\*\*\* .*No rule", r"\*\*\*"):
        found = next((text for text in texts if re.search(pattern, text)), None)
        if found:
            return found[:300]
    return texts[-1][:300] if texts else "(no message)"
