/* org_directory.c - the service org.directory, and array literals for SQL (spec 01 section
 * 12). Users and devices are those of the live organization, for requests of test keys too
 * (docs/decisions 10). */
#include "org.h"
#include "org.gen.h"

static wharf_val org_directory_live(wharf_req *req)
{
    return val_text(keys->caller(req)->live_organization);
}

static wharf_status users(
    wharf_req *req, const wharf_str *ids, size_t n, wharf_str location_id, uint32_t *ret_flags)
{
    static const char sql[] = QUERY_USERS_OF;
    wharf_val args[3] = {val_array(req, ids, n), val_text(location_id), org_directory_live(req)};
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, args, 3, &rows);

    if (s != WHARF_OK)
        return s;
    memset(ret_flags, 0, n * sizeof(*ret_flags));
    for (size_t r = 0; r < org_host->db->count(rows); r++) {
        wharf_str id;

        for (size_t i = 0; row_get_text(rows, r, 0, &id) && i < n; i++) {
            if (same(id, ids[i]))
                ret_flags[i] = WHARF_USER_KNOWN | (row_bool(rows, r, 1) ? WHARF_USER_ACTIVE : 0u) |
                               (row_bool(rows, r, 2) ? WHARF_USER_LOCATION : 0u);
        }
    }
    return WHARF_OK;
}

/* Grants new locations, which nobody has yet. One made with a test key is none of the live ones
 * that users and devices have. */
static wharf_status org_directory_grant(
    wharf_req *req, wharf_str principal_id, const wharf_str *location_ids, size_t n)
{
    static const char sql[] = QUERY_LOCATIONS_GRANT;
    wharf_val args[3] = {
        org_directory_live(req), val_text(principal_id), val_ids(req, location_ids, n)};
    const wharf_rows *rows;
    wharf_status s;

    if (keys->caller(req)->test_mode)
        return WHARF_OK;
    s = org_host->db->query(req, sql, args, 3, &rows);
    if (s == WHARF_OK && org_host->db->count(rows))
        org_host->req->access_changed(req);
    return s;
}

/* Revokes a location. Of one made with a test key only test keys know, and these are rows of the
 * live organization too. */
static wharf_status org_directory_revoke(wharf_req *req, wharf_str location_id)
{
#define HOLDERS(type)                                                                              \
    " WHERE organization_id = $1::text AND id IN (SELECT principal_id FROM "                       \
    "wharf.principal_location"                                                                     \
    " WHERE organization_id = $1::text AND principal_type = '" type                                \
    "' AND location_id = $2::text)"
    static const char *const sql[] = {
        "UPDATE wharf.user SET locations = locations - $2::text, version = version + 1" HOLDERS(
            "user"),
        "UPDATE wharf.device SET locations = locations - $2::text, version = version + 1" HOLDERS(
            "device"),
        "UPDATE wharf.api_key SET location_ids = location_ids - $2::text, version = version + "
        "1" HOLDERS("api_key")};
#undef HOLDERS
    wharf_val args[2] = {org_directory_live(req), val_text(location_id)};
    uint64_t all = 0, n = 0;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < sizeof(sql) / sizeof(sql[0]); i++) {
        s = org_host->db->exec(req, sql[i], args, 2, &n);
        all += s == WHARF_OK ? n : 0;
    }
    if (s == WHARF_OK && all)
        org_host->req->access_changed(req);
    return s;
}

/* Reads the settings or the profile: what the caller's key carries of them, else the row. NULL in
 * *ret when it is not set. */
static wharf_status organization_object(
    wharf_req *req, const wharf_json *carried, const char *sql, const wharf_json **ret)
{
    wharf_val organization = val_text(org_host->req->organization(req)), v;
    const wharf_rows *rows;
    wharf_status s;

    *ret = carried;
    if (carried)
        return WHARF_OK;
    s = org_host->db->query(req, sql, &organization, 1, &rows);
    if (s == WHARF_OK && org_host->db->count(rows) &&
        org_host->db->value(rows, 0, 0, WHARF_V_JSON, &v))
        *ret = v.u.j;
    return s;
}

/* Returns the value at a path ("api.datetime_format") of an object; NULL when there is none. */
static const wharf_json *value_at(wharf_req *req, const wharf_json *value, const char *path)
{
    char *name = org_host->mem->alloc(req, strlen(path) + 1), *rest, *word;

    memcpy(name, path, strlen(path) + 1);
    for (word = strtok_r(name, ".", &rest); word && value; word = strtok_r(NULL, ".", &rest))
        value = org_host->json->type(value) == WHARF_J_OBJECT ? org_host->json->get(value, word)
                                                              : NULL;
    return value;
}

static wharf_status setting_json(wharf_req *req, const char *path, const wharf_json **ret_value)
{
    static const char sql[] =
        "SELECT settings FROM wharf.organization WHERE organization_id = $1 AND id = $1";
    wharf_status s = organization_object(req, keys->caller(req)->settings, sql, ret_value);

    if (s == WHARF_OK)
        *ret_value = value_at(req, *ret_value, path);
    if (*ret_value && org_host->json->type(*ret_value) == WHARF_J_NULL)
        *ret_value = NULL;
    return s;
}

