"""Pages, margins, tables, flows, records (05 section 9.5)."""
import pytest

from drawing import PDF, PNG, REFUSED, TOO_COMPLEX, draw


def label(text, y, **more):
    return {"type": "text", "x": 20, "y": y, "value": text, **more}


def tops(made, page):
    return {w[0]: w[2] for w in made.words()[page - 1]}


def test_elements_inside_of_the_page_are_one_page_and_nothing_moves(tmp_path):
    made = draw(tmp_path, [{"type": "rect", "x": 0, "y": 0, "width": 288, "height": 432, "fill": "#eee"}, label("top", 2), label("low", 418)]).check()
    assert made.report["pages"] == 1 and abs(tops(made, 1)["top"] - 2) < 1 and abs(tops(made, 1)["low"] - 418) < 1


def test_the_canvas_goes_on_over_pages(tmp_path):
    # 432 high, margins of 18: page 1 shows 0 to 414, the others 396 each
    made = draw(tmp_path, [label("first", 100), label("cut", 408), label("below", 500), label("third", 414 + 396 + 50)]).check()
    assert made.report["pages"] == 3
    assert "first" in tops(made, 1) and "cut" not in tops(made, 1)
    assert abs(tops(made, 2)["cut"] - 18) < 1  # it moved down by 6, and all below it
    assert abs(tops(made, 2)["below"] - (18 + 500 + 6 - 414)) < 1
    assert abs(tops(made, 3)["third"] - (18 + 56)) < 1


def test_pinned_elements_stand_on_their_page(tmp_path):
    made = draw(tmp_path, [label("one", 10), label("two", 20, page=2), label("three", 30, page=3)]).check()
    assert made.report["pages"] == 3 and abs(tops(made, 2)["two"] - 20) < 1 and abs(tops(made, 3)["three"] - 30) < 1


def test_a_long_text_is_split_at_lines(tmp_path):
    made = draw(tmp_path, [label(" ".join(f"w{i}" for i in range(900)), 10, width=200, wrap=True), label("end", 2000)]).check()
    found = [w[0] for page in made.words() for w in page]
    assert made.report["pages"] >= 4 and [f for f in found if f.startswith("w")] == [f"w{i}" for i in range(900)]
    assert all(w[4] <= 432 - 18 + 4 for page in made.words() for w in page)


def test_head_foot_and_page_numbers(tmp_path):
    made = draw(tmp_path, [label("a", 10), label("b", 600)], header={"height": 20, "raw": [label("Head {{page}}", 4)], "first_page": False},
                footer={"height": 20, "raw": [{"type": "page_number", "x": 20, "y": 4}, label("of {{pages}}", 4, x=100)]}).check()
    assert made.report["pages"] == 2
    assert "Head" not in made.text(1) and "Head 2" in made.text(2)
    for page in (1, 2):
        said = "".join(w[0] for w in made.words()[page - 1])
        assert f"{page}/2" in said and "of2" in said
    assert abs(tops(made, 1)["of"] - (432 - 18 - 20 + 4)) < 1 and abs(tops(made, 2)["Head"] - 22) < 1


def test_conditions_may_ask_for_the_page(tmp_path):
    made = draw(tmp_path, [label("a", 10), label("b", 600), label("c", 1000)], footer={"height": 20, "raw": [
        label("Sign", 4, **{"if": "page == pages"}), label("more", 4, x=100, **{"if": "page < pages"}), label("never", 4, **{"if": "page > 9"})]}).check()
    assert made.report["pages"] == 3 and made.report["elements_total"] == made.report["elements_rendered"] == 5
    assert ["Sign" in made.text(p) for p in (1, 2, 3)] == [False, False, True] and "more" in made.text(2) and "never" not in made.text(3)


