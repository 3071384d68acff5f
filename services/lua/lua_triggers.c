/* lua_triggers.c - see lua_triggers.h (docs/spec/08-workflows-and-lua.md section 3). */
#include "lua/lua_triggers.h"

#include <string.h>

#include "util/cron.h"
#include "util/str.h"

enum {
    PATH_MAX_BYTES = 200,
    SEGMENTS_MAX = 16, /* parts of a path */
    CAPTURE_MAX = 32,
    NAME_BYTES = 191
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool lua_triggers_among(const char *const *words, wharf_str word)
{
    for (size_t i = 0; words[i]; i++) {
        if (str_eqz(word, words[i]))
            return true;
    }
    return false;
}

/* Tells whether a member that is there is one of the words. */
static bool lua_triggers_fits(
    const struct wharf_json *t, const char *name, const char *const *words)
{
    const struct wharf_json *v = json_get(t, name);

    return !v || (json_is(v, JSON_STRING) && lua_triggers_among(words, v->text));
}

static bool lua_triggers_wrong(struct trigger_fault *f, wharf_str value, const char *message)
{
    *f = (struct trigger_fault){message, value};
    return false;
}

/* ---- members ---- */

static const struct {
    const char *type, *more; /* what a message says of them */
    const char *members[8];
} kinds[] = {{"manual", " and input_schema (a JSON Schema)", {"input_schema"}},
    {"event",
        ", events, filter, self (true or false) and input_schema (a JSON Schema of the event)",
        {"events", "filter", "self", "input_schema"}},
    {"schedule", ", cron, timezone, overlap and catch_up",
        {"cron", "timezone", "overlap", "catch_up"}},
    {"http", ", path, methods, auth, mode, secret_key and input_schema (a JSON Schema of the body)",
        {"path", "methods", "auth", "mode", "secret_key", "input_schema"}},
    {"hook", ", resource, action and phase", {"resource", "action", "phase"}}};

/* Tells whether it is a member that all have. */
static bool common(const struct wharf_json *m)
{
    return str_eqz(m->key, "type") ||
           (str_eqz(m->key, "name") && json_is(m, JSON_STRING) && m->text.n <= NAME_BYTES) ||
           (str_eqz(m->key, "enabled") && json_is(m, JSON_BOOL));
}

static bool good_members(struct arena *a, const struct wharf_json *t, struct trigger_fault *f)
{
    wharf_str type = json_text_or(t, "type", "");
    size_t k = 0;

    while (k < sizeof(kinds) / sizeof(kinds[0]) && !str_eqz(type, kinds[k].type))
        k++;
    if (k == sizeof(kinds) / sizeof(kinds[0]))
        return true; /* of such a trigger there is more to say */
    for (const struct wharf_json *m = t->child; m; m = m->next) {
        if (!common(m) && !lua_triggers_among(kinds[k].members, m->key))
            return lua_triggers_wrong(f, m->key,
                arena_printf(a,
                    "Such a trigger has type, name (at most %d bytes), enabled (true or false)%s, "
                    "nothing else: look at %s",
                    NAME_BYTES, kinds[k].more, m->key.p)
                    .p);
    }
    return true;
}

/* ---- http ---- */

/* Takes the next segment. Returns false when there is none. */
static bool lua_triggers_next_segment(wharf_str *rest, wharf_str *ret)
{
    const char *end = rest->n ? memchr(rest->p, '/', rest->n) : NULL;

    if (!rest->n)
        return false;
    *ret = (wharf_str){rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = end ? (wharf_str){end + 1, rest->n - ret->n - 1} : (wharf_str){rest->p + rest->n, 0};
    return true;
}

/* Returns the path; a leading slash says nothing. */
static wharf_str lua_triggers_path_of(const struct wharf_json *t)
{
    wharf_str path = json_text_or(t, "path", "");

    return path.n && path.p[0] == '/' ? (wharf_str){path.p + 1, path.n - 1} : path;
}

static bool good_segment(wharf_str s)
{
    bool capture = s.n && s.p[0] == ':';
    const char *set = capture ? "abcdefghijklmnopqrstuvwxyz0123456789_" : LETTERS "_-.~";

    for (size_t i = capture; i < s.n; i++) {
        if (!s.p[i] || !strchr(set, s.p[i]))
            return false;
    }
    return s.n &&
           (!capture || (s.n > 1 && s.n <= CAPTURE_MAX + 1 && s.p[1] >= 'a' && s.p[1] <= 'z')) &&
           !str_eqz(s, ".") && !str_eqz(s, "..");
}

static bool good_path(wharf_str path)
{
    wharf_str seen[SEGMENTS_MAX], s;
    size_t n = 0;

    if (!path.n || path.n > PATH_MAX_BYTES || path.p[path.n - 1] == '/')
        return false;
    while (lua_triggers_next_segment(&path, &s)) {
        if (n == SEGMENTS_MAX || !good_segment(s))
            return false;
        for (size_t i = 0; s.p[0] == ':' && i < n; i++) {
            if (str_eq(seen[i], s))
                return false;
        }
        seen[n++] = s;
    }
    return true;
}

/* Tells whether the same requests go to both paths. */
static bool same_path(wharf_str a, wharf_str b)
{
    wharf_str x, y;

    for (;;) {
        bool more = lua_triggers_next_segment(&a, &x), others = lua_triggers_next_segment(&b, &y);

        if (!more || !others)
            return more == others;
        if ((x.n && x.p[0] == ':') != (y.n && y.p[0] == ':') ||
            (!(x.n && x.p[0] == ':') && !str_eq(x, y)))
            return false;
    }
}

static bool good_methods(const struct wharf_json *list, struct trigger_fault *f)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL},
                             message[] = "methods is an array of GET, POST, PUT, PATCH and DELETE";

