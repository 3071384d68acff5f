/* manifest.c - checks a plugin file and reads its manifest text into a struct.
 *
 * Every message names the file and the key. Leaves to others: finding the text in the ELF file
 * (manifest_note.c), and whether needs are met (registry). */
#include "plugin/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/shipped.h"
#include "util/str.h"

enum {
    NAME_MAX_BYTES = 31,
    SCOPE_MAX_BYTES = 64,
    FILE_MAX = 512 * 1024 * 1024, /* bytes of a plugin */
    TEXT_MAX = 4 * 1024 * 1024 /* bytes of its manifest */
};

/* One manifest being read. */
struct reader {
    struct arena *a;
    struct manifest *m;
    const struct wharf_json *root;
    wharf_str *error;
};

static bool manifest_refuse(struct reader *r, const char *key, const char *what)
{
    *r->error = arena_printf(r->a, "%s: plugin.json: %s %s", r->m->file, key, what);
    return false;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool manifest_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Measures a word [a-z][a-z0-9_]{min-1,max-1}. Returns its length, 0 when there is none at p. */
static size_t word_at(const char *p, size_t n, size_t min, size_t max)
{
    size_t i = 1;

    if (!n || !is_lower(p[0]))
        return 0;
    while (i < n && (is_lower(p[i]) || manifest_is_digit(p[i]) || p[i] == '_'))
        i++;
    return i >= min && i <= max ? i : 0;
}

/* Tells whether it is word(.word)+, as in locations.directory. */
static bool is_service_name(wharf_str s)
{
    size_t at = 0, words = 0;

    while (at < s.n) {
        size_t n = word_at(s.p + at, s.n - at, 1, NAME_MAX_BYTES);

        at += n;
        if (!n || (at < s.n && s.p[at] != '.') || at + 1 == s.n)
            return false;
        words++;
        at += at < s.n;
    }
    return words >= 2;
}

/* Tells whether it is area, or area:verb. */
static bool is_scope(wharf_str s)
{
    size_t n = word_at(s.p, s.n, 2, 32);

    if (!n || n == s.n)
        return n > 0;
    return s.p[n] == ':' && s.n > n + 1 && s.n <= SCOPE_MAX_BYTES &&
           word_at(s.p + n + 1, s.n - n - 1, 1, 32) == s.n - n - 1;
}

/* Reads a number of at most 5 digits without leading zeros, up to the end or the stop character. */
static bool manifest_number_at(const char **p, const char *end, char stop, uint16_t *ret)
{
    unsigned value = 0;
    const char *from = *p;

    while (*p < end && manifest_is_digit(**p) && *p - from < 6)
        value = value * 10 + (unsigned)(*(*p)++ - '0');
    if (*p == from || value > UINT16_MAX || (*from == '0' && *p - from > 1))
        return false;
    if (stop && (*p == end || **p != stop))
        return false;
    *p += stop != 0;
    *ret = (uint16_t)value;
    return true;
}

static bool parse_version2(wharf_str s, uint16_t *ret_major, uint16_t *ret_minor)
{
    const char *p = s.p, *end = s.p + s.n;

    return manifest_number_at(&p, end, '.', ret_major) &&
           manifest_number_at(&p, end, 0, ret_minor) && p == end;
}

/* Tells whether it is 1.2.3, with the optional -pre and +build of semver. */
static bool is_semver(wharf_str s)
{
    const char *p = s.p, *end = s.p + s.n;
    uint16_t part = 0;
    bool last_counts = false;

    if (!manifest_number_at(&p, end, '.', &part) || !manifest_number_at(&p, end, '.', &part) ||
        !manifest_number_at(&p, end, 0, &part))
        return false;
    if (p == end)
        return true;
    if (*p != '-' && *p != '+')
        return false;
    for (; p < end; p++) {
        last_counts = manifest_is_digit(*p) || is_lower((char)(*p | 0x20));
        if (!last_counts && !strchr("-+.", *p))
            return false;
    }
    return s.n < 64 && last_counts;
}

static bool manifest_read_text(struct reader *r, const char *key, bool required, const char **ret)
{
    const struct wharf_json *v = json_get(r->root, key);

    *ret = NULL;
    if (!v)
        return required ? manifest_refuse(r, key, "is missing") : true;
    if (!json_is(v, JSON_STRING) || !v->text.n || v->has_nul)
        return manifest_refuse(r, key, "must be a text");
    *ret = v->text.p;
    return true;
}

static bool read_services(
    struct reader *r, const char *key, const struct manifest_service **ret, size_t *ret_n)
{
    const struct wharf_json *v = json_get(r->root, key);
    struct manifest_service *list;
    size_t n = 0;

    *ret = NULL;
    *ret_n = 0;
    if (!v)
        return true;
    if (!json_is(v, JSON_OBJECT))
        return manifest_refuse(r, key,
            "must be an object of service names and versions, like {\"locations.directory\": "
            "\"1.0\"}");
    list = ARENA_ARRAY(r->a, struct manifest_service, v->count + 1);
    for (const struct wharf_json *c = v->child; c; c = c->next, n++) {
        list[n].name = c->key.p;
        if (!is_service_name(c->key))
            return manifest_refuse(r, arena_printf(r->a, "%s: \"%s\"", key, c->key.p).p,
                "must be a service name like items.stock");
        if (!json_is(c, JSON_STRING) || !parse_version2(c->text, &list[n].major, &list[n].minor))
            return manifest_refuse(r, arena_printf(r->a, "%s: %s", key, c->key.p).p,
                "must have a version like \"1.0\"");
    }
    *ret = list;
    *ret_n = n;
    return true;
}

static bool read_scopes(struct reader *r)
{
    const struct wharf_json *v = json_get(r->root, "scopes");
    const char **list;
    size_t n = 0;

    if (!v)
        return true;
    if (!json_is(v, JSON_ARRAY))
        return manifest_refuse(r, "scopes", "must be a list of texts");
    list = ARENA_ARRAY(r->a, const char *, v->count + 1);
    for (const struct wharf_json *c = v->child; c; c = c->next) {
        if (!json_is(c, JSON_STRING) || !is_scope(c->text))
            return manifest_refuse(r, "scopes",
                "must hold areas like \"dock_doors\" or scopes like \"dock_doors:open\"");
        list[n++] = c->text.p;
    }
    r->m->scopes = list;
    r->m->n_scopes = n;
    return true;
}

/* Reads a list of words; n is 0 when there is none. */
static bool manifest_read_words(
    struct reader *r, const char *key, const char *const **ret, size_t *ret_n)
{
    const struct wharf_json *v = json_get(r->root, key);
    const char **list;

    if (!v)
        return true;
    if (!json_is(v, JSON_ARRAY))
        return manifest_refuse(r, key, "must be a list of words");
    list = ARENA_ARRAY(r->a, const char *, v->count + 1);
    for (const struct wharf_json *c = v->child; c; c = c->next) {
        if (!json_is(c, JSON_STRING) ||
            word_at(c->text.p, c->text.n, 1, SCOPE_MAX_BYTES) != c->text.n)
            return manifest_refuse(r, key, "must hold words of a-z, 0-9 and _");
        list[(*ret_n)++] = c->text.p;
    }
    *ret = list;
    return true;
}

static bool manifest_read_identity(struct reader *r)
{
    struct manifest *m = r->m;
    const char *abi, *slash = strrchr(m->file, '/'), *base = slash ? slash + 1 : m->file;
    size_t n;

    if (!manifest_read_text(r, "name", true, &m->name) ||
        !manifest_read_text(r, "version", true, &m->version) ||
        !manifest_read_text(r, "abi", true, &abi))
        return false;
    n = strlen(m->name);
    if (word_at(m->name, n, 2, NAME_MAX_BYTES) != n)
        return manifest_refuse(
            r, "name", "must be 2 to 31 of a-z, 0-9 and _, beginning with a letter");
    if (str_ends(str_z(base), ".so") &&
        (strncmp(base, m->name, n) != 0 || strcmp(base + n, ".so") != 0))
        return manifest_refuse(r, "name",
            arena_printf(r->a, "is %s, so the file must be called %s.so", m->name, m->name).p);
    if (!is_semver(str_z(m->version)))
        return manifest_refuse(r, "version", "must be a version like 1.2.3");
    if (!parse_version2(str_z(abi), &m->abi_major, &m->abi_minor))
        return manifest_refuse(
            r, "abi", "must be the lowest ABI the plugin runs with, like \"1.0\"");
    m->third_party = !module_is_shipped(m->name);
    return true;
}

static bool known_keys_only(struct reader *r)
{
    static const char *const known[] = {
        "name",
        "version",
        "abi",
        "needs",
        "wants",
        "provides",
        "config",
        "settings",
        "shows",
        "scopes",
        "events",
        "hookable",
        "refers",
        "codes",
        "license",
        "homepage",
        "description",
        "tags",
        "shapes",
    };

    for (const struct wharf_json *c = r->root->child; c; c = c->next) {
        bool found = str_starts(c->key, "x-") || str_eqz(c->key, "$schema");

        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            found = found || str_eqz(c->key, known[i]);
        if (!found)
            return manifest_refuse(r, arena_printf(r->a, "\"%s\"", c->key.p).p,
                "is no key this server knows; private keys begin with x-");
    }
    return true;
}

/* Tells whether each member of "shows" is a text, for a service of the plugin's own. */
static bool shows_provided(const struct reader *r, const struct manifest *m)
{
    bool good = json_is(m->shows, JSON_OBJECT);

    for (const struct wharf_json *s = good ? m->shows->child : NULL; s && good; s = s->next)
        good = json_is(s, JSON_STRING) && s->text.n &&
               json_get_n(json_get(r->root, "provides"), s->key);
    return good;
}

/* Reads the members that are objects or lists as they stand. */
static bool read_objects(struct reader *r)
{
    struct manifest *m = r->m;
    const struct {
        const char *key;
        const struct wharf_json **to;
        uint8_t type;
        const char *rule;
    } members[] = {{"config", &m->config, JSON_OBJECT, "must be a JSON Schema object"},
        {"events", &m->events, JSON_OBJECT, "must be an object of event types"},
        {"hookable", &m->hookable, JSON_ARRAY, "must be a list of names of resources"},
        {"settings", &m->settings, JSON_OBJECT, "must be an object of JSON Schemas"},
        {"shapes", &m->shapes, JSON_OBJECT, "must be an object of JSON Schemas"},
        {"tags", &m->tags, JSON_ARRAY, "must be a list of objects with name and description"}};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        *members[i].to = json_get(r->root, members[i].key);
        if (*members[i].to && (*members[i].to)->type != members[i].type)
            return manifest_refuse(r, members[i].key, members[i].rule);
    }
    m->shows = json_get(r->root, "shows");
    if (m->shows && !shows_provided(r, m))
        return manifest_refuse(
            r, "shows", "must be an object of SQL texts for services that it provides");
    return true;
}

