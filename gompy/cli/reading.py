"""Reading the files of a command line, one after another, each error told in one line and the others still read."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gompy.cli.inspect_report import Inspected

EXIT_FINE: Final = 0
EXIT_WRONG: Final = 1
EXIT_USAGE: Final = 2


def inspected(
    files: list[str], error: Callable[[str], None], decode: bool = False
) -> Iterator[tuple[Inspected | None, int]]:
    """What is in each file, with the exit status that reading it makes; ``error`` is told of what cannot be read."""
    from gompy.cli.inspect_report import inspect_bytes
    from gompy.objects.streams import read_input
    from gompy.objects.view import Damaged

    for file in files:
        try:
            data, shown = read_input(file)
            yield inspect_bytes(data, shown, decode), EXIT_FINE
        except Damaged as problem:
            error(str(problem))
            yield None, EXIT_WRONG
        except OSError as problem:
            error(f"{file}: {problem.strerror or problem}")
            yield None, EXIT_USAGE
        except (ArithmeticError, LookupError, ValueError, struct.error) as problem:
            # The readers check what they read; should damage get past them, the user sees one line all the same.
            error(f"{file}: damaged in a way that is not understood ({type(problem).__name__}: {problem})")
            yield None, EXIT_WRONG
        except MemoryError:
            error(f"{file}: not enough memory")
            yield None, EXIT_USAGE
