"""Between the compiled plugin and the user's class: finding the class, checking what its methods answer, messages.

plugin.pyx turns C's arguments into Python's and calls these functions with the interpreter lock held.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from gompy.plugins.python.device import OPENMP, Device, Image, Table

VARIABLE = "GOMPY_PYTHON_DEVICE"
FORM = "module:Class or path/to/file.py:Class"
WORD = 1 << 64
KNOWN_CAPABILITIES = 1 | 2 | OPENMP


class RefusedError(Exception):
    """The class can't be used; the text is the message."""


class AnswerError(Exception):
    """A method answered something that it must not."""


def text_of(error: BaseException) -> str:
    """An exception in one line, as the last line of a traceback has it."""
    if isinstance(error, RefusedError):
        return str(error)
    kind = type(error).__name__
    words = " ".join(str(error).split())
    return f"{kind}: {words}" if words else kind


def failure(device: Device, method: str, error: BaseException) -> str:
    """The message for a method that failed; with GOMP_DEBUG=1 the traceback is printed before it."""
    show(error)
    return f"{type(device).__name__}.{method}: {text_of(error)}"


def show(error: BaseException) -> None:
    """Print a traceback if the user asked for debug output."""
    if os.environ.get("GOMP_DEBUG", "0").strip() not in ("", "0") and sys.stderr is not None:
        import traceback

        traceback.print_exception(error)


def load_file(path: str) -> ModuleType:
    """Import a module by its file's path; afterwards it is importable by name, also in a process started from here."""
    name = os.path.splitext(os.path.basename(path))[0]
    path = os.path.abspath(path)
    known = sys.modules.get(name)
    if known is not None:
        if os.path.realpath(getattr(known, "__file__", None) or "") == os.path.realpath(path):
            return known
        raise RefusedError(f"{path}: a module {name} is in use already; rename the file")
    if not os.path.isfile(path):
        raise RefusedError(f"{VARIABLE}: there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RefusedError(f"{path} is not a file of Python source")
    if os.path.dirname(path) not in sys.path:
        sys.path.append(os.path.dirname(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def find_class(value: str) -> type[Device]:
    """The class that GOMPY_PYTHON_DEVICE names.  Raises RefusedError."""
    where, colon, name = value.rpartition(":")
    if not (colon and where and name.isidentifier()):
        said = f"{VARIABLE}={value} is not of the form" if value else f"{VARIABLE} is not set; it names the device:"
        raise RefusedError(f"{said} {FORM}")
    is_file = where.endswith(".py") or os.sep in where
    try:
        module = load_file(where) if is_file else importlib.import_module(where)
    except RefusedError:
        raise
    except BaseException as error:
        show(error)
        if isinstance(error, ModuleNotFoundError) and error.name == where.partition(".")[0]:
            raise RefusedError(
                f"{VARIABLE}: there is no module {where} (put its folder into PYTHONPATH, or name the file)"
            ) from None
        raise RefusedError(f"cannot import {where}: {text_of(error)}") from None
    found = getattr(module, name, None)
    if found is None:
        raise RefusedError(f"{where} has no class {name}")
    if not (isinstance(found, type) and issubclass(found, Device)):
        raise RefusedError(f"{value} is not a class derived from gompy.plugins.python.Device")
    lacking = sorted(getattr(found, "__abstractmethods__", ()))
    if lacking:
        raise RefusedError(f"{value} does not define {', '.join(lacking)}")
    return found


def check_attributes(device: Device) -> None:
    """Refuse attributes that the runtime could not use."""
    kind = type(device).__name__
    if not isinstance(device.name, str) or not device.name or "\0" in device.name:
        raise RefusedError(f"{kind}.name is not a word: {device.name!r}")
    for attribute, limit in (("type", 255), ("num_devices", 1024), ("capabilities", KNOWN_CAPABILITIES)):
        value = getattr(device, attribute)
        if not isinstance(value, int) or not 0 <= value <= limit:
            raise RefusedError(f"{kind}.{attribute} is not a number from 0 to {limit}: {value!r}")
    if not device.capabilities & OPENMP:
        raise RefusedError(f"{kind}.capabilities is without OPENMP (4), the only interface that it can have")


def search_path() -> None:
    """Let the user's modules be found: PYTHONPATH before everything, the current folder after it."""
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:0] = [entry for entry in given if entry not in sys.path]
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)


def open_device(own_interpreter: bool) -> Device:
    """Make the object of the user's class.  Raises RefusedError."""
    if own_interpreter:
        search_path()
    value = os.environ.get(VARIABLE, "")
    kind = find_class(value)
    try:
        device = kind()
        check_attributes(device)
    except RefusedError:
        raise
    except BaseException as error:
        show(error)
        raise RefusedError(f"{kind.__name__}: {text_of(error)}") from None
    return device


def is_word(value: object) -> bool:
    """Whether a value is a device address, or a function's word."""
    return isinstance(value, int) and 0 < value < WORD


def alloc(device: Device, number: int, size: int) -> int:
    """Device.alloc, its answer checked."""
    address = device.alloc(number, size)
    if not is_word(address):
        raise AnswerError(f"it returned {address!r}, which is not a device address")
    return address


def load_image(device: Device, number: int, image: Image) -> list[tuple[int, int]]:
    """Device.load_image; returns the pairs of the plugin interface: start and end."""
    answer: Sequence[object] = device.load_image(number, image)
    if not isinstance(answer, tuple) or len(answer) not in (2, 3):
        raise AnswerError(f"it returned {answer!r:.80}, which is not a Table (functions, variables)")
    table = Table(*answer)
    pairs: list[tuple[int, int]] = []
    for word in table.functions:
        if not is_word(word):
            raise AnswerError(f"{word!r} is not a function's word")
        pairs.append((word, word + 1))
    for address, size in table.variables:
        if not is_word(address) or not isinstance(size, int) or not 0 <= size < WORD - address:
            raise AnswerError(f"{address!r}, {size!r} is not a variable's address and size")
        pairs.append((address, address + size))
    if table.device_number is not None:
        if not is_word(table.device_number):
            raise AnswerError(f"{table.device_number!r} is not a variable's address")
        pairs.append((table.device_number, table.device_number + 4))
    return pairs


def at_exit() -> None:
    """The end of an interpreter that the plugin started: what Python does before it takes itself apart."""
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
