/* template_stock.c - the labels and papers that come with the server
 * (docs/spec/05-documents-and-templates.md section 10): schemas/templates/stock, one file for each
 * type. Of one of them and the texts of a template a definition is composed.
 *
 * In a stock definition "{{slot:NAME}}" stands for a text that templates may give; an element with
 * "slot" is left out where that text is empty, and drawn under the slot's condition where it is
 * the usual one. A label of another size takes the definition whose sides are the most alike, and
 * scales it. */
#include "templates.h"
#include "templates.gen.h"

enum { STOCKS_MAX = 32 };
static const char slot_begin[] = "{{slot:";

/* Set by stock_start(), before anything of this module runs. */
static struct {
    wharf_str type, text;
} stocks[STOCKS_MAX];
static size_t n_stocks;

wharf_status stock_start(wharf_req *req)
{
    const wharf_json *all;
    wharf_status s = embedded_read(req, &all);

    for (const wharf_json *m = s == WHARF_OK ? W->json->at(all, 0) : NULL;
         m && n_stocks < STOCKS_MAX; m = W->json->next(m)) {
        wharf_out *out = W->json->writer(req);

        if (W->json->type(m) != WHARF_J_OBJECT)
            continue; /* papers */
        W->json->put(out, NULL, val_json(m));
        stocks[n_stocks].type = keep_text(json_text(m, "type"));
        stocks[n_stocks++].text = keep_text(W->json->result_text(out));
    }
    return s;
}

size_t stock_count(void)
{
    return n_stocks;
}

const char *stock_type(size_t i)
{
    return i < n_stocks ? stocks[i].type.p : NULL;
}

wharf_status stock_find(wharf_req *req, wharf_str type, const wharf_json **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < n_stocks; i++) {
        if (same(stocks[i].type, type))
            return W->json->parse(req, stocks[i].text, ret);
    }
    return WHARF_OK;
}

wharf_str stock_usual_size(const wharf_json *stock)
{
    wharf_str size = WHARF_S("");

    W->json->text(W->json->at(W->json->get(stock, "dimensions"), 0), &size);
    return size;
}

bool stock_has_size(const wharf_json *stock, wharf_str size)
{
    wharf_str one;

    for (const wharf_json *e = W->json->at(W->json->get(stock, "dimensions"), 0); e;
         e = W->json->next(e)) {
        if (W->json->text(e, &one) && same(one, size))
            return true;
    }
    return false;
}

/* ---- slots ---- */

struct composing {
    wharf_req *req;
    const wharf_json *stock, *data; /* data: template_data */
    double scale, dx, dy;
    wharf_out *out;
};

struct slot {
    wharf_str text;
    wharf_str condition; /* an expression, or empty */
};

/* Returns the expression of a text that is one variable and nothing else, or an empty text. */
static wharf_str lone_variable(wharf_req *req, wharf_str s)
{
    wharf_str inside;

    if (s.n < 5 || memcmp(s.p, "{{", 2) != 0 || memcmp(s.p + s.n - 2, "}}", 2) != 0)
        return WHARF_S("");
    inside = W->mem->dup(req, s.p + 2, s.n - 4);
    return strpbrk(inside.p, "{}|") ? WHARF_S("") : inside;
}

static struct slot find_slot(const struct composing *c, wharf_str name)
{
    const wharf_json *usual = W->json->get(W->json->get(c->stock, "slots"), name.p),
                     *own = W->json->get(c->data, name.p);
    struct slot s = {WHARF_S(""), WHARF_S("")};
    wharf_out *out;

    if (json_is_null(own))
        return (struct slot){json_text(usual, "value"), json_text(usual, "if")};
    if (W->json->text(own, &s.text)) {
        s.condition = lone_variable(c->req, s.text);
        return s;
    }
    out = W->json->writer(c->req);
    W->json->put(out, NULL, val_json(own));
    s.text = W->json->result_text(out);
    return s;
}

/* Returns the text with the slots that it names filled in. */
static wharf_str fill_slots(const struct composing *c, wharf_str text)
{
    const char *at = strstr(text.p, slot_begin), *end;
    const size_t n = sizeof(slot_begin) - 1;
    wharf_str name;

    if (!at)
        return text;
    end = strstr(at, "}}");
    if (!end)
        return text;
    name = W->mem->dup(c->req, at + n, (size_t)(end - at) - n);
    return W->mem->format(c->req, "%.*s%s%s", (int)(at - text.p), text.p, find_slot(c, name).text.p,
        fill_slots(c, z(end + 2)).p);
}

/* ---- copying ---- */

static bool is_length(wharf_str key)
{
    static const char *const keys[] = {"x", "y", "x2", "y2", "dx", "dy", "width", "height", "size",
        "thickness", "text_size", "padding", "shrink_to", "box_height", "radius", "gap"};
    const size_t n = sizeof(keys) / sizeof(keys[0]);

    return word_place(key, keys, n) < n;
}

