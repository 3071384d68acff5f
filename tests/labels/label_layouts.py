"""Where things stand on a label: the structure of the large carriers' labels, and some that fit all others. Points from the top left; 288 by 432 is 4 by 6
inches. Nothing of a carrier's design is copied: no logos, the order and kind of the blocks only."""
import math
import unicodedata

import label_numbers as numbers
import label_people as people
from label_page import digits

MAXICODE_ROOM = 80  # signs of the second message; streets are cut
RS, GS, EOT = "\x1e", "\x1d", "\x04"
UPS_SERVICES = {"03": ("UPS GROUND", "ground", None), "02": ("UPS 2ND DAY AIR", "two_day", "2nd_day_air"), "01": ("UPS NEXT DAY AIR", "overnight", None),
                "13": ("UPS NEXT DAY AIR SAVER", "overnight", "next_day_air_saver"), "YW": ("UPS SUREPOST", "economy", "sure_post"), "12": ("UPS 3 DAY SELECT", "express", None)}
UPS_ABROAD = {"66": ("UPS WORLDWIDE EXPRESS", "international", None)}
FEDEX_SERVICES = [("PRIORITY OVERNIGHT", "overnight", "priority_overnight", "FDE", 1), ("STANDARD OVERNIGHT", "overnight", "standard_overnight", "FDE", 5),
                  ("GROUND", "ground", "fedex_ground", "FDEG", 92), ("HOME DELIVERY", "ground", "ground_home_delivery", "FDEG", 90), ("2DAY", "two_day", None, "FDE", 3)]
USPS_SERVICES = [("USPS PRIORITY MAIL", "two_day", None, "P"), ("USPS GROUND ADVANTAGE", "ground", None, "G"), ("USPS PRIORITY MAIL EXPRESS", "overnight", None, "E"),
                 ("USPS FIRST-CLASS PKG", "postal", None, "F")]


def ups(l):
    c = l.chance
    services = UPS_SERVICES if l.target == "US" else UPS_ABROAD
    code = c.choices(list(services), [6] + [2] * (len(services) - 1))[0]
    l.set_number(numbers.number_of(c, l.format(), f"1Z[A-Z0-9]{{3}}[0-9]{{3}}{code}[0-9]{{8}}"))
    l.service_row = services[code]
    l.heavy = float(math.ceil(l.heavy))  # as its MaxiCode says it
    l.party("sender", 8, 6, 7.5, 150, captions=False, phone=True)
    l.weight(176, 6, 13, "{v} {u}", bold=True)
    l.package(238, 6, 13, "{n} OF {m}", bold=True)
    l.party("recipient", 30, 66, 10.5, 248, captions=c.choice(("SHIP TO:", "SHIP", "Ship To:")), bold=c.random() < 0.4)
    l.rule(150)
    a = l.recipient["address"]
    zip_code = l.postal(9)
    if l.target == "US":
        primary = {"postcode": zip_code, "country": 840, "class": int(code) if code.isdigit() else 3}
    else:
        primary = {"postcode": l.postal(6).upper(), "country": people.PLACES[l.target]["numeric"], "class": 66}
    n, m = l.pieces
    number = l.truth["tracking_number"]
    head = GS.join([f"[)>{RS}01", f"96{number[:2]}{number[-8:]}", "UPSN", number[2:8], f"{l.day.timetuple().tm_yday:03}", "", f"{n}/{m}", f"{l.heavy:.0f}", "N", ""])
    tail = GS + plain(a["city"])[:20] + GS + (a["state_code"] or "") + RS + EOT
    second = head + plain(a["line1"])[:MAXICODE_ROOM - len(head) - len(tail)] + tail
    l.code("maxicode", 10, 158, second, "carrier_2d", width=82, height=82, options={"primary": primary})
    l.bar(98, 150, 96)
    l.text(106, 156, f"{a['state_code'] or l.target} {zip_code[:3]} 9-{c.randint(10, 99)}", 24, bold=True, width=176)
    l.postal_code(112, 190, 150, 46)
    l.rule(246, thickness=5)
    l.service(8, 254, 19, width=220)
    l.tracking_text(8, 278, 9.5, "TRACKING #:", width=230, bold=c.random() < 0.5)
    l.box(250, 252, 32, 34, fill="#000")
    l.rule(294)
    l.tracking_code(28, 300, 232, c.choice((76, 84)))
    l.rule(390, thickness=5)
    l.text(8, 396, "BILLING: P/P", 7.5)
    l.references(110, 396, 7.5, c.choice((0, 1, 2)), width=170)
    l.text(8, 420, f"XOL {c.randint(20, 26)}.{c.randint(10, 12)}.{c.randint(10, 30)}  NV45 {c.randint(10, 99)}.0A {l.day.strftime('%m/%Y')}", 5.5)


