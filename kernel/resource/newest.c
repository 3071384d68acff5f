/* newest.c - see newest.h. */
#include "resource/newest.h"

#include "util/str.h"

/* Returns how much is told of a list: of the field, or of that member of it. NULL: all of it. */
static const struct field_newest *newest_entry(const struct field_newest *newest, size_t n,
    const struct field *f, const struct wharf_json *member)
{
    for (size_t i = 0; i < n; i++) {
        if (newest[i].field == f &&
            (newest[i].member ? member && str_eqz(member->key, newest[i].member) : !member))
            return &newest[i];
    }
    return NULL;
}

/* Writes a list with its last elements only. */
static void newest_write_list(
    struct jw *w, const char *key, const struct wharf_json *list, size_t most)
{
    size_t i = 0;

    jw_open(w, key, '[');
    for (const struct wharf_json *e = list->child; e; e = e->next, i++) {
        if (i + most >= list->count)
            jw_value(w, NULL, e);
    }
    jw_close(w, ']');
}

void newest_write(struct jw *w, const char *key, const struct field_newest *newest, size_t n,
    const struct field *f, const struct wharf_json *value)
{
    const struct field_newest *entry = newest_entry(newest, n, f, NULL);

    if (entry && json_is(value, JSON_ARRAY)) {
        newest_write_list(w, key, value, entry->n);
        return;
    }
    if (!json_is(value, JSON_OBJECT)) {
        jw_value(w, key, value);
        return;
    }
    jw_open(w, key, '{');
    for (const struct wharf_json *m = value->child; m; m = m->next) {
        entry = newest_entry(newest, n, f, m);
        if (entry && json_is(m, JSON_ARRAY))
            newest_write_list(w, m->key.p, m, entry->n);
        else
            jw_value(w, m->key.p, m);
    }
    jw_close(w, '}');
}