    if (list && (!json_is(list, JSON_ARRAY) || !list->child))
        return lua_triggers_wrong(f, json_is(list, JSON_STRING) ? list->text : str_z(""), message);
    for (const struct wharf_json *e = list ? list->child : NULL; e; e = e->next) {
        if (!json_is(e, JSON_STRING) || !lua_triggers_among(methods, e->text))
            return lua_triggers_wrong(f, json_is(e, JSON_STRING) ? e->text : str_z(""), message);
    }
    return true;
}

static bool good_http(
    const struct wharf_json *triggers, const struct wharf_json *t, struct trigger_fault *f)
{
    static const char *const auths[] = {"key", "none", "signature", NULL}, *const modes[] = {"sync",
                                                                               "async", NULL};
    wharf_str path = json_text_or(t, "path", "");

    if (!good_methods(json_get(t, "methods"), f))
        return false;
    if (!good_path(lua_triggers_path_of(t)))
        return lua_triggers_wrong(f, path,
            "path is up to 16 segments of letters, digits, _ - . ~ or :name, such as orders/:id, "
            "each name once");
    if (!lua_triggers_fits(t, "auth", auths))
        return lua_triggers_wrong(f, json_text_or(t, "auth", ""),
            "auth is key (an API key with workflow:read), none or signature");
    if (!lua_triggers_fits(t, "mode", modes))
        return lua_triggers_wrong(f, json_text_or(t, "mode", ""), "mode is sync or async");
    for (const struct wharf_json *u = triggers ? triggers->child : NULL; u && u != t; u = u->next) {
        if (str_eqz(json_text_or(u, "type", ""), "http") &&
            same_path(lua_triggers_path_of(t), lua_triggers_path_of(u)))
            return lua_triggers_wrong(
                f, path, "Another trigger has this path; one trigger may take several methods");
    }
    return true;
}

/* ---- schedule ---- */

static bool good_schedule(struct arena *a, const struct wharf_json *t, struct trigger_fault *f)
{
    static const char *const overlaps[] = {"skip", "queue", NULL};
    wharf_str cron = json_text_or(t, "cron", ""), zone = json_text_or(t, "timezone", "");
    const struct wharf_json *catch_up = json_get(t, "catch_up");
    const char *problem = cron_problem(cron, str_z("")), *of_cron = problem;

    if (!problem && json_get(t, "timezone"))
        problem = zone.n ? cron_problem(cron, zone) : "timezone is a name such as Europe/Berlin";
    if (problem)
        return lua_triggers_wrong(
            f, of_cron ? cron : zone, arena_printf(a, "The schedule can't be: %s", problem).p);
    if (!lua_triggers_fits(t, "overlap", overlaps))
        return lua_triggers_wrong(f, json_text_or(t, "overlap", ""), "overlap is skip or queue");
    if (catch_up && !json_is(catch_up, JSON_BOOL))
        return lua_triggers_wrong(f, str_z(""), "catch_up is true or false");
    return true;
}

bool trigger_good(struct arena *a, const struct wharf_json *triggers, const struct wharf_json *t,
    struct trigger_fault *ret_fault)
{
    wharf_str type = json_text_or(t, "type", "");

    if (!good_members(a, t, ret_fault))
        return false;
    if (str_eqz(type, "http"))
        return good_http(triggers, t, ret_fault);
    return !str_eqz(type, "schedule") || good_schedule(a, t, ret_fault);
}