static bool manifest_read_members(struct reader *r)
{
    struct manifest *m = r->m;

    if (!known_keys_only(r) || !manifest_read_identity(r) ||
        !read_services(r, "needs", &m->needs, &m->n_needs) ||
        !read_services(r, "wants", &m->wants, &m->n_wants) ||
        !read_services(r, "provides", &m->provides, &m->n_provides) || !read_scopes(r) ||
        !manifest_read_words(r, "refers", &m->refers, &m->n_refers) ||
        !manifest_read_words(r, "codes", &m->codes, &m->n_codes))
        return false;
    if (!manifest_read_text(r, "license", false, &m->license) ||
        !manifest_read_text(r, "homepage", false, &m->homepage) ||
        !manifest_read_text(r, "description", false, &m->description))
        return false;
    return read_objects(r);
}

const struct manifest *manifest_parse(
    struct arena *a, const char *file, wharf_str text, wharf_str *ret_error)
{
    struct json_error error;
    struct reader r = {.a = a, .m = ARENA_NEW(a, struct manifest), .error = ret_error};

    r.m->file = arena_dupz(a, file).p;
    r.m->text = text;
    if (text.n > TEXT_MAX) {
        *ret_error = arena_printf(a, "%s: its manifest is larger than 4 MiB", file);
        return NULL;
    }
    r.root = json_parse(a, text, &error);
    if (!r.root) {
        *ret_error = arena_printf(
            a, "%s: plugin.json, byte %zu: %s", file, error.offset, error.message);
        return NULL;
    }
    if (!json_is(r.root, JSON_OBJECT)) {
        *ret_error = arena_printf(a, "%s: plugin.json must be an object", file);
        return NULL;
    }
    return manifest_read_members(&r) ? r.m : NULL;
}

