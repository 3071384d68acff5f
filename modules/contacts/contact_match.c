/* contact_match.c - the service contacts.match: whom a label means (docs/spec/06-inference.md
 * sections 9.5 to 9.7). Leaves to others: the words of the book (index.h), in what two are alike
 * (channels.h). */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "channels.h"
#include "contact_doubt.h"
#include "index.h"
#include "wharf/ext/contacts.h"
#include "contacts.gen.h"

enum {
    OTHERS_MAX = 100,
    LIMIT_MAX = 25, /* candidates that are told */
    PARTIAL_FROM = 5000, /* score, of 10,000, from which on it is a partial match */
    IGNORE_MAX = 100, /* terms of name_ignore_terms */
    BOOKS = 32,
    LONG_BOOK = 20000,
    COUNT_US = 30000000
};

struct candidate {
    struct party party;
    struct channels c;
    int score, points; /* score: ten-thousandths */
    double v3, rank;
};

struct search {
    wharf_req *req;
    const wharf_match_label *asked;
    struct label label;
    wharf_str words, business_words; /* what was searched */
    struct candidate *all;
    size_t n;
};

static int contact_match_whole(double score)
{
    return (int)floor(score * 10000 + 0.5);
}

static wharf_val contact_match_decimal(double score)
{
    return val_decimal(contact_match_whole(score), 4);
}

/* ---- the label ---- */

static wharf_str contact_match_member(const wharf_json *object, const char *key)
{
    const wharf_json *v = object ? W->json->get(object, key) : NULL;
    wharf_str s = {"", 0};

    if (v)
        W->json->text(v, &s);
    return s;
}

static wharf_str contact_match_joined(wharf_req *req, const struct name *name)
{
    wharf_str all = {"", 0};

    for (size_t i = 0; i < name->n; i++)
        all = W->mem->format(req, "%.*s%s%.*s", (int)all.n, all.p, i ? " " : "",
            (int)name->tokens[i].text.n, name->tokens[i].text.p);
    return all;
}

static void read_label(struct search *s)
{
    const wharf_match_label *a = s->asked;
    wharf_str *ignore = W->mem->alloc(s->req, (a->n_ignore + 1) * sizeof(*ignore)),
              form = contacts_forms->search_form(s->req, a->name, ",#/");
    struct label *l = &s->label;

    l->req = s->req;
    l->ignore = ignore;
    for (; l->n_ignore < a->n_ignore && l->n_ignore < IGNORE_MAX; l->n_ignore++)
        ignore[l->n_ignore] = contacts_forms->search_form(s->req, a->ignore[l->n_ignore], "");
    l->fuzziness = a->flags & WHARF_MATCH_EXACT ? FUZZY_NONE : FUZZY_AUTO;
    name_clean(form, l->ignore, l->n_ignore, CLEAN_KEEP_TITLES, &l->uncleaned);
    name_clean(form, l->ignore, l->n_ignore, 0, &l->name);
    if (a->business.n)
        business_clean(contacts_forms->search_form(s->req, a->business, ""), &l->business);
    else
        l->business = l->name.business;
    l->email = a->email;
    if (last_digits(a->phone, l->tail, sizeof(l->tail)) < 7)
        l->tail[0] = 0;
    l->unit = l->name.unit.n ? l->name.unit
                             : unit_of(s->req, contact_match_member(a->address, "line2"));
    if (!contact_match_member(a->address, "hash").n ||
        !wharf_same(
            contact_match_member(a->address, "hash"), contact_match_member(a->own_address, "hash")))
        l->address = a->address;
    s->words = contact_match_joined(s->req, &l->name.name);
    s->business_words = contact_match_joined(s->req, &l->business);
}

/* ---- who is looked at ---- */

static wharf_status contact_match_take(struct search *s, const char *sql, const wharf_val *args,
    size_t n_args, struct ids *all, size_t room)
{
    const wharf_rows *rows;
    wharf_status status = W->db->query(s->req, sql, args, n_args, &rows);
    wharf_val v;

    for (size_t i = 0; status == WHARF_OK && i < W->db->count(rows) && all->n < room; i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            all->p[all->n++] = v.u.s;
    }
    return status;
}

