"""``gompy regions FILE…``: what the compiler knew of each region; joined, and held against a program's tables.

Exit status: 0 fine; 1 JSON and program disagree; 2 usage, or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from gompy import plural
from gompy.cli.arguments import command_parser
from gompy.cli.reading import EXIT_FINE, EXIT_USAGE, EXIT_WRONG, inspected
from gompy.tools.toolmain import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gompy.cli.inspect_report import Inspected

EXAMPLES: Final = """\
examples:
  gompcc -fopenmp --save-regions=json prog.c -o prog
  gompy regions json                  the regions of all files in the folder
  gompy regions prog.regions.json     of one
  gompy regions --check prog json     whether each region of the program has its JSON, and the images have it
  gompy regions --json json           all in one document, regions by function
  gompy regions --kernels cl json     OpenCL kernels, one file a region
  gompy regions --schema              the JSON schema of the files

exit status: 0 fine; 1 JSON and program disagree; 2 usage or unreadable file"""
WIDTH: Final = 100


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "regions", "Show the JSON that gompcc --save-regions writes; join it; check it against a program.", EXAMPLES
    )
    parser.add_argument("files", metavar="FILE", nargs="*", help="x.regions.json, x.data.json, or a folder of them")
    parser.add_argument("--check", metavar="PROGRAM", help="compare with the tables of a program or library")
    parser.add_argument("--json", action="store_true", help="print one document with all")
    parser.add_argument("--kernels", metavar="FOLDER", help="make OpenCL kernels of regions; tell why not of others")
    parser.add_argument("--schema", action="store_true", help="print the schema of the files")
    return parser


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy regions``); the exit status."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.schema:
        with open(schema_path(), encoding="utf-8") as file:
            sys.stdout.write(file.read())
        return EXIT_FINE
    if not options.files:
        parser.error("which FILE? (gompy regions FILE...)")
    status = EXIT_FINE
    documents: list[dict[str, Any]] = []
    for path in _paths(options.files):
        try:
            documents.append(_read(path))
        except (OSError, ValueError) as error:
            _error(f"{path}: {getattr(error, 'strerror', None) or error}")
            status = EXIT_USAGE
    if options.check and status == EXIT_FINE:
        return _check(options.check, documents)
    if options.kernels and status == EXIT_FINE:
        return _kernels(options.kernels, documents)
    if options.json:
        json.dump(joined(documents), sys.stdout, indent=1, ensure_ascii=False)
        print()
    else:
        for document in documents:
            _print(document)
    sys.stdout.flush()
    return status


def schema_path() -> str:
    """The file of the schema."""
    from gompy import regions

    return os.path.join(os.path.dirname(os.path.abspath(regions.__file__)), "schema.json")


def _error(text: str) -> None:
    sys.stdout.flush()
    print(f"gompy regions: error: {one_line(text)}", file=sys.stderr)


def _paths(files: list[str]) -> Iterator[str]:
    for name in files:
        if os.path.isdir(name):
            yield from sorted(
                os.path.join(name, entry)
                for entry in os.listdir(name)
                if entry.endswith((".regions.json", ".data.json"))
            )
        else:
            yield name


def _read(path: str) -> dict[str, Any]:
    """A document; OSError, or ValueError where it is none of ours."""
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except ValueError as error:
            raise ValueError(f"it is no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != 1:
        raise ValueError("it is no document of --save-regions, schema 1")
    for item in (*content.get("regions", ()), *content.get("data", ())):
        if not isinstance(item, dict) or not {"construct", "file", "line", "parameters"} <= item.keys():
            raise ValueError("it has a construct without its fields (gompy regions --schema)")
    return content


def joined(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """All regions by function: a list, as static functions of several files may have one name."""
    functions: dict[str, list[dict[str, Any]]] = {}
    data: list[dict[str, Any]] = []
    for document in documents:
        for region in document.get("regions", ()):
            functions.setdefault(region["function"], []).append({"unit": document["source"], **region})
        data += [{"unit": document["source"], **item} for item in document.get("data", ())]
    return {"schema": 1, "regions": functions, "data": data}


def _print(document: dict[str, Any]) -> None:
    """The constructs of a unit: name, place, directive, arguments."""
    for item in (*document.get("regions", ()), *document.get("data", ())):
        title = item.get("function") or f"{item['construct']} in {item['caller']}"
        print(f"{item['file']}:{item['line']}: {title}")
        print(f"    {_short(item.get('pragma', item.get('no_text', '(no text)')))}")
        for parameter in item["parameters"]:
            words = [parameter.get("kind", "?"), parameter["name"]]
            if "type" in parameter:
                words.append(f": {parameter['type']}")
            if "length" in parameter:
                words.append(f"({plural(parameter['length'], 'byte')})")
            if parameter.get("implicit"):
                words.append("(implicit)")
            print(f"    {parameter['index']:>3} {_short(' '.join(words))}")


def _kernels(folder: str, documents: list[dict[str, Any]]) -> int:
    """Write the kernels that can be made; those that somebody has written or changed by hand stay."""
    from gompy.opencl import generate
    from gompy.regions.text import NoGrammarError

    os.makedirs(folder, exist_ok=True)
    for document in documents:
        for region in document.get("regions", ()):
            path = os.path.join(folder, f"{region['function']}.cl")
            try:
                text = generate.kernel(region, document)
            except generate.NoKernelError as error:
                print(f"{region['function']}: no kernel: {one_line(str(error))}")
                continue
            except NoGrammarError as error:
                _error(str(error))
                return EXIT_USAGE
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    if not file.read().startswith(generate.MARK):
                        print(f"{region['function']}: {path} is written by hand, and stays")
                        continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"{region['function']}: {path}")
    return EXIT_FINE


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def _check(program: str, documents: list[dict[str, Any]]) -> int:
    """Whether the program's regions, those of its images and the documents are the same."""
    functions = joined(documents)["regions"]
    for whole, status in inspected([program], _error):
        if whole is None:
            return status
        wrong = list(disagreements(whole, functions))
        for text in wrong:
            print(f"{one_line(program)}: error: {one_line(text)}", file=sys.stderr)
        if wrong:
            return EXIT_WRONG
        names = [entry.name for entry in whole.host.funcs]
        regions = plural(len(names), "region")
        if not names or None in names:
            print(f"{one_line(program)}: {regions}, without names: nothing to compare")
            return EXIT_FINE if not names else EXIT_WRONG
        print(f"{one_line(program)}: {regions}, {plural(len(whole.images), 'image')}: each has its JSON")
    return EXIT_FINE


def disagreements(whole: Inspected, functions: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """What is wrong, a line each."""
    from gompy.objects.names import OFFLOAD_FUNC_SECTION

    host = {entry.name for entry in whole.host.funcs if entry.name}
    if not host and not functions:
        yield f"it has no regions (no section {OFFLOAD_FUNC_SECTION})"
    known = set(functions)
    regions = {name for name in host if "._omp_fn." in name}
    for name in sorted(regions - known):
        yield f"{name}: a region without JSON: its source was compiled without --save-regions, or differently"
    for name in sorted(known - host):
        places = ", ".join(f"{region['file']}:{region['line']}" for region in functions[name])
        yield f"{name} ({places}): its JSON is there, but the program has no such region"
    for number, image in enumerate(whole.images):
        for name in sorted({entry.name for entry in image.tables.funcs if entry.name} & known - host):
            yield f"{name}: in image {number} ({image.target}), not in the program"
    for name, regions_of in sorted(functions.items()):
        units = {region["unit"] for region in regions_of}
        if name in host and len(units) > 1:
            count = sum(entry.name == name for entry in whole.host.funcs)
            if count != len(regions_of):
                yield f"{name}: {len(regions_of)} documents have it, the program {plural(count, 'time')}"
