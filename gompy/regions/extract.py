"""Run the compiler once more for a source, and write what it tells: ``x.regions.json`` and ``x.data.json``.

The run is the user's own command with ``-c``, ``-g`` and the dump; its object is thrown away.  So the true compile is
not touched, and types are there without ``-g``.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gompy import UserError
from gompy.regions import document, dump, kinds, types

if TYPE_CHECKING:
    from gompy.regions.text import Text

REGIONS: Final = ".regions.json"
DATA: Final = ".data.json"
DEBUG: Final = "-ggdb"
"""What the run has besides the user's own options: as -g, and no word that a user's line often has."""
DUMP: Final = "-fdump-tree-omplower-lineno="
_LARGEST: Final = 1 << 26


class ExtractError(UserError):
    """Why a source has no documents."""


@dataclass
class Job:
    """A source, the compiler's command for it (words before ``-o``) and preprocessor's, and where documents go."""

    source: str
    language: str  # c, c++ or fortran
    path: str
    compile: list[str]
    preprocess: list[str]
    environment: dict[str, str]
    folder: str
    compiler: str


def run(job: Job) -> str:
    """Write the documents of a source; returns a note for the user, or "".  Raises ExtractError."""
    with tempfile.TemporaryDirectory(prefix="gompy-regions-") as scratch:
        made = os.path.join(scratch, "dump")
        output = os.path.join(scratch, "x.o")
        done = _run([*job.compile, DUMP + made, "-o", output], job)
        if done.returncode:
            # With --param=openacc-kernels=decompose, GCC 12 refuses -g; the types are not known then.
            done = _run([*(word for word in job.compile if word != DEBUG), DUMP + made, "-o", output], job)
        if done.returncode:
            return ""  # gcc itself will say why
        if not os.path.exists(made):
            constructs: list[dump.Construct] = []
        else:
            with open(made, encoding="utf-8", errors="replace") as file:
                constructs = dump.constructs(file.read())
        with open(output, "rb") as file_:
            data = file_.read()
    if not constructs:
        return ""
    from gompy.objects.view import ElfView

    arrays = kinds.of_object(ElfView(data, output))
    texts, note = _texts(job, constructs)
    head = {"schema": document.SCHEMA, "source": job.source, "folder": os.getcwd()}
    head |= {"language": job.language, "compiler": job.compiler}
    regions, others = document.unit(constructs, arrays, types.of_object(data), texts, head)
    _write(job, REGIONS, regions)
    _write(job, DATA, others)
    return note


def _run(command: list[str], job: Job) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command,
            executable=job.path,
            env=job.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise ExtractError(f"{job.path}: {error.strerror}") from None


def _texts(job: Job, constructs: list[dump.Construct]) -> tuple[document.Texts | None, str]:
    """The texts of all files with constructs; and what is missing for it."""
    from gompy.regions import text

    written: dict[str, Text] = {}
    expanded = None
    try:
        for name in dict.fromkeys(item.file for item in constructs):
            data = _contents(name)
            if data is not None:
                written[name] = text.read(data, job.language, name)
        if job.language != "fortran":
            done = _run(job.preprocess, job)
            if not done.returncode:
                expanded = text.read(done.stdout, job.language, job.source, marked=True)
    except text.NoGrammarError as error:
        return None, str(error)
    return document.Texts(written, expanded), ""


def _contents(name: str) -> bytes | None:
    try:
        if os.stat(name).st_size > _LARGEST:
            return None
        with open(name, "rb") as file:
            return file.read()
    except OSError:
        return None


def _write(job: Job, suffix: str, content: dict[str, Any]) -> None:
    """Write a document; that of another source of the same name is not overwritten, the name gets a number then."""
    stem = os.path.splitext(os.path.basename(job.source))[0]
    whole = os.path.realpath(job.source)
    path = os.path.join(job.folder, stem + suffix)
    try:
        os.makedirs(job.folder or ".", exist_ok=True)
        if _source_of(path) not in ("", whole):
            path = os.path.join(job.folder, f"{stem}-{zlib.crc32(os.fsencode(whole)):08x}{suffix}")
        part = f"{path}.{os.getpid()}"
        with open(part, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, ensure_ascii=False)
            file.write("\n")
        os.replace(part, path)
    except OSError as error:
        raise ExtractError(f"{path}: {error.strerror}") from None


def _source_of(path: str) -> str:
    """The source of a document that is there; "" if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        return os.path.realpath(os.path.join(str(known["folder"]), str(known["source"])))
    except (OSError, ValueError, KeyError, TypeError):
        return ""
