"""The registry of offload targets: one record each, from which all that differs by target is derived.

Names and aliases as in -foffload=; device numbers are include/gomp-constants.h's GOMP_DEVICE_*.  docs/plugins.md has
what else a new target needs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Target:
    """One target.

    ``device``: what GCC calls its devices (GOMP_DEVICE_<device>).  ``alias``: another name in -foffload=, or "".
    ``plugin``: libgomp-plugin-<plugin>.so.1 runs its images.  ``maker``: the module that makes them in mkoffload's
    place, or "" where there is GCC's alone.  ``emulated``: gcc's driver does not know it.  ``extension``: how files
    with its code are called.  ``packaged``: distributions have a package of its compiler.
    """

    __slots__ = ("alias", "device", "emulated", "extension", "maker", "name", "packaged", "plugin")

    def __init__(
        self,
        name: str,
        device: str,
        plugin: str,
        extension: str,
        *,
        alias: str = "",
        maker: str = "",
        emulated: bool = False,
        packaged: bool = False,
    ) -> None:
        self.name = name
        self.device = device
        self.plugin = plugin
        self.extension = extension
        self.alias = alias
        self.maker = maker
        self.emulated = emulated
        self.packaged = packaged

    @property
    def type(self) -> int:
        """GCC's number."""
        from gompy.abi import gomp

        number: int = getattr(gomp, f"GOMP_DEVICE_{self.device}")
        return number

    @property
    def tool(self) -> str:
        """Its mkoffload, below a folder of compiler parts."""
        return f"accel/{self.name}/mkoffload"


INTELMIC: Final = Target(
    "x86_64-intelmicemul-linux-gnu",
    "INTEL_MIC",
    "intelmic",
    "so",
    alias="intelmic",
    maker="mkoffload.intelmic",
    emulated=True,
)
NVPTX: Final = Target("nvptx-none", "NVIDIA_PTX", "nvptx", "ptx", maker="mkoffload.nvptx", packaged=True)
GCN: Final = Target("amdgcn-amdhsa", "GCN", "gcn", "hsaco", packaged=True)

TARGETS: Final = (INTELMIC, NVPTX, GCN)
"""The first is built for where a command line chooses none, and its plugin is loaded where a program has no image."""


def find(name: str) -> Target | None:
    """The target of that name or alias."""
    return next((target for target in TARGETS if name and name in (target.name, target.alias)), None)


def of_type(number: int) -> Target | None:
    """The target of the devices of that number."""
    return next((target for target in TARGETS if target.type == number), None)
