"""The whole of a link: images found, linked for each target, registered; then the host's linker."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

from gompy import NATIVE
from gompy.abi import llvm
from gompy.clang_link import bundle, registration
from gompy.clang_link.device import DeviceLink, Linked, names_of_ir, object_of_ir, show
from gompy.clang_link.inputs import Found, Inputs
from gompy.clang_link.options import HELP, Options, parse
from gompy.objects.offload_binary import packed
from gompy.tools.process import ToolError, find_tool, run, write_file, write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.tools.process import Temps


@dataclass
class Made:
    """What a link's images have become."""

    binaries: list[bytes] = field(default_factory=list)
    """OpenMP's: an OffloadBinary each, in the order that numbers the devices."""
    sections: list[str] = field(default_factory=list)
    """Where the objects have OpenMP's entries, one for each form of them."""
    bundles: dict[int, str] = field(default_factory=dict)
    """CUDA's and HIP's: one file for all architectures."""


def grouped(found: list[Found]) -> dict[tuple[str, str], list[Found]]:
    """The images of each target.  Raises ToolError for what is of none of the three languages."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for item in found:
        if item.binary.offload_kind not in (llvm.OFK_OPENMP, *bundle.KINDS):
            raise ToolError(f"{item.source}: images by {item.binary.producer} are not implemented")
        groups.setdefault(item.target, []).append(item)
    return groups


def images(options: Options, temps: Temps) -> Made:
    """Link each target's images once, and put them together for each language that it has any of.

    Raises ToolError, Damaged.
    """
    inputs = Inputs(
        options.link,
        lambda image, source: names_of_ir(image, source, temps),
        lambda image, source: object_of_ir(image, source, temps),
    )
    found = inputs.read()
    groups = grouped(found)
    linked: dict[tuple[str, str], list[Linked]] = {}
    for target in sorted(groups):
        linked[target] = DeviceLink(options, temps, target, groups[target]).link()
    made = Made()
    downwards = sorted(groups, reverse=True)
    for target in downwards:
        if any(item.binary.offload_kind == llvm.OFK_OPENMP for item in groups[target]):
            strings = {"triple": target[0], "arch": target[1]}
            made.binaries += [packed(image.data, strings, image.kind) for image in linked[target]]
    made.sections = sorted(
        {item.entries for item in found if item.binary.offload_kind == llvm.OFK_OPENMP}, reverse=True
    )
    for kind in bundle.KINDS:
        of_kind = [t for t in downwards if any(item.binary.offload_kind == kind for item in groups[t])]
        if of_kind:
            first = {target: linked[target][0] for target in of_kind}
            made.bundles[kind] = bundle.make(kind, options, temps, first)
    return made


def assembled(options: Options, temps: Temps, text: str, ending: str) -> str:
    """An object of assembly text; its name."""
    source = temps.name(".s")
    write_file(source, text)
    if "--print-wrapped-module" in options.flags:
        sys.stderr.write(text)
    output = f"{options.output}{ending}" if options.save_temps else temps.name(ending)
    command = [find_tool("as"), "--64", "-o", output, source]
    if options.verbose or options.dry:
        show(command)
    if not options.dry:
        run(command, os.environ)
    return output


def registering(options: Options, temps: Temps, made: Made) -> list[str]:
    """The objects that register the images; their names."""
    objects = []
    if made.binaries:
        files = []
        for binary in made.binaries:
            files.append(temps.name(".offload.bin"))
            write_file(files[-1], binary)
        text = registration.text(files, made.sections)
        objects.append(assembled(options, temps, text, ".image.wrapper.o"))
    for kind, file in made.bundles.items():
        text = registration.bundle_text(kind, file)
        objects.append(assembled(options, temps, text, f".{llvm.OFFLOAD_KINDS[kind]}.image.wrapper.o"))
    return objects


def with_objects(link: list[str], names: list[str]) -> list[str]:
    """The host's link with more objects, right behind the name of the output."""
    for number, word in enumerate(link):
        if word == "-o":
            return [*link[: number + 2], *names, *link[number + 2 :]]
        if word.startswith("--output="):
            return [*link[: number + 1], *names, *link[number + 1 :]]
    return [*names, *link]


def wrap(options: Options, temps: Temps) -> None:
    """The whole run.  Raises ToolError, Damaged."""
    triple = options.last("--host-triple", "x86_64-pc-linux-gnu")
    if not triple.startswith("x86_64-"):
        raise ToolError(f"programs for {triple} are not implemented, only for x86_64")
    link = with_objects(options.link, registering(options, temps, images(options, temps)))
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
