#!/usr/bin/python3
"""The papers of draw.py by WeasyPrint:   draw_weasy.py label|slip|table TIMES OUT.pdf

It has no barcodes: they are SVG files that the program zint made before, which costs it nothing here."""
import subprocess
import sys

from weasyprint import HTML

DATA_MATRIX = 71
STYLE = "@page {{ size: {size}; margin: {margin} }} body {{ margin: 0; font-family: Inter; font-size: 9pt }} .a {{ position: absolute; white-space: pre }} " \
    "table {{ border-collapse: collapse; width: 540pt }} td, th {{ padding: 3pt; border-bottom: .5pt solid #999; text-align: left }} .n {{ text-align: right }}"


def place(x, y, text, size=9, bold=False):
    return f'<div class="a" style="left:{x}pt;top:{y}pt;font-size:{size}pt;font-weight:{700 if bold else 400}">{text}</div>'


def code(kind, text, x, y, width, height):
    square = ["--square"] if kind == DATA_MATRIX else []
    svg = subprocess.run(["zint", "-b", str(kind), "-d", text, "--notext", *square, "--filetype=SVG", "--direct"], capture_output=True, check=True).stdout.decode()
    svg = svg[svg.index("<svg"):].replace("<svg ", '<svg preserveAspectRatio="none" style="width:100%;height:100%" ', 1)
    return f'<div class="a" style="left:{x}pt;top:{y}pt;width:{width}pt;height:{height}pt">{svg}</div>'


def rows(n):
    body = "".join(f'<tr><td>SKU-{i:04}</td><td>Article number {i} of the list</td><td class="n">{i % 17 + 1}</td><td class="n">{i % 13 + 1}</td></tr>' for i in range(n))
    return f'<table><thead><tr><th>SKU</th><th>Name</th><th class="n">Ordered</th><th class="n">Shipped</th></tr></thead><tbody>{body}</tbody></table>'


def label():
    return STYLE.format(size="288pt 432pt", margin=0), "".join([
        place(18, 18, "FROM  Wharf Goods, Dock 5, Oakland CA 94607", 8), place(18, 42, "SHIP TO"), place(18, 56, "Ada Lovelace", 16, True),
        place(18, 78, "1200 Harbor Street, Suite 400", 14), place(18, 96, "Baltimore MD 21230", 14), code(20, "1Z999AA10123456784", 18, 128, 252, 70),
        place(90, 202, "1Z999AA10123456784"), code(58, "https://track.example/1Z999AA10123456784", 18, 230, 90, 90), code(DATA_MATRIX, "ORDER-100234", 130, 230, 60, 60),
        code(55, "ORDER-100234/1Z999AA10123456784", 18, 340, 252, 60), place(200, 240, "Order 100234"), place(200, 254, "1 of 2")])


def slip():
    return STYLE.format(size="letter", margin="0 36pt"), "".join([
        place(0, 30, "Packing slip", 22, True), code(20, "ORDER-100234", 360, 30, 180, 40), place(0, 90, "Ship to", 9, True), place(0, 104, "Ada Lovelace", 10),
        place(0, 118, "1200 Harbor Street, Suite 400", 10), place(0, 132, "Baltimore MD 21230", 10), place(360, 90, "Order", 9, True),
        place(360, 104, "100234 of 5 January 2026", 10), f'<div style="padding-top:170pt">{rows(25)}<p>Thank you. Returns within 30 days.</p></div>',
        place(484, 760, "1 / 1")])


def table():
    return STYLE.format(size="letter", margin="36pt 36pt 18pt"), rows(1000)


def main():
    style, body = {"label": label, "slip": slip, "table": table}[sys.argv[1]]()
    for _ in range(int(sys.argv[2])):
        HTML(string=f"<style>{style}</style>{body}").write_pdf(sys.argv[3])


if __name__ == "__main__":
    main()
