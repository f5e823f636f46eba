"""How long the state machines run: GOMPY_TEST_STEPS=n makes each of them take n steps at least."""

from __future__ import annotations

import os

STEPS = int(os.environ.get("GOMPY_TEST_STEPS", "0"))


def examples(usual: int, step_count: int) -> int:
    """Number of examples of ``step_count`` steps at most; Hypothesis ends some of them early."""
    return max(usual, 3 * STEPS // step_count)
