/* manifest_members.c - members of articles, containers and lines of receipts, as they are sent
 * (docs/spec/03-shipments-and-trackers.md sections 7.1 and 7.3). Leaves what they mean to SQL. */
#include "manifests.h"

#include "wharf/errors.h"
#include "wharf/moment.h"

static wharf_status manifest_members_bad(wharf_req *req, const char *path, const char *message)
{
    return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s %s", path, message);
}

/* ---- quantities ---- */

wharf_status manifest_quantity(
    wharf_req *req, const wharf_json *v, const char *path, bool some, int64_t *ret_quantity)
{
    wharf_status s = manifests_stock->quantity(req, v, path, ret_quantity);

    if (s == WHARF_OK && *ret_quantity < (some ? 1 : 0))
        return manifest_members_bad(req, path, some ? "must be above 0" : "must be 0 or more");
    return s;
}

/* ---- the others ---- */

static void put_texts(wharf_req *req, const wharf_json *v, const char *path, size_t most,
    const char *name, wharf_out *out)
{
    enum { TEXT_MAX = 128 };
    wharf_str s;

    if (W->json->type(v) != WHARF_J_ARRAY || W->json->count(v) > most) {
        manifest_members_bad(
            req, path, W->mem->format(req, "must be an array of up to %zu texts", most).p);
        return;
    }
    for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e)) {
        if (!W->json->text(e, &s) || !s.n || s.n > TEXT_MAX) {
            manifest_members_bad(req, path, "must be an array of texts of 1 to 128 bytes");
            return;
        }
    }
    W->json->put(out, name, val_json(v));
}

static void manifest_members_put_moment(
    wharf_req *req, const wharf_json *v, const char *path, const char *name, wharf_out *out)
{
    wharf_str s = WHARF_S("");
    int64_t at, whole;

    if (W->json->integer(v, &whole))
        s = W->mem->format(req, "%lld", (long long)whole);
    else
        W->json->text(v, &s);
    if (wharf_moment_read(s.p, &at))
        W->json->put(out, name, val_time(at));
    else
        manifest_members_bad(req, path,
            "must be a date and time with Z or a UTC offset, or epoch seconds or milliseconds");
}

static void manifest_members_put_whole(wharf_req *req, const wharf_json *v, const char *path,
    const struct line_member *m, wharf_out *out)
{
    int64_t whole;

    if (!W->json->integer(v, &whole) || whole < 0 || (m->most && whole > (int64_t)m->most))
        manifest_members_bad(req, path, "must be a whole number from 0");
    else
        W->json->put(out, m->name, val_int(whole));
}

static void manifest_members_put_text(wharf_req *req, const wharf_json *v, const char *path,
    const struct line_member *m, wharf_out *out)
{
    wharf_str s = WHARF_S("");

    if (!W->json->text(v, &s) || s.n > m->most) {
        manifest_members_bad(
            req, path, W->mem->format(req, "must be text of up to %zu bytes", m->most).p);
        return;
    }
    if (m->kind == MEMBER_REASON && s.n)
        manifest_reason_check(req, s, path);
    W->json->put(out, m->name, val_text_or_null(s));
}

static void manifest_members_put_member(wharf_req *req, const wharf_json *v, const char *path,
    const struct line_member *m, wharf_out *out)
{
    bool truth;

    if (json_is_null(v)) {
        W->json->put(out, m->name, val_null());
        return;
    }
    switch (m->kind) {
    case MEMBER_TEXT:
    case MEMBER_REASON:
        manifest_members_put_text(req, v, path, m, out);
        break;
    case MEMBER_BOOL:
        if (W->json->truth(v, &truth))
            W->json->put(out, m->name, val_bool(truth));
        else
            manifest_members_bad(req, path, "must be true or false");
        break;
    case MEMBER_MOMENT:
        manifest_members_put_moment(req, v, path, m->name, out);
        break;
    case MEMBER_TEXTS:
        put_texts(req, v, path, m->most, m->name, out);
        break;
    case MEMBER_WHOLE:
        manifest_members_put_whole(req, v, path, m, out);
        break;
    case MEMBER_QUANTITY:
    case MEMBER_SOME:
        break;
    }
}

static void put_quantity(
    wharf_req *req, const wharf_json *e, wharf_str at, const struct line_member *m, wharf_out *out)
{
    const char *name = m->name;
    const wharf_json *v = W->json->get(e, name);
    bool some = m->kind == MEMBER_SOME;
    int64_t quantity = WHARF_STOCK_ONE;
    wharf_status s = WHARF_OK;

    if (!v && m->former) {
        name = m->former;
        v = W->json->get(e, name);
    }
    if (json_is_null(v) && !some)
        return;
    if (!json_is_null(v))
        s = manifest_quantity(req, v, W->mem->format(req, "%s%s", at.p, name).p, some, &quantity);
    if (s == WHARF_OK)
        W->json->put(out, m->as, val_decimal(quantity, QUANTITY_SCALE));
}

void members_read(wharf_req *req, const wharf_json *e, wharf_str at,
    const struct line_member *members, size_t n, wharf_out *out)
{
    for (size_t i = 0; i < n; i++) {
        if (members[i].kind == MEMBER_QUANTITY || members[i].kind == MEMBER_SOME)
            put_quantity(req, e, at, &members[i], out);
    }
    W->json->open(out, "j", '{');
    for (size_t i = 0; i < n; i++) {
        const wharf_json *v = W->json->get(e, members[i].name);

        if (v)
            manifest_members_put_member(
                req, v, W->mem->format(req, "%s%s", at.p, members[i].name).p, &members[i], out);
    }
    W->json->close(out);
}
