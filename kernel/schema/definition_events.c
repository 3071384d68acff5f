/* definition_events.c - the part `events` of a definition: names, and what their data leave out
 * (docs/reference/definitions.md 'events', docs/spec/07-events-and-webhooks.md sections 3, 4). */
#include <string.h>

#include "config/shipped.h"
#include "schema/compile.h"
#include "schema/definition.h"

/* Returns the name of a default event. Plugins of others keep to their own part of the names
 * (docs/spec/07-events-and-webhooks.md section 3). */
static const char *default_event(struct compile *c, const char *what)
{
    const char *plugin = c->d->plugin;

    if (module_is_shipped(plugin) || !strcmp(plugin, c->d->name))
        return arena_printf(c->arena, "%s.%s", c->d->name, what).p;
    return arena_printf(c->arena, "%s.%s.%s", plugin, c->d->name, what).p;
}

static const char *event_name(
    struct compile *c, const struct wharf_json *v, const struct place *at, const char *what)
{
    const struct wharf_json *m = json_get(v, what);
    const char *name;

    if (json_is(m, JSON_BOOL) && !m->truth)
        return NULL;
    name = opt_text(c, v, at, what, default_event(c, what));
    opt_shape(c, at, what, name, "^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$",
        "an event name like door.created, or false");
    return name;
}

static void read_quiet(struct compile *c, const struct wharf_json *events, const struct place *up)
{
    struct place at = place_key(up, WHARF_S("quiet"));
    struct definition *d = c->d;
    const struct field **quiet;
    size_t n;
    const char *const *names = opt_texts(c, events, up, "quiet", &n);

    quiet = ARENA_ARRAY(c->arena, const struct field *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct field *f = find_field(c, &at, names[i]);

        if (f)
            quiet[d->events.n_quiet++] = f;
    }
    d->events.quiet = quiet;
}

/* Reads of which lists events carry the last elements only. */
static void read_newest(struct compile *c, const struct wharf_json *events, const struct place *up)
{
    const struct wharf_json *list = json_get(events, "newest");
    struct place at = place_key(up, WHARF_S("newest"));
    struct definition_events *to = &c->d->events;
    struct field_newest *newest;
    int64_t n;

    if (list && !json_is(list, JSON_OBJECT)) {
        opt_problem(c, &at, "an object: name of a list -> how many of its elements");
        return;
    }
    to->newest = newest = ARENA_ARRAY(c->arena, struct field_newest, list ? list->count + 1 : 1);
    for (const struct wharf_json *m = list ? list->child : NULL; m; m = m->next) {
        size_t name = strcspn(m->key.p, "."); /* of the field; behind it that of its member */
        const struct field *f = find_field(c, &at, arena_dup(c->arena, m->key.p, name).p);
        const char *member = m->key.p[name] ? arena_dupz(c->arena, m->key.p + name + 1).p : NULL;
        if (!json_int(m, &n) || n < !member)
            opt_member_problem(c, &at, m->key.p, "a number from 1");
        else if (f)
            newest[to->n_newest++] = (struct field_newest){f, member, (size_t)n};
    }
}

/* Reads which fields are kept line by line, for who may see each. */
static void events_read_parts(
    struct compile *c, const struct wharf_json *events, const struct place *up)
{
    static const char *const keys[] = {"of", "lines", "newest", "one", NULL};
    const struct wharf_json *list = json_get(events, "parts");
    struct place at = place_key(up, WHARF_S("parts"));
    struct definition *d = c->d;
    struct event_part *parts;

    if (list && !json_is(list, JSON_OBJECT)) {
        opt_problem(c, &at, "an object: name of a field -> {of, lines}");
        return;
    }
    parts = ARENA_ARRAY(c->arena, struct event_part, list ? list->count + 1 : 1);
    for (const struct wharf_json *m = list ? list->child : NULL; m; m = m->next) {
        const struct field *f = find_field(c, &at, m->key.p);
        struct place m_at = place_key(&at, m->key);

        if (!f || !opt_object(c, m, &m_at, keys))
            continue;
        parts[d->events.n_parts++] = (struct event_part){.field = f,
            .of = opt_text(c, m, &m_at, "of", NULL),
            .lines = opt_need(c, m, &m_at, "lines"),
            .newest = opt_int(c, m, &m_at, "newest", 0, 1, 100000),
            .one = opt_bool(c, m, &m_at, "one", false)};
    }
    d->events.parts = parts;
}

/* Refuses what differs from caller to caller: an event is for all of them. */
static void check_told(struct compile *c, const struct field *f, const struct place *at)
{
    static const char *const differs[] = {
        CALLER_OPENS "all_locations}", CALLER_OPENS "locations}", CALLER_OPENS CALLER_READS};
    bool told = f->in & IN_RETRIEVE;

    for (size_t i = 0; i < c->d->events.n_without; i++)
        told = told && c->d->events.without[i] != f;
    for (size_t i = 0; told && i < sizeof(differs) / sizeof(differs[0]); i++) {
        if (f->computed && strstr(f->computed, differs[i])) {
            opt_problem(c, at, "names \"%s\" too: who asks makes a difference to it", f->name);
            return;
        }
    }
}

void events_compile(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const keys[] = {"created", "updated", "deleted", "without", "newest",
        "quiet", "parts", "disable_webhooks", NULL};
    const struct wharf_json *events = json_get(x, "events");
    struct place e_at = place_key(at, WHARF_S("events")),
                 w_at = place_key(&e_at, WHARF_S("without"));
    struct definition *d = c->d;
    const struct field **without;
    size_t n;
    const char *const *names;

    if (json_is(events, JSON_BOOL) && !events->truth)
        return;
    opt_object(c, events, &e_at, keys);
    d->events.created = event_name(c, events, &e_at, "created");
    d->events.updated = event_name(c, events, &e_at, "updated");
    d->events.deleted = event_name(c, events, &e_at, "deleted");
    d->events.disable_webhooks = opt_bool(c, events, &e_at, "disable_webhooks", false);
    events_read_parts(c, events, &e_at);
    names = opt_texts(c, events, &e_at, "without", &n);
    without = ARENA_ARRAY(c->arena, const struct field *, n + 2 * d->n_fields + 1);
    for (size_t i = 0; i < n; i++) {
        const struct field *f = find_field(c, &w_at, names[i]);

        if (f)
            without[d->events.n_without++] = f;
    }
    /* Secrets leave this house in answers only; data of others' rows have events of their own. */
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].secret || d->fields[i].fresh || d->fields[i].held)
            without[d->events.n_without++] = &d->fields[i];
    }
    for (size_t i = 0; i < d->events.n_parts; i++)
        without[d->events.n_without++] = d->events.parts[i].field;
    d->events.without = without;
    for (size_t i = 0; i < d->n_fields; i++)
        check_told(c, &d->fields[i], &w_at);
    read_newest(c, events, &e_at);
    read_quiet(c, events, &e_at);
}
