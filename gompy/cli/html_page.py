"""One page of HTML that needs nothing but itself: pictures, tables beside each other, hover, search.

``#search=WORD`` behind its address is what the reader would type.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

STYLE: Final = """\
:root { color-scheme: light dark; --line: #b0bec5; --head: #eceff1; --hit: #fff3b0; }
@media (prefers-color-scheme: dark) { :root { --line: #455a64; --head: #263238; --hit: #5d4a00; } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 0 1.2rem 3rem; }
header { position: sticky; top: 0; z-index: 2; background: Canvas; padding: .6rem 0;
  border-bottom: 1px solid var(--line); }
h1 { display: inline; font-size: 1.1rem; margin-right: 1rem; }
h2 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
input { font: inherit; width: 22rem; max-width: 60vw; padding: .2rem .5rem; }
#found { margin-left: .8rem; opacity: .7; }
.picture { overflow: auto; max-height: 70vh; border: 1px solid var(--line); background: #fff; color: #000; }
.tables { display: flex; flex-wrap: wrap; gap: 0 2rem; align-items: flex-start; }
.tables > div { overflow: auto; max-height: 60vh; max-width: 100%; }
table { border-collapse: collapse; font-family: ui-monospace, monospace; font-size: 12px; }
th { text-align: left; position: sticky; top: 0; background: var(--head); }
th, td { padding: .15rem .6rem; border: 1px solid var(--line); white-space: nowrap; }
td.n { text-align: right; }
tr.near td { background: var(--hit); }
.away { opacity: .12; }
.near > rect { stroke-width: 3; }
#hint { position: fixed; display: none; pointer-events: none; white-space: pre; font: 12px ui-monospace, monospace;
  background: #212121; color: #fff; padding: .3rem .5rem; border-radius: 3px; max-width: 60vw; overflow: hidden; }
"""

SCRIPT: Final = """\
const box = document.getElementById('search'), found = document.getElementById('found');
const hint = document.getElementById('hint');
const rows = [...document.querySelectorAll('tbody tr')];
const shapes = [...document.querySelectorAll('svg title')].map(t => t.parentNode).filter(n => n.tagName !== 'svg');
const words = new Map(shapes.map(n => [n, n.querySelector('title').textContent]));
function look() {
  const word = box.value.trim().toLowerCase();
  let hits = 0;
  for (const row of rows) {
    row.hidden = word !== '' && !row.textContent.toLowerCase().includes(word);
    hits += !row.hidden;
  }
  for (const [shape, text] of words)
    shape.classList.toggle('away', word !== '' && !text.toLowerCase().includes(word));
  found.textContent = word === '' ? '' : hits + ' of ' + rows.length + ' rows';
}
function mark(name) {
  for (const row of rows)
    row.classList.toggle('near', name !== '' && row.dataset.name !== '' && name.includes(row.dataset.name));
  for (const [shape, text] of words)
    shape.classList.toggle('near', name !== '' && text.includes(name));
}
for (const row of rows) {
  row.addEventListener('mouseenter', () => mark(row.dataset.name));
  row.addEventListener('mouseleave', () => mark(''));
}
for (const [shape, text] of words) {
  shape.querySelector('title').remove();
  shape.addEventListener('mousemove', event => {
    hint.textContent = text;
    hint.style.display = 'block';
    hint.style.left = Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8) + 'px';
    hint.style.top = Math.min(event.clientY + 14, innerHeight - hint.offsetHeight - 8) + 'px';
    mark(text);
  });
  shape.addEventListener('mouseleave', () => { hint.style.display = 'none'; mark(''); });
}
box.addEventListener('input', look);
const asked = /^#search=(.*)$/.exec(location.hash);
if (asked) box.value = decodeURIComponent(asked[1]);
look();
"""


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; its rows are named by their first cell that is a word, which pictures are marked by."""
    numbers = [all(row[i].replace(".", "", 1).isdecimal() for row in rows) for i in range(len(head))]
    lines = [f"<div><h2>{escape(title)}</h2>", "<table><thead><tr>"]
    lines += [f"<th>{escape(cell)}</th>" for cell in head]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        cells = "".join(
            f'<td class="n">{escape(cell)}</td>' if number else f"<td>{escape(cell)}</td>"
            for cell, number in zip(row, numbers, strict=True)
        )
        name = next((cell for cell, number in zip(row, numbers, strict=True) if not number and len(cell) > 1), "")
        lines.append(f'<tr data-name="{escape(name.partition(" 0x")[0])}">{cells}</tr>')
    return "\n".join([*lines, "</tbody></table></div>"])


def beside(tables: Sequence[str]) -> str:
    """Tables beside each other, as far as there is room."""
    return '<div class="tables">\n' + "\n".join(tables) + "\n</div>"


def picture(svg: str) -> str:
    """A picture that scrolls."""
    return f'<div class="picture">{svg}</div>'


def page(title: str, parts: Sequence[str]) -> str:
    """The page.  Nothing in it may load anything: its own rule says so to the browser."""
    rule = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{rule}">',
            f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style></head><body>",
            f"<header><h1>{escape(title)}</h1>",
            '<input id="search" type="search" placeholder="search" aria-label="search">',
            '<span id="found"></span></header>',
            *parts,
            f'<div id="hint"></div>\n<script>\n{SCRIPT}</script>\n</body></html>\n',
        ]
    )
