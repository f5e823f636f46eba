"""Standard streams of the command ``gompy``: an output that cannot be written is an error, lost messages are none."""

from __future__ import annotations

import codecs
import io
import sys

from gompy import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class OutputError(UserError):
    """Standard output cannot be written."""


class _Output(io.FileIO):
    """Standard output whose errors are told from those of other files."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write to standard output: {error.strerror}") from None


class _Messages(io.FileIO):
    """Standard error that takes everything: that a message cannot be written is nothing to fail for."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _encode(error: UnicodeError) -> tuple[bytes | str, int]:
    """Bytes of names that are no text as they are, other characters that the stream has not by their number."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    parts = [
        bytes([ord(c) - 0xDC00]) if 0xDC80 <= ord(c) <= 0xDCFF else c.encode("ascii", "backslashreplace") for c in text
    ]
    return b"".join(parts), error.end


def set_streams() -> None:
    """Have what cannot be written to standard output become OutputError, and standard error take everything."""
    codecs.register_error("gompy", _encode)
    messages, encoding = io.BufferedWriter(_Messages(2, "w", closefd=False)), sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(messages, encoding, "gompy", "\n", line_buffering=True, write_through=True)
    raw = _Output(1, "w", closefd=False)
    encoding, terminal = sys.stdout.encoding, raw.isatty()
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, "gompy", "\n", line_buffering=terminal)
