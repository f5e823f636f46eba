"""Requests of the executor: objects to cache files, with everything that the first run will need.

`fill FOLDER` reads requests from standard input, a line each:

    object HASH NAME            the text is in FOLDER/HASH.ptx
    want HASH I                 the index
    want HASH S|E|X             what the image needs of the object as S; all its kernels as E or X
    want HASH S|V|W FUNCTION    one function
    auto [checked]              what an image of all the objects needs
    slow [checked]              what all files share (slow.py)

(small letters: with checks) and writes FOLDER/HASH.I and so on.  As S, an object's file has the functions that kernels
of the first image with that object can reach (reach.py); what a later image needs besides is in files of one function
each.  Functions that kernels call as V are compiled along, so that the program does not stop at the first call of each.
Large requests are shared by several processes.  Diagnostics go to standard output, a line each.
"""

from __future__ import annotations

import os
import sys
import time

from . import abi
from .index import index_file
from .parser import parse
from .reach import Facts, functions_of_code, reachable
from .syntax import Module, PtxError, Unsupported

LIMIT = 512 << 20
"""Bytes that the files of one CPU may take."""
SIMT_STACK = "%simtstack_ar"
"""What objects have that simt.py is for."""
UNUSED = 14 * 86400
"""Seconds after which a folder of another version or CPU goes that nobody uses."""

OK, BAD_PTX, NO_COMPILER, NOT_SUPPORTED = 0, 1, 2, 3

CHUNK = 2500
"""Lines of PTX that are compiled as one LLVM module at most (a function more or less)."""
SHARE = 1500
"""Lines of PTX that are worth a process of their own."""


def function_hash(name: str) -> str:
    """The part of a file's name that stands for a function (executor: function_file)."""
    value = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


class Job:
    """A code file to be made: functions of an object in a form."""

    __slots__ = ("file", "form", "key", "names", "parts", "weight")

    def __init__(self, key: str, form: str, names: list[str], file: str, weight: int, parts: int = 0) -> None:
        self.key, self.form, self.names, self.file = key, form, names, file
        self.weight = weight  # lines of PTX
        self.parts = parts  # how many further files belong to this one


