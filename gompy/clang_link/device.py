"""One target's image, linked by clang of the images that objects brought.

CPUs get a shared object.  LLVM IR goes through clang: by lld's LTO where lld is installed, else file by file.  nvptx64
gets PTX of LLVM IR (nvptx.py); objects that have machine code of a GPU go through ptxas and nvlink.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from gompy.abi import llvm
from gompy.clang_link.commands import Step, execute
from gompy.clang_link.inputs import CPUS, GENERIC, Found, Names, folders_of
from gompy.clang_link.nvptx import PtxLink
from gompy.clang_link.options import REMARKS, Options
from gompy.tools.process import ToolError, find_in, run, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.tools.process import Temps


def find_clang() -> str:
    """The clang that has started us, else the environment's or one of PATH.  Raises ToolError."""
    try:
        parent = os.readlink(f"/proc/{os.getppid()}/exe")
    except OSError:
        parent = ""
    if os.path.basename(parent).startswith("clang"):
        return parent
    if os.path.basename(parent).startswith("flang") and (beside := find_in([os.path.dirname(parent)], "clang")):
        return beside
    folders = os.environ.get("PATH", "").split(":")
    given = os.environ.get("GOMPY_CLANG", "").strip()
    if given:
        folders = ["", *folders] if "/" in given else folders
    found = next(
        (
            path
            for name in ([given] if given else [*(f"clang-{number}" for number in llvm.CLANGS), "clang"])
            if (path := find_in(folders, name))
        ),
        None,
    )
    if found is None:
        raise ToolError("cannot find clang in PATH: install clang-16")
    return found


def llvm_tool(clang: str, name: str) -> str:
    """A program of the same LLVM.  Raises ToolError."""
    folder = os.path.dirname(os.path.realpath(clang))
    version = os.path.basename(os.path.dirname(folder)).rpartition("-")[2]
    path = find_in([folder], name) or find_in(os.environ.get("PATH", "").split(":"), f"{name}-{version}")
    if path is None:
        package = "lld" if name == "ld.lld" else "llvm"
        raise ToolError(f"cannot find {name} beside {clang}: install {package}-{version}")
    return path


def names_of_ir(image: bytes, source: str, temps: Temps) -> Names:
    """names_of for LLVM IR, by the symbol table that LLVM's LTO sees.  Raises ToolError."""
    import subprocess

    file = temps.name(".names.bc")
    write_file(file, image)
    done = subprocess.run([llvm_tool(find_clang(), "llvm-lto2"), "dump-symtab", file], capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"{source}: {done.stderr.strip()}")
    found = re.findall(r"^([HPD])([U-])[C-]([W-])\S* (\S+)$", done.stdout, re.MULTILINE)
    defined = {name for _, state, _, name in found if state != "U"}
    visible = {name for visibility, state, _, name in found if state != "U" and visibility != "H"}
    return visible, defined, {name for _, state, weak, name in found if state == "U" and weak != "W"}


def object_of_ir(image: bytes, source: str, temps: Temps) -> bytes:
    """An object of LLVM IR of the host's, only to be searched for images.  Raises ToolError."""
    file, output = temps.name(".host.bc"), temps.name(".host.o")
    write_file(file, image)
    run([find_clang(), "-O0", "-w", "-c", "-x", "ir", file, "-o", output], os.environ)
    with open(output, "rb") as made:
        return made.read()


@dataclass(frozen=True)
class Linked:
    """An image of a target, and the file that it is in."""

    data: bytes
    kind: int
    file: str
    end: bytes = b""
    """What the image has behind the file's contents."""


