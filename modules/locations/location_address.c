/* location_address.c - an address as it is taken, kept and shown (spec 02 section 1). Leaves
 * reading one string to address_parse.c. */
#include "location_address.h"
#include "wharf/errors.h"

enum { HASHED = 4096, ID_CHARS = 22 };

/* Writes the normal form: lower case, one space between words, no outer space, a separator behind:
 * what must be equal for two addresses to be one. */
static size_t put_normal(char *out, size_t k, wharf_str s)
{
    bool space = false, any = false;

    for (size_t i = 0; i < s.n && k < HASHED - 2; i++) {
        char c = s.p[i];

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            space = any;
            continue;
        }
        if (space)
            out[k++] = ' ';
        space = false;
        any = true;
        out[k++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    out[k++] = '\n';
    return k;
}

static wharf_str normal_of(wharf_req *req, const struct address *a, bool line2)
{
    const struct state *state = state_find(a->country_code, a->state);
    const wharf_str parts[] = {W->req->organization(req), a->line1,
        line2 ? a->line2 : (wharf_str){"", 0}, a->city, state ? z(state->code) : a->state,
        a->postal_code, a->country_code};
    char *normal = W->mem->alloc(req, HASHED);
    size_t k = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        k = put_normal(normal, k, parts[i]);
    return (wharf_str){normal, k};
}

/* Makes "addr_" and the first 128 bits in base 62. Keyed: who knows an address does not know from
 * its id whether the organization has it. */
static wharf_str location_address_id_of(wharf_req *req, const struct address *a)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char body[ID_CHARS + 1] = {0};
    uint8_t hash[32];
    unsigned __int128 v = 0;

    locations_crypto->keyed_hash(req, "locations.address", normal_of(req, a, true), hash);
    for (size_t i = 0; i < 16; i++)
        v = v << 8 | hash[i];
    for (size_t i = ID_CHARS; i-- > 0; v /= 62)
        body[i] = digits[(unsigned)(v % 62)];
    return W->mem->format(req, "addr_%s", body);
}

static wharf_str with_comma(wharf_req *req, wharf_str a, wharf_str b)
{
    if (!a.n || !b.n)
        return a.n ? a : b;
    return W->mem->format(req, "%.*s, %.*s", (int)a.n, a.p, (int)b.n, b.p);
}

static wharf_str formatted(wharf_req *req, const struct address *a, bool line2)
{
    const struct state *s = state_find(a->country_code, a->state);
    wharf_str state = s ? z(s->code) : a->state, region;

    region = state.n && a->postal_code.n ? W->mem->format(req, "%.*s %.*s", (int)state.n, state.p,
                                               (int)a->postal_code.n, a->postal_code.p)
             : state.n                   ? state
                                         : a->postal_code;
    return with_comma(req,
        with_comma(req,
            with_comma(
                req, with_comma(req, a->line1, line2 ? a->line2 : (wharf_str){"", 0}), a->city),
            region),
        a->country_code);
}

wharf_status address_json(wharf_req *req, const struct address *a, wharf_str *ret_json)
{
    const struct state *state = state_find(a->country_code, a->state);
    const struct country *country = country_find(a->country_code);
    wharf_out *out = W->json->writer(req);
    wharf_str building = normal_of(req, a, false);

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(location_address_id_of(req, a)));
    W->json->put(out, "hash", val_text(locations_text->sha256(req, building)));
    W->json->put(out, "line1", val_text_or_null(a->line1));
    W->json->put(out, "line2", val_text_or_null(a->line2));
    W->json->put(out, "city", val_text_or_null(a->city));
    W->json->put(out, "state", state ? val_text(z(state->name)) : val_text_or_null(a->state));
    W->json->put(out, "state_code", state ? val_text(z(state->code)) : val_null());
    W->json->put(out, "postal_code", val_text_or_null(a->postal_code));
    W->json->put(out, "country", country ? val_text(z(country->name)) : val_null());
    W->json->put(out, "country_code", val_text_or_null(a->country_code));
    W->json->put(out, "formatted_address", val_text_or_null(formatted(req, a, true)));
    W->json->put(out, "textarea", val_text_or_null(formatted(req, a, false)));
    W->json->put(out, "coordinates", val_null());
    W->json->put(out, "timezone", val_null());
    W->json->put(out, "verified", val_bool(false));
    W->json->close(out);
    *ret_json = W->json->result_text(out);
    return WHARF_OK;
}

