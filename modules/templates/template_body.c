/* template_body.c - what must hold of a definition beside its shape
 * (docs/spec/05-documents-and-templates.md sections 9.1, 9.3 and 9.5): the page, the margins, and
 * members of elements that depend on each other. */
#include "templates.h"
#include "templates.gen.h"

enum {
    DATA_MAX = 2 << 20, /* bytes of data */
    MARGIN_USUAL = 18 /* points, when none are sent */
};

/* ---- elements ---- */

struct judging {
    const wharf_json *fonts;
};

static bool template_body_has(const struct element *e, const char *key)
{
    return !json_is_null(W->json->get(e->json, key));
}

static void template_body_need(wharf_req *req, const struct element *e, const char *key)
{
    const struct place here = {.up = e->at, .key = key};

    if (!template_body_has(e, key))
        place_wrong(req, &here, "is needed");
}

/* Groups of members of which exactly one, or at least one, must be there. The first is named where
 * none is. */
static const struct {
    const char *type, *members;
    bool one; /* not more than one */
} choices[] = {{"text", "value spans", true}, {"qr", "size width", false},
    {"barcode", "width module", false}, {"line", "x2 y2 width height", false},
    {"image", "value src document_id", true}, {"flow", "children columns", true}};

static void judge_choice(wharf_req *req, const struct element *e, const char *members, bool one)
{
    const char *at = members;
    struct place here = {.up = e->at};
    wharf_str first = WHARF_S("");
    size_t n = 0;

    while (*at) {
        size_t length = strcspn(at, " ");
        wharf_str name = W->mem->dup(req, at, length);

        if (!first.n)
            first = name;
        n += template_body_has(e, name.p);
        at += length + (at[length] == ' ');
    }
    here.key = first.p;
    if (n > 1 && one)
        place_wrong(
            req, &here, "stands beside another one of these, of which one is sent: %s", members);
    else if (!n)
        place_wrong(req, &here, "is needed, or another one of these: %s", members);
}

/* Tells whether the family is one that is always there, or one of the fonts of the body. */
static bool is_family(const struct judging *j, wharf_str name)
{
    static const char *const known[] = {"inter", "mono", "sans", "serif"};

    if (word_place(name, known, 4) < 4 || strstr(name.p, "{{"))
        return true;
    for (const wharf_json *f = W->json->type(j->fonts) == WHARF_J_ARRAY ? W->json->at(j->fonts, 0)
                                                                        : NULL;
         f; f = W->json->next(f)) {
        if (same(json_text(f, "family"), name))
            return true;
    }
    return false;
}

static void judge_element_rules(wharf_req *req, const struct element *e, void *arg)
{
    static const char *const flowing[] = {"page_break", "spacer"};
    const struct judging *j = arg;
    wharf_str family = json_text(e->json, "font_family");
    const struct place font = {.up = e->at, .key = "font_family"};

    if (!e->inside && word_place(e->type, flowing, 2) == 2) {
        template_body_need(req, e, "x");
        if (!template_body_has(e, "after"))
            template_body_need(req, e, "y");
    }
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        if (is(e->type, choices[i].type))
            judge_choice(req, e, choices[i].members, choices[i].one);
    }
    if (family.n && !is_family(j, family))
        place_wrong(
            req, &font, "must be inter, mono, sans, serif, or the family of one of the fonts");
}

/* ---- the page ---- */

static double member_number(wharf_req *req, const wharf_json *body, const char *key, double usual)
{
    return json_number(req, W->json->get(body, key), usual);
}

void body_page(wharf_req *req, const wharf_json *body, struct page *ret_page)
{
    wharf_str size = json_text(body, "size");
    const struct paper *paper = paper_named(size.n ? size : WHARF_S("A4"));
    double side;

    *ret_page = (struct page){
        member_number(req, body, "width", 0), member_number(req, body, "height", 0)};
    if (paper)
        *ret_page = (struct page){paper->width, paper->height};
    side = ret_page->width;
    if (is(json_text(body, "orientation"), "landscape") && ret_page->height > side)
        *ret_page = (struct page){ret_page->height, side};
}

static void judge_size(wharf_req *req, const wharf_json *body, const struct place *root)
{
    wharf_str size = json_text(body, "size");
    const struct place at = {.up = root, .key = "size"}, width = {.up = root, .key = "width"},
                       height = {.up = root, .key = "height"};
    bool custom = size.n == 6 && is(text_lower(req, size), "custom");

    if (custom) {
        if (json_is_null(W->json->get(body, "width")))
            place_wrong(req, &width, "is needed with the size custom");
        if (json_is_null(W->json->get(body, "height")))
            place_wrong(req, &height, "is needed with the size custom");
    } else if (size.n && !paper_named(size)) {
        place_wrong(req, &at,
            "must be A4, letter, 4x6, a6, custom, or a name of GET /v1/cloud-printing/paper-sizes");
    }
}

