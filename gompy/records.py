"""`dataclass`, `field` and `replace` without the module `dataclasses`, which takes 7 ms, and one for two classes.

For what starts anew for each program that it runs, or image that it makes.  Type checkers see the standard ones.  Only
what those need: slots, defaults, default factories; frozen classes compare and hash by value, others by identity.
"""

from __future__ import annotations

from _operator import attrgetter  # the module operator has more, and takes longer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Record = TypeVar("Record")

MISSING = object()


class Factory:
    """A field whose default is made anew for each object."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], Any]) -> Any:
    """A field with a default factory."""
    return Factory(default_factory)


def replace(record: Record, **changes: Any) -> Record:
    """A copy with other values of some fields."""
    for name in record.__slots__:  # type: ignore[attr-defined]
        if name not in changes:
            changes[name] = getattr(record, name)
    return record.__class__(**changes)


def shown(record: Any) -> str:
    """`Name(field=value, …)`."""
    values = ", ".join(f"{name}={getattr(record, name)!r}" for name in record.__slots__)
    return f"{type(record).__name__}({values})"


def dataclass(*, slots: bool = True, frozen: bool = False, eq: bool = True) -> Callable[[type], type]:
    """A decorator that gives a class its slots and `__init__`; with `frozen`, `__eq__` and `__hash__` as well."""

    def decorate(cls: type) -> type:
        body = dict(cls.__dict__)
        names = list(body.get("__annotations__", ()))
        defaults = {name: body.pop(name) for name in names if name in body}
        given, lines, scope = [], [], {}
        for name in names:
            default = defaults.get(name, MISSING)
            if isinstance(default, Factory):
                scope[f"_{name}"] = default.make
                given.append(f"{name}=None")
                lines.append(f"self.{name} = _{name}() if {name} is None else {name}")
                continue
            if default is not MISSING:
                scope[f"_{name}"] = default
            given.append(name if default is MISSING else f"{name}=_{name}")
            lines.append(f"self.{name} = {name}")
        exec(f"def __init__(self, {', '.join(given)}):\n " + "\n ".join(lines or ["pass"]), scope)
        body["__init__"] = scope["__init__"]
        body.setdefault("__repr__", shown)
        if frozen:
            key = attrgetter(*names or ["__class__"])
            body["__eq__"] = lambda self, other: other.__class__ is self.__class__ and key(self) == key(other)
            body["__hash__"] = lambda self: hash(key(self))
        body.pop("__dict__", None)
        body.pop("__weakref__", None)
        body["__slots__"] = tuple(names)
        body["__match_args__"] = tuple(names)
        return type(cls)(cls.__name__, cls.__bases__, body)

    return decorate
