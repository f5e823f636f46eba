"""The command ``gompy``: finds the subcommand and hands its arguments over."""

from __future__ import annotations

import os
import sys

from gompy.tools import toolmain

COMMANDS = {
    "learn": "a tutorial in eight lessons: copies one into the current folder and says what to type",
    "inspect": "what is in objects, programs and images: tables, streams, options",
    "run": "run a program on a device of a kind, under checks or a debugger; says what ran where",
    "top": "what a running program does on its devices: launches, copies, memory, regions and their rates",
    "trace": "what a trace of gompy run --trace adds up to, and a picture of it",
    "record": "a program's regions with the device's memory before and after, in a file",
    "replay": "regions of a recording run again without the program, and what differs",
    "bisect": "the first region whose results differ on two devices, and the first element",
    "verify": "whether host tables and device images agree, which regions have no device code, and why",
    "regions": "what the compiler knew of each region (gompcc --save-regions), checked against a program",
    "images": "list, take out, replace or remove the device images of a program or library",
    "devices": "the devices that regions may run on, and why others are absent",
    "device": "serve a device to programs on other machines; change the device of a running program",
    "cluster": "run a program with devices on the workers of a Dask cluster",
    "env": "every environment variable that is read, with its value and its meaning",
    "man": "the manual page of a command",
    "completion": "the script by which a shell completes gompy's words: bash, zsh or fish",
    "cuda": "compile CUDA C++ by clang, and run CUDA programs on the emulated GPU",
    "config": "paths and options for other build systems",
    "doctor": "what this machine has and lacks for offloading",
    "accel": "build and keep the accelerator compiler of the emulated device",
}


def version() -> str:
    """gompy's version: of the installed distribution, or of the pyproject.toml beside the package."""
    from gompy.driver import paths

    project = os.path.join(paths.PREFIX, "pyproject.toml")
    if os.path.exists(project):
        import tomllib

        try:
            with open(project, "rb") as file:
                return str(tomllib.load(file)["project"]["version"])
        except (OSError, KeyError, tomllib.TOMLDecodeError):
            pass
    from importlib import metadata

    try:
        return metadata.version("gompy")
    except metadata.PackageNotFoundError:
        return "unknown"


def available() -> dict[str, str]:
    """Those of COMMANDS that this version has."""
    import importlib.util

    return {name: text for name, text in COMMANDS.items() if importlib.util.find_spec(f"gompy.cli.{name}") is not None}


def usage() -> str:
    """The help text."""
    from gompy.tools.helptext import in_terminal

    commands = available()
    width = max(map(len, commands))
    lines = [
        "usage: gompy COMMAND [ARGUMENT...]",
        "       gompy --version | --help",
        "",
        *(f"  {name:<{width}}  {text}" for name, text in commands.items()),
        "",
        "'gompy COMMAND --help' tells more.  The compilers are gompcc, gompc++ and gompfortran.",
    ]
    return in_terminal("\n".join(lines))


def dispatch(arguments: list[str]) -> int:
    """Run a command line (without the program's name); returns the exit status: 2 for a usage error."""
    if not arguments:
        print(usage(), file=sys.stderr)
        return 2
    name, *rest = arguments
    if name in ("--help", "-h", "help"):
        print(usage())
        return 0
    if name == "--version":
        print(f"gompy {version()}")
        return 0
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        what = f"no {kind} '{toolmain.one_line(name)}'"
        print(f"gompy: error: {what}; the commands are {', '.join(available())}", file=sys.stderr)
        return 2
    module = f"gompy.cli.{name}"
    try:
        command = __import__(module, fromlist=["main"])
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        print(f"gompy: error: '{name}' is not implemented", file=sys.stderr)
        return 2
    return int(command.main(rest))


def main() -> int:
    """The entry point of the command."""
    return toolmain.command("gompy", dispatch)
