"""The options of ``gompy run``: argparse's, and a quick way for those that have nothing to be told about.

Each program waits for it, and argparse takes seven milliseconds to load and to be told of the options.
"""

from __future__ import annotations

from gompy.abi import targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any, Final

EXIT_USAGE: Final = 2
DEVICES: Final = {target.plugin: target.name for target in (targets.INTELMIC, targets.NVPTX)} | {"host": ""}
MAX_DEVICES: Final = 64
"""Most devices of the emulated MIC (OFFLOAD_EMUL_NUM)."""
MAX_STATUS: Final = 255
EXAMPLES: Final = """\
examples:
  gompy run ./prog 100                      as ./prog 100; a program of stock gcc gets libgompy
  gompy run --device nvptx ./prog           on a GPU, real or emulated
  gompy run --device host ./prog            all regions on the host
  gompy run --devices 4 --mandatory ./prog  four emulated devices; no region may run on the host
  gompy run --check ./prog                  mappings and accesses are checked; status 86 if something is found
  gompy run --info ./prog                   at exit: what ran where, and why there; what was copied, and in vain
  gompy run --show-maps ./prog              what each directive maps, by variable, as it happens
  gompy run --trace t.json ./prog           what happens when, for Perfetto and gompy trace
  gompy run --under gdb ./prog              stop in the first region; host and device in one gdb
  gompy run --under "valgrind -q" ./prog    the emulated MIC's process under a tool
  gompy run --under rr ./prog               record it with its devices; then: rr replay

exit status: the program's (128 and the signal's number, if one ended it); 127 no such program;
126 it cannot be run; 2 usage, or a file that it names cannot be written"""


class Options:
    """What is asked for."""

    device: str | None = None
    devices: int | None = None
    mandatory: bool = False
    check: str | None = None
    check_json: str = ""
    check_sarif: str = ""
    check_status: int | None = None
    trace: str | None = None
    show_maps: bool = False
    info: bool = False
    under: str | None = None
    any: bool = False


def parse(argv: list[str]) -> tuple[Options, list[str]]:
    """The options, and the program with its arguments.  Help, and what is wrong, ends the process as argparse does."""
    ours = _ours(argv)
    rest = argv[len(ours) :]
    options = plain(ours)
    if options is not None and rest and rest != ["--"]:
        return options, rest[1:] if rest[0] == "--" else rest
    from gompy.cli.arguments import program_words

    made = parser()
    # `--check PROG` has no WHAT: an optional value of argparse would take the program for it.
    options = made.parse_args(["--check=1" if word == "--check" else word for word in ours], Options())
    return options, program_words(made, rest)


def _ours(argv: list[str]) -> list[str]:
    """The words before the program: options, and values of those that take one."""
    number = 0
    while number < len(argv) and argv[number].startswith("-") and argv[number] != "--":
        number += 2 if argv[number] in TAKES_VALUE else 1
    return argv[:number]


def plain(words: list[str]) -> Options | None:
    """The options, where each word is one as it is written in the help; else None, and argparse is to be asked."""
    options, left = Options(), iter(words)
    for word in left:
        name, given, value = word.partition("=")
        read = TAKES_VALUE.get(name)
        if word in FLAGS:
            setattr(options, _field(word), True)
        elif word == "--check":
            options.check = "1"
        elif name == "--check" and value:
            options.check = value
        elif read is not None:
            value = value if given else next(left, "")
            found = read(value) if value and not value.startswith("-") else None
            if found is None:
                return None
            setattr(options, _field(name), found)
        else:
            return None
    return options


def _field(option: str) -> str:
    return option[2:].replace("-", "_")


def _device(text: str) -> str | None:
    return text if text in DEVICES else None


def _number(text: str, most: int) -> int | None:
    """A number that is not larger; None: it is none."""
    try:
        number = int(text) if text.isdecimal() else most + 1
    except ValueError:  # thousands of digits (sys.set_int_max_str_digits)
        return None
    return number if number <= most else None


TAKES_VALUE: Final[dict[str, Callable[[str], Any]]] = {
    "--device": _device,
    "--devices": lambda text: _number(text, MAX_DEVICES),
    "--check-json": str,
    "--check-sarif": str,
    "--check-status": lambda text: _number(text, MAX_STATUS),
    "--trace": str,
    "--under": str,
}
"""Options with what reads their values; None: not one of theirs."""
FLAGS: Final = ("--mandatory", "--show-maps", "--info", "--any")


def _count(text: str) -> int:
    """The number of devices."""
    number = _number(text, MAX_DEVICES)
    if number is None:
        raise _wrong(f"'{text}' is no number of devices from 0 to {MAX_DEVICES}")
    return number


def _status(text: str) -> int:
    """An exit status; 0: the program's own."""
    number = _number(text, MAX_STATUS)
    if number is None:
        raise _wrong(f"'{text}' is no exit status from 0 to {MAX_STATUS}")
    return number


def _wrong(text: str) -> Exception:
    import argparse

    return argparse.ArgumentTypeError(text)


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    from gompy.cli.arguments import add_program, command_parser

    made = command_parser(
        "run",
        "Run a program of gompcc, or of stock gcc, with the runtime's settings as options.",
        EXAMPLES,
        usage="gompy run [options] PROG [ARG...]",
        allow_abbrev=False,
    )
    made.add_argument("--device", choices=tuple(DEVICES), help="the kind of device; host: regions run on the host")
    made.add_argument("--devices", type=_count, metavar="N", help="how many emulated devices there are")
    made.add_argument("--mandatory", action="store_true", help="a region that would run on the host is an error")
    made.add_argument(
        "--check",
        nargs="?",
        const="1",
        metavar="WHAT",
        help="check data; for GPUs a list of memory, init, sync, leak, race",
    )
    made.add_argument("--check-json", default="", metavar="FILE", help="check, and write findings to FILE, as JSON")
    made.add_argument("--check-sarif", default="", metavar="FILE", help="the same as SARIF")
    made.add_argument(
        "--check-status", type=_status, metavar="N", help="check; exit status when an error is found (86)"
    )
    made.add_argument("--trace", metavar="FILE", help="write a trace of what happens to FILE")
    made.add_argument(
        "--show-maps", action="store_true", help="tell what each directive maps and copies, as it happens"
    )
    made.add_argument("--info", action="store_true", help="tell at exit what ran where and why, and what was copied")
    made.add_argument("--under", metavar="CMD", help="gdb, rr, or a command for the emulated MIC's process")
    made.add_argument("--any", action="store_true", help="run a program that has no regions itself, such as python3")
    add_program(made)
    return made
