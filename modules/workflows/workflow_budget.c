/* workflow_budget.c - what runs may use: the operator's ceilings, and less where a workflow
 * asks for less (spec 08 section 6). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workflows.h"
#include "wharf/errors.h"

const struct budget check_budget = {
    .instructions = 100000, .memory = 4 << 20, .wall_us = 2000000, .result_max = 1 << 20};

/* budgets_start() adds what the settings say. */
struct budget before_budget = {.in_write = true, .result_max = 64 << 10};
struct budget sync_budget = {.result_max = 1 << 20};
struct budget public_budget = {.result_max = 1 << 20};
struct budget queued_budget = {.result_max = 64 << 10, .sleep_ms = 10000};

static struct budget *const all[] = {&before_budget, &sync_budget, &public_budget, &queued_budget};
static const char *const classes[] = {"before", "sync", "public", "queued"};
static const char *const members[] = {
    "instructions", "memory_mib", "time_ms", "api_calls", "http_calls", "mails", "emits"};
enum { CLASSES = sizeof(all) / sizeof(all[0]), MEMBERS = sizeof(members) / sizeof(members[0]) };

static int64_t workflow_budget_get(const struct budget *b, size_t member)
{
    const int64_t values[MEMBERS] = {(int64_t)b->instructions, (int64_t)(b->memory >> 20),
        b->wall_us / 1000, b->api_calls, b->http_calls, b->mails, b->emits};

    return values[member];
}

static struct budget with(struct budget b, size_t member, int64_t v)
{
    uint32_t *const counts[] = {&b.api_calls, &b.http_calls, &b.mails, &b.emits};

    if (member == 0)
        b.instructions = (uint64_t)v;
    else if (member == 1)
        b.memory = (uint64_t)v << 20;
    else if (member == 2)
        b.wall_us = v * 1000;
    else
        *counts[member - 3] = (uint32_t)v;
    return b;
}

void budgets_start(void)
{
    for (size_t c = 0; c < CLASSES; c++) {
        for (size_t m = 0; m < MEMBERS; m++) {
            char name[64];

            snprintf(name, sizeof(name), "budgets.%s.%s", classes[c], members[m]);
            *all[c] = with(*all[c], m, flow_config->integer(flow_self, name));
        }
    }
}

/* Returns the most that any run may have. */
static int64_t most_of(size_t member)
{
    int64_t most = 0;

    for (size_t c = 0; c < CLASSES; c++) {
        if (workflow_budget_get(all[c], member) > most)
            most = workflow_budget_get(all[c], member);
    }
    return most;
}

wharf_status budget_wanted(wharf_req *req, const wharf_json *wanted)
{
    for (size_t m = 0; m < MEMBERS; m++) {
        const wharf_json *v = wanted ? W->json->get(wanted, members[m]) : NULL;
        int64_t n;

        if (v && W->json->integer(v, &n) && n > most_of(m))
            W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "budget.%s", members[m]).p,
                "budget.%s must be %lld or less: a workflow asks for less than it may have, never "
                "for more",
                members[m], (long long)most_of(m));
    }
    return W->err->current(req);
}

struct budget budget_of(const struct budget *most, const struct code *c)
{
    const wharf_json *wanted = c->options ? W->json->get(c->options, "budget") : NULL;
    struct budget b = *most;

    for (size_t m = 0; m < MEMBERS; m++) {
        const wharf_json *v = wanted ? W->json->get(wanted, members[m]) : NULL;
        int64_t n;

        if (v && W->json->integer(v, &n) && n < workflow_budget_get(most, m))
            b = with(b, m, n);
    }
    return b;
}
