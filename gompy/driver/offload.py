"""``-foffload=`` and ``-foffload-options=``: which targets, and which options for which of them.

The rules are those of gcc's driver (gcc.cc: handle_foffload_option, check_foffload_target_names,
check_offload_target_name), with the emulated device added to the targets that the compiler was configured with.
"""

from __future__ import annotations

from gompy.abi.targets import TARGETS, find
from gompy.driver.errors import DriverError, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OURS = tuple(target.name for target in TARGETS if target.emulated)
"""Targets whose mkoffload is ours; gcc's driver does not know them."""

_SPELLINGS = (
    ("-foffload=", False),
    ("-foffload-options=", True),
    ("--offload=", False),  # gcc's "--" is "-f"
    ("--offload-options=", True),
)


class Selection:
    """The outcome for one command line.

    targets: names in order of first mention; None when the line makes no choice (or ends with ``default``).
    disabled: the last word was ``disable``.
    kept: the line's words, with None for a word that gcc must not see, or the text that gcc is to see instead of it.
    device_options: options for the emulated device alone, and what came after them for all targets.
    errors: as gcc would print them, in order.
    """

    def __init__(self, words: list[str]) -> None:
        self.kept: list[str | None] = list(words)
        self.targets: list[str] | None = None
        self.disabled = False
        self.device_options: list[str] = []
        self.errors: list[DriverError] = []

    @property
    def names(self) -> list[str]:
        """The targets to build for: the emulated device, if the line makes no choice."""
        if self.disabled and not self.targets:
            return []
        return [TARGETS[0].name] if self.targets is None else self.targets


def full_name(target: str) -> str:
    """The target that an alias stands for."""
    found = find(target)
    return found.name if found is not None else target


def split_list(text: str) -> list[str]:
    """The names of a target list; a trailing comma adds none, two commas in a row add an empty one (as in gcc)."""
    names = text.split(",")
    if names and not names[-1]:
        names.pop()
    return names


def select(words: list[str], configured: Callable[[], list[str]] | None) -> Selection:
    """Apply all offload options of a command line, in order.

    ``configured`` gives the targets that the compiler was configured with; called only if a name has to be checked.
    Without it every name is taken for one of them, and gcc will judge.
    """
    chosen = Selection(words)
    for index, word in enumerate(words):
        for prefix, only_options in _SPELLINGS:
            if word.startswith(prefix):
                value = word[len(prefix) :]
                if value:
                    _apply(chosen, index, value, only_options, configured)
                break
    return chosen


def _apply(
    chosen: Selection, index: int, value: str, only_options: bool, configured: Callable[[], list[str]] | None
) -> None:
    """One option, ``value`` being what follows its ``=``."""
    if value.startswith("-"):
        chosen.kept[index] = f"-foffload-options={value}"
        if chosen.device_options:
            chosen.device_options.append(value)
        return
    listed, equals, options = value.partition("=")
    if only_options and not equals:
        text = f"{quote('=')}options missing after {quote('-foffload-options=')}target"
        chosen.errors.append(DriverError(text))
        return
    theirs: list[str] = []
    ours = False
    for name in split_list(listed):
        target = full_name(name)
        if not only_options:
            if name == "default":
                chosen.targets, chosen.disabled = None, False
                continue
            if name == "disable":
                chosen.targets, chosen.disabled = None, True
                break
        if target in OURS:
            ours = True
        elif configured is None or target in (known := configured()):
            theirs.append(target)
        else:
            chosen.errors.append(unknown_target(name, [*known, *OURS]))
            if not only_options:
                break
            continue
        if not only_options:
            if chosen.targets is None:
                chosen.targets, chosen.disabled = [], False
            if target not in chosen.targets:
                chosen.targets.append(target)
    chosen.kept[index] = f"-foffload-options={','.join(theirs)}={options}" if equals and theirs else None
    if equals and ours and options:
        chosen.device_options.append(options)


def unknown_target(name: str, known: list[str]) -> DriverError:
    """gcc's words for a target that nobody can build for."""
    candidates = [*known, "default", "disable"]
    listing = f"valid {quote('-foffload=')} arguments are: {' '.join(candidates)}"
    hint = closest(name, candidates)
    if hint:
        listing += f"; did you mean {quote(hint)}?"
    return DriverError(f"GCC is not configured to support {quote(name)} as {quote('-foffload=')} argument", listing)


_BASE_COST = 2
_CASE_COST = 1


def distance(left: str, right: str) -> int:
    """Edit distance with insertions, deletions, substitutions and swaps of neighbours at 2, a change of case at 1.

    The costs are those of gcc's spell checker (spellcheck.cc), so that the same hint comes out.
    """
    before: list[int] = []
    previous = [_BASE_COST * j for j in range(len(right) + 1)]
    for i, a in enumerate(left, 1):
        row = [_BASE_COST * i]
        for j, b in enumerate(right, 1):
            change = 0 if a == b else _CASE_COST if a.lower() == b.lower() else _BASE_COST
            best = min(previous[j] + _BASE_COST, row[j - 1] + _BASE_COST, previous[j - 1] + change)
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, before[j - 2] + _BASE_COST)
            row.append(best)
        before, previous = previous, row
    return previous[-1]


def closest(goal: str, candidates: list[str]) -> str:
    """The candidate that the user may have meant, or "" (spellcheck.h: best_match)."""
    best, best_distance, best_length = "", -1, 0
    for candidate in candidates:
        found = distance(goal, candidate)
        if best_distance < 0 or found < best_distance:
            best, best_distance, best_length = candidate, found, len(candidate)
    longest, shortest = max(len(goal), best_length), min(len(goal), best_length)
    if longest - shortest <= 1:
        cutoff = _BASE_COST * max(longest // 3, 1)
    else:
        cutoff = _BASE_COST * (longest + 2) // 3
    return best if goal and 0 < best_distance <= cutoff else ""
