/* directory.c - the service org.directory, and which locations principals reach. */
#include <string.h>

#include "org.h"

enum { ARRAY_OVERHEAD = 3 };

wharf_str org_array(wharf_req *req, const wharf_str *values, size_t n)
{
    size_t most = ARRAY_OVERHEAD, k = 0;
    char *out;

    for (size_t i = 0; i < n; i++)
        most += 2 * values[i].n + ARRAY_OVERHEAD;
    out = org_host->mem->alloc(req, most);
    out[k++] = '{';
    for (size_t i = 0; i < n; i++) {
        if (i)
            out[k++] = ',';
        out[k++] = '"';
        for (size_t j = 0; j < values[i].n; j++) {
            if (values[i].p[j] == '"' || values[i].p[j] == '\\')
                out[k++] = '\\';
            out[k++] = values[i].p[j];
        }
        out[k++] = '"';
    }
    out[k++] = '}';
    return (wharf_str){out, k};
}

static wharf_val text(wharf_str s)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = s};
}

static bool text_at(const wharf_rows *rows, size_t row, size_t column, wharf_str *ret)
{
    wharf_val v;

    if (!org_host->db->value(rows, row, column, WHARF_V_TEXT, &v))
        return false;
    *ret = v.u.s;
    return true;
}

static bool same(wharf_str a, wharf_str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static wharf_status users(wharf_req *req, const wharf_str *ids, size_t n, wharf_str location_id, uint32_t *ret_flags)
{
    static const char sql[] =
        "SELECT u.id, u.status <> 'disabled', $2::text = '' OR u.allow_all_locations OR u.role IN ('owner', "
        "'developer')"
        " OR EXISTS (SELECT 1 FROM org.principal_location l WHERE l.organization_id = u.organization_id"
        " AND l.principal_type = 'user' AND l.principal_id = u.id AND l.location_id = $2::text)"
        " FROM org.user u WHERE u.id = ANY ($1::text[]) AND u.deleted_at IS NULL";
    wharf_val args[2] = {text(org_array(req, ids, n)), text(location_id)};
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, args, 2, &rows);

    if (s != WHARF_OK)
        return s;
    memset(ret_flags, 0, n * sizeof(*ret_flags));
    for (size_t r = 0; r < org_host->db->count(rows); r++) {
        wharf_val active = {0}, location = {0};
        wharf_str id;

        org_host->db->value(rows, r, 1, WHARF_V_BOOL, &active);
        org_host->db->value(rows, r, 2, WHARF_V_BOOL, &location);
        for (size_t i = 0; text_at(rows, r, 0, &id) && i < n; i++) {
            if (same(id, ids[i]))
                ret_flags[i] = WHARF_USER_KNOWN | (active.u.i ? WHARF_USER_ACTIVE : 0u) |
                               (location.u.i ? WHARF_USER_LOCATION : 0u);
        }
    }
    return WHARF_OK;
}

static wharf_status grant(wharf_req *req, wharf_str principal_id, wharf_str location_id)
{
    static const char sql[] =
        "INSERT INTO org.principal_location (organization_id, principal_type, principal_id, location_id)"
        " SELECT p.organization_id, p.type, p.id, $2::text FROM ("
        "  SELECT organization_id, 'user' AS type, id FROM org.user WHERE id = $1::text AND NOT allow_all_locations "
        "AND deleted_at IS NULL"
        "  UNION ALL SELECT organization_id, 'device', id FROM org.device WHERE id = $1::text AND NOT "
        "allow_all_locations"
        "  AND deleted_at IS NULL) p ON CONFLICT DO NOTHING";
    wharf_val args[2] = {text(principal_id), text(location_id)};

    uint64_t n = 0;
    wharf_status s = org_host->db->exec(req, sql, args, 2, &n);

    if (s == WHARF_OK && n)
        org_host->req->access_changed(req);
    return s;
}

/* One value of the organization's row, as text; false when it is null. */
static wharf_status organization_value(
    wharf_req *req, const char *sql, const char *path, bool *ret_found, wharf_str *ret_text)
{
    wharf_val args[2] = {text(org_host->req->organization(req)), text((wharf_str){path, strlen(path)})};
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, args, 2, &rows);

    *ret_found = s == WHARF_OK && org_host->db->count(rows) && text_at(rows, 0, 0, ret_text);
    return s;
}

static wharf_status setting(wharf_req *req, const char *path, bool fallback, bool *ret_value)
{
    static const char sql[] =
        "SELECT settings #>> string_to_array($2::text, '.') FROM org.organization WHERE id = $1::text";
    bool found;
    wharf_str value;
    wharf_status s = organization_value(req, sql, path, &found, &value);

    *ret_value = found ? same(value, WHARF_S("true")) : fallback;
    return s;
}

static wharf_status country(wharf_req *req, wharf_str *ret_code)
{
    static const char sql[] =
        "SELECT upper(profile #>> string_to_array($2::text, '.')) FROM org.organization WHERE id = $1::text";
    bool found;
    wharf_status s = organization_value(req, sql, "address.country_code", &found, ret_code);

    if (!found || ret_code->n != 2)
        *ret_code = WHARF_S("US");
    return s;
}

static wharf_status locations(
    wharf_req *req, wharf_str principal_id, bool *ret_all, const wharf_str **ret_ids, size_t *ret_n)
{
    static const char all_sql[] =
        "SELECT allow_all_locations OR role IN ('owner', 'developer') FROM org.user WHERE id = $1::text AND deleted_at "
        "IS NULL"
        " UNION ALL SELECT allow_all_locations FROM org.device WHERE id = $1::text AND deleted_at IS NULL";
    static const char sql[] = "SELECT location_id FROM org.principal_location WHERE principal_id = $1::text"
                              " AND principal_type IN ('user', 'device') ORDER BY 1";
    wharf_val arg = text(principal_id), all = {0};
    const wharf_rows *rows;
    wharf_str *ids;
    wharf_status s = org_host->db->query(req, all_sql, &arg, 1, &rows);

    if (s != WHARF_OK)
        return s;
    *ret_all = org_host->db->value(rows, 0, 0, WHARF_V_BOOL, &all) && all.u.i;
    s = org_host->db->query(req, sql, &arg, 1, &rows);
    if (s != WHARF_OK)
        return s;
    *ret_n = org_host->db->count(rows);
    *ret_ids = ids = org_host->mem->alloc(req, (*ret_n + 1) * sizeof(*ids));
    for (size_t i = 0; i < *ret_n; i++)
        text_at(rows, i, 0, &ids[i]);
    return WHARF_OK;
}

const wharf_org_directory_api org_directory = {
    WHARF_HEAD(wharf_org_directory_api), users, grant, setting, country, locations};

wharf_status org_locations_of(wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs)
{
    static const char sql[] =
        "SELECT principal_id, location_id FROM org.principal_location WHERE principal_id = ANY ($1::text[])"
        " AND principal_type IN ('user', 'device') ORDER BY location_id";
    wharf_str *ids = org_host->mem->alloc(req, n * sizeof(*ids)), id, location;
    const wharf_rows *rows;
    wharf_val arg;
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = org_host->res->id(recs[i]);
    arg = text(org_array(req, ids, n));
    s = org_host->db->query(req, sql, &arg, 1, &rows);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        org_host->json->open(outs[i], NULL, '[');
        for (size_t r = 0; r < org_host->db->count(rows); r++) {
            if (text_at(rows, r, 0, &id) && same(id, ids[i]) && text_at(rows, r, 1, &location))
                org_host->json->put(outs[i], NULL, text(location));
        }
        org_host->json->close(outs[i]);
    }
    return s;
}
