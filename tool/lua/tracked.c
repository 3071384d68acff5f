/* tracked.c - which files of a folder came from a server or went there, and as what: so that
 * pull overwrites and removes nothing that somebody did not push. They are kept beside them, in
 * .wharf-draft.json: {"id", "files": {"lib/names.lua": SHA-256}}. Other commands do not see it. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/lua/author.h"
#include "util/file.h"
#include "util/str.h"

enum { RECORD_MAX = 1 << 20, TEXT_MAX = 8 << 20 };

static const char record_name[] = ".wharf-draft.json";

static wharf_str tracked_hash_of(struct arena *a, wharf_str text)
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    char *out = arena_alloc(a, 2 * sizeof(sum) + 1);

    crypto_hash_sha256(sum, (const unsigned char *)text.p, text.n);
    sodium_bin2hex(out, 2 * sizeof(sum) + 1, sum, sizeof(sum));
    return str_z(out);
}

/* Tells whether pull writes this file: what else stands in a record is none of its own. */
static bool own_path(wharf_str path)
{
    return str_eqz(path, "workflow.json") ||
           (str_ends(path, ".lua") && path.p[0] != '/' && !strstr(path.p, "..") &&
               strspn(path.p, "abcdefghijklmnopqrstuvwxyz0123456789_/.") == path.n);
}

static const struct wharf_json *record_of(struct arena *a, const char *dir, const char *id)
{
    wharf_str text = file_read(arena_printf(a, "%s/%s", dir, record_name).p, RECORD_MAX, a);
    struct json_error bad;
    const struct wharf_json *v = text.p ? json_parse(a, text, &bad) : NULL,
                            *files = json_get(v, "files");

    return str_eqz(json_text_or(v, "id", ""), id) && json_is(files, JSON_OBJECT) ? files : NULL;
}

/* Tells whether the file has what somebody wrote since. One that can't be read counts as such. */
static bool tracked_is_changed(
    struct arena *a, const struct wharf_json *record, const char *path, const char *file)
{
    wharf_str text = file_read(file, TEXT_MAX, a), known = json_text_or(record, path, "");

    return access(file, F_OK) == 0 && (!text.p || !str_eq(tracked_hash_of(a, text), known));
}

static const struct lua_text *tracked_find(const struct lua_texts *list, wharf_str path)
{
    for (size_t i = 0; i < list->n; i++) {
        if (str_eqz(path, list->items[i].path))
            return &list->items[i];
    }
    return NULL;
}

static bool is_same(struct arena *a, const char *file, wharf_str text)
{
    wharf_str old = file_read(file, TEXT_MAX, a);

    return old.p && str_eq(old, text);
}

size_t tracked_conflicts(
    struct arena *a, const char *dir, const char *id, const struct lua_texts *list)
{
    const struct wharf_json *record = record_of(a, dir, id);
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const char *file = arena_printf(a, "%s/%s", dir, list->items[i].path).p;

        if (!tracked_is_changed(a, record, list->items[i].path, file) ||
            is_same(a, file, list->items[i].text))
            continue;
        cli_fail("%s: has changes that were not pushed", file);
        n++;
    }
    for (const struct wharf_json *m = record ? record->child : NULL; m; m = m->next) {
        const char *file = arena_printf(a, "%s/%s", dir, m->key.p).p;

        if (!own_path(m->key) || tracked_find(list, m->key) ||
            !tracked_is_changed(a, record, m->key.p, file))
            continue;
        cli_fail(
            "%s: has changes that were not pushed, and the draft has no such file any more", file);
        n++;
    }
    return n;
}

/* Removes the file with the folders that are empty then. */
static bool remove_file(struct arena *a, const char *dir, const char *path)
{
    char *file = (char *)arena_printf(a, "%s/%s", dir, path).p;

    if (access(file, F_OK) != 0)
        return true;
    if (unlink(file) != 0) {
        cli_fail("%s: can't be removed", file);
        return false;
    }
    printf("%s: removed, the draft has no such file any more\n", file);
    for (char *slash = strrchr(file, '/'); slash && (size_t)(slash - file) > strlen(dir);
         slash = strrchr(file, '/')) {
        *slash = 0;
        if (rmdir(file) != 0)
            break;
    }
    return true;
}

bool tracked_remove(struct arena *a, const char *dir, const char *id, const struct lua_texts *list)
{
    const struct wharf_json *record = record_of(a, dir, id);
    bool good = true;

    for (const struct wharf_json *m = record ? record->child : NULL; m && good; m = m->next) {
        if (own_path(m->key) && !tracked_find(list, m->key))
            good = remove_file(a, dir, m->key.p);
    }
    return good;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct lua_text *)a)->path, ((const struct lua_text *)b)->path);
}

bool tracked_write(struct arena *a, const char *dir, const char *id, struct lua_texts *list)
{
    struct json_error bad;
    struct buf out;
    struct jw w;
    wharf_str text, error;

    qsort(list->items, list->n, sizeof(*list->items), by_path);
    buf_init(&out, RECORD_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_z(&w, "id", id);
    jw_open(&w, "files", '{');
    for (size_t i = 0; i < list->n; i++)
        jw_str(&w, list->items[i].path, tracked_hash_of(a, list->items[i].text));
    jw_close(&w, '}');
    jw_close(&w, '}');
    text = json_pretty(a, json_parse(a, arena_dup_str(a, buf_str(&out)), &bad));
    buf_done(&out);
    if (file_replace(arena_printf(a, "%s/%s", dir, record_name).p, arena_printf(a, "%s\n", text.p),
            0644, a, &error))
        return true;
    cli_fail("%s", error.p);
    return false;
}