static void template_stock_copy(
    const struct composing *c, const char *key, const wharf_json *v, bool top);

static void copy_number(const struct composing *c, const char *key, const wharf_json *v, bool top)
{
    wharf_str name = z(key ? key : "");
    double n = json_number(c->req, v, 0);

    if (!is_length(name)) {
        W->json->put(c->out, key, val_json(v));
        return;
    }
    n *= c->scale;
    if (top && is(name, "x"))
        n += c->dx;
    if (top && is(name, "y"))
        n += c->dy;
    W->json->put(c->out, key, val_decimal((int64_t)(n * 10000 + (n < 0 ? -0.5 : 0.5)), 4));
}

/* Copies an element, unless its slot is empty. */
static void copy_object(const struct composing *c, const char *key, const wharf_json *v, bool top)
{
    wharf_str name = json_text(v, "slot");
    struct slot s = {WHARF_S(""), WHARF_S("")};

    if (name.n) {
        s = find_slot(c, name);
        if (!s.text.n)
            return;
    }
    W->json->open(c->out, key, '{');
    for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m)) {
        if (!is(W->json->key(m), "slot"))
            template_stock_copy(c, W->json->key(m).p, m, top);
    }
    if (s.condition.n && json_is_null(W->json->get(v, "if")))
        W->json->put(c->out, "if", val_text(s.condition));
    W->json->close(c->out);
}

static void template_stock_copy(
    const struct composing *c, const char *key, const wharf_json *v, bool top)
{
    wharf_str text;

    if (W->json->text(v, &text)) {
        W->json->put(c->out, key, val_text(fill_slots(c, text)));
    } else if (W->json->type(v) == WHARF_J_NUMBER) {
        copy_number(c, key, v, top);
    } else if (W->json->type(v) == WHARF_J_OBJECT) {
        copy_object(c, key, v, top);
    } else if (W->json->type(v) == WHARF_J_ARRAY) {
        W->json->open(c->out, key, '[');
        for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e))
            template_stock_copy(c, NULL, e, top && key && is(z(key), "raw"));
        W->json->close(c->out);
    } else {
        W->json->put(c->out, key, val_json(v));
    }
}

/* ---- the whole ---- */

static double template_stock_unlike(double a, double b)
{
    return a > b ? a / b : b / a;
}

static const wharf_json *most_alike(struct composing *c, double width, double height)
{
    const wharf_json *best = NULL;
    double least = 0;

    for (const wharf_json *e = W->json->at(W->json->get(c->stock, "definitions"), 0); e;
         e = W->json->next(e)) {
        double w = json_number(c->req, W->json->get(e, "width"), width),
               h = json_number(c->req, W->json->get(e, "height"), height),
               off = template_stock_unlike(w / h, width / height);

        if (!best || off < least) {
            best = e;
            least = off;
        }
    }
    return best;
}

static void settle_scale(struct composing *c, const wharf_json *from, double width, double height)
{
    double w = json_number(c->req, W->json->get(from, "width"), 0),
           h = json_number(c->req, W->json->get(from, "height"), 0);

    c->scale = 1;
    if (w <= 0 || h <= 0)
        return;
    c->scale = width / w < height / h ? width / w : height / h;
    c->dx = (width - w * c->scale) / 2;
    c->dy = (height - h * c->scale) / 2;
}

wharf_status stock_compose(wharf_req *req, const wharf_json *stock, const wharf_json *data,
    wharf_str size, const wharf_json **ret)
{
    static const char *const sides[] = {
        "margin_top", "margin_bottom", "margin_left", "margin_right"};
    struct composing c = {.req = req, .stock = stock, .data = data, .out = W->json->builder(req)};
    const struct paper *paper = paper_named(size);
    const wharf_json *from;
    bool label;

    if (!paper)
        paper = paper_named(W->mem->format(req, "label_%s", size.p));
    if (!paper)
        return W->err->fail(req, ERR_INTERNAL, NULL, "there is no paper of the size %s", size.p);
    from = most_alike(&c, paper->width, paper->height);
    label = !W->json->get(from, "size");
    settle_scale(&c, from, paper->width, paper->height);
    W->json->open(c.out, NULL, '{');
    W->json->put(c.out, "size", val_text(z(paper->name)));
    for (size_t i = 0; label && i < 4; i++)
        W->json->put(c.out, sides[i], val_int(0));
    for (const wharf_json *m = W->json->at(from, 0); m; m = W->json->next(m)) {
        static const char *const page[] = {"size", "width", "height"};

        if (word_place(W->json->key(m), page, 3) == 3)
            template_stock_copy(&c, W->json->key(m).p, m, true);
    }
    W->json->close(c.out);
    return W->json->result(req, c.out, ret);
}
