"""The systems of the matrix: which releases, and which compilers of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OLDEST = 12
"""The release whose tests run for both devices, with gcc's own runtime too; those of others for the emulated MIC."""


@dataclass(frozen=True)
class Compilers:
    """A line of the matrix: the compilers beneath the wrappers.

    ``packages`` are installed for them; ``environment`` is what chooses them, nothing where gompcc itself does.
    ``release``: whose tests of GCC's are run; their package is installed before the samples.
    """

    name: str
    release: int
    packages: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The package that has GCC's tests."""
        return f"gcc-{self.release}-source"


def of_release(release: int) -> Compilers:
    """The compilers of a release, by their numbers."""
    names = [f"{name}-{release}" for name in ("gcc", "g++", "gfortran")]
    return Compilers(
        f"gcc-{release}",
        release,
        (*names, f"gcc-{release}-offload-nvptx"),
        dict(zip(("GOMPY_CC", "GOMPY_CXX", "GOMPY_FC"), names, strict=True)),
    )


OWN = "own"
"""The line of a system on which nothing is chosen: the tree has git and make, and gompcc takes the release's gcc."""


@dataclass(frozen=True)
class System:
    """A release: the name that debootstrap and the mirrors have for it, and its compilers."""

    title: str
    suite: str
    compilers: tuple[Compilers, ...]


SYSTEMS = (
    System("Debian 13", "trixie", (Compilers(OWN, 14), of_release(12), of_release(13), of_release(14))),
    System("Debian sid", "sid", (of_release(15), of_release(16))),
)