def plain(s):
    """Without letters that a symbol's own set lacks."""
    return unicodedata.normalize("NFKD", s.replace("ß", "ss").replace("ø", "o").replace("Ø", "O")).encode("ascii", "ignore").decode().upper()


def fedex(l):
    c, a = l.chance, l.recipient["address"]
    printed, level, own, kind, service_class = c.choice(FEDEX_SERVICES)
    zip_code = l.postal(5) if l.target == "US" else "00000"
    l.set_number(numbers.number_of(c, l.format(), f"10[0-9]{{13}}{zip_code}00[1-9][0-9]{{11}}"))
    number, (n, m) = l.truth["tracking_number"], l.pieces
    l.service_row = (printed, level, own)
    l.heavy = max(round(l.heavy, 1), 0.1)
    account = digits(c, 9)
    l.text(8, 6, f"ORIGIN ID:{c.choice(('SEAA', 'OAKA', 'JFKA', 'MEMA'))}", 6.5)
    l.party("sender", 8, 14, 6.5, 150, captions=False, phone=True, gap=1.18)
    l.bar(170, 4, 58, 0.7)
    l.dated(176, 6, 6.5, "%d%b%y", "SHIP DATE:")
    l.weight(176, 15, 6.5, "ACTWGT: {v} {u}")
    l.text(176, 24, f"CAD: {account}/INET4535", 6.5)
    l.truth["account_id"] = account
    if c.random() < 0.6:
        l.text(176, 33, f"DIMS: {c.randint(4, 30)}x{c.randint(4, 20)}x{c.randint(2, 20)} IN", 6.5)
    l.text(176, 50, "BILL SENDER", 6.5)
    l.rule(70, thickness=0.8)
    l.text(6, 74, "TO", 9, bold=True)
    y = l.party("recipient", 28, 74, 9.5, 250, captions=False, bold=c.random() < 0.4, gap=1.16)
    values = {}
    for i, (caption, kind_of) in enumerate((("REF:", "reference_number"), ("INV:", "invoice_number"), ("PO:", "purchase_order"))):
        value = digits(c, c.choice((5, 7, 9))) if c.random() < 0.45 else ""
        l.text((8, 8, 140)[i], (y + 3, y + 12, y + 12)[i], f"{caption} {value}", 6.5)
        if value:
            l.truth[kind_of] = values[kind_of] = value
    pdf = GS.join([f"[)>{RS}01", "02" + zip_code if l.target == "US" else "02" + l.postal(), f"{people.PLACES[l.target]['numeric']:03}", f"{service_class:03}", number + "0201", kind, account, f"{l.day.timetuple().tm_yday:03}", "",
                   f"{n}/{m}", f"{l.heavy:.1f}{'LB' if l.pounds else 'KG'}", "N", plain(a["line1"])[:35], plain(a["city"])[:20], a["state_code"] or "", plain(l.recipient["name"] or l.recipient["business"])[:35]])
    pdf += RS + GS.join(["06", "10ZGH007"] + [k + plain(v)[:35] for k, v in (("11Z", l.recipient["business"]), ("14Z", a["line2"])) if v] + ["31Z" + l.number] + (["9K" + values["reference_number"]] if "reference_number" in values else [])) + RS + EOT
    l.code("pdf417", 12, 178, pdf, "carrier_2d", width=264, height=62, columns=c.choice((12, 13)))
    l.rule(248)
    if m > 1:
        l.text(8, 252, f"{n} of {m}", 8, bold=True)
        l.truth["package"] = {"number": n, "total": m}
        if n > 1 and kind == "FDE":
            master = numbers.number_of(c, next(f for f in numbers.FORMATS if f["id"] == "fedex_12"))
            l.text(8, 282, f"Mstr# {master[:4]} {master[4:8]} {master[8:]}", 7)
    l.tracking_text(8, 264, 12, c.choice(("TRK#", "TRK# ")), width=150)
    l.text(170, 264, "0201", 8)
    l.service(176, 252, 12, width=108)
    l.text(8, 294, f"{c.choice(('XH', 'NA', 'WP'))} {c.choice(('SEAA', 'OAKA', 'DFWA', 'ATLA'))}", 20, bold=True)
    l.text(190, 296, zip_code if l.target == "US" else l.target, 20, bold=True)
    l.text(190, 318, f"{a['state_code'] or ''}-{l.target}", 8)
    l.tracking_code(20, 334, 250, 82)


