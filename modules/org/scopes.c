/* scopes.c - scopes of keys, devices and roles: their forms of input, and what nobody can grant
 * (spec 01 sections 5 and 6). */
#include "org.h"
#include "wharf/errors.h"

/* every area, those of modules to come too; only keys made on the machine have it */
static const char star[] = "*";

struct scopes scopes_none(wharf_req *req)
{
    const wharf_str *known;
    size_t n = keys->areas(req, &known);
    wharf_str *areas = org_host->mem->alloc(req, (n + 1) * sizeof(*areas));

    memcpy(areas, known, n * sizeof(*areas));
    areas[n] = z(star);
    return (struct scopes){areas, org_host->mem->alloc(req, n + 1), n + 1};
}

static uint8_t *scopes_level_of(const struct scopes *s, wharf_str area)
{
    for (size_t i = 0; i < s->n; i++) {
        if (same(s->areas[i], area))
            return &s->levels[i];
    }
    return NULL;
}

struct scopes scopes_of(wharf_req *req, const wharf_json *stored)
{
    struct scopes s = scopes_none(req);
    int64_t level;

    for (const wharf_json *m = stored ? org_host->json->at(stored, 0) : NULL; m;
         m = org_host->json->next(m)) {
        uint8_t *at = scopes_level_of(&s, org_host->json->key(m));

        if (at && org_host->json->integer(m, &level))
            *at = level >= WHARF_LEVEL_WRITE  ? WHARF_LEVEL_WRITE
                  : level == WHARF_LEVEL_READ ? WHARF_LEVEL_READ
                                              : 0;
    }
    return s;
}

struct scopes scopes_of_caller(wharf_req *req)
{
    struct scopes s = scopes_none(req);

    for (size_t i = 0; i < s.n; i++)
        s.levels[i] = (uint8_t)keys->level(req, s.areas[i]);
    return s;
}

void scopes_meet(struct scopes *s, const struct scopes *with)
{
    for (size_t i = 0; i < s->n; i++) {
        if (with->levels[i] < s->levels[i])
            s->levels[i] = with->levels[i];
    }
}

/* ---- input ---- */

static void scopes_tell_unknown(wharf_req *req, const char *path, wharf_str area)
{
    org_host->err->add(req, ERR_VALIDATION_FAILED, path,
        "There is no area %.*s; GET /v1/auth lists what there is", (int)area.n, area.p);
}

/* Reads 0, 1, 2, "read", "write" or null. Returns -1 for something else. */
static int level_sent(const wharf_json *v)
{
    wharf_str word;
    int64_t level;

    if (org_host->json->type(v) == WHARF_J_NULL)
        return WHARF_LEVEL_NONE;
    if (org_host->json->integer(v, &level) && level >= WHARF_LEVEL_NONE &&
        level <= WHARF_LEVEL_WRITE)
        return (int)level;
    if (org_host->json->text(v, &word) && same(word, WHARF_S("read")))
        return WHARF_LEVEL_READ;
    if (org_host->json->text(v, &word) && same(word, WHARF_S("write")))
        return WHARF_LEVEL_WRITE;
    return -1;
}

static void scopes_merge(
    wharf_req *req, const wharf_json *object, const char *base, struct scopes *s)
{
    for (const wharf_json *m = org_host->json->at(object, 0); m; m = org_host->json->next(m)) {
        wharf_str area = org_host->json->key(m);
        const char *path = org_host->mem->format(req, "%s.%.*s", base, (int)area.n, area.p).p;
        uint8_t *at = scopes_level_of(s, area);
        int level = level_sent(m);

        if (!at && !same(area, WHARF_S("system")))
            scopes_tell_unknown(req, path, area);
        else if (level < 0)
            org_host->err->add(req, ERR_VALIDATION_FAILED, path,
                "%s must be 1 or \"read\", 2 or \"write\", 0 or null", path);
        else if (!at && level)
            org_host->err->add(req, ERR_SCOPE_ACCESS,
                level == WHARF_LEVEL_READ ? "system:read" : "system:write",
                "Only keys made on the machine hold the scope system");
        else if (at)
            *at = (uint8_t)level;
    }
}

static void scopes_replace(
    wharf_req *req, const wharf_json *array, const char *base, struct scopes *s)
{
    size_t i = 0;

    memset(s->levels, 0, s->n);
    for (const wharf_json *e = org_host->json->at(array, 0); e; e = org_host->json->next(e), i++) {
        const char *path = org_host->mem->format(req, "%s.%zu", base, i).p;
        wharf_str scope = {"", 0}, area, verb;
        const char *colon = org_host->json->text(e, &scope) ? memchr(scope.p, ':', scope.n) : NULL;
        uint8_t level, *at;

        area = (wharf_str){scope.p, colon ? (size_t)(colon - scope.p) : 0};
        verb = colon ? (wharf_str){colon + 1, scope.n - area.n - 1} : scope;
        level = !colon                         ? 0
                : same(verb, WHARF_S("read"))  ? WHARF_LEVEL_READ
                : same(verb, WHARF_S("write")) ? WHARF_LEVEL_WRITE
                                               : 0;
        at = scopes_level_of(s, area);
        if (!level)
            org_host->err->add(req, ERR_VALIDATION_FAILED, path,
                "%s must be an area with :read or :write, as items:read", path);
        else if (same(area, WHARF_S("system")))
            org_host->err->add(req, ERR_SCOPE_ACCESS, org_host->mem->dup(req, scope.p, scope.n).p,
                "Only keys made on the machine hold the scope system");
        else if (!at)
            scopes_tell_unknown(req, path, area);
        else if (*at < level)
            *at = level;
    }
}

