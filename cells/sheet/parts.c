/* parts.c - which part of the archive is what: relationships, the workbook's list of sheets,
 * styles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "book.h"
#include "child.h"
#include "wharf/errors.h"

static char *parts_copy(const char *z)
{
    size_t n = strlen(z) + 1;

    return memcpy(cell_alloc(n), z, n);
}

static bool parts_ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Returns the target of a relationship of the part `from` as a name in the archive; NULL when it
 * leads outside. */
static char *resolve(const char *from, const char *target)
{
    const char *slash = strrchr(from, '/');
    size_t base = target[0] == '/' || !slash ? 0 : (size_t)(slash - from) + 1, n = base;
    char *out = cell_alloc(base + strlen(target) + 2);

    memcpy(out, from, base);
    target += target[0] == '/';
    while (*target) {
        size_t k = strcspn(target, "/");

        if (k == 2 && memcmp(target, "..", 2) == 0) {
            if (n == 0) {
                free(out);
                return NULL;
            }
            n--;
            while (n > 0 && out[n - 1] != '/')
                n--;
        } else if (k > 0 && !(k == 1 && target[0] == '.')) {
            memcpy(out + n, target, k);
            n += k;
            if (target[k])
                out[n++] = '/';
        }
        target += k + (target[k] == '/');
    }
    out[n] = 0;
    return out;
}

/* ---- relationships ---- */

struct relation {
    char *id, *type, *part;
};

struct relations {
    const char *from; /* the part they belong to */
    struct relation *list;
    size_t n;
};

static void relation_start(struct xml *x, const char *name, const char **attributes)
{
    struct relations *r = x->arg;
    const char *id = xml_attribute(attributes, "Id"), *type = xml_attribute(attributes, "Type");
    const char *target = xml_attribute(attributes, "Target"),
               *mode = xml_attribute(attributes, "TargetMode");

    /* external ones are never followed */
    if (strcmp(name, "Relationship") != 0 || !id || !type || !target ||
        (mode && strcmp(mode, "External") == 0))
        return;
    if (r->n == ZIP_ENTRIES_MAX) {
        xml_fail(x, ERR_FILE_TOO_COMPLEX, "the spreadsheet has more than 2000 relationships");
        return;
    }
    r->list = cell_realloc(r->list, (r->n + 1) * sizeof(*r->list));
    r->list[r->n++] = (struct relation){parts_copy(id), parts_copy(type), resolve(r->from, target)};
}

static void relations_free(struct relations *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->list[i].id);
        free(r->list[i].type);
        free(r->list[i].part);
    }
    free(r->list);
}

/* Reads the relationships of a part; none when it has no file of them. */
static bool relations_read(struct book *b, struct relations *r, const char *from)
{
    const char *slash = strrchr(from, '/');
    int folder = slash ? (int)(slash - from) + 1 : 0;
    char name[1200];
    const struct zip_entry *entry;
    struct xml x = {.book = b, .arg = r, .start = relation_start};

    *r = (struct relations){.from = from};
    if (snprintf(name, sizeof(name), "%.*s_rels/%s.rels", folder, from, from + folder) >=
        (int)sizeof(name))
        return true;
    entry = zip_find(&b->zip, name);
    return !entry || xml_read(&x, entry, true);
}

/* Finds a relationship by type and id. Transitional and strict documents name the same types in
 * different words before the last. */
static const struct relation *relation_of(
    const struct relations *r, const char *type, const char *id)
{
    for (size_t i = 0; i < r->n; i++)
        if ((!type || parts_ends_with(r->list[i].type, type)) &&
            (!id || strcmp(r->list[i].id, id) == 0) && r->list[i].part)
            return &r->list[i];
    return NULL;
}

/* ---- the workbook ---- */

struct sheet {
    char *name, *id;
    bool hidden;
};

struct workbook {
    struct sheet sheets[SHEETS_MAX];
    size_t n;
    bool root;
};

static bool parts_is_true(const char *value)
{
    return value &&
           (strcmp(value, "1") == 0 || strcmp(value, "true") == 0 || strcmp(value, "on") == 0);
}

static void workbook_start(struct xml *x, const char *name, const char **attributes)
{
    struct workbook *w = x->arg;
    const char *title = xml_attribute(attributes, "name"), *id = xml_attribute(attributes, "id");
    const char *state = xml_attribute(attributes, "state");

    if (x->depth == 1)
        w->root = strcmp(name, "workbook") == 0;
    if (strcmp(name, "workbookPr") == 0)
        x->book->epoch_1904 = parts_is_true(xml_attribute(attributes, "date1904"));
    if (strcmp(name, "sheet") != 0 || !title || !id)
        return;
    if (w->n == SHEETS_MAX)
        xml_fail(x, ERR_FILE_TOO_COMPLEX, "the workbook has more than 1024 sheets");
    else
        w->sheets[w->n++] = (struct sheet){
            parts_copy(title), parts_copy(id), state && strcmp(state, "visible") != 0};
}

static const struct sheet *parts_choose(
    const struct workbook *w, const struct relations *r, const char *wanted)
{
    char *end;
    unsigned long number = strtoul(wanted, &end, 10);

    for (size_t i = 0; i < w->n && wanted[0]; i++)
        if (strcmp(w->sheets[i].name, wanted) == 0)
            return &w->sheets[i];
    for (size_t i = 0; i < w->n && wanted[0]; i++)
        if (strcasecmp(w->sheets[i].name, wanted) == 0)
            return &w->sheets[i];
    if (wanted[0])
        return !*end && number >= 1 && number <= w->n ? &w->sheets[number - 1] : NULL;
    for (size_t i = 0; i < w->n; i++)
        if (!w->sheets[i].hidden && relation_of(r, "/worksheet", w->sheets[i].id))
            return &w->sheets[i];
    return NULL;
}