@pytest.mark.parametrize("form", [PDF, PNG])
def test_conditions_ask_for_the_page_of_each_record(tmp_path, form):
    raw = [label("a", 10), label("b", 600), label("late {{n}}", 20, page=2, **{"if": "page == 2 && pages == 2"})]
    made = draw(tmp_path, raw, form, footer={"height": 20, "raw": [label("Sign", 4, **{"if": "page == pages"})]}, told={"page": 4, "records": [{"n": i} for i in range(3)]})
    assert made.report["element_errors"] == [] and made.report["pages"] == 6
    if form == PDF:
        assert [(f"late {n // 2}" in made.check().text(n + 1), "Sign" in made.text(n + 1)) for n in range(6)] == [(n % 2 == 1, n % 2 == 1) for n in range(6)]
    assert made.report["elements_rendered"] == (12 if form == PDF else 3)


def test_a_watermark_is_below_every_page(tmp_path):
    made = draw(tmp_path, [label("a", 10), label("b", 600)], watermark=label("DRAFT", 200, height=40, opacity=0.2)).check()
    assert "DRAFT" in made.text(1) and "DRAFT" in made.text(2) and made.report["elements_rendered"] == 3


def test_a_watermark_and_an_element_of_a_cell_have_copies(tmp_path):
    made = draw(tmp_path, [{"type": "table", "x": 20, "y": 100, "width": 240, "rows": [["a", "b"], ["c"]], "columns": [
        {"header": "Codes", "element": {"type": "text", "value": "code-{{item}}", "repeat": {"each": "row", "dx": 60}}}]}],
                watermark=label("MARK{{i}}", 200, repeat={"each": "list", "dy": 50}), data={"list": [1, 2, 3]}).check()
    words = {w[0]: w for w in made.words()[0]}
    assert {"MARK0", "MARK1", "MARK2", "code-a", "code-b", "code-c"} <= set(words) and made.report["elements_total"] == made.report["elements_rendered"] == 7
    assert abs(words["code-b"][1] - words["code-a"][1] - 60) < 1 and abs(words["MARK2"][2] - 300) < 1
    assert words["code-c"][2] > words["code-b"][2]


def test_records_are_copies(tmp_path):
    made = draw(tmp_path, [label("No {{n}} {{page}}/{{pages}}", 10)], told={"records": [{"n": i} for i in range(5)]}).check()
    assert made.report["pages"] == 5 and "No 3 1/1" in made.text(4)


def test_a_sheet_of_labels(tmp_path):
    made = draw(tmp_path, [label("L{{n}}", 5)], size="label_2x1", told={"records": [{"n": i} for i in range(7)]},
                sheet={"size": "letter", "columns": 2, "rows": 3, "offset_x": 10, "offset_y": 20, "gap_x": 6, "gap_y": 4, "start_at": 2}).check()
    words = made.words()
    first = {w[0]: w for w in words[0]}
    assert made.report["pages"] == 2 and set(first) == {"L0", "L1", "L2", "L3", "L4"}
    assert abs(first["L0"][1] - (10 + 144 + 6 + 20)) < 1 and abs(first["L1"][2] - (20 + 72 + 4 + 5)) < 1
    assert {w[0] for w in words[1]} == {"L5", "L6"}


