"""Requests of the executor: objects to cache files, with everything that the first run will need.

`fill FOLDER` reads requests from standard input, a line each (`fill -`: for the executor, see store.py; an answer then
ends with a NUL and the status):

    identity HASH LEAF          who asks: the hash of the sources (gompy/abi/ptx.py), and the folder's name
    object HASH NAME            the text is in FOLDER/HASH.ptx
    want HASH I                 the index
    want HASH S|E|X             what the image needs of the object as S; all its kernels as E or X
    want HASH S|V|W FUNCTION    one function
    auto [checked|racing|both]  what an image of all the objects needs, with code of that kind (abi.CODE_KINDS)
    slow [checked]              what all files share (slow.py)
    whole HASH [checked|racing|both]  all functions of the object as S, for mkoffload/nvptx_ahead.py

(other letters for other kinds: abi.FORM_LETTERS) and writes FOLDER/HASH.I and so on.  As S, an object's file has the
functions that kernels of the first image with that object can reach (reach.py); what a later image needs besides is in
files of one function each.  Functions that kernels call as V are compiled along, so that the program does not stop at
the first call of each.
Large requests are shared by several processes.  Diagnostics go to standard output, a line each.
"""

from __future__ import annotations

import os
import sys
import time

from gompy.abi import ptx as abi

from . import store, unit
from .index import index_file
from .native import digest, end_with
from .parser import parse
from .reach import Facts, functions_of_code, reachable
from .syntax import Gone, Module, PtxError, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 512 << 20
"""Bytes that the files of one CPU may take."""
SIMT_STACK = "%simtstack_ar"
"""What objects have that simt.py is for."""
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
UNUSED = 14 * 86400
"""Seconds after which a folder of another version or CPU goes that nobody uses."""

OK, BAD_PTX, NO_COMPILER, NOT_SUPPORTED, TEXT_GONE = 0, 1, 2, 3, 4
"""Exit statuses; compiler_process.pxi knows them."""

LONGEST = 600
"""Letters of a message."""
CHUNK = 2500
"""Lines of PTX that are compiled as one LLVM module at most (a function more or less)."""
SHARE = 1500
"""Lines of PTX that are worth a process of their own."""


def function_hash(name: str) -> str:
    """The part of a file's name that stands for a function (executor: function_file)."""
    found = digest(name.encode("utf-8", "surrogateescape"))
    return "".join(f"{int.from_bytes(found[i : i + 8], 'little'):016x}" for i in (0, 8))


def shown(message: str) -> str:
    """A message on one line, of bounded length, whatever the PTX has in it."""
    text = "".join(c if c.isprintable() or "\udc80" <= c <= "\udcff" else "?" for c in message)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


class Job:
    """A code file to be made: functions of an object in a form."""

    __slots__ = ("ahead", "file", "form", "key", "names", "parts", "weight")

    def __init__(self, key: str, form: str, names: list[str], file: str, weight: int, parts: int = 0) -> None:
        self.ahead = False  # no program waits for it
        self.key, self.form, self.names, self.file = key, form, names, file
        self.weight = weight  # lines of PTX
        self.parts = parts  # how many further files belong to this one


