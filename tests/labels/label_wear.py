"""Labels as printers and cameras leave them: low ink, streaks, skew and noise, or perspective, uneven light, motion and JPEG. All by seed, with PIL and numpy
only. Leaves to others: what is on the label (label_layouts.py)."""
import hashlib
import math

import numpy
from PIL import Image, ImageDraw, ImageFilter

GROUNDS = {"cardboard": (196, 156, 112), "desk": (120, 84, 56), "grey": (140, 142, 146), "dark": (62, 60, 64), "white": (226, 226, 222)}


def dice(seed):
    return numpy.random.Generator(numpy.random.PCG64(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")))


def worn(path, wear, seed, kept):
    """Wears the picture of a file. Returns what differs in its entry."""
    chance = dice(seed)
    page = Image.open(path).convert("L")
    if wear == "clean":
        if chance.random() < 0.5:  # a printer knows black and white only
            one_bit(page).save(path)
        return {}
    done = []
    page = printed(one_bit(page), chance, done) if wear == "printed" else photographed(page, chance, done, kept)
    out = path.with_suffix(".jpg")
    path.unlink()
    page.save(out, "JPEG", quality=int(chance.integers(72, 93) if wear == "printed" else chance.integers(60, 90)))
    return {"file": out.name, "kept": None, "done": done}


def one_bit(page):
    return page.point(lambda v: 255 if v > 140 else 0)


def smooth_field(chance, size, cells, least, most):
    """A picture of slow changes between two values from 0 to 1, as floats."""
    grid = chance.random((cells, cells)).astype(numpy.float32)
    field = Image.fromarray((grid * 255).astype(numpy.uint8)).resize(size, Image.BICUBIC)
    return least + (most - least) * numpy.asarray(field, numpy.float32) / 255


def low_ink(page, chance):
    """Black that is grey, more so in places, and flakes off."""
    a = 255 - numpy.asarray(page, numpy.float32)
    a *= smooth_field(chance, page.size, 5, 0.45, 1.0)
    a[chance.random(a.shape, numpy.float32) < 0.01] *= 0.2
    return Image.fromarray((255 - a).astype(numpy.uint8))


def streaks(page, chance):
    """Dots of the head that print no more: lines of one dot along the paper's way."""
    a = numpy.array(page)
    for x in chance.integers(0, page.width, int(chance.integers(1, 4))):
        part = a[:, x].astype(numpy.float32)
        a[:, x] = (255 - (255 - part) * chance.uniform(0, 0.4)).astype(numpy.uint8)
    return Image.fromarray(a)


def noisy(page, chance, sigma):
    a = numpy.asarray(page, numpy.float32) + chance.standard_normal((page.height, page.width), numpy.float32) * sigma
    return Image.fromarray(numpy.clip(a, 0, 255).astype(numpy.uint8))


def printed(page, chance, done):
    """Printed on a worn printer, and laid on a scanner."""
    if chance.random() < 0.4:
        page, _ = low_ink(page, chance), done.append("low_ink")
    if chance.random() < 0.35:
        page, _ = streaks(page, chance), done.append("streaks")
    grow = chance.choice((1.0, 1.25, 1.48))
    page = page.resize((round(page.width * grow), round(page.height * grow)), Image.BICUBIC)
    page = page.filter(ImageFilter.GaussianBlur(chance.uniform(0.35, 0.75) * grow))
    if chance.random() < 0.6:
        page = page.rotate(chance.choice((-1, 1)) * chance.uniform(0.4, 2.0), Image.BICUBIC, expand=True, fillcolor=255)
        done.append("skew")
    paper = chance.uniform(222, 255)
    page = page.point(lambda v: int(18 + v * (paper - 18) / 255))
    return noisy(page, chance, chance.uniform(2, 10))


# ---- photographs ----

def homography(corners, size):
    """The eight numbers with which PIL finds the point of a picture of `size` for each point of one where its corners are."""
    w, h = size
    rows, right = [], []
    for (x, y), (u, v) in zip(corners, ((0, 0), (w, 0), (w, h), (0, h))):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return numpy.linalg.solve(numpy.array(rows, float), numpy.array(right, float)).tolist()


def corners_of(chance, size, frame, degrees):
    """Where the corners of the label are in the frame: turned by some degrees, and seen from aside."""
    w, h = size
    turn, lean = math.radians(degrees), 0.035 * min(w, h)
    out = []
    for x, y in ((-w / 2, -h / 2), (w / 2, -h / 2), (w / 2, h / 2), (-w / 2, h / 2)):
        x, y = x + chance.uniform(-lean, lean), y + chance.uniform(-lean, lean)
        out.append((frame[0] / 2 + x * math.cos(turn) - y * math.sin(turn), frame[1] / 2 + x * math.sin(turn) + y * math.cos(turn)))
    return out


def overlaps(a, b):
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def cover(page, chance, kept):
    """A strip of tape or a thumb at an edge: never over the recipient, nor over both forms of the tracking number."""
    for _ in range(20):
        w, h = int(page.width * chance.uniform(0.12, 0.4)), int(page.height * chance.uniform(0.05, 0.12))
        x, y = int(chance.choice((0, page.width - w))), int(chance.uniform(0, page.height - h))
        box = (x, y, w, h)
        lost = [name for name in ("tracking_code", "tracking_text") if name in kept and overlaps(box, kept[name])]
        there = [name for name in ("tracking_code", "tracking_text") if name in kept]
        if not ("recipient" in kept and overlaps(box, kept["recipient"])) and (not lost or len(lost) < len(there)):
            page = page.copy()
            ImageDraw.Draw(page).rounded_rectangle((x, y, x + w, y + h), radius=h // 3, fill=int(chance.integers(120, 215)))
            return page
    return page


def motion(a, chance):
    """The mean of the picture moved along a line."""
    length, angle = chance.uniform(2, 5), chance.uniform(0, math.pi)
    steps = [(round(length * k * math.cos(angle) / 4), round(length * k * math.sin(angle) / 4)) for k in range(5)]
    return sum(numpy.roll(a, (dy, dx), (0, 1)) for dx, dy in steps) / len(steps)


def light(chance, size, done):
    """How bright each point is lit: falls off to one side, sometimes with the edge of a shadow."""
    w, h = size
    angle = chance.uniform(0, 2 * math.pi)
    x, y = numpy.linspace(-0.5, 0.5, w, dtype=numpy.float32), numpy.linspace(-0.5, 0.5, h, dtype=numpy.float32)
    lit = 0.86 + chance.uniform(0.1, 0.4) * (x[None, :] * math.cos(angle) + y[:, None] * math.sin(angle))
    if chance.random() < 0.35:
        done.append("shadow")
        small = Image.new("L", (w // 8, h // 8), 255)
        edge = [(chance.uniform(-0.2, 1.2) * w / 8, chance.uniform(-0.2, 1.2) * h / 8) for _ in range(3)]
        ImageDraw.Draw(small).polygon(edge, fill=int(chance.integers(130, 190)))
        lit = lit * numpy.asarray(small.filter(ImageFilter.GaussianBlur(chance.uniform(1, 6))).resize(size, Image.BILINEAR), numpy.float32) / 255
    return lit


def photographed(page, chance, done, kept):
    """Printed, stuck on a parcel, and taken by hand."""
    page = one_bit(page)
    for likely, name, change in ((0.15, "low_ink", low_ink), (0.15, "streaks", streaks), (0.15, "covered", lambda p, c: cover(p, c, kept))):
        if chance.random() < likely:
            page = change(page, chance)
            done.append(name)
    grow = chance.uniform(1.3, 2.1)
    page = page.resize((round(page.width * grow), round(page.height * grow)), Image.BICUBIC)
    quarter = int(chance.choice((0, 0, 0, 0, 0, 0, 0, 90, 180, 270)))
    if quarter:
        done.append(f"turned_{quarter}")
    page = page.rotate(-quarter, expand=True)
    room = chance.uniform(1.15, 1.4)
    frame = (round(page.width * room), round(page.height * room))
    numbers = homography(corners_of(chance, page.size, frame, chance.uniform(-7, 7)), page.size)
    flat = page.transform(frame, Image.PERSPECTIVE, numbers, Image.BICUBIC)
    mask = Image.new("L", page.size, 255).transform(frame, Image.PERSPECTIVE, numbers, Image.BILINEAR)
    name = str(chance.choice(list(GROUNDS)))
    ground = Image.fromarray((smooth_field(chance, frame, 40, 200, 255)).astype(numpy.uint8))
    a = numpy.asarray(Image.composite(flat.point(lambda v: int(24 + v * 222 / 255)), ground, mask), numpy.float32) * light(chance, frame, done)
    if chance.random() < 0.3:
        done.append("motion")
        a = motion(a, chance)
    seen = Image.fromarray(numpy.clip(a, 0, 255).astype(numpy.uint8)).filter(ImageFilter.GaussianBlur(chance.uniform(0.5, 1.3)))
    seen = noisy(seen, chance, chance.uniform(2, 8))
    paper = (255, int(chance.integers(244, 256)), int(chance.integers(222, 256)))
    return Image.merge("RGB", [Image.composite(seen.point(lambda v, k=p: int(v * k / 255)), seen.point(lambda v, k=g: int(v * k / 255)), mask) for p, g in zip(paper, GROUNDS[name])])
