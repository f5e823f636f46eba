"""LLVM at work: functions of an object to a code file."""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import unit
from .backend import Backend, Running, start
from .emit import Links
from .inlining import Inlining
from .lower import lower
from .syntax import Call, Function, Module
from .uniform import Analysis
from .wanted import DEBUGGER

VERSION_OF = {"S": ("S", True), "V": ("V", True), "E": ("E", True), "W": ("V", False), "X": ("E", False)}
"""Compiled form (abi.VERSIONS) → version of uniform.py, whether warps are rows."""


LARGE = 4000
"""Instructions of an object above which it is compiled quickly."""


QUICK = ("SROA", "SimplifyCFG", "InstCombine", "DCE")
"""LLVM's passes for libraries and very large objects."""
HOT = ("SROA", "NewGVN", "SimplifyCFG", "InstCombine", "DCE")
"""LLVM's passes for the program's own code.  Its own pipeline O2 takes five times as long, and measurably faster code
did not come of it: loops over vectors of 32 lanes leave it little to do."""


def backend() -> Backend:
    """LLVM; waits until it is loaded."""
    return start().result()


def lowered(inlining: Inlining, function: Function, form: str, links: Links, symbol: str) -> tuple[str, Analysis]:
    """LLVM IR of a function in a form (abi.FORMS)."""
    kind, (version, rows) = abi.FORMS[form][1], VERSION_OF[abi.FORMS[form][0]]
    whole = function if version == "S" else inlining.of(function)
    return lower(whole, version, rows, links, inlining.module, symbol, kind)


def ir(
    module: Module, functions: list[tuple[Function, str]], links: Links
) -> tuple[str, dict[str, tuple[str, str]], list[Analysis]]:
    """LLVM IR of functions in their versions; symbols; analyses."""
    texts, symbols, analyses = [], {}, []
    inlining = Inlining(module)
    for number, (function, form) in enumerate(functions):
        symbol = f"{form}{number}"
        text, analysis = lowered(inlining, function, form, links, symbol)
        texts.append(text)
        analyses.append(analysis)
        symbols[symbol] = (function.name, form)
    body = "\n".join(texts)
    return body, symbols, analyses


SLOW = "slow"
"""The form of the shared files' jobs (build.py)."""


def module_text(body: str) -> str:
    """A whole LLVM module."""
    llvm = backend()
    attributes = f'"target-cpu"="{llvm.name}" "target-features"="{llvm.features}" "no-builtins" '
    attributes += '"no-trapping-math"="false" "prefer-vector-width"="512" "min-legal-vector-width"="512" '
    attributes += '"probe-stack"="inline-asm"'
    return f"""target triple = "x86_64-unknown-linux-gnu"
@links = external hidden global [0 x i8]
{body}
attributes #0 = {{ nounwind {attributes} }}
attributes #1 = {{ nounwind }}
attributes #2 = {{ nounwind cold {attributes} }}
attributes #3 = {{ nounwind "no_caller_saved_registers" }}
!0 = !{{}}
!1 = !{{!"branch_weights", i32 2000, i32 1}}
!2 = !{{!"branch_weights", i32 1, i32 2000}}
"""


def compile_slow(checked: bool) -> bytes:
    """The code file of what all others share."""
    from .slow import checked_slow_paths, slow_paths

    body = checked_slow_paths() if checked else slow_paths()
    elf = backend().compile(module_text(body), 2, ("O2",))
    defined = [line.partition("@")[2].partition("(")[0] for line in body.splitlines() if line.startswith("define")]
    names = [name for name in defined if name.startswith(abi.SLOW_PREFIXES[checked])]
    return unit.code_file([elf], Links(), {name: (name, "S") for name in names}, {})


def is_hot(analysis: Analysis) -> bool:
    """Whether a function may take much time: it has vectors, a loop with a way round without calls, or calls nothing.

    A call that is seldom made is no reason: gcc has `sqrtf` called for negative numbers beside each `sqrt.rn`.
    """
    if analysis.varying:
        return True
    calling = [any(isinstance(code, Call) for code in block.code) for block in analysis.blocks]
    if not any(calling):
        return True
    return any(goes_round(analysis, calling, head, end) for head, end in analysis.loops.items())


