/* inference_state.c - what of a row is open, and its status (docs/spec/06-inference.md
 * section 5). */
#include <stdlib.h>
#include <string.h>

#include "inference.h"

#include "inference.gen.h"

/* Errors of the pictures: they stay until somebody says what the label says. */
static const char *const image_errors[] = {"ambiguous_label", "missing_label", "image_unavailable",
    "image_unreadable", "extraction_timeout", "extraction_failed"};
/* Errors of the tracker that was tried. */
static const char *const tracker_errors[] = {"tracker_failed", "tracker_forbidden"};

void state_add(struct state *st, const char *error, bool blocking)
{
    st->blocked = st->blocked || blocking;
    for (size_t i = 0; i < st->n; i++)
        if (!strcmp(st->errors[i], error))
            return;
    if (st->n < ERRORS_MAX)
        st->errors[st->n++] = error;
}

bool state_has(const wharf_rec *rec, const char *error)
{
    const wharf_json *list = field_json(rec, SHIPPING_LABEL_INFERENCE_ERRORS);
    wharf_str text;

    for (const wharf_json *m = W->json->at(list, 0); m; m = W->json->next(m))
        if (W->json->text(m, &text) && is(text, error))
            return true;
    return false;
}

static void state_judge_party(const struct wishes *w, const wharf_rec *rec, int i, struct state *st)
{
    static const char *const known[] = {"multiple_matches", "partial_matches", "no_matches"};
    const wharf_json *party = field_json(rec, party_field(i)),
                     *decision = W->json->get(party, "matching_decision");
    wharf_str error = json_text(decision, "error");
    size_t at = word_place(error, known, 3);

    if (w->search[i] && is(json_text(decision, "best_score"), "manual_match")) {
        state_add(st, "manual_match", w->thrown[i]);
        st->tied = true;
    }
    if (!w->search[i] || at == 3)
        return;
    state_add(st, known[at], w->thrown[i]);
    if (at == 0) {
        state_add(st, "manual_match", w->thrown[i]);
        st->tied = true;
    }
}

/* Tells whether another row is of the same label. Two at once wait for each other. */
static wharf_status state_is_duplicate(wharf_req *req, const wharf_rec *rec, bool *ret)
{
    static const char sql[] =
        "SELECT 1 FROM inference.shipping_label WHERE organization_id = $2::text AND"
        " lower(hash) = $1::text AND deleted_at IS NULL AND id <> $3::text AND status <> 'error'"
        " LIMIT 1";
    wharf_str hash = field_text(rec, SHIPPING_LABEL_INFERENCE_HASH);
    const wharf_val args[3] = {
        val_text(hash), val_text(W->req->organization(req)), val_text(W->res->id(rec))};
    const wharf_rows *rows;
    wharf_status s;

    *ret = false;
    if (!hash.n)
        return WHARF_OK;
    s = W->db->lock(req, "inference.hash", hash);
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 3, &rows);
    if (s == WHARF_OK)
        *ret = W->db->count(rows) > 0;
    return s;
}

wharf_status state_judge(wharf_req *req, const struct wishes *w, const wharf_rec *rec,
    const char *image_error, struct state *ret)
{
    wharf_str provider = field_text(rec, SHIPPING_LABEL_INFERENCE_PROVIDER_ID);
    bool number = field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER).n > 0, twice = false;
    wharf_status s = WHARF_OK;

    *ret = (struct state){.n = 0};
    if (image_error)
        state_add(ret, image_error, true);
    if (!provider.n || is(provider, "unknown"))
        state_add(ret, "unknown_provider", false);
    for (int i = 0; i < PARTIES; i++)
        state_judge_party(w, rec, i, ret);
    if (w->tracker && !number)
        state_add(ret, "missing_tracking_number", true);
    if (w->unique)
        s = state_is_duplicate(req, rec, &twice);
    if (twice)
        state_add(ret, "duplicate", true);
    return s;
}

const char *state_image_error(const wharf_rec *rec)
{
    bool said = field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER).n ||
                field_json(rec, SHIPPING_LABEL_INFERENCE_RECIPIENT);

    for (size_t i = 0; !said && i < sizeof(image_errors) / sizeof(image_errors[0]); i++)
        if (state_has(rec, image_errors[i]))
            return image_errors[i];
    return NULL;
}

const char *state_tracker_error(const wharf_rec *rec)
{
    for (size_t i = 0; i < sizeof(tracker_errors) / sizeof(tracker_errors[0]); i++)
        if (state_has(rec, tracker_errors[i]))
            return tracker_errors[i];
    return NULL;
}

static int state_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void state_set(wharf_req *req, const struct state *st, wharf_rec *rec, const char *status)
{
    struct state sorted = *st;
    wharf_out *out = W->json->builder(req);
    const wharf_json *list;

    qsort(sorted.errors, sorted.n, sizeof(sorted.errors[0]), state_by_name);
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < sorted.n; i++)
        W->json->put(out, NULL, val_text(z(sorted.errors[i])));
    W->json->close(out);
    if (W->json->result(req, out, &list) == WHARF_OK)
        W->res->set(rec, SHIPPING_LABEL_INFERENCE_ERRORS, val_json(list));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_STATUS, val_text(z(status)));
}

struct quiet {
    wharf_str id; /* of the row; empty: of none */
};

static struct quiet *state_quiet_row(wharf_req *req)
{
    static const char kind[] = "inference.quiet";

    return W->mem->slot(req, kind, sizeof(struct quiet));
}

void state_quiet(wharf_req *req, wharf_str id)
{
    state_quiet_row(req)->id = id;
}

wharf_status state_tell(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char *const statuses[] = {"extracted", "completed", "error"},
                             *const events[] = {
                                 RESOURCE ".extracted", RESOURCE ".completed", RESOURCE ".failed"};
    wharf_str status = field_text(new_rec, SHIPPING_LABEL_INFERENCE_STATUS);
    wharf_str id = W->res->id(new_rec);
    size_t at = word_place(status, statuses, 3);
    bool quiet = id.n && same(state_quiet_row(req)->id, id);
    wharf_status s;

    if (at == 3 || (old_rec && same(status, field_text(old_rec, SHIPPING_LABEL_INFERENCE_STATUS))))
        return WHARF_OK;
    /* a request that says so is of nobody's batch or workflow */
    if (quiet)
        inference_events->cause(req, WHARF_S(""), 0, true);
    s = W->event->emit(req, events[at], RESOURCE, id, NULL);
    if (quiet)
        inference_events->cause(req, WHARF_S(""), 0, false);
    return s;
}
