"""How lto-wrapper merges the options stored in several objects, and which of them a mkoffload gets.

Pure functions over lists of words.  Rules: GCC 12 lto-wrapper.cc (merge_and_complain, append_compiler_options,
append_diag_options, append_offload_options); tests compare with what the stock lto-wrapper passes.
"""

from __future__ import annotations

from gompy.tools.options import INPUT, Option, read
from gompy.tools.process import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DIAGNOSTICS = (
    "fdiagnostics-show-caret",
    "fdiagnostics-show-labels",
    "fdiagnostics-show-line-numbers",
    "fdiagnostics-show-option",
    "fdiagnostics-show-location=",
    "fshow-column",
)
DIAGNOSTICS_LINK = ("fdiagnostics-color=", "fdiagnostics-format=", *DIAGNOSTICS)
POSITION = ("fPIC", "fpic", "fPIE", "fpie")
CF_LEVELS = {"none": 0, "branch": 1, "return": 2, "full": 3}
CF_NAMES = {value: name for name, value in CF_LEVELS.items()}


def decode(words: Iterable[str]) -> list[Option]:
    """Words of an ``.opts`` string or of COLLECT_GCC_OPTIONS as options; words that are none are left out."""
    result = [option for option in read(words) if option.key != INPUT]
    for option in result:
        if option.words == ["-fcf-protection"]:
            option.words = ["-fcf-protection=full"]
    return _pruned(result)


def _pruned(options: list[Option]) -> list[Option]:
    """Drop flags that a later one of the same kind makes void, as GCC does on decoding (opts-common.cc, prune_options).

    Options with an argument stay, however often they come.
    """
    seen: set[str] = set()
    result: list[Option] = []
    for option in reversed(options):
        key = "pic" if option.key in POSITION else option.key
        if len(option.words) == 1 and key[0] in "fmp" and "=" not in option.words[0]:
            if key in seen:
                continue
            seen.add(key)
        result.append(option)
    return result[::-1]


def is_target(option: Option) -> bool:
    """Whether it belongs to the compiler's back end (i386.opt: they begin with ``-m``)."""
    return option.key.startswith("m") and option.key not in ("multiply_defined",)


def find(options: list[Option], *keys: str) -> int:
    """Index of the first option with one of the keys; -1 if there is none."""
    return next((i for i, o in enumerate(options) if o.key in keys), -1)


def level(option: Option) -> int:
    """The level an optimisation option counts for when kinds are mixed."""
    if option.key == "O":
        return int(option.arg) if option.arg else 1
    return {"Ofast": 3, "Og": 1, "Os": 2, "Oz": 2}[option.key]


LEVELS = ("O", "Ofast", "Og", "Os", "Oz")


def _position_independence(options: list[Option], pic: Option | None, pie: Option | None) -> list[Option]:
    """Merge the PIC and PIE level of a further unit (its last such options) into those gathered so far.

    The lower level wins: PIC and pic give pic; no-pic anywhere gives no-pic; a unit without PIC but with PIE lowers
    PIC to PIE.  PIC that one unit has and another says nothing of is dropped, because its default is not known.
    """
    result: list[Option] = []
    for option in options:
        if option.key not in POSITION or not option.on:
            result.append(option)
            continue
        is_pic = option.key in ("fPIC", "fpic")
        same, other = (pic, pie) if is_pic else (pie, pic)
        if same is not None and same.on:
            lower = option.key == ("fPIC" if is_pic else "fPIE") and same.key == ("fpic" if is_pic else "fpie")
            result.append(same if lower else option)
        elif other is not None:
            if is_pic:
                big = option.key == "fPIC" and other.key == "fPIE"
                key = "fPIE" if big else "fpie"
                result.append(Option(key, ["-" + key if other.on else "-fno-pie"], on=other.on))
            else:
                key = "fpie" if option.key == "fPIE" and other.key == "fpic" else option.key
                result.append(Option(key, ["-" + key if other.on else "-fno-pie"], on=other.on))
        elif same is not None:
            result.append(same)
    return result


def _merge_parallel(old: Option, new: Option) -> Option:
    """-flto=: auto over jobserver over the larger number."""
    if old.arg == new.arg or old.arg == "auto":
        return old
    if new.arg in ("auto", "jobserver"):
        return new
    if old.arg == "jobserver":
        return old
    return new if int("0" + new.arg) > int("0" + old.arg) else old


