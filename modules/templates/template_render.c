/* template_render.c - POST /v1/templates/:template/render: a template with a row, with data, or
 * with many records (docs/spec/05-documents-and-templates.md section 8). */
#include "templates.h"
#include "templates.gen.h"

struct render {
    wharf_req *req;
    const wharf_json *wish; /* the body */
    wharf_str word, version; /* id or type, and a number or nothing, as they were asked for */
    wharf_str id, type, location;
    const wharf_json *data; /* template_data */
    const wharf_json *stock;
    struct drawing drawing;
    struct output output;
};

/* ---- which template ---- */

/* Finds the default of a type: of the location, of all. */
static wharf_status template_render_find_default(struct render *r, wharf_str type)
{
    static const char sql[] = QUERY_DEFAULT_FIND;
    const wharf_val args[] = {
        val_text(W->req->organization(r->req)), val_text(type), val_text_or_null(r->location)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(r->req, sql, args, 3, &rows);

    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(r->req, ERR_NOT_FOUND, type.p, NULL);
    if (s == WHARF_OK)
        r->id = row_text(rows, 0, 0);
    return s;
}

static wharf_status template_render_read_version(struct render *r)
{
    const wharf_rows *rows;
    wharf_status s = version_find(r->req, r->id, r->version, &rows);

    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(r->req, ERR_NOT_FOUND, r->version.p, NULL);
    if (s == WHARF_OK)
        r->data = row_json(rows, 0, 0);
    return s;
}

static wharf_status template_render_put_template(struct render *r, const wharf_rec *rec)
{
    wharf_out *out = W->json->builder(r->req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(r->id));
    W->json->put(out, "name", val_text(field_text(rec, TEMPLATE_NAME)));
    W->json->put(out, "type", val_text(r->type));
    W->json->close(out);
    return W->json->result(r->req, out, &r->drawing.template);
}

/* ---- of what it is drawn ---- */

/* Checks that one of the three is there. Returns which, by its place; 3: none. */
static size_t judge_source(struct render *r)
{
    static const char *const words[] = {"resource", "data", "records"};
    static const struct place at = {.key = "resource"};
    size_t found = 3, n = 0;

    for (size_t i = 0; i < 3; i++) {
        if (json_is_null(W->json->get(r->wish, words[i])))
            continue;
        found = i;
        n++;
    }
    if (n > 1)
        place_wrong(r->req, &at, "stands beside another one of resource, data and records");
    return found;
}

static wharf_status load_resource(struct render *r)
{
    static const struct place at = {.key = "resource"}, type_at = {.up = &at, .key = "type"};
    const wharf_json *named = W->json->get(r->wish, "resource"), *row = NULL;
    wharf_str type = json_text(named, "type"), wanted = json_text(r->stock, "resource");
    wharf_out *out = W->json->builder(r->req);
    wharf_status s;

    if (wanted.n && !same(wanted, type)) {
        place_wrong(r->req, &type_at, "must be %s with a template of this type", wanted.p);
        return W->err->current(r->req);
    }
    s = resource_load(r->req, named, &at, &row);
    if (s != WHARF_OK)
        return s;
    if (!r->location.n)
        r->location = is(type, "location") ? json_text(row, "id") : json_text(row, "location_id");
    W->json->open(out, NULL, '{');
    W->json->put(out, type.p, val_json(row));
    W->json->close(out);
    r->output.resource = named;
    return W->json->result(r->req, out, &r->drawing.data);
}

/* Opens the row of the template. */
static wharf_status open_template(struct render *r)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(r->req, "template", r->id, 0, &rec);

    if (s != WHARF_OK)
        return s;
    r->type = field_text(rec, TEMPLATE_TYPE);
    r->data = field_json(rec, TEMPLATE_TEMPLATE_DATA);
    if (!r->location.n)
        r->location = field_text(rec, TEMPLATE_LOCATION_ID);
    if (r->version.n)
        s = template_render_read_version(r);
    return s == WHARF_OK ? template_render_put_template(r, rec) : s;
}

/* Finds what is drawn: the template, then the row, whose location says which template is meant
 * where only a type is named. source: where the data comes from, as judge_source() says. */
