/* codes.c - error codes and what status they answer with (docs/spec/01-platform.md section 3.1):
 * the server's own are in errors.json beside, modules bring theirs. engine_link() merges both. */
#include "resource/codes.h"

#include "resource/errors.gen.h"
#include "util/json.h"
#include "util/vector.h"

bool codes_read(struct arena *a, wharf_str json, const char *plugin, struct vector *codes)
{
    struct json_error e;
    const struct wharf_json *list = json_parse(a, json, &e);

    if (!json_is(list, JSON_OBJECT) && !json_is(list, JSON_ARRAY))
        return false;
    for (const struct wharf_json *m = list->child; m; m = m->next) {
        struct error_code *c = vector_add(a, codes);

        c->code = list->type == JSON_OBJECT ? m->key.p : json_text_or(m, "code", "").p;
        c->status = (int)json_int_or(m, "status", 0);
        c->text = json_text_or(m, "text", "").p;
        c->plugin = plugin;
        c->operations = json_get(m, "operations");
    }
    return true;
}

bool codes_read_own(struct arena *a, struct vector *codes)
{
    return codes_read(a, (wharf_str)ERRORS, NULL, codes);
}
