"""The navigation of the site names pages that are there; where mkdocs is installed, it builds without a complaint."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "docs" / "site" / "mkdocs.yml"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """docs/site/reference.py."""
    spec = importlib.util.spec_from_file_location("reference", CONFIG.with_name("reference.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_navigation_names_pages(reference: ModuleType) -> None:
    pages = re.findall(r"[\w/-]+\.md", CONFIG.read_text().partition("\nnav:")[2])
    assert len(pages) > 20
    pages.remove(reference.PAGE)
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


def test_reference_has_every_public_class(reference: ModuleType) -> None:
    """With its text and its methods, of each module that the page is to have."""
    page = reference.page()
    for module in [module for modules in reference.PARTS.values() for module in modules]:
        tree = ast.parse(reference.source(module).read_text(encoding="utf-8"))
        assert f"### {module}\n" in page
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                assert re.search(rf"^#### class {node.name}\b", page, re.MULTILINE), f"{module}: {node.name}"
    assert "`alloc (self, device: int, size: int) -> int`" in page


def test_reference_shows_types_and_texts(reference: ModuleType) -> None:
    (node,) = ast.parse('def f (a: int, *, b: str = "x") -> bool:\n    """Is ``a``."""\n').body
    assert [*reference.functions([node])] == ["`f (a: int, *, b: str='x') -> bool`\n:   Is `a`.\n"]
