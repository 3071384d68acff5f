/* author_folder.c - reads folders of Lua files, and files of JSON, as authors have them on their
 * disks. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/lua/author.h"
#include "util/file.h"
#include "util/str.h"

enum {
    FILES_MAX = 500,
    FOLDERS_MAX = 500,
    FILE_BYTES = 512 << 10,
    JSON_BYTES = 8 << 20,
    DEPTH_MAX = 4
};

/* ---- JSON ---- */

struct text_place text_place(const char *text, const char *at)
{
    struct text_place p = {1, 1};

    for (; text < at; text++) {
        p.column = *text == '\n' ? 1 : p.column + 1;
        p.line += *text == '\n';
    }
    return p;
}

const struct wharf_json *json_of_file(
    struct arena *a, const char *path, size_t most, wharf_str *ret_text)
{
    wharf_str text = file_read(path, most, a);
    struct json_error bad = {.message = NULL};
    const struct wharf_json *v = text.p ? json_parse(a, text, &bad) : NULL;
    struct text_place at;

    if (ret_text)
        *ret_text = text;
    if (v)
        return v;
    if (access(path, F_OK) != 0) {
        cli_fail("%s: there is no such file", path);
    } else if (!text.p) {
        cli_fail("%s: can't be read, or has more than %zu MiB", path, most >> 20);
    } else {
        at = text_place(text.p, text.p + bad.offset);
        cli_fail("%s:%ld:%ld: is no JSON: %s", path, at.line, at.column, bad.message);
    }
    return NULL;
}

bool object_if_any(struct arena *a, const char *path, const struct wharf_json **ret)
{
    *ret = NULL;
    if (access(path, F_OK) != 0)
        return true;
    *ret = json_of_file(a, path, JSON_BYTES, NULL);
    if (*ret && !json_is(*ret, JSON_OBJECT)) {
        cli_fail("%s: is no JSON object, but another kind of value", path);
        *ret = NULL;
    }
    return *ret != NULL;
}

/* ---- folders ---- */

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool has_file(struct arena *a, const char *dir, const char *name)
{
    return access(arena_printf(a, "%s/%s", dir, name).p, F_OK) == 0;
}

static int author_folder_by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Takes the file's text into the folder. */
static bool author_folder_take(
    struct arena *a, struct lua_folder *f, const char *path, const char *inside)
{
    size_t n = strlen(inside) - 4;
    char *name = (char *)arena_dup(a, inside, n).p;
    struct lua_file *file = &f->files[f->n];

    for (char *c = name; *c; c++)
        *c = *c == '/' ? '.' : *c;
    if (f->n == FILES_MAX || n > SANDBOX_NAME_MAX) {
        cli_fail("%s: %s", path,
            f->n == FILES_MAX ? "there are more than 500 files"
                              : "its name has more than 50 bytes");
        return false;
    }
    *file = (struct lua_file){name, path, file_read(path, FILE_BYTES, a)};
    if (!file->text.p || !utf8_valid(file->text.p, file->text.n) ||
        memchr(file->text.p, 0, file->text.n)) {
        cli_fail("%s: can't be read, has more than 512 KiB, or is not a text in UTF-8", path);
        return false;
    }
    f->n++;
    return true;
}

static bool author_folder_walk(
    struct arena *a, struct lua_folder *f, const char *dir, const char *inside, int depth)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, no_dots, author_folder_by_name);
    bool good = n >= 0;

    if (!good)
        cli_fail("%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name, *path = arena_printf(a, "%s/%s", dir, name).p;
        const char *within = arena_printf(a, "%s%s", inside, name).p;

        if (good && is_dir(path) && depth < DEPTH_MAX)
            good = author_folder_walk(a, f, path, arena_printf(a, "%s/", within).p, depth + 1);
        else if (good && strlen(name) > 4 && str_ends(str_z(name), ".lua"))
            good = author_folder_take(a, f, path, within);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return good;
}