class Builder:
    """The requests of one process."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}
        self.modules: dict[str, Module] = {}
        self.known: dict[str, Facts] = {}
        self.reached: dict[str, list[str]] | None = None
        self.calls: list[tuple[str, str, str]] = []  # object, function, form: called as V by a kernel's object
        self.messages: list[str] = []
        self.status = OK
        self.threads = len(os.sched_getaffinity(0))  # for one function file; processes of a large request have one

    def path(self, name: str) -> str:
        """The path of a cache file."""
        return os.path.join(self.folder, name)

    def module(self, key: str) -> Module:
        """The parsed object."""
        if key not in self.modules:
            with open(self.path(f"{key}.ptx"), "rb") as file:
                text = file.read().decode("utf-8", "surrogateescape")
            if SIMT_STACK in text:  # of GCC's own mkoffload: ours has seen to it
                from .simt import mended

                text = mended([text])[0][0]
            self.modules[key] = parse(text, self.names.get(key, key))
        return self.modules[key]

    def facts(self, key: str) -> Facts:
        """What the index says of an object; the index is made if there is none."""
        if key not in self.known:
            try:
                with open(self.path(f"{key}.I"), "rb") as file:
                    data = file.read()
                self.known[key] = Facts(data)
            except (OSError, ValueError):
                self.index(key)
        return self.known[key]

    def index(self, key: str) -> None:
        """Make an object's index."""
        data = index_file(self.module(key))
        self.write(f"{key}.I", data)
        self.known[key] = Facts(data)

    def write(self, name: str, data: bytes) -> None:
        """A cache file, complete or not at all."""
        part = self.path(f".{name}.{os.getpid()}")
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, self.path(name))

    def needed(self, key: str) -> list[str]:
        """The functions of an object that the image's kernels can reach."""
        if self.reached is None:
            self.reached = reachable({name: self.facts(name) for name in self.names})
        return self.reached.get(key, [])

    def jobs_of(self, key: str, form: str, function: str = "") -> list[Job]:
        """What one `want` line asks for."""
        facts = self.facts(key)
        if function:
            return [Job(key, form, [function], f"{key}.{form}.{function_hash(function)}", facts.lines.get(function, 1))]
        names = self.needed(key) if form in "Ss" else facts.entries
        chunks: list[list[str]] = [[]]
        weights = [0]
        for name in names:
            if weights[-1] > CHUNK:
                chunks.append([])
                weights.append(0)
            chunks[-1].append(name)
            weights[-1] += facts.lines[name]
        jobs = [Job(key, form, chunks[0], f"{key}.{form}", weights[0], len(chunks) - 1)]
        for number in range(1, len(chunks)):
            jobs.append(Job(key, form, chunks[number], f"{key}.{form}+{number}", weights[number]))
        return jobs

    def automatic(self, checked: bool) -> list[Job]:
        """What an image of all these objects needs and is not there (link.pxi, open_objects, has the same rule)."""
        for key in self.names:
            try:
                self.facts(key)
            except PtxError:
                return []  # told by the request of the index
        openmp = any(f.openmp and f.entries for f in self.known.values())
        jobs: list[Job] = []
        for key, facts in self.known.items():
            scalar = openmp and (facts.openmp or not facts.entries)
            form = "S" if scalar else "E"
            form = form.lower() if checked else form
            file = f"{key}.{form}"
            if not (facts.lines if scalar else facts.entries):
                continue
            have = functions_of_code(self.folder, file)
            if have is None:
                jobs += self.jobs_of(key, form)
            elif scalar:
                for name in self.needed(key):
                    if name not in have and not os.path.exists(self.path(f"{file}.{function_hash(name)}")):
                        jobs += self.jobs_of(key, form, name)
        return jobs

    def run(self, job: Job) -> None:
        """Make one file."""
        from .compiler import SLOW, compile_functions, compile_slow

        if job.form == SLOW:
            self.write(job.file, compile_slow(job.file == abi.SLOW_FILES[1]))
            return
        module = self.module(job.key)
        hot = job.form in "VWvw" or bool(self.facts(job.key).entries)
        functions = [(module.functions[name], job.form) for name in job.names if name in module.functions]
        data, calls = compile_functions(module, functions, hot, job.parts, self.threads)
        self.write(job.file, data)
        if hot:
            self.calls += [(job.key, called, kind) for called, kind in calls]

    def attempt(self, jobs: list[Job], told: bool) -> None:
        """Make files one after the other; what went wrong is kept in `messages` (nothing unsupported if not `told`)."""
        for job in jobs:
            try:
                self.run(job)
            except PtxError as error:
                if isinstance(error, Unsupported) and not told:
                    continue  # told if it is called
                error.name = error.name or self.names.get(job.key, "")
                self.messages.append(str(error))
                self.status = NOT_SUPPORTED if isinstance(error, Unsupported) else BAD_PTX
            except ModuleNotFoundError as error:
                self.messages.append(
                    f"error: compiling PTX needs the Python package '{error.name}': pip install {error.name}"
                )
                self.status = NO_COMPILER
                return
            except Exception as error:  # a mistake of the compiler's own: told in a line, with its place
                import traceback

                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{os.path.basename(place.filename)}:{place.lineno}"
                name = self.names.get(job.key, job.key)
                self.messages.append(f"{name}: internal error of the PTX compiler: {error!r} at {where}")
                self.status = BAD_PTX
                return

    def make(self, jobs: list[Job], told: bool = True) -> None:
        """Make files, in several processes if they are many."""
        if not jobs:
            return
        if jobs[0].key:
            jobs = [*self.slow_job(jobs[0].form.islower()), *jobs]
        total = sum(job.weight for job in jobs)
        count = min(len(os.sched_getaffinity(0)), len(jobs), total // SHARE)
        if count < 2:
            self.attempt(jobs, told)
            return
        shares: list[list[Job]] = [[] for _ in range(count)]
        loads = [0] * count
        for job in sorted(jobs, key=lambda job: -job.weight):
            least = loads.index(min(loads))
            shares[least].append(job)
            loads[least] += job.weight + 50
        from .compiler import backend

        try:
            backend()  # loaded once for all, and by no thread any more while processes are made
        except Exception:
            self.attempt(shares[0], told)  # says what is wrong
            return
        self.threads = 1
        children = [self.child(share, told) for share in shares[1:]]
        self.attempt(shares[0], told)
        for process, pipe in children:
            self.collect(process, pipe)

    def child(self, jobs: list[Job], told: bool) -> tuple[int, int]:
        """Have a child process make files; its number, and a pipe on which it reports."""
        import marshal

        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                os.close(reading)
                self.calls, self.messages, self.status = [], [], OK
                self.attempt(jobs, told)
                with open(writing, "wb") as pipe:
                    pipe.write(marshal.dumps((self.status, self.messages, self.calls)))
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        return process, reading

    def collect(self, process: int, pipe: int) -> None:
        """Wait for a child process and take its report."""
        import marshal

        with open(pipe, "rb") as file:
            data = file.read()
        os.waitpid(process, 0)
        if not data:
            self.messages.append("error: a process of the PTX compiler ended early (out of memory?)")
            self.status = BAD_PTX
            return
        status, messages, calls = marshal.loads(data)
        self.status = status or self.status
        self.messages += messages
        self.calls += calls

    def slow_job(self, checked: bool) -> list[Job]:
        """What all code files share, if it is not there."""
        from .compiler import SLOW

        name = abi.SLOW_FILES[checked]
        return [] if os.path.exists(self.path(name)) else [Job("", SLOW, [], name, 300)]

    def definition(self, key: str, name: str) -> str:
        """The object that defines a function which object `key` calls; "" if none does."""
        if name in self.facts(key).lines:
            return key
        for other in self.names:
            if name in self.facts(other).exports and name in self.facts(other).lines:
                return other
        return ""

    def follow(self) -> None:
        """Compile what is called as V, and what that calls."""
        done: set[tuple[str, str, str]] = set()
        while self.calls and self.status == OK:
            jobs: list[Job] = []
            for caller, name, form in self.calls:
                key = self.definition(caller, name)
                if not key or (key, name, form) in done:
                    continue
                done.add((key, name, form))
                if not os.path.exists(self.path(f"{key}.{form}.{function_hash(name)}")):
                    jobs += self.jobs_of(key, form, name)
            self.calls = []
            self.make(jobs, told=False)


def fill(folder: str) -> int:
    """Serve the requests on standard input."""
    builder = Builder(folder)
    wants: list[list[str]] = []
    automatic = checked = False
    jobs: list[Job] = []
    for line in sys.stdin:
        words = line.rstrip("\n").split(" ", 3)
        if words[0] == "object":
            builder.names[words[1]] = line.rstrip("\n").split(" ", 2)[2]
        elif words[0] == "want":
            wants.append(words[1:])
        elif words[0] == "auto":
            automatic, checked = True, words[1:] == ["checked"]
        elif words[0] == "slow":
            jobs += builder.slow_job(words[1:] == ["checked"])
    for words in wants:
        try:
            if words[1] == "I":
                builder.index(words[0])
            else:
                jobs += builder.jobs_of(*words)
        except PtxError as error:
            error.name = error.name or builder.names.get(words[0], "")
            builder.messages.append(str(error))
            builder.status = BAD_PTX
    if automatic and builder.status == OK:
        jobs += builder.automatic(checked)
    if builder.status == OK:
        builder.make(jobs)
    if builder.status == OK:
        builder.follow()
    for message in builder.messages:
        print(message)
    if jobs:
        prune(folder, set(builder.names))
        prune_others(folder)
    return builder.status


def prune(folder: str | os.PathLike[str], keep: set[str]) -> None:
    """Remove the objects that have not been used for longest, until the folder is within its bounds."""
    size: dict[str, int] = {}
    last: dict[str, float] = {}
    for entry in os.scandir(folder):
        key = entry.name.split(".", 1)[0]
        try:
            facts = entry.stat()
        except OSError:
            continue  # another process was quicker
        if entry.name in abi.SLOW_FILES:
            continue
        if not key:
            if facts.st_mtime < time.time() - 3600:
                remove(entry.path)  # left by a process that died
            continue
        size[key] = size.get(key, 0) + facts.st_size
        last[key] = max(last.get(key, 0.0), facts.st_mtime)
    total = sum(size.values())
    for key in sorted(last, key=lambda k: last[k]):
        if total <= LIMIT:
            break
        if key not in keep:
            total -= size[key]
            for name in os.listdir(folder):
                if name.startswith(f"{key}."):
                    remove(os.path.join(folder, name))


def prune_others(folder: str | os.PathLike[str]) -> None:
    """Remove the folders of other versions of the executor, and of other CPUs, that nobody has used for long."""
    stamp = os.path.join(folder, ".others")  # prune removes it after an hour: no more often is looked
    if os.path.exists(stamp):
        return
    open(stamp, "w").close()
    home, own = os.path.split(os.path.abspath(folder))
    for other in os.scandir(home):
        if other.name == own or not other.name.split("-", 1)[0].isdigit() or not other.is_dir(follow_symlinks=False):
            continue
        try:
            used = max((entry.stat().st_mtime for entry in os.scandir(other)), default=other.stat().st_mtime)
            if used < time.time() - UNUSED:
                for entry in os.scandir(other):
                    remove(entry.path)
                os.rmdir(other)
        except OSError:
            continue  # another process is at it


def remove(path: str) -> None:
    """Remove a file that may be gone already."""
    try:  # noqa: SIM105 (contextlib would be one more module at each start)
        os.unlink(path)
    except FileNotFoundError:
        pass


def read(path: str) -> str:
    """A text file."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def check(files: list[str]) -> int:
    """`check FILE…`: parse and compile everything, print what is wrong."""
    from .compiler import ir
    from .emit import Links

    status = 0
    for file in files:
        try:
            texts = read(file).split("\0")
            for text in texts:
                if text.strip():
                    module = parse(text, file)
                    ir(module, [(f, "E" if f.entry else "V") for f in module.functions.values()], Links())
        except PtxError as error:
            error.name = error.name or file
            print(error)
            status = 1
        except OSError as error:
            print(f"{file}: error: {error.strerror}")
            status = 1
    return status


def main(arguments: list[str]) -> int:
    """The command; see the module's head."""
    if len(arguments) == 2 and arguments[0] == "fill":
        return fill(arguments[1])
    if len(arguments) >= 2 and arguments[0] == "check":
        return check(arguments[1:])
    print("usage: python -m gompy.ptx check FILE…", file=sys.stderr)
    return 2