/* Returns NULL when the file may be loaded, else why not. The server runs its code: nobody else
 * may have been able to write it. */
static const char *check_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "is not a regular file";
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "belongs to another user; it must belong to root or to the user of the server";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by others; run chmod go-w on it";
    if (st->st_size > FILE_MAX)
        return "is larger than 512 MiB";
    return NULL;
}

static bool note_of_file(
    struct arena *a, const char *file, int fd, wharf_str *ret_text, wharf_str *ret_error)
{
    struct stat st;
    const char *why = NULL;
    wharf_str note;
    void *image;
    bool found = false;

    if (fstat(fd, &st) != 0)
        why = strerror(errno);
    else
        why = check_file(&st);
    if (!why && st.st_size == 0)
        why = "is empty";
    if (!why) {
        image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image == MAP_FAILED) {
            why = strerror(errno);
        } else {
            found = manifest_note(image, (size_t)st.st_size, &note, &why);
            if (found)
                *ret_text = arena_dup_str(a, note);
            munmap(image, (size_t)st.st_size);
        }
    }
    if (!found)
        *ret_error = arena_printf(a, "%s %s", file, why);
    return found;
}

const struct manifest *manifest_read(struct arena *a, const char *file, wharf_str *ret_error)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    wharf_str text;
    bool found;

    if (fd < 0) {
        *ret_error = arena_printf(a, "%s can't be opened: %s", file, strerror(errno));
        return NULL;
    }
    found = note_of_file(a, file, fd, &text, ret_error);
    close(fd);
    return found ? manifest_parse(a, file, text, ret_error) : NULL;
}
