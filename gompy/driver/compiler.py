"""Which gcc to run, and what is known about it.

``gcc -v`` says all that is needed (version, offload targets it was configured with) and costs a process; the answer
is kept in ``$XDG_CACHE_HOME/gompy/compilers``, one line per compiler, valid while its time and size are the same.
"""

from __future__ import annotations

import os

from gompy.abi.gcc import NAMED, SUPPORTED, major_of, nearest, newer
from gompy.driver.errors import DriverError, quote
from gompy.driver.searches import note_candidate
from gompy.tools.cache_base import cache_base


class Language:
    """One of the three wrappers."""

    __slots__ = ("default", "program", "variable")

    def __init__(self, program: str, variable: str, default: str) -> None:
        self.program = program
        self.variable = variable
        self.default = default


ANSWER = 60
"""Seconds that a compiler may take to tell its version."""
OURS = ("gompcc", "gompc++", "gompfortran", "gompclang", "gompclang++")

C = Language("gompcc", "GOMPY_CC", "gcc")
CXX = Language("gompc++", "GOMPY_CXX", "g++")
FORTRAN = Language("gompfortran", "GOMPY_FC", "gfortran")


class Compiler:
    """A compiler command: ``path`` to execute, ``words`` as typed (``words[0]`` becomes argv[0])."""

    __slots__ = ("path", "words")

    def __init__(self, path: str, words: list[str]) -> None:
        self.path = path
        self.words = words


class Unanswered(DriverError):
    """A compiler has not told what it is: it was killed, it failed.  No other one is taken for it.

    The next command could get an answer, and objects of two releases are not linked together.
    """

    def __init__(self, compiler: Compiler, trouble: str, variable: str) -> None:
        mend = "try again, or set" if not os.environ.get(variable, "").strip() else "try again, or change"
        super().__init__(f"{quote(' '.join(compiler.words))} {trouble}", f"{mend} {variable}")


_failed: dict[str, Facts] = {}
"""What a compiler was asked in vain by this process, so that each question does not wait for it anew."""


class Facts:
    """What ``gcc -v`` tells: ``version`` ("" if it is not gcc), ``targets`` it was configured to offload to.

    ``trouble``: why it has told nothing, such as "cannot be run: Exec format error".
    """

    __slots__ = ("targets", "trouble", "version")

    def __init__(self, version: str, targets: list[str], trouble: str = "") -> None:
        self.version = version
        self.targets = targets
        self.trouble = trouble

    @property
    def problem(self) -> str:
        """Why it cannot compile for a device, or ""."""
        if self.trouble:
            return self.trouble
        if not self.version:
            return "is not gcc"
        major = major_of(self.version)
        if newer(major):
            return f"is gcc {self.version}, whose device code gompy cannot run yet"
        if major not in SUPPORTED:
            return f"is gcc {self.version}"
        if not self.targets:
            return f"is a gcc {self.version} that was configured without --enable-offload-targets"
        return ""


def which(name: str) -> str:
    """Full path of a program, by PATH; "" if there is none.  Our own wrappers are passed over."""
    # Not os.get_exec_path, which imports warnings.
    folders = [""] if "/" in name else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, name)
        note_candidate(path)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            if os.path.basename(os.path.realpath(path)) in OURS:
                continue
            return path
    return ""


