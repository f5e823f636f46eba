"""``gompy cuda``: CUDA C++ without NVIDIA's software, and other clients of CUDA on the emulated driver."""

from __future__ import annotations

import os
import sys
from typing import Final

from gompy.driver import paths
from gompy.tools.toolmain import one_line

USAGE: Final = """\
usage: gompy cuda cc [OPTION...] FILE...
       gompy cuda run [--real] [--] PROG [ARG...]

  cc   compile CUDA C++ by clang; the program runs on the emulated GPU where there is no other
  run  run a program with the emulated driver (libcuda.so.1) and the runtime (libcudart.so.12) found first;
       with --real the machine's driver, and only the runtime is gompy's

exit status of run: the program's; 127 if there is no such program, 126 if it cannot be run, 2 for a usage error"""
PATH: Final = "LD_LIBRARY_PATH"


def environment(real: bool) -> dict[str, str]:
    """What a program gets so that it finds the libraries."""
    folders = (
        [os.path.join(paths.NATIVE, "cudart")] if real else [paths.CUDALIBDIR, os.path.join(paths.NATIVE, "cudart")]
    )
    before = os.environ.get(PATH)
    return {PATH: ":".join([*folders, *([before] if before else [])]), "GOMPY_CUDA": "real" if real else "emulated"}


def run(arguments: list[str]) -> int:
    """Become a program; returns only if that fails."""
    real, words = False, list(arguments)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        if option != "--real":
            print(f"gompy cuda run: error: no option '{one_line(option)}'; it knows --real", file=sys.stderr)
            return 2
        real = True
    if not words:
        print("gompy cuda run: error: no program", file=sys.stderr)
        return 2
    sys.stdout.flush()
    from gompy.tools.child import become

    try:
        become(words, {**os.environ, **environment(real)})
    except OSError as error:
        print(f"gompy cuda run: error: {one_line(words[0])}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def main(arguments: list[str]) -> int:
    """Find the part."""
    if not arguments:
        print(USAGE, file=sys.stderr)
        return 2
    part, *rest = arguments
    if part in ("--help", "-h") or (part == "run" and rest in (["--help"], ["-h"])):
        from gompy.tools.helptext import in_terminal

        print(in_terminal(USAGE))
        return 0
    if part == "run":
        return run(rest)
    if part == "cc":
        from gompy.cudart import compile

        return compile.main(rest)
    print(f"gompy cuda: error: no '{one_line(part)}'; it knows cc and run", file=sys.stderr)
    return 2
