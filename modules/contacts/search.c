/* search.c - the search of contacts (spec 02 section 4, docs/spec/06-inference.md section 9):
 * rows whose texts contain the words, and those whose names may be meant; each with the score of
 * its names, e-mails and phones.
 *
 * Leaves to others: the words of the book (index.h), how alike names are (score.h). */
#include "channels.h"
#include "contacts.gen.h"
#include "index.h"

enum {
    CONTAINING_MAX = 100, /* rows that contain the words, of which scores are told */
    INDEXED_FROM = 3 /* bytes of a word that the trigram index knows */,
    WORDS_MAX = 16
};

/* section 9.4: boost of e-mail and phone, and phone by itself */
static const double CHANNEL = 0.9, PHONE_ALONE = 0.85;
static const double ELSEWHERE = 0.1; /* only other texts contain the words */
/* names that contain no word as it is sent: section 9.6, partial matches */
static const double MEANT_FROM = 0.5;

struct asked {
    wharf_str text; /* as sent */
    struct cleaned label, uncleaned;
    wharf_str words[WORDS_MAX]; /* in search form */
    size_t n_words;
    char tail[PHONE_TAIL + 1]; /* last digits, when it may be a phone */
    bool all_words;
    bool cut; /* more rows contain the words than were looked at */
};

/* ---- what is asked for ---- */

static void read_asked(wharf_req *req, wharf_str text, bool all_words, struct asked *ret)
{
    wharf_str form = contacts_forms->search_form(req, text, ",#/"),
              plain = contacts_forms->search_form(req, text, "");
    const char *p = plain.p, *end = p + plain.n;

    ret->text = text;
    ret->all_words = all_words;
    name_clean(form, NULL, 0, 0, &ret->label);
    name_clean(form, NULL, 0, CLEAN_KEEP_TITLES, &ret->uncleaned);
    ret->n_words = 0;
    while (p < end && ret->n_words < WORDS_MAX) {
        const char *space = memchr(p, ' ', (size_t)(end - p));
        size_t n = space ? (size_t)(space - p) : (size_t)(end - p);

        if (n > 1) /* shorter ones are dropped, spec 01 section 10 */
            ret->words[ret->n_words++] = (wharf_str){p, n};
        p += n + 1;
    }
    if (last_digits(text, ret->tail, sizeof(ret->tail)) < 7)
        ret->tail[0] = 0;
}

/* ---- candidates ---- */

static wharf_str like(wharf_req *req, wharf_str word)
{
    return W->mem->format(req, "%%%.*s%%", (int)word.n, word.p); /* search forms have no % _ or \ */
}

/* Adds what the statement finds. Sets *cut when these are as many as it may find. */
static wharf_status add_found(
    wharf_req *req, const char *sql, const wharf_val *args, size_t n, struct ids *all, bool *cut)
{
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, n, &rows);
    wharf_val v;

    *cut = *cut || (s == WHARF_OK && W->db->count(rows) >= CONTAINING_MAX);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v) && !ids_have(all, v.u.s))
            all->p[all->n++] = v.u.s;
    }
    return s;
}

/* Finds rows whose texts contain all of these words, up to so many. */
static wharf_status containing(wharf_req *req, const struct ids *words, struct ids *all, bool *cut)
{
    static const char sql[] = "SELECT contacts.containing($1::text[], $2::integer)";
    wharf_val args[2] = {ids_array(req, words), wharf_integer(CONTAINING_MAX)};

    return add_found(req, sql, args, 2, all, cut);
}

/* Finds rows that contain two letters: names first, for which there are words to look at. Only
 * what few names have is looked for in all texts. */
static wharf_status containing_short(wharf_req *req, wharf_str *pattern, struct ids *all, bool *cut)
{
    static const char sql[] = "SELECT contacts.named($1::text, $2::integer)";
    wharf_val args[2] = {wharf_text(*pattern), wharf_integer(CONTAINING_MAX)};
    struct ids one = {pattern, 1};
    size_t before = all->n;
    wharf_status s = add_found(req, sql, args, 2, all, cut);

    return s == WHARF_OK && all->n - before < CONTAINING_MAX ? containing(req, &one, all, cut) : s;
}

