/* idle_processors.c - how much of the processors is idle, so that helpers of a batch take
 * nothing from others (walk.c) (spec 10 section 4).
 *
 * While clients ask, one processor is left to them, and who works on a batch rests between its
 * chunks: what they wait for is mostly a processor, and what is asked in a rest finds one. Those
 * who only look how a batch is doing are none of them.
 *
 * Only those that this process may use count: a server that was given two of many would else
 * take the idle ones of its neighbours for its own. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "batches.h"

enum {
    CLIENTS_ASK = 2, /* requests since the last look: fewer are a chance visitor */
    LEFT_TO_CLIENTS = 1,
    LOOK_US = 100000,
    RESTS = 2, /* times as long as it worked */
    REST_MAX_US = 400000
};

static bool read_ticks(struct look *ret)
{
    FILE *f = fopen("/proc/stat", "re");
    char line[512];
    cpu_set_t mine;

    if (!f)
        return false;
    if (sched_getaffinity(0, sizeof(mine), &mine) != 0) {
        fclose(f);
        return false;
    }
    while (fgets(line, sizeof(line), f)) {
        unsigned long long t[8] = {0};
        unsigned n;

        if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &n, &t[0], &t[1], &t[2],
                &t[3], &t[4], &t[5], &t[6], &t[7]) != 9 ||
            n >= CPU_SETSIZE || !CPU_ISSET(n, &mine))
            continue;
        for (size_t i = 0; i < 8; i++)
            ret->all += t[i];
        ret->idle += t[3] + t[4];
        ret->processors++;
    }
    fclose(f);
    return ret->processors > 0;
}

bool processors_idle(wharf_req *req, struct look *since, double *ret_idle)
{
    struct look now = {.at_us = monotonic_us(), .requests = batches_metrics->requests(req)};
    bool good = read_ticks(&now) && since->processors == now.processors && now.all > since->all;

    *ret_idle = good ? (double)(now.idle - since->idle) / (double)(now.all - since->all) *
                           now.processors
                     : 0;
    now.clients_ask = since->at_us && now.requests - since->requests >= CLIENTS_ASK;
    if (now.clients_ask)
        *ret_idle -= LEFT_TO_CLIENTS;
    *since = now;
    return good;
}

void give_way(wharf_req *req, struct batch_run *run, int64_t worked_us)
{
    struct look now = {.at_us = monotonic_us()};
    int64_t us = RESTS * worked_us < REST_MAX_US ? RESTS * worked_us : REST_MAX_US;

    if (now.at_us > run->clients.at_us + LOOK_US) {
        now.requests = batches_metrics->requests(req);
        run->clients_ask = run->clients.at_us &&
                           now.requests - run->clients.requests >= CLIENTS_ASK;
        run->clients = now;
    }
    if (!run->clients_ask)
        return;
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    batches_metrics->count(req, WHARF_S("batches_rest_seconds"), WHARF_S(""), (double)us / 1e6);
}
