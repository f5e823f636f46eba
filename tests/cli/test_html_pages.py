"""``gompy inspect --html`` and ``gompy trace summary --html``: one page that loads nothing, and works in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, make_wrappers

from gompy.cli import html_page, main

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="not installed: chromium")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each command, of one program."""
    tools = Tools(make_wrappers(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("work"))
    tools.ok("gompcc", "-g", "-fopenmp", "-c", ROOT / "docs" / "programs" / "hello.c", "-o", "hello.o")
    tools.ok("gompcc", "-fopenmp", "hello.o", "-o", "hello")
    tools.ok("gompy", "run", "--trace", "hello.json", "./hello")
    assert tools.ok("gompy", "inspect", "--html", "trip.html", "hello.o", "hello") == ""
    assert tools.ok("gompy", "trace", "summary", "hello.json", "--html", "trace.html") == ""
    return {name: tools.work / f"{name}.html" for name in ("trip", "trace")}


def dom(page: Path, search: str, profile: Path) -> str:
    """The page as a browser has it after its script ran; the script complains of nothing."""
    words = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    words += ["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom", f"{page.as_uri()}#search={search}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


@has_all
@pytest.mark.parametrize("name", ["trip", "trace"])
def test_a_page_loads_nothing(pages: dict[str, Path], name: str) -> None:
    """No address but the names of XML's spaces, and a rule that forbids any."""
    text = pages[name].read_text()
    assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:link|img|iframe|script src)", text)
    assert "default-src 'none'" in text
    assert text.count("<svg") == 1 and "main._omp_fn.0" in text


@has_all
def test_tables_stand_beside_each_other(pages: dict[str, Path]) -> None:
    """The host's entry and the image's are one row."""
    text = pages["trip"].read_text()
    rows = re.findall(r'<tr data-name="main._omp_fn.0">.*?</tr>', text)
    assert any(row.count("main._omp_fn.0 0x") == 2 for row in rows)


@has_all
@needs_browser
@pytest.mark.parametrize(
    ("name", "search"), [("trip", "main._omp"), ("trace", "device 0"), ("trip", "nothing like it")]
)
def test_search_in_a_browser(pages: dict[str, Path], tmp_path: Path, name: str, search: str) -> None:
    """Rows without the word are hidden, shapes without it fade."""
    text = dom(pages[name], search.replace(" ", "%20"), tmp_path)
    rows = re.findall(r"<tr data-name=[^>]*>.*?</tr>", text, re.S)
    shown = [row for row in rows if ' hidden=""' not in row.partition(">")[0]]
    wanted = [row for row in rows if search in re.sub(r"<[^>]*>", "", row)]
    assert shown == wanted
    assert f'<span id="found">{len(shown)} of {len(rows)} rows</span>' in text
    assert 'class="away"' in text


def test_names_are_no_markup() -> None:
    """Whatever a file is called."""
    text = html_page.page("<b>", [html_page.table("<i>", ["<u>"], [['"><script>']])])
    assert not re.search(r"<(?:b|i|u)>", text) and text.count("<script>") == 1


def test_a_page_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line."""
    source = tmp_path / "trace.json"
    source.write_text("[]")
    assert main.dispatch(["trace", "summary", str(source), "--html", "/nowhere/page.html"]) == 1
    assert capsys.readouterr().err == "gompy trace: error: /nowhere/page.html: No such file or directory\n"
