"""Parties of labels that are made up: names, firms and streets from lists, cities with their own postal codes (data/people.json, data/places.json). No party
is a real one."""
import json
import pathlib

DATA = pathlib.Path(__file__).resolve().parent / "data"
PEOPLE, PLACES, WORDS = (json.loads((DATA / f"{name}.json").read_text()) for name in ("people", "places", "words"))


def filled(form, chance):
    """A form with its letters filled: a area code, b three digits, c four, e two, d one, f a floor, n a number, u a number with a letter."""
    return form.format(a=chance.randint(201, 989), b=chance.randint(200, 999), c=f"{chance.randrange(10000):04}", e=f"{chance.randrange(100):02}", d=chance.randint(1, 9),
                       f=chance.randint(2, 9), n=chance.randint(1, 450), u=f"{chance.randint(1, 40)}{chance.choice('ABCDEF')}")


def person(chance, words):
    given, family = chance.choice(words["given"]), chance.choice(words["family"])
    form = chance.choices(("{g} {f}", "{g} {m}. {f}", "{i}. {f}", "{f}, {g}", "{g} {f} Jr"), (78, 10, 5, 5, 2))[0]
    return form.format(g=given, f=family, i=given[0], m=chance.choice("ABCDEGHJKLMRST"))


def firm(chance, words):
    return f"{chance.choice(words['business'])} {chance.choice(words['trade'])} {chance.choice(words['legal'])}".strip()


def street_of(chance, place):
    number = chance.choice((chance.randint(1, 99), chance.randint(100, 9999))) if place["numeric"] in (840, 124) else chance.randint(1, 240)
    return place["street"].format(n=number, street=chance.choice(place["streets"]))


def party(chance, country, *, upper, abroad, firms):
    """Who lives somewhere. upper: all in capitals; abroad: the country is printed; firms: how likely it is a business."""
    place = PLACES[country]
    words = PEOPLE[place["language"]]
    city, state, codes = chance.choice(place["cities"]).split("|")
    postal = chance.choice(codes.split(" ")).replace("_", " ")
    if country == "US" and chance.random() < 0.4:
        postal += f"-{chance.randint(1, 9999):04}"
    is_firm = chance.random() < firms
    business = firm(chance, words) if is_firm else None
    name = person(chance, words) if not is_firm or chance.random() < 0.55 else None
    unit = filled(chance.choice(place["units"]), chance) if place["units"] and chance.random() < 0.35 else None
    address = {"line1": street_of(chance, place), "line2": unit, "city": city, "state_code": state or None, "postal_code": postal or None, "country_code": country}
    made = {"name": name, "business": business, "phone": filled(place["phone"], chance) if chance.random() < 0.5 else None, "address": address}
    if upper:
        made = {k: v.upper() if isinstance(v, str) else v for k, v in made.items()}
        made["address"] = {k: v.upper() if isinstance(v, str) else v for k, v in address.items()}
    return made | {"lines": lines_of(chance, made, place, upper, abroad)}


def lines_of(chance, made, place, upper, abroad):
    """The block as it is printed."""
    a, words = made["address"], WORDS[place["language"]]
    heads = [made["name"], made["business"]]
    if made["name"] and made["business"] and chance.random() < 0.5:
        attn = chance.choice((*words["attn"], ""))
        heads = [made["business"], (attn.upper() if upper else attn) + made["name"]]
    street = [a["line1"], a["line2"]]
    if a["line2"] and chance.random() < 0.5:
        street = [f"{a['line1']} {a['line2']}"]
    city = place["city"].format(city=a["city"], state=a["state_code"] or "", postal=a["postal_code"] or "")
    country = chance.choice(place["name"]) if abroad else None
    return [line for line in (*heads, *street, *city.split("\n"), country) if line]


def truth_of(made):
    return {k: made[k] for k in ("name", "business", "phone", "address")} if made else None