static char *part_of_type(const struct relations *r, const char *type)
{
    const struct relation *found = relation_of(r, type, NULL);

    return found ? parts_copy(found->part) : NULL;
}

static bool choose_sheet(
    struct book *b, const struct workbook *w, const char *part, const char *wanted, char **ret_name)
{
    struct relations r;
    const struct sheet *chosen;
    const struct relation *place;
    char text[160];
    bool good = relations_read(b, &r, part);

    if (good) {
        chosen = parts_choose(w, &r, wanted);
        place = chosen ? relation_of(&r, "/worksheet", chosen->id) : NULL;
        if (!chosen && wanted[0]) {
            snprintf(
                text, sizeof(text), "file.sheet: the workbook has no sheet \"%.100s\"", wanted);
            good = zip_fail(&b->zip, ERR_PARAM_INVALID, text);
        } else if (!place) {
            good = zip_fail(
                &b->zip, ERR_FILE_XLSX_INVALID, "the workbook has no sheet with cells to read");
        } else {
            *ret_name = parts_copy(chosen->name);
            b->sheet_part = parts_copy(place->part);
            b->strings_part = part_of_type(&r, "/sharedStrings");
            b->styles_part = part_of_type(&r, "/styles");
        }
    }
    relations_free(&r);
    return good;
}

bool parts_find(struct book *b, const char *wanted, char **ret_name)
{
    struct relations top;
    struct workbook *w = cell_alloc(sizeof(*w));
    struct xml x = {.book = b, .arg = w, .start = workbook_start};
    const struct relation *main;
    const struct zip_entry *entry = NULL;
    bool good;

    memset(w, 0, sizeof(*w));
    good = relations_read(b, &top, "");
    main = good ? relation_of(&top, "/officeDocument", NULL) : NULL;
    if (main)
        entry = zip_find(&b->zip, main->part);
    if (good && main && parts_ends_with(main->part, ".bin"))
        good = zip_fail(&b->zip, ERR_FILE_UNSUPPORTED_TYPE,
            "binary workbooks (XLSB) can't be read; save it as XLSX");
    else if (good && !entry)
        good = zip_fail(&b->zip, ERR_FILE_XLSX_INVALID, "the archive holds no workbook");
    if (good)
        good = xml_read(&x, entry, true);
    if (good && !w->root)
        good = zip_fail(&b->zip, ERR_FILE_XLSX_INVALID, "the document is no workbook");
    if (good && main)
        good = choose_sheet(b, w, main->part, wanted, ret_name);
    for (size_t i = 0; i < w->n; i++) {
        free(w->sheets[i].name);
        free(w->sheets[i].id);
    }
    free(w);
    relations_free(&top);
    return good;
}

/* ---- styles ---- */

struct styles {
    bool in_cells;
    struct {
        unsigned id;
        uint32_t format;
    } formats[STYLES_MAX];
    size_t n_formats;
};

static uint32_t format_of_id(const struct styles *s, unsigned id)
{
    for (size_t i = 0; i < s->n_formats; i++)
        if (s->formats[i].id == id)
            return s->formats[i].format;
    return format_number_is_date(id) ? FORMAT_DATE : FORMAT_GENERAL;
}

static uint32_t format_of_code(struct book *b, const char *code)
{
    char *zeros;

    if (format_is_date(code))
        return FORMAT_DATE;
    zeros = format_zeros(code);
    if (!zeros)
        return FORMAT_GENERAL;
    b->zeros = cell_realloc(b->zeros, (b->n_zeros + 1) * sizeof(*b->zeros));
    b->zeros[b->n_zeros++] = zeros;
    return (uint32_t)(FORMAT_ZEROS + b->n_zeros - 1);
}

static void style_start(struct xml *x, const char *name, const char **attributes)
{
    struct styles *s = x->arg;
    struct book *b = x->book;
    const char *id = xml_attribute(attributes, "numFmtId"),
               *code = xml_attribute(attributes, "formatCode");
    unsigned number = id ? (unsigned)strtoul(id, NULL, 10) : 0;

    if (strcmp(name, "cellXfs") == 0)
        s->in_cells = true;
    if (strcmp(name, "numFmt") == 0 && id && code) {
        if (s->n_formats == STYLES_MAX)
            xml_fail(x, ERR_FILE_TOO_COMPLEX, "the workbook has more than 65536 formats");
        else {
            s->formats[s->n_formats].id = number;
            s->formats[s->n_formats++].format = format_of_code(b, code);
        }
    }
    if (strcmp(name, "xf") == 0 && s->in_cells) {
        if (b->n_styles == STYLES_MAX)
            xml_fail(x, ERR_FILE_TOO_COMPLEX, "the workbook has more than 65536 styles");
        else
            b->style_format[b->n_styles++] = format_of_id(s, number);
    }
}

static void style_end(struct xml *x, const char *name)
{
    struct styles *s = x->arg;

    if (strcmp(name, "cellXfs") == 0)
        s->in_cells = false;
}

bool styles_read(struct book *b)
{
    const struct zip_entry *entry = b->styles_part ? zip_find(&b->zip, b->styles_part) : NULL;
    struct styles *s;
    struct xml x = {.book = b, .start = style_start, .end = style_end};
    bool good;

    if (!entry)
        return true;
    s = cell_alloc(sizeof(*s));
    s->in_cells = false;
    s->n_formats = 0;
    x.arg = s;
    b->style_format = cell_alloc(STYLES_MAX * sizeof(*b->style_format));
    good = xml_read(&x, entry, true);
    free(s);
    return good;
}
