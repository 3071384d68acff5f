/* wharf-gen.c - the field constants of a plugin's resources, from their definitions.
 *
 *   wharf-gen OUT.h DEFINITION.json...
 *
 * For each definition: an enumerator per property, its index as wharf_field ("PRINT_STATION_DEVICE_TOKEN"), and <NAME>_HASH, the
 * definition's hash, which the server compares at load: constants and text can not drift apart. Includes nothing.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/definition.h"
#include "util/json.h"
#include "util/str.h"

enum { TEXT_MAX = 1 << 20 };

static wharf_str read_file(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = arena_alloc(a, TEXT_MAX);
    size_t n;

    if (!f) {
        fprintf(stderr, "wharf-gen: %s can not be opened\n", path);
        exit(1);
    }
    n = fread(text, 1, TEXT_MAX - 1, f);
    fclose(f);
    return (wharf_str){text, n};
}

static void upper(FILE *out, wharf_str name)
{
    for (size_t i = 0; i < name.n; i++)
        fputc(isalnum((unsigned char)name.p[i]) ? toupper((unsigned char)name.p[i]) : '_', out);
}

static void write_constants(FILE *out, const char *path, struct arena *a)
{
    wharf_str text = read_file(a, path), id;
    struct json_error e;
    const struct wharf_json *d = json_parse(a, text, &e), *properties;
    unsigned n = 0;

    if (!d) {
        fprintf(stderr, "%s: %s at byte %zu\n", path, e.message, e.offset);
        exit(1);
    }
    id = json_text_or(d, "$id", "");
    properties = json_get(d, "properties");
    if (!id.n || !json_is(properties, JSON_OBJECT)) {
        fprintf(stderr, "%s: a definition needs $id and properties\n", path);
        exit(1);
    }
    fprintf(out, "\nenum {\n");
    for (const struct wharf_json *p = properties->child; p; p = p->next) {
        fprintf(out, "    ");
        upper(out, id);
        fputc('_', out);
        upper(out, p->key);
        fprintf(out, " = %u,\n", n++);
    }
    fprintf(out, "};\n#define ");
    upper(out, id);
    fprintf(out, "_HASH UINT64_C(0x%016llx)\n", (unsigned long long)definition_hash(text));
}

int main(int argc, char **argv)
{
    struct arena *a = arena_new(0);
    FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
    int failed;

    if (!out) {
        fprintf(stderr, "usage: wharf-gen OUT.h DEFINITION.json...\n");
        return 2;
    }
    fprintf(out, "/* Made by wharf-gen from the definitions. */\n#pragma once\n#include <stdint.h>\n");
    for (int i = 2; i < argc; i++)
        write_constants(out, argv[i], a);
    failed = ferror(out) | fclose(out);
    arena_free(a);
    return failed != 0;
}
