"""``gompy images list|extract|replace|strip FILE``: a linked file's device images, without linking it again.

Exit status: 0 done; 1 no such image, or it cannot be changed; 2 usage, or a file that cannot be read or written.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gompy.abi import targets
from gompy.cli.arguments import command_parser
from gompy.cli.reading import EXIT_FINE, EXIT_USAGE, EXIT_WRONG, inspected
from gompy.tools.toolmain import one_line

if TYPE_CHECKING:
    from gompy.cli.inspect_report import AnyImage, Inspected

TARGETS: Final = {target.plugin: target.name for target in targets.TARGETS}
EXAMPLES: Final = """\
examples:
  gompy images list prog                       number, target, size, entries, name
  gompy images extract prog --to images        images/prog.0.TARGET.so, .ptx
  gompy images replace prog new.so             another image for the same regions, in place
  gompy images replace prog a.ptx b.ptx --target nvptx --output prog2
  gompy images strip prog --target nvptx       without that image; without --image and --target: all

exit status: 0 done; 1 no such image, or it cannot be changed; 2 usage, unreadable or unwritable file"""


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "images", "List, take out, replace or remove the device images of a linked program or shared library.", EXAMPLES
    )
    which = argparse.ArgumentParser(add_help=False)
    which.add_argument("file", metavar="FILE", help="an executable or shared library")
    which.add_argument("--image", type=int, metavar="N", help="only image number N")
    which.add_argument("--target", metavar="TARGET", help="only images for intelmic, nvptx, gcn or GCC's own name")
    output = argparse.ArgumentParser(add_help=False)
    output.add_argument("-o", "--output", metavar="OUT", help="write this file instead of FILE")
    commands = parser.add_subparsers(dest="command", metavar="list|extract|replace|strip", required=True)
    commands.add_parser("list", parents=[which], help="one line for each image")
    extract = commands.add_parser("extract", parents=[which], help="write the images to files")
    extract.add_argument("--to", default=".", metavar="DIR", help="the folder for them (default: the current one)")
    replace = commands.add_parser("replace", parents=[which, output], help="put another image in")
    replace.add_argument("new", metavar="IMAGE", nargs="+", help="an ELF image, or as many PTX files as there are")
    commands.add_parser("strip", parents=[which, output], help="remove images: their regions run on the host")
    return parser


def _error(text: str) -> None:
    sys.stdout.flush()
    print(f"gompy images: error: {one_line(text)}", file=sys.stderr)


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy images``); the exit status."""
    from gompy.objects.rewrite import RewriteError
    from gompy.objects.view import Damaged

    options = _parser().parse_args(argv)
    ((part, status),) = inspected([options.file], _error)
    if part is None:
        return status
    if part.elf is None or part.elf.relocatable or part.report["kind"] not in ("executable", "shared"):
        _error(_unfit(part, options.file))
        return EXIT_WRONG
    chosen = _chosen(part, options)
    if not chosen:
        return EXIT_WRONG
    try:
        if options.command == "list":
            _list(part, chosen)
        elif options.command == "extract":
            _extract(part, chosen, Path(options.to))
        elif options.command == "replace":
            _replace(part, chosen, options)
        else:
            _strip(part, chosen, options)
    except (RewriteError, Damaged) as error:
        _error(str(error))
        return EXIT_WRONG
    except OSError as error:
        _error(f"{error.filename or options.file}: {error.strerror or error}")
        return EXIT_USAGE
    return EXIT_FINE


def _unfit(part: Inspected, file: str) -> str:
    """What is said of a file that cannot have images."""
    kind = part.report["kind"]
    if part.elf is None and kind == "unknown":
        return str(part.report["problems"][0])
    is_one = {"relocatable": "an object", "archive": "an archive", "ptx": "PTX"}.get(kind, f"a {kind}")
    return f"{file}: no executable and no shared library, but {is_one}"


def _chosen(part: Inspected, options: argparse.Namespace) -> list[tuple[int, AnyImage]]:
    """Numbers and images that the options name; none, with a message, if there are none."""
    target = TARGETS.get(options.target, options.target)
    found = [
        (index, image)
        for index, image in enumerate(part.all_images)
        if options.image in (None, index) and target in (None, image.target)
    ]
    if not found:
        what = "no device image"
        if part.all_images:
            words = [f"--image {options.image}"] if options.image is not None else []
            words += [f"--target {options.target}"] if options.target else []
            has = ", ".join(f"{index} ({image.target})" for index, image in enumerate(part.all_images))
            what = f"no image is meant by {' '.join(words)}; there are {has}"
        _error(f"{options.file}: {what}")
    return found


