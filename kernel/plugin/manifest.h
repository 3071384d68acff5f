/* manifest.h - plugin.json, read from the ELF note of a .so without dlopen.
 *
 * Note owner "WHARF", type 1, in a PT_NOTE segment (survives strip). The reader is
 * bounds-checked and a fuzz target. Keys and rules: docs/reference/plugin-abi.md section 2. */
#ifndef WHARF_PLUGIN_MANIFEST_H
#define WHARF_PLUGIN_MANIFEST_H

#include "util/arena.h"
#include "util/json.h"

struct manifest_service {
    const char *name;
    uint16_t major, minor;
};

struct manifest {
    /* path of the .so; the mere name of a module linked into the program (static.h) */
    const char *file;
    wharf_str text; /* the note's bytes */
    const char *name, *version, *description, *license, *homepage;
    uint16_t abi_major, abi_minor;
    const struct manifest_service *needs, *wants, *provides;
    size_t n_needs, n_wants, n_provides;
    const char *const *scopes;
    size_t n_scopes;
    const char *const *refers; /* resources of others that it names and can do without */
    size_t n_refers;
    /* first words of its error codes beside its name and its resources' */
    const char *const *codes;
    size_t n_codes;
    /* properties it adds to the settings of organizations, or NULL */
    const struct wharf_json *settings;
    /* name of a service that it provides -> SQL over a row t of another's resource, which shows
     * that row; or NULL */
    const struct wharf_json *shows;
    /* types of events it emits beside those of its definitions, or NULL
     * (docs/internals/events.md) */
    const struct wharf_json *events;
    /* names of its resources that tenants' workflows may have hooks on, or NULL */
    const struct wharf_json *hookable;
    const struct wharf_json *config; /* JSON Schema of its settings, or NULL */
    /* of the description of the API (docs/reference/plugin-abi.md section 6): schemas that its
     * routes and definitions name, and its headings; or NULL */
    const struct wharf_json *shapes, *tags;
    bool third_party; /* not one of the modules shipped with the server */
};

/* Finds the note in an ELF image in memory. False and a static text when there is none or the
 * file is damaged. */
bool manifest_note(
    const unsigned char *image, size_t size, wharf_str *ret_text, const char **ret_error);
/* Parses and checks manifest text. NULL and a message (in a) naming file and key. */
const struct manifest *manifest_parse(
    struct arena *a, const char *file, wharf_str text, wharf_str *ret_error);
/* Reads the manifest of a file: checks owner and mode, reads the note, parses the text. */
const struct manifest *manifest_read(struct arena *a, const char *file, wharf_str *ret_error);

#endif