/* Tells whether the word is a title that was taken off the name. */
static bool is_title(const struct asked *a, wharf_str word)
{
    const struct name *name = &a->label.name;

    for (size_t i = 0; i < name->n; i++) {
        if (wharf_same(name->tokens[i].text, word))
            return false;
    }
    return name->n && word_of(word.p, word.n)->kinds & (WORD_TITLE | WORD_SUFFIX);
}

/* Collects the words to look for. Beside names a title is no reason to look through the book,
 * unless all words are asked for. */
static size_t reasons(
    wharf_req *req, const struct asked *a, wharf_str *patterns, size_t *ret_longest)
{
    size_t n = 0;

    *ret_longest = 0;
    for (size_t i = 0; i < a->n_words; i++) {
        if (!a->all_words && is_title(a, a->words[i]))
            continue;
        patterns[n++] = like(req, a->words[i]);
        *ret_longest = a->words[i].n > *ret_longest ? a->words[i].n : *ret_longest;
    }
    return n;
}

/* Tells whether rows that contain the word match for that. Beside longer words a short one is no
 * reason, unless all words are asked for. */
static bool is_reason(const struct asked *a, wharf_str word, size_t longest)
{
    return a->all_words ||
           (!is_title(a, word) && (word.n >= INDEXED_FROM || longest < INDEXED_FROM));
}

static size_t looked_for(const struct asked *a, size_t longest)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_words; i++)
        n += is_reason(a, a->words[i], longest);
    return n;
}

/* Finds rows whose texts contain one of the words, or all: up to so many of each word. Beside
 * longer words the short ones are no reason of their own: they stand in every tenth name, and only
 * a walk through all of the book would find those of a rare one. all: begins with who is meant;
 * when these are as many as there may be, one word of several is no reason either. */
static wharf_status find_containing(wharf_req *req, struct asked *a, struct ids *all)
{
    enum { PERCENT_SIGNS = 2 };
    wharf_str patterns[WORDS_MAX];
    size_t longest, looks = 0, n = reasons(req, a, patterns, &longest);
    struct ids words = {patterns, n};
    bool enough = n > 1 && all->n >= CANDIDATES_MAX;
    bool cut = false;
    wharf_status s = WHARF_OK;

    if (n > 1 && (a->all_words ||
                     longest >= INDEXED_FROM)) /* who has all of them is never behind who has one */
        s = containing(req, &words, all, &cut);
    for (size_t i = 0; s == WHARF_OK && !enough && (!a->all_words || n == 1) && i < n && looks < 3;
         i++) {
        struct ids one = {&patterns[i], 1};

        if (patterns[i].n - PERCENT_SIGNS >= INDEXED_FROM)
            s = containing(req, &one, all, &cut);
        else if (longest < INDEXED_FROM)
            s = containing_short(req, &patterns[i], all, &cut);
        else
            continue;
        looks++;
    }
    a->cut = cut || (!a->all_words && (enough || looks < looked_for(a, longest)));
    return s;
}

/* ---- one contact ---- */

struct found {
    wharf_req *req;
    wharf_str id;
    double score, v3;
    bool contains, contains_all;
    wharf_out *matches;
};

static bool search_has_word(wharf_str form, wharf_str word)
{
    for (size_t i = 0; i + word.n <= form.n; i++) {
        if (memcmp(form.p + i, word.p, word.n) == 0)
            return true;
    }
    return false;
}

static void put_match(struct found *f, const char *field, wharf_str value)
{
    W->json->open(f->matches, NULL, '{');
    W->json->put(f->matches, "field", wharf_text(wharf_z(field)));
    W->json->put(f->matches, "value", wharf_text(value));
    W->json->close(f->matches);
}

/* Marks which words the value contains; told as a match when there is one, or when it is asked
 * to be. */
static void look_in(struct found *f, const struct asked *a, const char *field, wharf_str value,
    uint32_t *seen, bool reported)
{
    wharf_str form = contacts_forms->search_form(f->req, value, "");

    for (size_t i = 0; i < a->n_words; i++) {
        if (search_has_word(form, a->words[i])) {
            *seen |= 1u << i;
            reported = true;
        }
    }
    if (reported)
        put_match(f, field, value);
}

