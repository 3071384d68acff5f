/* operator_folder.h - the files of a folder of operator hooks, as they are at one moment
 * (docs/spec/08-workflows-and-lua.md section 9).
 *
 * `*.lua` directly in it are hook files, those of sub-folders are modules ("lib/address.lua" is
 * lib.address); names that begin with '.' or '_' are ignored, and so are files that end with
 * _test.lua. Leaves to others: what is in them. */
#ifndef WHARF_LUA_OPERATOR_OPERATOR_FOLDER_H
#define WHARF_LUA_OPERATOR_OPERATOR_FOLDER_H

#include "util/arena.h"

enum {
    HOOK_FILES_MAX = 500, /* files */
    HOOK_FILE_BYTES = 256 * 1024 /* bytes of a file */
};

struct hook_file {
    /* "10-codes"; "lib.address"; of plugins "dock_doors.10-codes", "dock_doors.lib.address" */
    const char *name;
    wharf_str text;
    char sha256[65];
    bool module; /* of a sub-folder: runs when it is required */
};

struct hook_folder {
    /* of each place hook files in byte order of their names, then modules */
    struct hook_file *files;
    size_t n;
    /* of names and texts; never 0. The same files have the same one, in every process. When it
     * can't be read: of the problem */
    uint64_t print;
};

struct hook_place {
    const char *dir;
    const char *prefix; /* of the names of its files: "", or "dock_doors/" of a plugin's */
};
struct hook_places { /* the operator's folder, then those of plugins, in the order of the modules */
    const struct hook_place *items;
    size_t n;
};
struct engine;
/* Returns the folders of hooks. dir: the operator's. A plugin's folder stands beside its file:
 * dock_doors.so, dock_doors.hooks/. */
struct hook_places folder_places(struct arena *a, const struct engine *e, const char *dir);
/* Reads the files. A folder that is not there has no files. Returns false and what is wrong with
 * which file, "10-codes.lua: ...". */
bool folder_read(struct arena *a, const struct hook_places *places, struct hook_folder *ret,
    wharf_str *ret_problem);
/* Packs the files as one text (folder_pack), and unpacks it: what a server keeps of the hooks that
 * it runs. */
wharf_str folder_pack(struct arena *a, const struct hook_folder *f);
bool folder_unpack(struct arena *a, wharf_str text, struct hook_folder *ret);

#endif