static wharf_status find_both(struct render *r, size_t source)
{
    wharf_status s = templates_builtin(r->req);
    bool type;

    if (s == WHARF_OK)
        s = stock_find(r->req, r->word, &r->stock);
    type = r->stock != NULL;
    r->id = r->word;
    if (s == WHARF_OK && type && source == 0)
        s = load_resource(r);
    if (s == WHARF_OK && type)
        s = template_render_find_default(r, r->word);
    if (s == WHARF_OK)
        s = open_template(r);
    if (s == WHARF_OK)
        s = stock_find(r->req, r->type, &r->stock);
    return s == WHARF_OK && !type && source == 0 ? load_resource(r) : s;
}

/* Finds data that is sent, or that the template has as its sample. */
static wharf_status load_data(struct render *r, size_t which)
{
    static const struct place at = {.key = "resource"};

    r->drawing.data = which == 1 ? W->json->get(r->wish, "data") : NULL;
    r->drawing.records = which == 2 ? W->json->get(r->wish, "records") : NULL;
    if (which < 3)
        return WHARF_OK;
    r->drawing.data = W->json->get(r->data, "sample");
    if (json_is_null(r->drawing.data))
        place_wrong(r->req, &at, "is needed, or another one of resource, data and records");
    return W->err->current(r->req);
}

/* ---- the definition ---- */

/* Returns the paper of the country where it is printed. */
static wharf_str template_render_usual_paper(const struct render *r)
{
    static const char *const american[] = {"US", "CA", "MX"};
    wharf_str country = json_text(W->json->get(r->drawing.location, "address"), "country_code");

    return word_place(country, american, 3) < 3 ? WHARF_S("letter") : WHARF_S("a4");
}

static wharf_str template_render_size_of(const struct render *r)
{
    wharf_str said = json_text(r->data, "dimensions"), usual = stock_usual_size(r->stock);

    if (said.n)
        return said;
    return stock_has_size(r->stock, WHARF_S("letter")) ? template_render_usual_paper(r) : usual;
}

static const char *const replaced[] = {
    "sheet", "snap_barcodes", "zpl_native", "strict", "filename"};
enum { REPLACED = 5 };

/* Puts what the request says in place of what the definition says. */
static wharf_status replace_members(struct render *r)
{
    const wharf_json *body = r->drawing.body;
    wharf_out *out = W->json->builder(r->req);

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(body, 0); m; m = W->json->next(m)) {
        size_t i = word_place(W->json->key(m), replaced, REPLACED);

        if (i == REPLACED || json_is_null(W->json->get(r->wish, replaced[i])))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    for (size_t i = 0; i < REPLACED; i++) {
        if (!json_is_null(W->json->get(r->wish, replaced[i])))
            W->json->put(out, replaced[i], val_json(W->json->get(r->wish, replaced[i])));
    }
    W->json->close(out);
    return W->json->result(r->req, out, &r->drawing.body);
}

static wharf_status settle_body(struct render *r)
{
    wharf_status s = WHARF_OK;

    r->drawing.body = W->json->get(r->data, "definition");
    if (!is(r->type, "custom__pdf"))
        s = stock_compose(r->req, r->stock, r->data, template_render_size_of(r), &r->drawing.body);
    if (s == WHARF_OK && json_is_null(r->drawing.body))
        return W->err->fail(r->req, ERR_TEMPLATE_NOTHING_RENDERED, NULL,
            "The built-in template of this type is empty; make one with a definition");
    if (s == WHARF_OK)
        s = replace_members(r);
    r->drawing.strict = json_truth(W->json->get(r->drawing.body, "strict"));
    r->output.filename = json_text(r->drawing.body, "filename");
    return s;
}

/* ---- the whole ---- */

static uint32_t template_render_format_of(wharf_req *req, const wharf_json *wish)
{
    static const char *const words[] = {"pdf", "png", "zpl"}, *const types[] = {"application/pdf",
                                                                  "image/png",
                                                                  "application/vnd.zebra-zpl"};
    wharf_str said = json_text(wish, "format");
    size_t i = said.n ? word_place(said, words, 3)
                      : word_place(templates_http->accepted(req), types, 3);

    return WHARF_DRAW_PDF + (uint32_t)(i % 3);
}