/* Returns the label's business: what was sent as such, else what c/o or attn told apart. */
static wharf_str business_asked(const struct search *s)
{
    return s->asked->business.n ? s->asked->business : s->business_words;
}

static wharf_status contact_match_take_all(struct search *s, struct ids *all)
{
    static const char known_sql[] = "SELECT contacts.known_as($1::text, $2::text, $3::integer)",
                      reached_sql[] = "SELECT contacts.reached($1::text, $2::text, $3::integer)";
    const struct label *l = &s->label;
    size_t room = 2 * CANDIDATES_MAX + 6 * OTHERS_MAX + s->asked->n_remembered;
    wharf_val most = wharf_integer(OTHERS_MAX),
              known[3] = {wharf_text(contact_match_member(l->address, "hash")),
                  wharf_text(business_asked(s)), most},
              reached[3] = {wharf_text(l->email), wharf_text(wharf_z(l->tail)), most};
    struct ids named;
    wharf_status status = index_find(s->req, &l->name.name, &named);

    *all = (struct ids){W->mem->alloc(s->req, (room + 1) * sizeof(*all->p)), named.n};
    memcpy(all->p, named.p, named.n * sizeof(*named.p));
    if (status == WHARF_OK && l->business.n)
        status = index_find(s->req, &l->business, &named);
    for (size_t i = 0; l->business.n && status == WHARF_OK && i < named.n; i++)
        all->p[all->n++] = named.p[i];
    for (size_t i = 0; i < s->asked->n_remembered; i++)
        all->p[all->n++] = s->asked->remembered[i];
    if (status == WHARF_OK && (l->email.n || l->tail[0]))
        status = contact_match_take(s, reached_sql, reached, 3, all, room);
    if (status == WHARF_OK && (known[0].u.s.n || known[1].u.s.n))
        status = contact_match_take(s, known_sql, known, 3, all, room);
    return status;
}

enum {
    C_ID,
    C_NAME,
    C_EMAIL,
    C_PHONE,
    C_NAMES,
    C_EMAILS,
    C_PHONES,
    C_ADDRESSES,
    C_BUSINESS,
    C_COMPANY,
    C_GROUPS,
    C_LOCATIONS
};

static const char load_sql[] = QUERY_MATCH_LOAD;

static wharf_str contact_match_text_at(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_TEXT, &v) ? v.u.s : (wharf_str){"", 0};
}

static const wharf_json *json_at(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_JSON, &v) ? v.u.j : NULL;
}

static bool contact_match_holds(const wharf_json *list, wharf_str text)
{
    wharf_str s;

    for (const wharf_json *m = list && text.n ? W->json->at(list, 0) : NULL; m;
         m = W->json->next(m)) {
        if (W->json->text(m, &s) && wharf_same(s, text))
            return true;
    }
    return false;
}

static void contact_match_read_party(
    const struct search *s, const wharf_rows *rows, size_t i, struct party *p)
{
    const struct ids chosen = {(wharf_str *)s->asked->remembered, s->asked->n_remembered};

    *p = (struct party){.id = contact_match_text_at(rows, i, C_ID),
        .name = contact_match_text_at(rows, i, C_NAME),
        .email = contact_match_text_at(rows, i, C_EMAIL),
        .phone = contact_match_text_at(rows, i, C_PHONE),
        .business = contact_match_text_at(rows, i, C_BUSINESS),
        .company = contact_match_text_at(rows, i, C_COMPANY),
        .other_names = json_at(rows, i, C_NAMES),
        .emails = json_at(rows, i, C_EMAILS),
        .other_phones = json_at(rows, i, C_PHONES),
        .addresses = json_at(rows, i, C_ADDRESSES),
        .groups = json_at(rows, i, C_GROUPS),
        .here = contact_match_holds(json_at(rows, i, C_LOCATIONS), s->asked->location_id)};
    p->remembered = ids_have(&chosen, p->id);
}

