"""Debug files beside a stripped program: found by its .gnu_debuglink or its build id."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gompy.objects import debug_files

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"
LARGEST = 1 << 24


def strip(folder: Path, name: str, link: str = "") -> bytes:
    """Put a program's DWARF into a file beside it, with a link to it if that has a name; what is in that file."""
    debug = folder / (link or "apart")
    subprocess.run(["objcopy", "--only-keep-debug", name, debug], check=True, cwd=folder)
    subprocess.run(["strip", name], check=True, cwd=folder)
    if link:
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", name], check=True, cwd=folder)
    return debug.read_bytes()


@pytest.fixture(name="program")
def compiled(tmp_path: Path) -> Path:
    """A program of a few lines."""
    (tmp_path / "small.c").write_text("int main (void) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-Wl,--build-id=sha1", "small.c", "-o", "small"], check=True, cwd=tmp_path)
    return tmp_path / "small"


def test_a_debug_link(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside it, in .debug, in the system's folder; one of another build is none."""
    whole = program.read_bytes()
    assert debug_files.with_dwarf(whole, str(program), LARGEST) == whole
    wanted = strip(program.parent, "small", "small.debug")
    data = program.read_bytes()
    beside, system = program.parent / "small.debug", program.parent / "system"
    monkeypatch.setattr(debug_files, "DEBUG_FOLDER", system)
    for place in (beside, program.parent / ".debug" / "small.debug", system / str(beside).lstrip("/")):
        place.parent.mkdir(parents=True, exist_ok=True)
        beside.rename(place)
        assert debug_files.with_dwarf(data, str(program), LARGEST) == wanted
        assert debug_files.with_dwarf(data, str(program), 100) == data
        place.rename(beside)
    beside.write_bytes(wanted + b"x")
    assert debug_files.with_dwarf(data, str(program), LARGEST) == data


def test_a_build_id(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = strip(program.parent, "small")
    data = program.read_bytes()
    monkeypatch.setattr(debug_files, "DEBUG_FOLDER", program.parent / "system")
    notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
    digits = notes.partition("Build ID: ")[2].split()[0]
    place = program.parent / "system" / ".build-id" / digits[:2] / f"{digits[2:]}.debug"
    place.parent.mkdir(parents=True)
    assert debug_files.with_dwarf(data, str(program), LARGEST) == data
    place.write_bytes(wanted)
    assert debug_files.with_dwarf(data, str(program), LARGEST) == wanted
    shutil.copy("/bin/true", place)
    assert debug_files.with_dwarf(data, str(program), LARGEST) == data


def test_a_stripped_program_has_its_names(tmp_path: Path) -> None:
    """gompy run --check reads the file: it said "memory", and "?" for each line."""
    lines = "int a[100];\nint\nmain (void)\n{\n#pragma omp target enter data map(to: a[0:50])\n}\n"
    (tmp_path / "prog.c").write_text(lines)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path)
    strip(tmp_path, "prog", "prog.debug")
    command = [BIN / "gompy", "run", "--device", "intelmic", "--any", "--check", "./prog"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert "prog.c:5: error: a (200 bytes) is still mapped to device 0 when the program ends" in done.stderr
