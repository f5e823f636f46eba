"""Response files (``@file``), read and written by libiberty's rules (argv.c: expandargv, writeargv)."""

from __future__ import annotations

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


def expand(words: list[str], depth: int = 0) -> list[str]:
    """The words with each ``@file`` replaced by the file's words; one that cannot be opened stays as it is."""
    if depth > 100 or not any(word.startswith("@") for word in words):
        return words
    result: list[str] = []
    for word in words:
        if word.startswith("@") and len(word) > 1:
            try:
                with open(word[1:], encoding="utf-8", errors="surrogateescape", newline="") as file:
                    text = file.read()
            except OSError:
                result.append(word)
                continue
            result += expand(split(text), depth + 1)
        else:
            result.append(word)
    return result


def join(words: list[str]) -> str:
    """The text of a response file with these words, one a line, as writeargv makes it."""
    lines = []
    for word in words:
        quoted = "".join("\\" + char if char in BLANKS + "\\'\"" else char for char in word)
        lines.append((quoted or '""') + "\n")
    return "".join(lines)
