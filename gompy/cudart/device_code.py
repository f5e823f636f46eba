"""Clang's run that makes PTX, and what is done where its code generator ends by an error."""

from __future__ import annotations

import re
import subprocess
from typing import Final

from gompy.cudart import clang, ordered

CANNOT_SELECT: Final = re.compile(r"Cannot select: \S+ (?:\S+ = )?([\w:]+)")


def _clang(command: list[str]) -> tuple[int, str]:
    """A run: its status and what it said.  Raises OSError."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


def make(compiler: str, words: list[str], output: str, architecture: int, release: int) -> tuple[int, str]:
    """Run clang by words that make the PTX OUTPUT: the status, and what it said.  Raises OSError.

    Loads and stores with an order that its code generator does not know become the device's instructions.
    """
    status, said = _clang([compiler, *words])
    if status and architecture >= ordered.FIRST_ARCHITECTURE and ordered.is_ours(said):
        status, said = _in_two_steps(compiler, words, output, architecture, release)
    if status and "Cannot select" in said:
        found = CANNOT_SELECT.search(said)
        mend = "another release of clang may have it (GOMPY_CLANGXX)"
        if ordered.is_ours(said) and architecture < ordered.FIRST_ARCHITECTURE:
            mend = f"atomic loads and stores with an order need -arch=sm_{ordered.FIRST_ARCHITECTURE} or newer"
        what = found[1] if found else "an operation"
        said = f"error: clang {release} has no PTX of sm_{architecture} for {what}: {mend}\n"
    return status, said


def _in_two_steps(compiler: str, words: list[str], output: str, architecture: int, release: int) -> tuple[int, str]:
    """To LLVM's code, which is changed, and that to PTX."""
    between = f"{output}.ll"
    status, said = _clang([compiler, *words, "-emit-llvm", "-o", between])
    if status:
        return status, said
    with open(between, encoding="utf-8", errors="surrogateescape") as file:
        code = file.read()
    with open(between, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(ordered.lowered(code))
    level = [word for word in words if word.startswith("-O")][-1:] or ["-O2"]
    target = ["-x", "ir", "--target=nvptx64-nvidia-cuda", "-nocudalib", "--cuda-path=/nonexistent"]
    target += ["-Xclang", "-target-cpu", "-Xclang", f"sm_{architecture}"]
    target += ["-Xclang", "-target-feature", "-Xclang", clang.ptx_feature(architecture)]
    last, more = _clang([compiler, *target, *level, "-S", between, "-o", output])
    return last, said + more
