/* services.c - see services.h. */
#include "plugin/services.h"

#include "plugin/host.h"
#include "wharf/service/batch.h"
#include "wharf/service/blob.h"
#include "wharf/service/channel.h"
#include "wharf/service/config.h"
#include "wharf/service/cron.h"
#include "wharf/service/crypto.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"
#include "wharf/service/http.h"
#include "wharf/service/keys.h"
#include "wharf/service/logs.h"
#include "wharf/service/lua.h"
#include "wharf/service/mail.h"
#include "wharf/service/metrics.h"
#include "wharf/service/many.h"
#include "wharf/service/render.h"
#include "wharf/service/schema.h"
#include "wharf/service/text.h"
#include "wharf/service/token.h"
#include "wharf/service/walk.h"

const struct kernel_service kernel_services[] = {
    {{"wharf.mem", 1, 0}, &host_mem},
    {{"wharf.err", 1, 0}, &host_err},
    {{"wharf.log", 1, 0}, &host_log},
    {{"wharf.req", 1, 0}, &host_req},
    {{"wharf.json", 1, 0}, &host_json},
    {{"wharf.db", 1, 0}, &host_db},
    {{"wharf.res", 1, 0}, &host_res},
    {{"wharf.event", 1, 0}, &host_event},
    {{"wharf.import", 1, 1}, &host_import},
    {{"wharf.blob", 1, 1}, &host_blob},
    {{"wharf.fetch", 1, 2}, &host_fetch},
    {{"wharf.mail", 1, 1}, &host_mail},
    {{"wharf.keys", 1, 0}, &host_keys},
    {{"wharf.logs", 1, 3}, &host_logs},
    {{"wharf.config", 1, 1}, &host_config},
    {{"wharf.text", 1, 2}, &host_text},
    {{"wharf.token", 1, 2}, &host_token},
    {{"wharf.crypto", 1, 3}, &host_crypto},
    {{"wharf.http", 1, 1}, &host_http},
    {{"wharf.events", 1, 2}, &host_events},
    {{"wharf.many", 1, 1}, &host_many},
    {{"wharf.batch", 1, 1}, &host_batch},
    {{"wharf.walk", 1, 0}, &host_walk},
    {{"wharf.render", 1, 0}, &host_render},
    {{"wharf.channel", 1, 0}, &host_channel},
    {{"wharf.lua", 1, 12}, &host_lua},
    {{"wharf.cron", 1, 0}, &host_cron},
    {{"wharf.metrics", 1, 1}, &host_metrics},
    {{"wharf.schema", 1, 0}, &host_schema},
};
const size_t kernel_services_count = sizeof(kernel_services) / sizeof(kernel_services[0]);
