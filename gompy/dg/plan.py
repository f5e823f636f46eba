"""What the directives of a test ask for, evaluated in file order.

Source: DejaGnu 1.6.3 dg.exp; GCC 12 gcc/testsuite/lib/gcc-dg.exp, target-supports-dg.exp.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gompy.dg.blocks import Block, Expression
from gompy.dg.directives import Directive, DirectiveError
from gompy.dg.selectors import Context, SelectorError, Verdict, evaluate, flags_selected, process
from gompy.dg.tcl import words

Keyword = Callable[[str, Sequence[str]], bool | None]
"""The oracle of effective targets (selectors.Context)."""
ACTIONS = ("preprocess", "compile", "assemble", "link", "run")
STOPS = {"preprocess": ("-E", ".i"), "compile": ("-S", ".s"), "assemble": ("-c", ".o")}
"""Actions that end before the link: the option, and the suffix of the output."""
MESSAGES = {
    "dg-error": r"([Ff]atal )?[Ee]rror:",
    "dg-warning": r"[Ww]arning:",
    "dg-note": r"note:",
    "dg-optimized": r"optimized:",
    "dg-missed": r"missed:",
    "dg-message": "",
    "dg-locus": "",
    "dg-bogus": "",
}
"""Directive to the prefix that its message must have."""
NOTHING_TO_DO = frozenset(("dg-additional-files", "dg-keep-saved-temps"))
"""Directives for hosts that the tests' files have to be brought to, and work directories that are shared."""
ALWAYS_THERE = frozenset(
    f"dg-require-{what}"
    for what in (
        *("weak", "weak-override", "visibility", "ifunc", "gc-sections", "profiling", "fork", "linker-plugin"),
        *("cxa-atexit", "named-sections", "symver", "stack-size", "stack-check", "host-local", "iconv", "mkfifo"),
        "ascii-locale",
    )
)
"""Requirements that gcc on GNU/Linux for x86-64 always meets."""


@dataclass(frozen=True)
class Message:
    """A message of the compiler that is expected (or, with dg-bogus, not): line None means no line required."""

    kind: str
    regex: str
    comment: str
    line: int | None
    own_line: int
    xfail: bool


@dataclass(frozen=True)
class Final:
    """One dg-final command: its words, whether its failure is expected, and its line."""

    words: tuple[str, ...]
    xfail: bool
    line: int = field(default=0, compare=False)


@dataclass
class TestPlan:
    """How to carry a test out.

    supported False: one UNSUPPORTED line, nothing else; unsupported_because is the first directive's reason.
    companion: skipped everywhere, as it is another test's source.  options: EXTRA, after the option set.
    number_lines False: numbers beside quoted source are compared as NN.  blank_lines: the compiler may print some.
    output: regular expressions that are joined; output_line: the first one's line.  timeout in seconds.
    output_file: a file beside the test that has the output, and the line that says so.
    """

    action: str = "run"
    supported: bool = True
    unsupported_because: str = ""
    companion: bool = False
    options: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    compiler_environment: dict[str, str] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    expressions: list[Expression] = field(default_factory=list)
    number_lines: bool = True
    blank_lines: bool = False
    messages: list[Message] = field(default_factory=list)
    keep_notes: bool = False
    prune: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    output_line: int = 0
    output_xfail: bool = False
    output_file: str = ""
    output_file_line: int = 0
    output_file_xfail: bool = False
    should_fail: bool = False
    run_xfail: bool = False
    first_xfail: bool = False
    excess_xfail: bool = False
    finals: list[Final] = field(default_factory=list)
    timeout: float = 300.0
    warnings: list[str] = field(default_factory=list)


_NOTED_XFAIL = re.compile(
    r'if \{ \[dg-process-target \{ (.*) \}\] == "F" \} \{ xfail "\[testname-for-summary\] (.*)" \}'
)
"""The one Tcl command that tests give to dg-final: an XFAIL line of their own, under a condition."""


