/* operator_folder.c - see operator_folder.h. */
#include "lua/operator/operator_folder.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lua/sandbox/sandbox.h"
#include "plugin/manifest.h"
#include "resource/engine.h"
#include "util/file.h"
#include "util/json.h"
#include "util/str.h"

enum {
    DEPTH_MAX = 4, /* folders inside of each other */
    PACK_MAX = 64 << 20
};

struct reading {
    struct arena *a;
    struct hook_folder *f;
    wharf_str problem;
};

static bool operator_folder_refuse(struct reading *r, const char *file, const char *why)
{
    r->problem = arena_printf(r->a, "%s: %s", file, why);
    return false;
}

/* ---- names ---- */

static bool ignored(const char *name)
{
    return name[0] == '.' || name[0] == '_';
}

/* Returns the length of the name without ".lua"; 0: no file of ours. */
static size_t stem(const char *name)
{
    size_t n = strlen(name);

    if (n < 5 || strcmp(name + n - 4, ".lua") != 0 || ignored(name))
        return 0;
    n -= 4;
    return n > 5 && !memcmp(name + n - 5, "_test", 5) ? 0 : n;
}

static bool good_word(const char *name, size_t n)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") >= n;
}

/* ---- one file ---- */

static void digest(struct hook_file *file)
{
    unsigned char sum[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(sum, (const unsigned char *)file->text.p, file->text.n);
    sodium_bin2hex(file->sha256, sizeof(file->sha256), sum, sizeof(sum));
}

static bool operator_folder_add_file(
    struct reading *r, const char *path, const char *shown, const char *name, bool module)
{
    struct hook_file *file = &r->f->files[r->f->n];
    struct stat st;

    if (r->f->n == HOOK_FILES_MAX)
        return operator_folder_refuse(r, shown, "is one file too many; a folder has room for 500");
    if (strlen(name) > SANDBOX_NAME_MAX)
        return operator_folder_refuse(r, shown, "has a name longer than 50 bytes");
    if (stat(path, &st) != 0)
        return errno == ENOENT ? true
                               : operator_folder_refuse(r, shown,
                                     "can't be read; give the server's user the right to");
    if (!S_ISREG(st.st_mode))
        return true;
    if (st.st_mode & S_IWOTH)
        return operator_folder_refuse(r, shown, "may be written by everybody; chmod o-w it");
    *file = (struct hook_file){
        .name = name, .module = module, .text = file_read(path, HOOK_FILE_BYTES, r->a)};
    if (!file->text.p)
        return operator_folder_refuse(r, shown, "can't be read, or is larger than 256 KiB");
    if (!utf8_valid(file->text.p, file->text.n) || memchr(file->text.p, 0, file->text.n))
        return operator_folder_refuse(r, shown, "is not a text in UTF-8");
    digest(file);
    r->f->n++;
    return true;
}

/* ---- folders ---- */

static int operator_folder_by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool read_dir(struct reading *r, const char *dir, const char *prefix, int depth);

static bool operator_folder_read_entry(
    struct reading *r, const char *dir, const char *prefix, const char *name, int depth)
{
    size_t n = stem(name);
    const char *path = arena_printf(r->a, "%s/%s", dir, name).p;
    const char *shown = arena_printf(r->a, "%s%s", prefix, name).p;
    struct stat st;
    char *module;

    if (n && good_word(name, n)) {
        module = (char *)arena_printf(r->a, "%s%.*s", prefix, (int)n, name).p;
        for (char *c = module; *c; c++)
            *c = *c == '/' ? '.' : *c;
        return operator_folder_add_file(r, path, shown, module, depth > 0);
    }
    if (n)
        return operator_folder_refuse(
            r, shown, "names of hook files have letters, digits, - and _ only");
    if (ignored(name) || depth == DEPTH_MAX || stat(path, &st) != 0 || !S_ISDIR(st.st_mode) ||
        !good_word(name, strlen(name)))
        return true;
    return read_dir(r, path, arena_printf(r->a, "%s/", shown).p, depth + 1);
}

/* Reads a folder, files before folders: what is loaded comes first. */
static bool read_dir(struct reading *r, const char *dir, const char *prefix, int depth)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, operator_folder_by_name);
    bool good = true;

    if (n < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? true
                   : operator_folder_refuse(r, dir, "the folder can't be read");
    for (int files = 1; files >= 0; files--) {
        for (int i = 0; good && i < n; i++) {
            if ((stem(entries[i]->d_name) != 0) == (files == 1))
                good = operator_folder_read_entry(r, dir, prefix, entries[i]->d_name, depth);
        }
    }
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return good;
}