def _list(part: Inspected, chosen: list[tuple[int, AnyImage]]) -> None:
    from gompy.cli.inspect_text import grid
    from gompy.objects.fatbin import CudaImage
    from gompy.objects.images import Image

    regions = sum(entry.is_region for entry in part.clang.entries)
    clang = (str(regions), str(sum(bool(entry.size) for entry in part.clang.entries)), "by clang")
    rows = []
    for index, image in chosen:
        last = clang
        files = 1
        if isinstance(image, Image):
            last = (str(len(image.tables.funcs)), str(len(image.tables.vars)), image.name or "-")
            files = len(image.files)
        elif isinstance(image, CudaImage):
            last = (str(len(image.kernels)) if image.kernels else "-", "-", f"of CUDA: {image.about}")
        rows.append((str(index), image.target, str(image.size), str(files), *last))
    heading = ("image", "target", "bytes", "files", "regions", "vars", "name")
    print("\n".join(line for line, _style in grid(heading, rows, (0, 2, 3, 4, 5))))


def _extract(part: Inspected, chosen: list[tuple[int, AnyImage]], folder: Path) -> None:
    from gompy.cli.image_files import write_images

    for path in write_images([(part.report["file"], index, image) for index, image in chosen], folder):
        print(path)


def _refuse_cuda(chosen: list[tuple[int, AnyImage]], what: str, options: argparse.Namespace) -> None:
    """Raises RewriteError for images that are only listed and taken out."""
    from gompy.objects.fatbin import CudaImage
    from gompy.objects.rewrite import RewriteError

    for index, image in chosen:
        if isinstance(image, CudaImage):
            raise RewriteError(f"{options.file}: image {index} ({image.target}): {what} CUDA's is not implemented")


def _replace(part: Inspected, chosen: list[tuple[int, AnyImage]], options: argparse.Namespace) -> None:
    """Put files in the place of the one image that is meant, and write the program if its tables still agree."""
    from gompy.cli.findings import find
    from gompy.cli.inspect_report import inspect_bytes
    from gompy.objects.clang_surgery import with_image
    from gompy.objects.fatbin import CudaImage
    from gompy.objects.image_surgery import replaced
    from gompy.objects.images import Image
    from gompy.objects.rewrite import RewriteError

    assert part.elf is not None
    if len(chosen) > 1:
        has = ", ".join(f"{index} ({image.target})" for index, image in chosen)
        raise RewriteError(f"{options.file}: which image? --image or --target says; there are {has}")
    index, image = chosen[0]
    _refuse_cuda(chosen, "replacing", options)
    files = [Path(name).read_bytes() for name in options.new]
    assert not isinstance(image, CudaImage)
    data = replaced(part.elf, image, files) if isinstance(image, Image) else with_image(part.elf, image, files)
    result = inspect_bytes(data, options.file)
    before = {finding.cause for finding in find(part)}
    wrong = [finding.cause for finding in find(result) if finding.cause not in before]
    if len(result.all_images) != len(part.all_images):
        raise RewriteError(f"{options.file}: the result has {len(result.all_images)} images")
    if wrong:
        raise RewriteError(f"{', '.join(options.new)} does not fit {options.file}: {wrong[0]}")
    _write(data, options)
    print(f"{options.output or options.file}: image {index} ({image.target}) replaced by {', '.join(options.new)}")


def _strip(part: Inspected, chosen: list[tuple[int, AnyImage]], options: argparse.Namespace) -> None:
    from gompy import plural
    from gompy.cli.inspect_report import inspect_bytes
    from gompy.objects.clang_surgery import without_image
    from gompy.objects.image_surgery import stripped
    from gompy.objects.images import Image
    from gompy.objects.rewrite import RewriteError

    _refuse_cuda(chosen, "removing", options)
    current = part
    for index, image in reversed(chosen):  # the last first: those before keep their numbers
        assert current.elf is not None
        if isinstance(image, Image):
            data = stripped(current.elf, image)
        else:
            clang = current.clang.images
            data = without_image(current.elf, clang[index - len(part.images)], clang)
        current = inspect_bytes(data, options.file)
    if current.elf is None or len(current.all_images) != len(part.all_images) - len(chosen):
        raise RewriteError(f"{options.file}: the result still has {len(current.all_images)} images")
    _write(current.elf.data, options)
    targets = ", ".join(image.target for _, image in chosen)
    print(f"{options.output or options.file}: {plural(len(chosen), 'image')} removed ({targets})")


def _write(data: bytes, options: argparse.Namespace) -> None:
    """Write the result under its name at once: a program that runs, or a crash between, sees the old one or the new."""
    target = Path(options.output or options.file).resolve()
    mode = os.stat(options.file).st_mode & 0o7777
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, options.output or options.file) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
