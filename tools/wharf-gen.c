/* wharf-gen.c - build tool of plugins: definitions, manifest, error codes, routes, migrations and
 * SQL statements into one header and one ELF note.
 *
 * The header holds, for each definition, the field constants (indexes in the order of
 * properties), the text and its hash; MANIFEST, ERRORS, EMBEDDED, EXAMPLES, MIGRATIONS(api, decl),
 * a macro QUERY_NAME for each statement, and what gen_errors.c, gen_routes.c and gen_checks.c
 * write. It uses the server's own compiler of definitions, so that build and server can not
 * disagree.
 * docs/reference/plugin-abi.md section 6. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gen.h"
#include "queries.h"
#include "schema/definition.h"

struct options {
    const char *plugin, *header, *note, *manifest, *errors, *migrations, *sql;
    const char *embeds[64];
    int n_embeds;
    const char *routes, *codes, *examples;
    const char *queries, *checks, *depfile;
    bool check;
    const char *definitions[64];
    int n_definitions;
};

static int usage(void)
{
    fputs("usage: wharf-gen --plugin NAME [--header OUT.h] [--manifest plugin.json --note OUT.c] "
          "[--errors errors.json]\n"
          "                 [--codes OUT.h] [--routes routes.json] [--examples examples.json]\n"
          "                 [--migrations DIR] [--sql DIR] [--queries DIR] [--checks DIR] "
          "[--depfile OUT.d]\n"
          "                 [--embed FILE.json]... [--check] DEFINITION.json...\n",
        stderr);
    return 2;
}

bool read_file(struct arena *a, const char *path, wharf_str *ret)
{
    FILE *f = fopen(path, "rb");
    struct buf b;
    char chunk[8192];
    size_t n;

    if (!f) {
        fprintf(stderr, "wharf-gen: %s: %s\n", path, strerror(errno));
        return false;
    }
    buf_init(&b, 16 << 20);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(&b, chunk, n);
    fclose(f);
    *ret = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return true;
}

const struct wharf_json *read_json(struct arena *a, const char *path)
{
    const struct wharf_json *v;
    struct json_error e;
    wharf_str text;

    if (!read_file(a, path, &text))
        return NULL;
    v = json_parse(a, text, &e);
    if (!v)
        fprintf(stderr, "wharf-gen: %s: %s at byte %zu\n", path, e.message, e.offset);
    return v;
}

/* JSON without the white space between its tokens: what is embedded and hashed. */
static wharf_str compact(struct arena *a, const char *path, wharf_str text)
{
    struct json_error e;
    const struct wharf_json *v = json_parse(a, text, &e);
    struct buf b;
    struct jw w;
    wharf_str s;

    if (!v) {
        fprintf(stderr, "wharf-gen: %s: %s at byte %zu\n", path, e.message, e.offset);
        return (wharf_str){NULL, 0};
    }
    buf_init(&b, 16 << 20);
    jw_init(&w, &b);
    jw_value(&w, NULL, v);
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

/* ---- writing C ---- */

/* Writes `s` as string literals of one line each: a compiler reads these many times faster than
 * numbers. Octal escapes have three digits, so that a digit behind one is not read with it. */
static void c_string(FILE *out, wharf_str s)
{
    size_t column = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (column == 0)
            column = (size_t)fprintf(out, "\n    \"") - 1;
        if (c == '\n')
            column += (size_t)fprintf(out, "\\n");
        else if (c == '"' || c == '\\' || c == '?') /* "??" could be a trigraph */
            column += (size_t)fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            column += (size_t)fprintf(out, "\\%03o", c);
        else
            column += (size_t)fprintf(out, "%c", c);
        if (column >= 96 || c == '\n' || i + 1 == s.n)
            column = (size_t)fprintf(out, "\"") - 1;
    }
    if (s.n == 0)
        fputs(" \"\"", out);
}