static wharf_status org_directory_setting(
    wharf_req *req, const char *path, bool fallback, bool *ret_value)
{
    const wharf_json *value;
    wharf_status s = setting_json(req, path, &value);

    *ret_value = value ? org_host->json->truth(value, ret_value) && *ret_value : fallback;
    return s;
}

static wharf_status country(wharf_req *req, wharf_str *ret_code)
{
    static const char sql[] =
        "SELECT profile FROM wharf.organization WHERE organization_id = $1 AND id = $1";
    const wharf_json *value;
    wharf_status s = organization_object(req, keys->caller(req)->profile, sql, &value);
    wharf_str code;
    char *upper;

    *ret_code = WHARF_S("US");
    value = s == WHARF_OK ? value_at(req, value, "address.country_code") : NULL;
    if (!value || !org_host->json->text(value, &code) || code.n != 2)
        return s;
    upper = org_host->mem->alloc(req, code.n + 1);
    for (size_t i = 0; i < code.n; i++)
        upper[i] = (char)(code.p[i] >= 'a' && code.p[i] <= 'z' ? code.p[i] - 'a' + 'A' : code.p[i]);
    upper[code.n] = 0;
    *ret_code = (wharf_str){upper, code.n};
    return s;
}

static wharf_status org_directory_locations(
    wharf_req *req, wharf_str principal_id, bool *ret_all, const wharf_str **ret_ids, size_t *ret_n)
{
    static const char all_sql[] =
        "SELECT allow_all_locations OR role IN ('owner', 'developer') FROM wharf.user"
        " WHERE organization_id = $1::text AND id = $2::text AND deleted_at IS NULL"
        " UNION ALL SELECT allow_all_locations FROM wharf.device"
        " WHERE organization_id = $1::text AND id = $2::text AND deleted_at IS NULL";
    static const char sql[] =
        "SELECT location_id FROM wharf.principal_location WHERE organization_id = $1::text"
        " AND principal_id = $2::text AND principal_type IN ('user', 'device') ORDER BY 1";
    wharf_val args[2] = {org_directory_live(req), val_text(principal_id)};
    const wharf_rows *rows;
    wharf_str *ids;
    wharf_status s = org_host->db->query(req, all_sql, args, 2, &rows);

    if (s != WHARF_OK)
        return s;
    *ret_all = row_bool(rows, 0, 0);
    s = org_host->db->query(req, sql, args, 2, &rows);
    if (s != WHARF_OK)
        return s;
    *ret_n = org_host->db->count(rows);
    *ret_ids = ids = org_host->mem->alloc(req, (*ret_n + 1) * sizeof(*ids));
    for (size_t i = 0; i < *ret_n; i++)
        row_get_text(rows, i, 0, &ids[i]);
    return WHARF_OK;
}

/* Returns the texts of a column. */
static const wharf_str *column_texts(
    wharf_req *req, const wharf_rows *rows, size_t column, size_t *ret_n)
{
    wharf_str *list;

    *ret_n = org_host->db->count(rows);
    list = org_host->mem->alloc(req, (*ret_n + 1) * sizeof(*list));
    for (size_t i = 0; i < *ret_n; i++)
        row_get_text(rows, i, column, &list[i]);
    return list;
}

static wharf_status owners(
    wharf_req *req, const wharf_str **ret_ids, const wharf_str **ret_emails, size_t *ret_n)
{
    static const char sql[] =
        "SELECT id, email FROM wharf.user WHERE organization_id = $1::text AND role = 'owner'"
        " AND status = 'active' AND deleted_at IS NULL ORDER BY created_at, id";
    wharf_val organization = org_directory_live(req);
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    *ret_ids = column_texts(req, rows, 0, ret_n);
    *ret_emails = column_texts(req, rows, 1, ret_n);
    return WHARF_OK;
}

static wharf_status administrators(wharf_req *req, const wharf_str **ret_emails, size_t *ret_n)
{
    static const char sql[] = QUERY_ADMINISTRATORS;
    wharf_val organization = org_directory_live(req);
    const wharf_str *ids;
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    *ret_emails = column_texts(req, rows, 0, ret_n);
    return *ret_n ? WHARF_OK : owners(req, &ids, ret_emails, ret_n);
}

static wharf_status listeners(
    wharf_req *req, wharf_str type, const wharf_str **ret_emails, size_t *ret_n)
{
    static const char sql[] =
        "SELECT email FROM wharf.user WHERE organization_id = $1::text AND status = 'active'"
        " AND deleted_at IS NULL AND notification_events ? $2::text ORDER BY created_at, id";
    const wharf_val args[] = {org_directory_live(req), wharf_text(type)};
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, args, 2, &rows);

    if (s == WHARF_OK)
        *ret_emails = column_texts(req, rows, 0, ret_n);
    return s;
}

const wharf_org_directory_api org_directory = {WHARF_HEAD(wharf_org_directory_api), users,
    org_directory_grant, org_directory_setting, country, org_directory_locations, setting_json,
    email_form, phone_form, owners, administrators, listeners, phone_form_in, org_directory_revoke};
