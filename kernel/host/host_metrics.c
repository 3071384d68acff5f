/* host_metrics.c - the service wharf.metrics (plugin-api/wharf/service/metrics.h) on the board
 * that all workers share. */
#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "process/board.h"
#include "wharf/service/metrics.h"

enum { NAME_MAX_BYTES = 57, LABELS_MAX_BYTES = 150 };

static bool host_metrics_good_name(wharf_str name)
{
    if (!name.n || name.n > NAME_MAX_BYTES || (name.n >= 4 && !memcmp(name.p, "lua_", 4)))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", name.p[i]))
            return false;
    }
    return true;
}

static bool host_metrics_add(
    const wharf_req *req, bool observed, wharf_str name, wharf_str labels, double n)
{
    char name_text[NAME_MAX_BYTES + 1], label_text[LABELS_MAX_BYTES + 2];

    if (!req->engine->board || !host_metrics_good_name(name) || labels.n > LABELS_MAX_BYTES ||
        (!observed && !(n >= 0)))
        return false;
    snprintf(name_text, sizeof(name_text), "%.*s", (int)name.n, name.p);
    snprintf(
        label_text, sizeof(label_text), "%.*s%s", (int)labels.n, labels.p, labels.n ? "," : "");
    return board_series_add(req->engine->board, observed, name_text, label_text, n);
}

static bool m_count(wharf_req *req, wharf_str name, wharf_str labels, double n)
{
    return host_metrics_add(req, false, name, labels, n);
}

static bool m_observe(wharf_req *req, wharf_str name, wharf_str labels, double value)
{
    return host_metrics_add(req, true, name, labels, value);
}

static uint64_t m_requests(wharf_req *req)
{
    const struct board *b = req->engine->board;
    uint64_t n = 0;

    for (size_t i = 0; b && i < BOARD_ROUTES; i++)
        if (!req->plugin || strcmp(b->routes[i].module, req->plugin->name) != 0)
            n += board_route_count(&b->routes[i]);
    return n;
}

const wharf_metrics_api host_metrics = {
    WHARF_HEAD(wharf_metrics_api), m_count, m_observe, m_requests};