static bool author_folder_read_one(struct arena *a, const char *dir, struct lua_folder *f)
{
    *f = (struct lua_folder){.dir = dir,
        .hooks = !has_file(a, dir, "main.lua"),
        .files = ARENA_ARRAY(a, struct lua_file, FILES_MAX)};
    return object_if_any(a, arena_printf(a, "%s/workflow.json", dir).p, &f->workflow) &&
           author_folder_walk(a, f, dir, "", 0);
}

static bool has_lua(const char *dir)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, no_dots, author_folder_by_name);
    bool found = false;

    for (int i = 0; i < n; i++) {
        found = found || str_ends(str_z(entries[i]->d_name), ".lua");
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return found;
}

static bool author_folder_read_below(
    struct arena *a, const char *dir, struct lua_folders *ret, int depth)
{
    struct dirent **entries;
    bool good = true;
    int n;

    if (has_lua(dir)) {
        if (ret->n == FOLDERS_MAX) {
            cli_fail("%s: there are more than 500 folders", dir);
            return false;
        }
        return author_folder_read_one(a, dir, &ret->items[ret->n++]);
    }
    n = scandir(dir, &entries, no_dots, author_folder_by_name);
    for (int i = 0; i < n; i++) {
        const char *path = arena_printf(a, "%s/%s", dir, entries[i]->d_name).p;

        if (good && depth < DEPTH_MAX && is_dir(path))
            good = author_folder_read_below(a, path, ret, depth + 1);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return good;
}

/* Finds the folder of a file: the nearest one above with a main file, or the one that it is in. */
static const char *root_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'),
               *own = slash ? arena_dup(a, path, (size_t)(slash - path)).p : ".", *dir = own;

    for (int i = 0; i < DEPTH_MAX && *dir; i++) {
        if (has_file(a, dir, "main.lua"))
            return dir;
        slash = strrchr(dir, '/');
        if (!slash)
            break;
        dir = arena_dup(a, dir, (size_t)(slash - dir)).p;
    }
    return own;
}

bool folders_read(struct arena *a, const char *path, struct lua_folders *ret, const char **ret_file)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    path = arena_dup(a, path, n).p;
    *ret = (struct lua_folders){.items = ARENA_ARRAY(a, struct lua_folder, FOLDERS_MAX)};
    *ret_file = NULL;
    if (!is_dir(path)) {
        if (access(path, R_OK) != 0 || !str_ends(str_z(path), ".lua")) {
            cli_fail("%s: there is no such folder or Lua file", path);
            return false;
        }
        ret->n = 1;
        if (!author_folder_read_one(a, root_of(a, path), &ret->items[0]))
            return false;
        for (size_t i = 0; i < ret->items[0].n; i++) {
            const char *other = ret->items[0].files[i].path;

            if (!strcmp(str_starts(str_z(other), "./") ? other + 2 : other,
                    str_starts(str_z(path), "./") ? path + 2 : path))
                *ret_file = ret->items[0].files[i].name;
        }
        return true;
    }
    if (!author_folder_read_below(a, path, ret, 0))
        return false;
    if (!ret->n)
        cli_fail("%s: there are no Lua files", path);
    return ret->n > 0;
}

bool folder_one(struct arena *a, const char *path, struct lua_folder *ret)
{
    struct lua_folders found;
    const char *only;

    if (!folders_read(a, path, &found, &only))
        return false;
    *ret = found.items[0];
    if (found.n > 1)
        cli_fail("%s: has %zu folders of Lua files; name one of them, such as %s", path, found.n,
            ret->dir);
    return found.n == 1;
}

struct sandbox_file *folder_files(struct arena *a, const struct lua_folder *f)
{
    struct sandbox_file *files = ARENA_ARRAY(a, struct sandbox_file, f->n + 1);

    for (size_t i = 0; i < f->n; i++)
        files[i] = (struct sandbox_file){.name = f->files[i].name, .text = f->files[i].text};
    return files;
}

const char *folder_path(struct arena *a, const struct lua_folder *f, const char *file)
{
    size_t n = strlen(file);

    for (size_t i = 0; i < f->n; i++) {
        if (strlen(f->files[i].name) + 4 == n && !memcmp(f->files[i].name, file, n - 4))
            return f->files[i].path;
    }
    return file;
}