/* One side of a page: what of it is no printable area. */
struct side {
    const char *paths[4], *names[4];
    double sizes[4];
    size_t n;
};

static void add_side(struct side *s, const char *path, const char *name, double size)
{
    s->paths[s->n] = path;
    s->names[s->n] = name;
    s->sizes[s->n++] = size;
}

static void add_band(wharf_req *req, const wharf_json *body, const char *key, struct side *s)
{
    const wharf_json *band = W->json->get(body, key);

    if (!json_is_null(band))
        add_side(s, key, W->mem->format(req, "%s.height", key).p,
            json_number(req, W->json->get(band, "height"), 0));
}

/* Refuses margins that leave no room, with names, values, their sum and what there is. */
static void judge_side(
    wharf_req *req, const struct place *root, const struct side *s, double whole, const char *word)
{
    wharf_str text = WHARF_S("");
    double sum = 0;

    for (size_t i = 0; i < s->n; i++) {
        sum += s->sizes[i];
        text = W->mem->format(
            req, "%s%s%s %g pt", text.p, i ? " + " : "", s->names[i], s->sizes[i]);
    }
    if (sum < whole)
        return;
    for (size_t i = 0; i < s->n; i++) {
        const struct place here = {.up = root, .key = s->paths[i]};

        if (!memcmp(s->paths[i], "margin", 6))
            W->err->add(req, ERR_TEMPLATE_MARGINS, place_text(req, &here).p,
                "%s = %g pt leave no printable area on a page %g pt %s", text.p, sum, whole, word);
    }
}

static void judge_margins(
    wharf_req *req, const wharf_json *body, const struct place *root, const struct page *page)
{
    struct side down = {.n = 0}, across = {.n = 0};

    add_side(
        &down, "margin_top", "margin_top", member_number(req, body, "margin_top", MARGIN_USUAL));
    add_band(req, body, "header", &down);
    add_side(&down, "margin_bottom", "margin_bottom",
        member_number(req, body, "margin_bottom", MARGIN_USUAL));
    add_band(req, body, "footer", &down);
    add_side(&across, "margin_left", "margin_left",
        member_number(req, body, "margin_left", MARGIN_USUAL));
    add_side(&across, "margin_right", "margin_right",
        member_number(req, body, "margin_right", MARGIN_USUAL));
    judge_side(req, root, &down, page->height, "high");
    judge_side(req, root, &across, page->width, "wide");
}

/* ---- the whole ---- */

const struct paper *sheet_paper(const wharf_json *body)
{
    const wharf_json *sheet = W->json->get(body, "sheet");
    wharf_str size = json_text(sheet, "size");

    return json_is_null(sheet) ? NULL : paper_named(size.n ? size : WHARF_S("A4"));
}

void sheet_judge(wharf_req *req, const wharf_json *body, const struct place *root)
{
    const struct place here = {.up = root, .key = "sheet"}, at = {.up = &here, .key = "size"};

    if (!json_is_null(W->json->get(body, "sheet")) && !sheet_paper(body))
        place_wrong(req, &at,
            "must be A4, letter, 4x6, a6, or a name of GET /v1/cloud-printing/paper-sizes");
}

static void judge_data(wharf_req *req, const wharf_json *body, const struct place *root)
{
    const wharf_json *data = W->json->get(body, "data");
    const struct place at = {.up = root, .key = "data"};
    wharf_out *out;

    if (json_is_null(data))
        return;
    out = W->json->writer(req);
    W->json->put(out, NULL, val_json(data));
    if (W->json->result_text(out).n > DATA_MAX)
        place_wrong(req, &at, "must have at most 2 MiB");
}

wharf_status body_judge(wharf_req *req, const wharf_json *body, const char *shape,
    const struct place *root, struct page *ret_page)
{
    struct judging j;

    *ret_page = (struct page){0, 0};
    if (shape)
        shape_judge(req, shape_named(shape), body, root);
    if (W->json->type(body) != WHARF_J_OBJECT)
        return W->err->current(req);
    j.fonts = W->json->get(body, "fonts");
    elements_each(req, body, root, judge_element_rules, &j);
    judge_size(req, body, root);
    body_page(req, body, ret_page);
    sheet_judge(req, body, root);
    judge_data(req, body, root);
    if (W->err->current(req) == WHARF_OK)
        judge_margins(req, body, root, ret_page);
    return W->err->current(req);
}
