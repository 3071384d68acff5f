/* queries.c - see queries.h. Comments are dropped, and white space outside of quotes becomes one
 * blank; behind "(" and before ")" it goes. ":name" stands for the text of another file. */
#include "queries.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 256 * 1024, PATH_SIZE = 1024 };

/* A file on its way into a macro. */
struct query {
    const char *text, *p; /* p: where in it */
    FILE *out;
    char before; /* the last byte that was written, or 0 */
    bool blank; /* white space or a comment was met since */
};

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t name_size(const char *p)
{
    size_t n = 0;

    while (in_name(p[n]))
        n++;
    return n;
}

/* Returns the byte so many before this one, or 0. */
static char behind(const struct query *q, size_t n)
{
    return (size_t)(q->p - q->text) < n ? 0 : *(q->p - n);
}

/* Returns the length of a comment, or 0. One may stand in another. */
static size_t comment_size(const char *p)
{
    size_t n = 2;

    if (!strncmp(p, "--", 2))
        return strcspn(p, "\n");
    if (strncmp(p, "/*", 2) != 0)
        return 0;
    for (int depth = 1; depth; n++) {
        n += strcspn(p + n, "/*");
        if (!p[n])
            return 0;
        if (!strncmp(p + n, "/*", 2) || !strncmp(p + n, "*/", 2))
            depth += p[n++] == '/' ? 1 : -1;
    }
    return n;
}

/* Returns the length of 'text', "name" or $tag$text$tag$, with its quotes; 0: it has no end. */
static size_t quoted_size(const struct query *q)
{
    bool escapes = tolower((unsigned char)behind(q, 1)) == 'e' && !in_name(behind(q, 2));
    const char *at = q->p + 1;
    size_t tag = 2 + name_size(q->p + 1);

    if (*q->p == '$') {
        for (at = strchr(q->p + tag, '$'); at && strncmp(at, q->p, tag) != 0;)
            at = strchr(at + 1, '$');
        return at ? (size_t)(at - q->p) + tag : 0;
    }
    while (*at && *at != *q->p)
        at += escapes && *q->p == '\'' && *at == '\\' && at[1] ? 2 : 1;
    return *at ? (size_t)(at - q->p) + 1 : 0;
}

/* Tells whether a quoted text or name begins here. $1 is a parameter. */
static bool quoted(const struct query *q)
{
    if (*q->p == '$')
        return !in_name(behind(q, 1)) && !isdigit((unsigned char)q->p[1]) &&
               q->p[1 + name_size(q->p + 1)] == '$';
    return *q->p == '\'' || *q->p == '"';
}

/* Tells whether the name of another file begins here: ":name", and not "::type". */
static bool names_other(const struct query *q)
{
    return *q->p == ':' && behind(q, 1) != ':' && isalpha((unsigned char)q->p[1]);
}

/* Writes a byte of a C string. "?" is escaped because of trigraphs. */
static void put(FILE *out, char c)
{
    if (c == '\n')
        fputs("\\n", out);
    else if (c == '\t')
        fputs("\\t", out);
    else
        fprintf(out, strchr("\"\\?", c) ? "\\%c" : "%c", c);
}

static void put_macro(FILE *out, const char *name, size_t n)
{
    fputs("QUERY_", out);
    for (size_t i = 0; i < n; i++)
        fputc(toupper((unsigned char)name[i]), out);
}

/* Writes what begins here and goes on. Returns false when a quote has no end. */
static bool step(struct query *q)
{
    size_t n = comment_size(q->p);

    if (n || isspace((unsigned char)*q->p)) {
        q->blank = true;
        q->p += n ? n : 1;
        return true;
    }
    n = quoted(q) ? quoted_size(q) : names_other(q) ? 1 + name_size(q->p + 1) : 1;
    if (q->blank && q->before && q->before != '(' && *q->p != ')')
        put(q->out, ' ');
    q->blank = false;
    if (names_other(q)) {
        fputs("\" ", q->out);
        put_macro(q->out, q->p + 1, n - 1);
        fputs(" \"", q->out);
    }
    for (size_t i = 0; i < n && !names_other(q); i++)
        put(q->out, q->p[i]);
    q->p += n;
    q->before = behind(q, 1);
    return n > 0;
}

static bool write_query(FILE *out, const char *path, const char *name, const char *text)
{
    struct query q = {.text = text, .p = text, .out = out};
    bool ok = true;

    fputs("#define ", out);
    put_macro(out, name, name_size(name));
    fputs(" \"", out);
    while (ok && *q.p)
        ok = step(&q);
    fputs("\"\n", out);
    if (!ok)
        fprintf(stderr, "%s: a quote has no end: %.40s\n", path, q.p);
    else if (!q.before)
        fprintf(stderr, "%s: there is no statement in it\n", path);
    return ok && q.before;
}

/* Reads a file into memory that the caller frees. */
static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? calloc(1, TEXT_MAX + 1) : NULL;
    size_t n = text ? fread(text, 1, TEXT_MAX + 1, f) : 0;

    if (f)
        fclose(f);
    if (text && n <= TEXT_MAX && strlen(text) == n)
        return text;
    fprintf(
        stderr, "%s: %s\n", path, text ? "too large, or a zero byte is in it" : strerror(errno));
    free(text);
    return NULL;
}

static bool write_file(FILE *out, FILE *depfile, const char *dir, const char *file)
{
    char path[PATH_SIZE], *text;
    bool ok;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    if (depfile)
        fprintf(depfile, " %s", path);
    if (!isalpha((unsigned char)file[0]) || strcmp(file + name_size(file), ".sql") != 0) {
        fprintf(stderr, "%s: a query's file is named name.sql, of letters, digits and _\n", path);
        return false;
    }
    text = read_text(path);
    ok = text && write_query(out, path, file, text);
    free(text);
    return ok;
}

static int is_sql(const struct dirent *d)
{
    size_t n = strlen(d->d_name);

    return n > 4 && !strcmp(d->d_name + n - 4, ".sql");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

bool queries_write(FILE *out, FILE *depfile, const char *dir)
{
    struct dirent **files = NULL;
    int n = scandir(dir, &files, is_sql, by_name);
    bool ok = n >= 0;

    if (!ok)
        fprintf(stderr, "%s: %s\n", dir, strerror(errno));
    if (depfile)
        fprintf(depfile, " %s", dir); /* a file that is added or goes changes it */
    for (int i = 0; i < n; i++) {
        ok = write_file(out, depfile, dir, files[i]->d_name) && ok;
        free(files[i]);
    }
    free(files);
    fputc('\n', out);
    return ok;
}
