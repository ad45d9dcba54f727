"""A self-contained HTML page: inline figures, sortable tables, no network requests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from szoht.reporting.cells import cell_html

__all__ = ["Gallery", "HtmlFigure", "HtmlTable", "Page", "Section", "Thumbnail"]


@dataclass(frozen=True, kw_only=True)
class HtmlTable:
    """A table; every column can be sorted by a click on its header."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""
    collapsed: bool = False


@dataclass(frozen=True, kw_only=True)
class HtmlFigure:
    """A figure as an ``<svg>`` element, and the sentence below it.

    ``beside`` is another one to its left, such as the paper's; on a narrow page it is above.
    """

    svg: str
    caption: str
    beside: str = ""


@dataclass(frozen=True, kw_only=True)
class Thumbnail:
    """A small picture that links to a section, with a light: good, warning, bad or plain."""

    title: str
    target: str
    light: str
    text: str
    image: str = ""
    """A ``data:`` address; no picture if empty."""


@dataclass(frozen=True)
class Gallery:
    """Thumbnails, as many in a row as fit."""

    thumbnails: Sequence[Thumbnail]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page with a heading and an anchor."""

    anchor: str
    title: str
    text: Sequence[str] = ()
    content: Sequence[HtmlTable | HtmlFigure | Gallery] = field(default_factory=tuple)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A complete page.

    >>> page = Page(title="Results", subtitle="All of them.", sections=())
    >>> "://" in page.html()
    False
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
    footer: Sequence[str] = ()
    refresh_seconds: float | None = None
    """After which the browser loads the page again, if it is still being written."""

    def html(self) -> str:
        """Return the text of the page."""
        entries = "".join(
            f'<li><a href="#{escape(part.anchor)}">{escape(part.title)}</a></li>'
            for part in self.sections
        )
        body = "\n".join(_section(part) for part in self.sections)
        return _FRAME.format(
            title=escape(self.title),
            subtitle=escape(self.subtitle),
            style=_STYLE,
            script=_SCRIPT,
            contents=entries,
            body=body,
            footer="".join(f"<p>{escape(line)}</p>" for line in self.footer),
            refresh=""
            if self.refresh_seconds is None
            else f'<meta http-equiv="refresh" content="{math.ceil(self.refresh_seconds)}">\n',
        )


def _section(section: Section) -> str:
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in section.text)
    content = "\n".join(_part(part) for part in section.content)
    heading = f"<h2>{escape(section.title)}</h2>"
    return f'<section id="{escape(section.anchor)}">{heading}{paragraphs}\n{content}</section>'


def _part(part: HtmlTable | HtmlFigure | Gallery) -> str:
    if isinstance(part, HtmlTable):
        return _table(part)
    return _figure(part) if isinstance(part, HtmlFigure) else _gallery(part)


def _figure(figure: HtmlFigure) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>"
    card = f'<div class="card">{figure.svg}</div>'
    if figure.beside:
        card = f'<div class="pair"><div class="card">{figure.beside}</div>{card}</div>'
    return f"<figure>{card}{caption}</figure>"


def _gallery(gallery: Gallery) -> str:
    return f'<div class="gallery">{"".join(map(_thumbnail, gallery.thumbnails))}</div>'


def _thumbnail(one: Thumbnail) -> str:
    picture = f'<img alt="" src="{escape(one.image)}">' if one.image else "<span>not run</span>"
    light = f'<span class="light {escape(one.light)}"></span>'
    title = f"<strong>{light}{escape(one.title)}</strong>"
    small = f"<small>{escape(one.text)}</small>"
    return f'<a href="{escape(one.target)}"><div class="card">{picture}</div>{title}{small}</a>'


def _table(table: HtmlTable) -> str:
    header = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{escape(name)}</button></th>'
        for name in table.header
    )
    rows = "\n".join(f"<tr>{''.join(cell_html(value) for value in row)}</tr>" for row in table.rows)
    body = f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"
    scroll = f'<div class="scroll">{body}</div>'
    if table.collapsed:
        return f"<details><summary>{escape(table.caption)}</summary>{scroll}</details>"
    caption = f"<p class=caption>{escape(table.caption)}</p>" if table.caption else ""
    return caption + scroll


_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
{refresh}<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1><p>{subtitle}</p></header>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
<main>
{body}
</main>
<footer>{footer}</footer>
<script>{script}</script>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --text: #1d2126; --soft: #5c6670; --page: #fbfbfa;
  --line: #d9dcdf; --link: #20588f; --good: #1f6f3a; --warning: #8a5a00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e6e8; --soft: #9aa4ae; --page: #16181b; --line: #33383e; --link: #8cbcf0;
    --good: #7ccf94; --warning: #e5b454; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 5rem; max-width: 72rem; background: var(--page);
  color: var(--text); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .5rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { max-width: 75ch; margin: .5rem 0; }
a { color: var(--link); }
header p, figcaption, .caption { color: var(--soft); }
nav ol { columns: 2 18rem; padding-left: 1.3rem; }
figure { margin: 1.2rem 0; }
figcaption { font-size: .9rem; max-width: 90ch; margin-top: .4rem; }
.card { background: #ffffff; border: 1px solid var(--line); border-radius: 6px; padding: .5rem;
  overflow-x: auto; }
.card svg { display: block; width: 100%; height: auto; margin: 0 auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: .8rem; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr));
  gap: 1.2rem; margin: 1.2rem 0; }
.gallery a { color: inherit; text-decoration: none; } .gallery a:hover { color: var(--link); }
.gallery .card { aspect-ratio: 4 / 3; display: grid; place-items: center; overflow: hidden;
  grid-template: minmax(0, 1fr) / minmax(0, 1fr); }
.gallery .card span { color: #5c6670; } .gallery img { width: 100%; height: 100%;
  object-fit: contain; }
.gallery strong, .gallery small { display: block; line-height: 1.35; margin-top: .35rem; }
.gallery small { color: var(--soft); }
.light { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .45em;
  background: currentcolor; }
.light.good { color: #2e9e4f; } .light.warning { color: #f2b100; } .light.bad { color: #d93025; }
.light.plain { color: #a7afb7; }
.bar { display: block; } .bar line { stroke: currentcolor; } .bar .axis { stroke: var(--line); }
.bar circle, .bar .range { fill: var(--link); stroke: var(--link); stroke-width: 2; }
.bar .target { stroke: var(--soft); stroke-width: 1.5; }
footer { margin-top: 3rem; padding-top: .8rem; border-top: 1px solid var(--line);
  color: var(--soft); font-size: .88rem; overflow-wrap: anywhere; } footer p { max-width: none; }
.caption { font-size: .9rem; margin-top: 1.2rem; }
.scroll { overflow-x: auto; margin: .6rem 0 1.2rem; }
table { border-collapse: collapse; font-size: .88rem; min-width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .38rem .7rem .38rem 0;
  border-bottom: 1px solid var(--line); }
td { overflow-wrap: break-word; } td:first-child { min-width: 6rem; }
td.long { min-width: 13rem; overflow-wrap: anywhere; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; white-space: nowrap; }
th button:focus-visible { outline: 2px solid var(--link); }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
.badge { font-weight: 600; white-space: nowrap; }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
.plain { color: var(--soft); }
summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
@media print { th button::after { content: none; } details { display: none; } }
"""

_SCRIPT = """
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const header = button.parentElement, table = header.closest("table"), column = header.cellIndex;
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.querySelectorAll("th")) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => {
      const cell = row.cells[column], number = parseFloat(cell.dataset.value ?? cell.textContent);
      return isNaN(number) ? cell.textContent : number;
    };
    const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
    rows.sort(([a], [b]) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0)
      : typeof a === "number" ? -1 : 1) * (up ? 1 : -1));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  });
}
"""
