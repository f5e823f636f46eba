"""Host LTO, handed on to the compiler's own lto-wrapper.  docs/lto.md says what is handed on and what is mended."""

from __future__ import annotations

import os

from mkoffload.intelmic import find_stock_wrapper
from mkoffload.process import Child, Temps, ToolError, child_failed, echo


def stock_wrapper() -> str:
    """The compiler's own lto-wrapper.  ToolError if it is nowhere."""
    found = find_stock_wrapper()
    if found is None:
        raise ToolError(f"cannot find GCC's own lto-wrapper in {os.environ.get('COMPILER_PATH', '(COMPILER_PATH unset)')}")
    return found


class HostLto:
    """One link-time optimisation of the host side."""

    def __init__(
        self, gcc: str, arguments: list[str], objects: list[str], save_temps: bool, verbose: bool, temps: Temps
    ) -> None:
        self.gcc = gcc
        self.arguments = arguments
        self.objects = objects
        self.save_temps = save_temps
        self.verbose = verbose
        self.temps = temps

    def environment(self) -> dict[str, str]:
        """The host link's environment without the offload part."""
        env = {k: v for k, v in os.environ.items() if k not in ("OFFLOAD_TARGET_NAMES", "OFFLOAD_TARGET_DEFAULT")}
        env["GOMPY_AS"] = "keep"
        return env

    def build(self) -> list[str]:
        """Run it; names of the objects for the linker."""
        command = [stock_wrapper(), *self.arguments, *self.objects]
        echo(command, self.verbose)
        status, output, _ = Child(command, self.environment(), capture_stdout=True).wait()
        if status:
            raise child_failed(command[0], status)
        return output.decode("utf-8", "surrogateescape").split("\n")[:-1]