static wharf_status contact_match_look(struct search *s)
{
    const wharf_caller *who = contacts_keys->caller(s->req);
    const struct label *l = &s->label;
    struct ids all, reached = {(wharf_str *)who->locations, who->n_locations};
    wharf_val args[8] = {wharf_text(W->req->organization(s->req)), wharf_null(),
        wharf_truth(who->all_locations), ids_array(s->req, &reached), wharf_truth(l->email.n > 0),
        wharf_truth(l->tail[0] != 0), wharf_truth(l->address || l->unit.n),
        wharf_truth(l->business.n > 0)};
    const wharf_rows *rows;
    wharf_status status = contact_match_take_all(s, &all);

    if (status != WHARF_OK)
        return status;
    args[1] = ids_array(s->req, &all);
    status = W->db->query(s->req, load_sql, args, 8, &rows);
    if (status != WHARF_OK)
        return status;
    s->all = W->mem->alloc(s->req, (W->db->count(rows) + 1) * sizeof(*s->all));
    for (size_t i = 0; i < W->db->count(rows); i++) {
        struct candidate *x = &s->all[s->n];

        contact_match_read_party(s, rows, i, &x->party);
        if ((s->asked->flags & WHARF_MATCH_AT_LOCATION) && !x->party.here &&
            json_at(rows, i, C_LOCATIONS))
            continue;
        label_compare(&s->label, &x->party, &x->c);
        x->score = contact_match_whole(label_relevance(&x->c, false));
        x->v3 = label_relevance(&x->c, true);
        x->points = label_points(&x->c);
        s->n += x->score > 0;
    }
    return WHARF_OK;
}

/* ---- their order ---- */

static int by_relevance(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    size_t n = a->party.id.n < b->party.id.n ? a->party.id.n : b->party.id.n;

    return a->score != b->score ? b->score - a->score : memcmp(a->party.id.p, b->party.id.p, n);
}

static int by_rank(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    size_t n = a->party.id.n < b->party.id.n ? a->party.id.n : b->party.id.n;

    return a->rank != b->rank ? (a->rank < b->rank) - (a->rank > b->rank)
                              : memcmp(a->party.id.p, b->party.id.p, n);
}

static int by_precedence(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    if (a->points != b->points)
        return b->points - a->points;
    return a->score != b->score ? b->score - a->score : by_rank(x, y);
}

/* ---- how rare words are ---- */

/* Books that are long to count, as they last were: one row more or less says nothing about the
 * rareness of words in so many. */
static struct book {
    char organization[40];
    int64_t contacts, counted_us;
} books[BOOKS];
static pthread_mutex_t books_lock = PTHREAD_MUTEX_INITIALIZER;

static bool known_size(wharf_str organization, int64_t now_us, int64_t *ret)
{
    bool known = false;

    pthread_mutex_lock(&books_lock);
    for (size_t i = 0; i < BOOKS; i++) {
        const struct book *b = &books[i];

        if (!wharf_same(organization, wharf_z(b->organization)) || now_us < b->counted_us ||
            now_us - b->counted_us > COUNT_US)
            continue;
        *ret = b->contacts;
        known = true;
    }
    pthread_mutex_unlock(&books_lock);
    return known;
}

/* Keeps the size of a book, in the place of the same book, or of the one counted longest ago. */
static void keep_size(wharf_str organization, int64_t now_us, int64_t contacts)
{
    struct book *at = &books[0];

    if (contacts < LONG_BOOK || organization.n >= sizeof(at->organization))
        return;
    pthread_mutex_lock(&books_lock);
    for (size_t i = 0; i < BOOKS; i++) {
        if (wharf_same(organization, wharf_z(books[i].organization))) {
            at = &books[i];
            break;
        }
        if (books[i].counted_us < at->counted_us)
            at = &books[i];
    }
    *at = (struct book){.contacts = contacts, .counted_us = now_us};
    memcpy(at->organization, organization.p, organization.n);
    pthread_mutex_unlock(&books_lock);
}

