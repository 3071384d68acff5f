/* rows.c - reads a file as an import does and prints what comes of it, one JSON line per row:
 * for tests and measuring.
 *
 *   import-rows [options] FILE
 *     --field PATH[:text|bool|number|list|json]   may occur often; none: any header is a field
 *                                                 of text
 *     --resource NAME --definition FILE           fields of a definition and aliases of a resource
 *     --map PATH=HEADER, --delimiter C, --encoding NAME, --sheet NAME, --header-row N, --strict,
 *     --format csv|json|xlsx
 *     --cells FOLDER                              where wharf-cell-sheet is
 *     --quiet                                     only the last line: rows, cells, seconds, CPU
 *                                                 seconds of this process and of its
 *                                                 cells, the most memory that this process and a
 *                                                 cell held (KiB)
 *     --raw                                       with --quiet: rows are not made into JSON */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "import/import.h"
#include "import/sheets.h"
#include "util/time.h"

static struct import_options options;
static struct import_field fields[64];
static struct import_mapping mapping[16];
static const char *file, *cells, *definition, *resource;
static bool quiet, raw;
static struct arena *arena;

static void add_field(char *text)
{
    static const char *const names[] = {"text", "bool", "number", "list", "json"};
    char *colon = strchr(text, ':');
    struct import_field *f = &fields[options.n_fields++];

    *f = (struct import_field){.path = text};
    for (size_t i = 0; colon && i < 5; i++)
        if (strcmp(colon + 1, names[i]) == 0)
            f->type = (enum import_type)i;
    if (colon)
        *colon = 0;
    options.fields = fields;
}

static void add_mapping(char *text)
{
    char *equal = strchr(text, '=');

    if (!equal)
        return;
    *equal = 0;
    mapping[options.n_mapping++] = (struct import_mapping){str_z(text), str_z(equal + 1)};
    options.mapping = mapping;
}

static void take_value(const char *name, char *value)
{
    static const char *const formats[] = {"auto", "csv", "json", "xlsx"};

    if (strcmp(name, "--field") == 0)
        add_field(value);
    else if (strcmp(name, "--map") == 0)
        add_mapping(value);
    else if (strcmp(name, "--delimiter") == 0)
        options.delimiter = value[0];
    else if (strcmp(name, "--encoding") == 0)
        options.encoding = value;
    else if (strcmp(name, "--sheet") == 0)
        options.sheet = value;
    else if (strcmp(name, "--header-row") == 0)
        options.header_row = strtoull(value, NULL, 10);
    else if (strcmp(name, "--cells") == 0)
        cells = value;
    else if (strcmp(name, "--definition") == 0)
        definition = value;
    else if (strcmp(name, "--resource") == 0)
        resource = value;
    for (size_t i = 0; strcmp(name, "--format") == 0 && i < 4; i++)
        if (strcmp(value, formats[i]) == 0)
            options.format = (enum import_format)i;
}

static void take_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quiet") == 0)
            quiet = true;
        else if (strcmp(argv[i], "--raw") == 0)
            raw = true;
        else if (strcmp(argv[i], "--strict") == 0)
            options.strict_headers = true;
        else if (argv[i][0] == '-' && i + 1 < argc) {
            take_value(argv[i], argv[i + 1]);
            i++;
        } else
            file = argv[i];
    }
}

static void complain(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    fprintf(stderr, "%.*s: %.*s\n", STR_ARG(path), STR_ARG(message));
}

static void fields_of_definition(void)
{
    FILE *f = fopen(definition, "r");
    struct buf text;
    const struct definition *d;
    wharf_str module;
    char *end;
    size_t n;

    buf_init(&text, 1 << 20);
    while (f && (n = fread(buf_room(&text, 4096), 1, 4096, f)) > 0)
        text.n += n;
    if (f)
        fclose(f);
    /* schemas/MODULE/NAME.json */
    module = arena_dupz(arena, definition);
    end = strrchr(module.p, '/') ? (char *)strrchr(module.p, '/') : (char *)module.p;
    *end = 0;
    d = definition_compile(arena, strrchr(module.p, '/') ? strrchr(module.p, '/') + 1 : module.p,
        arena_dup_str(arena, buf_str(&text)), complain, NULL);
    buf_done(&text);
    if (!d)
        exit(2);
    options.fields = import_fields(arena, d, &options.n_fields);
}

