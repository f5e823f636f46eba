"""`gompy run --check`: what a finding can say, from the code, against the reports that tests hold.

Each piece of a message, note or mend that stands fast has to be in reports.txt, or in another test of this room.
"""

from __future__ import annotations

from pathlib import Path

from text_pieces import held, pieces

from gompy.check.mends import mend

HERE = Path(__file__).resolve().parent
ROOM = HERE.parents[1] / "gompy" / "check"
APART = {
    "dwarf.py": "reads the program's variables",
    "findings.py": "the kinds: test_check_reports.py",
    "log.py": "reads the log",
    "names.py": "names of variables",
    "readable.py": "names of functions",
    "report.py": "the form of a report",
    "run.py": "what is said of the run",
}
"""Files of the room that say nothing of a finding."""


def said() -> dict[str, str]:
    """The pieces of all other files."""
    return pieces(path for path in sorted(ROOM.glob("*.py")) if path.name not in APART)


def test_each_text_is_held_by_a_test() -> None:
    known = (HERE / "reports.txt").read_text(encoding="utf-8") + held(sorted(HERE.glob("test_*.py")))
    assert {piece: file for piece, file in said().items() if piece not in known} == {}


def test_the_texts_are_found() -> None:
    """In messages, notes, mends, and what several share."""
    found = said()
    assert len(found) > 100
    assert {"it is put into the queue here, with async", "which is not mapped to device", "begins here"} <= set(found)


def test_mends_that_no_program_needs_yet() -> None:
    """Regions of OpenMP share a queue."""
    assert mend("race-queues", "a", "a.f90", False) == "!$omp taskwait between them, or depend clauses"


def test_the_mend_of_a_class_variable() -> None:
    """No clause takes gfortran's own components."""
    assert mend("unmapped", "self%_data", "a.f90", False) == (
        "copy what the region uses of self to variables, or name arrays of it by associate: "
        "of a polymorphic variable gfortran maps the descriptor alone"
    )
