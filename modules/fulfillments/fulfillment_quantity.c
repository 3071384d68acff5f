/* fulfillment_quantity.c - quantities and texts of requests (docs/spec/09-items-and-assembly.md
 * section 2). */
#include "fulfillments.h"

#include "fulfillments.gen.h"

enum { DIGITS_SEEN = 6 };

wharf_val quantity_val(int64_t quantity)
{
    return val_decimal(quantity, QTY_SCALE);
}

/* Returns the number that a text says; itself when it is none. */
static const wharf_json *number_of(wharf_req *req, const wharf_json *v)
{
    const wharf_json *n;
    wharf_str s;

    if (!v || W->json->type(v) != WHARF_J_STRING || !W->json->text(v, &s) || !s.n)
        return v;
    if (W->json->parse(req, s, &n) == WHARF_OK)
        return n;
    W->err->clear(req);
    return v;
}

wharf_status order_quantity_read(
    wharf_req *req, const wharf_json *v, bool whole, const char *path, int64_t *ret)
{
    int64_t q, more;

    v = number_of(req, v);
    if (!v || W->json->type(v) != WHARF_J_NUMBER)
        return W->err->add(
            req, ERR_VALIDATION_FAILED, path, "%s must be a number, or a text that is one", path);
    if (!W->json->decimal(v, QTY_SCALE, &q))
        return W->json->decimal(v, DIGITS_SEEN, &more)
                   ? W->err->add(req, ERR_ITEM_QUANTITY_PRECISION, path, NULL)
                   : W->err->add(req, ERR_VALIDATION_FAILED, path,
                         "%s must be at most 99999999999.9999, with 4 digits behind the point",
                         path);
    if (q > QUANTITY_MAX || q < -QUANTITY_MAX)
        return W->err->add(
            req, ERR_VALIDATION_FAILED, path, "%s must be at most 99999999999.9999", path);
    if (whole && q % WHARF_STOCK_ONE)
        return W->err->add(req, ERR_ITEM_FRACTIONAL_QUANTITY, path, NULL);
    *ret = q;
    return WHARF_OK;
}

const char *order_path(wharf_req *req, const char *at, const char *member)
{
    return W->mem->format(req, "%s%s", at, member).p;
}

wharf_str order_text_read(
    wharf_req *req, const wharf_json *object, const char *key, const char *at, size_t most)
{
    const wharf_json *v = W->json->get(object, key);
    wharf_str s = WHARF_S("");

    if (json_is_null(v) || (W->json->text(v, &s) && s.n <= most))
        return s;
    W->err->add(req, ERR_VALIDATION_FAILED, order_path(req, at, key),
        "%s%s must be text of up to %zu bytes", at, key, most);
    return WHARF_S("");
}
