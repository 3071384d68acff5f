/* template_place.c - where in a body something stands, and what must hold of it (spec 05
 * section 9.1). Paths are written only when something is wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "templates.h"

enum { INDEX_DIGITS = 20 };

static size_t template_place_room(const struct place *at)
{
    size_t n = 1;

    for (; at; at = at->up)
        n += 1 + (at->key ? strlen(at->key) : INDEX_DIGITS);
    return n;
}

static size_t write_path(const struct place *at, char *out)
{
    size_t n = 0, digits = 0;
    char number[INDEX_DIGITS + 1];

    if (!at)
        return 0;
    n = write_path(at->up, out);
    if (n)
        out[n++] = '.';
    if (at->key) {
        size_t m = strlen(at->key);

        memcpy(out + n, at->key, m);
        return n + m;
    }
    for (size_t i = at->index; i || !digits; i /= 10)
        number[digits++] = (char)('0' + i % 10);
    while (digits)
        out[n++] = number[--digits];
    return n;
}

wharf_str place_text(wharf_req *req, const struct place *at)
{
    char *out = W->mem->alloc(req, template_place_room(at));
    wharf_str path = {out, write_path(at, out)};

    return path;
}

void place_wrong(wharf_req *req, const struct place *at, const char *fmt, ...)
{
    wharf_str path = place_text(req, at);
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    W->err->add(req, ERR_VALIDATION_FAILED, path.p, "%s %s", path.n ? path.p : "The body", text);
}

double json_number(wharf_req *req, const wharf_json *v, double fallback)
{
    int64_t scaled;
    wharf_out *out;

    if (W->json->type(v) != WHARF_J_NUMBER)
        return fallback;
    if (W->json->decimal(v, 6, &scaled))
        return (double)scaled / 1e6;
    out = W->json->writer(req);
    W->json->put(out, NULL, val_json(v));
    return strtod(W->json->result_text(out).p, NULL);
}
