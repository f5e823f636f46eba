"""The one error of this package."""

from __future__ import annotations

from gompy import UserError


class AccelError(UserError):
    """What was asked cannot be done; ``notes`` are lines that say what to do about it."""

    def __init__(self, message: str, *notes: str) -> None:
        super().__init__(message)
        self.message = message
        self.notes = notes