void c_array(FILE *out, const char *name, wharf_str s)
{
    fprintf(out, "static const char %s_TEXT[] __attribute__((unused)) =", name);
    c_string(out, s);
    fprintf(out, ";\n#define %s {%s_TEXT, %zu}\n\n", name, name, s.n);
}

void upper(char *out, size_t size, const char *prefix, const char *name)
{
    size_t n = (size_t)snprintf(out, size, "%s%s%s", prefix, prefix[0] ? "_" : "", name);

    for (size_t i = 0; i < n && i + 1 < size; i++)
        out[i] = isalnum((unsigned char)out[i]) ? (char)toupper((unsigned char)out[i]) : '_';
}

static void reported(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    (void)rule;
    fprintf(stderr, "wharf-gen: %s: at %.*s: %.*s\n", (const char *)arg, STR_ARG(path),
        STR_ARG(message));
}

static bool write_definition(struct arena *a, FILE *out, const struct options *o, const char *path)
{
    const struct definition *d;
    wharf_str text;
    char name[160];

    if (!read_file(a, path, &text))
        return false;
    text = compact(a, path, text);
    if (!text.p)
        return false;
    d = definition_compile(a, o->plugin, text, reported, (void *)path);
    if (!d || !out)
        return d != NULL;
    fputs("enum {\n", out);
    for (size_t i = 0; i < d->n_fields; i++) {
        upper(name, sizeof(name), d->name, d->fields[i].name);
        fprintf(out, "    %s = %u,\n", name, d->fields[i].index);
    }
    fputs("};\n", out);
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct child_set *set = d->fields[i].children;
        char base[100];

        if (!set)
            continue;
        upper(base, sizeof(base), d->name, d->fields[i].name);
        fputs("enum {\n", out);
        for (size_t k = 0; k < set->n_fields; k++) {
            upper(name, sizeof(name), base, set->fields[k].name);
            fprintf(out, "    %s = %u,\n", name, set->fields[k].index);
        }
        fputs("};\n", out);
    }
    upper(name, sizeof(name), d->name, "DEFINITION");
    fprintf(out, "#define %s_HASH 0x%016llxull\n", name, (unsigned long long)definition_hash(text));
    c_array(out, name, text);
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_sql(const struct dirent *d)
{
    return str_ends(str_z(d->d_name), ".sql");
}

/* The SQL files of a folder: numbered ones (0001_name.sql), or repeatable ones (NAME.sql). */
struct sql_files {
    const char *dir, *symbol; /* the array of file i is called <symbol>_<i> */
    bool numbered;
    struct dirent **files;
    int n;
};

/* Reads the folder and writes each file as an array. A folder that is not given has no files. */
static bool write_sql_arrays(struct arena *a, FILE *out, struct sql_files *s)
{
    bool ok = true;

    if (!s->dir)
        return true;
    s->n = scandir(s->dir, &s->files, is_sql, by_name);
    if (s->n < 0) {
        fprintf(stderr, "wharf-gen: %s: %s\n", s->dir, strerror(errno));
        s->n = 0;
        return false;
    }
    for (int i = 0; i < s->n && ok; i++) {
        const char *file = s->files[i]->d_name;
        wharf_str text;

        if (s->numbered ? !strtol(file, NULL, 10) || !strchr(file, '_')
                        : isdigit((unsigned char)file[0]) != 0) {
            fprintf(stderr, "wharf-gen: %s/%s: %s\n", s->dir, file,
                s->numbered ? "a migration is named NUMBER_name.sql"
                            : "a repeatable file is named name.sql");
            return false;
        }
        ok = read_file(a, arena_printf(a, "%s/%s", s->dir, file).p, &text);
        if (ok)
            c_array(out, arena_printf(a, "%s_%d", s->symbol, i).p, text);
    }
    return ok;
}

