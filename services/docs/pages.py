#!/usr/bin/python3
"""Makes the pages of /docs.

  pages.py --cmark PROGRAM --templates DIR --out DIR GUIDE.md...

reference.html and errors.html of DIR get the layout around them; each guide is made into guide-NAME.html, and guides.html lists them in the
given order. A guide names other guides as NAME.md and the error codes as ../../reference/errors.md; a link to anything else of the tree is an
error, since it would lead nowhere in a browser.
"""
import argparse
import html
import pathlib
import re
import subprocess
import sys

SERVED = {"../../reference/errors.md": "/docs/errors"}
HEADING = re.compile(r"<h([123])>(.*?)</h\1>", re.S)
LINK = re.compile(r'<a href="([^"]*)"')


def slug(text):
    """As on other sites that show Markdown: lower case, blanks as hyphens, no signs."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", re.sub(r"<[^>]*>", "", text)).strip().lower())


def link(names, source, target):
    page, mark, part = target.partition("#")
    if re.match(r"https?://", target) or not page:
        return target
    if page in SERVED:
        return SERVED[page] + mark + part
    if page.endswith(".md") and page[:-3] in names:
        return f"/docs/guides/{page[:-3]}{mark}{part}"
    sys.exit(f"{source}: its link {target} leads to nothing that is served")


def fill(template, **values):
    """Puts each value where the template has its name in double braces."""
    return re.sub(r"\{\{(\w+)\}\}", lambda m: values[m.group(1)], template)


def guide(path, names, cmark):
    """The title, the first sentence and the HTML of a guide."""
    body = subprocess.run([cmark, "-e", "table", "-e", "autolink", "--full-info-string", path], capture_output=True, text=True, check=True).stdout
    body = HEADING.sub(lambda m: f'<h{m[1]} id="{slug(m[2])}">{m[2]}</h{m[1]}>', body)
    body = LINK.sub(lambda m: f'<a href="{html.escape(link(names, path, html.unescape(m[1])))}"', body)
    body = re.sub(r'<pre><code class="language-\w+" data-meta="([^"]+)">', r'<p class="file">\1</p>\n<pre><code>', body)
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    title, lead = re.search(r"<h1[^>]*>(.*?)</h1>\s*<p>(.*?)</p>", body, re.S).groups()
    return title, lead, body


def contents(body):
    parts = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', body, re.S)
    return "".join(f'<li><a href="#{i}">{text}</a></li>' for i, text in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--cmark", "--templates", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("guides", nargs="+")
    args = parser.parse_args()
    templates, out = pathlib.Path(args.templates), pathlib.Path(args.out)
    layout = (templates / "layout.html").read_text(encoding="utf-8")

    def write(name, title, main_part):
        (out / name).write_text(fill(layout, title=title, main=main_part), encoding="utf-8")

    for name, title in (("reference", "Reference"), ("errors", "Error codes")):
        write(f"{name}.html", title, (templates / f"{name}.html").read_text(encoding="utf-8"))
    names = [pathlib.Path(g).stem for g in args.guides]
    made = [guide(g, names, args.cmark) for g in args.guides]
    listed = [f'<li><a href="/docs/guides/{name}">{title}</a><p>{lead}</p></li>' for name, (title, lead, _) in zip(names, made)]
    write("guides.html", "Guides", f'<main id="main" class="text"><h1>Guides</h1><ol class="guides">{"".join(listed)}</ol></main>')
    for i, (name, (title, _, body)) in enumerate(zip(names, made)):
        beside = [f'<a rel="{rel}" href="/docs/guides/{names[k]}">{word} {made[k][0]}</a>'
                  for rel, word, k in (("prev", "Before:", i - 1), ("next", "Next:", i + 1)) if 0 <= k < len(names)]
        listed = "".join(f'<li><a href="/docs/guides/{n}"{" aria-current=page" if n == name else ""}>{t}</a></li>' for n, (t, _, _) in zip(names, made))
        write(f"guide-{name}.html", re.sub(r"<[^>]*>", "", title),
              f'<div class="columns"><nav class="side" aria-label="Guides"><p><a href="/docs/guides">Guides</a></p><ol>{listed}</ol></nav>'
              f'<main id="main" class="text">{body}<nav class="beside" aria-label="Next guides">{"".join(beside)}</nav></main>'
              f'<nav class="contents" aria-label="On this page"><p>On this page</p><ul>{contents(body)}</ul></nav></div>')


main()