class DeviceLink:
    """The link of one target's images."""

    def __init__(self, options: Options, temps: Temps, target: tuple[str, str], found: list[Found]) -> None:
        self.options = options
        self.temps = temps
        self.triple, self.arch = target
        self.found = found
        self.clang = find_clang()
        self.level = f"-{options.last('--opt-level', 'O2')}"

    def _run(self, words: list[str]) -> None:
        execute(self.options, words)

    def _name(self, stem: str, suffix: str) -> str:
        """A file for what lies between; with --save-temps in the current folder."""
        if not self.options.save_temps:
            return self.temps.name(suffix)
        return f"{os.path.basename(stem)}{suffix}"

    def _tool(self, name: str) -> str:
        return llvm_tool(self.clang, name)

    def inputs(self) -> tuple[list[str], list[str]]:
        """Files of the images: of machine code, of LLVM IR."""
        code: list[str] = []
        bitcode: list[str] = []
        for item in self.found:
            binary = item.binary
            stem = os.path.basename(item.source).partition(".")[0].partition("(")[0]
            name = self._name(f"{stem}-{self.triple}-{self.arch}", f".{binary.extension}")
            write_file(name, binary.image)
            (bitcode if binary.image_kind == llvm.IMG_BITCODE else code).append(name)
        for library in self.options.values.get("--bitcode-library", []):
            names, equals, path = library.partition("=")
            if not equals or names.count("-") < 2:
                raise ToolError(f"--bitcode-library={library}: it must be KIND-TRIPLE-ARCH=PATH")
            if names.partition("-")[2] == f"{self.triple}-{self.arch}":
                bitcode.append(path)
        return code, self._with_builtin(bitcode)

    def _with_builtin(self, bitcode: list[str]) -> list[str]:
        """The same with what they need of --builtin-bitcode's files, which nobody else sees."""
        given = [value.partition("=") for value in self.options.values.get("--builtin-bitcode", [])]
        more = [path for triple, _, path in given if triple == self.triple]
        if not more or not bitcode:
            return bitcode
        joined, output = self._name(self.triple, ".objects.bc"), self._name(self.triple, ".builtin.bc")
        self._run([self._tool("llvm-link"), "-o", joined, *bitcode])
        self._run([self._tool("llvm-link"), "-o", output, joined, "--only-needed", "--internalize", *more])
        return [output]

    def link(self) -> list[Linked]:
        """The images: one, but for nvptx64.  Raises ToolError."""
        with Step(self.options, "Link device input", " ".join(filter(None, (self.triple, self.arch)))):
            return self._link()

    def _link(self) -> list[Linked]:
        code, bitcode = self.inputs()
        output = f"{self.options.output}.{self.triple.partition('-')[0]}.{self.arch or 'native'}"
        if "--embed-bitcode" in self.options.flags and bitcode and not code:
            image = self._name(output, ".img")
            self._run([self._tool("llvm-link"), "-o", image, *bitcode])
            return [self._linked(image, llvm.IMG_BITCODE)]
        image = self._name(output, ".img")
        if self.triple.startswith("nvptx") and not code:
            return self._ptx(output, bitcode)
        if self.triple.startswith("nvptx"):
            self._nvptx(image, code, bitcode)
        elif self.triple.startswith("amdgcn"):
            self._amdgcn(image, code, bitcode)
        elif self.triple.partition("-")[0] in CPUS:
            self._cpu(image, code, bitcode)
        else:
            raise ToolError(f"{self.found[0].source}: images for {self.triple} are not implemented")
        return [self._linked(image, llvm.IMG_OBJECT)]

    def _linked(self, image: str, kind: int, end: bytes = b"") -> Linked:
        if self.options.dry:
            return Linked(b"", kind, image, end)
        with open(image, "rb") as file:
            return Linked(file.read() + end, kind, image, end)

    def _command(self, output: str, linked: bool = False, lto: bool = False) -> list[str]:
        options = self.options
        words = [self.clang, "-o", output, f"--target={self.triple}"]
        if self.arch and self.arch != GENERIC:
            words.append(f"-mcpu={self.arch}" if self.triple.startswith("amdgcn") else f"-march={self.arch}")
        words += [self.level, *self._given("--device-compiler"), *self.passed_on(lto)]
        words += ["-Wl,--no-undefined"] if linked else []
        words += ["-g"] if "--device-debug" in options.flags else []
        return words

    def passed_on(self, lto: bool = False) -> list[str]:
        """What is for LLVM: where clang compiles, or where lld does."""
        if lto:
            remarks = [f"{name[1:]}={value}" for name, value in self.options.remarks()]
            words = [*self.options.for_llvm(), *remarks]
            return [f"-Wl,-mllvm,{word}" for word in words]
        told = [f"{REMARKS[name]}={value}" for name, value in self.options.remarks()]
        return told + [word for value in self.options.for_llvm() for word in ("-mllvm", value)]

    def _given(self, option: str) -> list[str]:
        """An option's words that are for all targets, or for this one."""
        found = []
        for value in self.options.values.get(option, []):
            triple, equals, word = value.partition("=")
            if not equals or "-" not in triple or triple.startswith("-"):
                found.append(value)
            elif triple == self.triple:
                found.append(word)
        return found

    def _more(self) -> list[str]:
        """--device-linker's words for this target."""
        return [f"-Wl,{word}" for word in self._given("--device-linker")]

    def _cpu(self, output: str, code: list[str], bitcode: list[str]) -> None:
        files, lto = list(code), list[str]()
        if bitcode:
            try:
                self._tool("ld.lld")
                lto = ["-flto", "-fuse-ld=lld"]
                files += bitcode
            except ToolError:
                files += [self._compiled(name) for name in bitcode]
        files += self._runtime()
        words = [
            *self._command(output, lto=bool(lto)),
            "-shared",
            "-fPIC",
            *lto,
            "-Wl,--no-undefined",
            "-Wl,-Bsymbolic",
            *files,
        ]
        self._run([*words, *host_libraries(self.options.link), *self._more()])

    def _runtime(self) -> list[str]:
        """The functions that flang's regions call, whatever their target; an object, where an image names them."""
        if not any(b"__kmpc_target_init" in item.binary.image for item in self.found):
            return []
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device_runtime.c")
        output = self.temps.name(".runtime.o")
        self._run([self.clang, f"--target={self.triple}", "-O2", "-fPIC", "-w", "-c", source, "-o", output])
        return [output]

    def _compiled(self, name: str) -> str:
        """Machine code of a file of LLVM IR."""
        output = self._name(name, ".lto.o")
        self._run([*self._command(output), "-fPIC", "-c", "-x", "ir", name])
        return output

    def _ptx(self, output: str, bitcode: list[str]) -> list[Linked]:
        """PTX, and the LLVM IR that it was made of.  Clang's device runtime is OpenMP's."""
        if self.options.last("--ptxas-arg"):
            raise ToolError(f"--ptxas-arg={self.options.last('--ptxas-arg')}: no ptxas runs for images of LLVM IR")
        joined, ptx = self._name(output, ".postlink.bc"), self._name(output, ".s")
        made = PtxLink(
            self.clang,
            self.arch,
            [self.level, *self._given("--device-compiler"), *self.passed_on()],
            self._tool,
            self._run,
            self.temps,
        )
        openmp = any(item.binary.offload_kind == llvm.OFK_OPENMP for item in self.found)
        made.joined(joined, bitcode, self.options.dry, openmp)
        made.ptx(ptx, joined)
        return [self._linked(ptx, llvm.IMG_PTX, b"\0"), self._linked(joined, llvm.IMG_BITCODE)]

    def _amdgcn(self, output: str, code: list[str], bitcode: list[str]) -> None:
        """LLVM IR becomes machine code first, with --save-temps assembly."""
        more = ["-save-temps"] if self.options.save_temps else []
        if bitcode:
            joined = self._name(output, ".postlink.bc")
            made = self._name(output, ".s" if self.options.save_temps else ".o")
            self._run([self._tool("llvm-link"), "-o", joined, *bitcode])
            form = "-S" if self.options.save_temps else "-c"
            self._run([*self._command(made), "-nogpulib", form, "-x", "ir", joined])
            code = [made, *code]
        self._run([*self._command(output, True), *more, *code, *self._more()])

    def _nvptx(self, output: str, code: list[str], bitcode: list[str]) -> None:
        """ptxas and nvlink are clang's to find."""
        files = list(code)
        cuda = [f"--cuda-path={path}" for path in self.options.values.get("--cuda-path", [])[-1:]]
        if bitcode:
            joined, ptx = self._name(output, ".postlink.bc"), self._name(output, ".s")
            self._run([self._tool("llvm-link"), "-o", joined, *bitcode])
            self._run([*self._command(ptx), *cuda, "-S", "-x", "ir", joined])
            files.insert(0, ptx)
        more = [word for value in self.options.values.get("--ptxas-arg", []) for word in ("-Xcuda-ptxas", value)]
        self._run([*self._command(output, True), *cuda, *more, *files, *self._more()])


def host_libraries(link: list[str]) -> list[str]:
    """Libraries of the host's link and where they are: an image for a CPU may need them as well."""
    words = [f"-L{folder}" for folder in folders_of(link)]
    rest = iter(link)
    for word in rest:
        if word in ("-rpath", "--rpath"):
            words.append(f"-Wl,-rpath,{next(rest, '')}")
        elif word.startswith(("-rpath=", "--rpath=")):
            words.append(f"-Wl,-rpath,{word.partition('=')[2]}")
        elif word == "-l":
            words.append(f"-l{next(rest, '')}")
        elif word.startswith("-l"):
            words.append(word)
    return words
