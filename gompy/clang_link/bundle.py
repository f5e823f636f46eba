"""CUDA's and HIP's images: one file for all architectures of a program, as their runtimes take it.

PTX goes into CUDA's container as it is (gompy/objects/fatbin.py).  Machine code takes the tool that clang's wrapper
runs, too: CUDA's fatbinary, clang-offload-bundler for HIP.
"""

from __future__ import annotations

import os
import shutil
from typing import Final

from gompy.abi import llvm
from gompy.clang_link.commands import execute
from gompy.clang_link.device import Linked, find_clang, llvm_tool
from gompy.clang_link.options import Options
from gompy.objects import fatbin
from gompy.tools.process import ToolError, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.tools.process import Temps

KINDS: Final = (llvm.OFK_CUDA, llvm.OFK_HIP)
Images = dict[tuple[str, str], Linked]
"""Of each target."""


def make(kind: int, options: Options, temps: Temps, images: Images) -> str:
    """The name of the file.  Raises ToolError."""
    ending = ".hipfb" if kind == llvm.OFK_HIP else ".fatbin"
    output = f"{options.output}{ending}" if options.save_temps else temps.name(ending)
    if kind == llvm.OFK_CUDA and all(image.kind == llvm.IMG_PTX for image in images.values()):
        texts = [(_number(arch), image.data.rstrip(b"\0")) for (_, arch), image in images.items()]
        write_file(output, fatbin.pack(texts))
        return output
    execute(options, _hip(options, output, images) if kind == llvm.OFK_HIP else _cuda(options, output, images))
    return output


def _number(arch: str) -> int:
    """70 of sm_70."""
    digits = "".join(sign for sign in arch if sign.isdigit())
    if not digits:
        raise ToolError(f"{arch or 'no name'}: not an architecture of NVIDIA's")
    return int(digits)


def _cuda(options: Options, output: str, images: Images) -> list[str]:
    """fatbinary's command."""
    folders = [os.path.join(path, "bin") for path in options.values.get("--cuda-path", [])[-1:]]
    tool = shutil.which("fatbinary", path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if tool is None and not options.dry:
        raise ToolError("cannot find CUDA's fatbinary, which puts machine code together: compile with -foffload-lto")
    words = [f"--image=profile={arch},file={image.file}" for (_, arch), image in images.items()]
    return [tool or "fatbinary", "-64", "--create", output, *words]


def _hip(options: Options, output: str, images: Images) -> list[str]:
    """clang-offload-bundler's command."""
    targets = ["host-x86_64-unknown-linux", *(f"hipv4-{triple}--{arch}" for triple, arch in images)]
    files = [f"-input={image.file}" for image in images.values()]
    tool = llvm_tool(find_clang(), "clang-offload-bundler")
    smaller = ["-compress"] if "--compress" in options.flags else []
    smaller += [f"-compression-level={value}" for value in options.values.get("--compression-level", [])[-1:]]
    return [
        tool,
        "-type=o",
        "-bundle-align=4096",
        *smaller,
        f"-targets={','.join(targets)}",
        "-input=/dev/null",
        *files,
        f"-output={output}",
    ]