class Merger:
    """Options of translation units, merged one after the other.

    ``link``: the options of the link line; ``warn`` gets the text of each warning.  ``merge`` raises ToolError for
    options that must agree and do not.
    """

    def __init__(self, link: list[Option], warn: Callable[[str], None]) -> None:
        self.link = link
        self.warn = warn
        self.options: list[Option] | None = None
        self.assembler_conflict = False

    def merge(self, unit: list[Option]) -> None:
        """Take one more translation unit's options in."""
        if self.options is None:
            self.options = list(unit)
            return
        options = self.options
        pic: Option | None = None
        pie: Option | None = None
        for option in unit:
            key = option.key
            at = find(options, key)
            if is_target(option) or key in DIAGNOSTICS or key in ("fcommon", "fgnu-tm", "g"):
                if at < 0:
                    options.append(option)
            elif key in ("fPIC", "fpic"):
                pic = option
            elif key in ("fPIE", "fpie"):
                pie = option
            elif key in ("fopenmp", "fopenacc"):
                if at < 0:
                    options.append(option)
                elif option.on and not options[at].on:
                    options[at] = option
            elif key == "fopenacc-dim=":
                if at < 0:
                    options.append(option)
                elif options[at].arg != option.arg:
                    raise ToolError(f"option {option.words[0]} with different values")
            elif key == "fcf-protection=":
                self._merge_protection(option, at)
            elif key in LEVELS:
                self._merge_level(option)
            elif key == "foffload-abi=":
                if at < 0:
                    options.append(option)
                elif options[at].arg != option.arg:
                    raise ToolError(f"option {option.words[0]} not used consistently in all LTO input files")
            elif key == "foffload-options=":
                options.append(option)
            elif key == "flto=":
                if at < 0:
                    options.append(option)
                else:
                    options[at] = _merge_parallel(options[at], option)
        self.options = options = _position_independence(options, pic, pie)
        if not self.assembler_conflict:
            self._compare_assembler(unit)

    def _merge_protection(self, option: Option, at: int) -> None:
        """The link line's is taken instead of the objects' unless it is ``check``, which wants all of them alike.

        GCC lowers the level to what the units have in common, but passes the first unit's words on all the same.
        """
        assert self.options is not None
        line = next((o for o in reversed(self.link) if o.key == "fcf-protection="), None)
        if line is not None and line.arg != "check":
            return
        if at < 0:
            self.options.append(option)
        elif self.options[at].arg != option.arg:
            old = self.options[at]
            if line is not None:
                raise ToolError(f"option ‘-fcf-protection’ with mismatching values ({old.arg}, {option.arg})")
            name = CF_NAMES[CF_LEVELS.get(old.arg, 0) & CF_LEVELS.get(option.arg, 0)]
            self.options[at] = Option("fcf-protection=", old.words, name)

    def _merge_level(self, option: Option) -> None:
        assert self.options is not None
        at = find(self.options, *LEVELS)
        if at < 0:
            self.options.append(option)
        elif self.options[at].key != option.key or option.key == "O":
            number = max(level(self.options[at]), level(option))
            self.options[at] = Option("O", [f"-O{number}"], str(number))

    def _compare_assembler(self, unit: list[Option]) -> None:
        """Assembler options must be the same words in the same order, else none is passed on."""
        assert self.options is not None
        ours = [o.arg for o in self.options if o.key == "Xassembler"]
        theirs = [o.arg for o in unit if o.key == "Xassembler"]
        dropping = "dropping all ‘-Xassembler’ and ‘-Wa’ options."
        for index in range(max(len(ours), len(theirs))):
            if index >= len(ours) or index >= len(theirs):
                extra = (ours + theirs)[index] if index < len(ours) else theirs[index]
                self.warn(f"Extra option to ‘-Xassembler’: {extra}, {dropping}")
            elif ours[index] != theirs[index]:
                self.warn(f"Options to ‘-Xassembler’ do not match: {ours[index]}, {theirs[index]}, {dropping}")
            else:
                continue
            self.assembler_conflict = True
            return


PASSED = frozenset(
    (
        *DIAGNOSTICS,
        *("fPIC", "fpic", "fPIE", "fpie", "fcommon", "fgnu-tm", "fopenmp", "fopenacc", "fopenacc-dim="),
        *("foffload-abi=", "fcf-protection=", "g"),
        *LEVELS,
    )
)


def compiler_options(merger: Merger) -> list[Option]:
    """The merged options that a mkoffload gets, in order."""
    return [
        option
        for option in merger.options or []
        if option.key in PASSED or is_target(option) or (option.key == "Xassembler" and not merger.assembler_conflict)
    ]


def diagnostic_options(link: list[Option]) -> list[Option]:
    """The diagnostics options of the link line, which a mkoffload gets too."""
    return [option for option in link if option.key in DIAGNOSTICS_LINK]


def offload_options(options: list[Option], target: str) -> list[Option]:
    """What the ``-foffload-options=`` say that are meant for that target (those without a target list are for all)."""
    found: list[Option] = []
    for option in options:
        if option.key != "foffload-options=":
            continue
        text = option.arg
        if not text.startswith("-"):
            targets, equals, text = text.partition("=")
            if not equals or target not in targets.split(","):
                continue
        from gompy.tools.response import split

        found += read(split(text))
    return found