def usps(l):
    c = l.chance
    printed, level, own, letter = c.choice(USPS_SERVICES)
    l.service_row = (printed, level, own)
    l.box(0.8, 0.8, 286, 430)
    l.text(24, 4, letter, 62, bold=True, family="sans")
    l.bar(90, 0, 76)
    if c.random() < 0.7:
        l.code("datamatrix", 232, 10, digits(c, 30), "unknown", width=44, height=44)
    l.text(100, 12, "US POSTAGE AND FEES PAID", 8)
    l.dated(100, 24, 7.5, "%Y-%m-%d", "")
    l.weight(100, 35, 7.5, "{v} {u} PKG")
    l.text(100, 46, f"{digits(c, 9)}", 6.5)
    l.rule(76)
    l.service(10, 82, 16, width=268)
    l.rule(104)
    l.party("sender", 10, 110, 7.5, 170, captions=False, phone=False)
    if c.random() < 0.6:
        l.text(226, 112, f"{c.randint(1, 99):04}", 12, bold=True)
        l.text(226, 128, f"C{c.randint(10, 99):03}", 10)
    l.party("recipient", 52, 178, 10.5, 228, captions=False, phone=False)
    if c.random() < 0.7:
        l.text(14, 176, "SHIP", 8, bold=True)
    l.text(14, 186, "TO:", 8, bold=True)
    l.rule(268, thickness=3)
    l.tracking_text(144, 274, 9, c.choice(("USPS TRACKING # EP", "USPS TRACKING #", "USPS TRACKING # USPS Ship")), number=" ", align="center", width=260)
    code = l.postal(9) if len(l.postal()) == 9 and c.random() < 0.3 else l.postal(5)
    l.tracking_code(20, 290, 250, 72, "gs1_128", f"(420){code}({l.number[:2]}){l.number[2:]}")
    l.tracking_text(144, 368, 10.5, "", align="center", width=250)
    l.rule(384, thickness=3)
    l.references(12, 392, 7.5, c.choice((0, 1, 2)), width=180)


