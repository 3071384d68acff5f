/* template_placeholders.c - which data a definition shows: the paths in its variables and
 * expressions, for people who fill it in (spec 05 sections 7 and 9.4). Leaves what they mean
 * to the cell. */
#include "templates.h"

enum { PATHS_MAX = 500 };

struct found {
    wharf_req *req;
    wharf_str paths[PATHS_MAX],
        hidden[PATHS_MAX]; /* hidden: names that the definition itself has */
    size_t n, n_hidden;
};

static bool template_placeholders_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool template_placeholders_among(const wharf_str *list, size_t n, wharf_str s)
{
    for (size_t i = 0; i < n; i++) {
        if (same(list[i], s))
            return true;
    }
    return false;
}

static void template_placeholders_add_path(struct found *f, const char *p, size_t n)
{
    static const char *const words[] = {
        "true", "false", "null", "in", "contains", "page", "pages", "now", "template"};
    wharf_str path = W->mem->dup(f->req, p, n), first;

    first = W->mem->dup(f->req, p, strcspn(path.p, ".["));
    if (word_place(first, words, 9) < 9 ||
        template_placeholders_among(f->hidden, f->n_hidden, first) ||
        template_placeholders_among(f->paths, f->n, path) || f->n == PATHS_MAX)
        return;
    f->paths[f->n++] = path;
}

static bool template_placeholders_is_name(char c)
{
    return template_placeholders_is_letter(c) || (c >= '0' && c <= '9');
}

/* Returns where a text in quotes ends that begins at i. */
static size_t template_placeholders_skip_quoted(const char *p, size_t n, size_t i)
{
    size_t from = i;

    for (i++; i < n && p[i] != p[from]; i++)
        i += p[i] == '\\';
    return i + 1;
}

/* Returns where the name of a filter ends, behind a single |; of || the end. */
static size_t skip_filter(const char *p, size_t n, size_t i)
{
    if (i + 1 >= n || p[i + 1] == '|')
        return i + 2;
    i += 1 + strspn(p + i + 1, " ");
    while (i < n && template_placeholders_is_name(p[i]))
        i++;
    return i;
}

/* Adds the paths of an expression, with its filters or without. */
static void template_placeholders_read_expression(struct found *f, const char *p, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t from = i;

        if (p[i] == '\'' || p[i] == '"') {
            i = template_placeholders_skip_quoted(p, n, i);
        } else if (p[i] == '|') {
            i = skip_filter(p, n, i);
        } else if (template_placeholders_is_letter(p[i])) {
            while (i < n && (template_placeholders_is_name(p[i]) || p[i] == '.'))
                i++;
            template_placeholders_add_path(f, p + from, i - from);
        } else {
            i++;
        }
    }
}

static void template_placeholders_read_text(struct found *f, wharf_str s)
{
    const char *at = s.p, *end;

    for (at = strstr(at, "{{"); at; at = strstr(end, "{{")) {
        end = strstr(at, "}}");
        if (!end)
            return;
        if (at == s.p || at[-1] != '\\')
            template_placeholders_read_expression(f, at + 2, (size_t)(end - at) - 2);
    }
}

static void read_strings(struct found *f, const wharf_json *v)
{
    wharf_str s;

    if (W->json->text(v, &s))
        template_placeholders_read_text(f, s);
    if (W->json->type(v) != WHARF_J_ARRAY && W->json->type(v) != WHARF_J_OBJECT)
        return;
    for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m))
        read_strings(f, m);
}

static void template_placeholders_hide(struct found *f, wharf_str name)
{
    if (name.n && f->n_hidden < PATHS_MAX)
        f->hidden[f->n_hidden++] = name;
}

/* Notes the names of copies and of rows, which are no data. */
static void note_names(wharf_req *req, const struct element *e, void *arg)
{
    static const char *const of_rows[] = {"row", "i", "group"};
    const wharf_json *repeat = W->json->get(e->json, "repeat");
    wharf_str as = json_text(repeat, "as"), index = json_text(repeat, "index");

    (void)req;
    if (!json_is_null(repeat)) {
        template_placeholders_hide(arg, as.n ? as : WHARF_S("item"));
        template_placeholders_hide(arg, index.n ? index : WHARF_S("i"));
    }
    for (size_t i = 0; i < 3 && is(e->type, "table"); i++)
        template_placeholders_hide(arg, z(of_rows[i]));
}

/* Adds what stands in members that are expressions without braces. */
static void read_bare(wharf_req *req, const struct element *e, void *arg)
{
    wharf_str texts[] = {json_text(e->json, "if"),
        json_text(W->json->get(e->json, "repeat"), "each"),
        is(e->type, "table") ? json_text(e->json, "rows") : WHARF_S("")};

    (void)req;
    for (size_t i = 0; i < 3; i++) {
        if (texts[i].n && !strstr(texts[i].p, "{{"))
            template_placeholders_read_expression(arg, texts[i].p, texts[i].n);
    }
}

wharf_status placeholders_find(wharf_req *req, const wharf_json *body, const wharf_json **ret)
{
    struct found *f = W->mem->alloc(req, sizeof(*f));
    wharf_out *out = W->json->builder(req);

    f->req = req;
    elements_each(req, body, NULL, note_names, f);
    read_strings(f, body);
    elements_each(req, body, NULL, read_bare, f);
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < f->n; i++)
        W->json->put(out, NULL, val_text(f->paths[i]));
    W->json->close(out);
    return W->json->result(req, out, ret);
}
