/* audits.h - counts of the stock of a location (docs/spec/01-platform.md section 14), inside of the
 * module. */
#ifndef AUDITS_H
#define AUDITS_H

#include "items.h"

struct audit_write { /* a write of an audit, its row locked */
    wharf_req *req;
    const wharf_rec *old_rec; /* NULL on create */
    wharf_rec *rec;
    wharf_str id, location;
    bool one_task; /* it was asked for at the path of one task, whose members problems name */
};

enum { AUDIT_TASKS_MAX = 10000, AUDIT_TOLD_MAX = 101 /* one more than answers tell of */ };

extern const wharf_hooks items_audit_hooks;

/* ---- audit_tasks.c: the tasks of an audit ---- */
/* Finds what a new audit counts and writes its tasks; sets how many there are. 400
 * audit.nothing_to_count, audit.too_large. */
wharf_status audit_tasks_make(struct audit_write *w);
/* Writes counts, reasons and lots that a request sends. counting: counts may be sent; else they
 * are 409 audit.invalid_transition. *ret_counted: something was counted. */
wharf_status audit_tasks_take(
    struct audit_write *w, const wharf_json *list, bool counting, bool *ret_counted);
/* Returns the path of a member of the task that lists show at a place, from 0. */
const char *audit_task_path(wharf_req *req, int64_t place, const char *member);

/* ---- audit_shown.c ---- */
/* Fills tasks, tasks_truncated, by_item and by_layout. */
wharf_status audit_compute(wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f,
    wharf_out *const *outs);
/* Says that the request makes an audit, whose tasks are all shown. */
void audit_show_all(wharf_req *req);

/* ---- audit_steps.c: what becomes of the tasks when the status changes ---- */
/* Sets how many tasks there are and are counted. frozen: their totals are kept, so that it is
 * known how many differ. */
wharf_status audit_progress(struct audit_write *w, bool frozen);
/* Ends counting: 400 audit.uncounted with the tasks, else totals are kept. */
wharf_status audit_review(struct audit_write *w);
/* Opens it again for those that differ. */
wharf_status audit_recount(struct audit_write *w);
/* Books the differences: 400 audit.reason_required, 409 audit.negative_stock. */
wharf_status audit_approve(struct audit_write *w);
/* Keeps the totals of an audit that ends without approval. */
wharf_status audit_stop(struct audit_write *w);

/* ---- audit_rules.c ---- */
wharf_handler audit_task_post; /* POST /v1/audits/:audit/tasks/:task */
wharf_handler audit_overdue_run; /* job: marks an audit whose complete_at has passed */
wharf_status audits_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

#endif
