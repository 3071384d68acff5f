/* print_job_plan.h - what a print job becomes while it is made: shared by print_job_create.c (the
 * order of the rules, the row), print_job_wish.c (the configuration as sent) and print_job_paper.c
 * (the size of the paper). docs/spec/04-printing.md section 7. */
#ifndef PRINT_JOB_PLAN_H
#define PRINT_JOB_PLAN_H

#include "printing.h"
#include "stations.gen.h"

#define POINTS 72.0 /* of an inch */

enum { LANDSCAPE_UNKNOWN = -1 };

struct plan { /* what the job becomes */
    struct papers papers;
    struct printers printers;
    const struct paper *paper; /* NULL: custom */
    double width, height; /* of the medium, inches */
    int landscape; /* 0, 1, LANDSCAPE_UNKNOWN */
    bool detected, named; /* named: a printer is */
    const wharf_json *wish; /* the configuration as sent, completed */
    struct document document;
    const struct printer_at *printer;
    size_t candidates;
    const char *reason;
    uint32_t pages;
    wharf_render_range *ranges;
    uint32_t n_ranges;
};

static inline wharf_status wrong(wharf_req *req, const char *path, const char *message)
{
    return W->err->fail(req, ERR_VALIDATION_FAILED, path, "%s", message);
}

/* ---- print_job_wish.c: the configuration as sent ---- */

wharf_str wish_text(const struct plan *p, const char *key); /* empty: not sent */
bool wish_truth(const struct plan *p, const char *key, bool fallback);
int64_t wish_int(const struct plan *p, const char *key, int64_t fallback);
/* Returns a number with four decimals kept. */
double wish_number(const wharf_json *v, double fallback);
double wish_scaling(const struct plan *p);
/* Returns how a page is brought to the size of the paper (WHARF_RENDER_NONE and others); what the
 * setting stations.fit says when it was not sent. */
uint32_t wish_fit(const struct plan *p);
extern const char *const wish_fit_words[4]; /* as the API calls them */
bool wish_custom(const struct plan *p); /* a paper size of the job's own */
/* Reads ranges such as "1-3,5,9-" into the plan. */
wharf_status wish_ranges(wharf_req *req, struct plan *p);
/* Counts the pages of the document that the ranges leave. */
uint32_t wish_pages(const struct plan *p);

/* ---- print_job_paper.c: the size of the paper ---- */

/* Reads custom_dimensions into the plan; problems are told. */
wharf_status paper_check_custom(wharf_req *req, const wharf_rec *job, struct plan *p);
/* Says which paper is asked for and which ones the printers of the plan have; empty when they have
 * it. */
wharf_str paper_missing(wharf_req *req, const struct plan *p);
/* Sets paper, sides and orientation: as sent, else from the document. */
wharf_status paper_settle(wharf_req *req, struct plan *p);

#endif
