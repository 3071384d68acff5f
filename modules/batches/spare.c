/* spare.c - what the processors have to spare, so that helpers of a batch take nothing from others (walk.c).
 *
 * Only those that this process may use count: a server that was given two of many would else take the idle ones of its neighbours for its own.
 */
#include <sched.h>
#include <stdio.h>

#include "batches.h"

static bool read_ticks(struct ticks *ret)
{
    FILE *f = fopen("/proc/stat", "re");
    char line[512];
    cpu_set_t mine;

    *ret = (struct ticks){0};
    if (!f)
        return false;
    if (sched_getaffinity(0, sizeof(mine), &mine) != 0) {
        fclose(f);
        return false;
    }
    while (fgets(line, sizeof(line), f)) {
        unsigned long long t[8] = {0};
        unsigned n;

        if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &n, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5],
                &t[6], &t[7]) != 9 ||
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

bool processors_spare(struct ticks *since, double *ret_spare)
{
    struct ticks now;
    bool good = read_ticks(&now) && since->processors == now.processors && now.all > since->all;

    *ret_spare = good ? (double)(now.idle - since->idle) / (double)(now.all - since->all) * now.processors : 0;
    *since = now;
    return good;
}