def dhl_express(l):
    c = l.chance
    l.service_row = ("EXPRESS WORLDWIDE", "international", None) if l.origin != l.target else ("EXPRESS DOMESTIC", "express", None)
    l.height = 460
    l.service(8, 8, 15, width=180)
    l.text(214, 6, "DHL", 20, bold=True, italic=True)
    l.dated(8, 28, 6.5, "%Y-%m-%d", "")
    l.text(60, 28, "MYDHL+ 1.0 / *30-0821*", 6.5)
    l.rule(40)
    y = l.party("sender", 34, 44, 7, 180, captions="From :", phone=True)
    l.text(236, 48, "Origin", 6.5)
    l.text(236, 56, {"US": "JFK", "DE": "FRA", "GB": "LHR", "CN": "SZX", "NL": "AMS", "HK": "HKG"}.get(l.origin, "CDG"), 13, bold=True)
    l.rule(max(y, 104) + 2)
    l.party("recipient", 34, max(y, 104) + 6, 9.5, 240, captions="To :", bold=c.random() < 0.5)
    l.rule(206)
    l.text(14, 210, f"{l.target}-{c.choice(('LAX', 'ORD', 'LHR', 'FRA', 'CDG', 'SYD'))}-{c.choice(('GTW', 'ABC', 'VNY'))}", 22, bold=True)
    l.rule(238)
    l.references(8, 242, 7, c.choice((0, 1)), width=120)
    l.weight(140, 242, 8, "Pce/Shpt Weight {v} {u}")
    l.package(236, 242, 9, "{n}/{m}", bold=True)
    l.tracking_code(60, 262, 170, 56)
    shown = f"{l.number[:2]} {l.number[2:6]} {l.number[6:]}"
    l.tracking_text(144, 322, 9, "WAYBILL", number=shown, align="center", width=200)
    zip_code = l.postal(5) if l.target == "US" else l.postal()
    l.code("code128", 40, 338, f"2L{l.target}{zip_code}+{digits(c, 8)}", "routing", width=210, height=44)
    l.text(144, 384, f"(2L){l.target}{zip_code}+", 7, align="center")
    licence = f"JD01{digits(c, 16)}"
    l.code("code128", 24, 396, "J" + licence, "reference", width=240, height=44)
    l.text(144, 442, f"(J) {licence[:4]} {licence[4:8]} {licence[8:12]} {licence[12:16]} {licence[16:]}", 7, align="center")


def dhl_ecommerce(l):
    c = l.chance
    l.service_row = ("DHL SmartMail Parcel Plus Ground", "economy", None)
    l.text(10, 8, "DHL eCommerce", 16, bold=True)
    l.rule(30)
    l.party("sender", 10, 36, 7.5, 180)
    l.weight(214, 38, 8)
    l.party("recipient", 30, 110, 11, 240, bold=c.random() < 0.4)
    l.rule(206)
    l.service(10, 212, 11, width=260)
    l.tracking_code(26, 240, 236, 76)
    l.tracking_text(144, 320, 10, align="center", width=250)
    l.rule(340)
    l.postal_code(30, 350, 150, 44)
    l.references(10, 404, 7.5, c.choice((0, 1)), width=180)


def dhl_paket(l):
    c = l.chance
    l.service_row = ("DHL PAKET", "ground", None)
    l.width, l.height = 298, 420
    l.text(10, 8, "DHL", 20, bold=True, italic=True)
    l.service(64, 12, 14, width=140)
    l.rule(34)
    l.party("sender", 10, 40, 7, 170, captions=c.choice(("Von:", "Absender")))
    l.dated(200, 42, 7, "%d.%m.%Y")
    l.weight(200, 54, 7)
    l.package(200, 66, 7)
    l.rule(102)
    l.party("recipient", 26, 108, 10.5, 250, captions=c.choice(("An:", "Empfänger")), bold=c.random() < 0.3)
    l.rule(196)
    l.code("code128", 34, 206, f"{l.postal(5)}{digits(c, 9)}", "routing", width=220, height=56)
    l.text(149, 266, "Leitcode", 6.5, align="center")
    l.tracking_code(40, 290, 220, 72)
    l.tracking_text(149, 368, 9, c.choice(("Sendungsnr.:", "Identcode")), align="center", width=250)
    l.references(10, 392, 7, c.choice((0, 1)), width=170)


