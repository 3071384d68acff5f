/* devfile.c - see devfile.h. */
#include "tool/devfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"
#include "util/json.h"
#include "util/str.h"

void devfile_read(const char *data, struct devfile *ret, struct arena *a)
{
    int fd = open(arena_printf(a, "%s/dev.json", data).p, O_RDONLY | O_CLOEXEC);
    char text[4096];
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    struct json_error error;
    const struct wharf_json *json = NULL;

    if (fd >= 0)
        close(fd);
    if (n > 0)
        json = json_parse(a, arena_dup(a, text, (size_t)n), &error);
    if (!json_is(json, JSON_OBJECT))
        return;
    ret->api_key = json_text_or(json, "api_key", "").p;
    snprintf(ret->organization_id, sizeof(ret->organization_id), "%s",
        json_text_or(json, "organization_id", "").p);
    ret->system = json_bool_or(json, "system", false);
}

bool devfile_write(
    const char *data, const struct devfile *dev, struct arena *a, wharf_str *ret_error)
{
    struct buf out;
    struct jw w;
    bool good;

    buf_init(&out, 4096);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_z(&w, "api_key", dev->api_key);
    jw_z(&w, "organization_id", dev->organization_id);
    jw_bool(&w, "system", dev->system);
    jw_close(&w, '}');
    buf_addc(&out, '\n');
    good = file_replace(arena_printf(a, "%s/dev.json", data).p, buf_str(&out), 0600, a, ret_error);
    buf_done(&out);
    return good;
}
