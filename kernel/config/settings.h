/* settings.h - the one table of settings, and how a value of each type is stored. For
 * kernel/config and the commands that show settings. */
#ifndef WHARF_CONFIG_SETTINGS_H
#define WHARF_CONFIG_SETTINGS_H

#include <lua.h>

#include "config/config.h"
#include "util/buf.h"

enum setting_type { SET_TEXT, SET_INT, SET_BOOL, SET_LIST, SET_CHOICE, SET_LEVEL };

struct setting {
    const char *key;
    enum setting_type type;
    size_t offset; /* in struct config */
    const char *fallback; /* as it would be written with --set */
    int64_t min, max; /* SET_INT */
    const char *choices; /* SET_CHOICE: "auto manual" */
    const char *doc;
    /* a second spelling of the key, or NULL: "database" is short for database.url */
    const char *alias;
    bool secret; /* nobody is shown its value */
};

/* Returns all settings, in the order of the documentation. */
const struct setting *settings_all(size_t *ret_count);
const struct setting *settings_find(const char *key);
/* Tells whether some setting's key is "group.<something>". */
bool settings_is_group(const char *group);
/* Returns the nearest known key, or NULL when nothing is near. */
const char *settings_suggest(const char *key);

/* Problems found so far, one per line, for the operator. */
struct problems {
    struct buf text;
    size_t count;
};
void problem(struct problems *p, const char *where, const char *fmt, ...) WHARF_PRINTF(3, 4);

/* Stores a value given as text (default, environment, --set). where: "WHARF_LISTEN", "--set
 * listen". */
void setting_from_text(struct config *c, const struct setting *s, const char *text,
    const char *where, struct problems *errs);
/* Stores the value on top of the Lua stack (left there). */
void setting_from_lua(struct config *c, const struct setting *s, lua_State *lua, const char *where,
    struct problems *errs);

/* Writes the value as it would be written with --set. */
void setting_text(const struct config *c, const struct setting *s, struct buf *out);
/* Returns where the value was written: "default", "wharf.lua:3", "WHARF_LISTEN", "--set listen". */
const char *setting_from(const struct config *c, const struct setting *s);

/* ---- lua_file.c: the file as a Lua table ---- */

/* Runs the settings file. Returns a Lua state whose only value, on top of the stack, is the table
 * of globals the file assigned; sets *ret_text to the file's text (in c->arena). Returns NULL and
 * tells a problem when the file can't be read or run. file NULL: the table is empty. */
lua_State *settings_file_run(
    struct config *c, const char *file, wharf_str *ret_text, struct problems *errs);
/* Finds the line of the file where the key is assigned. Returns 0 when it is not found. */
unsigned settings_file_line(wharf_str text, const char *key);
/* Writes the value at the top of the stack as JSON. False when it holds something that JSON has
 * not. */
bool settings_lua_to_json(lua_State *lua, struct buf *out);

#endif
