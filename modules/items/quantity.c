/* quantity.c - quantities and decimals as JSON (docs/spec/09-items-and-assembly.md section 2).
 * Leaves the arithmetic to exact.c. */
#include "items.h"

#include "items.gen.h"
#include "wharf/errors.h"

wharf_str number_text(wharf_req *req, const wharf_json *v)
{
    wharf_out *out;
    wharf_str s;

    if (W->json->type(v) == WHARF_J_STRING && W->json->text(v, &s))
        return s;
    if (W->json->type(v) != WHARF_J_NUMBER)
        return WHARF_S("");
    out = W->json->writer(req);
    W->json->put(out, NULL, val_json(v));
    s = W->json->result_text(out);
    return W->mem->dup(req, s.p, s.n);
}

wharf_status quantity_take(
    wharf_req *req, const wharf_json *v, const char *path, int64_t *ret_quantity)
{
    wharf_str text = number_text(req, v);

    switch (quantity_read(text.p, text.n, ret_quantity)) {
    case EXACT_OK:
        return WHARF_OK;
    case EXACT_DIGITS:
        return W->err->add(req, ERR_ITEM_QUANTITY_PRECISION, path, NULL);
    case EXACT_LARGE:
        return W->err->add(
            req, ERR_VALIDATION_FAILED, path, "%s must be at most 99999999999.9999", path);
    case EXACT_NO_NUMBER:
        break;
    }
    return W->err->add(
        req, ERR_VALIDATION_FAILED, path, "%s must be a number, or a text that is one", path);
}

const wharf_json *exact_json(wharf_req *req, exact v, unsigned scale)
{
    const wharf_json *ret = NULL;
    char text[EXACT_TEXT];
    size_t n = exact_write(v, scale, text);

    W->json->parse(req, W->mem->dup(req, text, n), &ret);
    return ret;
}