static wharf_status book_size(wharf_req *req, int64_t *ret)
{
    static const char sql[] = "SELECT count(*) FROM contacts.contact WHERE organization_id = "
                              "$1::text AND deleted_at IS NULL";
    wharf_val organization = wharf_text(W->req->organization(req)), v;
    int64_t now_us = W->req->now_us(req);
    const wharf_rows *rows;
    wharf_status status;

    if (known_size(organization.u.s, now_us, ret))
        return WHARF_OK;
    status = W->db->query(req, sql, &organization, 1, &rows);
    *ret = status == WHARF_OK && W->db->value(rows, 0, 0, WHARF_V_INT, &v) ? v.u.i : 0;
    if (status == WHARF_OK)
        keep_size(organization.u.s, now_us, *ret);
    return status;
}

/* Ranks by rare words of the label, which count more: section 9.5. Asked for when the order
 * depends on it, since it counts the book. */
static wharf_status rank(struct search *s)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM contacts.token k WHERE "
        "k.organization_id = $1::text AND k.token = x.t)"
        " FROM unnest((SELECT $2::text[])) WITH ORDINALITY x(t, n) ORDER BY x.n";
    const struct name *name = &s->label.name.name;
    struct ids words = {W->mem->alloc(s->req, (name->n + 1) * sizeof(*words.p)), name->n};
    wharf_val args[2] = {wharf_text(W->req->organization(s->req)), wharf_null()}, has;
    int64_t all = 0;
    const wharf_rows *rows;
    wharf_status status = book_size(s->req, &all);

    for (size_t i = 0; i < name->n; i++)
        words.p[i] = name->tokens[i].text;
    args[1] = ids_array(s->req, &words);
    if (status == WHARF_OK)
        status = W->db->query(s->req, sql, args, 2, &rows);
    for (size_t i = 0; status == WHARF_OK && i < W->db->count(rows); i++) {
        double n, df;

        W->db->value(rows, i, 0, WHARF_V_INT, &has);
        n = (double)all;
        df = (double)(has.u.i < all ? has.u.i : all);
        for (size_t k = 0; k < s->n; k++)
            s->all[k].rank += s->all[k].c.matched[i] * log(1 + (n - df + 0.5) / (df + 0.5));
    }
    return status;
}

static bool tied(const struct search *s)
{
    for (size_t i = 1; i < s->n; i++) {
        if (s->all[i].points == s->all[i - 1].points && s->all[i].score == s->all[i - 1].score)
            return true;
    }
    return false;
}

static wharf_status contact_match_order(struct search *s)
{
    wharf_status status = WHARF_OK;

    if (s->asked->order == WHARF_MATCH_RELEVANCE)
        return WHARF_OK; /* they are */
    qsort(s->all, s->n, sizeof(*s->all), by_precedence);
    if (s->asked->order == WHARF_MATCH_RANK || tied(s))
        status = rank(s);
    qsort(s->all, s->n, sizeof(*s->all),
        s->asked->order == WHARF_MATCH_RANK ? by_rank : by_precedence);
    return status;
}

/* ---- what is told ---- */

static void put_channels(wharf_out *out, const struct candidate *x)
{
    for (int i = 0; i < CHANNELS; i++) {
        if (x->c.score[i] > 0)
            W->json->put(out, channel_names[i], contact_match_decimal(score_round(x->c.score[i])));
    }
}

