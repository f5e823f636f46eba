"""What is made of gompy/abi/nvml.py: the numbers, libnvidia-ml's exported functions, and docs/nvml-coverage.md."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from gompy.abi import nvml

MADE = "Made by gompy/native/generate_nvml.py from gompy/abi/nvml.py."
MUST_BE = "abnot"
"""Kinds of parameters that must not be NULL."""


def numbers() -> dict[str, int]:
    """All numbers by name, results first."""
    found = {name: number for name, (number, _) in nvml.RESULTS.items()}
    return found | {name: value for name, value in vars(nvml).items() if name.isupper() and type(value) is int}


def nvml_h() -> str:
    """The numbers, and the functions that know all results and architectures."""
    lines = [f"/* {MADE}  */", "#ifndef GOMPY_NATIVE_NVML_H", "#define GOMPY_NATIVE_NVML_H", "#include <stddef.h>"]
    lines += [f"#define {name} {value:#x}{'u' if value > 2**31 else ''}" for name, value in numbers().items()]
    for function, column in (("nvml_result_name", 0), ("nvml_result_text", 1)):
        lines += [f"static inline const char *{function} (int code)", "{", "  switch (code)", "    {"]
        for name, (_, text) in nvml.RESULTS.items():
            lines += [f'    case {name}: return "{(name, text)[column]}";']
        lines += ["    default: return NULL;", "    }", "}"]
    lines += ["static inline unsigned nvml_architecture (int arch)", "{"]
    lines += [f"  if (arch >= {arch}) return {answer};" for arch, answer in sorted(nvml.ARCHITECTURES.items())[::-1]]
    return "\n".join([*lines, "  return NVML_DEVICE_ARCH_UNKNOWN;", "}", "#endif"]) + "\n"


def nvml_pxd() -> str:
    """The same for Cython."""
    lines = [f"# {MADE}", "", 'cdef extern from "gompy/native/nvml.h" nogil:']
    lines += ["    const char *nvml_result_text(int code)", "    unsigned nvml_architecture(int arch)"]
    unsigned = [name for name, value in numbers().items() if value > 2**31]
    return (
        "\n".join([*lines, *(f"    unsigned {name}" for name in unsigned), "    enum:"])
        + "".join(f"\n        {name}" for name in numbers() if name not in unsigned)
        + "\n"
    )


def nvml_names_h() -> str:
    """The functions by the names that they have inside: what is exported calls them."""
    names = [call.name for call in nvml.all_calls() if call.here]
    return "\n".join([f"/* {MADE}  */", *(f"#define {name} answer_{name}" for name in names)]) + "\n"


def nvml_version_h() -> str:
    """gompy's version, which is the driver's."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    found = re.search(r'^version = "(.+)"$', project.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{project}: error: no version")
    return f'/* {MADE}  */\n#define GOMPY_VERSION "{found[1]}"\n'


def call_lines(call: nvml.Call) -> list[str]:
    """An exported function: its arguments are checked, then it is through to the library's, and told."""
    at = range(len(call.parameters))
    takes = ", ".join(f"call_word a{n}" for n in at) or "void"
    gives = ", ".join(f"a{n}" for n in at)
    if call.name == "nvmlErrorString":
        return [f"const char *{call.name} (int a0)", "{ return nvml_words (a0); }"]
    checks = [] if call.name in nvml.WITHOUT_START else ["nvml_started ()"]
    checks += [f"nvml_device_or_error (a{n})" for n, (_, kind) in enumerate(call.parameters) if kind == "d"]
    checks += [
        f"(a{n} ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT)"
        for n, (_, kind) in enumerate(call.parameters)
        if kind in MUST_BE
    ]
    words = " ".join(f'"{name}:{kind},"' for name, kind in call.parameters) or '""'
    lines = [f"extern int answer_{call.name} ({takes});", f"int {call.name} ({takes})", "{ int r = NVML_SUCCESS;"]
    lines += [f"if (r == NVML_SUCCESS) r = {check};" for check in checks]
    lines += [f"if (r == NVML_SUCCESS) r = answer_{call.name} ({gives});"]
    lines += [f'if (nvml_tracing) tell_nvml_call ("{call.name}", {words}, (call_word[]) {{ {gives or "0"} }}, r);']
    return [*lines, "return r; }"]


def nvml_calls_h() -> str:
    """The exported functions."""
    lines = [f"/* {MADE}  */"]
    for call in nvml.all_calls():
        lines += (
            call_lines(call) if call.here else [f'int {call.name} (void) {{ return lacking_nvml ("{call.name}"); }}']
        )
    wrapped = (textwrap.wrap(line, 110, break_long_words=False, break_on_hyphens=False) for line in lines)
    return "\n".join(part for line in wrapped for part in line) + "\n"


HEAD = """# NVML: what is there

For those who want to know what a monitor of GPUs learns of the emulated ones.

{here} of {all} entry points of NVML answer. [Monitors](cuda.md#monitors) says what they tell.
This page is made of the table that the library is made of (`gompy/abi/nvml.py`).
`python -m gompy.native.generate_nvml > docs/nvml-coverage.md` writes it.

The others are exported, too. They return `NVML_ERROR_NOT_SUPPORTED`, as a GPU does that has no such part.

| area | answers |
|---|---|
"""


def coverage_md() -> str:
    """The page: a row for each area."""
    calls = nvml.all_calls()
    text = HEAD.format(here=sum(call.here for call in calls), all=len(calls))
    for area in nvml.HERE:
        text += f"| {area} | " + ", ".join(f"`{c.name}`" for c in calls if c.here and c.area == area) + " |\n"
    text += "\n| area | not supported |\n|---|---|\n"
    for area in nvml.LACKING:
        text += f"| {area} | " + ", ".join(f"`{c.name}`" for c in calls if not c.here and c.area == area) + " |\n"
    return text


if __name__ == "__main__":
    print(coverage_md(), end="")
