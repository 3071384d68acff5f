/* place_sql.c - the SQL that stands for {place LINK,RESOURCE,ID} and {there LINK,RESOURCE,ID} in
 * expressions of definitions and in checks, made of all definitions that name the link
 * (docs/reference/definitions.md 'Links'). Leaves to others: who sees the row then
 * (query/list_sql.c, access.c). */
#include "resource/place_sql.h"

#include <string.h>

#include "util/str.h"

enum { NAMED = 3 };

/* One of the two words: how it begins, what writes its branch for a resource, and its value for
 * rows of resources without a branch. */
struct word {
    const char *opens, *otherwise;
    void (*branch)(struct buf *b, const struct definition *d, const char *id);
};

/* Parts what stands in the braces at its commas. Returns the text behind them, NULL when there are
 * not three names. */
static const char *place_sql_read_names(struct arena *a, const char *at, const char *ret[NAMED])
{
    for (size_t i = 0; i < NAMED; i++) {
        size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_.");

        if (!n || at[n] != (i < NAMED - 1 ? ',' : '}'))
            return NULL;
        ret[i] = arena_dup(a, at, n).p;
        at += n + 1;
    }
    return at;
}

bool definition_links(const struct definition *d, const char *link)
{
    for (size_t i = 0; i < d->n_links; i++) {
        if (!strcmp(d->links[i], link))
            return true;
    }
    return false;
}

/* Writes where a row of the resource is: null for what everybody sees, "-" when there is no such
 * row. */
static void place_branch(struct buf *b, const struct definition *d, const char *id)
{
    const struct field *at = d->place.location;

    if (d->place.is_location)
        buf_addz(b, id);
    else if (!at)
        buf_addz(b, "NULL");
    else
        buf_addf(b,
            "nullif(coalesce((SELECT coalesce(wharf_r.%s, '*') FROM %s wharf_r WHERE "
            "wharf_r.organization_id = t.organization_id AND wharf_r.id = %s), '" PLACE_NOWHERE
            "'), '*')",
            at->column, d->storage.table, id);
}

/* Writes whether there is a row of the resource that was not removed. */
static void there_branch(struct buf *b, const struct definition *d, const char *id)
{
    buf_addf(b,
        "EXISTS (SELECT FROM %s wharf_r WHERE wharf_r.organization_id = t.organization_id AND "
        "wharf_r.id = %s%s)",
        d->storage.table, id, d->storage.soft_delete ? " AND wharf_r.deleted_at IS NULL" : "");
}

static const struct word words[] = {
    {"{place ", "'" PLACE_NOWHERE "'", place_branch}, {"{there ", "NULL::boolean", there_branch}};

/* Tells whether a row has one location at most, and nothing else decides who sees it. */
static bool has_one_place(const struct definition *d)
{
    const struct field *at = d->place.location;

    return !d->audience.users && !d->audience.through && !d->recorded.audience &&
           (at ? at->store == STORE_TEXT && !at->expression : !d->place.parent);
}

static void write_cases(const struct engine *e, struct buf *b, const struct word *word,
    const char *const names[NAMED], struct buf *problems)
{
    bool any = false;

    buf_addz(b, "(CASE");
    for (size_t i = 0; i < e->n_resources; i++) {
        const struct definition *d = e->resources[i].def;

        if (!definition_links(d, names[0]))
            continue;
        any = true;
        if (!has_one_place(d))
            buf_addf(problems,
                "%s: %s: its rows can't be linked (\"links\": [\"%s\"]): each of them has to be "
                "at one location, or at none\n",
                d->plugin, d->name, names[0]);
        buf_addf(b, " WHEN %s = '%s' THEN ", names[1], d->name);
        if (has_one_place(d))
            word->branch(b, d, names[2]);
        else
            buf_addz(b, word->otherwise);
    }
    buf_addf(b, any ? " ELSE %s END)" : " WHEN true THEN %s END)", word->otherwise);
}

/* Returns the SQL with one of the words written out wherever it stands. whose: for problems. */
static const char *expand_word(const struct engine *e, const struct word *word, const char *whose,
    const char *sql, struct buf *problems)
{
    const char *at = sql ? strstr(sql, word->opens) : NULL;
    struct buf b;
    wharf_str s;

    if (!at)
        return sql;
    buf_init(&b, 1 << 20);
    for (; at; at = strstr(sql, word->opens)) {
        const char *names[NAMED];

        buf_addf(&b, "%.*s", (int)(at - sql), sql);
        sql = place_sql_read_names(e->arena, at + strlen(word->opens), names);
        if (!sql) {
            buf_addf(problems, "%s: its SQL has %sLINK,RESOURCE,ID}, of a link and two columns\n",
                whose, word->opens);
            buf_done(&b);
            return "NULL";
        }
        write_cases(e, &b, word, names, problems);
    }
    buf_addz(&b, sql);
    s = arena_dup_str(e->arena, buf_str(&b));
    buf_done(&b);
    return s.p;
}

static const char *expand(
    const struct engine *e, const char *whose, const char *sql, struct buf *problems)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        sql = expand_word(e, &words[i], whose, sql, problems);
    return sql;
}

static void expand_definition(
    const struct engine *e, const struct definition *d, struct buf *problems)
{
    /* compiled a moment ago, not shared yet */
    struct field *fields = (struct field *)d->fields;
    struct column *columns = (struct column *)d->storage.columns;
    const char *whose = arena_printf(e->arena, "%s: %s", d->plugin, d->name).p;

    for (size_t i = 0; i < d->n_fields; i++) {
        fields[i].expression = expand(e, whose, fields[i].expression, problems);
        fields[i].computed = expand(e, whose, fields[i].computed, problems);
        fields[i].read = expand(e, whose, fields[i].read, problems);
    }
    for (size_t i = 0; i < d->storage.n_columns; i++) {
        const struct field *f = columns[i].field;

        columns[i].sql = f && f->expression && !columns[i].asks
                             ? f->expression
                             : expand(e, whose, columns[i].sql, problems);
        columns[i].asks = expand(e, whose, columns[i].asks, problems);
    }
}

void place_sql_expand(struct engine *e, struct buf *problems)
{
    for (size_t i = 0; i < e->n_resources; i++)
        expand_definition(e, e->resources[i].def, problems);
    for (size_t i = 0; i < e->n_checks; i++)
        e->checks[i].sql = expand(e, e->checks[i].name, e->checks[i].sql, problems);
}
