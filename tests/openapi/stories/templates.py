"""Labels for mugs: a template for the shelf, drawn for one mug and for a box of them."""


def some_of_it(answer):
    """The schema has a part for each type of elements, and there are forty sizes: a few of them show how they look."""
    data = answer["data"]
    kept = {name: data["schema"]["$defs"][name] for name in ("TemplateQrInput", "AnyValue")}
    return {**answer, "data": {**data, "sizes": data["sizes"][:4], "types": data["types"][:2], "schema": {**data["schema"], "$defs": kept}}}


def tell(w):
    mug = w.do("create_item", body={"name": "Mug, white", "sku": "MUG-WH", "gtin": "4006381333931"})
    w.call("retrieve_template_schema", shown=some_of_it)
    made = w.call("generate_pdf", body={
        "size": "4x6", "filename": "mug", "data": {"item": {"name": "Mug, white", "sku": "MUG-WH"}},
        "raw": [{"type": "text", "x": 18, "y": 24, "value": "{{item.name}}", "height": 20, "font_weight": "bold"},
                {"type": "line", "x": 18, "y": 60, "width": 252},
                {"type": "code128", "x": 18, "y": 80, "width": 252, "height": 60, "value": "{{item.sku}}"}]})
    token, name = made["url"].split("/public/files/")[1].split("/")
    w.call("download_generated_file", by=None, path={"token": token, "filename": name})

    tag = w.call("create_template", body={"name": "Shelf tag", "set_as_default": True, "template_data": {"type": "item__item_label_pdf", "dimensions": "2x1", "text_line_3": "Springfield Mail Room"}})
    at = {"id": tag["id"]}
    w.call("list_templates", query={"type": ["item__item_label_pdf"], "status": ["default"]})
    w.call("update_template", path=at, body={"template_data": {"type": "item__item_label_pdf", "dimensions": "2x1", "text_line_3": "{{item.gtin}}"}})
    w.call("retrieve_template", path=at, query={"version": 1})
    w.call("render_template", path={"template": "item__item_label_pdf"}, body={"resource": {"type": "item", "id": mug["id"]}})
    w.call("delete_template", path=at)
