"""A program with dg- directives, and the language that its name says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {
    **dict.fromkeys((".c",), "c"),
    **dict.fromkeys((".C", ".cc", ".cpp", ".cxx"), "c++"),
    **dict.fromkeys((".f", ".F", ".f90", ".F90", ".f95", ".F95", ".f03", ".F03", ".f08", ".F08"), "fortran"),
}
"""Suffix to language, of the suffixes that gcc's driver knows for it."""


@dataclass(frozen=True)
class TestFile:
    """A test of one driver: name is its path as libgomp.sum has it; language is ``c``, ``c++`` or ``fortran``."""

    directory: str
    name: str
    path: Path
    language: str
    text: str

    @property
    def openacc(self) -> bool:
        """Whether it is one of the tests in GCC's directories for OpenACC."""
        return ".oacc-" in self.directory
