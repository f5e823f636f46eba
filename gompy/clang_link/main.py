"""The whole of a link: images found, linked for each target, registered; then the host's linker."""

from __future__ import annotations

import os

from gompy import NATIVE
from gompy.abi import llvm
from gompy.clang_link import registration
from gompy.clang_link.device import DeviceLink, names_of_ir, show
from gompy.clang_link.inputs import Found, Inputs
from gompy.clang_link.options import HELP, Options, parse
from gompy.objects.offload_binary import packed
from gompy.tools.process import ToolError, find_tool, run, write_file, write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.tools.process import Temps


def grouped(found: list[Found]) -> dict[tuple[str, str], list[Found]]:
    """The images of each target.  Raises ToolError for what is not OpenMP's."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for item in found:
        if item.binary.offload_kind != llvm.OFK_OPENMP:
            raise ToolError(f"{item.source}: images by {item.binary.producer} are not implemented, only by openmp")
        groups.setdefault(item.target, []).append(item)
    return groups


def images(options: Options, temps: Temps) -> tuple[list[bytes], list[str]]:
    """An OffloadBinary for each image, in the order that numbers the devices; the sections of the objects' entries.

    Raises ToolError, Damaged.
    """
    found = Inputs(options.link, lambda image, source: names_of_ir(image, source, temps)).read()
    groups = grouped(found)
    made: dict[tuple[str, str], list[bytes]] = {}
    for target in sorted(groups):
        linked = DeviceLink(options, temps, target, groups[target]).link()
        made[target] = [packed(image, {"triple": target[0], "arch": target[1]}, kind) for image, kind in linked]
    binaries = [binary for target in sorted(made, reverse=True) for binary in made[target]]
    return binaries, sorted({item.entries for item in found}, reverse=True)


def registering(options: Options, temps: Temps, binaries: list[bytes], sections: list[str]) -> str:
    """The object that registers the images; its name."""
    files = []
    for binary in binaries:
        files.append(temps.name(".offload.bin"))
        write_file(files[-1], binary)
    source = temps.name(".s")
    write_file(source, registration.text(files, sections))
    output = f"{options.output}.image.wrapper.o" if options.save_temps else temps.name(".image.wrapper.o")
    command = [find_tool("as"), "--64", "-o", output, source]
    if options.verbose or options.dry:
        show(command)
    if not options.dry:
        run(command, os.environ)
    return output


def with_object(link: list[str], name: str) -> list[str]:
    """The host's link with one more object, right behind the name of the output."""
    for number, word in enumerate(link):
        if word == "-o":
            return [*link[: number + 2], name, *link[number + 2 :]]
        if word.startswith("--output="):
            return [*link[: number + 1], name, *link[number + 1 :]]
    return [name, *link]


def wrap(options: Options, temps: Temps) -> None:
    """The whole run.  Raises ToolError, Damaged."""
    triple = options.last("--host-triple", "x86_64-pc-linux-gnu")
    if not triple.startswith("x86_64-"):
        raise ToolError(f"programs for {triple} are not implemented, only for x86_64")
    link = options.link
    binaries, sections = images(options, temps)
    if binaries:
        link = with_object(link, registering(options, temps, binaries, sections))
    command = [options.last("--linker-path"), *link]
    if options.verbose or options.dry:
        show(command)
    if not options.dry:
        run(command, os.environ)


def work(words: list[str], temps: Temps) -> None:
    """Run with those words.  Raises ToolError, Damaged."""
    if {"--help", "-help", "--help-hidden"} & {*words[: words.index("--") if "--" in words else None]}:
        write_output(HELP)
        return
    if words[:1] == ["--as-ld"]:  # of a gcc whose link has objects by clang
        linker = find_tool("ld", os.path.join(NATIVE, "clang", "gcc"))
        words = [f"--linker-path={linker}", "--", *words[1:]]
    wrap(parse(words), temps)
