/* speculation.c - see speculation.h. */
#include "resource/speculation.h"

#include <stdatomic.h>

#include "resource/observe.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/hash.h"

enum { REMEMBERED = 256, FOR_US = 60000000 };

/* Writes whose hooks were guessed wrong lately. One that another takes the place of is guessed
 * about once more, which costs one write twice. */
static struct {
    _Atomic uint64_t which;
    _Atomic int64_t until_us;
} wrong[REMEMBERED];

static uint64_t speculation_name_of(const struct req_access *access, const struct write *w)
{
    wharf_str organization = access->who->organization;

    return wharf_hash64(statement_hash(w->res->def->name), organization.p, organization.n);
}

bool speculation_may(const struct wharf_req *req, const struct write *w)
{
    uint64_t which;

    if (req->job || !write_observed_beside(req, w->res, w->op))
        return false;
    which = speculation_name_of(&req->access, w);
    return atomic_load(&wrong[which % REMEMBERED].which) != which ||
           atomic_load(&wrong[which % REMEMBERED].until_us) < clock_monotonic_us();
}

wharf_status speculation_judge(struct wharf_req *req, struct write *w)
{
    uint64_t ran = db_ran(req->thread->db);
    bool changed;
    wharf_status s;

    req->tx.speculation = SPECULATION_OPEN;
    s = observers_before(req, w, &changed);
    /* a statement of theirs behind one that failed has failed for that */
    w->judged = req->tx.speculation == SPECULATION_OPEN && !changed &&
                (s == WHARF_OK || db_ran(req->thread->db) == ran);
    req->tx.speculation = SPECULATION_NONE;
    return w->judged || s != WHARF_OK ? s : WHARF_CONFLICT;
}

bool speculation_failed(struct wharf_req *req, struct write *w)
{
    uint64_t which;

    if (!w->speculative || w->judged)
        return false;
    which = speculation_name_of(&req->access, w);
    atomic_store(&wrong[which % REMEMBERED].which, which);
    atomic_store(&wrong[which % REMEMBERED].until_us, clock_monotonic_us() + FOR_US);
    req_clear_problems(&req->problems);
    req_forget_endings(&req->tx);
    return true;
}
