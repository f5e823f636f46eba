"""What is known of GCC's releases, in one table: which gompy works with, and how the others are told apart.

Sources: GCC's include/gomp-constants.h (GOMP_VERSION), lto-streamer.h (LTO_major_version, LTO_minor_version).
"""

from __future__ import annotations


class Release:
    """One major release: ``gomp_version`` of its objects, ``lto`` (major, minor) of its streams.

    ``supported``: gompy compiles, links and runs its objects.
    """

    __slots__ = ("gomp_version", "lto", "major", "supported")

    def __init__(self, major: int, gomp_version: int, lto: tuple[int, int], supported: bool) -> None:
        self.major = major
        self.gomp_version = gomp_version
        self.lto = lto
        self.supported = supported


RELEASES = (
    Release(12, 1, (12, 0), True),
    Release(13, 2, (13, 1), False),
    Release(14, 3, (14, 0), False),
    Release(15, 3, (15, 1), False),
    Release(16, 3, (16, 0), False),
)

SUPPORTED = tuple(release.major for release in RELEASES if release.supported)
"""In the order in which ``gcc-<n>`` is looked for."""
NAMED = f"gcc {' or '.join(map(str, SUPPORTED))}"
"""For messages."""


def major_of(version: str) -> int:
    """12 of 12.2.0; 0 of the empty string."""
    return int(version.partition(".")[0] or 0)


def made_by(stream_version: int) -> str:
    """Why objects with streams of that major version cannot be linked, or ""; theirs is their release's number."""
    release = next((r for r in RELEASES if r.lto[0] == stream_version), None)
    if release is not None and release.supported:
        return ""
    return f"compiled by gcc {release.major if release is not None else stream_version}"


def newer(major: int) -> bool:
    """Whether a release is younger than all that gompy works with."""
    return major > SUPPORTED[-1]


def offload_package(target: str, major: int) -> str:
    """Debian's package of a device compiler, such as ``nvptx-none``'s."""
    return f"gcc-{major}-offload-{target.partition('-')[0]}"
