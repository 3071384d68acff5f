"""Text in every script: each letter has a glyph of a font that is meant for it, and the PDF gives the text back (05 sections 9.3 and 11)."""
import unicodedata

import pytest

from drawing import PNG, draw, run

# name, text, the font that it is in
SCRIPTS = [
    ("latin", "Größe: 5 naïve Łódź", "Inter"), ("greek", "Καλημέρα κόσμε", "Inter"), ("cyrillic", "Привет, мир", "Inter"), ("arabic", "مرحبا بالعالم", "DejaVuSans"),
    ("urdu", "ہیلو دنیا", "NotoSansArabic"), ("hebrew", "שלום עולם", "NotoSansHebrew"), ("hindi", "नमस्ते दुनिया", "NotoSansDevanagari"),
    ("bengali", "ওহে বিশ্ব", "NotoSansBengali"), ("gurmukhi", "ਸਤਿ ਸ੍ਰੀ ਅਕਾਲ", "NotoSansGurmukhi"), ("gujarati", "નમસ્તે દુનિયા", "NotoSansGujarati"),
    ("odia", "ନମସ୍କାର", "NotoSansOriya"), ("tamil", "வணக்கம் உலகம்", "NotoSansTamil"), ("telugu", "హలో ప్రపంచం", "NotoSansTelugu"),
    ("kannada", "ನಮಸ್ಕಾರ", "NotoSansKannada"), ("malayalam", "നമസ്കാരം", "NotoSansMalayalam"), ("sinhala", "ආයුබෝවන්", "NotoSansSinhala"),
    ("thai", "สวัสดีชาวโลก", "NotoSansThai"), ("lao", "ສະບາຍດີ", "DejaVuSans"), ("khmer", "សួស្តី", "NotoSansKhmer"), ("myanmar", "မင်္ဂလာပါ", "NotoSansMyanmar"),
    ("tibetan", "བཀྲ་ཤིས", "NotoSerifTibetan"), ("ethiopic", "ሰላም", "NotoSansEthiopic"), ("georgian", "გამარჯობა", "DejaVuSans"),
    ("armenian", "Բարեւ", "DejaVuSans"), ("cherokee", "ᎣᏏᏲ", "NotoSansCherokee"), ("javanese", "ꦱꦸꦒꦼꦁ", "NotoSansJavanese"),
    ("mongolian", "ᠰᠠᠶᠢᠨ", "NotoSansMongolian"), ("thaana", "ހެލޯ", "NotoSansThaana"), ("tifinagh", "ⴰⵣⵓⵍ", "DejaVuSans"),
    ("chinese", "你好世界 繁體", "NotoSansCJK"), ("japanese", "こんにちは、カタカナ世界", "NotoSansCJK"), ("korean", "안녕하세요 세계", "NotoSansCJK")]
EMOJI = [("package", "📦"), ("truck and face", "🚚 😀"), ("joined", "👩\u200d👩\u200d👧"), ("flag", "🇩🇪"), ("key cap", "1\ufe0f\u20e3"), ("heart", "❤\ufe0f"), ("skin", "👍🏽")]
MIXED = [("ltr around rtl", "Order שלום 12 end"), ("rtl around ltr", "שלום ABC 12 עולם"), ("arabic and digits", "رقم 4711 ABC"),
         ("many", "A 你 ب ไ न א 📦 z")]


def letters(text):
    """The letters of a text in an order of their own: a reader gives lines of two directions back in one or the other."""
    return sorted(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) not in ("Zs", "Cc", "Cf"))


def fonts_of(made):
    return run("pdffonts", made.path).stdout


def drawn(tmp_path, text, **more):
    made = draw(tmp_path, [{"type": "text", "x": 20, "y": 20, "value": text, "height": 14, **more}]).check()
    assert made.warned() == [], made.report
    assert letters(made.text()) == letters(text)
    return made


@pytest.mark.parametrize("name,text,font", SCRIPTS, ids=[s[0] for s in SCRIPTS])
def test_a_script_has_its_letters(tmp_path, name, text, font):
    assert font in fonts_of(drawn(tmp_path, text))


@pytest.mark.parametrize("name,text", EMOJI, ids=[e[0] for e in EMOJI])
def test_emoji_are_pictures_that_can_be_copied(tmp_path, name, text):
    made = drawn(tmp_path, text)
    pictures = [line.split() for line in run("pdfimages", "-list", made.path).stdout.split("\n")[2:] if line]
    assert len([p for p in pictures if p[2] == "image"]) == len(text.split(" "))


@pytest.mark.parametrize("form", ["text", "table"])
def test_emoji_stand_where_they_say(tmp_path, form):
    element = {"text": {"type": "text", "value": "A 📦 B", "height": 10, "x": 20, "y": 40},
               "table": {"type": "table", "x": 20, "y": 40, "padding": 0, "width": 100, "rows": [1], "columns": [{"value": "A 📦 B"}]}}[form]
    words = {w[0]: w for w in draw(tmp_path, [element]).check().words()[0]}
    assert words["A"][3] < words["📦"][1] + 1 and words["📦"][1] < words["B"][1]
    assert abs(words["📦"][2] - words["A"][2]) < 3


@pytest.mark.parametrize("direction", ["auto", "ltr", "rtl"])
@pytest.mark.parametrize("name,text", MIXED, ids=[m[0] for m in MIXED])
def test_directions_that_are_mixed(tmp_path, name, text, direction):
    drawn(tmp_path, text, direction=direction)


def test_the_direction_decides_which_side_comes_first(tmp_path):
    for direction, first in (("ltr", "abc"), ("rtl", "שלום")):
        made = drawn(tmp_path, "abc שלום", direction=direction)
        places = {w[0]: w[1] for w in made.words()[0]}
        latin, hebrew = places["abc"], min(x for w, x in places.items() if w != "abc")
        assert (latin < hebrew) == (first == "abc")


def test_letters_are_joined(tmp_path):
    """An Arabic word is narrower than its letters one by one, and Thai and Devanagari marks take no room."""
    def width(text):
        words = drawn(tmp_path, text, height=40).words()[0]
        return max(w[3] for w in words) - min(w[1] for w in words)
    assert width("مرحبا") < width("م ر ح ب ا") - 20
    assert abs(width("ก") - width("กี")) < 1 and abs(width("क") - width("के")) < 1


def test_a_letter_that_no_font_has_is_told(tmp_path):
    made = draw(tmp_path, [{"type": "text", "x": 20, "y": 20, "value": "a\U00012000b\U00012001"},
                           {"type": "table", "x": 20, "y": 60, "width": 100, "rows": [1], "columns": [{"value": "\U00012002"}]}]).check()
    said = [(w["path"], w["code"], w["message"]) for w in made.report["warnings"]]
    assert said == [("raw.0.value", "text.font_missing_glyph", "no font of the server has 2 of its letters; the first is U+12000"),
                    ("raw.1", "text.font_missing_glyph", "no font of the server has 1 of its letters; the first is U+12002")]
    assert made.report["elements_rendered"] == 2


def test_pictures_of_emoji_have_color(tmp_path):
    import io

    from PIL import Image
    made = draw(tmp_path, [{"type": "text", "x": 20, "y": 20, "value": "❤\ufe0f", "height": 40}], form=PNG, dpi=72)
    seen = Image.open(io.BytesIO(made.bytes)).convert("RGB").getcolors(1 << 20)
    assert any(r > 200 and g < 80 and b < 80 for n, (r, g, b) in seen)