class Builder:
    """The requests of one process."""

    def __init__(self, folder: str | store.Store) -> None:
        self.store = store.of_folder(folder) if isinstance(folder, str) else folder
        self.checks_texts = not isinstance(folder, str)
        self.names: dict[str, str] = {}
        self.modules: dict[str, Module] = {}
        self.known: dict[str, Facts] = {}
        self.reached: dict[str, list[str]] | None = None
        self.calls: list[tuple[str, str, str]] = []  # object, function, form: called as V by a kernel's object
        self.messages: list[str] = []
        self.status = OK
        self.threads = len(os.sched_getaffinity(0))  # for one function file; processes of a large request have one

    def module(self, key: str) -> Module:
        """The parsed object."""
        if key not in self.modules:
            try:
                data = self.store.text(key, self.checks_texts)
            except (OSError, ValueError):
                raise Gone("its text in the cache is gone or damaged: start the program again") from None
            text = data.decode("utf-8", "surrogateescape")
            if SIMT_STACK in text:  # of GCC's own mkoffload: ours has seen to it
                from .simt import mended

                text = mended([text])[0][0]
            self.modules[key] = parse(text, self.names.get(key, key))
        return self.modules[key]

    def facts(self, key: str) -> Facts:
        """What the index says of an object; the index is made if there is none."""
        if key not in self.known:
            file = f"{key}.I"
            try:
                self.known[key] = Facts(self.store.read(file), self.store.subject(file))
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
        self.store.write(name, unit.bound(data, self.store.subject(name)))

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
        return self.jobs_for(key, form, self.needed(key) if abi.FORMS[form][0] == "S" else facts.entries)

    def whole(self, key: str, kind: int = abi.PLAIN) -> list[Job]:
        """What a `whole` line asks for."""
        form = abi.FORM_LETTERS[kind][abi.VERSIONS.index("S")]
        jobs = self.jobs_for(key, form, list(self.facts(key).lines))
        for job in jobs:
            job.ahead = True
        return jobs

    def jobs_for(self, key: str, form: str, names: list[str]) -> list[Job]:
        """The files of an object's functions in a form."""
        facts = self.facts(key)
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

    def automatic(self, kind: int) -> list[Job]:
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
            form = abi.FORM_LETTERS[kind][abi.VERSIONS.index("S" if scalar else "E")]
            file = f"{key}.{form}"
            if not (facts.lines if scalar else facts.entries):
                continue
            have = functions_of_code(self.store, file)
            if have is None:
                jobs += self.jobs_of(key, form)
            elif scalar:
                for name in self.needed(key):
                    if name not in have and not self.store.has(f"{file}.{function_hash(name)}"):
                        jobs += self.jobs_of(key, form, name)
        return jobs

    def run(self, job: Job) -> None:
        """Make one file."""
        from .compiler import SLOW, compile_functions, compile_slow

        if job.form == SLOW:
            self.write(job.file, compile_slow(job.file == abi.SLOW_FILES[1]))
            return
        module = self.module(job.key)
        hot = abi.FORMS[job.form][0] in "VW" or bool(self.facts(job.key).entries)
        functions = [(module.functions[name], job.form) for name in job.names if name in module.functions]
        data, calls = compile_functions(module, functions, hot, job.parts, self.threads, job.ahead)
        self.write(job.file, data)
        if hot:
            self.calls += [(job.key, called, kind) for called, kind in calls]

    def attempt(self, jobs: list[Job], told: bool) -> None:
        """Make files one after the other; what went wrong is kept in `messages` (nothing unsupported if not `told`)."""
        for job in jobs:
            if not self.guarded(job.key, lambda job=job: self.run(job), told):  # type: ignore[misc]
                return

    def guarded(self, key: str, work: Callable[[], object], told: bool = True) -> bool:
        """Do something with an object; what goes wrong is kept in `messages`.  False: nothing else will do better."""
        name = self.names.get(key, key)
        try:
            work()
            return True
        except PtxError as error:
            if isinstance(error, Unsupported) and not told:
                return True  # told if it is called
            error.name = error.name or self.names.get(key, "")
            self.messages.append(str(error))
            if isinstance(error, Gone):
                self.status = TEXT_GONE
                return False
            self.status = NOT_SUPPORTED if isinstance(error, Unsupported) else BAD_PTX
            return True
        except ModuleNotFoundError as error:
            text = f"error: compiling PTX needs the Python package '{error.name}': pip install {error.name}"
            self.status = NO_COMPILER
        except MemoryError:
            text, self.status = (
                f"{name}: error: compiling it takes more memory than there is (see docs/ptx.md)",
                BAD_PTX,
            )
        except RecursionError:
            text, self.status = f"{name}: error: nested too deeply", BAD_PTX
        except OSError as error:
            text, self.status = (
                f"{name}: error: what was compiled cannot be kept: {error.strerror or error}",
                NO_COMPILER,
            )
        except Exception as error:  # a mistake of the compiler's own: told in a line, with its place
            import traceback

            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(place.filename)}:{place.lineno}"
            text, self.status = f"{name}: internal error of the PTX compiler: {error!r} at {where}", BAD_PTX
        self.messages.append(text)
        return False

    def make(self, jobs: list[Job], told: bool = True) -> None:
        """Make files, in several processes if they are many."""
        if not jobs:
            return
        if jobs[0].key:
            jobs = [*self.slow_job(abi.FORMS[jobs[0].form][1] in (abi.CHECKED, abi.BOTH)), *jobs]
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
        own = os.getpid()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                if not end_with(own):
                    os._exit(status)
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
        return [] if self.store.has(name) else [Job("", SLOW, [], name, 300)]

    def definition(self, key: str, name: str) -> tuple[str, str]:
        """The object that defines a function which object `key` calls, and its first name; "" if none does."""
        for other in (key, *self.names):
            facts = self.facts(other)
            first = facts.aliases.get(name, name)
            if first in facts.lines and (other == key or name in facts.exports):
                return other, first
        return "", name

    def follow(self) -> None:
        """Compile what is called as V, and what that calls."""
        done: set[tuple[str, str, str]] = set()
        while self.calls and self.status == OK:
            jobs: list[Job] = []
            for caller, called, form in self.calls:
                key, name = self.definition(caller, called)
                if not key or (key, name, form) in done:
                    continue
                done.add((key, name, form))
                if not self.store.has(f"{key}.{form}.{function_hash(name)}"):
                    jobs += self.jobs_of(key, form, name)
            self.calls = []
            self.make(jobs, told=False)


def fill(folder: str) -> int:
    """Serve the requests on standard input, and say what is wrong on standard output."""
    executor = folder == "-"
    try:
        status, messages = serve(folder)
    except (OSError, ValueError) as error:
        status, messages = NO_COMPILER, [f"error: the PTX compiler: {error}"]
    text = "".join(f"{shown(message)}\n" for message in messages)
    rest = text.encode("utf-8", "surrogateescape") + (b"\0%d" % status if executor else b"")
    while rest:
        rest = rest[os.write(1, rest) :]
    return status


