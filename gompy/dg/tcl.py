"""The little of Tcl that a directive is written in: words, quoting, and the two commands in use.

Source: Tcl(n), rules 1-9, as far as dg- directives need them.
"""

from __future__ import annotations

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX = "0123456789abcdefABCDEF"


class TclError(ValueError):
    """Text that Tcl would refuse: unbalanced braces or quotes, an unknown variable or command."""


class Variables:
    """The variables of one test's directives, and the commands that change them."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, name: str) -> str:
        """The value; TclError if the variable is not set."""
        if name not in self.values:
            raise TclError(f'can\'t read "{name}": no such variable')
        return self.values[name]

    def command(self, text: str) -> str:
        """Carry out ``incr NAME [N]`` or ``variable NAME VALUE ...`` and return its result."""
        parts = words(text, self)
        if parts[:1] == ["incr"] and len(parts) in (2, 3):
            step = int(parts[2]) if len(parts) == 3 else 1
            self.values[parts[1]] = str(int(self.values.get(parts[1], "0")) + step)
            return self.values[parts[1]]
        if parts[:1] == ["variable"]:
            self.values.update(zip(parts[1::2], parts[2::2], strict=False))
            return ""
        raise TclError(f'invalid command name "{parts[0] if parts else ""}"')


def words(text: str, variables: Variables | None = None) -> list[str]:
    """Split a command or list into words.

    ``{...}`` is taken verbatim; in ``"..."`` and bare words backslashes, and with ``variables`` also ``$name`` and
    ``[command]``, are substituted.  Raises TclError.
    """
    result: list[str] = []
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\n":
            at += 1
        if at >= len(text):
            return result
        if text[at] == "{":
            end = _closing(text, at, "{", "}")
            result.append(text[at + 1 : end])
            at = end + 1
            if at < len(text) and text[at] not in " \t\n":
                raise TclError("extra characters after close-brace")
        elif text[at] == '"':
            word, at = _substituted(text, at + 1, '"', variables)
            if at >= len(text):
                raise TclError('missing "')
            at += 1
            result.append(word)
        else:
            word, at = _substituted(text, at, " \t\n", variables)
            result.append(word)


def _closing(text: str, at: int, opening: str, closing: str) -> int:
    depth = 0
    start = at
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == opening:
            depth += 1
        elif text[at] == closing:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise TclError(f'missing close of "{opening}" at character {start}')


def _backslash(text: str, at: int) -> tuple[str, int]:
    """The character that the escape at ``text[at] == '\\\\'`` stands for, and where the text goes on."""
    if at + 1 >= len(text):
        return "\\", at + 1
    letter = text[at + 1]
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 2
    if letter in "xu":
        end = at + 2
        while end < len(text) and end < at + (4 if letter == "x" else 6) and text[end] in _HEX:
            end += 1
        if end > at + 2:
            return chr(int(text[at + 2 : end], 16)), end
    if letter in "01234567":
        end = at + 1
        while end < len(text) and end < at + 4 and text[end] in "01234567":
            end += 1
        return chr(int(text[at + 1 : end], 8)), end
    return letter, at + 2


def _substituted(text: str, at: int, stops: str, variables: Variables | None) -> tuple[str, int]:
    out: list[str] = []
    while at < len(text) and text[at] not in stops:
        if text[at] == "\\":
            piece, at = _backslash(text, at)
            out.append(piece)
        elif text[at] == "[" and variables is not None:
            end = _closing(text, at, "[", "]")
            out.append(variables.command(text[at + 1 : end]))
            at = end + 1
        elif text[at] == "$" and variables is not None and at + 1 < len(text) and _name_end(text, at + 1) > at + 1:
            end = _name_end(text, at + 1)
            out.append(variables.get(text[at + 1 : end]))
            at = end
        else:
            out.append(text[at])
            at += 1
    return "".join(out), at


def _name_end(text: str, at: int) -> int:
    while at < len(text) and (text[at].isalnum() or text[at] == "_"):
        at += 1
    return at
