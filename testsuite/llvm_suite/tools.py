"""LLVM's tests of clang-linker-wrapper and of llvm-objdump --offloading, for our wrapper and our reader.

A file of the wrapper's tests is many: each part that ends with a FileCheck is a test of its own, so that what is not
implemented for one kind of image hides nothing else.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

SITE: Final = """\
import lit.formats
config.name = "tools"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".c", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = {tests!r}
config.test_exec_root = {out!r} + "/run"
config.environment["PATH"] = {path!r}
config.available_features |= {{"x86-registered-target", "nvptx-registered-target", "amdgpu-registered-target"}}
config.available_features.add("system-linux")
config.substitutions.append(("%clang", {llvm!r} + "/bin/clang"))
"""
DUMP: Final = """\
#!/bin/sh
exec {python} {script} "$@"
"""


def commands(text: str) -> list[str]:
    """The commands of RUN lines, joined where a line goes on."""
    lines = re.findall(r"^// RUN:\s*(.*)$", text, re.MULTILINE)
    return [line.strip() for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()]


def split(text: str) -> dict[str, str]:
    """The parts of a test: by FileCheck's prefix, a number behind those that come again."""
    rest = re.sub(r"^// RUN:.*\n", "", text, flags=re.MULTILINE)
    parts: dict[str, str] = {}
    before: list[str] = []
    for command in commands(text):
        found = re.search(r"--check-prefix=(\S+)", command)
        if found is None:
            before.append(command)
            continue
        number = sum(name.partition(".")[0] == found[1] for name in parts)
        name = f"{found[1]}.{number + 1}" if number else found[1]
        parts[name] = "".join(f"// RUN: {line}\n" for line in [*before, command]) + rest
    return parts


def prepare(source: Path, out: Path, llvm: Path, python: str, wrapper: Path) -> Path:
    """A folder of tests for lit, with our tools first in PATH; the folder."""
    tests, bin_folder = out / "tests", out / "bin"
    shutil.rmtree(out, ignore_errors=True)
    for folder in (tests, bin_folder):
        folder.mkdir(parents=True)
    for file in sorted(source.glob("*.c")):
        for name, text in split(file.read_text()).items():
            (tests / f"{file.stem}-{name}.c").write_text(text)
    for file in sorted(source.rglob("*")):
        if file.suffix in (".test", ".yaml"):
            target = tests / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    (bin_folder / "clang-linker-wrapper").symlink_to(wrapper)
    dump = bin_folder / "llvm-objdump"
    dump.write_text(DUMP.format(python=python, script=Path(__file__).with_name("offloading_dump.py")))
    dump.chmod(0o755)
    path = f"{bin_folder}:{llvm}/bin:/usr/bin:/bin"
    (tests / "lit.cfg").write_text(SITE.format(tests=str(tests), out=str(out), path=path, llvm=str(llvm)))
    return tests