def chosen(language: Language) -> Compiler:
    """The compiler to run: the environment's, else the PATH's default one, else a versioned one.

    A versioned one also if the default one is newer than gompy works with.
    """
    given = os.environ.get(language.variable, "").strip()
    if given:
        words = [given]
        if "/" not in given or not os.access(given, os.X_OK):  # a path may have spaces
            import shlex

            try:
                words = shlex.split(given)
            except ValueError as error:
                raise DriverError(f"{language.variable}={quote(given)}: {error}") from None
        path = which(words[0])
        if not path:
            raise DriverError(f"{language.variable}: no such compiler: {quote(words[0])}")
        return Compiler(path, words)
    path = which(language.default)
    if path:
        first = Compiler(path, [language.default])
        # One gcc for all commands of a build: streams, Fortran modules and what CMake finds out have one version.
        return _older_than(language, first) or first
    other = _versioned(language)
    if other is not None:
        return other
    numbered = f"no {language.default}-{SUPPORTED[0]} to {language.default}-{SUPPORTED[-1]}"
    mend = f"install {language.default}, or set {language.variable}"
    raise DriverError(f"no {language.default} and {numbered} in PATH: {mend}")


def _versioned(language: Language) -> Compiler | None:
    """The newest ``gcc-<n>`` of the supported releases that is there."""
    for number in reversed(SUPPORTED):
        path = which(f"{language.default}-{number}")
        if path:
            return Compiler(path, [f"{language.default}-{number}"])
    return None


def _older_than(language: Language, command: Compiler) -> Compiler | None:
    """A compiler of a supported release, if there is one and the given compiler is newer than these.

    The file's name tells where it has a number, as distributions name them; only otherwise the compiler is asked.
    """
    number = os.path.realpath(command.path).rpartition("-")[2]
    if number.isdecimal():
        return _versioned(language) if newer(int(number)) else None
    other = _versioned(language)
    return other if other is not None and newer(major_of(told(language, command).version)) else None


def told(language: Language, command: Compiler) -> Facts:
    """What is known about a compiler that has answered.  Raises Unanswered if it has not."""
    known = facts(command)
    if known.trouble:
        raise Unanswered(command, known.trouble, language.variable)
    return known


def targets(language: Language) -> list[str]:
    """The targets that the compiler to run was configured to offload to."""
    return told(language, chosen(language)).targets


def fit(language: Language) -> tuple[Compiler, Facts]:
    """The compiler to run for offloading.

    If the default one of the PATH will not do, a versioned one is taken.
    Raises DriverError when there is none, or when the environment names one that will not do.
    """
    first = chosen(language)
    known = told(language, first)
    if not known.problem:
        return first, known
    mend = f"offloading needs {NAMED}, configured with offload targets"
    if not os.environ.get(language.variable, "").strip():
        other = _versioned(language)
        if other is not None:
            known_other = told(language, other)
            if not known_other.problem:
                return other, known_other
        mend += f": install {language.default}-{nearest(major_of(known.version))}, or set {language.variable}"
    else:
        mend += f": set {language.variable} to one, or unset it"
    raise DriverError(f"{quote(' '.join(first.words))} {known.problem}; {mend}")


def together() -> tuple[str, dict[str, str]]:
    """The version of one gcc that has all three languages, and the variables to set for it, none where each default is.

    Objects of two releases are not linked together.  Raises DriverError if there is none.
    """
    languages = (C, CXX, FORTRAN)
    versions: list[str] = []
    lacking: DriverError | None = None
    for language in languages:
        try:
            versions.append(fit(language)[1].version)
        except Unanswered:
            raise
        except DriverError as error:
            lacking = lacking or error
    if lacking is None and len({major_of(version) for version in versions}) == 1:
        return versions[0], {}
    for number in reversed(SUPPORTED):
        paths = [which(f"{language.default}-{number}") for language in languages]
        if all(paths):
            variables = {language.variable: path for language, path in zip(languages, paths, strict=True)}
            known = [told(language, Compiler(path, [path])) for language, path in zip(languages, paths, strict=True)]
            return known[0].version, variables
    raise lacking or DriverError(f"gcc, g++ and gfortran are of different releases: {', '.join(versions)}")


def _cache_file() -> str:
    """Where answers are kept; a path that cannot be made where there is no home."""
    return os.path.join(cache_base() or "/dev/null", "gompy", "compilers")


