"""LLVM at work: functions of an object to a code file (llvmlite; imported only when something must be compiled)."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from . import unit
from .checks import slow_paths as checked_slow_paths
from .emit import Links
from .lower import lower
from .memory import slow_paths
from .syntax import Function, Module

VERSION_OF = {"S": ("S", True), "V": ("V", True), "E": ("E", True), "W": ("V", False), "X": ("E", False)}
"""Compiled form (abi.VERSIONS) → version of uniform.py, whether warps are rows."""


LARGE = 4000
"""Instructions of an object above which it is compiled quickly."""


@cache
def target_machine(level: int) -> tuple[Any, str, str]:
    """LLVM's target machine for this CPU, its name and features.  `level`: 0 quick to compile, 2 quick to run."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name = os.environ.get("GOMPY_PTX_CPU", "")
    features = ""
    if not name:
        name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu=name, features=features, opt=level, reloc="pic", codemodel="small")
    return machine, name, features


def intrinsics(text: str) -> str:
    """Declarations for the intrinsics that the text calls."""
    import re

    found: dict[str, str] = {}
    for match in re.finditer(r"call ((?:<32 x \w+>|\w+)) @(llvm\.[\w.]+)\(([^)\n]*\)?[^\n]*)\)", text):
        result, name, arguments = match.groups()
        if name in found:
            continue
        kinds = []
        depth, current = 0, ""
        for character in arguments + ",":
            if character in "<(":
                depth += 1
            elif character in ">)":
                depth -= 1
            if character == "," and depth == 0:
                word = current.strip()
                kinds.append(word[: word.index(">") + 1] if word.startswith("<") else word.split(" ")[0])
                current = ""
            else:
                current += character
        if "is.fpclass" in name:
            kinds[-1] = "i32 immarg"
        if any(part in name for part in ("ctlz", "llvm.abs", "cttz")):
            kinds[-1] = "i1 immarg"
        if "memcpy" in name:
            kinds = ["ptr", "ptr", "i64", "i1 immarg"]
        found[name] = f"declare {result} @{name}({', '.join(kinds)})"
    return "\n".join(found.values())


def ir(
    module: Module, functions: list[tuple[Function, str]], links: Links
) -> tuple[str, dict[str, tuple[str, str]], list[Any]]:
    """LLVM IR of functions in their versions; symbols; analyses."""
    texts, symbols, analyses = [], {}, []
    for number, (function, form) in enumerate(functions):
        version, rows = VERSION_OF[form.upper()]
        symbol = f"{form}{number}"
        text, analysis = lower(function, version, rows, links, module.name, symbol, form.islower())
        texts.append(text)
        analyses.append(analysis)
        symbols[symbol] = (function.name, form)
    body = "\n".join(texts)
    return body, symbols, analyses


def compile_functions(
    module: Module, functions: list[tuple[Function, str]], hot: bool
) -> tuple[bytes, set[tuple[str, str]]]:
    """A code file of functions, and the functions whose V (or W) versions they call.

    `hot` code (the program's own) goes through all of LLVM's passes, libraries through a few; very large objects
    are compiled without optimisation in the code generator, which takes a tenth of the time.
    """
    import llvmlite.binding as llvm

    checked = any(form.islower() for _, form in functions)
    large = sum(len(f.body or ()) for f, _ in functions) > LARGE
    machine, name, features = target_machine(0 if large else 2)
    links = Links()
    body, symbols, analyses = ir(module, functions, links)
    attributes = f'"target-cpu"="{name}" "target-features"="{features}" "no-builtins" "no-trapping-math"="false" '
    attributes += '"prefer-vector-width"="512" "min-legal-vector-width"="512" "probe-stack"="inline-asm"'
    text = f"""target triple = "x86_64-unknown-linux-gnu"
@links = external hidden global [0 x i8]
{body}
{checked_slow_paths() if checked else slow_paths()}
{intrinsics(body)}
attributes #0 = {{ nounwind {attributes} }}
attributes #1 = {{ nounwind }}
attributes #2 = {{ nounwind noinline cold {attributes} }}
!0 = !{{}}
!1 = !{{!"branch_weights", i32 2000, i32 1}}
!2 = !{{!"branch_weights", i32 1, i32 2000}}
"""
    parsed = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    if hot and not large:
        builder.getModulePassManager().run(parsed, builder)
    else:
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_dead_code_elimination_pass()
        for function in parsed.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    elf = machine.emit_object(parsed)
    calls: set[tuple[str, str]] = set()
    lines: dict[tuple[str, str], int] = {}
    for analysis, (_, form) in zip(analyses, functions, strict=True):
        wanted = "W" if form in "WXwx" else "V"
        wanted = wanted.lower() if checked else wanted
        for block in analysis.blocks:
            for code in block.code:
                for operand in getattr(code, "operands", ()):
                    base = getattr(operand, "base", operand)
                    symbol = getattr(base, "name", None)
                    if isinstance(symbol, str):
                        lines.setdefault(("symbol", symbol), code.line)
                target = getattr(code, "target", None)
                if target is not None:
                    lines.setdefault(("function", target.name), code.line)
                    if id(code) in analysis.vector_calls:
                        calls.add((target.name, wanted))
    return unit.code_file(elf, links, symbols, lines), calls