def table(rows, **more):
    return {"type": "table", "x": 36, "y": 100, "width": 500, "rows": "lines", "id": "t",
            "columns": [{"header": "SKU", "value": "{{row.sku}}", "width": 120}, {"header": "Name", "value": "{{row.name}}", "width": "2fr"},
                        {"header": "Qty", "value": "{{row.qty}}", "width": "auto", "align": "right"}], **more}, {
        "lines": [{"sku": f"SKU-{i:04}", "name": f"name{i}", "qty": i, "group": i // 10} for i in range(rows)]}


def test_a_table_of_1000_rows(tmp_path):
    element, data = table(1000, footer_rows=[["Total", "", "{{ lines | sum:qty }}"]])
    made = draw(tmp_path, [element], size="letter", data=data).check()
    pages = made.words()
    assert made.report["pages"] == len(pages) > 20
    seen = [w[0] for page in pages for w in page if w[0].startswith("SKU-")]
    assert seen == [f"SKU-{i:04}" for i in range(1000)]
    for page in pages:
        assert [w[0] for w in page][0] == "SKU"  # the head
        assert max(w[4] for w in page) <= 792 - 18 + 1
    assert "499500" in made.text(len(pages)) and "Total" not in made.text(1)
    assert [w[0] for w in pages[-1] if w[0].startswith("SKU-")]


@pytest.mark.parametrize("keep,words", [(True, 900), (True, 60), (False, 60)])
def test_rows_are_cut_between_lines_where_they_must_or_may(tmp_path, keep, words):
    element = {"type": "table", "x": 36, "y": 100, "width": 500, "rows": "lines", "keep_rows": keep, "columns": [
        {"header": "HEAD", "value": "{{row.k}}", "width": 60}, {"header": "Long", "value": "{{row.t}}", "width": 70}, {"width": 60, "value": "end{{i}}"}]}
    lines = [{"k": f"row{i}", "t": " ".join(f"r{i}w{k}" for k in range(words))} for i in range(12)]
    made = draw(tmp_path, [element], size="letter", data={"lines": lines}).check()
    pages = made.words()
    found = [w[0] for page in pages for w in page]
    assert [f for f in found if "w" in f and f.startswith("r") and f[1].isdigit()] == [w for row in lines for w in row["t"].split()]
    for page in pages:
        assert page[0][0] == "HEAD" and sum(w[0] == "HEAD" for w in page) == 1
        assert max(w[4] for w in page) <= 792 - 18 + 1
    whole = [all(any(w[0] == word for w in page) for word in row["t"].split()) for row in lines for page in pages
             if any(w[0] == row["k"] for w in page)]
    assert all(whole) == (keep and words == 60)
    assert sorted(f for f in found if f.startswith("end")) == sorted(f"end{i}" for i in range(12))


@pytest.mark.parametrize("valign", ["top", "bottom"])
def test_an_element_beside_a_row_that_is_cut(tmp_path, valign):
    """It stands on one of the row's pages, and is no error on the others."""
    element = {"type": "table", "x": 36, "y": 36, "width": 300, "rows": [" ".join(f"w{k}" for k in range(900))], "columns": [
        {"header": "Long", "value": "{{row}}", "width": 80}, {"element": {"type": "code128", "value": "ONE", "width": 90, "height": 30, "show_text": True}, "valign": valign}]}
    made = draw(tmp_path, [element], size="letter").check()
    pages = [[w[0] for w in page] for page in made.words()]
    assert len(pages) > 2 and made.report["element_errors"] == [] and made.report["elements_rendered"] == 2
    assert [page.count("ONE") for page in pages] == [(i == (0 if valign == "top" else len(pages) - 1)) for i in range(len(pages))]


def test_cells_say_the_page_that_they_are_on(tmp_path):
    """Each row is made once, however many pages there are."""
    element, data = table(3000, footer_rows=[["Total", "", "{{page}}/{{pages}}"]])
    element["columns"] = [{"header": "Page {{page}} of {{pages}}", "value": "{{row.sku}}", "width": 150}, {"header": "On", "value": "on{{page}}"}, {"element": {"type": "rect", "width": 5, "height": 5}}]
    made = draw(tmp_path, [element], size="letter", data=data, limit=10000).check()
    pages = [[w[0] for w in page] for page in made.words()]
    assert len(pages) > 60 and made.report["elements_total"] == made.report["elements_rendered"] == 3001
    assert all(page[:4] == ["Page", str(i), "of", str(len(pages))] and {w for w in page if w[:2] == "on"} == {f"on{i}"} for i, page in enumerate(pages, 1))
    assert pages[-1][-1] == f"{len(pages)}/{len(pages)}"


def test_dates_of_many_rows_in_a_zone(tmp_path):
    element, data = table(5000)
    element["columns"] = [{"value": "{{row.qty | date:'HH:mm',America/New_York}}"}]
    made = draw(tmp_path, [element], size="letter", data=data).check()
    assert "19:00" in made.text()


def test_what_stands_after_a_table_is_below_its_end(tmp_path):
    for rows in (3, 60):
        element, data = table(rows)
        made = draw(tmp_path, [element, label("after", 10, after="t")], size="letter", data=data).check()
        last = made.words()[-1]
        after = [w for w in last if w[0] == "after"][0]
        others = [w[4] for w in last if w[0].startswith("SKU-")]
        assert not others or 5 < after[2] - max(others) < 20


def test_groups_totals_and_no_rows(tmp_path):
    element, data = table(30, group_by="row.group", group_header="Group {{group}}", zebra="#f0f0f0", border="all")
    made = draw(tmp_path, [element], size="letter", data=data).check()
    assert [line.strip() for line in made.text().split("\n") if "Group" in line] == ["Group 0", "Group 1", "Group 2"]
    element, _ = table(0, empty="Nothing here")
    assert "Nothing here" in draw(tmp_path, [element], size="letter", data={"lines": []}).check().text()


def test_barcodes_in_rows(tmp_path):
    from drawing import read_codes
    element = {"type": "table", "x": 36, "y": 36, "width": 500, "rows": ["A-1", "B-2", "C-3"], "columns": [
        {"header": "Text", "value": "{{row}}"}, {"header": "Code", "width": 200, "align": "center", "element": {
            "type": "code128", "value": "{{row}}", "width": 120, "height": 30}}]}
    made = draw(tmp_path, [element], size="letter").check()
    assert {"A-1", "B-2", "C-3"} <= read_codes(made.picture(200))
    assert made.report["elements_total"] == made.report["elements_rendered"] == 4


def test_a_flow_goes_on_over_pages(tmp_path):
    children = [{"type": "text", "value": f"part{i} " + "word " * 40} for i in range(40)]
    made = draw(tmp_path, [{"type": "flow", "x": 36, "y": 600, "width": 300, "gap": 6, "children": children, "id": "f", "background": "#eeeeee"},
                           label("end", 4, after="f")], size="letter").check()
    found = [w[0] for page in made.words() for w in page if w[0].startswith("part")]
    assert found == [f"part{i}" for i in range(40)] and made.report["pages"] > 1
    assert all(w[3] <= 337 for page in made.words() for w in page if w[0] == "word")
    assert "end" in made.text(made.report["pages"])


def test_flows_side_by_side_spacers_breaks_and_what_keeps_together(tmp_path):
    made = draw(tmp_path, [{"type": "flow", "x": 36, "y": 100, "width": 400, "gap": 10, "children": [
        {"type": "flow", "columns": [{"children": [{"type": "text", "value": "left"}]}, {"children": [{"type": "text", "value": "right"}]}]},
        {"type": "spacer", "height": 50}, {"type": "text", "value": "below"}, {"type": "page_break"}, {"type": "text", "value": "next"},
        {"type": "spacer", "height": 600},
        {"type": "flow", "keep_together": True, "children": [{"type": "text", "value": f"kept{i}"} for i in range(9)]}]}], size="letter").check()
    one = tops(made, 1)
    assert abs(one["left"] - one["right"]) < 0.1 and {w[0]: w[1] for w in made.words()[0]}["right"] > 230
    assert one["below"] - one["left"] > 70 and "next" in tops(made, 2)
    assert {f"kept{i}" for i in range(9)} <= set(tops(made, 3))


@pytest.mark.parametrize("raw,why", [
    ([{"type": "group", "x": 0, "y": 0, "children": [{"type": "flow", "width": 5, "children": []}]}], "flow")])
def test_what_is_not_drawn_is_refused(tmp_path, raw, why):
    made = draw(tmp_path, raw)
    assert made.verdict == REFUSED and why in made.report["problems"][0]["message"]


def test_too_many_pages_and_elements(tmp_path):
    assert draw(tmp_path, [label("a", 10), label("b", 14000), label("c", 1000000)]).verdict in (0, TOO_COMPLEX)
    made = draw(tmp_path, [label("a", 10, repeat={"each": "list"})], data={"list": list(range(20001))})
    assert made.verdict == TOO_COMPLEX and "20,000" in made.reason
    made = draw(tmp_path, [label("a", 10)], told={"records": [{}] * 501})
    assert made.verdict == TOO_COMPLEX and "500 pages" in made.reason
