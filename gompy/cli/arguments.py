"""The parsers of gompy's commands: each shows its help in the same way."""

from __future__ import annotations

import argparse


def command_parser(
    name: str, description: str, examples: str, *, usage: str | None = None, allow_abbrev: bool = True
) -> argparse.ArgumentParser:
    """A parser of ``gompy NAME``; the examples stand behind its help as they are written."""
    return argparse.ArgumentParser(
        prog=f"gompy {name}",
        usage=usage,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=allow_abbrev,
    )
