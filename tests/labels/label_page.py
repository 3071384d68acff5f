"""A label while it is laid out: elements for the drawing cell (docs/spec/05-documents-and-templates.md section 9.3), and beside them the truth of what was
printed in the names of docs/spec/06-inference.md section 3. Leaves to others: where things stand (label_layouts.py)."""
import datetime
import re

import label_numbers as numbers
import label_people as people

EMPTY = ("provider_id", "tracking_number", "service_level_name", "provider_service_level_id", "recipient", "sender", "weight", "package", "ship_date",
         "purchase_order", "order_number", "invoice_number", "rma_number", "reference_number", "account_id")
CAPTIONS = {"purchase_order": ["PO:", "PO #:", "P.O. NO:", "PURCHASE ORDER:", "PO#"], "order_number": ["ORDER #:", "ORDER NO:", "ORDER:", "ORD#"],
            "invoice_number": ["INV:", "INVOICE:", "INVOICE NO:"], "rma_number": ["RMA:", "RMA #:"], "reference_number": ["REF:", "REF#", "REFERENCE NO.1:", "REFERENCE:"]}
DATES = {"en": ["%d%b%y", "%d %b %Y", "%Y-%m-%d", "%m/%d/%Y"], "other": ["%d.%m.%Y", "%Y-%m-%d", "%d %b %Y"]}


def digits(chance, n):
    return str(chance.randint(1, 9)) + "".join(chance.choice("0123456789") for _ in range(n - 1))


def reference_of(chance, kind):
    """A value as customers write it; some look like tracking numbers."""
    return {"purchase_order": lambda: chance.choice((f"45{digits(chance, 8)}", f"PO-{digits(chance, 5)}", digits(chance, 6))),
            "order_number": lambda: chance.choice((f"{digits(chance, 3)}-{digits(chance, 7)}-{digits(chance, 7)}", f"SO{digits(chance, 7)}", digits(chance, 12), digits(chance, 6), f"77-{digits(chance, 5)}")),
            "invoice_number": lambda: chance.choice((f"INV-2026-{digits(chance, 4)}", digits(chance, 7))),
            "rma_number": lambda: chance.choice((f"RMA{digits(chance, 6)}", digits(chance, 8))),
            "reference_number": lambda: chance.choice((digits(chance, 15), f"{chance.choice('ABKTX')}{digits(chance, 4)}-{digits(chance, 3)}", digits(chance, 10)))}[kind]()


