"""What people reported of print servers about pages that lie and paper that stands: all of a page has to be on the paper, whichever way it is turned (spec 04 section 7). Each case names its
report on GitHub."""
import pytest

from documents import pdf
from test_print_jobs import Shop, box, ink, near
from test_print_mistakes import both
from wharf import printer


@pytest.fixture(scope="module")
def shop(org):
    return Shop(org, "Reports", printer("All", page_size={"a4": True, "letter": True, "label_4x6": True}))


def framed(width, height, page=""):
    """A page with a mark in each corner; inches."""
    w, h = width * 72, height * 72
    marks = " ".join(f"{x} {y} 36 36 re f" for x in (0, w - 36) for y in (0, h - 36))
    return pdf(width, height, content=f"0 g {marks}".encode(), page=page)


A4, LETTER, LABEL = (595.28 / 72, 841.89 / 72), (8.5, 11), (4, 6)
PAPERS = {"a4": A4, "letter": LETTER, "label_4x6": LABEL}


@pytest.mark.parametrize("report, paper, lies, page, more", [
    ("apple/cups#2850", "a4", True, "", {}), ("apple/cups#2308", "letter", True, "", {}), ("apple/cups#2348", "a4", False, "/Rotate 90", {}), ("OpenPrinting/cups#823", "a4", False, "", {}),
    ("apple/cups#3005", "a4", False, "/Rotate 270", {}), ("OpenPrinting/libcupsfilters#221", "letter", True, "", {"fit": "shrink"}), ("apple/cups#5928", "label_4x6", True, "", {}),
    ("apple/cups#5659", "label_4x6", True, "/Rotate 180", {"fit": "fit"}), ("apple/cups#5284", "label_4x6", True, "/Rotate 90", {})])
def test_the_whole_page_is_on_the_paper(shop, report, paper, lies, page, more):
    width, height = PAPERS[paper]
    document = framed(*((height, width) if lies else (width, height)), page=page)
    made = shop.paper(shop.make(document, configuration={"paper_size": paper, **more}))
    (size,) = box(made)
    found, dots = ink(made)
    assert sorted(round(v) for v in size) == sorted((round(width * 72), round(height * 72))), (report, size)
    assert near(found, (0, 0, *dots), 2), (report, found, dots)


def test_pages_of_both_kinds(shop):
    """apple/cups#5368: of three pages the second, which lies, came out as a part."""
    made = shop.paper(shop.make(both(LETTER, (11, 8.5)), configuration={"paper_size": "letter"}))
    sizes = box(made)
    assert len(set(sizes)) == 1
    found, dots = ink(made, page=2)
    assert max(found[2] - found[0], found[3] - found[1]) >= max(dots) - 3, (found, dots)
