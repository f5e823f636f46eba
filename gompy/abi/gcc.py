"""What differs between GCC's releases as far as gompy has to know it: one row for each, and no other place.

Sources, each release's own: include/gomp-constants.h (GOMP_VERSION), lto-streamer.h (LTO_major_version,
LTO_minor_version), gcc.cc and config/nvptx/mkoffload.cc (options), config/nvptx/nvptx.cc (PTX), libgcc/offloadstuff.c.
docs/compilers.md tells of them at length.
"""

from __future__ import annotations


class Release:
    """One major release.

    ``gomp_version``: of the objects that it registers (1: a bare image; 2: with the mask of ``omp requires`` in front;
    3: with indirect functions as well).  ``lto``: (major, minor) of its streams.  ``supported``: gompy compiles, links
    and runs its objects.  ``folded``: calls that its lto1 answers for the host, unless told not to; the first of them
    also where Fortran calls it.  ``thunk_bit``: of a function node's flags in ``.symbol_nodes`` (lto-cgraph.cc,
    lto_output_node; 12 and 13 have 33 one-bit flags and the two bits of the frequency before it).
    ``host_libraries``: those that its driver names for the device as ``-l_GCC_<name>``.  ``ptx``: ``.version`` and
    ``.target`` that its nvptx compiler writes by default.
    """

    __slots__ = ("folded", "gomp_version", "host_libraries", "lto", "major", "ptx", "supported", "thunk_bit")

    def __init__(
        self,
        major: int,
        gomp_version: int,
        lto: tuple[int, int],
        supported: bool,
        *,
        folded: tuple[str, ...] = (),
        host_libraries: tuple[str, ...] = (),
        ptx: tuple[str, str] = ("6.0", "sm_30"),
        thunk_bit: int = 35,
    ) -> None:
        self.major = major
        self.gomp_version = gomp_version
        self.lto = lto
        self.supported = supported
        self.folded = folded
        self.host_libraries = host_libraries
        self.ptx = ptx
        self.thunk_bit = thunk_bit

    @property
    def name(self) -> str:
        """For messages."""
        return f"gcc {self.major}"

    @property
    def requires(self) -> bool:
        """Whether images are registered with a mask, and accelerator compilers write one (GOMP_VERSION 2)."""
        return self.gomp_version >= 2

    @property
    def indirect(self) -> bool:
        """Whether there is a table of indirect functions (GOMP_VERSION_SUPPORTS_INDIRECT_FUNCS)."""
        return self.gomp_version >= 3


_CALLS_15 = ("omp_is_initial_device",)
_CALLS_16 = (*_CALLS_15, "omp_get_initial_device", "omp_get_num_devices")
_STDCXX = ("gfortran", "m", "stdc++")
RELEASES = (
    Release(12, 1, (12, 0), True),
    Release(13, 2, (13, 1), True),
    Release(14, 3, (14, 0), True, host_libraries=("gfortran", "m")),
    Release(15, 3, (15, 1), True, folded=_CALLS_15, host_libraries=_STDCXX, ptx=("7.3", "sm_52"), thunk_bit=34),
    Release(16, 3, (16, 0), True, folded=_CALLS_16, host_libraries=_STDCXX, ptx=("7.3", "sm_52"), thunk_bit=37),
)

HOST_LIBRARY = "-l_GCC_"
"""Beginning of an offload option that names a library of the device's by its name on the host (GCC 14: gcc.cc)."""
REQUIRES_FILE = "GCC_OFFLOAD_OMP_REQUIRES_FILE"
"""Variable with the name of the file into which an accelerator compiler of GOMP_VERSION 2 writes the mask of ``omp
requires``, four bytes (lto-cgraph.cc, input_offload_tables); without it the compiler fails."""
SUPPORTED = tuple(release.major for release in RELEASES if release.supported)
NAMED = f"gcc {' or '.join(map(str, SUPPORTED))}" if len(SUPPORTED) < 3 else f"gcc {SUPPORTED[0]} to {SUPPORTED[-1]}"
"""For messages."""


def release(major: int) -> Release:
    """That release; of one that the table does not have, the nearest older one, else the first."""
    return next((r for r in reversed(RELEASES) if r.major <= major), RELEASES[0])


def major_of(version: str) -> int:
    """12 of 12.2.0; 0 of the empty string."""
    return int(version.partition(".")[0] or 0)


def nearest(major: int) -> int:
    """The supported release to use instead of one that is not supported; the distribution's own where none is there."""
    return SUPPORTED[-1] if newer(major) else SUPPORTED[0]


def newer(major: int) -> bool:
    """Whether a release is younger than all that gompy works with."""
    return major > SUPPORTED[-1]


def offload_package(target: str, major: int) -> str:
    """Debian's package of a device compiler, such as ``nvptx-none``'s."""
    return f"gcc-{major}-offload-{target.partition('-')[0]}"
