/* gen_checks.c - checks of `wharf verify`: each NAME.sql of a folder checks/ as the members
 * CHECK_NAME of a wharf_check, and CHECKS(api, d), which declares all of them.
 *
 * The first comment of a file says what holds, then "rows: schema.table", then, if there is
 * something to say, what to do about a fault (docs/reference/plugin-abi.md section 14). The
 * statement is QUERY_NAME, as of the files of queries/. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "gen.h"
#include "queries.h"
#include "util/arena.h"
#include "util/buf.h"

enum { NAME_MAX_SIZE = 80 };

/* The comment of a file, in its parts. */
struct said {
    struct buf summary, remedy;
    wharf_str rows;
};

static int is_sql(const struct dirent *d)
{
    return str_ends(str_z(d->d_name), ".sql");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Puts a line behind what was said before it. */
static void add_line(struct buf *b, const char *line, size_t n)
{
    if (b->n)
        buf_addc(b, ' ');
    buf_add(b, line, n);
}

static void read_comment(const char *p, struct said *ret)
{
    while (!strncmp(p, "-- ", 3)) {
        const char *line = p + 3;
        size_t n = strcspn(line, "\n");

        if (!strncmp(line, "rows: ", 6))
            ret->rows = (wharf_str){line + 6, n - 6};
        else
            add_line(ret->rows.n ? &ret->remedy : &ret->summary, line, n);
        p = line + n + (line[n] == '\n');
    }
}

static void put_text(FILE *out, const char *member, wharf_str s)
{
    fprintf(out, "    .%s = \"", member);
    for (size_t i = 0; i < s.n; i++)
        fprintf(out, s.p[i] == '"' || s.p[i] == '\\' ? "\\%c" : "%c", s.p[i]);
    fputs("\", \\\n", out);
}

/* Tells whether it is the name of a table with its schema. */
static bool is_table(wharf_str s)
{
    size_t schema = strcspn(s.p, ".");

    return schema > 0 && schema + 1 < s.n &&
           strspn(s.p, "abcdefghijklmnopqrstuvwxyz0123456789_.") == s.n;
}

static bool write_members(FILE *out, const char *path, const char *name, const struct said *s)
{
    char constant[NAME_MAX_SIZE];

    if (!s->summary.n || s->summary.p[s->summary.n - 1] != '.') {
        fprintf(stderr,
            "wharf-gen: %s: begin it with a comment, one sentence that says what "
            "holds\n",
            path);
        return false;
    }
    if (!is_table(s->rows)) {
        fprintf(stderr,
            "wharf-gen: %s: a line \"-- rows: schema.table\" behind the sentence says "
            "what is looked at\n",
            path);
        return false;
    }
    upper(constant, sizeof(constant), "", name);
    fprintf(out, "#define CHECK_%s \\\n", constant);
    fprintf(out, "    .head = WHARF_HEAD(wharf_check), .name = \"%s\", \\\n", name);
    put_text(out, "summary", buf_str(&s->summary));
    if (s->remedy.n)
        put_text(out, "remedy", buf_str(&s->remedy));
    put_text(out, "rows", s->rows);
    fprintf(out, "    .sql = QUERY_%s\n", constant);
    return true;
}

static bool write_check(struct arena *a, FILE *out, const char *dir, const char *file)
{
    const char *path = arena_printf(a, "%s/%s", dir, file).p;
    wharf_str text, name = arena_dup(a, file, strlen(file) - strlen(".sql"));
    struct said s = {.rows = {"", 0}};
    bool ok;

    if (!read_file(a, path, &text))
        return false;
    buf_init(&s.summary, 1 << 16);
    buf_init(&s.remedy, 1 << 16);
    read_comment(text.p, &s);
    s.rows = arena_dup_str(a, s.rows);
    ok = write_members(out, path, name.p, &s);
    buf_done(&s.summary);
    buf_done(&s.remedy);
    return ok;
}

bool write_checks(struct arena *a, FILE *out, FILE *depfile, const char *dir)
{
    struct dirent **files = NULL;
    bool ok = queries_write(out, depfile, dir);
    int n = ok ? scandir(dir, &files, is_sql, by_name) : 0;
    char constant[NAME_MAX_SIZE];

    for (int i = 0; i < n; i++)
        ok = write_check(a, out, dir, files[i]->d_name) && ok;
    fputs("#define CHECKS(api, d) do { \\\n", out);
    for (int i = 0; i < n; i++) {
        upper(constant, sizeof(constant), "", files[i]->d_name);
        constant[strlen(constant) - strlen("_SQL")] = 0;
        fprintf(out, "    (api)->check((d), &(const wharf_check){CHECK_%s}); \\\n", constant);
        free(files[i]);
    }
    fputs("} while (0)\n\n", out);
    free(files);
    return ok;
}
