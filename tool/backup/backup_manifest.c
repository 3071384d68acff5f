/* backup_manifest.c - what a backup says of itself. See backup.h. */
#include <stdio.h>
#include <string.h>

#include "blob/blob_store.h"
#include "tool/backup/backup.h"
#include "tool/cli/cli.h"
#include "util/json.h"
#include "util/str.h"

enum { FORMAT = 1, MANIFEST_MAX = 4 * 1024 * 1024, HEX_MAX = 2 * SEAL_KEY + 1 };
static const char manifest_name[] = "manifest.json", sum_name[] = "manifest.sha256";

/* ---- writing ---- */

static void write_hex(struct jw *w, const char *key, const unsigned char *bytes, size_t n)
{
    char hex[HEX_MAX];

    jw_z(w, key, sodium_bin2hex(hex, sizeof(hex), bytes, n));
}

static void write_terms(struct jw *w, const struct backup_manifest *m)
{
    if (!m->sealed) {
        jw_null(w, "encryption");
        return;
    }
    jw_open(w, "encryption", '{');
    jw_z(w, "cipher", "xchacha20poly1305 secretstream");
    jw_z(w, "key", "argon2id13");
    write_hex(w, "salt", m->terms.salt, SEAL_SALT);
    write_hex(w, "shown", m->terms.shown, SEAL_KEY);
    jw_int(w, "operations", (int64_t)m->terms.operations);
    jw_int(w, "memory", (int64_t)m->terms.memory);
    jw_close(w, '}');
}

static void write_lists(struct jw *w, const struct backup_manifest *m, wharf_str lost)
{
    jw_open(w, "modules", '[');
    for (size_t i = 0; i < m->n_modules; i++) {
        jw_open(w, NULL, '{');
        jw_z(w, "name", m->modules[i].name);
        jw_int(w, "migration", m->modules[i].migration);
        jw_close(w, '}');
    }
    jw_close(w, ']');
    jw_open(w, "files", '[');
    for (size_t i = 0; i < m->n_files; i++) {
        jw_open(w, NULL, '{');
        jw_z(w, "name", m->files[i].name);
        jw_int(w, "size", (int64_t)m->files[i].sum.size);
        jw_z(w, "sha256", m->files[i].sum.sha256);
        jw_close(w, '}');
    }
    jw_close(w, ']');
    jw_open(w, "lost", '[');
    for (size_t at = 0; at < lost.n; at += SUM_TEXT + 1)
        jw_str(w, NULL, (wharf_str){lost.p + at, SUM_TEXT});
    jw_close(w, ']');
}

static void write_text(struct buf *out, const struct backup_manifest *m, wharf_str lost)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_int(&w, "format", FORMAT);
    jw_z(&w, "version", m->version);
    jw_z(&w, "made_at", m->made_at);
    jw_int(&w, "postgresql", m->postgresql);
    jw_z(&w, "master_key", m->master_key);
    write_terms(&w, m);
    write_lists(&w, m, lost);
    jw_int(&w, "objects", m->objects);
    jw_int(&w, "object_bytes", m->object_bytes);
    jw_int(&w, "lost_count", m->lost);
    jw_close(&w, '}');
    buf_addc(out, '\n');
}

bool backup_manifest_write(
    const struct backup_place *p, const struct backup_manifest *m, wharf_str lost)
{
    char line[SUM_TEXT + sizeof(manifest_name) + 4];
    struct backup_sum sum;
    struct buf out;
    bool good;
    int n;

    buf_init(&out, MANIFEST_MAX);
    write_text(&out, m, lost);
    good = backup_out_text(p->fd, manifest_name, NULL, out.p, out.n, &sum);
    fault_point("backup.manifest");
    n = snprintf(line, sizeof(line), "%s  %s\n", sum.sha256, manifest_name);
    good = good && backup_out_text(p->fd, sum_name, NULL, line, (size_t)n, &sum);
    buf_done(&out);
    return good || place_failed(p, manifest_name, "written");
}

/* ---- reading ---- */

static bool backup_manifest_take_bytes(void *arg, const void *bytes, size_t n)
{
    struct buf *b = arg;

    buf_add(b, bytes, n);
    return !b->failed;
}

static bool backup_manifest_read_hex(
    const struct wharf_json *o, const char *key, unsigned char *out, size_t n)
{
    wharf_str hex = json_text_or(o, key, "");
    size_t got;

    return sodium_hex2bin(out, n, hex.p, hex.n, NULL, &got, NULL) == 0 && got == n;
}

static bool read_terms(const struct wharf_json *o, struct backup_manifest *m)
{
    const struct wharf_json *terms = json_get(o, "encryption");

    m->sealed = json_is(terms, JSON_OBJECT);
    if (!m->sealed)
        return terms && terms->type == JSON_NULL;
    m->terms.operations = (uint64_t)json_int_or(terms, "operations", 0);
    m->terms.memory = (uint64_t)json_int_or(terms, "memory", 0);
    return backup_manifest_read_hex(terms, "salt", m->terms.salt, SEAL_SALT) &&
           backup_manifest_read_hex(terms, "shown", m->terms.shown, SEAL_KEY);
}