static void write_sql_calls(FILE *out, struct sql_files *s)
{
    for (int i = 0; i < s->n; i++) {
        const char *file = s->files[i]->d_name, *name = s->numbered ? strchr(file, '_') + 1 : file;

        fprintf(out, "    (api)->migration((d), %ld, \"%.*s\", (wharf_str)%s_%d); \\\n",
            s->numbered ? strtol(file, NULL, 10) : 0, (int)(strlen(name) - strlen(".sql")), name,
            s->symbol, i);
        free(s->files[i]);
    }
    free(s->files);
}

/* MIGRATIONS(api, d): the numbered files in their order, then the repeatable ones (number 0). */
static bool write_migrations(struct arena *a, FILE *out, const struct options *o)
{
    struct sql_files numbered = {.dir = o->migrations, .symbol = "MIGRATION", .numbered = true};
    struct sql_files repeatable = {.dir = o->sql, .symbol = "REPEATABLE"};

    if (!write_sql_arrays(a, out, &numbered) || !write_sql_arrays(a, out, &repeatable))
        return false;
    fputs("#define MIGRATIONS(api, d) do { \\\n", out);
    write_sql_calls(out, &numbered);
    write_sql_calls(out, &repeatable);
    fputs("} while (0)\n\n", out);
    return true;
}

/* Writes the macros of the statements and checks, and which files they stand in for ninja or
 * make. */
static bool write_queries(struct arena *a, FILE *out, const struct options *o)
{
    FILE *depfile = o->depfile ? fopen(o->depfile, "w") : NULL;
    bool ok = depfile || !o->depfile;

    if (!ok)
        fprintf(stderr, "wharf-gen: %s: %s\n", o->depfile, strerror(errno));
    if (depfile)
        fprintf(depfile, "%s:", o->header);
    if (o->queries)
        ok = queries_write(out, depfile, o->queries) && ok;
    if (o->checks)
        ok = write_checks(a, out, depfile, o->checks) && ok;
    return (!depfile || fclose(depfile) == 0) && ok;
}

static bool write_note(FILE *out, wharf_str manifest)
{
    fprintf(out,
        "/* Made by wharf-gen: the manifest as an ELF note, readable without loading the module. "
        "*/\n"
        "static const struct {\n    unsigned namesz, descsz, type;\n    char name[8];\n    char "
        "desc[%zu];\n}\n"
        "wharf_manifest_note __attribute__((section(\".note.wharf\"), used, aligned(4))) = {\n"
        "    6, %zu, 1, \"WHARF\",",
        (manifest.n + 4) & ~(size_t)3, manifest.n);
    c_string(out, manifest);
    fputs("};\n", out);
    return true;
}

static bool parse_options(int argc, char **argv, struct options *o)
{
    static const struct {
        const char *name;
        size_t offset;
    } names[] = {{"--plugin", offsetof(struct options, plugin)},
        {"--header", offsetof(struct options, header)}, {"--note", offsetof(struct options, note)},
        {"--manifest", offsetof(struct options, manifest)},
        {"--errors", offsetof(struct options, errors)},
        {"--migrations", offsetof(struct options, migrations)},
        {"--sql", offsetof(struct options, sql)}, {"--codes", offsetof(struct options, codes)},
        {"--routes", offsetof(struct options, routes)},
        {"--examples", offsetof(struct options, examples)},
        {"--queries", offsetof(struct options, queries)},
        {"--checks", offsetof(struct options, checks)},
        {"--depfile", offsetof(struct options, depfile)}};

    for (int i = 1; i < argc; i++) {
        bool known = false;

        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]) && !known; k++) {
            if (!strcmp(argv[i], names[k].name) && i + 1 < argc) {
                *(const char **)((char *)o + names[k].offset) = argv[++i];
                known = true;
            }
        }
        if (!strcmp(argv[i], "--check"))
            o->check = known = true;
        if (!strcmp(argv[i], "--embed") && i + 1 < argc && o->n_embeds < 64) {
            o->embeds[o->n_embeds++] = argv[++i];
            continue;
        }
        if (!known && argv[i][0] != '-' && o->n_definitions < 64)
            o->definitions[o->n_definitions++] = argv[i];
        else if (!known)
            return false;
    }
    return o->plugin && (!o->note || o->manifest) && (!o->codes || o->errors);
}