static uint64_t print_text(wharf_str text)
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    uint64_t print;

    crypto_hash_sha256(sum, (const unsigned char *)text.p, text.n);
    memcpy(&print, sum, sizeof(print));
    return print | 1;
}

static void print_of(struct hook_folder *f)
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state all;

    crypto_hash_sha256_init(&all);
    for (size_t i = 0; i < f->n; i++) {
        crypto_hash_sha256_update(
            &all, (const unsigned char *)f->files[i].name, strlen(f->files[i].name) + 1);
        crypto_hash_sha256_update(
            &all, (const unsigned char *)f->files[i].sha256, sizeof(f->files[i].sha256));
    }
    crypto_hash_sha256_final(&all, sum);
    memcpy(&f->print, sum, sizeof(f->print));
    f->print |= 1;
}

struct hook_places folder_places(struct arena *a, const struct engine *e, const char *dir)
{
    struct hook_place *items = ARENA_ARRAY(a, struct hook_place, e->n_plugins + 1);
    size_t n = 1;

    items[0] = (struct hook_place){dir, ""};
    for (size_t i = 0; i < e->n_plugins; i++) {
        const char *file = e->plugins[i].manifest->file,
                   *slash = strrchr(file, '/'); /* none: linked into the program */

        if (slash)
            items[n++] = (struct hook_place){
                arena_printf(a, "%.*s/%s.hooks", (int)(slash - file), file, e->plugins[i].name).p,
                arena_printf(a, "%s/", e->plugins[i].name).p};
    }
    return (struct hook_places){items, n};
}

/* Checks that each name is there once: a folder of the operator's may be called as a plugin is. */
static bool names_once(struct reading *r)
{
    for (size_t i = 0; i < r->f->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!strcmp(r->f->files[i].name, r->f->files[k].name))
                return operator_folder_refuse(
                    r, r->f->files[i].name, "is there twice, from a plugin and from the operator");
        }
    }
    return true;
}

bool folder_read(struct arena *a, const struct hook_places *places, struct hook_folder *ret,
    wharf_str *ret_problem)
{
    struct reading r = {a, ret, {"", 0}};
    bool good = true;

    *ret = (struct hook_folder){.files = ARENA_ARRAY(a, struct hook_file, HOOK_FILES_MAX + 1)};
    for (size_t i = 0; good && i < places->n; i++)
        good = read_dir(&r, places->items[i].dir, places->items[i].prefix, 0);
    if (!good || (places->n > 1 && !names_once(&r))) {
        *ret_problem = r.problem;
        ret->print = print_text(r.problem);
        return false;
    }
    print_of(ret);
    return true;
}

/* ---- as one text ---- */

wharf_str folder_pack(struct arena *a, const struct hook_folder *f)
{
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, PACK_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '[');
    for (size_t i = 0; i < f->n; i++) {
        jw_open(&w, NULL, '{');
        jw_z(&w, "name", f->files[i].name);
        jw_bool(&w, "module", f->files[i].module);
        jw_str(&w, "text", f->files[i].text);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return text;
}

bool folder_unpack(struct arena *a, wharf_str text, struct hook_folder *ret)
{
    struct json_error bad;
    const struct wharf_json *all = json_parse(a, text, &bad);

    *ret = (struct hook_folder){.files = ARENA_ARRAY(a, struct hook_file, HOOK_FILES_MAX + 1)};
    if (!json_is(all, JSON_ARRAY) || all->count > HOOK_FILES_MAX)
        return false;
    for (const struct wharf_json *m = all->child; m; m = m->next) {
        struct hook_file *file = &ret->files[ret->n++];

        file->name = json_text_or(m, "name", "").p;
        file->text = json_text_or(m, "text", "");
        file->module = json_bool_or(m, "module", false);
        digest(file);
    }
    print_of(ret);
    return true;
}