static wharf_status template_render_tell(struct render *r, const struct drawn *drawn)
{
    wharf_out *out = W->json->builder(r->req);
    const wharf_json *extra;
    wharf_str on;
    wharf_status s;

    if (!templates_config->text(templates_self, "emit_generated", &on) || !is(on, "true"))
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    W->json->put(out, "pdf_id", val_text(r->output.id));
    W->json->put(out, "format",
        val_text(r->drawing.format == WHARF_DRAW_PDF   ? WHARF_S("pdf")
                 : r->drawing.format == WHARF_DRAW_PNG ? WHARF_S("png")
                                                       : WHARF_S("zpl")));
    W->json->put(out, "pages", val_json(W->json->get(drawn->report, "pages")));
    W->json->close(out);
    s = W->json->result(r->req, out, &extra);
    return s == WHARF_OK ? W->event->emit(r->req, "template.generated", "template", r->id, extra)
                         : s;
}

static wharf_status draw_and_send(struct render *r)
{
    wharf_str category = json_text(r->stock, "category");
    struct drawn drawn;
    wharf_status s = draw_make(r->req, &r->drawing, &drawn);

    r->output.category = category.n ? category.p : NULL;
    r->output.location = r->location;
    if (s == WHARF_OK)
        s = output_send(r->req, &r->output, &drawn);
    return s == WHARF_OK ? template_render_tell(r, &drawn) : s;
}

/* Makes the drawing: the template, the data, the definition. */
static wharf_status template_render_prepare(struct render *r, size_t source)
{
    wharf_status s = find_both(r, source);

    if (s == WHARF_OK && source > 0)
        s = load_data(r, source);
    if (s == WHARF_OK)
        s = context_load(r->req, r->location, &r->drawing);
    return s == WHARF_OK ? settle_body(r) : s;
}

wharf_status render_post(wharf_req *req, void *arg)
{
    struct render r = {
        .req = req, .word = WHARF_S(""), .version = WHARF_S(""), .location = WHARF_S("")};
    size_t source;
    wharf_status s = W->req->body(req, &r.wish);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    W->req->param(req, "template", &r.word);
    W->req->param(req, "version", &r.version);
    shape_judge(req, shape_named("RenderTemplateInput"), r.wish, NULL);
    sheet_judge(req, r.wish, NULL);
    source = judge_source(&r);
    output_judge(req, r.wish);
    s = W->err->current(req);
    r.location = json_text(r.wish, "location_id");
    if (s == WHARF_OK && r.location.n)
        s = W->req->need_location(req, r.location);
    if (s == WHARF_OK)
        s = template_render_prepare(&r, source);
    if (s != WHARF_OK)
        return s;
    r.drawing.format = template_render_format_of(req, r.wish);
    W->json->integer(W->json->get(r.wish, "page"), &r.drawing.page);
    r.output.wish = r.wish;
    r.output.format = r.drawing.format;
    return draw_and_send(&r);
}

/* ---- for other modules ---- */

static wharf_status render_pdf(
    wharf_req *req, const wharf_json *named, wharf_str location, wharf_str *ret_bytes)
{
    struct render r = {.req = req,
        .wish = named,
        .word = json_text(named, "id"),
        .version = WHARF_S(""),
        .location = location,
        .drawing = {.format = WHARF_DRAW_PDF}};
    size_t source = judge_source(&r);
    struct drawn drawn;
    wharf_status s = W->err->current(req);

    if (s == WHARF_OK)
        s = W->req->need_scope(req, "templates:read");
    if (s == WHARF_OK)
        s = template_render_prepare(&r, source);
    if (s == WHARF_OK)
        s = draw_make(req, &r.drawing, &drawn);
    if (s == WHARF_OK)
        s = draw_complete(req, &drawn);
    if (s == WHARF_OK)
        *ret_bytes = drawn.bytes;
    return s;
}

const wharf_templates_render_api templates_render_table = {
    WHARF_HEAD(wharf_templates_render_api), render_pdf, draft_draw};
