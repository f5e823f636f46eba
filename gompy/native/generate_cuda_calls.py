"""What is made of gompy/abi/cuda_calls.py: libcuda's exported functions, and docs/cuda-coverage.md."""

from __future__ import annotations

import textwrap

from gompy.abi import cuda_calls

MADE = "Made by gompy/native/generate_cuda_calls.py from gompy/abi/cuda_calls.py."


def cuda_names_h() -> str:
    """The driver's functions by the names that they have inside: what is exported calls them."""
    names = [call.name for call in cuda_calls.all_calls() if call.here]
    return "\n".join([f"/* {MADE}  */", *(f"#define {name} driver_{name}" for name in names)]) + "\n"


def wrapped(line: str) -> list[str]:
    """A line of C that has no blank inside of a literal, in several."""
    return textwrap.wrap(line, 110, break_long_words=False, break_on_hyphens=False)


def call_lines(call: cuda_calls.Call) -> list[str]:
    """An exported function: through to the driver's, and told."""
    at = range(len(call.parameters))
    kinds = [kind for _, kind in call.parameters]
    takes = ", ".join(f"{'cuda_handle' if kinds[n] == 'h' else 'cuda_word'} a{n}" for n in at) or "void"
    gives = ", ".join(f"a{n}" for n in at)
    shows = ", ".join(f"(cuda_word) &a{n}" if kinds[n] == "h" else f"a{n}" for n in at)
    words = " ".join(f'"{name}:{kind},"' for name, kind in call.parameters) or '""'
    lines = [f"extern int driver_{call.name} ({takes});", f"int {call.name} ({takes})"]
    told = f'tell_cuda_call ("{call.name}", {words}, (cuda_word[]) {{ {shows or "0"} }}, r)'
    lines += [f"{{ int r = driver_{call.name} ({gives}); if (cuda_tracing) {told}; return r; }}"]
    if call.own:
        own = f"{call.name}{cuda_calls.OWN_SUFFIX[call.own]}"
        lines += [f"int {own} ({takes})"]
        lines += [f"{{ own_stream_calls++; int r = {call.name} ({gives}); own_stream_calls--; return r; }}"]
    return lines


def absent_lines(call: cuda_calls.Call) -> list[str]:
    """An exported function that says that it is not there."""
    names = [call.name, *([f"{call.name}{cuda_calls.OWN_SUFFIX[call.own]}"] if call.own else [])]
    return [f'int {name} (void) {{ return lacking_cuda_call ("{name}"); }}' for name in names]


def cuda_calls_h() -> str:
    """The exported functions, and cuGetProcAddress's table: the forms of a name are together, the oldest first."""
    calls = cuda_calls.all_calls()
    lines = [f"/* {MADE}  */"]
    for call in calls:
        lines += call_lines(call) if call.here else absent_lines(call)
    lines += ["static const struct cuda_form cuda_forms[] = {"]
    forms = [(cuda_calls.base_name(call.name), call.since, call.name, call.own) for call in calls if call.here]
    forms += [(name, since, other, "") for name, (other, since) in cuda_calls.NEWER.items()]
    for name, since, form, letter in sorted(forms):
        own = f"{form}{cuda_calls.OWN_SUFFIX[letter]}" if letter else "NULL"
        lines += [f'  {{ "{name}", {since}, (void *) {form}, (void *) {own} }},']
    return "\n".join(part for line in [*lines, "};"] for part in wrapped(line)) + "\n"


def version_words(call: cuda_calls.Call) -> str:
    """11020: 11.2."""
    return f"{call.since // 1000}.{call.since % 1000 // 10}"


HEAD = """# The CUDA driver interface: what is there

For those who want to know whether a client's calls are there.

{here} of {all} entry points of CUDA 12.9's and 13.0's `cuda.h` (and two of `cudaGL.h`) are implemented.
[The driver's page](cuda.md) says what they do.
This page is made of the table that the library is made of (`gompy/abi/cuda_calls.py`).
`python -m gompy.native.generate_cuda_calls > docs/cuda-coverage.md` writes it.

The others are exported, too. A program that calls one gets `CUDA_ERROR_NOT_SUPPORTED` and, once, a line with its name.
`cuGetProcAddress` does not find them. Behind a name is the CUDA version that brought it.
`*`: there is also the form for the thread's own default stream.

| area | there | not there |
|---|---|---|
"""


def coverage_md() -> str:
    """The page: a row for each area."""
    calls = cuda_calls.all_calls()
    text = HEAD.format(here=sum(call.here for call in calls), all=len(calls))
    for area in dict.fromkeys(call.area for call in calls):
        cells = []
        for here in (True, False):
            found = [call for call in calls if call.area == area and call.here == here]
            cells.append(", ".join(f"`{c.name}`{chr(92) + '*' if c.own else ''} {version_words(c)}" for c in found))
        text += f"| {area} | {cells[0]} | {cells[1]} |\n"
    return text


if __name__ == "__main__":
    print(coverage_md(), end="")
