/* fulfillment_quantity.c - quantities and texts of requests (docs/spec/09-items-and-assembly.md
 * section 2). */
#include "fulfillments.h"

#include "fulfillments.gen.h"

wharf_val quantity_val(int64_t quantity)
{
    return val_decimal(quantity, QTY_SCALE);
}

wharf_status order_quantity_read(
    wharf_req *req, const wharf_json *v, bool whole, const char *path, int64_t *ret)
{
    wharf_status s = fulfillments_stock->quantity(req, v, path, ret);

    if (s == WHARF_OK && whole && *ret % WHARF_STOCK_ONE)
        return W->err->add(req, ERR_ITEM_FRACTIONAL_QUANTITY, path, NULL);
    return s;
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
