"""Every symbology is read back from what a printer of rasters got: drawn and printed in one call by a real server, made dots by wharf-station, taken by
ippeveprinter (05 section 16, 7). At 203, 300 and 600 dpi: ippeveprinter has the density that its attributes file says, so none is left out."""
import pytest
from PIL import Image

from drawing import READERS, read_codes
from rig import Ippeve
from test_agent import Shop, pwg_pages
from test_drawn_barcodes import DENSITIES, FORMATS, READ, UNREAD, box, modules_in, modules_of
from wharf import Server

LETTER = (612, 792)
ROOM = 8  # above and below a code, in points
SIDES = {240: 300, 110: 150}  # as wide as a code is: with what stays white beside it


def placed(names):
    """(page, left, top, width, height) in points of each code: side by side, then below, then on the next page."""
    page, x, y, below, places = 1, 0, 0, 0, {}
    for name in sorted(names, key=lambda name: box(name)["width"]):  # those of one size together
        wide, high = SIDES[box(name)["width"]], box(name)["height"] + 2 * ROOM
        if x + wide > LETTER[0]:
            x, y = 0, y + below
        if y + high > LETTER[1]:
            page, x, y = page + 1, 0, 0
        places[name] = (page, x, y, wide, high)
        x, below = x + wide, high
    return places


def element(name, value, place):
    page, x, y, wide, _ = place
    size = box(name)
    return {"type": "barcode", "symbology": name, "value": value, "page": page, "x": x + (wide - size["width"]) / 2, "y": y + ROOM, **size}


def cut(pages, place, dpi, file):
    """The part of the paper that a code has, in dots that are black or white, as a picture."""
    page, *place = place
    x, y, wide, high = (round(v * dpi / 72) for v in place)
    pages[page - 1].crop((x, y, x + wide, y + high)).point(lambda v: 255 if v > 127 else 0).save(file)
    return file


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,documents,stations,templates")
    yield s
    s.stop()


@pytest.mark.parametrize("dpi", DENSITIES)
def test_codes_are_read_from_paper(server, bus, tmp_path, dpi):
    values = {name: value for name, value, *_ in READ + UNREAD}
    places = placed(values)
    s = Shop(server, f"Codes {dpi}", {"Dots": Ippeve(bus, formats="image/pwg-raster", sizes=((8.5, 11),), dpi=dpi)})
    try:
        s.agent.start()
        made = s.client.post("/v1/templates/pdf/generate", {"size": "letter", "snap_barcodes": dpi, "strict": True, "print": {"print_station_id": s.agent.station_id},
                                                            "raw": [element(name, values[name], places[name]) for name in values]}, expect=201).data
        done = s.over({"id": made["print_job_id"]})
        assert done["status"] == "completed", done
        (raster, _), = s.printers["Dots"].papers()
    finally:
        s.end()
    pages = [Image.frombytes("L", (w, h), b"".join(lines)) for w, h, _, lines in pwg_pages(raster)]
    assert len(pages) == made["pages"] == max(p[0] for p in places.values())
    assert all(abs(side - points * dpi / 72) < 1 for page in pages for side, points in zip(page.size, LETTER))
    pictures = {name: cut(pages, place, dpi, tmp_path / f"{name}.png") for name, place in places.items()}
    found = {name: read_codes(pictures[name], [FORMATS.get(name, READERS[-1])]) for name, *_ in READ}
    assert {name: found[name] for name, value, says in READ if not found[name] & (says or {value})} == {}
    modules = {name: modules_of(number, value, options) for name, value, number, *options in UNREAD}
    assert [name for name, rows in modules.items() if modules_in(pictures[name], name, len(rows[0]), len(rows)) != rows] == []