static void print_row(struct import *in, const struct import_row *row)
{
    struct arena *one = arena_new(0);
    struct json_error e;
    struct buf out;
    struct jw w;

    buf_init(&out, 64 << 20);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_int(&w, "row", (int64_t)row->row);
    /* read and written again: one line */
    jw_value(&w, "json", json_parse(one, import_json(in, row), &e));
    for (size_t i = 0; i < row->n_errors; i++) {
        jw_open(&w, i ? NULL : "errors", i ? '{' : '[');
        if (i == 0)
            jw_open(&w, NULL, '{');
        jw_z(&w, "code", row->errors[i].code);
        jw_str(&w, "path", row->errors[i].path);
        jw_close(&w, '}');
    }
    if (row->n_errors)
        jw_close(&w, ']');
    jw_close(&w, '}');
    printf("%.*s\n", (int)out.n, out.p ? out.p : "");
    buf_done(&out);
    arena_free(one);
}

static void print_end(const struct import *in)
{
    const struct import_problem *p = import_problem(in);
    size_t n;
    const struct import_warning *warnings = import_warnings(in, &n);
    struct buf out;
    struct jw w;

    buf_init(&out, 1 << 20);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    if (p) {
        jw_z(&w, "problem", p->code);
        jw_z(&w, "message", p->message);
        jw_int(&w, "line", (int64_t)p->line);
        jw_int(&w, "column", (int64_t)p->column);
        jw_int(&w, "offset", (int64_t)p->offset);
    }
    jw_open(&w, "warnings", '[');
    for (size_t i = 0; i < n; i++)
        jw_z(&w, NULL, warnings[i].code);
    jw_close(&w, ']');
    jw_z(&w, "encoding", import_encoding(in));
    jw_str(&w, "sheet", import_sheet(in));
    jw_int(&w, "delimiter", import_delimiter(in));
    jw_close(&w, '}');
    printf("%s\n", out.p);
    buf_done(&out);
}

/* Not getrusage: that remembers what the process before the exec held. */
static long most_memory_kib(void)
{
    char line[200];
    FILE *f = fopen("/proc/self/status", "r");
    long kib = 0;

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static double cpu_seconds(const struct rusage *use)
{
    return (double)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) +
           (double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec) / 1e6;
}

static void print_figures(uint64_t rows, uint64_t n_cells, int64_t took_us)
{
    struct rusage own, cell;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &cell);
    printf("rows %llu cells %llu seconds %.3f cpu %.3f %.3f memory %ld %ld\n",
        (unsigned long long)rows, (unsigned long long)n_cells, (double)took_us / 1e6,
        cpu_seconds(&own), cpu_seconds(&cell), most_memory_kib(), cell.ru_maxrss);
}

static uint64_t read_all(struct import *in, uint64_t *ret_cells)
{
    struct import_row row;
    uint64_t rows = 0;

    *ret_cells = 0;
    for (; import_next(in, &row) == IMPORT_ROW; rows++) {
        *ret_cells += row.n_cells;
        if (!quiet)
            print_row(in, &row);
        else if (!raw)
            *ret_cells += import_json(in, &row).n == 0;
    }
    return rows;
}

int main(int argc, char **argv)
{
    int64_t begun;
    struct import *in;
    uint64_t rows, n_cells;
    char any[] = "*";
    int fd;

    arena = arena_new(0);
    take_arguments(argc, argv);
    fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return fprintf(stderr, "import-rows: %s can't be opened\n", file ? file : "no file"), 2;
    if (definition)
        fields_of_definition();
    else if (!options.n_fields)
        add_field(any);
    if (resource)
        options.aliases = import_aliases(resource, &options.n_aliases);
    if (cells)
        options.sheets = cell_pool_new(&import_sheet_kind, cells);
    begun = clock_monotonic_us();
    in = import_open(fd, NULL, 0, &options);
    rows = read_all(in, &n_cells);
    print_end(in);
    begun = clock_monotonic_us() - begun;
    import_close(in);
    cell_pool_free(options.sheets);
    if (quiet)
        print_figures(rows, n_cells, begun);
    arena_free(arena);
    close(fd);
    return 0;
}
