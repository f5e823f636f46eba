"""A program of NVRTC to PTX: clang's command as `gompy cuda cc` has it, and the lowered names of name expressions."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, field
from typing import Final

from gompy.abi import nvrtc
from gompy.cudart import clang, device_code
from gompy.cudart.compile import device_debug
from gompy.driver.errors import DriverError
from gompy.nvrtc import cache, options

PROGRAM: Final = "nvrtc (gompy)"
VARIABLE: Final = "__gompy_nvrtc_name_"
"""Variables of the device that name expressions initialise: in the PTX their values are the lowered names."""
INITIALISED: Final = re.compile(rf"^.*\.u64 {VARIABLE}(\d+) = (?:generic\()?([\w$.]+)\)?;\n", re.MULTILINE)
DEFINED: Final = (
    "-D__CUDACC_RTC__",
    f"-D__CUDACC_VER_MAJOR__={nvrtc.VERSION[0]}",
    f"-D__CUDACC_VER_MINOR__={nvrtc.VERSION[1]}",
    "-D__CUDACC_VER_BUILD__=0",
)
DEPTH: Final = 6
"""Folders above that of the headers in memory, for names such as ../x.h."""


@dataclass
class Program:
    """What nvrtcCompileProgram is called with."""

    name: str
    source: bytes
    options: list[str] = field(default_factory=list)
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    expressions: list[str] = field(default_factory=list)


@dataclass
class Answer:
    """What it answers."""

    result: str
    log: str = ""
    ptx: bytes = b""
    names: list[str] = field(default_factory=list)
    machine: bool = False


def failed(result: str, message: str) -> Answer:
    """An error that is not clang's."""
    return Answer(result, f"{PROGRAM}: error: {message}\n")


def source_text(program: Program, default_device: bool) -> bytes:
    """What clang compiles: lines have the program's name, name expressions follow."""
    name = program.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    first = "#pragma clang force_cuda_host_device begin\n" if default_device else ""
    last = "#pragma clang force_cuda_host_device end\n" if default_device else ""
    lines = [f'\n\n{last}extern "C" {{']
    for number, expression in enumerate(program.expressions):
        text = " ".join(expression.split())
        lines += [f'#line {number + 1} "name expressions"']
        lines += [f"__attribute__ ((used)) __device__ const void *{VARIABLE}{number} = (const void *) ({text});"]
    begin = f'{first}#line 1 "{name}"\n'.encode("utf-8", "surrogateescape")
    return begin + program.source + "\n".join([*lines, "}", ""]).encode("utf-8", "surrogateescape")


def write_headers(program: Program, top: str) -> str:
    """Write the headers in memory; the folder that they are found in.  Raises DriverError."""
    folder = os.path.join(top, *"h" * DEPTH)
    os.makedirs(folder)
    for name, text in program.headers:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isabs(name) or not path.startswith(top + os.sep):
            raise DriverError(f"header '{name}': names outside of the program's own folders are not implemented")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)
    return folder


def command_words(program: Program, asked: options.Options, headers: str, release: int, files: list[str]) -> list[str]:
    """Clang's words; FILES: the source, the PTX, the list of what was read."""
    own = os.path.dirname(program.name) or "."
    quoted = ["-iquote", own] if asked.own_folder else []
    folders = [f"-I{folder}" for folder in ([headers] if headers else []) + asked.folders]
    words = device_debug([*DEFINED, "-O2", *asked.words])
    source, output, dependencies = files
    device = clang.device_words(asked.architecture, source, output, release)
    return [*device, *quoted, *folders, *words, "-MD", "-MF", dependencies, "-fno-color-diagnostics"]


def carry_out(program: Program, asked: options.Options, found: cache.Entry) -> Answer:
    """Run clang, and keep what it made.  Raises DriverError, OSError."""
    compiler = clang.chosen()
    with tempfile.TemporaryDirectory(prefix="gompy-nvrtc-") as folder:
        files = [os.path.join(folder, name) for name in ("program.cu", "program.ptx", "program.d")]
        headers = write_headers(program, folder) if program.headers else ""
        with open(files[0], "wb") as file:
            file.write(source_text(program, asked.default_device))
        release = clang.release(compiler.path)
        words = command_words(program, asked, headers, release, files)
        status, log = device_code.make(compiler.path, words, files[1], asked.architecture, release)
        log = log.replace((headers or folder) + "/", "").replace(folder + "/", "")
        if status < 0:
            return failed("NVRTC_ERROR_INTERNAL_ERROR", f"{compiler.path} was ended by signal {-status}")
        if status:
            return Answer("NVRTC_ERROR_COMPILATION", log)
        with open(files[1], encoding="utf-8", errors="surrogateescape") as text:
            ptx = text.read().replace(folder + "/", "")
        names = {int(number): name for number, name in INITIALISED.findall(ptx)}
        if sorted(names) != list(range(len(program.expressions))):
            return failed("NVRTC_ERROR_INTERNAL_ERROR", "a lowered name is not in clang's PTX")
        made = INITIALISED.sub("", ptx).encode("utf-8", "surrogateescape")
        answer = Answer("NVRTC_SUCCESS", log, made, [names[number] for number in sorted(names)], asked.machine)
        found.keep(files[2], folder, cache.Made(log, made, answer.names))
    return answer


def compile_program(program: Program) -> Answer:
    """All of it; what has been compiled before is taken from the cache."""
    try:
        asked = options.parse(program.options)
        compiler = clang.chosen()
        key = [*program.options, program.name, *program.expressions, os.getcwd(), compiler.path]
        key += [os.environ.get(name, "") for name in cache.VARIABLES]
        parts = [part.encode("utf-8", "surrogateescape") for part in key] + [program.source]
        for name, text in program.headers:
            parts += [name.encode("utf-8", "surrogateescape"), text]
        entry = cache.Entry(parts, [compiler.path, *cache.own_files()])
        made = entry.find()
        if made is not None:
            return Answer("NVRTC_SUCCESS", made.log, made.ptx, made.names, asked.machine)
        return carry_out(program, asked, entry)
    except options.OptionError as error:
        return failed("NVRTC_ERROR_INVALID_OPTION", str(error))
    except DriverError as error:
        return failed("NVRTC_ERROR_COMPILATION", error.message)
    except OSError as error:
        return failed("NVRTC_ERROR_INTERNAL_ERROR", f"{error.filename}: {error.strerror}")
