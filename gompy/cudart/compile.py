"""``gompy cuda cc``: CUDA C++ to objects and programs, by clang and without NVIDIA's tools.

For each source: clang makes PTX for each architecture, the PTX becomes a fat binary (objects/fatbin.py stands in for
ptxas and fatbinary), clang makes an object of the host code that carries it.  Then clang links.
"""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import sys
import tempfile

from gompy.cudart import clang, device_code, managed_code, options
from gompy.driver.compiler import Compiler, failure
from gompy.driver.errors import DriverError, report
from gompy.objects import fatbin
from gompy.tools.toolmain import one_line

PROGRAM = "gompy cuda cc"
HELP = """\
usage: gompy cuda cc [OPTION...] FILE...

CUDA C++ (FILE.cu) to programs that run on the emulated GPU, or on a real one: clang compiles, and nothing of
NVIDIA's is needed.  Other files and options are clang's.

  -o FILE               the program, or with -c the object
  -c                    objects only
  --ptx                 the device code as PTX text
  -rdc=true, -dc        device code may use variables and functions of other files; -dc: objects of it
  -arch=sm_70           the GPU's architecture; may be given several times; sm_70 by default
  -gencode arch=compute_70,code=sm_70
                        the same
  -Xcompiler WORDS      for the host's code only
  -use_fast_math        quick and less exact functions
  --showme              print the commands that would be run, and run nothing

Environment:
  GOMPY_CLANGXX         which clang++ is run

exit status: clang's; 1 for an error, 2 for a usage error"""


class Failed(Exception):
    """A command has failed, and said why; its exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Work:
    """One command line being carried out, with its temporary files."""

    def __init__(self, line: options.Line, compiler: Compiler, folder: str) -> None:
        self.line, self.compiler, self.folder = line, compiler, folder

    def run(self, words: list[str]) -> None:
        """Run clang.  Raises Failed if it has said why, else DriverError."""
        command = [self.compiler.path, *words]
        if self.line.show:
            print(shlex.join([*self.compiler.words, *words]))
            return
        try:
            status = subprocess.run(command, check=False).returncode
        except OSError as error:
            raise DriverError(f"{self.compiler.path}: {error.strerror}") from None
        self.refuse(status)

    def refuse(self, status: int) -> None:
        """Raise Failed for clang's status if it is not 0; DriverError if a signal ended it, as it said nothing."""
        if status < 0:
            raise DriverError(f"{self.compiler.path} {failure(status, '')}")
        if status:
            raise Failed(status if status < 128 else 1)

    def temporary(self, source: str, ending: str) -> str:
        """A file for a step's result."""
        number = self.line.sources.index(source)
        return os.path.join(self.folder, f"{number}-{os.path.basename(source)}{ending}")

    def make_ptx(self, source: str, architecture: int, output: str, shared: list[str]) -> None:
        """The device code of a source; its host code gets the shared words, too."""
        level = [] if self.line.optimises else ["-O2"]
        words = [*shared, *level, *self.line.words, *self.line.device_words]
        if self.line.relocatable or self.line.ptx:
            words = ["-DGOMPY_CUDA_NOT_MANAGED", *words]
        release = clang.release(self.compiler.path)
        command = [*clang.device_words(architecture, source, output, release), *device_debug(words)]
        if self.line.show:
            self.run(command)
            return
        colours = ["-fcolor-diagnostics"] if sys.stderr.isatty() else []
        try:
            status, said = device_code.make(self.compiler.path, [*colours, *command], output, architecture, release)
        except OSError as error:
            raise DriverError(f"{self.compiler.path}: {error.strerror}") from None
        if said.startswith("error: "):
            raise DriverError(f"{source}: {said.removeprefix('error: ').strip()}")
        sys.stderr.write(said)
        self.refuse(status)

    def shared_words(self, source: str, output: str) -> list[str]:
        """What device code and host code of a source both get."""
        return clang.relocatable_words(source, output) if self.line.relocatable else []

    def make_object(self, source: str, output: str) -> None:
        """A source's object."""
        container, texts = self.temporary(source, ".fatbin"), []
        shared = self.shared_words(source, output)
        for architecture in self.line.architectures:
            ptx = self.temporary(source, f".sm_{architecture}.ptx")
            self.make_ptx(source, architecture, ptx, shared)
            if not self.line.show:
                text = contents(ptx)
                texts.append((architecture, clang.linkable(source, text) if self.line.relocatable else text))
        if not self.line.show:
            replace(container, fatbin.pack(texts))
        first = self.line.architectures[0]
        words = [*shared, *self.line.words, *self.line.host_words]
        if not self.line.relocatable:
            self.run([*clang.host_words(first, source, container, output), *words])
            if not self.line.show:
                self.share_managed(source, texts, output, words)
            return
        assembly = self.temporary(source, ".s")
        words += ["-fno-lto", *dependency_words(words, output)]
        self.run([*clang.host_words(first, source, container, assembly), *words])
        if not self.line.show:
            replace(assembly, clang.registered_here(contents(assembly)))
        self.run(["-c", assembly, "-Wa,--no-warn", "-o", output])

    def share_managed(self, source: str, texts: list[tuple[int, bytes]], output: str, words: list[str]) -> None:
        """Make a source's object again if it has `__managed__` variables: the device's code wants to know of them."""
        made, container = output, self.temporary(source, ".fatbin")
        host = functools.partial(clang.host_words, self.line.architectures[0], source, container)
        if any(word.startswith("-flto") for word in words):
            made = self.temporary(source, ".managed.o")
            self.run([*host(made), *words, "-fno-lto"])
        if not contents(made).startswith(b"\x7fELF") or not (names := list(managed_code.names(contents(made), source))):
            return
        try:
            shared = [(number, managed_code.shared(text, names, source)) for number, text in texts]
            replace(container, fatbin.pack(shared))
            self.run([*host(output), *words, "-fno-lto"])
            replace(output, managed_code.filled(contents(output), texts[0][1], source))
        except DriverError:
            os.unlink(output)  # the first one does not know of them
            raise

    def link(self) -> None:
        """Objects and the rest of the line to a program."""
        made = {source: self.temporary(source, ".o") for source in self.line.sources}
        for source, output in made.items():
            self.make_object(source, output)
        words = [made.get(word, word) for word in self.line.objects]
        name = self.line.output or "a.out"
        before = [*clang.host_source_words(words), *self.line.words, *self.line.host_words]
        self.run([*before, *words, "-o", name, *clang.link_words(words)])
        if line_links_device_code(self.line) and not self.line.show:
            self.refuse_undefined(name, dict(zip(words, self.line.objects, strict=True)))

    def refuse_undefined(self, name: str, shown: dict[str, str]) -> None:
        """A program whose device code lacks something is none: it goes.  Raises DriverError."""
        from gompy.cudart import missing

        inside = {text.ptx: text for text in missing.of_file(name, name)}
        for path, word in shown.items():
            if path[:1] != "-" and os.path.isfile(path):
                inside.update((text.ptx, text) for text in missing.of_file(path, word) if text.ptx in inside)
        lines = missing.undefined(list(inside.values()))
        if lines:
            os.unlink(name)
            raise DriverError(lines[0], *lines[1:])

    def link_device(self) -> None:
        """What `-dlink` makes: an empty object.  Raises DriverError if the device code lacks something."""
        from gompy.cudart import missing

        files = [word for word in self.line.objects if word[:1] != "-" and os.path.isfile(word)]
        if not self.line.show:
            found = [text for path in files for text in missing.of_file(path, path)]
            usual = functools.cache(lambda: clang.library_folders(self.compiler.path))
            for path in missing.archives(self.line.objects, usual):
                found += missing.of_file(path, path)
            lines = missing.undefined(found)
            if lines:
                raise DriverError(lines[0], *lines[1:])
        self.run(["-x", "c", "-c", os.devnull, "-o", self.line.output or "a_dlink.o"])

    def carry_out(self) -> None:
        """All of it."""
        line = self.line
        if line.device_link:
            self.link_device()
        elif line.ptx:
            for source in line.sources:
                for architecture in line.architectures:
                    output = line.output or stem(source) + ".ptx"
                    self.make_ptx(source, architecture, output, self.shared_words(source, output))
        elif line.compile_only:
            for source in line.sources:
                self.make_object(source, line.output or stem(source) + ".o")
            others = [word for word in line.objects if word not in line.sources and not word.startswith("-")]
            if others:
                words = [*clang.host_source_words(others), *line.words, *line.host_words, *others]
                self.run(["-c", *words, *(["-o", line.output] if line.output else [])])
        else:
            self.link()


