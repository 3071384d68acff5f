/* devfile.c - see devfile.h. */
#include "tool/devfile.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"
#include "util/json.h"
#include "util/str.h"

static const char *devfile_text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return text ? text : "";
}

void devfile_read(const char *data, struct devfile *ret, struct arena *a)
{
    int fd = open(arena_printf(a, "%s/dev.json", data).p, O_RDONLY | O_CLOEXEC);
    char text[4096];
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    cJSON *json;

    if (fd >= 0)
        close(fd);
    json = n > 0 ? cJSON_ParseWithLength(text, (size_t)n) : NULL;
    if (cJSON_IsObject(json)) {
        ret->api_key = arena_dupz(a, devfile_text_of(json, "api_key")).p;
        snprintf(ret->organization_id, sizeof(ret->organization_id), "%s",
            devfile_text_of(json, "organization_id"));
        ret->system = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "system"));
    }
    cJSON_Delete(json);
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
