/* manifest_problems.c - problems that the functions of sql/ find: their words, and the error
 * of each (spec 03 section 7). */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

static const struct {
    const char *word, *code, *message;
} problems[] = {{"unknown", ERR_VALIDATION_FAILED, "There is nothing of this id here"},
    {"parcel", ERR_VALIDATION_FAILED, "The manifest has no such parcel"},
    {"article", ERR_VALIDATION_FAILED, "The manifest has no such article"},
    {"receipt", ERR_VALIDATION_FAILED, "The manifest has no such receipt"},
    {"layout", ERR_VALIDATION_FAILED, "There is no such layout in the location"},
    {"nothing", ERR_VALIDATION_FAILED,
        "Say what came: article_id, item_id, sku, gtin or code, or a parcel_id"},
    {"defective", ERR_VALIDATION_FAILED, "More can't be defective than was received"},
    {"serials", ERR_VALIDATION_FAILED, "There are more serial numbers than units"},
    {"no_asset", ERR_VALIDATION_FAILED, "Only items with is_asset have serial numbers"},
    {"item", ERR_MANIFEST_CODE_UNKNOWN, NULL}, {"ambiguous", ERR_MANIFEST_CODE_AMBIGUOUS, NULL},
    {"mismatch", ERR_MANIFEST_CODE_MISMATCH, NULL}, {"unit", ERR_ITEM_UNIT_NOT_FOUND, NULL},
    {"unit_inactive", ERR_ITEM_UNIT_INACTIVE, NULL},
    {"fractional", ERR_ITEM_FRACTIONAL_QUANTITY, NULL},
    {"booked", ERR_MANIFEST_RECEIVED_BOOKED, NULL}, {"over", ERR_MANIFEST_OVER_RECEIPT, NULL},
    {"under", ERR_MANIFEST_UNDER_RECEIPT, NULL}, {"lot_expiry", ERR_MANIFEST_LOT_EXPIRY, NULL},
    {"expired", ERR_LOT_EXPIRED, NULL}, {"closed", ERR_MANIFEST_CLOSED, NULL},
    {"received", ERR_MANIFEST_PARCEL_RECEIVED, NULL}, {"reversed", ERR_MANIFEST_REVERSED, NULL}};

wharf_status manifest_tell(wharf_req *req, wharf_str word, const char *path)
{
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        if (is(word, problems[i].word))
            return W->err->add(req, problems[i].code, path, problems[i].message ? "%s" : NULL,
                problems[i].message);
    }
    return W->err->fail(req, ERR_INTERNAL, NULL, NULL);
}