def amazon(l):
    c = l.chance
    l.service_row = (c.choice(("AMZL US", "Amazon Logistics", "STANDARD")), None, None)
    l.party("sender", 8, 8, 7.5, 150, captions=c.random() < 0.5, phone=False)
    l.text(206, 8, "amazon", 15, bold=True)
    l.weight(206, 30, 8)
    l.rule(74)
    l.party("recipient", 24, 80, 11, 250, captions="SHIP TO:", phone=False)
    l.rule(172)
    l.code("qr", 12, 182, l.number, "tracking", width=84, height=84, ecc="M")
    l.text(116, 184, f"{c.choice(('SEA', 'PDX', 'DNJ', 'DCA', 'ONT'))}{c.randint(1, 9)}", 40, bold=True, width=160)
    l.text(116, 238, f"CYCLE {c.randint(1, 3)}", 12, bold=True)
    l.text(116, 254, l.day.strftime("%a %d %b").upper(), 9)
    l.rule(276)
    l.tracking_code(26, 286, 236, 82)
    l.tracking_text(144, 372, 11, "", align="center", width=250)
    l.rule(394)
    l.references(10, 402, 7.5, 1, width=200, kinds=["order_number", "reference_number"])
    l.truth["service_level_name"] = None


def regional(l):
    c = l.chance
    l.service_row = c.choice((("GROUND", "ground", None), ("SAME DAY", "same_day", None), ("OVERNIGHT", "overnight", None)))
    l.text(10, 8, l.row["title"], 18, bold=True, width=170)
    l.text(206, 6, c.choice(("SEA", "ONT", "OAK", "LAX", "JFK")), 30, bold=True)
    l.rule(44)
    l.party("sender", 10, 50, 7.5, 180)
    l.dated(206, 52, 7)
    l.weight(206, 64, 7)
    l.package(206, 76, 7)
    l.rule(116)
    l.party("recipient", 26, 122, 11.5, 250, bold=c.random() < 0.5)
    l.rule(214)
    l.service(10, 222, 16, width=150)
    if c.random() < 0.6:
        l.code("qr", 206, 222, l.number, "tracking", width=62, height=62, ecc="M")
    l.references(10, 246, 8, c.choice((1, 2)), width=180)
    l.rule(292)
    l.tracking_code(24, 302, 240, 84)
    l.tracking_text(144, 392, 11, c.choice(("", None)), align="center", width=260)


def canada_post(l):
    c = l.chance
    l.service_row = c.choice((("Expedited Parcel / Colis accélérés", "ground", None), ("Xpresspost", "express", None), ("Priority / Prioritaire", "overnight", None), ("Regular Parcel / Colis standard", "ground", None)))
    l.text(10, 8, "CANADA POST / POSTES CANADA", 10, bold=True)
    l.service(10, 24, 13, width=200)
    l.weight(226, 26, 8, "{v} {u}")
    l.rule(46)
    l.party("recipient", 26, 52, 11, 250, captions=c.choice(("To / À", "TO / À:", "TO:")))
    l.rule(146)
    l.party("sender", 26, 152, 8, 200, captions=c.choice(("From / De", "FROM / DE:", "FROM:")))
    l.rule(226)
    l.dated(10, 232, 7.5, "%Y-%m-%d")
    l.references(10, 246, 7.5, c.choice((1, 2)), width=180)
    l.text(190, 234, l.postal(3).upper(), 30, bold=True)
    l.rule(276, thickness=3)
    l.tracking_text(144, 284, 10, c.choice(("PIN / NIP", "")), align="center", width=250)
    l.tracking_code(44, 302, 200, 84)
    l.package(10, 400, 8)


