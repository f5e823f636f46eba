"""What mkdocs does not know of these pages: those that lie beside docs/, and what a link to any other file becomes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages beside docs/, as if they lay in it, and the one that is made of docstrings."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(Path(__file__).parent))
    import reference

    files.append(File.generated(config, reference.PAGE, content=reference.page()))
    for name in BESIDE:
        if (ROOT / name).exists():
            file = File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8"))
            file.dest_uri = name.replace(".md", ".html")  # mkdocs takes a README for the index
            files.append(file)
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Links out of docs/ lead to the pages that were added, else they are plain text."""
    beside = page.file.src_uri in BESIDE

    def mended(found: re.Match[str]) -> str:
        picture, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        if beside:
            target = target.removeprefix("docs/") if target.startswith("docs/") else target
            return found[0] if target in BESIDE else f"{picture}[{words}]({target}{anchor})"
        place = (ROOT / "docs" / page.file.src_uri).parent.joinpath(target).resolve()
        if place.is_relative_to(ROOT / "docs") and not place.is_relative_to(ROOT / "docs" / "programs"):
            return found[0]
        if place.parent == ROOT and place.name in BESIDE:
            up = "../" * page.file.src_uri.count("/")
            return f"[{words}]({up}{place.name}{anchor})"
        return words

    return LINK.sub(mended, text)
