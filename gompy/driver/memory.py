"""Commands that were decided before, for the compiled front of the drivers (front.c), which answers their like.

A plan is made twice: of the command, and of one with stand-ins for the names of its files.  Where the second leads to
the first, no name counts, and what it says of the stand-ins is said of any names.  An entry has it, what the plan has
looked for in files and not found, and the files on which the decision rests.
"""

from __future__ import annotations

import os
import sys

from gompy import access
from gompy.driver import compiler, plan, searches
from gompy.driver.front_tables import MAGIC, MARK
from gompy.tools.entries import Store, number, own_parts, string

LIMIT = 4 << 20
"""Bytes that all entries may have together."""
_LITERAL = (1 << 64) - 1


def keep(word: str, language: compiler.Language, arguments: list[str], made: plan.Plan) -> None:
    """Have commands like this one answered by the front, where nothing in them but names can differ.

    ``word``: ``KEY:FOLDER:BEGAN:PLACES``, as the front has it; the places are numbers of words that count by their
    suffixes, negative ones not even by these.
    """
    where, _, listed = word.rpartition(":")
    store = Store(where, MAGIC, LIMIT)
    if made.messages or made.errors or access.OPTION in arguments:
        return
    words = list(arguments)
    stand_ins: dict[str, int] = {}
    for place in map(int, filter(None, listed.split(","))):
        suffix = os.path.splitext(os.path.basename(arguments[place - 1]))[1] if place > 0 else ""
        words[abs(place) - 1] = f"{MARK}{abs(place)}{suffix}"
        stand_ins[words[abs(place) - 1]] = abs(place)
    with searches.Noted() as noted:
        like = plan.make(language, words)
    told = _told(like, made, arguments, stand_ins)
    searched = [(stand_ins.get(name, 0), needle) for name, needle in noted.searches]
    parts = [*own_parts(), *_environment_of_python(), *noted.candidates, made.path, os.path.realpath(made.path)]
    if not told or not all(place for place, _ in searched) or not all(map(os.path.isabs, parts)):
        return
    told += number(len(searched))
    told += b"".join(number(place) + number(len(needle)) + needle for place, needle in searched)
    store.keep(parts, 1, told)


def _told(like: plan.Plan, made: plan.Plan, arguments: list[str], stand_ins: dict[str, int]) -> bytes:
    """The plan with places for the names, as an entry has it; empty if it does not lead to the one that was made."""
    words = [arguments[stand_ins[word] - 1] if word in stand_ins else word for word in like.argv]
    if (words, like.path, like.environment) != (made.argv, made.path, made.environment):
        return b""
    if like.messages or like.errors or any(MARK in word for word in like.argv if word not in stand_ins):
        return b""
    told = [string(like.path), number(len(like.argv))]
    for word in like.argv:
        told.append(number(stand_ins[word]) if word in stand_ins else number(_LITERAL) + string(word))
    told.append(number(len(like.environment)))
    for name, value in like.environment.items():
        told.append(string(name) + (number(0) if value is None else number(1) + string(value)))
    return b"".join(told)


def _environment_of_python() -> list[str]:
    """What says which Python and which gompy a command finds: another one that comes first would be another command."""
    folder = os.path.dirname(sys.executable)
    found = [sys.executable, os.path.join(folder, "pyvenv.cfg"), os.path.join(os.path.dirname(folder), "pyvenv.cfg")]
    site = sys.modules.get("site")
    folders = [*sys.path, *filter(None, [getattr(site, "USER_SITE", None) if site else None])]
    for folder in folders:
        if os.path.basename(folder) in ("site-packages", "dist-packages"):
            found.append(folder)  # of files that lead elsewhere
        if not os.path.isdir(os.path.join(folder, "gompy")):
            found.append(os.path.join(folder, "gompy"))
    return found