/* A JSON file of the plugin as a C array; nothing to do without a path. */
static bool write_json(
    struct arena *a, FILE *header, FILE *note, const char *name, const char *path)
{
    wharf_str text;

    if (!path)
        return true;
    if (!read_file(a, path, &text))
        return false;
    text = compact(a, path, text);
    if (!text.p)
        return false;
    if (header)
        c_array(header, name, text);
    return !note || write_note(note, text);
}

/* Writes what errors.json and routes.json are made into; header: NULL when they are only judged. */
static bool write_constants(struct arena *a, const struct options *o, FILE *header)
{
    bool ok = !o->errors || write_codes(a, header, o->errors);

    if (o->codes && !o->check)
        ok = write_codes_header(a, o->codes, o->errors) && ok;
    if (o->routes)
        ok = write_routes(a, header, o->routes) && ok;
    return ok;
}

/* Writes EXAMPLES; empty where the plugin has none, since each names it. */
static bool write_examples(struct arena *a, const struct options *o, FILE *header)
{
    if (header && !o->examples)
        fputs("#define EXAMPLES {0, 0}\n\n", header);
    if (header) /* members of a wharf_plugin_desc */
        fputs("#define DESCRIBED .manifest = MANIFEST, .examples = EXAMPLES\n\n", header);
    return write_json(a, header, NULL, "EXAMPLES", o->examples);
}

/* Writes EMBEDDED: the file, or of several an object of them by their names without ".json". */
static bool write_embedded(struct arena *a, const struct options *o, FILE *header)
{
    struct buf b;
    struct jw w;

    if (o->n_embeds < 2)
        return write_json(a, header, NULL, "EMBEDDED", o->embeds[0]);
    buf_init(&b, 16 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    for (int i = 0; i < o->n_embeds; i++) {
        const char *path = o->embeds[i], *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        wharf_str text;

        if (!read_file(a, path, &text))
            return false;
        text = compact(a, path, text);
        if (!text.p)
            return false;
        jw_raw(&w, arena_dup(a, name, strcspn(name, ".")).p, text);
    }
    jw_close(&w, '}');
    if (header)
        c_array(header, "EMBEDDED", arena_dup_str(a, buf_str(&b)));
    buf_done(&b);
    return true;
}

static bool write_all(struct arena *a, const struct options *o, FILE *header, FILE *note)
{
    bool ok = true;

    if (header)
        fprintf(header, "/* Made by wharf-gen from the definitions of %s. */\n#pragma once\n\n",
            o->plugin);
    if (header && o->errors)
        fputs("#include \"wharf/errors.h\"\n\n", header);
    for (int i = 0; i < o->n_definitions; i++)
        ok = write_definition(a, header, o, o->definitions[i]) && ok;
    ok = write_json(a, header, note, "MANIFEST", o->manifest) && ok;
    ok = write_json(a, header, NULL, "ERRORS", o->errors) && ok;
    ok = write_constants(a, o, header) && ok;
    ok = write_embedded(a, o, header) && ok;
    ok = write_examples(a, o, header) && ok;
    if ((o->migrations || o->sql) && header)
        ok = write_migrations(a, header, o) && ok;
    if ((o->queries || o->checks) && header)
        ok = write_queries(a, header, o) && ok;
    return ok;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct arena *a = arena_new(0);
    FILE *header, *note;
    bool ok;

    if (!parse_options(argc, argv, &o))
        return usage();
    header = o.header && !o.check ? fopen(o.header, "w") : NULL;
    note = o.note && !o.check ? fopen(o.note, "w") : NULL;
    ok = write_all(a, &o, header, note);
    ok = (!header || fclose(header) == 0) && (!note || fclose(note) == 0) && ok;
    if (!ok && o.header && !o.check)
        remove(o.header);
    arena_free(a);
    return ok ? 0 : 1;
}
