/* secret_check.c - the check secrets.keys of `wharf verify`: each sealed column of each row opens
 * with the master keys of this machine (docs/guide/secrets.md). */
#include "host/secret_check.h"

#include "host/host_verify.h"
#include "secret/secret.h"
#include "util/str.h"

struct sealed_column {
    struct wharf_verify *v;
    const struct definition *definition;
    const struct field *field;
};

static bool has_key(wharf_str id)
{
    for (size_t i = 0; *secret_key_id(i); i++)
        if (str_eqz(id, secret_key_id(i)))
            return true;
    return false;
}

static wharf_status secret_check_look(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    const struct sealed_column *c = arg;
    const char *name = c->field->column_name;
    struct secret_place at = {c->definition->storage.table_name, name, values[1].u.s};
    struct arena_mark mark = arena_mark(v->arena);
    wharf_str plain;
    bool opens = secret_open(v->arena, &at, values[2].u.s, &plain);

    (void)n;
    arena_rewind(v->arena, mark);
    verify_api.looked(v, 1);
    if (!opens && !has_key(values[3].u.s))
        verify_api.fault(v, values[0].u.s, values[1].u.s,
            "its %s is sealed with the master key %.*s, which this machine does not have", name,
            STR_ARG(values[3].u.s));
    else if (!opens)
        verify_api.fault(v, values[0].u.s, values[1].u.s,
            "its %s does not open with the master key %.*s", name, STR_ARG(values[3].u.s));
    return WHARF_OK;
}

static wharf_status look_at_column(struct sealed_column *c)
{
    wharf_str sql = arena_printf(c->v->arena,
        "SELECT organization_id, id, %s, split_part(%s, '.', 2) FROM %s WHERE %s IS NOT NULL",
        c->field->column, c->field->column, c->definition->storage.table, c->field->column);

    return verify_api.each(c->v, sql.p, NULL, 0, secret_check_look, c);
}

static wharf_status keys(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    const struct engine *e = v->engine;
    wharf_str error = {"", 0};
    wharf_status s = WHARF_OK;

    (void)arg;
    if (!secret_load(v->config, v->arena, &error))
        return api->fail(v, "%s", error.p);
    for (size_t i = 0; i < e->n_resources; i++) {
        const struct definition *d = e->resources[i].def;

        for (size_t k = 0; s == WHARF_OK && k < d->n_fields; k++) {
            struct sealed_column c = {v, d, &d->fields[k]};

            if (d->fields[k].store == STORE_SECRET)
                s = look_at_column(&c);
        }
    }
    return s;
}

const wharf_check secret_check = {.head = WHARF_HEAD(wharf_check),
    .name = "keys",
    .summary = "Every sealed secret opens with the master keys of this machine.",
    .remedy = "Put the key into master_key_file again, behind the others (a backup of the server "
              "has it only with --with-key), or enter the secrets anew.",
    .rows = "sealed secrets",
    .run = keys};