def line_links_device_code(line: options.Line) -> bool:
    """Whether a line's link is of device code of several files: `-rdc=true`, or objects of it are among its files."""
    return line.relocatable or any(word.endswith((".o", ".a")) for word in line.objects if word[:1] != "-")


def dependency_words(words: list[str], output: str) -> list[str]:
    """What has clang write the dependencies of an object, and beside it, while it makes another file."""
    if not {"-MD", "-MMD"} & {*words}:
        return []
    target = [] if {"-MT", "-MQ"} & {*words} else ["-MT", output]
    return [*target, *([] if "-MF" in words else ["-MF", os.path.splitext(output)[0] + ".d"])]


def contents(path: str) -> bytes:
    """A file's.  Raises OSError."""
    with open(path, "rb") as file:
        return file.read()


def replace(path: str, data: bytes) -> None:
    """Write a file.  Raises OSError."""
    with open(path, "wb") as file:
        file.write(data)


def device_debug(words: list[str]) -> list[str]:
    """Of -g the lines only: the emulated device's messages name them.  At -O0 all: gdb shows the variables."""
    if [word for word in words if word.startswith("-O")][-1:] == ["-O0"]:
        return words
    return ["-gline-tables-only" if word in ("-g", "-g2", "-g3", "-ggdb", "-g1") else word for word in words]


def stem(source: str) -> str:
    """The name of what a source becomes, without its ending."""
    return os.path.splitext(os.path.basename(source))[0]


def check(line: options.Line) -> None:
    """Whether the line can be carried out.  Raises DriverError."""
    files = [word for word in line.objects if not word.startswith("-")]
    if not files:
        raise DriverError("no input files")
    if line.output and line.output in files:
        raise DriverError(f"input file {line.output} is the same as output file")
    results = len(line.architectures) * len(line.sources) if line.ptx else len(files)
    if line.output and (line.ptx or line.compile_only) and results > 1:
        raise DriverError("cannot specify -o with -c or --ptx and several results")
    if line.ptx and not line.sources:
        raise DriverError("--ptx: no .cu file")


def main(arguments: list[str]) -> int:
    """Carry out a command line; the exit status."""
    if not arguments or arguments[0] in ("--help", "-h"):
        print(HELP, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    try:
        line = options.parse(arguments)
        check(line)
        compiler = clang.chosen()
        with tempfile.TemporaryDirectory(prefix="gompy-cuda-") as folder:
            Work(line, compiler, folder).carry_out()
    except Failed as failure:
        return failure.status
    except DriverError as error:
        report(PROGRAM, error)
        return 1
    except OSError as error:
        report(PROGRAM, DriverError(one_line(f"{error.filename}: {error.strerror}")))
        return 1
    return 0
