"""Response files (``@file``), read and written by libiberty's rules (argv.c: expandargv, writeargv)."""

from __future__ import annotations

import os

NESTING_LIMIT = 2000
"""Files that are read for one command line, those within others included: as expandargv."""
BLANKS = " \t\n\v\f\r"


def split(text: str) -> list[str]:
    """Words of a response file: separated by blanks; quotes and backslashes protect."""
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    rest = iter(text)
    for char in rest:
        if char == "\\":
            word = word if word is not None else []
            word.append(next(rest, ""))
        elif quote:
            if char == quote:
                quote = ""
            else:
                assert word is not None
                word.append(char)
        elif char in "'\"":
            quote = char
            word = word if word is not None else []
        elif char in BLANKS:
            if word is not None:
                words.append("".join(word))
                word = None
        else:
            word = word if word is not None else []
            word.append(char)
    if word is not None:
        words.append("".join(word))
    return words


def expand_from(words: list[str]) -> list[tuple[str, int]]:
    """The words with each ``@file`` replaced by the file's words, each with the number of the word that it came from.

    A file that cannot be opened stays as it is.
    """
    found: list[tuple[str, int]] = []
    budget = NESTING_LIMIT
    pending = [(word, number) for number, word in enumerate(words)]
    pending.reverse()
    while pending:
        word, number = pending.pop()
        if len(word) > 1 and word[0] == "@" and budget:
            try:
                with open(word[1:], "rb") as file:
                    text = os.fsdecode(file.read())
            except OSError:
                pass
            else:
                budget -= 1
                pending += [(inner, number) for inner in reversed(split(text))]
                continue
        found.append((word, number))
    return found


def expand(words: list[str]) -> list[str]:
    """The words with each ``@file`` replaced by the file's words."""
    if not any(word.startswith("@") for word in words):
        return words
    return [word for word, _ in expand_from(words)]


def join(words: list[str]) -> str:
    """The text of a response file with these words, one a line, as writeargv makes it."""
    lines = []
    for word in words:
        quoted = "".join("\\" + char if char in BLANKS + "\\'\"" else char for char in word)
        lines.append((quoted or '""') + "\n")
    return "".join(lines)
