"""The navigation of the site names pages that are there; where mkdocs is installed, it builds without a complaint."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "docs" / "site" / "mkdocs.yml"


def test_the_navigation_names_pages() -> None:
    pages = re.findall(r"[\w/-]+\.md", CONFIG.read_text().partition("\nnav:")[2])
    assert len(pages) > 20
    assert [page for page in pages if not (ROOT / "docs" / page).exists() and not (ROOT / page).exists()] == []


@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="not installed: mkdocs-material")
def test_the_site(tmp_path: Path) -> None:
    words = ["build", "--quiet", "--strict", "--config-file", str(CONFIG), "--site-dir", str(tmp_path / "site")]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-m", "mkdocs", *words], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert (tmp_path / "site" / "search" / "search_index.json").exists()
    assert 'href="README.html"' in (tmp_path / "site" / "index.html").read_text()


def test_every_page_is_in_the_navigation() -> None:
    """A reader of the site finds a page there or not at all."""
    named = set(re.findall(r"[\w/-]+\.md", CONFIG.read_text().partition("\nnav:")[2]))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages - named == set()
