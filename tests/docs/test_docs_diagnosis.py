"""docs/diagnosis.md, docs/debugging.md: each command is run, in a page's order, and must print what the page shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from docs_pages import alike, sections
from driver_tools import ROOT, Tools, has_all, needs

PAGE = ROOT / "docs" / "diagnosis.md"
PAGES = [PAGE, ROOT / "docs" / "debugging.md"]
pytestmark = [has_all, needs("gdb", "gcc")]
FOLDER = "~/gompy"
BUILT = ": note: built, once, a plugin for gcc "
"""What the first use of -foffload-check says with a gcc that is not the one of `make`."""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_the_page_shows(page: Path, bin_folder: Path, tmp_path: Path) -> None:
    """Sections follow each other in one folder, as a reader types them."""
    tools = Tools(bin_folder, tmp_path)
    tools.env |= {"LC_ALL": "C", "OMP_NUM_THREADS": "2"}
    for folder in ("fruit", "diagnosis"):
        for path in (ROOT / "examples" / folder).glob("*"):
            shutil.copy(path, tools.work)
    for title, commands in sections(page).items():
        for command, shown in commands:
            script = f"exec 2>&1; {command.replace(FOLDER, str(ROOT))}"
            printed = [line for line in tools.run("bash", "-c", script).stdout.splitlines() if BUILT not in line]
            assert alike(shown, printed), f"{title}:\n$ {command}\n" + "\n".join(printed)


def test_every_kind_of_finding_is_on_the_page() -> None:
    from gompy.cli.findings import KINDS

    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(KINDS) <= set(rows)
