"""Whole programs on libgompy with a plugin of the tests' own: plain gcc compiles them, LD_PRELOAD puts libgompy in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "gompy" / "_native" / "lib"
LIBGOMPY = NATIVE / "libgompy.so.1"
PLUGIN_SOURCE = Path(__file__).with_name("runtime_plugin.c")
GFORTRAN = shutil.which("gfortran")
REGISTERING = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct pair { uintptr_t start, end; };
struct image { struct pair *pairs; int count; };
extern void GOMP_offload_register_ver (unsigned, const void *, int, const void *);
extern void GOMP_offload_unregister_ver (unsigned, const void *, int, const void *);
extern void GOMP_target_ext (int, void (*) (void *), size_t, void **, size_t *, unsigned short *, unsigned, void **,
                             void **);
"""
"""What a program declares that registers an image by its own hand."""


@dataclass
class Run:
    """What a program did."""

    rc: int
    out: str
    err: str
    log: list[str] = field(default_factory=list)

    def calls(self, name: str) -> int:
        """How often the plugin was asked for something."""
        return sum(line.split()[0] == name for line in self.log)

    @property
    def stats(self) -> str:
        """The line of GOMPY_STATS."""
        found = re.findall(r"^libgompy: (regions: .*)$", self.err, re.MULTILINE)
        return found[-1] if found else ""


def compile_program(folder: Path, source: str, *options: str, language: str = "c", name: str = "program") -> Path:
    """Compile a program with the stock compiler, without offloading."""
    suffix, compiler = {"c": (".c", "gcc"), "c++": (".cc", "g++"), "fortran": (".f90", "gfortran")}[language]
    file = folder / (name + suffix)
    file.write_text(source)
    program = folder / name
    subprocess.run(
        [compiler, "-O1", "-g", "-fopenmp", "-foffload=disable", "-w", str(file), "-o", str(program), *options],
        check=True,
        cwd=folder,
    )
    return program


def build_plugin(folder: Path, *options: str, name: str = "fake") -> None:
    """Compile the tests' plugin; programs find it through LD_LIBRARY_PATH."""
    output = folder / f"libgomp-plugin-{name}.so.1"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-pthread", *options, str(PLUGIN_SOURCE), "-o", str(output)], check=True
    )


def run(folder: Path, program: Path, plugins: str | None = "fake", **environment: str) -> Run:
    """Run a program with libgompy in front of libgomp; plugins: None for the default ones."""
    log = folder / "plugin.log"
    log.unlink(missing_ok=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP", "OFFLOAD_", "LD_"))}
    env = clean | {
        "LD_PRELOAD": str(LIBGOMPY),
        "LD_LIBRARY_PATH": str(folder),
        "GOMPY_STATS": "1",
        "FAKE_LOG": str(log),
        "OMP_NUM_THREADS": "2",
    }
    if plugins is not None:
        env["GOMPY_PLUGINS"] = plugins
    done = subprocess.run([str(program)], env=env | environment, capture_output=True, text=True, timeout=60, cwd=folder)
    lines = log.read_text().splitlines() if log.exists() else []
    return Run(done.returncode, done.stdout, done.stderr, lines)
