/* quiet_hours.c - hours of a user in which nothing is pushed to them, as they are written (spec 07
 * section 16.2). The module notifications keeps to them. */
#include "org.gen.h"
#include "org.h"

static bool quiet_hours_text_of(const wharf_json *v, const char *name, wharf_str *ret)
{
    v = org_host->json->get(v, name);
    return v && org_host->json->text(v, ret);
}

static bool digit_pair(const char *p, int most)
{
    return p[0] >= '0' && p[0] <= '9' && p[1] >= '0' && p[1] <= '9' &&
           (p[0] - '0') * 10 + p[1] - '0' <= most;
}

/* Tells whether it is a time of the day such as 22:00. */
static bool is_time(wharf_str s)
{
    return s.n == 5 && s.p[2] == ':' && digit_pair(s.p, 23) && digit_pair(s.p + 3, 59);
}

static const char *quiet_hours_problem_of(const wharf_json *v)
{
    wharf_str from, to, zone;

    if (org_host->json->type(v) != WHARF_J_OBJECT)
        return "quiet_hours is an object of from, to and time_zone, or null";
    for (const wharf_json *m = org_host->json->at(v, 0); m; m = org_host->json->next(m)) {
        wharf_str key = org_host->json->key(m);

        if (!same(key, WHARF_S("from")) && !same(key, WHARF_S("to")) &&
            !same(key, WHARF_S("time_zone")))
            return "quiet_hours has from, to and time_zone, nothing else";
    }
    if (!quiet_hours_text_of(v, "from", &from) || !quiet_hours_text_of(v, "to", &to) ||
        !is_time(from) || !is_time(to))
        return "from and to of quiet_hours are times such as 22:00 and 07:00";
    if (same(from, to))
        return "from and to of quiet_hours must differ; send null for none";
    if (!quiet_hours_text_of(v, "time_zone", &zone) || !zone.n ||
        org_cron->problem(WHARF_S("0 0 * * *"), zone) != NULL)
        return "time_zone of quiet_hours must be a name of the IANA list, such as Europe/Berlin";
    return NULL;
}

wharf_status quiet_hours_check(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *v = field_json(rec, USER_QUIET_HOURS);
    const char *problem;

    if (!org_host->res->sent(rec, USER_QUIET_HOURS) || !v ||
        org_host->json->type(v) == WHARF_J_NULL)
        return WHARF_OK;
    problem = quiet_hours_problem_of(v);
    return problem ? org_host->err->add(req, ERR_VALIDATION_FAILED, "quiet_hours", "%s", problem)
                   : WHARF_OK;
}
