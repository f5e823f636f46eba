"""``--save-regions[=FOLDER]``, or ``GOMPY_REGIONS``: a JSON of the regions of each source, written before the compile.

The word is taken off the line; what follows is the command as it would be without it (docs/regions.md).
"""

from __future__ import annotations

import os

from gompy.driver import compiler, errors, options, plan

OPTION = "--save-regions"
VARIABLE = "GOMPY_REGIONS"

_ALONE = (
    *("-c", "-S", "--compile", "--assemble", "-M", "-MM", "-MD", "-MMD", "-MG", "-MP", "-v", "-###", "-Werror"),
    *(
        "-fstack-usage",
        "-fcallgraph-info",
        "--coverage",
        "-coverage",
        "-ftest-coverage",
        "-fprofile-arcs",
        "-gsplit-dwarf",
    ),
)
_BEGIN = ("-save-temps", "--save-temps", "-fdump-", "-Werror", "-fopt-info", "-Wp,-M", "-dumpdir", "-dumpbase", "-time")
_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "--output", "-dumpdir", "-dumpbase", "-dumpbase-ext", "-aux-info")


def apply(language: compiler.Language, arguments: list[str]) -> list[str]:
    """Write the documents; returns the line without the option.  Raises DriverError."""
    folder = os.environ.get(VARIABLE)
    rest = []
    for word in arguments:
        if word == OPTION:
            folder = folder or ""
        elif word.startswith(f"{OPTION}="):
            folder = word[len(OPTION) + 1 :]
            if not folder:
                raise errors.DriverError(f"{OPTION}= without a folder")
        elif word.startswith(OPTION):
            raise errors.DriverError(f"unrecognized command-line option {errors.quote(word)}")
        else:
            rest.append(word)
    if folder is None:
        return rest
    line = options.parse(rest)
    if not line.offloads or line.query or line.preprocess_only:
        return rest
    for source in line.sources:
        _one(language, line, source, folder)
    return rest


def _one(language: compiler.Language, line: options.CommandLine, source: str, folder: str) -> None:
    from gompy.regions import extract

    if source == "-":
        errors.say(language.program, "warning", f"{OPTION}: no JSON for a source from standard input")
        return
    words, output = _words(line, source)
    first = plan.make(language, [*words, "-c", "-w", extract.DEBUG])
    if first.errors:
        return  # the true command will tell
    command = [word for word in first.argv if word not in ("-flto", "-ffat-lto-objects")]
    # The text alone: no object is made, and options of offloading mean nothing to the preprocessor.
    preprocess = [*first.argv[: first.start], *(word for word in words if not word.startswith("-foffload")), "-E", "-w"]
    environment = plan.environment_of(first) | {plan.AS: "keep"}
    where = folder or os.path.dirname(output)
    facts = compiler.told(language, compiler.chosen(language))
    job = extract.Job(
        *(source, _language(line, source), first.path, command, preprocess, environment, where),
        f"gcc {facts.version}",
    )
    try:
        note = extract.run(job)
    except extract.ExtractError as error:
        raise errors.DriverError(str(error)) from None
    if note:
        errors.say(language.program, "note", note)


def _words(line: options.CommandLine, source: str) -> tuple[list[str], str]:
    """The line's words for one source, less outputs and other inputs; and the output's name."""
    from gompy.tools.options import SEPARATE

    kept: list[str] = []
    output = ""
    texts = [word.text for word in line.words]
    others = {*line.sources, *line.headers, *line.assembler, *line.linker_inputs} - {source}
    at = 0
    while at < len(texts):
        text = texts[at]
        at += 1
        separate = text in SEPARATE or text in _WITH_VALUE
        value = [texts[at]] if separate and at < len(texts) else []
        at += len(value)
        if text in ("-o", "--output"):
            output = value[0] if value else ""
        elif text.startswith("-o") and not separate:
            output = text[2:]
        if text in _ALONE or text in _WITH_VALUE or text.startswith(("-o", *_BEGIN)):
            continue
        if not separate and text in others:
            continue
        kept += [text, *value]
    return kept, output


def _language(line: options.CommandLine, source: str) -> str:
    """Which grammar reads a source."""
    texts = [word.text for word in line.words]
    given = ""
    for number, text in enumerate(texts):
        if text in ("-x", "--language") and number + 1 < len(texts):
            given = texts[number + 1]
        elif text.startswith("-x"):
            given = text[2:]
        elif text == source:
            break
    suffix = os.path.splitext(source)[1]
    if given and given != "none":
        return "fortran" if given.startswith("f") else "c++" if "++" in given else "c"
    if suffix.lower().startswith(".f"):
        return "fortran"
    return "c" if suffix in (".c", ".i") else "c++"
