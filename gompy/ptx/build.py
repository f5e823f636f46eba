"""Requests of the executor: objects to cache files, with everything that the first run will need.

`fill FOLDER` reads requests from standard input, a line each:

    object HASH NAME            the text is in FOLDER/HASH.ptx
    want HASH I                 the index
    want HASH S|E|X             all functions as S; all kernels as E or X
    want HASH V|W FUNCTION      one function as V or W
    auto [checked]              what an image of all the objects needs

(small letters: with checks) and writes FOLDER/HASH.I and so on.  Functions that kernels call as V are compiled along,
so that the program does not stop at the first call of each.  Diagnostics go to standard output, a line each.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from pathlib import Path

from .index import index_file, is_openmp
from .parser import parse
from .syntax import Module, PtxError, Unsupported

LIMIT = 512 << 20
"""Bytes that the files of one CPU may take."""

OK, BAD_PTX, NO_COMPILER, NOT_SUPPORTED = 0, 1, 2, 3


def function_hash(name: str) -> str:
    """The part of a file's name that stands for a function (executor: function_file)."""
    value = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


class Builder:
    """The requests of one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}
        self.modules: dict[str, Module] = {}
        self.exports: dict[str, str] | None = None
        self.calls: list[tuple[str, str, str]] = []  # object, function, form: called as V by a kernel's object
        self.status = OK

    def module(self, key: str) -> Module:
        """The parsed object."""
        if key not in self.modules:
            text = (self.folder / f"{key}.ptx").read_bytes().decode("utf-8", "surrogateescape")
            self.modules[key] = parse(text, self.names.get(key, key))
        return self.modules[key]

    def write(self, name: str, data: bytes) -> None:
        """A cache file, complete or not at all."""
        part = self.folder / f".{name}.{os.getpid()}"
        part.write_bytes(data)
        part.replace(self.folder / name)

    def request(self, key: str, form: str, function: str = "") -> None:
        """One `want` line."""
        module = self.module(key)
        if form == "I":
            self.write(f"{key}.I", index_file(module))
            return
        from .compiler import compile_functions

        if function:
            name = f"{key}.{form}.{function_hash(function)}"
            data, calls = compile_functions(module, [(module.functions[function], form)], True)
            self.write(name, data)
            self.calls += [(key, called, kind) for called, kind in calls]
            return
        functions = [(f, form) for f in module.functions.values() if form in "Ss" or f.entry]
        data, calls = compile_functions(module, functions, any(f.entry for f in module.functions.values()))
        self.write(f"{key}.{form}", data)
        if any(f.entry for f in module.functions.values()):
            self.calls += [(key, called, kind) for called, kind in calls]

    def automatic(self, checked: bool) -> list[list[str]]:
        """What an image of all these objects needs (link.pxi, open_objects, has the same rule)."""
        facts = {}
        for key in self.names:
            try:
                module = self.module(key)
            except PtxError:
                return []  # told by the request of the index
            facts[key] = (is_openmp(module), any(f.entry for f in module.functions.values()), bool(module.functions))
        openmp = any(o and e for o, e, _ in facts.values())
        wants = []
        for key, (own, entries, some) in facts.items():
            scalar = openmp and (own or not entries)
            form = "S" if scalar else "E"
            form = form.lower() if checked else form
            if (some if scalar else entries) and not (self.folder / f"{key}.{form}").exists():
                wants.append([key, form])
        return wants

    def definition(self, key: str, name: str) -> str:
        """The object that defines a function which object `key` calls; "" if none does."""
        if name in self.module(key).functions:
            return key
        if self.exports is None:
            self.exports = {}
            for other in self.names:
                for function in self.module(other).functions.values():
                    if function.linkage in ("visible", "weak", "common"):
                        self.exports.setdefault(function.name, other)
        return self.exports.get(name, "")

    def follow(self) -> None:
        """Compile what is called as V, and what that calls."""
        done: set[tuple[str, str, str]] = set()
        while self.calls:
            caller, name, form = self.calls.pop()
            key = self.definition(caller, name)
            if not key or (key, name, form) in done:
                continue
            done.add((key, name, form))
            if not (self.folder / f"{key}.{form}.{function_hash(name)}").exists():
                try:
                    self.request(key, form, name)
                except Unsupported:
                    continue  # told if it is called


def fill(folder: Path) -> int:
    """Serve the requests on standard input."""
    builder = Builder(folder)
    wants: list[list[str]] = []
    automatic = checked = False
    for line in sys.stdin:
        words = line.rstrip("\n").split(" ", 3)
        if words[0] == "object":
            builder.names[words[1]] = line.rstrip("\n").split(" ", 2)[2]
        elif words[0] == "want":
            wants.append(words[1:])
        elif words[0] == "auto":
            automatic, checked = True, words[1:] == ["checked"]
    status = OK
    if automatic:
        wants += builder.automatic(checked)
    for words in wants:
        try:
            builder.request(*words)
        except PtxError as error:
            error.name = error.name or builder.names.get(words[0], "")
            print(error)
            status = NOT_SUPPORTED if isinstance(error, Unsupported) else BAD_PTX
        except ModuleNotFoundError as error:
            print(f"error: compiling PTX needs the Python package '{error.name}': pip install {error.name}")
            return NO_COMPILER
        except Exception as error:  # a mistake of the compiler's own: told in a line, with its place
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            print(f"{builder.names.get(words[0], words[0])}: internal error of the PTX compiler: {error!r} at {where}")
            return BAD_PTX
    if status == OK:
        builder.follow()
    prune(folder, set(builder.names))
    return status


def prune(folder: Path, keep: set[str]) -> None:
    """Remove the objects that have not been used for longest, until the folder is within its bounds."""
    size: dict[str, int] = {}
    last: dict[str, float] = {}
    for entry in os.scandir(folder):
        key = entry.name.split(".", 1)[0]
        try:
            facts = entry.stat()
        except OSError:
            continue  # another process was quicker
        if not key:
            if facts.st_mtime < time.time() - 3600:
                Path(entry.path).unlink(missing_ok=True)  # left by a process that died
            continue
        size[key] = size.get(key, 0) + facts.st_size
        last[key] = max(last.get(key, 0.0), facts.st_mtime)
    total = sum(size.values())
    for key in sorted(last, key=lambda k: last[k]):
        if total <= LIMIT:
            break
        if key not in keep:
            total -= size[key]
            for file in folder.glob(f"{key}.*"):
                file.unlink(missing_ok=True)


def check(files: list[str]) -> int:
    """`check FILE…`: parse and compile everything, print what is wrong."""
    from .compiler import ir
    from .emit import Links

    status = 0
    for file in files:
        try:
            texts = Path(file).read_text(errors="surrogateescape").split("\0")
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
        return fill(Path(arguments[1]))
    if len(arguments) >= 2 and arguments[0] == "check":
        return check(arguments[1:])
    print("usage: python -m gompy.ptx check FILE…", file=sys.stderr)
    return 2
