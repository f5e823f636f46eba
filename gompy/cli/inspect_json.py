"""The JSON form of ``gompy inspect``: indented, but with one table entry a line, so that long tables stay readable.

(json's own indenting encoder would also take seconds for 100,000 entries; this one takes the compact encoder a line.)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_encode: Callable[[Any], str] = json.JSONEncoder().encode


def dumps(value: Any, indent: str = "") -> str:
    """Like json.dumps with an indent; values that contain no list of dictionaries stand on one line."""
    deeper = indent + "  "
    if isinstance(value, list) and value and isinstance(value[0], dict):
        if all(isinstance(v, dict) and not any(isinstance(x, (list, dict)) for x in v.values()) for v in value[:1]):
            items = map(_encode, value)
        else:
            items = (dumps(item, deeper) for item in value)  # type: ignore[assignment]
        return "[\n" + ",\n".join(deeper + item for item in items) + f"\n{indent}]"
    if isinstance(value, dict) and any(isinstance(v, (list, dict)) for v in value.values()):
        items = (f"{deeper}{_encode(key)}: {dumps(item, deeper)}" for key, item in value.items())  # type: ignore[assignment]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return _encode(value)