def dpd(l):
    """Its barcode has % in front and no check sign; people read the parcel's fourteen digits and their check sign."""
    c = l.chance
    l.width, l.height = 298, 420
    l.service_row = ("DPD CLASSIC", "ground", None)
    l.text(220, 8, "dpd", 22, bold=True)
    l.party("recipient", 12, 10, 10.5, 200, captions=c.random() < 0.4)
    l.rule(104)
    l.party("sender", 12, 110, 7, 180)
    l.package(220, 110, 8, "{n}/{m}")
    l.weight(220, 124, 8)
    l.references(12, 172, 7, 1, width=170)
    l.rule(188)
    n = l.number
    l.text(12, 196, "Track", 7)
    l.tracking_text(12, 204, 15, "", number=f"{n[:4]} {n[4:7]} {n[7:10]} {n[10:12]} {n[12:14]} {n[14]}", width=190)
    l.service(212, 200, 10, width=80)
    l.text(12, 228, f"{l.target}-DPD-0{c.randint(100, 999)}", 24, bold=True)
    whole = f"{l.postal(7):0>7}".upper()[:7] + n[:14] + "101" + f"{people.PLACES[l.target]['numeric']:03}"
    l.rule(262)
    l.tracking_code(34, 276, 230, 90, value="%" + whole)
    l.text(149, 372, f"{whole[:7]} {n[:4]} {n[4:8]} {n[8:12]} {n[12:14]} 101 {whole[-3:]} {numbers.mod37_36(whole) if whole.isalnum() else ''}", 8, align="center", width=260)


def postnl(l):
    c = l.chance
    l.width, l.height = 298, 420
    l.service_row = ("Pakket", None, None)
    l.text(210, 8, "PostNL", 16, bold=True)
    l.party("sender", 12, 12, 7, 170, captions=c.choice(("Afzender:", "Van:")))
    l.rule(80)
    l.party("recipient", 20, 90, 12, 250, captions=c.choice(("Aan:", False)))
    l.rule(196)
    l.references(12, 204, 8, c.choice((0, 1)), width=170)
    l.weight(200, 204, 8)
    l.tracking_text(149, 232, 12, c.choice(("", "Barcode:")), align="center", width=250)
    l.tracking_code(40, 254, 220, 90)
    l.code("code128", 60, 360, f"{l.postal()}{c.randint(1, 240)}", "routing", width=170, height=34)


def colissimo(l):
    c = l.chance
    l.service_row = ("COLISSIMO", "ground", None)
    l.service(12, 8, 18, width=170)
    l.text(206, 12, "La Poste", 12, bold=True)
    l.rule(36)
    l.party("sender", 12, 42, 7.5, 170, captions=c.choice(("EXPÉDITEUR", "Expéditeur :")))
    l.weight(206, 44, 8)
    l.dated(206, 58, 7.5, "%d/%m/%Y" if l.day.day > 12 else "%d %b %Y")
    l.rule(116)
    l.party("recipient", 26, 122, 11, 250, captions=c.choice(("DESTINATAIRE", "Destinataire :")))
    l.rule(214)
    l.tracking_code(34, 226, 220, 84)
    n = l.number
    l.tracking_text(144, 314, 11, c.choice(("N° de suivi :", "")), number=f"{n[:2]} {n[2:7]} {n[7:12]} {n[12:]}", align="center", width=250)
    l.rule(336)
    l.references(12, 344, 8, c.choice((0, 1)), width=180)
    l.code("code128", 50, 370, f"{l.postal()}{digits(c, 8)}", "routing", width=190, height=40)


def freight(l):
    """A bill of a carrier of pallets: letters rather than codes."""
    c = l.chance
    l.width, l.height = 432, 288
    l.service_row = ("LTL STANDARD", "freight", None)
    l.text(12, 8, l.row["title"], 14, bold=True)
    l.rule(28)
    l.party("sender", 12, 34, 8, 190, captions="SHIPPER")
    l.party("recipient", 224, 34, 10, 196, captions="CONSIGNEE")
    l.bar(214, 28, 110)
    l.rule(138)
    l.service(12, 146, 10)
    l.weight(12, 162, 9)
    l.dated(12, 176, 8)
    l.references(12, 190, 8, 2, width=170)
    l.package(12, 216, 10, "PALLET {n} OF {m}")
    l.tracking_text(224, 146, 13, c.choice(("PRO NUMBER", "PRO #")), width=196)
    l.tracking_code(224, 168, 190, 80)


