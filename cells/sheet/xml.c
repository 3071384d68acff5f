/* xml.c - a part of the archive as XML events, without document types, entities and depths that
 * no spreadsheet has. */
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "child.h"
#include "wharf/errors.h"

enum {
    ROOM = 4 * ZIP_BLOCK, /* a plain element is shorter */
    /* what is not whole is looked at again with every block: a long comment would cost its
     * square */
    TAG_MAX = 1 << 20,
};

void xml_fail(struct xml *x, const char *code, const char *text)
{
    zip_fail(&x->book->zip, code, text);
    XML_StopParser(x->parser, XML_FALSE);
}

/* Names come from the parser as "namespace|local|prefix", or "local" without a namespace. */
enum { SEPARATOR = '|' };

/* The namespaces whose elements are read: that of spreadsheets, in the transitional and the strict
 * form, and that of relationships. Extensions have elements of the same local names in others. */
static const char *const element_namespaces[] = {
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
    "http://schemas.openxmlformats.org/package/2006/relationships", NULL};
/* The namespaces of an attribute that names a relationship: transitional and strict. */
static const char *const attribute_namespaces[] = {
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "http://purl.oclc.org/ooxml/officeDocument/relationships", NULL};

/* Tells whether the n bytes at `name` are one of the namespaces; `known` ends with NULL. */
static bool is_namespace_of(const char *const *known, const char *name, size_t n)
{
    for (; *known; known++)
        if (strlen(*known) == n && memcmp(*known, name, n) == 0)
            return true;
    return false;
}

/* Returns the local name of an element; "" when its namespace is not one that is read. */
static const char *element_name(struct xml *x, const char *name)
{
    const char *from = strchr(name, SEPARATOR), *end;
    size_t n;

    x->prefixed = false;
    if (!from)
        return name;
    end = strchr(from + 1, SEPARATOR);
    x->prefixed = end != NULL;
    n = end ? (size_t)(end - from - 1) : strlen(from + 1);
    if (n >= XML_NAME_MAX || !is_namespace_of(element_namespaces, name, (size_t)(from - name)))
        return "";
    memcpy(x->name, from + 1, n);
    x->name[n] = 0;
    return x->name;
}

/* Tells whether an attribute, "local" or "namespace|local|prefix" as expat gives it, has the local
 * name, and no namespace or one of relationships. */
static bool is_attribute(const char *attribute, const char *name)
{
    const char *local = strchr(attribute, SEPARATOR);
    size_t n = strlen(name);

    if (!local)
        return strcmp(attribute, name) == 0;
    return is_namespace_of(attribute_namespaces, attribute, (size_t)(local - attribute)) &&
           strncmp(local + 1, name, n) == 0 && (!local[1 + n] || local[1 + n] == SEPARATOR);
}

const char *xml_attribute(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (is_attribute(attributes[0], name))
            return attributes[1];
    return NULL;
}

static void xml_on_start(void *arg, const char *name, const char **attributes)
{
    struct xml *x = arg;

    if (++x->depth > XML_DEPTH_MAX)
        xml_fail(x, ERR_FILE_TOO_COMPLEX, "the spreadsheet's XML is nested deeper than 64");
    else if (x->start)
        x->start(x, element_name(x, name), attributes);
}

static void xml_on_end(void *arg, const char *name)
{
    struct xml *x = arg;

    x->depth--;
    if (x->end)
        x->end(x, element_name(x, name));
}

static void xml_on_text(void *arg, const char *p, int n)
{
    struct xml *x = arg;

    x->text(x, p, n);
}

static void on_doctype(
    void *arg, const char *name, const char *system, const char *public, int internal)
{
    xml_fail(arg, ERR_FILE_XLSX_INVALID,
        "the spreadsheet declares a document type, which spreadsheets do not");
}

void xml_clear(struct xml *x)
{
    x->clear = true;
    x->clear_at = (long long)XML_GetCurrentByteIndex(x->parser) +
                  XML_GetCurrentByteCount(x->parser);
}

static bool xml_feed(struct xml *x, const char *p, size_t n, bool last)
{
    x->clear = false;
    x->fed += (long long)n;
    if (XML_Parse(x->parser, p, (int)n, last) != XML_STATUS_OK) {
        if (XML_GetErrorCode(x->parser) == XML_ERROR_NO_MEMORY)
            cell_out_of_memory();
        return zip_fail(
            &x->book->zip, ERR_FILE_XLSX_INVALID, XML_ErrorString(XML_GetErrorCode(x->parser)));
    }
    if (!last && x->fed - (long long)XML_GetCurrentByteIndex(x->parser) > TAG_MAX)
        return zip_fail(&x->book->zip, ERR_FILE_TOO_COMPLEX,
            "a tag or comment of the spreadsheet is longer than 1 MiB");
    /* anything between the tag and here may be the beginning of something that is not whole yet */
    x->clear = x->clear && x->clear_at == x->fed;
    return true;
}

/* Tells how far the parser is to be fed: to the end of a tag behind which `plain` may take over,
 * or all. */
static size_t next_stop(const struct xml *x, const char *p, size_t n)
{
    const char *at = x->plain ? memmem(p, n, x->stop, strlen(x->stop)) : NULL;

    return at ? (size_t)(at - p) + strlen(x->stop) : n;
}

/* Takes what can be taken of the bytes; -1: failed. */
static long xml_take(struct xml *x, char *p, size_t n, bool last)
{
    size_t at = 0;

    while (at < n) {
        bool more = false;
        size_t step;

        if (x->plain && x->clear)
            at += x->plain(x, p + at, n - at, &more);
        if (x->book->zip.error[0])
            return -1;
        if (at == n || (more && !last && n - at < ROOM))
            break;
        step = next_stop(x, p + at, n - at);
        if (!xml_feed(x, p + at, step, false))
            return -1;
        at += step;
    }
    return last && !xml_feed(x, "", 0, true) ? -1 : (long)at;
}

static bool xml_read_part(struct xml *x, struct zip_part *part)
{
    char *room = cell_alloc(ROOM + ZIP_BLOCK + PLAIN_PAD);
    size_t have = 0;
    bool good = true;

    for (long n = 1; good && n > 0;) {
        long taken;

        n = zip_part_read(part, room + have, ZIP_BLOCK);
        good = n >= 0;
        if (!good)
            break;
        have += (size_t)n;
        memset(room + have, 0, PLAIN_PAD);
        taken = xml_take(x, room, have, n == 0);
        good = taken >= 0;
        if (good)
            memmove(room, room + taken, have -= (size_t)taken);
    }
    free(room);
    return good;
}

bool xml_read(struct xml *x, const struct zip_entry *entry, bool counted)
{
    struct zip *zip = &x->book->zip;
    struct zip_part *part = cell_alloc(sizeof(*part));
    bool good = zip_part_open(part, zip, entry, counted);

    x->depth = 0;
    x->fed = 0;
    x->clear = false;
    x->parser = good ? XML_ParserCreateNS(NULL, SEPARATOR) : NULL;
    if (good && !x->parser)
        cell_out_of_memory();
    if (good) {
        XML_SetUserData(x->parser, x);
        XML_SetReturnNSTriplet(x->parser, 1);
        XML_SetElementHandler(x->parser, xml_on_start, xml_on_end);
        XML_SetCharacterDataHandler(x->parser, x->text ? xml_on_text : NULL);
        XML_SetStartDoctypeDeclHandler(x->parser, on_doctype);
        good = xml_read_part(x, part);
    }
    if (x->parser)
        XML_ParserFree(x->parser);
    x->parser = NULL;
    zip_part_close(part);
    free(part);
    return good;
}
