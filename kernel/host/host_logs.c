/* host_logs.c - the services wharf.logs (on top of event/seal.h) and wharf.config. */
#include "config/config.h"
#include "event/lines.h"
#include "event/seal.h"
#include "host/host.h"
#include "plugin/module_settings.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/service/config.h"
#include "wharf/service/logs.h"

static wharf_status l_verify(wharf_req *req, const char *resource, wharf_logs_report *report)
{
    const struct resource *shown = engine_resource(req->engine, resource);
    wharf_logs_report full = {.head = report->head};
    struct seal_report found;
    wharf_status s;

    if (!shown)
        return req_fail(req, ERR_INTERNAL, NULL, NULL);
    s = seal_verify(req, shown, &found);
    if (s != WHARF_OK)
        return s;
    full.valid = found.valid;
    full.checked = found.checked;
    full.first_bad_id = found.first_bad_id;
    full.head_hash = found.head_hash;
    memcpy(report, &full, report->head.size < sizeof(full) ? report->head.size : sizeof(full));
    return WHARF_OK;
}

const wharf_logs_api host_logs = {
    WHARF_HEAD(wharf_logs_api), l_verify, log_add, log_recent, log_page, log_add_many};

static const struct wharf_json *host_logs_setting(const wharf_plugin *self, const char *name)
{
    return module_setting(self->engine->config, self->plugin->manifest, name);
}

static bool c_text(wharf_plugin *self, const char *name, wharf_str *ret_text)
{
    const struct wharf_json *v = host_logs_setting(self, name);

    if (json_is(v, JSON_STRING) || json_is(v, JSON_NUMBER))
        *ret_text = v->text;
    else if (json_is(v, JSON_BOOL))
        *ret_text = str_z(v->truth ? "true" : "false");
    else
        return false;
    return true;
}

static int64_t c_integer(wharf_plugin *self, const char *name)
{
    int64_t i;

    return json_int(host_logs_setting(self, name), &i) ? i : 0;
}

/* Finds what stands between two commas of a text. */
static bool host_logs_part_of(wharf_str text, size_t i, wharf_str *ret_part)
{
    const char *p = text.p;

    for (; i && p[strcspn(p, ",")]; i--)
        p += strcspn(p, ",") + 1;
    *ret_part = (wharf_str){p, strcspn(p, ",")};
    return !i && ret_part->n;
}

static bool c_item(wharf_plugin *self, const char *name, size_t i, wharf_str *ret_text)
{
    const struct wharf_json *v = host_logs_setting(self, name);

    if (json_is(v, JSON_ARRAY)) {
        for (v = v->child; v && i; i--)
            v = v->next;
        if (!json_is(v, JSON_STRING))
            return false;
        *ret_text = v->text;
        return true;
    }
    return json_is(v, JSON_STRING) && host_logs_part_of(v->text, i, ret_text);
}

static wharf_str c_url(wharf_req *req, wharf_str path)
{
    wharf_str s = str_z(req->engine->config->base_url);

    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    return arena_printf(req->arena, "%.*s%.*s", (int)s.n, s.p, (int)path.n, path.p);
}

const wharf_config_api host_config = {
    WHARF_HEAD(wharf_config_api), c_text, c_url, c_item, c_integer};
