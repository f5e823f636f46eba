"""The whole of a link: images found, linked for each target, registered; then the host's linker."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

from gompy import NATIVE
from gompy.abi import llvm
from gompy.clang_link import bundle, registration
from gompy.clang_link.commands import Step, execute, write_trace
from gompy.clang_link.device import DeviceLink, Linked, names_of_ir, object_of_ir
from gompy.clang_link.inputs import IR_MAGICS, Found, Inputs
from gompy.clang_link.options import HELP, Options, parse
from gompy.objects.offload_binary import packed
from gompy.tools.process import ToolError, find_tool, write_file, write_output

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


def found_images(options: Options, temps: Temps) -> list[Found]:
    """What the link's files bring.  Raises ToolError, Damaged."""
    inputs = Inputs(
        options.link,
        lambda image, source: names_of_ir(image, source, temps),
        lambda image, source: object_of_ir(image, source, temps),
        options.values.get("--should-extract"),
    )
    with Step(options, "Extract device code"):
        return inputs.read()


def link_targets(
    options: Options, temps: Temps, groups: dict[tuple[str, str], list[Found]]
) -> dict[tuple[str, str], list[Linked]]:
    """Each target's images.  Raises ToolError, Damaged."""

    def link(target: tuple[str, str], own: Temps) -> list[Linked]:
        return DeviceLink(options, own, target, groups[target]).link()

    if not options.last("--wrapper-jobs"):
        return {target: link(target, temps) for target in sorted(groups)}
    from gompy.clang_link import jobs  # most links have no use for it

    return jobs.linked(options, temps, sorted(groups), link)


def overridden(path: str, target: tuple[str, str]) -> Linked:
    """An image that is there already.  Raises ToolError."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ToolError(f"cannot open {path}: {error.strerror}") from None
    if data.startswith(IR_MAGICS):
        return Linked(data, llvm.IMG_BITCODE, path)
    if data.startswith(b"\x7fELF"):
        return Linked(data, llvm.IMG_OBJECT, path)
    if target[0].startswith("nvptx") and b".version" in data[:4096]:
        return Linked(data.rstrip(b"\0") + b"\0", llvm.IMG_PTX, path, b"\0")
    raise ToolError(f"--override-image: {path} is no image: neither ELF nor LLVM IR, nor PTX for nvptx64")


def replaced(options: Options, found: list[Found]) -> dict[tuple[str, str], list[Linked]]:
    """The images of --override-image; they are for the target of the objects' own.  Raises ToolError."""
    images: dict[tuple[str, str], list[Linked]] = {}
    for kind, path in options.overriding().items():
        targets = {item.target for item in found if item.binary.producer == kind}
        if len(targets) != 1:
            shown = ", ".join(sorted(target[0] for target in targets)) or "none"
            raise ToolError(
                f"--override-image={kind}={path}: the objects must have images of one target, and have {shown}"
            )
        (target,) = targets
        images[target] = [overridden(path, target)]
    return images


def images(options: Options, temps: Temps) -> Made:
    """Link each target's images once, and put them together for each language that it has any of.

    Raises ToolError, Damaged.
    """
    found = found_images(options, temps)
    groups = grouped(found)
    given = replaced(options, found)
    linked = given | link_targets(options, temps, {t: items for t, items in groups.items() if t not in given})
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
    execute(options, [find_tool("as"), "--64", "-o", output, source])
    return output


def registering(options: Options, temps: Temps, made: Made) -> list[str]:
    """The objects that register the images; their names."""
    objects = []
    if made.binaries:
        files = []
        for binary in made.binaries:
            files.append(temps.name(".offload.bin"))
            write_file(files[-1], binary)
        text = registration.text(files, made.sections, options.relocatable)
        objects.append(assembled(options, temps, text, ".image.wrapper.o"))
    for kind, file in made.bundles.items():
        text = registration.bundle_text(kind, file, options.relocatable)
        objects.append(assembled(options, temps, text, f".{llvm.OFFLOAD_KINDS[kind]}.image.wrapper.o"))
    return objects


def with_objects(link: list[str], names: list[str]) -> list[str]:
    """The host's link with more objects, right behind the name of the output."""
    for number, word in enumerate(link):
        if word in ("-o", "--output"):
            return [*link[: number + 2], *names, *link[number + 2 :]]
        if word.startswith("--output="):
            return [*link[: number + 1], *names, *link[number + 1 :]]
    return [*names, *link]


def fatbin_only(options: Options, made: Made) -> None:
    """The output is what would be registered: of one language.  Raises ToolError."""
    if bool(made.binaries) + len(made.bundles) != 1:
        kinds = ["openmp"] * bool(made.binaries) + [llvm.OFFLOAD_KINDS[kind] for kind in made.bundles]
        raise ToolError(f"--emit-fatbin-only is for images of one language, not for {', '.join(kinds) or 'none'}")
    data = b"".join(made.binaries)
    for file in made.bundles.values():
        if not options.dry:
            with open(file, "rb") as bundled:
                data = bundled.read()
    if not options.dry:
        write_file(options.output, data)


def wrap(options: Options, temps: Temps) -> None:
    """The whole run.  Raises ToolError, Damaged."""
    triple = options.last("--host-triple", "x86_64-pc-linux-gnu")
    if not triple.startswith("x86_64-"):
        raise ToolError(f"programs for {triple} are not implemented, only for x86_64")
    made = images(options, temps)
    if "--emit-fatbin-only" in options.flags:
        fatbin_only(options, made)
    else:
        objects = registering(options, temps, made)
        execute(options, [options.last("--linker-path"), *with_objects(options.link, objects)])
        if options.relocatable and objects:
            from gompy.clang_link import relocatable

            relocatable.finish(options)
    write_trace(options)


def work(words: list[str], temps: Temps) -> None:
    """Run with those words.  Raises ToolError, Damaged."""
    if {"--help", "-help", "--help-hidden"} & {*words[: words.index("--") if "--" in words else None]}:
        write_output(HELP)
        return
    if {"--v", "--version"} & {*words[:1]}:
        write_output(f"clang-linker-wrapper of gompy, for clang {', '.join(map(str, sorted(llvm.CLANGS)))}\n")
        return
    if words[:1] == ["--as-ld"]:  # of a gcc whose link has objects by clang
        linker = find_tool("ld", os.path.join(NATIVE, "clang", "gcc"))
        words = [f"--linker-path={linker}", "--", *words[1:]]
    wrap(parse(words), temps)
