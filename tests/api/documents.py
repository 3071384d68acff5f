"""Documents for printers, as small as they can be; broken and hostile ones among them."""
import base64
import struct
import zlib

BLUE = b"0 0 1 rg 72 144 144 144 re f"  # a square of two inches, in the middle of 4 by 6


def objects(*list_, root=1, trailer=""):
    out, at = b"%PDF-1.7\n", []
    for n, o in enumerate(list_, 1):
        at.append(len(out))
        out += b"%d 0 obj\n" % n + (o if isinstance(o, bytes) else o.encode()) + b"\nendobj\n"
    x = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(list_) + 1) + b"".join(b"%010d 00000 n \n" % o for o in at)
    return out + f"trailer << /Size {len(list_) + 1} /Root {root} 0 R {trailer} >>\nstartxref\n{x}\n%%EOF\n".encode()


def stream(content, extra=""):
    return f"<< /Length {len(content)} {extra} >>\nstream\n".encode() + content + b"\nendstream"


def pdf(width=4, height=6, content=BLUE, page="", pages=1, node="", boxes=True):
    """Inches; page and node: more of the pages and of their parent."""
    box = f"/MediaBox [0 0 {width * 72} {height * 72}]" if boxes else ""
    kids = " ".join(f"{4 + i} 0 R" for i in range(pages))
    return objects("<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} {node} >>", stream(content),
                   *[f"<< /Type /Page /Parent 2 0 R {box} /Contents 3 0 R /Resources << >> {page} >>"] * pages)


def png(width, height, per_inch=None):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    density = chunk(b"pHYs", struct.pack(">IIB", round(per_inch / 0.0254), round(per_inch / 0.0254), 1)) if per_inch else b""
    pixels = b"".join(b"\0" + b"\x40" * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + density + chunk(b"IDAT", zlib.compress(pixels)) + \
        chunk(b"IEND", b"")


def b64(data):
    return base64.b64encode(data).decode()


def uri(data, type="application/pdf"):
    return f"data:{type};base64,{b64(data)}"


def bomb():
    """A page whose content is two gigabytes of zeros."""
    c = zlib.compressobj(9)
    packed = b"".join(c.compress(bytes(1 << 24)) for _ in range(128)) + c.flush()
    return objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [4 0 R] /Count 1 >>", stream(packed, "/Filter /FlateDecode"),
                   "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 288 432] /Contents 3 0 R >>")


def loop():
    """Pages that are their own parents."""
    return objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 /Parent 2 0 R >>")


def declared(size):
    """A stream that says it is that long."""
    return objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
                   f"<< /Length {size} >>\nstream\n0 0 1 rg\nendstream", "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 288 432] /Contents 3 0 R >>")


def wide_png(side):
    """An image that says it has that many pixels on each side, and has none."""
    return png(2, 2)[:16] + struct.pack(">II", side, side) + png(2, 2)[24:]


# ---- pictures of 40 by 60 dots: a blue square of 20 in the middle, and nothing around it ----

def picture():
    return [[(0, 0, 255) if 10 <= x < 30 and 20 <= y < 40 else None for x in range(40)] for y in range(60)]


def webp():
    """Lossless, with opacity; made by libwebp's own encoder."""
    return base64.b64decode("UklGRiwAAABXRUJQVlA4TCAAAAAvJ8AOEA8QMf/zHww1bRswZVb+nBaC/BH9nwAx5gZABA==")


def gif(interlaced=False):
    """Two colours of which the first is none; codes of nine bits, begun anew before they would grow."""
    rows = picture()
    order = [y for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(first, 60, step)] if interlaced else range(60)
    dots = [1 if c else 0 for y in order for c in rows[y]]
    codes = [c for i in range(0, len(dots), 200) for c in (256, *dots[i:i + 200])] + [257]
    bits = sum(code << 9 * i for i, code in enumerate(codes))
    data = bits.to_bytes((9 * len(codes) + 7) // 8, "little")
    blocks = b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255))
    return (b"GIF89a" + struct.pack("<HHBBB", 40, 60, 0xf0, 0, 0) + b"\x00\xff\x00" + b"\x00\x00\xff" + b"!\xf9\x04\x01\0\0\0\0" +
            b"," + struct.pack("<HHHHB", 0, 0, 40, 60, 0x40 if interlaced else 0) + b"\x08" + blocks + b"\0;")


def tiff(pages=1, per_inch=10, packed=False):
    """Pages of RGB, plain or packed by deflate."""
    out = b"II*\0" + struct.pack("<I", 8)
    for n in range(pages):
        raw = b"".join(bytes(c or (255, 255, 255)) for row in picture() for c in row)
        raw = zlib.compress(raw) if packed else raw
        at = len(out)
        more = at + 2 + 12 * 12 + 4
        bits, density, pixels = more, more + 6, more + 14
        tags = [(256, 3, 1, 40), (257, 3, 1, 60), (258, 3, 3, bits), (259, 3, 1, 8 if packed else 1), (262, 3, 1, 2), (273, 4, 1, pixels), (277, 3, 1, 3),
                (278, 4, 1, 60), (279, 4, 1, len(raw)), (282, 5, 1, density), (283, 5, 1, density), (296, 3, 1, 2)]
        end = pixels + len(raw) + len(raw) % 2
        out += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + struct.pack("<I", end if n + 1 < pages else 0)
        out += struct.pack("<HHHII", 8, 8, 8, per_inch, 1) + raw + bytes(len(raw) % 2)
    return out
