"""Descriptors that the compiled parts make: none is a standard one, none is inherited."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT / "gompy" / "native"
MAKERS = (
    "open(?:at)?(?:64|2)?|creat|f(?:re)?open(?:64)?|fdopendir|opendir|popen|pipe2?|memfd_create|dup[23]?|fcntl|socket(?:pair)?"
    "|accept4?|eventfd|timerfd_create|signalfd|epoll_create1?|inotify_init1?|userfaultfd|tmpfile|mko?stemp|shm_open"
    "|posix_openpt|SYS_(?:pidfd_open|memfd_create|openat)"
)


def test_descriptors_are_made_in_one_place() -> None:
    """Everything goes through gompy/native/descriptors.h."""
    pattern = re.compile(rf"(?<![\w.])(?:{MAKERS})\b ?\(|cimport.*\b(?:{MAKERS})\b")
    sources = [
        path
        for kind in ("pyx", "pxi", "pxd", "h", "c")
        for path in (ROOT / "gompy").rglob(f"*.{kind}")
        if "_native" not in path.parts and path.parent != SHARED
    ]
    assert len(sources) > 50
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(re.sub(r"/\*.*?\*/|/\*.*|#(?! *(include|define)).*|\".*?\"", "", line))
    ]
    assert not wrong
