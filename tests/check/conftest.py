"""What tests of `gompy run --check` share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def all_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a program may come to the share of its time that checks have, and its fault be passed over.

    Tests of that share set one of their own.
    """
    monkeypatch.setenv("GOMPY_CHECK_SHARE", "100")
