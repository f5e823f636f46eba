"""What tests of `gompy run --check` share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def all_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a program may come to the share of its time that checks have, and a test's fault be passed over;
    tests of that share have one of their own."""
    monkeypatch.setenv("GOMPY_CHECK_SHARE", "100")
