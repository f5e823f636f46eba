"""clang-offload-packager: the images of one source's targets in one file, as clang puts them into an object.

Debian has LLVM's in the package of clang's further tools, so it may be lacking where clang is there.  Source: what
clang-offload-packager 16 does, and its --help.
"""

from __future__ import annotations

from gompy.abi import llvm
from gompy.objects.offload_binary import packed
from gompy.tools.process import ToolError, write_file, write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.tools.process import Temps

HELP = """\
usage: clang-offload-packager -o FILE --image=KEY=VALUE,...

Puts device images into one file, as clang takes it into objects.

  -o FILE                    the file
  --image=KEY=VALUE,...      an image, by file=; kind= (openmp, cuda, hip), triple=, arch= and others are kept of it
  --version                  print the version
"""


def described(text: str) -> dict[str, str]:
    """The keys of an ``--image=``; a key's values if it comes again go behind a comma.  Raises ToolError."""
    found: dict[str, str] = {}
    for word in text.split(","):
        key, equals, value = word.partition("=")
        if not equals:
            raise ToolError(f"--image={text}: no KEY=VALUE: {word}")
        found[key] = f"{found[key]},{value}" if key in found else value
    return found


def binary(text: str) -> bytes:
    """The image that an ``--image=`` names, packed.  Raises ToolError, OSError."""
    keys = described(text)
    file, kind = keys.pop("file", ""), keys.pop("kind", llvm.OFFLOAD_KINDS[0])
    if not file:
        raise ToolError(f"--image={text}: no file=")
    with open(file, "rb") as stream:
        image = stream.read()
    extension = file.rpartition("/")[2].rpartition(".")[2]
    image_kind = llvm.IMAGE_EXTENSIONS.index(extension) if extension in llvm.IMAGE_EXTENSIONS[1:] else 0
    offload_kind = llvm.OFFLOAD_KINDS.index(kind) if kind in llvm.OFFLOAD_KINDS else 0
    return packed(image, keys, image_kind, offload_kind)


def work(words: list[str], temps: Temps) -> None:
    """Run with those words.  Raises ToolError, OSError."""
    images: list[str] = []
    output = ""
    rest = iter(words)
    for word in rest:
        if word in ("--help", "-help"):
            write_output(HELP)
            return
        if word in ("--version", "-version"):
            write_output("clang-offload-packager of gompy\n")
            return
        if word == "-o":
            output = next(rest, "")
        elif word.startswith(("--image=", "-image=")):
            images.append(word.partition("=")[2])
        elif word.startswith("-"):
            raise ToolError(f"unknown option {word}")
        else:
            raise ToolError(f"{word}: taking images out is not implemented here; gompy images extract does it")
    if not output:
        raise ToolError("no -o FILE")
    if not images:
        raise ToolError("no --image=…")
    write_file(output, b"".join(binary(image) for image in images))
