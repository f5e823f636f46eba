"""``gompy devices``: the devices that a program's regions may run on, as clinfo and ``nvidia-smi -L`` list theirs.

Exit status: 0 there is a device; 1 there is none; 2 usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from gompy.abi import targets
from gompy.cli.arguments import command_parser

if TYPE_CHECKING:
    from gompy.cli.device_probe import Kind

SCHEMA: Final = 1
TITLES: Final = {targets.INTELMIC.plugin: "emulated Intel MIC"}
EXAMPLES: Final = """\
examples:
  gompy devices                          every kind of device, or why there is none
  gompy devices --device nvptx           only GPUs, real and emulated
  OFFLOAD_EMUL_NUM=4 gompy devices       with the settings of a program that is run so
  gompy devices --json                   for a program
  gompy devices --usage                  how busy the emulated GPUs are, and which processes use them

A number is the device's among those of its kind: omp_set_default_device's with GOMPY_PLUGINS=KIND.
exit status: 0 there is a device; 1 there is none; 2 usage"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = command_parser(
        "devices", "List the devices that regions may run on: each plugin is asked as a program would.", EXAMPLES
    )
    parser.add_argument("--device", metavar="KIND", help="only this kind: intelmic, nvptx, or another plugin's name")
    parser.add_argument(
        "--usage", action="store_true", help="memory and load of the emulated GPUs, and the processes that use them"
    )
    parser.add_argument("--json", action="store_true", help="print an object with the list of kinds")
    return parser


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy devices``); the exit status."""
    options = parser().parse_args(argv)
    if options.usage:
        return _usage(options.json)
    from gompy.cli import device_probe

    kinds = [kind for kind in device_probe.all_kinds() if options.device in (None, kind.name)]
    if not kinds:
        known = ", ".join(device_probe.names())
        print(f"gompy devices: error: no plugin '{options.device}'; there are {known}", file=sys.stderr)
        return 2
    if options.json:
        from gompy.cli.inspect_json import dumps

        sys.stdout.write(dumps({"schema": SCHEMA, "kinds": [_report(kind) for kind in kinds]}) + "\n")
    else:
        _print(kinds)
    return 0 if any(kind.devices for kind in kinds) else 1


def _usage(as_json: bool) -> int:
    """What the emulated GPUs do; the exit status."""
    from gompy.cli import device_usage

    try:
        devices = device_usage.usage()
    except device_usage.UsageError as error:
        print(f"gompy devices: error: {error}", file=sys.stderr)
        return 1
    if as_json:
        from gompy.cli.inspect_json import dumps

        sys.stdout.write(dumps({"schema": SCHEMA, "devices": devices}) + "\n")
    elif devices:
        print("\n".join(device_usage.table(devices)))
    else:
        print("no emulated GPU: GOMPY_CUDA_DEVICES is 0")
    return 0 if devices else 1


def _version(kind: Kind, device: dict[str, Any]) -> str:
    """The driver's version; ours for what gompy emulates itself."""
    from gompy.cli.main import version

    return str(device["version"]) if kind.driver else f"gompy {version()}"


def _name(kind: Kind, device: dict[str, Any]) -> str:
    return TITLES.get(kind.name) or device["name"] or kind.name


def _report(kind: Kind) -> dict[str, Any]:
    """The JSON form of a kind."""
    devices = [{**device, "name": _name(kind, device), "version": _version(kind, device)} for device in kind.devices]
    return {
        "kind": kind.name,
        "driver": kind.driver,
        "plugin": kind.plugin,
        "why": kind.why,
        "devices": devices,
    }


def size(number: int) -> str:
    """Bytes as GiB or MiB; ``-`` where the device does not tell."""
    if not number:
        return "-"
    return f"{number / 2**30:.0f} GiB" if number >= 2**30 and not number % 2**30 else f"{number / 2**20:.0f} MiB"


def _print(kinds: list[Kind]) -> None:
    from gompy.cli.inspect_text import grid

    rows = [
        (
            kind.name,
            str(device["number"]),
            str(device["cores"] or "-"),
            size(device["memory"]),
            os.path.basename(kind.plugin),
            _version(kind, device),
            _name(kind, device),
        )
        for kind in kinds
        for device in kind.devices
    ]
    if rows:
        heading = ("kind", "number", "cores", "memory", "plugin", "version", "name")
        print("\n".join(line[2:] for line, _style in grid(heading, rows, (1, 2, 3))))
    for kind in kinds:
        if not kind.devices:
            print(f"{kind.shown}: no device: {kind.why}")
