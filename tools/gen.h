/* gen.h - what the files of wharf-gen share. */
#ifndef WHARF_TOOLS_GEN_H
#define WHARF_TOOLS_GEN_H

#include <stdio.h>

#include "util/str.h"

/* Reads a whole file; tells why when it can not. */
bool read_file(struct arena *a, const char *path, wharf_str *ret);
/* Reads a file of JSON; tells where it is no JSON, and returns NULL then. */
const struct wharf_json *read_json(struct arena *a, const char *path);

/* Writes NAME_TEXT, an array of the text, and NAME, the initializer of its wharf_str. */
void c_array(FILE *out, const char *name, wharf_str s);
/* Writes PREFIX_NAME in capitals; whatever is no letter or digit becomes '_'. */
void upper(char *out, size_t size, const char *prefix, const char *name);

/* Writes what a file of routes holds: ROUTE_<NAME> of each, and ROUTES (gen_routes.c). Without out
 * it only checks, as the others do. */
bool write_routes(struct arena *a, FILE *out, const char *path);
/* Writes ERR_<CODE> of each code of a file of errors (gen_errors.c). */
bool write_codes(struct arena *a, FILE *out, const char *path);
/* Writes CHECK_<NAME> of each file of a folder checks/, its statement, and CHECKS (gen_checks.c);
 * adds the folder and its files to a list for make (depfile, may be NULL). */
bool write_checks(struct arena *a, FILE *out, FILE *depfile, const char *dir);
/* Writes plugin-api/wharf/errors.h: these constants in a header of their own. */
bool write_codes_header(struct arena *a, const char *header, const char *path);

#endif