class _Planner:
    def __init__(
        self, option_set: Sequence[str], default: Sequence[str], keyword: Keyword, source: Sequence[str]
    ) -> None:
        self.source = source
        self.block = 0  # line of a dg-begin-multiline-output without its end
        self.plan = TestPlan(options=list(default))
        self.option_set = list(option_set)
        self.keyword = keyword
        self.lines: dict[str, int] = {}
        self.used: set[str] = set()
        self.pending: list[tuple[Directive, Verdict]] = []
        self.did: list[tuple[str, Verdict]] = []
        self.text: list[tuple[str, bool]] = []

    def context(self) -> Context:
        return Context(self.keyword, [*self.option_set, *self.plan.options])

    def selected(self, args: Sequence[str], index: int, xfail_allowed: bool = True) -> Verdict:
        return process(args[index] if len(args) > index else None, self.context(), xfail_allowed)

    def flags_hold(self, args: Sequence[str], index: int) -> bool:
        """S and the lists of flags of dg-skip-if, dg-xfail-if, dg-xfail-run-if, dg-shouldfail, from ``args[index]``."""
        if len(args) <= index:
            return True
        context = self.context()
        if not evaluate("{" + args[index] + "}", context):
            return False
        includes = _elements(args[index + 1]) if len(args) > index + 1 else ["*"]
        excludes = _elements(args[index + 2]) if len(args) > index + 2 else []
        return flags_selected(includes, excludes, context.flags)

    def unsupported(self, reason: str) -> None:
        self.plan.supported = False
        self.plan.unsupported_because = self.plan.unsupported_because or reason

    def directive(self, d: Directive) -> None:
        plan, args = self.plan, d.args
        if d.name in MESSAGES:
            if d.name == "dg-note":
                plan.keep_notes = True
            self.pending.append((d, self.selected(args, 2)))
            return
        match d.name:
            case "dg-do":
                if not args or args[0] not in ACTIONS:
                    raise SelectorError("dg-do: syntax error")
                self.did.append((args[0], self.selected(args, 1)))
            case "dg-options":
                if self.selected(args, 1, xfail_allowed=False).selected:
                    plan.options = _split(args[0])
            case "dg-additional-options":
                if self.selected(args, 1, xfail_allowed=False).selected:
                    plan.options += _split(args[0])
            case "dg-additional-sources":
                plan.sources = " ".join(args).split()
            case "dg-require-effective-target":
                if self.selected(args, 1).selected and not evaluate(args[0], self.context()):
                    self.unsupported(f"needs {args[0]}")
            case "dg-require-alias":
                if not evaluate("alias", self.context()):
                    self.unsupported("needs alias")
            case _ if d.name in ALWAYS_THERE or d.name in NOTHING_TO_DO:
                pass
            case "dg-require-dll":
                self.unsupported("needs a DLL")
            case "dg-require-dot":
                if not shutil.which("dot"):
                    self.unsupported("needs dot")
            case "dg-begin-multiline-output":
                if self.block:
                    raise SelectorError(f"{self.block}: unterminated dg-begin-multiline-output")
                self.block = d.line
            case "dg-end-multiline-output":
                self.end_of_block(d)
            case "dg-regexp":
                plan.expressions.append(Expression(args[0], d.line))
            case "dg-enable-nn-line-numbers":
                plan.number_lines = False
            case "dg-allow-blank-lines-in-output":
                plan.blank_lines = True
            case "dg-skip-if":
                if self.flags_hold(args, 1):
                    self.unsupported(args[0] or "skipped by dg-skip-if")
                plan.companion = plan.companion or [word.strip() for word in args[1:]] == ["*-*-*"]
            case "dg-xfail-run-if":
                plan.run_xfail = plan.run_xfail or self.flags_hold(args, 1)
            case "dg-xfail-if":
                plan.first_xfail = plan.first_xfail or self.flags_hold(args, 1)
            case "dg-shouldfail":
                plan.should_fail = plan.should_fail or self.flags_hold(args, 1)
            case "dg-output":
                verdict = self.selected(args, 1)
                if verdict.selected:
                    plan.output.append(args[0])
                    plan.output_line = plan.output_line or d.line
                    plan.output_xfail = plan.output_xfail or verdict.xfail
            case "dg-output-file":
                verdict = self.selected(args, 1)
                if verdict.selected:
                    plan.output_file, plan.output_file_line = args[0], d.line
                    plan.output_file_xfail = verdict.xfail
            case "dg-set-target-env-var":
                plan.environment[args[0]] = args[1]
            case "dg-set-compiler-env-var":
                plan.compiler_environment[args[0]] = args[1]
            case "dg-timeout":
                if self.selected(args, 1).selected:
                    plan.timeout = float(args[0])
            case "dg-timeout-factor":
                if self.selected(args, 1).selected:
                    plan.timeout *= float(args[0])
            case "dg-line":
                if args[0] in self.lines:
                    before = f"but previously defined at line {self.lines[args[0]]}"
                    raise SelectorError(f"dg-line var {args[0]} defined at line {d.line}, {before}")
                self.lines[args[0]] = d.line
            case "dg-ice":  # where the compiler is expected to break, what it says does not count
                plan.excess_xfail = plan.excess_xfail or self.flags_hold(args, 1)
            case "dg-excess-errors":
                verdict = self.selected(args, 1)
                only_xfail = args[1:] and args[1].split()[:1] == ["xfail"]
                plan.excess_xfail = plan.excess_xfail or (verdict.xfail if only_xfail else verdict.selected)
            case "dg-prune-output":
                plan.prune.append(args[0])
            case "dg-add-options":
                if args[0] not in ("__float128", "weak_undefined"):  # no options on GNU/Linux
                    raise SelectorError(f"unknown dg-add-options feature {args[0]}")
            case "dg-final":
                self.final(args[0], d.line)
            case _:
                raise SelectorError("unknown dg option: " + d.name)

    def final(self, text: str, line: int) -> None:
        noted = _NOTED_XFAIL.search(text)
        if noted:
            if process(noted[1], self.context()).xfail:
                self.plan.finals.append(Final(("xfail", noted[2]), False, line))
            return
        parts = words(text)
        verdict = Verdict(True, False)
        if parts and parts[-1].split()[:1] in (["target"], ["xfail"]):
            verdict = process(parts.pop(), self.context())
        if verdict.selected:
            self.plan.finals.append(Final(tuple(parts), verdict.xfail, line))

    def end_of_block(self, d: Directive) -> None:
        """The lines since dg-begin-multiline-output are expected, if the selector says so."""
        begin, self.block = self.block, 0
        if not begin:
            raise SelectorError(f"{d.line}: dg-end-multiline-output without dg-begin-multiline-output")
        if len(d.args) > 2:
            raise SelectorError(f"{d.line}: too many arguments")
        verdict = self.selected(d.args, 1)
        if verdict.selected:
            # The source was read byte by byte, the compiler's output as UTF-8.
            lines = tuple(
                line.encode("latin-1", "replace").decode(errors="replace") for line in self.source[begin : d.line - 1]
            )
            self.plan.blocks.append(Block(begin + 1, d.line - 1, lines, verdict.xfail))

    def message(self, d: Directive, verdict: Verdict) -> None:
        line: int | None = d.line
        if len(d.args) > 4:
            raise DirectiveError(f"{d.line}: too many arguments", d.line)
        if len(d.args) > 3:
            where = d.args[3].strip()
            if where.startswith((".+", ".-")) and where[2:].isdigit():
                line = d.line + int(where[1:])
            elif where == ".":
                line = d.line
            elif where.removeprefix("-").isdigit():
                line = int(where) or None
            elif where in self.lines:
                self.used.add(where)
                line = self.lines[where]
            else:
                raise DirectiveError(f"dg-line var {where} used, but not defined", d.line)
        if verdict.selected:
            comment = d.args[1] if len(d.args) > 1 else ""
            self.plan.messages.append(Message(d.name, d.args[0], comment, line, d.line, verdict.xfail))

    def finish(self) -> TestPlan:
        plan = self.plan
        if self.block:
            raise DirectiveError(f"{self.block}: unterminated dg-begin-multiline-output", self.block)
        for d, verdict in self.pending:
            self.message(d, verdict)
        plan.warnings = [f"dg-line var {n} defined, but not used" for n in self.lines if n not in self.used]
        if self.did:
            chosen = [(action, v) for action, v in self.did if v.selected]
            if not chosen:
                self.unsupported(f"dg-do {self.did[-1][0]}: not for this target")
            plan.action = (chosen or self.did)[-1][0]
            plan.run_xfail = plan.run_xfail or any(v.xfail for _, v in chosen)
        return plan