def facts(compiler: Compiler) -> Facts:
    """What is known about a compiler, from the cache or by asking it."""
    try:
        status = os.stat(compiler.path)
    except OSError as error:
        raise DriverError(f"{compiler.path}: {error.strerror}") from None
    real = os.path.realpath(compiler.path)
    key = "\t".join((compiler.path, real, " ".join(compiler.words), str(status.st_mtime_ns), str(status.st_size)))
    cache = _cache_file()
    lines: list[str] = []
    try:
        with open(cache, encoding="utf-8", errors="surrogateescape") as file:
            status = os.fstat(file.fileno())
            if status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022:  # nobody else's word
                lines = file.read().splitlines()
    except OSError:
        pass
    for line in lines:
        version, _, targets = line[len(key) + 1 :].partition("\t") if line.startswith(key + "\t") else ("", "", "")
        if version:
            return Facts(version, targets.split(",") if targets else [])
    found = _failed.get(key) or ask(compiler)
    if found.trouble:
        _failed[key] = found
    if not found.version:
        return found  # perhaps for lack of something that the next run has
    lines = [line for line in lines if not line.startswith("\t".join(key.split("\t")[:3]) + "\t")][-50:]
    lines.append(f"{key}\t{found.version}\t{','.join(found.targets)}")
    part = f"{cache}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(cache), mode=0o700, exist_ok=True)
        with open(part, "x", encoding="utf-8", errors="surrogateescape") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("\n".join(lines) + "\n")
        os.replace(part, cache)
    except OSError:
        pass  # a cache that cannot be written costs a process each time, no more
    return found


def ask(compiler: Compiler) -> Facts:
    """Run ``gcc -v`` and read its answer."""
    _, text, trouble = answer(compiler.words, compiler.path, "-v")
    known = read_version(text)
    # Who tells what it is before it fails has told.
    return Facts("", [], trouble) if trouble and not known.version else known


def answer(command: list[str], path: str, *words: str) -> tuple[str, str, str]:
    """What a compiler that is asked something says on standard output and error, and how it fails ("": it does not).

    ``path``: the program that is run as ``command``; "": what PATH has.
    """
    import subprocess

    env = {**os.environ, "LC_ALL": "C"}
    env.pop("OFFLOAD_TARGET_NAMES", None)
    asked = " ".join(words)
    try:
        done = subprocess.run(
            [*command, *words],
            executable=path or None,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER,
        )
    except OSError as error:
        return "", "", f"cannot be run: {error.strerror}"
    except subprocess.SubprocessError:
        return "", "", f"does not answer {asked} within {ANSWER} s"
    text = done.stderr.decode("utf-8", "replace")
    trouble = failure(done.returncode, text)
    return done.stdout.decode("utf-8", "replace"), text, trouble and f"{trouble} when asked {asked}"


def failure(status: int, text: str) -> str:
    """How a compiler that was asked something has failed, for messages; "" if it has not.  ``text``: what it said."""
    if status < 0:
        return f"has ended by signal {-status}"
    said = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"has ended with status {status}{said and ' (' + said + ')'}" if status else ""


def find_part(compiler: Compiler, name: str) -> str:
    """Where a compiler has a part of its own, such as lto1; the name alone if it does not tell."""
    import subprocess

    command = [*compiler.words, f"-print-prog-name={name}"]
    try:
        done = subprocess.run(command, executable=compiler.path, stdin=subprocess.DEVNULL, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        return name
    return os.fsdecode(done.stdout).strip() or name


def read_version(text: str) -> Facts:
    """Read the output of ``gcc -v``."""
    version = ""
    targets: list[str] = []
    for line in text.splitlines():
        if line.startswith("gcc version "):
            version = line.split()[2]
        elif line.startswith("OFFLOAD_TARGET_NAMES="):
            targets = [name for name in line.split("=", 1)[1].split(":") if name]
    if version and not version.split(".")[0].isdigit():
        version = ""
    return Facts(version, targets)
