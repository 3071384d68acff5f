/* asset_times.c - maintenance (docs/spec/02-places-and-people.md section 9): when the next one is.
 * Its status follows from that where the asset is read (schemas/assets/asset.json). */
#include "assets.h"

#include "assets.gen.h"
#include "wharf/civil.h"

#define DAY_US (86400 * INT64_C(1000000))

/* Computes the moment after so many months; the last day of a month that is too short. */
static int64_t months_after(int64_t us, int months)
{
    int64_t days = us / DAY_US, year;
    int month, day;

    wharf_date_of(days, &year, &month, &day);
    month += months;
    year += (month - 1) / 12;
    month = (month - 1) % 12 + 1;
    if (day > wharf_days_in_month(year, month))
        day = wharf_days_in_month(year, month);
    return wharf_days_of(year, month, day) * DAY_US + us % DAY_US;
}

/* Computes when the maintenance after one at this moment is. */
static int64_t next_after(int64_t us, wharf_str schedule)
{
    return is(schedule, "daily")       ? us + DAY_US
           : is(schedule, "weekly")    ? us + 7 * DAY_US
           : is(schedule, "monthly")   ? months_after(us, 1)
           : is(schedule, "quarterly") ? months_after(us, 3)
                                       : months_after(us, 12);
}

void asset_settle_maintenance(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_str schedule = field_text(rec, ASSET_MAINTENANCE_SCHEDULE);
    bool ongoing = is(field_text(rec, ASSET_MAINTENANCE_STATUS), "ongoing"),
         done = old_rec && !ongoing && is(field_text(old_rec, ASSET_MAINTENANCE_STATUS), "ongoing"),
         scheduled = !old_rec || W->res->changed(old_rec, rec, ASSET_MAINTENANCE_SCHEDULE);

    if (W->res->sent(rec, ASSET_MAINTENANCE_STATUS) && !ongoing)
        W->res->set(rec, ASSET_MAINTENANCE_STATUS, val_text(WHARF_S("good")));
    if (schedule.n && (scheduled || done) && !W->res->sent(rec, ASSET_NEXT_MAINTENANCE_AT))
        W->res->set(
            rec, ASSET_NEXT_MAINTENANCE_AT, val_time(next_after(W->req->now_us(req), schedule)));
}