wharf_status scopes_read(
    wharf_req *req, const wharf_json *input, const char *path, struct scopes *s)
{
    if (org_host->json->type(input) == WHARF_J_ARRAY)
        scopes_replace(req, input, path, s);
    else
        scopes_merge(req, input, path, s);
    return org_host->err->current(req);
}

/* ---- output ---- */

wharf_status scopes_json(wharf_req *req, const struct scopes *s, const wharf_json **ret)
{
    wharf_out *out = org_host->json->builder(req);

    org_host->json->open(out, NULL, '{');
    for (size_t i = 0; i < s->n; i++) {
        if (s->levels[i])
            org_host->json->put(out, s->areas[i].p, val_int(s->levels[i]));
    }
    org_host->json->close(out);
    return org_host->json->result(req, out, ret);
}

void scopes_list(wharf_out *out, const char *key, const struct scopes *s, wharf_req *req)
{
    org_host->json->open(out, key, '[');
    for (size_t i = 0; i < s->n; i++) {
        if (s->levels[i])
            org_host->json->put(out, NULL,
                val_text(org_host->mem->format(req, "%s:%s", s->areas[i].p,
                    s->levels[i] == WHARF_LEVEL_WRITE ? "write" : "read")));
    }
    org_host->json->close(out);
}

/* ---- rules ---- */

wharf_status scopes_allowed(wharf_req *req, const struct scopes *s, const struct scopes *already)
{
    uint8_t everywhere = already ? already->levels[already->n - 1] : 0;

    for (size_t i = 0; i < s->n; i++) {
        uint32_t own = keys->level(req, s->areas[i]), had = already ? already->levels[i] : 0;

        if (everywhere > had)
            had = everywhere;
        if (s->levels[i] > own && s->levels[i] > had) {
            const char *scope = org_host->mem
                                    ->format(req, "%s:%s", s->areas[i].p,
                                        s->levels[i] == WHARF_LEVEL_WRITE ? "write" : "read")
                                    .p;

            org_host->err->add(req, ERR_SCOPE_ACCESS, scope,
                "The API key can not grant %s: it does not have it", scope);
        }
    }
    return org_host->err->current(req);
}

wharf_status scopes_of_role(wharf_req *req, wharf_str role, bool *ret_found, struct scopes *ret)
{
    static const char sql[] =
        "SELECT scopes FROM wharf.role WHERE organization_id = $1::text AND id = $2::text"
        " AND deleted_at IS NULL";
    wharf_val args[2] = {val_text(keys->caller(req)->live_organization), val_text(role)}, v;
    const wharf_rows *rows;
    uint32_t level;
    wharf_status s;

    *ret = scopes_none(req);
    *ret_found = keys->role_level(req, role, WHARF_S("items"), &level);
    for (size_t i = 0; *ret_found && i + 1 < ret->n; i++) {
        keys->role_level(req, role, ret->areas[i], &level);
        ret->levels[i] = (uint8_t)level;
    }
    if (*ret_found)
        return WHARF_OK;
    s = org_host->db->query(req, sql, args, 2, &rows);
    if (s == WHARF_OK && org_host->db->value(rows, 0, 0, WHARF_V_JSON, &v)) {
        *ret_found = true;
        *ret = scopes_of(req, v.u.j);
    }
    return s;
}

wharf_status scopes_settle(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec, wharf_field f, bool trusted)
{
    const wharf_json *input = org_host->res->sent(new_rec, f) ? org_host->res->input(new_rec, f)
                                                              : NULL,
                     *whole;
    struct scopes before = scopes_of(req, old_rec ? field_json(old_rec, f) : NULL), after = before;
    wharf_status s;

    if (!input)
        return WHARF_OK;
    after.levels = org_host->mem->alloc(req, after.n);
    memcpy(after.levels, before.levels, after.n);
    s = scopes_read(req, input, "scopes", &after);
    if (s == WHARF_OK && !trusted)
        s = scopes_allowed(req, &after, &before);
    if (s == WHARF_OK)
        s = scopes_json(req, &after, &whole);
    if (s == WHARF_OK)
        org_host->res->set(new_rec, f, val_json(whole));
    return s;
}