static void put_search(wharf_out *out, const struct candidate *x)
{
    double best = 0;

    for (int i = 0; i < CHANNELS; i++)
        best = x->c.score[i] > best ? x->c.score[i] : best;
    W->json->open(out, "_search", '{');
    W->json->put(out, "relevance_score", contact_match_decimal(x->score / 10000.0));
    W->json->put(out, "relevance_score_v4", contact_match_decimal(x->score / 10000.0));
    W->json->put(out, "combined", contact_match_decimal(x->score / 10000.0));
    W->json->put(out, "best", contact_match_decimal(score_round(best)));
    W->json->open(out, "per_field", '{');
    put_channels(out, x);
    W->json->close(out);
    W->json->close(out);
    W->json->open(out, "_searchV2", '{');
    W->json->open(out, "scores", '{');
    put_channels(out, x);
    W->json->put(out, "_coverage", contact_match_decimal(score_round(x->c.coverage)));
    W->json->close(out);
    W->json->open(out, "matches", '[');
    for (int i = 0; i < CHANNELS; i++) {
        if (x->c.score[i] <= 0)
            continue;
        W->json->open(out, NULL, '{');
        W->json->put(out, "field", wharf_text(wharf_z(channel_names[i])));
        W->json->put(out, "value", wharf_text(x->c.value[i]));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->close(out);
}

static void put_markers(wharf_out *out, const char *key, const struct candidate *x)
{
    W->json->open(out, key, '[');
    for (int i = 0; x && i < MARKERS; i++) {
        if (x->c.marked[i])
            W->json->put(out, NULL, wharf_text(wharf_z(marker_kinds[i].name)));
    }
    W->json->close(out);
}

static void contact_match_put_candidate(wharf_out *out, const struct candidate *x)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", wharf_text(x->party.id));
    W->json->put(out, "name", wharf_text(x->party.name));
    W->json->put(out, "email", wharf_text_or_null(x->party.email));
    W->json->put(out, "phone", wharf_text_or_null(x->party.phone));
    W->json->put(out, "relevance_score", contact_match_decimal(x->score / 10000.0));
    W->json->put(out, "relevance_score_v3", contact_match_decimal(x->v3));
    put_search(out, x);
    put_markers(out, "match_markers", x);
    W->json->open(out, "match_marker_points", '{');
    for (int i = 0; i < MARKERS; i++) {
        if (x->c.marked[i])
            W->json->put(out, marker_kinds[i].name, wharf_integer(marker_kinds[i].points));
    }
    W->json->close(out);
    W->json->close(out);
}

struct decision {
    const char *best, *error;
    const struct candidate *first; /* NULL: there is none */
    bool taken;
    size_t reach; /* the threshold */
    wharf_str doubt; /* why the only one is not taken */
};

/* Decides after section 9.6, but for doubts. The candidates stand by relevance. */
static struct decision decide(const struct search *s)
{
    int threshold = (int)s->asked->threshold, tolerance = (int)s->asked->tolerance;
    struct decision d = {"none", "no_matches", s->n ? &s->all[0] : NULL, false, 0, {"", 0}};

    while (d.reach < s->n && s->all[d.reach].score >= threshold)
        d.reach++;
    if (!s->n || (s->all[0].score < threshold && s->all[0].score < PARTIAL_FROM))
        return d;
    if (s->all[0].score < threshold) {
        d.best = "below_threshold";
        d.error = "partial_matches";
        return d;
    }
    d.error = "multiple_matches";
    if (s->n > 1 && s->all[1].score == s->all[0].score) {
        d.best = "tied_above_threshold";
    } else if (s->n > 1 && s->all[0].score - s->all[1].score <= tolerance) {
        d.best = "tied_within_tolerance";
    } else {
        d.best = "single_above_threshold";
        d.error = NULL;
        d.taken = true;
    }
    return d;
}

/* Gives up the contact that was to be taken when it may be another person. */
static wharf_status decide_doubt(const struct search *s, struct decision *d)
{
    wharf_status status = d->taken ? doubt_of(s->req, &s->label, d->first->party.id, &d->first->c,
                                         &d->doubt)
                                   : WHARF_OK;

    if (status == WHARF_OK && d->doubt.n) {
        d->best = "single_in_doubt";
        d->error = "partial_matches";
        d->taken = false;
    }
    return status;
}

