/* xml.c - a part of the archive as XML events, without document types, entities and depths that no spreadsheet has. */
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "child.h"

void xml_fail(struct xml *x, const char *code, const char *text)
{
    zip_fail(&x->book->zip, code, text);
    XML_StopParser(x->parser, XML_FALSE);
}

static const char *local(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

const char *xml_attribute(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (strcmp(local(attributes[0]), name) == 0)
            return attributes[1];
    return NULL;
}

static void on_start(void *arg, const char *name, const char **attributes)
{
    struct xml *x = arg;

    if (++x->depth > XML_DEPTH_MAX)
        xml_fail(x, "file.too_complex", "the spreadsheet's XML is nested deeper than 64");
    else if (x->start)
        x->start(x, local(name), attributes);
}

static void on_end(void *arg, const char *name)
{
    struct xml *x = arg;

    x->depth--;
    if (x->end)
        x->end(x, local(name));
}

static void on_text(void *arg, const char *p, int n)
{
    struct xml *x = arg;

    x->text(x, p, n);
}

static void on_doctype(void *arg, const char *name, const char *system, const char *public, int internal)
{
    xml_fail(arg, "file.xlsx_invalid", "the spreadsheet declares a document type, which spreadsheets do not");
}

bool xml_read(struct xml *x, const struct zip_entry *entry, bool counted)
{
    struct zip *zip = &x->book->zip;
    struct zip_part *part = cell_alloc(sizeof(*part));
    bool good = zip_part_open(part, zip, entry, counted);

    x->depth = 0;
    x->parser = good ? XML_ParserCreate(NULL) : NULL;
    if (good && !x->parser)
        cell_out_of_memory();
    if (good) {
        XML_SetUserData(x->parser, x);
        XML_SetElementHandler(x->parser, on_start, on_end);
        XML_SetCharacterDataHandler(x->parser, x->text ? on_text : NULL);
        XML_SetStartDoctypeDeclHandler(x->parser, on_doctype);
    }
    for (long n = 1; good && n > 0;) {
        void *room = XML_GetBuffer(x->parser, ZIP_BLOCK);

        if (!room)
            cell_out_of_memory();
        n = zip_part_read(part, room, ZIP_BLOCK);
        good = n >= 0;
        if (good && XML_ParseBuffer(x->parser, (int)n, n == 0) != XML_STATUS_OK) {
            if (XML_GetErrorCode(x->parser) == XML_ERROR_NO_MEMORY)
                cell_out_of_memory();
            good = zip_fail(zip, "file.xlsx_invalid", XML_ErrorString(XML_GetErrorCode(x->parser)));
        }
    }
    if (x->parser)
        XML_ParserFree(x->parser);
    x->parser = NULL;
    zip_part_close(part);
    free(part);
    return good;
}
