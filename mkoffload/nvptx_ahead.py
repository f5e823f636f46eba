"""GCC's libraries for nvptx, compiled ahead: the build does it, and `python -m mkoffload.nvptx_ahead`.

Every image of OpenMP has objects of GCC's libgomp, and of the newlib beneath it.  They are the same in all programs, so
that they can be compiled when gompy is built: a program's first start compiles its own code only, and as nobody waits
for it, all of LLVM's passes are used.  The files are those of the cache, below gompy/_native/ptx, for the processor of
this machine.  For another processor, or another gcc, the first program has them made in its user's cache.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys

from gompy.abi import ptx as abi
from gompy.ptx import __file__ as compiler
from gompy.ptx.native import cpu, text_key
from gompy.ptx.store import SHIPPED

from .nvptx_errata import mended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARIES = ("libgomp.a", "libc.a", "libgcc.a")
"""In the order of the link; of the first one, all."""
FOLDERS = ("/usr/lib/gcc/*/*/accel/nvptx-none/mgomp", "/usr/local/lib/gcc/*/*/accel/nvptx-none/mgomp")
"""Where gcc's packages have them, in the form that OpenMP's regions are linked with."""
ROOTS = ("abort", "calloc", "exit", "free", "malloc", "memcpy", "memmove", "memset", "printf", "putchar", "puts",
         "realloc", "strlen", "__assert_func")  # fmt: skip
"""What programs themselves call most."""
LAUNCHED = (
    "libgcc.a:mgomp.o",
    *(f"libgomp.a:{name}.o" for name in ("alloc", "bar", "barrier", "critical", "icv", "icv-device", "parallel")),
    *(f"libgomp.a:{name}.o" for name in ("proc", "single", "target", "team", "teams", "work")),
    *(f"libc.a:lib_a-{name}.o" for name in ("free", "malloc", "memcpy", "memset")),
)
"""What launches of most regions go through: it is compiled with checks as well (GOMPY_CHECK), in a few seconds.  All
would take a minute; what else a checked program needs, its first run compiles, by quicker means."""
NAMED = re.compile(rb"^// BEGIN GLOBAL (?:FUNCTION|VAR) (DEF|DECL): (\S+)", re.MULTILINE)
DONE = "whole"
"""A file that says that a folder has all it should have."""


def members(path: str) -> Iterator[tuple[str, bytes]]:
    """Names and texts of an archive's members."""
    with open(path, "rb") as file:
        data = file.read()
    at, names = 8, b""
    while at + 60 <= len(data):
        head, size = data[at : at + 16].rstrip(), int(data[at + 48 : at + 58])
        body = data[at + 60 : at + 60 + size]
        if head == b"//":
            names = body
        elif head not in (b"/", b"/SYM64/"):
            name = names[int(head[1:]) :].split(b"\n", 1)[0] if head[:1] == b"/" else head
            yield os.fsdecode(name.rstrip(b"/")), body.split(b"\0", 1)[0]
        at += 60 + size + (size & 1)


def chosen(folder: str) -> dict[str, bytes]:
    """The objects that a program's image may have: all of libgomp, and what that and ROOTS lead to.  By name."""
    texts: dict[str, bytes] = {}
    homes: dict[bytes, str] = {}
    todo: list[str] = []
    for library in LIBRARIES:
        path = os.path.join(folder, library)
        for name, text in members(path) if os.path.exists(path) else ():
            key = f"{library}:{name}"
            texts[key] = text
            for kind, symbol in NAMED.findall(text):
                if kind == b"DEF":
                    homes.setdefault(symbol, key)
            if library == LIBRARIES[0]:
                todo.append(key)
    todo += [homes[root.encode()] for root in ROOTS if root.encode() in homes]
    found: dict[str, bytes] = {}
    while todo:
        key = todo.pop()
        if key in found:
            continue
        found[key] = texts[key]
        todo += [homes[symbol] for kind, symbol in NAMED.findall(texts[key]) if kind == b"DECL" and symbol in homes]
    return found


def forget_others(leaf: str) -> None:
    """Remove what other versions of gompy have compiled here."""
    for name in os.listdir(SHIPPED):
        if name != leaf:
            shutil.rmtree(os.path.join(SHIPPED, name), ignore_errors=True)


def ship() -> int:
    """Compile what there is, unless it has been; the exit status, which is 0 also where there is nothing to do."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return 0
    objects: dict[str, bytes] = {}
    launched: set[str] = set()
    for pattern in FOLDERS:
        for folder in sorted(glob.glob(pattern)):
            for name, text in chosen(folder).items():
                for form in {text, mended(text)}:  # as stock gcc links it, and as gompcc does
                    objects[text_key(form)] = form
                    if name in LAUNCHED:
                        launched.add(text_key(form))
    if not objects:
        return 0
    leaf = f"{abi.identity()[:16]}-{cpu()}"
    folder = os.path.join(SHIPPED, leaf)
    wanted = "".join(f"{key}\n" for key in (*sorted(objects), *sorted(launched)))
    stamp = os.path.join(folder, DONE)
    try:
        with open(stamp, encoding="ascii") as file:
            if file.read() == wanted:
                return 0
    except OSError:
        pass
    print(f"compiling {len(objects)} objects of GCC's nvptx libraries", flush=True)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    forget_others(leaf)
    for key, text in objects.items():
        with open(os.path.join(folder, f"{key}.ptx"), "wb") as out:
            out.write(text)
    requests = "".join(f"object {key} {key[:12]}\n" for key in objects)
    requests += "".join(f"want {key} I\n" for key in objects) + "slow\nslow checked\n"
    requests += "".join(f"whole {key}\n" for key in objects) + "".join(f"whole {key} checked\n" for key in launched)
    main = os.path.join(os.path.dirname(os.path.abspath(compiler)), "__main__.py")
    done = subprocess.run([sys.executable, main, "fill", folder], input=requests, text=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        print(f"  left to the programs: {line}")
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o644)
    with open(stamp, "w", encoding="ascii") as file:
        file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(ship())