static double name_like(wharf_req *req, const struct name *label, wharf_str name, unsigned flags)
{
    struct cleaned *c = W->mem->alloc(req, sizeof(*c));
    struct name_score s;

    name_clean(contacts_forms->search_form(req, name, ",#/"), NULL, 0, flags, c);
    name_compare(label, &c->name, FUZZY_AUTO, &s);
    return s.score;
}

static void score_name(struct found *f, const struct asked *a, const char *field, wharf_str name,
    uint32_t *seen, double *best, double *best_v3)
{
    double score = name_like(f->req, &a->label.name, name, 0);
    double v3 = name_like(f->req, &a->uncleaned.name, name, CLEAN_KEEP_TITLES);

    look_in(f, a, field, name, seen, score >= MEANT_FROM);
    *best = score > *best ? score : *best;
    *best_v3 = v3 > *best_v3 ? v3 : *best_v3;
}

static double combined(double name, double email, double phone)
{
    if (name > 0)
        return 1 - (1 - name) * (1 - CHANNEL * email) * (1 - CHANNEL * phone);
    return 1 - (1 - CHANNEL * email) * (1 - PHONE_ALONE * phone);
}

enum {
    C_ID,
    C_NAME,
    C_NAMES,
    C_EMAILS,
    C_PHONE,
    C_PHONES,
    C_ID_NUMBER,
    C_EXTERNAL_ID,
    C_ADDRESSES
};
static const char load_sql[] = QUERY_SEARCH_LOAD;

static bool column_text(const wharf_rows *rows, size_t row, size_t column, wharf_str *ret)
{
    wharf_val v;

    if (!W->db->value(rows, row, column, WHARF_V_TEXT, &v))
        return false;
    *ret = v.u.s;
    return true;
}

static const wharf_json *column_json(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_JSON, &v) ? v.u.j : NULL;
}

static double score_emails(
    struct found *f, const struct asked *a, const wharf_json *emails, uint32_t *seen)
{
    double best = 0;
    wharf_str s;

    for (const wharf_json *m = emails ? W->json->at(emails, 0) : NULL; m; m = W->json->next(m)) {
        if (!W->json->text(m, &s))
            continue;
        look_in(f, a, "email", s, seen, false);
        best = equal_folded(s, a->text) ? 1 : best;
    }
    return best;
}

static double score_phone(struct found *f, const struct asked *a, wharf_str phone, uint32_t *seen)
{
    char tail[PHONE_TAIL + 1];
    size_t n = last_digits(phone, tail, sizeof(tail));

    look_in(f, a, "phone", phone, seen, false);
    return a->tail[0] && n && !strcmp(tail, a->tail) ? 1 : 0;
}

static double score_phones(
    struct found *f, const struct asked *a, const wharf_rows *rows, size_t row, uint32_t *seen)
{
    const wharf_json *others = column_json(rows, row, C_PHONES);
    double best = 0, one;
    wharf_str s;

    if (column_text(rows, row, C_PHONE, &s))
        best = score_phone(f, a, s, seen);
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        if (!W->json->text(m, &s))
            continue;
        one = score_phone(f, a, s, seen);
        best = one > best ? one : best;
    }
    return best;
}

static void search_judge(struct found *f, const struct asked *a, const wharf_rows *rows, size_t row)
{
    const wharf_json *others = column_json(rows, row, C_NAMES),
                     *addresses = column_json(rows, row, C_ADDRESSES);
    double name = 0, name_v3 = 0, email, phone;
    uint32_t seen = 0;
    wharf_str s;

    column_text(rows, row, C_ID, &f->id);
    f->matches = W->json->builder(f->req);
    W->json->open(f->matches, NULL, '[');
    if (column_text(rows, row, C_NAME, &s))
        score_name(f, a, "name", s, &seen, &name, &name_v3);
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        if (W->json->text(m, &s))
            score_name(f, a, W->mem->format(f->req, "alternate_names.%s", W->json->key(m).p).p, s,
                &seen, &name, &name_v3);
    }
    email = score_emails(f, a, column_json(rows, row, C_EMAILS), &seen);
    phone = score_phones(f, a, rows, row, &seen);
    if (column_text(rows, row, C_ID_NUMBER, &s))
        look_in(f, a, "id_number", s, &seen, false);
    if (column_text(rows, row, C_EXTERNAL_ID, &s))
        look_in(f, a, "external_id", s, &seen, false);
    for (const wharf_json *m = addresses ? W->json->at(addresses, 0) : NULL; m;
         m = W->json->next(m)) {
        if (W->json->text(m, &s))
            look_in(f, a, "address", s, &seen, false);
    }
    W->json->close(f->matches);
    f->contains = seen != 0;
    f->contains_all = a->n_words && seen == (1u << a->n_words) - 1;
    f->score = score_round(combined(score_round(name), email, phone));
    f->v3 = score_round(combined(score_round(name_v3), email, phone));
}

