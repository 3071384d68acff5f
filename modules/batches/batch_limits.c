/* batch_limits.c - how much a batch may be (spec 10 section 13): the defaults, and what the
 * configuration says instead. Names and bounds are those of plugin.json. */
#include <stdlib.h>

#include "batches.h"

struct limits batches_limits;

static const struct {
    const char *name;
    int64_t *value, usual;
} table[] = {
    {"array_items", &batches_limits.array_items, 10000},
    {"items", &batches_limits.items, 250000},
    {"sync_items", &batches_limits.sync_items, 500},
    {"mixed_items", &batches_limits.mixed_items, 100},
    {"request_seconds", &batches_limits.request_seconds, 20},
    {"queued", &batches_limits.queued, 100},
    {"data_url_mib", &batches_limits.data_url_mib, 45},
    {"file_mib", &batches_limits.file_mib, 100},
    {"run_hours", &batches_limits.run_hours, 6},
    {"keep_days", &batches_limits.keep_days, 30},
    {"record_days", &batches_limits.record_days, 400},
};

void batches_limits_read(wharf_plugin *self)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        wharf_str text;

        *table[i].value = batches_config->text(self, table[i].name, &text)
                              ? strtoll(text.p, NULL, 10)
                              : table[i].usual;
    }
}