def make(
    directives: Sequence[Directive],
    option_set: Sequence[str],
    default: Sequence[str],
    keyword: Keyword,
    source: str = "",
) -> TestPlan:
    """Evaluate the directives for one option set.

    source: the test's text, of which dg-begin-multiline-output quotes lines.  default: EXTRA where no dg-options
    replaces it.  keyword: the oracle of effective targets (selectors.Context).  Raises DirectiveError.
    """
    planner = _Planner(option_set, default, keyword, source.splitlines())
    for d in directives:
        try:
            planner.directive(d)
        except (SelectorError, IndexError) as error:
            text = str(error) if isinstance(error, SelectorError) else "missing argument"
            reason = text if d.name in text else f"{d.name}: {text}"
            if text.startswith("unknown dg option"):
                text = f'unknown dg option: {d.name} {d.line} {d.text} for " {d.name} {d.line} {d.text} "'
            else:
                text = f'{text} for " {d.name} {d.line} {d.text} "'
            raise DirectiveError(text, d.line, reason) from None
    return planner.finish()


def _split(options: str) -> list[str]:
    """Options as the shell that DejaGnu's command line goes through would split them."""
    try:
        return shlex.split(options)
    except ValueError:
        return options.split()


def _elements(text: str) -> list[str]:
    """The elements of an include or exclude list."""
    return words(text)
