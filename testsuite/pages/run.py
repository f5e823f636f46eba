#!/usr/bin/env python3
"""``make check-docs``: the site is built and its links hold; in a browser each page is quiet and the search finds.

The browser is Chromium, without a window; where it is not installed, that is said, and the rest is checked.
With it the pictures of docs/ that show pages are taken anew (--pictures).
Exit status: 0 all is right, 1 not.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "docs" / "site" / "mkdocs.yml"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SEARCH = ("mandatory", "errors/mandatory.html")
"""A word, and a page that its search must name."""
LINK = re.compile(r"""(?:href|src)=["']?([^"' >]+)""")
ANCHOR = re.compile(r"""(?:id|name)=["']?([^"' >]+)""")


def build(site: Path) -> str:
    """Build the site; what mkdocs complains about."""
    words = ["-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", str(CONFIG), "--site-dir", str(site)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env)
    return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}" or f"mkdocs: status {done.returncode}"


def dead_links(site: Path) -> list[str]:
    """Links within the site that lead nowhere, also those to a place in a page."""
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    anchors = {path: set(ANCHOR.findall(text)) for path, text in texts.items()}
    found = []
    for path, text in sorted(texts.items()):
        for link in sorted(set(LINK.findall(text))):
            if re.match(r"[a-z]+:|//", link) or path.name == "404.html":
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in anchors and anchor not in anchors[target]):
                found.append(f"{path.relative_to(site)}: {link}")
    return found


class Browser:
    """Chromium without a window, with a profile of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        self.words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        self.words += [f"--user-data-dir={profile}", "--enable-logging=stderr"]

    def page(self, address: str) -> tuple[str, list[str]]:
        """The page after its scripts ran, and what they wrote to the console."""
        words = [*self.words, "--dump-dom", address]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def picture(self, address: str, file: Path, size: str) -> None:
        """A picture of the page."""
        words = [*self.words, f"--window-size={size}", f"--screenshot={file}", address]
        subprocess.run(words, capture_output=True, timeout=300, check=True)


PROBE = """<!DOCTYPE html><title>probe</title><iframe src="index.html" width="1300" height="800"></iframe><script>
const frame = document.querySelector('iframe');
frame.onload = () => {
  const page = frame.contentDocument;
  page.querySelector('label[for=__search]').click();
  const box = page.querySelector('input.md-search__input');
  box.focus();
  const typed = setInterval(() => {
    box.value = 'WORD';
    box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));
    box.dispatchEvent(new Event('input', {bubbles: true}));
    const found = [...page.querySelectorAll('a.md-search-result__link')].map(a => a.href);
    if (found.length) {
      clearInterval(typed);
      fetch('found', {method: 'POST', body: found.join('\\n')});
    }
  }, 300);
};
</script><img src="wait">"""
"""Types a word into the search of the page in it, and sends what is found.  Till then its picture is not there, which
keeps a browser that prints a page when it is complete from printing this one."""


class Answers(http.server.SimpleHTTPRequestHandler):
    """The site, and a page that tries its search; no log."""

    results = ""
    came = threading.Event()

    def do_GET(self) -> None:
        """A file of the site, or the probe."""
        if self.path == "/probe.html":
            self.answer(PROBE.replace("WORD", SEARCH[0]).encode(), "text/html")
        elif self.path == "/wait":
            Answers.came.wait(60)
            self.send_error(404)
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """What the probe has found."""
        Answers.results = self.rfile.read(int(self.headers["Content-Length"])).decode()
        Answers.came.set()
        self.answer(b"", "text/plain")

    def answer(self, data: bytes, kind: str) -> None:
        """Send a text."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def serve(site: Path) -> http.server.ThreadingHTTPServer:
    """The site, for a browser on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Answers, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def look(browser: Browser, site: Path) -> list[str]:
    """Each page and the search, as a reader has them; what is wrong."""
    server = serve(site)
    base = f"http://127.0.0.1:{server.server_address[1]}"
    wrong = []
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    for path in pages:
        text, console = browser.page(f"{base}/{path.relative_to(site)}")
        wrong += [f"{path.relative_to(site)}: {line}" for line in console]
        if "<h1" not in text:
            wrong.append(f"{path.relative_to(site)}: has no heading")
    word, page = SEARCH
    browser.page(f"{base}/probe.html")
    results = Answers.results.split()
    if not any(page in result for result in results):
        wrong.append(f"the search for {word!r} does not name {page}: {results[:5]}")
    server.shutdown()
    print(f"browser      {len(pages)} pages, {len(results)} results of a search")
    return wrong


def take_pictures(browser: Browser, folder: Path) -> None:
    """The pictures of docs/ that show pages of gompy's commands."""
    command = Path(sys.executable).parent
    shutil.copy(ROOT / "docs" / "programs" / "hello.c", folder)
    for words in (
        ("gompcc", "-g", "-fopenmp", "-c", "hello.c"),
        ("gompcc", "-fopenmp", "hello.o", "-o", "hello"),
        ("gompy", "inspect", "--html", "trip.html", "hello.o", "hello"),
    ):
        subprocess.run([command / words[0], *words[1:]], cwd=folder, check=True)
    browser.picture((folder / "trip.html").as_uri(), ROOT / "docs" / "inspect-html.png", "1440,820")
    print("picture      docs/inspect-html.png")


def main() -> int:
    """Build, links, browser."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", action="store_true", help="take the pictures of docs/ anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gompy-site-") as name:
        folder = Path(name)
        site = folder / "site"
        said = build(site)
        wrong = [said] if said else dead_links(site)
        print(f"site         {len(list(site.rglob('*.html')))} pages, {len(wrong)} wrong links", flush=True)
        program = next(filter(None, map(shutil.which, BROWSERS)), None)
        if program is None:
            print("browser      not installed: chromium")
        elif not said:
            browser = Browser(program, folder / "profile")
            wrong += look(browser, site)
            if options.pictures:
                take_pictures(browser, folder)
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
