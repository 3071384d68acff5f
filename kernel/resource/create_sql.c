/* create_sql.c - the statements of creates without rules: row, log line and event of one
 * request, or of several (docs/decisions 7, 14 and 89). Leaves to others: their arguments
 * (create.c), what history consists of (resource/history.h). */
#include "resource/history.h"
#include "resource/engine.h"
#include "util/str.h"

/* Parameters: organization, id, now, actor, then the written columns in order, then those of the
 * history. */
enum { COMMON = 4 };

static void create_sql_insert_row(struct buf *b, const struct definition *d, const char *param)
{
    size_t n = COMMON;

    buf_addf(b,
        "INSERT INTO %s (organization_id, id, created_at, updated_at, created_by, updated_by, "
        "version",
        d->storage.table);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (field_written(&d->fields[i]))
            buf_addf(b, ", %s", d->fields[i].column);
    }
    buf_addf(b,
        ") SELECT %s1::text, %s2::text, %s3::timestamptz, %s3::timestamptz, %s4::text, %s4::text, "
        "1",
        param, param, param, param, param, param);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (field_written(&d->fields[i]))
            buf_addf(b, ", %s%zu::%s", param, ++n, store_type(&d->fields[i]));
    }
}

/* Writes that the rows that the new one refers to are there. A look by LIMIT is never turned into
 * a walk over the whole table. */
static size_t references_there(struct buf *b, const struct resource *res, const char *param)
{
    const struct definition *d = res->def;
    size_t n = COMMON;

    buf_addz(b, " WHERE true");
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct resource *to = res->refs[i];

        n += field_written(&d->fields[i]);
        if (to && d->fields[i].store == STORE_TEXT && field_written(&d->fields[i]))
            buf_addf(b,
                " AND (%s%zu::text IS NULL OR (SELECT 1 FROM %s x WHERE x.organization_id = "
                "%s1::text AND x.id = %s%zu::text%s LIMIT 1) IS NOT NULL)",
                param, n, to->def->storage.table, param, param, n,
                to->def->storage.soft_delete ? " AND x.deleted_at IS NULL" : "");
    }
    return n;
}

static const char *create_sql_kept(const struct engine *e, struct buf *b)
{
    wharf_str s = arena_dup_str(e->arena, buf_str(b));

    buf_done(b);
    return s.p;
}

const char *create_statement(const struct engine *e, const struct resource *res)
{
    const struct definition *d = res->def;
    struct buf b;
    size_t n;

    buf_init(&b, 1 << 20);
    buf_addz(&b, "WITH r AS (");
    create_sql_insert_row(&b, d, "$");
    n = references_there(&b, res, "$");
    buf_addz(&b, " RETURNING 1)");
    history_sql(&b, n + 1, d->events.log, d->events.created != NULL);
    return create_sql_kept(e, &b);
}

const char *create_many_statement(const struct engine *e, const struct resource *res)
{
    const struct definition *d = res->def;
    struct buf b;
    size_t n = COMMON + HISTORY_PARAMS;

    for (size_t i = 0; i < d->n_fields; i++)
        n += field_written(&d->fields[i]);
    buf_init(&b, 1 << 20);
    buf_addz(&b, "WITH u AS MATERIALIZED (SELECT * FROM unnest(");
    for (size_t i = 1; i <= n; i++)
        buf_addf(&b, "%s$%zu::text[]", i > 1 ? ", " : "", i);
    buf_addz(&b, ") WITH ORDINALITY AS u(");
    for (size_t i = 1; i <= n; i++)
        buf_addf(&b, "p%zu, ", i);
    buf_addz(&b, "place)");
    n = references_there(&b, res, "u.p");
    buf_addz(&b, "), r AS (");
    create_sql_insert_row(&b, d, "u.p");
    buf_addz(&b, " FROM u)");
    history_many_sql(&b, n + 1, d->events.log, d->events.created != NULL);
    buf_addz(&b, " SELECT place FROM u");
    return create_sql_kept(e, &b);
}