class Label:
    """One label. Printed through its functions, a value is noted as true."""

    def __init__(self, chance, row, day):
        self.chance, self.row = chance, row
        self.raw, self.codes, self.kept = [], [], {}
        self.truth = dict.fromkeys(EMPTY)
        self.width, self.height = 288, 432
        self.family = chance.choices(("sans", "inter", "mono", "serif"), (45, 40, 10, 5))[0]
        self.day = day - datetime.timedelta(days=chance.randrange(60))
        self.origin, self.target = chance.choice(row.get("from", ["US"])), chance.choice(row.get("to", ["US"]))
        abroad, upper = self.origin != self.target, chance.random() < 0.6
        self.recipient = people.party(chance, self.target, upper=upper, abroad=abroad, firms=0.4)
        self.sender = people.party(chance, self.origin, upper=upper, abroad=abroad, firms=0.8)
        self.words = people.WORDS[people.PLACES[self.origin]["language"]]
        self.english = self.words is people.WORDS["en"]
        self.pieces = (1, 1)
        if chance.random() < 0.4:
            total = chance.randint(2, 9)
            self.pieces = (chance.randint(1, total), total)
        self.pounds = self.origin == "US"
        self.heavy = round(chance.choice((chance.uniform(0.2, 5), chance.uniform(5, 65))), chance.choice((0, 1, 1, 2))) or 1.0
        self.service_row = chance.choice(row["services"]) if row.get("services") else None
        self.number = None
        if row["format"]:
            end = self.origin if "country" in self.format() else None
            self.set_number(numbers.number_of(chance, self.format(), f"[A-Z]{{2}}[0-9]{{9}}{end}" if end else row.get("number")))

    def format(self):
        return next(f for f in numbers.FORMATS if f["id"] == self.row["format"])

    def set_number(self, number):
        """Takes a number of the row's format as that of this label."""
        self.number = number
        core = numbers.fits(self.format(), number)
        self.truth |= {"provider_id": numbers.provider_of(self.format(), number), "tracking_number": core}

    # ---- elements ----

    def text(self, x, y, value, size=9, bold=False, width=None, align=None, family=None, **more):
        e = {"type": "text", "x": x, "y": y, "value": value, "height": size, "font_family": family or self.family, **more}
        if bold:
            e["font_weight"] = "bold"
        if not width and not align and "rotate" not in more:
            width = self.width - x - 5
        if width:
            e |= {"width": width, "shrink_to": max(size * 0.55, 4)}
        if align:
            e["align"] = align
        self.raw.append(e)

    def rule(self, y, x=0, width=None, thickness=1.5):
        self.raw.append({"type": "line", "x": x, "y": y, "width": (width or self.width) - (0 if width else x), "thickness": thickness})

    def bar(self, x, y, height, thickness=1.5):
        self.raw.append({"type": "line", "x": x, "y": y, "height": height, "thickness": thickness})

    def box(self, x, y, width, height, fill=None, thickness=1.5):
        self.raw.append({"type": "rect", "x": x, "y": y, "width": width, "height": height, **({"fill": fill} if fill else {"stroke": "#000", "thickness": thickness})})

    def keep(self, name, x, y, width, height):
        """Notes where something stands that a reader must find."""
        old = self.kept.get(name)
        if old:
            right, bottom = max(x + width, old[0] + old[2]), max(y + height, old[1] + old[3])
            x, y = min(x, old[0]), min(y, old[1])
            width, height = right - x, bottom - y
        self.kept[name] = [x, y, width, height]

    def code(self, symbology, x, y, value, purpose, *, width=None, height=None, read=None, **more):
        """A barcode. read: what a scanner says, where that is not the value."""
        e = {"type": "barcode", "symbology": symbology, "x": x, "y": y, "value": value, **({"width": width} if width else {}), **({"height": height} if height else {}), **more}
        self.raw.append(e)
        self.codes.append({"symbology": symbology, "value": read or re.sub(r"[()]", "", value) if symbology.startswith("gs1") else read or value, "purpose": purpose})

    # ---- what a reader is to find ----

    def party(self, role, x, y, size, width, *, captions=True, gap=1.22, bold=None, phone=None):
        """Prints a party. captions: True one of the language, a text, or False. Returns the y below it."""
        made = self.recipient if role == "recipient" else self.sender
        if captions:
            said = captions if isinstance(captions, str) else self.chance.choice(self.words["to" if role == "recipient" else "from"])
            self.text(x, y, said, min(max(size * 0.8, 6), 10), bold=self.chance.random() < 0.5)
            y += min(max(size * 0.8, 6), 10) * 1.35
        lines = list(made["lines"])
        if phone is None:
            phone = self.chance.random() < 0.4
        if made["phone"] and phone:
            lines.insert(self.chance.choice((1, len(lines))), self.chance.choice(("", self.chance.choice(self.words["phone"]) + " ")) + made["phone"])
        else:
            made["phone"] = None
        top = y
        for i, line in enumerate(lines):
            self.text(x, y, line, size, bold=bold if bold is not None else False, width=width)
            y += size * gap
        self.keep(role, x, top, width, y - top)
        self.truth[role] = people.truth_of(made)
        return y

    def tracking_text(self, x, y, size, caption=None, *, width=None, bold=True, number=None, align=None):
        said = caption if caption is not None else self.chance.choice(self.words["tracking"])
        shown = number or self.grouped()
        self.text(x, y, f"{said} {shown}".strip(), size, bold=bold, width=width, align=align)
        self.keep("tracking_text", x if align != "center" else x - (width or 0) / 2, y, width or self.width - x, size * 1.2)

    def grouped(self, number=None):
        """The number as people read it: in groups of four where it is one of digits."""
        number = number or self.truth["tracking_number"]
        if self.row["format"] == "ups_1z":
            return f"{number[:2]} {number[2:5]} {number[5:8]} {number[8:10]} {number[10:14]} {number[14:]}"
        if number.isdigit() and len(number) in (12, 16, 20, 22, 24, 26):
            return " ".join(number[i:i + 4] for i in range(0, len(number), 4))
        if self.row["format"] == "s10":
            return self.chance.choice((number, f"{number[:2]} {number[2:5]} {number[5:8]} {number[8:11]} {number[11:]}"))
        return number

    def tracking_code(self, x, y, width, height, symbology="code128", value=None, read=None):
        self.code(symbology, x, y, value or self.number, "tracking", width=width, height=height, read=read)
        self.keep("tracking_code", x, y, width, height)

    def service(self, x, y, size, *, bold=True, width=None, caption=""):
        if self.service_row:
            printed, level, own = self.service_row
            self.text(x, y, caption + printed, size, bold=bold, width=width)
            self.truth |= {"service_level_name": level, "provider_service_level_id": own}

    def weight(self, x, y, size, form=None, **more):
        unit = "lb" if self.pounds else "kg"
        value = f"{self.heavy:g}"
        if not form:
            caption = self.chance.choice(self.words["weight"])
            form = self.chance.choice((f"{caption} {{v}} {{u}}", "{v} {u}")) if self.english else f"{caption} {{v}} {{u}}"
        said = self.chance.choice(("LBS", "LB", "lb") if self.pounds else ("kg", "KG"))
        if not self.pounds and not self.english and self.chance.random() < 0.5:
            value = value.replace(".", ",")
        self.text(x, y, form.format(v=value, u=said), size, **more)
        self.truth["weight"] = {"value": float(f"{self.heavy:g}"), "unit": unit}

    def dated(self, x, y, size, form=None, caption=None, **more):
        form = form or self.chance.choice(DATES["en" if self.english and self.origin == "US" else "other"])
        said = caption if caption is not None else self.chance.choice(self.words["date"])
        self.text(x, y, f"{said} {self.day.strftime(form).upper()}".strip(), size, **more)
        self.truth["ship_date"] = self.day.isoformat()

    def package(self, x, y, size, form=None, **more):
        n, m = self.pieces
        self.text(x, y, (form or self.chance.choice(self.words["package"])).format(n=n, m=m), size, **more)
        self.truth["package"] = {"number": n, "total": m}

    def references(self, x, y, size, count, *, width=130, kinds=None, gap=1.3):
        """Some references, each with its caption. Returns the y below."""
        for kind in self.chance.sample(kinds or list(CAPTIONS), count):
            value = reference_of(self.chance, kind)
            while not self.row["format"] and numbers.detect(value):
                value = reference_of(self.chance, kind)
            self.text(x, y, f"{self.chance.choice(CAPTIONS[kind])} {value}", size, width=width)
            self.truth[kind] = value
            y += size * gap
        return y

    def postal(self, n=None):
        """The recipient's code without blanks and dashes, of at most n signs."""
        return re.sub(r"\W", "", self.recipient["address"]["postal_code"] or "")[:n]

    def postal_code(self, x, y, width, height):
        """420 and the code, or 421 with the country: where it goes, and no tracking number."""
        zip_code = self.postal(5) if self.target == "US" else self.postal()
        value = "420" + zip_code if self.target == "US" else f"421{people.PLACES[self.target]['numeric']:03}{zip_code}"
        self.code("code128", x, y, value, "postal", width=width, height=height)

    def reference_code(self, x, y, width, height):
        """A barcode that is nobody's tracking number."""
        kind = self.chance.choice(("order", "sscc", "sku"))
        if kind == "sscc" and self.row["format"]:
            body = "0" + digits(self.chance, 16)
            sscc = body + numbers.check_sign({"name": "mod10", "params": [3, 1]}, body)
            self.code("gs1_128", x, y, f"(00){sscc}", "sscc", width=width, height=height)
            return
        for _ in range(1000):
            value = digits(self.chance, self.chance.choice((8, 9, 13))) if kind == "order" else f"{self.chance.choice('ABDKX')}{digits(self.chance, 3)}-{digits(self.chance, 4)}"
            if not numbers.detect(value):
                break
        self.code("code39" if kind == "sku" and self.chance.random() < 0.3 else "code128", x, y, value, "reference", width=width, height=height)

    def request(self):
        """The request for the drawing cell."""
        return {"now": "2026-01-05T10:00:00.000Z", "body": {"size": "custom", "width": self.width, "height": self.height, "dpi": 203, "snap_barcodes": 203, "raw": self.raw}}