static wharf_str location_address_member(const wharf_json *object, const char *key)
{
    const wharf_json *m = W->json->get(object, key);
    wharf_str s = {"", 0};

    if (m)
        W->json->text(m, &s);
    return s;
}

void address_parts(const wharf_json *object, struct address *ret)
{
    *ret = (struct address){location_address_member(object, "line1"),
        location_address_member(object, "line2"), location_address_member(object, "city"),
        location_address_member(object, "state"), location_address_member(object, "postal_code"),
        location_address_member(object, "country_code")};
}

/* ---- taking one ---- */

static wharf_status location_address_problem(
    wharf_req *req, const char *path, const char *part, const char *message)
{
    const char *at = part ? W->mem->format(req, "%s.%s", path, part).p : path;

    return W->err->fail(req, ERR_VALIDATION_FAILED, at, "%s %s", at, message);
}

static size_t location_address_characters(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

static wharf_status location_address_check_members(
    wharf_req *req, const wharf_json *object, const char *path)
{
    static const char *const parts[] = {
        "line1", "line2", "city", "state", "postal_code", "country_code", "formatted_address"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const wharf_json *m = W->json->get(object, parts[i]);
        wharf_str s;

        if (!m || W->json->type(m) == WHARF_J_NULL)
            continue;
        if (!W->json->text(m, &s))
            location_address_problem(req, path, parts[i], "must be text");
        else if (location_address_characters(s) > ADDRESS_TEXT)
            location_address_problem(req, path, parts[i], "must have at most 512 characters");
    }
    return W->err->current(req);
}

static wharf_str default_country(wharf_req *req)
{
    wharf_str code;

    return org && org->country(req, &code) == WHARF_OK ? code : WHARF_S("US");
}

static bool location_address_blank(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r')
            return false;
    }
    return true;
}

static bool id_shaped(wharf_str s)
{
    if (s.n != strlen("addr_") + ID_CHARS || memcmp(s.p, "addr_", 5) != 0)
        return false;
    for (size_t i = 5; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'z') ||
                (s.p[i] >= 'A' && s.p[i] <= 'Z')))
            return false;
    }
    return true;
}

static wharf_status known_address(
    wharf_req *req, wharf_str id, const char *path, struct address *ret)
{
    static const char sql[] =
        "SELECT address FROM locations.address WHERE organization_id = $2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);
    wharf_val v;

    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows) || !W->db->value(rows, 0, 0, WHARF_V_JSON, &v))
        return location_address_problem(
            req, path, NULL, "is no address that the organization knows");
    address_parts(v.u.j, ret);
    return WHARF_OK;
}

/* Takes an address as text. known: the organization's country; empty: it is asked when it is
 * needed. */
static wharf_status location_address_take_text(
    wharf_req *req, wharf_str s, wharf_str known, const char *path, struct address *ret)
{
    if (location_address_blank(s))
        return location_address_problem(req, path, NULL, "must not be empty");
    if (location_address_characters(s) > ADDRESS_TEXT)
        return location_address_problem(req, path, NULL, "must have at most 512 characters");
    if (id_shaped(s))
        return known_address(req, s, path, ret);
    address_read(s, known.n ? known : default_country(req), W->mem->alloc(req, ADDRESS_ROOM), ret);
    return WHARF_OK;
}

static wharf_status location_address_take_object(wharf_req *req, const wharf_json *object,
    wharf_str known, const char *path, struct address *ret)
{
    const struct country *c;
    wharf_status s = location_address_check_members(req, object, path);

    if (s != WHARF_OK)
        return s;
    address_parts(object, ret);
    if (!ret->line1.n && !ret->city.n && !ret->postal_code.n &&
        location_address_member(object, "formatted_address").n)
        return location_address_take_text(req, location_address_member(object, "formatted_address"),
            known, W->mem->format(req, "%s.formatted_address", path).p, ret);
    if (location_address_blank(ret->line1) && location_address_blank(ret->city) &&
        location_address_blank(ret->postal_code))
        return location_address_problem(
            req, path, NULL, "needs line1, city or postal_code, or formatted_address");
    if (!ret->country_code.n) {
        ret->country_code = known.n ? known : default_country(req);
        return WHARF_OK;
    }
    c = ret->country_code.n == 2 ? country_find(ret->country_code) : NULL;
    if (!c)
        return location_address_problem(
            req, path, "country_code", "must be a country's two letters after ISO 3166-1");
    ret->country_code = z(c->code);
    return WHARF_OK;
}

