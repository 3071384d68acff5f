/* newest.h - values of which events tell less: the last elements of a list ("newest" of a
 * definition's events). */
#ifndef WHARF_RESOURCE_NEWEST_H
#define WHARF_RESOURCE_NEWEST_H

#include "schema/definition.h"
#include "util/json.h"

/* Writes a value of the field, with the last elements only of those of its lists that are named. */
void newest_write(struct jw *w, const char *key, const struct field_newest *newest, size_t n,
    const struct field *f, const struct wharf_json *value);

#endif