def post(l):
    """Letters and parcels of the posts, with a number of the Universal Postal Union."""
    c = l.chance
    l.width, l.height = c.choice(((288, 432), (298, 420), (288, 288), (420, 298)))
    kind = c.choice(("C", "R", "E", "L"))
    l.set_number(numbers.number_of(c, l.format(), f"{kind}[A-Z][0-9]{{9}}{l.origin}"))
    l.service_row = {"C": ("PARCEL", "postal", None), "R": ("REGISTERED", "postal", None), "E": ("EMS", "express", None), "L": ("TRACKED", "postal", None)}[kind]
    half = l.height / 2
    l.text(10, 6, numbers.NAMES[l.truth["provider_id"]], 13, bold=True, width=l.width * 0.62)
    l.service(l.width * 0.68, 8, 11, width=l.width * 0.3)
    l.rule(26)
    wide = l.width > l.height
    l.party("sender", 10, 32, 7.5, l.width * 0.45)
    l.party("recipient", (l.width * 0.5) if wide else 24, 32 if wide else 104, 10, l.width * 0.46 if wide else 240)
    top = max(half, 196)
    l.rule(top - 4)
    l.weight(10, top + 2, 7.5)
    l.dated(l.width * 0.55, top + 2, 7.5)
    room = l.height - top - 44
    l.tracking_code(l.width / 2 - 100, top + 18, 200, min(room, 80))
    l.tracking_text(l.width / 2, top + 22 + min(room, 80), 11, c.choice(("", None)), align="center", width=250)


# ---- layouts for all others ----

def stacked(l):
    """Sender above, recipient below, the barcode at the foot."""
    c = l.chance
    l.text(10, 8, l.row["title"], 15, bold=True, width=170)
    l.service(10, 28, 11, width=260)
    l.rule(46)
    l.party("sender", 10, 52, c.choice((7.5, 8.5)), 180)
    l.weight(206, 54, 8)
    l.dated(206, 67, 7.5)
    l.package(206, 80, 8)
    l.rule(124)
    l.party("recipient", 22, 130, c.choice((10.5, 12)), 250, bold=c.random() < 0.4)
    l.rule(226)
    y = l.references(10, 232, 8, c.choice((0, 1, 2)), width=180)
    if c.random() < 0.4:
        l.reference_code(40, max(y + 4, 248), 190, 30)
    l.rule(288)
    foot(l, 296)


def foot(l, y, x=24, width=240):
    """The number as bars and letters. Long numbers of letters have no wide bars on a label of four inches."""
    if not l.number:
        for _ in range(1000):
            own = f"{l.chance.choice(('MC', 'Q', 'Z8', 'TX'))}{digits(l.chance, 3)}{l.chance.choice('KPRTW')}{digits(l.chance, 4)}"
            if not numbers.detect(own):
                break
        l.code("code128", x, y, own, "unknown", width=width, height=74)
        l.text(x + width / 2, y + 80, own, 11, align="center")
        return
    if l.chance.random() < 0.5:
        l.tracking_code(x, y, width, 80)
        l.tracking_text(x + width / 2, y + 86, 11, l.chance.choice(("", None)), align="center", width=width + 16)
    else:
        l.tracking_text(x + width / 2, y, 11, l.chance.choice(("", None)), align="center", width=width + 16)
        l.tracking_code(x, y + 18, width, 80)