/* Remembers addresses in one order, so that two that remember the same addresses don't wait for
 * each other. */
wharf_status address_remember(wharf_req *req, const wharf_str *addresses, size_t n)
{
    static const char sql[] = "INSERT INTO locations.address (organization_id, id, address, "
                              "created_at) SELECT $1::text, x.a ->> 'id', x.a,"
                              " to_timestamp($3::bigint / 1000 / 1000.0) FROM "
                              "jsonb_array_elements($2::jsonb) x(a) ORDER BY 2"
                              " ON CONFLICT DO NOTHING";
    wharf_val args[3] = {
        val_text(W->req->organization(req)), val_null(), val_int(W->req->now_us(req))};
    size_t room = 3, at = 0;
    char *list;

    for (size_t i = 0; i < n; i++)
        room += addresses[i].n + 1;
    list = W->mem->alloc(req, room);
    for (size_t i = 0; i < n; i++) {
        list[at++] = i ? ',' : '[';
        memcpy(list + at, addresses[i].p, addresses[i].n);
        at += addresses[i].n;
    }
    list[at++] = ']';
    args[1] = val_text((wharf_str){list, at});
    return n ? W->db->exec(req, sql, args, 3, NULL) : WHARF_OK;
}

/* Joins the line2 that a text had with the one that was sent beside it. */
static wharf_str with_line2(wharf_req *req, wharf_str read, wharf_str sent)
{
    return read.n == sent.n && !memcmp(read.p, sent.p, read.n) ? sent : with_comma(req, read, sent);
}

wharf_status address_in(wharf_req *req, const wharf_json *input, wharf_str line2, wharf_str country,
    const char *path, wharf_str *ret_json)
{
    struct address a = {0};
    wharf_str s;
    wharf_status status;

    if (W->json->text(input, &s)) {
        status = location_address_take_text(req, s, country, path, &a);
        if (line2.n && !id_shaped(s))
            line2 = with_line2(req, a.line2, line2);
    } else if (W->json->type(input) == WHARF_J_OBJECT)
        status = location_address_take_object(req, input, country, path, &a);
    else
        status = location_address_problem(
            req, path, NULL, "must be an address: text, an object of its parts, or an address id");
    if (status != WHARF_OK)
        return status;
    if (line2.n)
        a.line2 = line2;
    return address_json(req, &a, ret_json);
}

wharf_status address_take(
    wharf_req *req, const wharf_json *input, wharf_str line2, const char *path, wharf_str *ret_json)
{
    wharf_status s = address_in(req, input, line2, WHARF_S(""), path, ret_json);

    return s == WHARF_OK ? address_remember(req, ret_json, 1) : s;
}

/* Judges whether the caller may see the address. A caller of some locations reads the addresses of
 * those; what other rows have they show themselves. */
static wharf_status address_seen(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT id FROM locations.location WHERE organization_id = $2::text AND address ->> 'id' = "
        "$1::text AND deleted_at IS NULL LIMIT 1000";
    const wharf_caller *who = locations_keys->caller(req);
    const wharf_rows *rows;
    wharf_val v;
    wharf_status s;

    if (who->all_locations)
        return WHARF_OK;
    s = query_about(req, sql, id, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        for (size_t k = 0; W->db->value(rows, i, 0, WHARF_V_TEXT, &v) && k < who->n_locations;
             k++) {
            if (v.u.s.n == who->locations[k].n && !memcmp(v.u.s.p, who->locations[k].p, v.u.s.n))
                return WHARF_OK;
        }
    }
    return s == WHARF_OK ? W->err->fail(req, ERR_NOT_FOUND, id.p, NULL) : s;
}

wharf_status address_get(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT address FROM locations.address WHERE organization_id = $2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_str id = {"", 0};
    wharf_val v;
    wharf_status s;
    wharf_out *out;

    W->req->param(req, "id", &id);
    s = address_seen(req, id);
    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows) || !W->db->value(rows, 0, 0, WHARF_V_JSON, &v))
        return W->err->fail(req, ERR_NOT_FOUND, id.p, NULL);
    out = W->req->respond(req, 200, "Address retrieved");
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("address")));
    for (const wharf_json *m = W->json->at(v.u.j, 0); m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    W->json->close(out);
    return WHARF_OK;
}