static bool read_modules(const struct wharf_json *o, struct backup_manifest *m)
{
    const struct wharf_json *list = json_get(o, "modules");

    if (!json_is(list, JSON_ARRAY) || list->count > MODULES_MAX)
        return false;
    for (const struct wharf_json *v = list->child; v; v = v->next)
        m->modules[m->n_modules++] = (struct backup_module){
            json_text_or(v, "name", "").p, json_int_or(v, "migration", 0)};
    return m->n_modules > 0;
}

/* Returns our own text for the name of a file: a manifest can't name others, or paths. */
static const char *known_file(wharf_str name)
{
    static const char *const known[MANIFEST_FILES] = {BACKUP_DUMP, BACKUP_OBJECTS, BACKUP_KEY};

    for (size_t i = 0; i < MANIFEST_FILES; i++)
        if (str_eqz(name, known[i]))
            return known[i];
    return NULL;
}

static bool backup_manifest_read_files(const struct wharf_json *o, struct backup_manifest *m)
{
    const struct wharf_json *list = json_get(o, "files");

    if (!json_is(list, JSON_ARRAY) || list->count > MANIFEST_FILES)
        return false;
    for (const struct wharf_json *v = list->child; v; v = v->next) {
        wharf_str sha256 = json_text_or(v, "sha256", "");
        const char *name = known_file(json_text_or(v, "name", ""));

        if (!name || sha256.n != SUM_TEXT)
            return false;
        m->files[m->n_files].name = name;
        m->files[m->n_files].sum.size = (uint64_t)json_int_or(v, "size", 0);
        memcpy(m->files[m->n_files++].sum.sha256, sha256.p, SUM_TEXT + 1);
    }
    return backup_manifest_file(m, BACKUP_DUMP) && backup_manifest_file(m, BACKUP_OBJECTS);
}

static bool backup_manifest_read_text(wharf_str text, struct backup_manifest *m, struct arena *a)
{
    struct json_error e;
    const struct wharf_json *o = json_parse(a, text, &e);

    *m = (struct backup_manifest){.version = json_text_or(o, "version", "").p,
        .made_at = json_text_or(o, "made_at", "").p,
        .master_key = json_text_or(o, "master_key", "").p,
        .postgresql = json_int_or(o, "postgresql", 0),
        .objects = json_int_or(o, "objects", 0),
        .object_bytes = json_int_or(o, "object_bytes", 0),
        .lost = json_int_or(o, "lost_count", 0)};
    return o && json_int_or(o, "format", 0) == FORMAT && read_terms(o, m) && read_modules(o, m) &&
           backup_manifest_read_files(o, m);
}

/* Compares the manifest with the line that sha256sum would write. */
static bool sum_fits(const struct backup_place *p, const struct backup_sum *sum)
{
    char line[SUM_TEXT + sizeof(manifest_name) + 4];
    struct buf told;
    bool fits;

    snprintf(line, sizeof(line), "%s  %s\n", sum->sha256, manifest_name);
    buf_init(&told, sizeof(line));
    fits = backup_in(p->fd, sum_name, NULL, backup_manifest_take_bytes, &told, NULL, NULL) ==
               READ_WHOLE &&
           str_eqz(buf_str(&told), line);
    buf_done(&told);
    return fits;
}

bool backup_manifest_read(
    const struct backup_place *p, struct backup_manifest *ret, struct arena *a)
{
    struct backup_sum sum;
    struct buf text;
    bool good;

    buf_init(&text, MANIFEST_MAX);
    good = backup_in(p->fd, manifest_name, NULL, backup_manifest_take_bytes, &text, &sum, NULL) ==
               READ_WHOLE &&
           sum_fits(p, &sum);
    if (!good) {
        cli_fail("%s: manifest.json is not what manifest.sha256 says; take another backup", p->dir);
    } else {
        wharf_str copy = arena_dup_str(a, buf_str(&text));

        good = backup_manifest_read_text(copy, ret, a);
        if (!good)
            cli_fail(
                "%s: this version does not understand manifest.json; use the one that made the "
                "backup, or a later one",
                p->dir);
    }
    buf_done(&text);
    return good;
}

const struct backup_sum *backup_manifest_file(const struct backup_manifest *m, const char *name)
{
    for (size_t i = 0; i < m->n_files; i++)
        if (strcmp(m->files[i].name, name) == 0)
            return &m->files[i].sum;
    return NULL;
}

bool backup_manifest_open(const struct backup_manifest *m, const char *passphrase_file,
    struct backup_seal *room, const struct backup_seal **ret, struct arena *a)
{
    wharf_str passphrase, error;
    const char *why;

    *ret = m->sealed ? room : NULL;
    if (!m->sealed && !passphrase_file)
        return true;
    if (!m->sealed) /* somebody may have put it in the place of an encrypted one */
        cli_fail("the backup is not encrypted, anybody may have made it; if that is right, leave "
                 "out --passphrase-file");
    else if (!passphrase_file)
        cli_fail("the backup is encrypted: say --passphrase-file FILE");
    else if (!seal_passphrase(passphrase_file, a, &passphrase, &error))
        cli_fail("%s", error.p);
    else if (!seal_open(passphrase, &m->terms, room, &why))
        cli_fail("the backup does not open: %s", why);
    else
        return true;
    return false;
}