def goes_round(analysis: Analysis, calling: list[bool], head: int, end: int) -> bool:
    """Whether a loop, by its first and last block, comes to its head again without calls."""
    seen, todo = {head}, [head]
    while todo:
        index = todo.pop()
        if calling[index]:
            continue
        for successor in analysis.blocks[index].successors:
            if successor.index == head:
                return True
            if head < successor.index <= end and successor.index not in seen:
                seen.add(successor.index)
                todo.append(successor.index)
    return False


def shares(texts: list[str], count: int) -> list[list[str]]:
    """Texts in at most `count` parts of about the same size."""
    found: list[list[str]] = [[] for _ in range(min(count, len(texts)))]
    sizes = [0] * len(found)
    for text in sorted(texts, key=len, reverse=True):
        least = sizes.index(min(sizes))
        found[least].append(text)
        sizes[least] += len(text)
    return found


def compile_functions(
    module: Module,
    functions: list[tuple[Function, str]],
    hot: bool,
    parts: int = 0,
    threads: int = 1,
    ahead: bool = False,
) -> tuple[bytes, set[tuple[str, str]]]:
    """A code file of functions, and the functions whose V (or W) versions they call.

    `hot` code (the program's own) goes through more of LLVM's passes; libraries, and functions that only call others,
    go through a few, and through a code generator that takes a tenth of the time.  `parts`: see unit.py, container.
    `threads`: how many modules with hot functions to compile at a time.  `ahead`: no program waits: all are hot.
    """
    links = Links()
    texts: dict[bool, list[str]] = {True: [], False: []}
    symbols: dict[str, tuple[str, str]] = {}
    analyses = []
    large = sum(len(f.body or ()) for f, _ in functions) > LARGE
    inlining = Inlining(module)
    for number, (function, form) in enumerate(functions):
        symbol = f"{form}{number}"
        text, analysis = lowered(inlining, function, form, links, symbol)
        texts[ahead or (hot and not large and is_hot(analysis))].append(text)
        analyses.append(analysis)
        symbols[symbol] = (function.name, form)
    llvm = backend()
    compiling: list[Running[bytes]] = []
    for level, passes, some in ((2, HOT, shares(texts[True], threads)), (0, QUICK, shares(texts[False], 1))):
        for share in some:
            body = "\n".join([*share, *links.slow.values()])
            if DEBUGGER:
                from . import debugging

                own = {symbol: function for symbol, (function, _) in zip(symbols, functions, strict=True)}
                text = module_text(debugging.with_metadata(body, module, own))
                compiling.append(Running(llvm.compile, text, 0, debugging.PASSES))
                continue
            compiling.append(Running(llvm.compile, module_text(body), level, passes))
    calls: set[tuple[str, str]] = set()
    lines: dict[tuple[str, str], int] = {}
    for analysis, (_, form) in zip(analyses, functions, strict=True):
        version, kind = abi.FORMS[form]
        wanted = abi.FORM_LETTERS[kind][abi.VERSIONS.index("W" if version in "WX" else "V")]
        for block in analysis.blocks:
            for code in block.code:
                for operand in getattr(code, "operands", ()):
                    base = getattr(operand, "base", operand)
                    named = getattr(base, "name", None)
                    if isinstance(named, str):
                        lines.setdefault(("symbol", named), code.line)
                target = getattr(code, "target", None)
                if target is not None:
                    lines.setdefault(("function", target.name), code.line)
                    if id(code) in analysis.vector_calls:
                        calls.add((target.name, wanted))
    whole = {symbol for symbol, analysis in zip(symbols, analyses, strict=True) if analysis.whole}
    aligned = {symbol for symbol, analysis in zip(symbols, analyses, strict=True) if analysis.aligned}
    races = {s: a.conflicts for s, a in zip(symbols, analyses, strict=True) if a.conflicts is not None}
    elves = [r.result() for r in compiling]
    return unit.code_file(elves, links, symbols, lines, parts, whole, aligned, races), calls