static void put_decision(const struct search *s, wharf_out *out, const struct decision *d)
{
    wharf_str reason =
        d->first ? W->mem->format(s->req,
                       "%zu contact%s of %zu reach the threshold, the best one scores %.4f%s%s",
                       d->reach, d->reach == 1 ? "" : "s", s->n, d->first->score / 10000.0,
                       d->doubt.n ? ", " : "", d->doubt.p)
                 : WHARF_S("No contact is like it");

    W->json->open(out, "decision", '{');
    W->json->put(out, "matches", wharf_integer((int64_t)d->reach));
    W->json->put(out, "error", d->error ? wharf_text(wharf_z(d->error)) : wharf_null());
    W->json->put(out, "best_score", wharf_text(wharf_z(d->best)));
    put_markers(out, "matched_by", d->first);
    W->json->open(out, "unmatched_by", '[');
    for (int i = 0; d->first && i < CHANNELS; i++) {
        if (channel_disagrees(&d->first->c, i))
            W->json->put(out, NULL, wharf_text(wharf_z(channel_names[i])));
    }
    W->json->close(out);
    W->json->put(out, "reason", wharf_text(reason));
    W->json->put(
        out, "contact_id", d->first && d->taken ? wharf_text(d->first->party.id) : wharf_null());
    W->json->close(out);
}

/* Moves the contact that was chosen among the first `limit`, when the order has it behind them: who
 * looks at the candidates finds it there. */
static void contact_match_show_chosen(struct search *s, wharf_str chosen, size_t limit)
{
    for (size_t i = limit; limit && i < s->n; i++) {
        struct candidate c = s->all[i];

        if (!wharf_same(c.party.id, chosen))
            continue;
        s->all[i] = s->all[limit - 1];
        s->all[limit - 1] = c;
        return;
    }
}

static wharf_status contact_match_find(
    wharf_req *req, const wharf_match_label *label, const wharf_json **ret)
{
    struct search *s = W->mem->alloc(req, sizeof(*s));
    size_t limit = label->limit < LIMIT_MAX ? label->limit : LIMIT_MAX;
    wharf_out *out = W->json->builder(req);
    wharf_str chosen = WHARF_S("");
    struct decision d;
    wharf_status status;

    s->req = req;
    s->asked = label;
    read_label(s);
    status = contact_match_look(s);
    if (status != WHARF_OK)
        return status;
    qsort(s->all, s->n, sizeof(*s->all), by_relevance);
    d = decide(s);
    status = decide_doubt(s, &d);
    if (status != WHARF_OK)
        return status;
    W->json->open(out, NULL, '{');
    W->json->put(out, "searched_name", wharf_text_or_null(s->words));
    W->json->put(out, "searched_business", wharf_text_or_null(s->business_words));
    put_decision(s, out, &d);
    if (d.first && d.taken)
        chosen = d.first->party.id;
    status = contact_match_order(s);
    contact_match_show_chosen(s, chosen, limit);
    W->json->open(out, "matches", '[');
    for (size_t i = 0; i < s->n && i < limit; i++)
        contact_match_put_candidate(out, &s->all[i]);
    W->json->close(out);
    W->json->close(out);
    return status == WHARF_OK ? W->json->result(req, out, ret) : status;
}

static wharf_status who_many(
    wharf_req *req, const wharf_str *contact_ids, size_t n, const wharf_json **ret)
{
    static const char sql[] = QUERY_CONTACTS_WHO;
    const wharf_caller *caller = contacts_keys->caller(req);
    struct ids reached = {(wharf_str *)caller->locations, caller->n_locations},
               asked = {(wharf_str *)contact_ids, n};
    wharf_val args[4] = {wharf_text(W->req->organization(req)), ids_array(req, &asked),
        wharf_truth(caller->all_locations), ids_array(req, &reached)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        ret[i] = json_at(rows, i, 0);
    return s;
}

static wharf_status who(wharf_req *req, wharf_str contact_id, const wharf_json **ret)
{
    *ret = NULL;
    return who_many(req, &contact_id, 1, ret);
}

const wharf_contacts_match_api contacts_match = {
    WHARF_HEAD(wharf_contacts_match_api), contact_match_find, who, who_many};
