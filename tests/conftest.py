"""What all tests share."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Start with default signal handling: a job of a script's background inherits an ignored SIGINT and SIGQUIT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