def kind_of(words: list[str]) -> int:
    """The kind of code that the end of a line names."""
    return abi.CODE_KINDS.index(words[0]) if words else abi.PLAIN


def serve(folder: str) -> tuple[int, list[str]]:
    """Serve the requests; returns the status and the messages."""
    requests = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\n")
    known = abi.identity()
    words = requests[0].split(" ", 2)
    if words[0] != "identity":
        words = ["identity", known, ""]
    elif words[1] != known:
        return NO_COMPILER, [
            "error: the PTX compiler and the executor are not of one build: build or install gompy again"
        ]
    elif abi.is_stale():
        return NO_COMPILER, ["error: the PTX compiler is not the one that the executor was built with: run make"]
    builder = Builder(store.of_executor(known, words[2]) if folder == "-" else folder)
    wants: list[list[str]] = []
    automatic = -1
    jobs: list[Job] = []
    wholes: list[tuple[str, int]] = []
    for line in requests:
        words = line.split(" ", 3)
        if words[0] == "object":
            builder.names[words[1]] = line.split(" ", 2)[2]
        elif words[0] == "want":
            wants.append(words[1:])
        elif words[0] == "auto":
            automatic = kind_of(words[1:])
        elif words[0] == "whole":
            wholes.append((words[1], kind_of(words[2:])))
        elif words[0] == "slow":
            jobs += builder.slow_job(words[1:] == ["checked"])
    for words in wants:
        if words[1] == "I":
            builder.guarded(words[0], lambda words=words: builder.index(words[0]))  # type: ignore[misc]
        else:
            builder.guarded(words[0], lambda words=words: jobs.extend(builder.jobs_of(*words)))  # type: ignore[misc]
    for key, kind in wholes:
        builder.guarded(key, lambda key=key, kind=kind: jobs.extend(builder.whole(key, kind)))  # type: ignore[misc]
    if automatic >= 0 and builder.status == OK:
        builder.guarded("", lambda: jobs.extend(builder.automatic(automatic)))
    if builder.status == OK:
        builder.make(jobs)
    if builder.status == OK:
        builder.follow()
    if jobs and builder.store.folder >= 0:
        prune(builder.store.folder, set(builder.names))
        prune_others(builder.store.folder)
    return builder.status, builder.messages


def prune(folder: str | os.PathLike[str] | int, keep: set[str]) -> None:
    """Remove the objects that have not been used for longest, until the folder is within its bounds."""
    descriptor = folder if isinstance(folder, int) else os.open(folder, DIRECTORY)
    try:
        prune_objects(descriptor, keep)
    except OSError:
        pass  # not ours to write
    finally:
        if descriptor != folder:
            os.close(descriptor)


def prune_objects(folder: int, keep: set[str]) -> None:
    """The same, by the folder's descriptor.  OSError if nothing can be removed."""
    size: dict[str, int] = {}
    last: dict[str, float] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            key = entry.name.split(".", 1)[0]
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # another process was quicker
            if entry.name in abi.SLOW_FILES:
                continue
            if not key:
                if facts.st_mtime < time.time() - 3600:
                    remove(entry.name, folder)  # left by a process that died
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
                    remove(name, folder)


def is_leaf(name: str) -> bool:
    """Whether a folder's name is that of a version of the executor and a CPU."""
    return "-" in name and all(c in "0123456789abcdef" for c in name.split("-", 1)[0])


def prune_others(folder: str | os.PathLike[str] | int) -> None:
    """Remove the folders of other versions of the executor, and of other CPUs, that nobody has used for long."""
    descriptor = folder if isinstance(folder, int) else os.open(folder, DIRECTORY)
    try:
        # The stamp: prune removes it after an hour, no more often is looked.
        stamp = os.open(".others", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=descriptor)
        os.fchmod(stamp, 0o600)  # whatever the umask
        os.close(stamp)
        above = os.open("..", DIRECTORY, dir_fd=descriptor)
    except OSError:
        return  # looked lately, or not ours to write
    finally:
        own = os.fstat(descriptor)
        if descriptor != folder:
            os.close(descriptor)
    with os.scandir(above) as entries:
        for other in entries:
            if not is_leaf(other.name) or not other.is_dir(follow_symlinks=False) or other.inode() == own.st_ino:
                continue
            try:
                prune_unused(other.name, above)
            except OSError:
                continue  # another process is at it
    os.close(above)


def prune_unused(name: str, above: int) -> None:
    """Remove a folder that nobody has used for long.  OSError if another process is quicker."""
    folder = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        with os.scandir(folder) as entries:
            found = {entry.name: entry.stat(follow_symlinks=False).st_mtime for entry in entries}
        if max(found.values(), default=os.fstat(folder).st_mtime) < time.time() - UNUSED:
            for file in found:
                remove(file, folder)
            os.rmdir(name, dir_fd=above)
    finally:
        os.close(folder)


def remove(name: str, folder: int) -> None:
    """Remove a file that may be gone already."""
    try:  # noqa: SIM105 (contextlib would be one more module at each start)
        os.unlink(name, dir_fd=folder)
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
