"""The frame in which our programs run: standard streams, signals, temporary files, and how it is told what went wrong.

``toolmain`` is the whole of it, for the link tools: lto-wrapper and the mkoffloads.  ``command`` is what ``gompy`` has
of it.  The compiler drivers become gcc, which has a frame of its own.
"""

from __future__ import annotations

import os
import sys

from gompy import UserError, last_words, out_of_memory
from gompy.tools.process import (
    BEGUN,
    Killed,
    Temps,
    catch_signals,
    die_of,
    discard,
    hold_signals,
    is_temporary,
    release_signals,
)
from gompy.tools.response import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


class Messages:
    """Standard error that takes everything: that a message cannot be written is nothing to fail for.

    It has what the link tools need; a stream of io's would cost each link half a millisecond.
    """

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.said = False  # anything

    def write(self, text: str) -> int:
        """Write at once; bytes of names that are no text as they are."""
        self.said = True
        try:
            data = text.encode(self.encoding, "surrogateescape")
        except UnicodeError:
            data = text.encode(self.encoding, "backslashreplace")
        try:
            while data:
                data = data[os.write(2, data) :]
        except OSError:
            pass
        return len(text)

    def flush(self) -> None:
        """There is nothing that waits."""


def open_closed() -> None:
    """Have 0, 1 and 2 open, whatever was closed."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from gompy.objects import standard

        standard.open_closed()


def one_line(text: str) -> str:
    """The text without line breaks and other control characters, which a file name may have."""
    return "".join(char if char.isprintable() or "\udc80" <= char <= "\udcff" else repr(char)[1:-1] for char in text)


def is_told(error: Exception) -> bool:
    """Whether an error is the user's matter or the machine's; else it is a bug of ours."""
    return isinstance(error, (UserError, OSError)) or out_of_memory(error)


def described(error: Exception) -> str:
    """What went wrong, in one line."""
    if out_of_memory(error):
        return "out of memory"
    if isinstance(error, OSError):
        return one_line(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    return one_line(str(error))


def internal(program: str) -> None:
    """Tell of a bug of ours: the exception that is being handled."""
    from gompy.objects import ice

    kind, error, trace = sys.exc_info()
    assert kind is not None and error is not None
    ice.report(program, kind, error, trace)


def command(program: str, work: Callable[[list[str]], int]) -> int:
    """Run ``work`` with the command line; its exit status.

    2 where standard output cannot be written, 1 for errors that are told here.  A signal ends the process, once what it
    interrupts has cleaned up.
    """
    short = f"{program}: error: out of memory\n".encode()
    try:
        status = _attempt(program, work)
        if status:
            _give_up_output()
    except Killed as signal:
        die_of(signal.number)
    except Exception as error:
        if not last_words(error, short):
            raise
        os._exit(1)
    return status


def _attempt(program: str, work: Callable[[list[str]], int]) -> int:
    from gompy.tools.streams import OutputError, set_streams

    open_closed()
    set_streams()
    try:
        catch_signals()
        try:
            status = work(sys.argv[1:])
        except SystemExit as stop:  # argparse's
            status = stop.code if isinstance(stop.code, int) else 0
        sys.stdout.flush()  # here, where a reader that has gone is met quietly
        return status
    except OutputError as error:
        sys.stderr.write(f"{program}: error: {error}\n")
        return 2
    except BrokenPipeError:
        return 1
    except Exception as error:
        if is_told(error):
            sys.stderr.write(f"{program}: error: {described(error)}\n")
        else:
            internal(program)
    return 1


def _give_up_output() -> None:
    """Forget what standard output has not taken; the interpreter would try once more at its end, and complain."""
    try:
        sys.stdout.flush()
    except (UserError, OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _discard_the_linkers() -> None:
    """Delete the lists that the linker plugin has made for this run; killed as well, the linker would leave them."""
    lists = [word.partition("=")[2] for word in expand(sys.argv[1:]) if word.startswith("-foffload-objects=")]
    for path in (*lists, *(word[1:] for word in sys.argv[1:] if word.startswith("@"))):
        if is_temporary(path):
            discard(path)


def _take_back_locale() -> None:
    """Delete the LC_CTYPE that Python has set for its children in the C locale (PEP 538): gcc's messages are told in
    the user's locale, whoever starts it.
    """
    value = os.environ.get("LC_CTYPE")
    if value not in ("C.UTF-8", "C.utf8", "UTF-8"):
        return
    try:
        with open("/proc/self/environ", "rb") as file:
            given = b"\0" + file.read()
    except OSError:
        return
    if f"\0LC_CTYPE={value}\0".encode() not in given:
        del os.environ["LC_CTYPE"]


def toolmain(program: str, module: str, function: str) -> NoReturn:
    """Run a function with the command line, ``@file`` words expanded, and the run's temporary files; end the process.

    Its module is loaded once signals are caught.  Errors are told as gcc's programs do, with exit status 1.  A signal
    ends the run as one that nobody has caught, once its children have ended and its files are gone.
    """
    short = f"{program}: fatal error: out of memory\ncompilation terminated.\n".encode()
    open_closed()
    sys.stderr = Messages(sys.stderr.encoding)
    _take_back_locale()
    temps = Temps()
    killed = 0
    status = 1
    try:
        words = sys.argv[1:]
        blocked = bool(words) and words[0].startswith(BEGUN)
        if blocked:
            from gompy.tools.begun import Begun

            begun = Begun(words.pop(0))
            if begun.whole:
                temps.adopt(begun)
        catch_signals()
        if temps.begun is not None:
            temps.begun.dismiss_guard()
        if blocked:
            release_signals()
        try:
            work = getattr(__import__(module, fromlist=[function]), function)
            work(expand(words), temps)
            status = 0
        except Exception as error:
            if is_told(error):
                sys.stderr.write(f"{program}: fatal error: {described(error)}\ncompilation terminated.\n")
            else:
                internal(program)
        hold_signals()
    except Killed as signal:
        killed = signal.number
    except Exception as error:
        if not last_words(error, short):
            raise
    temps.remove()
    if killed:
        _discard_the_linkers()
        die_of(killed)
    os._exit(status)