def beside(l):
    """Both parties side by side; the label lies."""
    c = l.chance
    l.width, l.height = 432, 288
    l.text(12, 8, l.row["title"], 14, bold=True, width=200)
    l.service(232, 10, 11, width=190)
    l.rule(28)
    l.party("sender", 12, 34, 8, 180)
    l.bar(206, 28, 112)
    l.party("recipient", 218, 34, 10.5, 205)
    l.rule(140)
    l.weight(12, 148, 8)
    l.dated(12, 162, 8)
    l.package(12, 176, 8)
    l.references(12, 192, 8, c.choice((0, 1, 2)), width=140)
    foot(l, 156, 164, 256)


def barcode_first(l):
    """The barcode at the head, the recipient in the middle, the sender small at the foot, and sometimes no captions."""
    c = l.chance
    captions = c.random() < 0.6
    foot(l, 10)
    l.rule(122)
    l.service(10, 128, 13, width=180)
    l.package(214, 130, 9)
    l.party("recipient", 20, 152, c.choice((11, 13)), 256, captions=captions)
    l.rule(268)
    l.references(10, 274, 8, c.choice((1, 2)), width=180)
    l.weight(214, 274, 8)
    l.dated(214, 288, 7)
    l.rule(320)
    l.party("sender", 10, 328, 7, 200, captions=captions)
    l.text(10, 414, l.row["title"], 12, bold=True, width=200)


def small(l):
    """Four inches square, little on it."""
    c = l.chance
    l.height = 288
    l.party("sender", 10, 8, 6.5, 150, captions=c.random() < 0.5, phone=False)
    l.text(186, 8, l.row["title"], 11, bold=True, width=96)
    l.weight(196, 26, 7)
    l.package(196, 38, 7)
    l.rule(72)
    l.party("recipient", 20, 78, 10, 250, captions=c.random() < 0.7, phone=False)
    l.rule(170)
    foot(l, 176)


def sideways(l):
    """The sender stands turned at the left edge."""
    c = l.chance
    l.text(50, 8, l.row["title"], 15, bold=True, width=170)
    l.service(50, 28, 11, width=220)
    l.rule(46, 44)
    l.bar(44, 0, 280)
    for i, line in enumerate(l.sender["lines"][:4]):
        l.text(36 - i * 9, 12, line, 7, rotate=90)
    l.sender["phone"] = None
    l.truth["sender"] = people.truth_of(l.sender)
    l.party("recipient", 56, 54, 11, 225, bold=c.random() < 0.4)
    l.rule(160, 44)
    l.weight(56, 168, 8)
    l.dated(56, 182, 8)
    l.package(56, 196, 8)
    l.references(56, 212, 8, c.choice((0, 1, 2)), width=180)
    if c.random() < 0.4:
        l.reference_code(70, 240, 190, 32)
    l.rule(280)
    foot(l, 290)


def receipt(l):
    """No label of a carrier: a slip of a counter, with numbers of its own."""
    c = l.chance
    l.width, l.height = 216, 400
    l.family = "mono"
    l.text(108, 10, l.row["title"], 12, bold=True, align="center")
    l.text(108, 26, f"RECEIPT {digits(c, 6)}", 8, align="center")
    l.party("recipient", 12, 44, 8, 190, captions=c.choice(("TO", "RECIPIENT")))
    l.dated(12, 150, 8, "%Y-%m-%d")
    l.references(12, 164, 8, 2, width=190)
    l.text(12, 196, f"POSTAGE   {c.uniform(3, 30):.2f}", 8)
    l.text(12, 208, f"CASH      {c.choice((20, 40, 50)):.2f}", 8)
    foot(l, 240, 12, 192)


def generic(l):
    l.chance.choice((stacked, stacked, beside, barcode_first, small, sideways))(l)


LAYOUTS = {f.__name__: f for f in (ups, fedex, usps, dhl_express, dhl_ecommerce, dhl_paket, amazon, regional, canada_post, dpd, postnl, colissimo, freight, post, generic, receipt)}
