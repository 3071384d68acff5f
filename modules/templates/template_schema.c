/* template_schema.c - GET /v1/templates/schema: what a definition may hold, for editors and
 * for people who write one (spec 05 section 7). It is made of the shapes that judge requests. */
#include "templates.h"
#include "templates.gen.h"

static const char components[] = "#/components/schemas/";

static bool template_schema_is_sent(wharf_str name)
{
    return is(name, "TemplateResource") || (name.n > 5 && is(z(name.p + name.n - 5), "Input"));
}

/* Copies a schema; its references lead to "$defs". */
static void template_schema_copy(
    wharf_req *req, wharf_out *out, const char *key, const wharf_json *v)
{
    const size_t n = sizeof(components) - 1;
    uint32_t type = W->json->type(v);
    wharf_str text;

    if (W->json->text(v, &text) && text.n > n && !memcmp(text.p, components, n)) {
        text = template_schema_is_sent(z(text.p + n))
                   ? W->mem->format(req, "#/$defs/%s", text.p + n)
                   : WHARF_S("#/$defs/AnyValue");
        W->json->put(out, key, val_text(text));
        return;
    }
    if (type != WHARF_J_OBJECT && type != WHARF_J_ARRAY) {
        W->json->put(out, key, val_json(v));
        return;
    }
    W->json->open(out, key, type == WHARF_J_OBJECT ? '{' : '[');
    for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m))
        template_schema_copy(req, out, type == WHARF_J_OBJECT ? W->json->key(m).p : NULL, m);
    W->json->close(out);
}

static void put_schema(wharf_req *req, wharf_out *out, const wharf_json *shapes)
{
    W->json->open(out, "schema", '{');
    W->json->put(out, "$schema", val_text(WHARF_S("https://json-schema.org/draft/2020-12/schema")));
    W->json->put(out, "$ref", val_text(WHARF_S("#/$defs/GeneratePdfInput")));
    W->json->open(out, "$defs", '{');
    for (const wharf_json *m = W->json->at(shapes, 0); m; m = W->json->next(m)) {
        if (template_schema_is_sent(W->json->key(m)))
            template_schema_copy(req, out, W->json->key(m).p, m);
    }
    W->json->put(out, "AnyValue", val_bool(true));
    W->json->close(out);
    W->json->close(out);
}

/* Puts the words that the symbology of a barcode may be. */
static void put_symbologies(wharf_out *out, const wharf_json *shapes)
{
    static const char *const path[] = {"TemplateBarcodeInput", "properties", "symbology", "anyOf"};
    const wharf_json *v = shapes;

    for (size_t i = 0; i < 4; i++)
        v = W->json->get(v, path[i]);
    W->json->put(out, "symbologies", val_json(W->json->get(W->json->at(v, 0), "enum")));
}

static void put_fonts(wharf_out *out)
{
    static const char *const families[] = {"inter", "mono", "sans", "serif"};

    W->json->open(out, "fonts", '[');
    for (size_t i = 0; i < 4; i++)
        W->json->put(out, NULL, val_text(z(families[i])));
    W->json->close(out);
}

static void put_sizes(wharf_out *out)
{
    W->json->open(out, "sizes", '[');
    for (size_t i = 0; paper_at(i); i++) {
        const struct paper *p = paper_at(i);

        W->json->open(out, NULL, '{');
        W->json->put(out, "name", val_text(z(p->name)));
        W->json->put(out, "width", val_double(p->width));
        W->json->put(out, "height", val_double(p->height));
        W->json->close(out);
    }
    W->json->close(out);
}

static wharf_status put_types(wharf_req *req, wharf_out *out)
{
    wharf_status s = WHARF_OK;
    const wharf_json *m;

    W->json->open(out, "types", '[');
    for (size_t i = 0; s == WHARF_OK && stock_type(i); i++) {
        s = stock_find(req, z(stock_type(i)), &m);
        if (s != WHARF_OK)
            break;
        W->json->open(out, NULL, '{');
        W->json->put(out, "type", val_text(json_text(m, "type")));
        W->json->put(out, "resource", val_text_or_null(json_text(m, "resource")));
        W->json->put(out, "dimensions", val_json(W->json->get(m, "dimensions")));
        W->json->open(out, "slots", '[');
        for (const wharf_json *k = W->json->at(W->json->get(m, "slots"), 0); k;
             k = W->json->next(k))
            W->json->put(out, NULL, val_text(W->json->key(k)));
        W->json->close(out);
        W->json->close(out);
    }
    W->json->close(out);
    return s;
}

wharf_status schema_get(wharf_req *req, void *arg)
{
    const wharf_json *manifest, *shapes;
    wharf_out *out;
    wharf_status s = W->json->parse(req, templates_manifest_text, &manifest);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    shapes = W->json->get(manifest, "shapes");
    out = W->req->respond(req, 200, "Template schema retrieved");
    W->json->open(out, NULL, '{');
    put_symbologies(out, shapes);
    put_fonts(out);
    put_sizes(out);
    s = put_types(req, out);
    put_schema(req, out, shapes);
    W->json->close(out);
    return s;
}
