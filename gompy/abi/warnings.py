"""Warnings that can be chosen, as gcc's are: ``-Wno-NAME``, ``-Werror=NAME``, ``-Wno-error=NAME``."""

from __future__ import annotations

HOST = "offload-host"
"""Regions that have no device code, and run on the host."""
LOST = "offload-lost"
"""What a region assigns to a copy, and the host reads afterwards: -foffload-check tells when that is compiled."""
NAMES = (HOST, LOST)
VARIABLE = "GOMPY_OFFLOAD_WARNINGS"
"""How the compiler drivers hand the options on to the link's tools."""
NONE = "-w"
"""gcc's option that inhibits all warnings, those that would be errors as well."""


def is_ours(word: str) -> bool:
    """Whether an option chooses one of these warnings; gcc does not know them."""
    forms = ("-W{}", "-Wno-{}", "-Werror={}", "-Wno-error={}")
    return word.startswith("-W") and any(word == form.format(name) for name in NAMES for form in forms)


def asked_for(words: str, name: str) -> bool:
    """Whether it is on, and an option says so: it may cost what is not wanted else."""
    given = words.split()
    return bool(setting(words, name)) and any(form in given for form in (f"-W{name}", f"-Werror={name}"))


def setting(words: str, name: str) -> str:
    """``warning``, ``error``, or nothing where it is off: the later option wins, as with gcc; -w inhibits all."""
    if NONE in words.split():
        return ""
    on, error = True, False
    for word in words.split():
        if word in (f"-W{name}", f"-Wno-{name}"):
            on = word == f"-W{name}"
        elif word == f"-Werror={name}":
            on = error = True
        elif word == f"-Wno-error={name}":
            error = False
    return ("error" if error else "warning") if on else ""
