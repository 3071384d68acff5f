"""Where a photograph was taken is not kept (docs/spec/06-inference.md section 7.2)."""
import io
import struct

import pytest
from PIL import Image

from readings import drawn, read

GPS, MODEL, PHONE = 0x8825, 0x0110, "Pocket Camera 7"
PLACE = {1: "N", 2: (40.0, 44.0, 12.5), 3: "W", 4: (74.0, 10.0, 33.25), 29: "2026:11:30"}


def taken_at(format):
    """A label as a phone photographs it: with its model, and the place."""
    exif = Image.Exif()
    exif[MODEL] = PHONE
    exif[GPS] = PLACE
    to = io.BytesIO()
    with Image.open(io.BytesIO(drawn())) as picture:
        if format == "TIFF":  # Pillow writes no GPS into one
            picture.convert("L").save(to, format, tiffinfo={MODEL: PHONE})
            return with_place(to.getvalue())
        picture.convert("RGB").save(to, format, exif=exif)
    return to.getvalue()


def with_place(tiff):
    """The file with its directory once more at its end, and with one of GPS that has a date."""
    at, = struct.unpack_from("<I", tiff, 4)
    n, = struct.unpack_from("<H", tiff, at)
    entries = [tiff[at + 2 + 12 * i:at + 14 + 12 * i] for i in range(n)]
    gps = len(tiff) + len(tiff) % 2
    date, own = b"2026:11:30\0\0", gps + 2 + 12 + 4
    directory = struct.pack("<H", 1) + struct.pack("<HHII", 29, 2, 11, own) + bytes(4) + date
    entries.append(struct.pack("<HHII", GPS, 4, 1, gps))
    first = gps + len(directory)
    tiff = tiff[:4] + struct.pack("<I", first) + tiff[8:] + bytes(len(tiff) % 2) + directory
    return tiff + struct.pack("<H", n + 1) + b"".join(sorted(entries, key=lambda e: struct.unpack_from("<H", e))) + bytes(4)


def places(data):
    with Image.open(io.BytesIO(data)) as picture:
        exif = picture.getexif()
        return exif.get(MODEL), dict(exif.get_ifd(GPS)) if GPS in exif else {}


def stored(server, client, row):
    url = row["image_url"]
    return client.http.get(server.base + url if url.startswith("/") else url).content


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_the_stored_image_has_no_place(server, client, format):
    data = taken_at(format)
    assert places(data)[1]
    row = read(client, data).data
    kept = stored(server, client, row)
    model, place = places(kept)
    assert (model, place, len(kept)) == (PHONE, {}, len(data)) and b"2026:11:30" not in kept
    assert row["tracking_number"], "it is read as before"


def test_an_image_without_a_place_stays_as_it_is(server, client):
    data = drawn()
    assert stored(server, client, read(client, data).data) == data