static wharf_val search_decimal(double score)
{
    return val_decimal((int64_t)(score * 10000 + 0.5), 4);
}

/* Makes what is shown of the search with a row. */
static wharf_status search_members_of(struct found *f, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(f->req);
    const wharf_json *matches;
    wharf_status s = W->json->result(f->req, f->matches, &matches);

    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "relevance_score", search_decimal(f->score));
    W->json->put(out, "relevance_score_v3", search_decimal(f->v3));
    W->json->open(out, "_search", '{');
    W->json->put(out, "relevance_score", search_decimal(f->score));
    W->json->put(out, "relevance_score_v4", search_decimal(f->score));
    W->json->put(out, "matches", wharf_value(matches));
    W->json->close(out);
    W->json->close(out);
    return W->json->result(f->req, out, ret);
}

static wharf_status search_tell(struct found *f, wharf_hits *hits)
{
    const wharf_json *members;
    wharf_status s = search_members_of(f, &members);

    if (s == WHARF_OK)
        W->res->hit(hits, f->id, f->score, members);
    return s;
}

/* Tells of the rows that contain the words and were not looked at. */
static wharf_status tell_more(wharf_req *req, const struct asked *a, wharf_hits *hits)
{
    struct found unseen = {.req = req, .score = ELSEWHERE, .v3 = ELSEWHERE};
    wharf_str words[WORDS_MAX], patterns[WORDS_MAX];
    const wharf_json *members;
    size_t n = 0, longest;
    wharf_status s;

    reasons(req, a, patterns, &longest);
    for (size_t i = 0; i < a->n_words; i++) {
        if (is_reason(a, a->words[i], longest))
            words[n++] = a->words[i];
    }
    unseen.matches = W->json->builder(req);
    W->json->open(unseen.matches, NULL, '[');
    W->json->close(unseen.matches);
    s = search_members_of(&unseen, &members);
    if (s == WHARF_OK)
        W->res->hits_more(hits, words, n, members);
    return s;
}

wharf_status contact_search(wharf_req *req, wharf_str text, bool all_words, wharf_hits *hits)
{
    struct asked *a = W->mem->alloc(req, sizeof(*a));
    struct ids meant,
        all = {W->mem->alloc(req, (8 * CONTAINING_MAX + CANDIDATES_MAX) * sizeof(*all.p)), 0};
    wharf_val args[2] = {wharf_text(W->req->organization(req)), wharf_null()};
    const wharf_rows *rows;
    wharf_status s;

    read_asked(req, text, all_words, a);
    s = index_find(req, &a->label.name, &meant);
    if (s != WHARF_OK)
        return s;
    memcpy(all.p, meant.p, meant.n * sizeof(*all.p));
    all.n = meant.n;
    s = find_containing(req, a, &all);
    if (s != WHARF_OK)
        return s;
    args[1] = ids_array(req, &all);
    s = W->db->query(req, load_sql, args, 2, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct found f = {.req = req};

        search_judge(&f, a, rows, i);
        if (!f.score && f.contains)
            f.score = f.v3 = ELSEWHERE;
        if (f.score >= MEANT_FROM || (all_words ? f.contains_all : f.contains))
            s = search_tell(&f, hits);
    }
    return s == WHARF_OK && a->cut ? tell_more(req, a, hits) : s;
}
