/* batch_limits.c - how much a batch may be (spec 10 section 13): settings, whose defaults and
 * bounds are those of plugin.json. */
#include "batches.h"

struct limits batches_limits;

static const struct {
    const char *name;
    int64_t *value;
} table[] = {
    {"array_items", &batches_limits.array_items},
    {"items", &batches_limits.items},
    {"sync_items", &batches_limits.sync_items},
    {"mixed_items", &batches_limits.mixed_items},
    {"request_seconds", &batches_limits.request_seconds},
    {"queued", &batches_limits.queued},
    {"data_url_mib", &batches_limits.data_url_mib},
    {"file_mib", &batches_limits.file_mib},
    {"run_hours", &batches_limits.run_hours},
    {"keep_days", &batches_limits.keep_days},
    {"record_days", &batches_limits.record_days},
};

void batches_limits_read(wharf_plugin *self)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        *table[i].value = batches_config->integer(self, table[i].name);
}
