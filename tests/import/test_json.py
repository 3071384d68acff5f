"""JSON files: an array of objects, or one object per line."""
import pytest

from files import read


@pytest.mark.parametrize("text", [
    '[{"a":1},{"a":"x ] } \\" y"},{"a":{"b":[1,{}]}}]',
    ' [ {"a":1} ,\n{"a":"x ] } \\" y"},\n{"a":{"b":[1,{}]}} ] \n',
    '{"a":1}\n{"a":"x ] } \\" y"}\r\n\n{"a":{"b":[1,{}]}}\n',
    '\ufeff{"a":1}\n{"a":"x ] } \\" y"}\n{"a":{"b":[1,{}]}}',
])
def test_objects(tmp_path, text):
    got = read(tmp_path, text)
    assert got.objects == [{"a": 1}, {"a": 'x ] } " y'}, {"a": {"b": [1, {}]}}] and got.problem is None


def test_lines_are_told(tmp_path):
    assert [row["row"] for row in read(tmp_path, '[{"a":1},\n{"a":\n2},\n\n{"a":3}]').rows] == [1, 2, 5]


def test_utf16(tmp_path):
    """Said by a mark, or by who sends it."""
    assert read(tmp_path, b"\xff\xfe" + '[{"a":"é"}]'.encode("utf-16le")).objects == [{"a": "é"}]
    for encoding in ("utf-16le", "utf-16be"):
        assert read(tmp_path, '\n [{"a":"é"}]'.encode(encoding), "--encoding", encoding).objects == [{"a": "é"}]


def test_many_blocks(tmp_path):
    text = "[" + ",\n".join('{"n":%d,"t":"%s"}' % (i, "é]}" * (i % 500)) for i in range(2000)) + "]"
    got = read(tmp_path, text)
    assert [row["n"] for row in got.objects] == list(range(2000)) and got.rows[-1]["row"] == 2000


REFUSED = [
    ("[]", "batch.data_empty", 0),
    ("[{]", "file.json_syntax", 1),
    ("{}{}", "file.json_syntax", 1),
    ('[{"a":1},]', "file.json_syntax", 1),
    ('[{"a":1}', "file.json_syntax", 1),
    ('[{"a":1}{"a":2}]', "file.json_syntax", 1),
    ('[{"a":1}] x', "file.json_syntax", 1),
    ('[1,2]', "file.json_syntax", 1),
    ('{"a":1}\n{"a":01}\n', "file.json_syntax", 2),
    ('{"a":1}\n{"a":1,"a":2}\n', "file.json_syntax", 2),
    ('{"a":1}\n{"a":"never closed\n', "file.json_syntax", 3),
    (b'{"a":"\xe9"}', "file.encoding", 1),
    ('{"a":"\0"}', "file.json_syntax", 1),
    ('[{"a":' + "[" * 40 + "]" * 40 + "}]", "file.too_complex", 1),
    ("[" * 100000, "file.json_syntax", 1),
    ('{"a":"' + "x" * (5 << 20), "file.too_complex", 1),
    ('{"a":"' + "x" * (5 << 20) + '"}', "file.too_complex", 1),
]


@pytest.mark.parametrize("text, code, line", REFUSED, ids=range(len(REFUSED)))
def test_refused(tmp_path, text, code, line):
    got = read(tmp_path, text)
    assert got.problem == code and got.end["line"] == line, got.end


def test_column(tmp_path):
    got = read(tmp_path, '{"a":1}\n  {"é": 1, "b": tru}\n')
    assert (got.end["line"], got.end["column"]) == (2, 17)
