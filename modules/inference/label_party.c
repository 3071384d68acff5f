/* label_party.c - one block as a party (docs/spec/06-inference.md section 8.3, rules 3 and 6, and
 * 8.4): its phone and mail, its name and business, and its address. See label_inside.h; leaves to
 * label_parties.c which party it is. */
#include "label_inside.h"

enum {
    PARTY_SURE = 950, /* per 1,000 of the confidence of its words */
    PARTY_LESS_FOR_STATE = 300,
    PARTY_LESS_FOR_REPAIR = 100,
    PARTY_LAST_LINES = 3,
    PARTY_NAMES = 3,
    PARTY_NAME_ALONE = 48 /* bytes of a name without an address */
};

struct label_body { /* the lines that are neither phone nor mail */
    wharf_str text[LABEL_BLOCK_LINES];
    const struct label_line *line[LABEL_BLOCK_LINES];
    uint32_t place[LABEL_BLOCK_LINES]; /* enum label_ends */
    size_t n;
    bool whole; /* the address is one line */
    wharf_str person, company; /* what a caption says */
    const struct label_line *person_line, *company_line;
};

static void label_put_line(const struct label_page *page, struct label_fact *f, wharf_str value,
    const struct label_line *l)
{
    uint32_t sure = l->piece->confidence * PARTY_SURE / 1000;

    value = label_utf8(page->env, label_trim(value));
    if (!value.n || f->confidence)
        return;
    label_set(f, value, sure ? sure : 1, LABEL_TEXT);
    f->box = label_box_of(page, l->piece, l->from, l->to);
}

/* ---- phone, mail, captions within ---- */

/* Finds a phone number at the end of a text. */
static wharf_str label_phone_in(wharf_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        wharf_str rest = {text.p + i, text.n - i};

        if ((i == 0 || text.p[i - 1] == ' ') && strchr("+(0123456789", *rest.p) &&
            label_is_phone(rest))
            return label_trim(rest);
    }
    return (wharf_str){"", 0};
}

/* Takes a line apart that has captions of its own: "ATTN: J. DOE  PHONE: 555-0100". */
static bool label_read_captions(const struct label_page *page, const struct label_line *l,
    struct label_body *body, struct label_party *ret)
{
    const struct label_piece *p = l->piece;
    bool any = false;

    for (uint32_t i = 0; i < p->n_captions; i++) {
        const struct label_caption *c = &p->captions[i];
        uint32_t end = i + 1 < p->n_captions ? p->captions[i + 1].from : p->n_tokens;
        wharf_str value = label_text_of(p, c->value, end);

        if (c->from < l->from || c->from >= l->to || !value.n)
            continue;
        if (c->kind == LABEL_PHONE && label_is_phone(value))
            label_put_line(page, &ret->phone, value, l);
        else if (c->kind == LABEL_EMAIL && label_is_email(value))
            label_put_line(page, &ret->email, value, l);
        else if (c->kind == LABEL_PERSON && !body->person.n && !label_is_phone(value)) {
            body->person = value;
            body->person_line = l;
        } else if ((c->kind == LABEL_COMPANY || c->kind == LABEL_CARE) && !body->company.n) {
            body->company = value;
            body->company_line = l;
        } else
            continue;
        any = true;
    }
    return any;
}

/* Tells whether the caption of the block is of an id and not of a name: "ORIGIN ID:LEXA". */
static bool label_is_origin(const struct label_block *b, size_t i)
{
    const struct label_piece *p = b->lines[i].piece;

    return i == 0 && b->caption == p && p->n_captions && p->captions[0].kind == LABEL_SENDER &&
           p->n_tokens > 1 && is(p->tokens[p->captions[0].from].key, "origin");
}

/* Tells whether a line is of the document, not of the party: "PACKING SLIP", "PRIORITY MAIL". */
static bool label_is_heading(const struct label_env *env, wharf_str text)
{
    const uint64_t kinds = LABEL_BIT(LABEL_CLASS) | LABEL_BIT(LABEL_SERVICE) | LABEL_BIT(LABEL_TAG);
    uint32_t n, length = 0;
    const struct label_token *t = label_tokens(env, text, 0, &n);

    return n && label_phrase(t, n, 0, kinds, &length) && length == n;
}

static void label_body_of(const struct label_page *page, const struct label_block *b,
    struct label_body *body, struct label_party *ret)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct label_line *l = &b->lines[i];
        wharf_str text = label_text_of(l->piece, l->from, l->to), phone = label_phone_in(text);
        uint32_t first = l->piece->n_captions ? l->piece->captions[0].from : l->to;

        if (label_is_origin(b, i)) {
            label_put_line(page, &ret->phone, phone, l);
            continue;
        }
        if (label_read_captions(page, l, body, ret)) {
            /* "ACME INC ATTN: JANE DOE": a name stands before the caption too */
            text = first > l->from && first < l->to ? label_text_of(l->piece, l->from, first)
                                                    : (wharf_str){"", 0};
        } else if (label_is_phone(text)) {
            label_put_line(page, &ret->phone, text, l);
            continue;
        } else if (label_is_email(text)) {
            label_put_line(page, &ret->email, text, l);
            continue;
        }
        if (!text.n || label_is_heading(page->env, text))
            continue;
        body->line[body->n] = l;
        body->place[body->n] = l->place;
        body->text[body->n++] = text;
    }
}

/* ---- the address ---- */

/* Takes a line apart that is a whole address, a name before its first comma perhaps: "Widgets Ltd,
 * 5 Mill Lane, LEEDS LS1 4AP". */
static bool label_split_whole(const struct label_env *env, struct label_body *body, size_t i)
{
    wharf_str text = body->text[i], first = text, rest;
    const char *comma = memchr(text.p, ',', text.n);
    struct label_place p;

    if (!comma || label_digits(text) < 2 ||
        !label_place_read(env, text, 0, wharf_z(env->country), &p) || !p.line1.n ||
        !p.country_code.n)
        return false;
    body->whole = true;
    body->place[i] = LABEL_ENDS_PLACE;
    first.n = (size_t)(comma - text.p);
    rest = (wharf_str){comma + 1, text.n - first.n - 1};
    if (label_digits(first) || i || body->n == LABEL_BLOCK_LINES ||
        !label_place_read(env, rest, 0, wharf_z(env->country), &p))
        return true;
    body->n = 2;
    body->text[0] = first;
    body->text[1] = label_trim(rest);
    body->line[1] = body->line[0];
    body->place[0] = LABEL_ENDS_NOTHING;
    body->place[1] = LABEL_ENDS_PLACE;
    return true;
}

/* Finds the line with the postal code among the last lines; body->n: there is none. */
static size_t label_place_line(const struct label_page *page, struct label_body *body)
{
    size_t left = PARTY_LAST_LINES;

    for (size_t i = body->n; i-- > 1 && left--;) {
        if (label_is_country(body->text[i]) &&
            label_ends_named(page->env, body->text[i - 1], body->text[i]))
            return i - 1;
    }
    for (uint32_t ends = LABEL_ENDS_CODE; ends > LABEL_ENDS_NOTHING; ends--) {
        left = PARTY_LAST_LINES;
        for (size_t i = body->n; i-- > 0 && left--;) {
            if (body->place[i] == ends && (ends != LABEL_ENDS_CODE || i))
                return i;
        }
    }
    left = PARTY_LAST_LINES;
    for (size_t i = body->n; i-- > 0 && left--;) {
        if (label_split_whole(page->env, body, i))
            return body->n == 2 && !i ? 1 : i;
    }
    return body->n;
}

/* Finds the line with which the street begins. */
static size_t label_street_line(
    const struct label_env *env, const struct label_body *body, size_t place)
{
    size_t city = place - (body->place[place] == LABEL_ENDS_CODE);

    if (body->whole)
        return place;
    for (size_t i = 1; i < city; i++) {
        if (label_is_street(body->text[i]))
            return i;
    }
    if (city && label_is_street(body->text[0]))
        return 0;
    return city >= 2 && !label_looks_business(env, body->text[city - 1]) ? city - 1 : city;
}

static wharf_str label_join_lines(
    const struct label_env *env, const struct label_body *body, size_t from, size_t to)
{
    size_t bytes = 0, n = 0;
    char *p;

    for (size_t i = from; i < to; i++)
        bytes += body->text[i].n + 1;
    p = label_new(env, char, bytes + 1);
    for (size_t i = from; i < to; i++) {
        if (n)
            p[n++] = '\n';
        memcpy(p + n, body->text[i].p, body->text[i].n);
        n += body->text[i].n;
    }
    return label_utf8(env, (wharf_str){p, n});
}

static void label_put_part(const struct label_page *page, struct label_fact *f, wharf_str value,
    const struct label_line *l, uint32_t less)
{
    label_put_line(page, f, value, l);
    if (f->confidence)
        f->confidence = f->confidence > less ? f->confidence - less : 1;
}

/* Reads lines from to to as the address; place is the one with the postal code. */
static bool label_read_address(const struct label_page *page, const struct label_body *body,
    size_t from, size_t place, wharf_str country, struct label_party *ret)
{
    size_t to = place + 1;
    const struct label_line *l = body->line[place], *street = body->line[from];
    struct label_place p;
    wharf_str text, first;
    uint32_t less;

    to += to < body->n && label_is_country(body->text[to]);
    text = label_sharp_s(page->env, label_join_lines(page->env, body, from, to));
    /* a number of the street is no postal code */
    first = label_sharp_s(page->env, label_join_lines(page->env, body, from, place));
    if (!label_place_read(page->env, text, first.n, country, &p))
        return false;
    /* digits and a word are an address of no country that is known only below a street */
    if (!p.country_code.n && (from == place || !label_is_street(body->text[place - 1])))
        return false;
    label_put_line(page, &ret->line1, p.line1, street);
    label_put_line(page, &ret->line2, p.line2, street);
    less = p.disagrees ? PARTY_LESS_FOR_STATE : 0;
    label_put_part(page, &ret->city, p.city, l, less);
    label_put_part(page, &ret->state_code, p.state_code, l, less);
    label_put_part(
        page, &ret->postal_code, p.postal_code, l, less + (p.repaired ? PARTY_LESS_FOR_REPAIR : 0));
    label_put_line(page, &ret->country_code, p.country_code, body->line[to - 1]);
    if (!p.country_told && ret->country_code.confidence)
        ret->country_code.confidence = (ret->country_code.confidence * 8 + 9) / 10;
    ret->formatted = text;
    return true;
}

/* ---- names ---- */

/* Decides which of the lines before the street is the name and which the business. */
static void label_read_names(
    const struct label_page *page, const struct label_body *body, size_t n, struct label_party *ret)
{
    const struct label_env *env = page->env;
    bool business;

    if (body->company.n)
        label_put_line(page, &ret->business, body->company, body->company_line);
    if (body->person.n)
        label_put_line(page, &ret->name, body->person, body->person_line);
    if (!n)
        return;
    if (ret->name.confidence) {
        label_put_line(page, &ret->business, body->text[0], body->line[0]);
        return;
    }
    business = label_looks_business(env, body->text[0]);
    if (!business && n > 1 && !label_looks_business(env, body->text[1]))
        business = !label_looks_person(body->text[0]) && label_looks_person(body->text[1]);
    if (business) {
        label_put_line(page, &ret->business, body->text[0], body->line[0]);
        if (n > 1 && label_looks_person(body->text[1]) && !label_looks_business(env, body->text[1]))
            label_put_line(page, &ret->name, body->text[1], body->line[1]);
        return;
    }
    label_put_line(page, &ret->name, body->text[0], body->line[0]);
    if (n > 1)
        label_put_line(page, &ret->business, body->text[1], body->line[1]);
}

static size_t label_name_lines(const struct label_body *body, size_t n)
{
    size_t k = 0;

    while (k < n && k < PARTY_NAMES && label_letters(body->text[k]) + body->text[k].n / 2 >= 2 &&
           body->text[k].n <= 191)
        k++;
    return k;
}

/* Reads the names of a block whose address is none: the lines before its street, or a line that
 * stands nearly alone. */
static void label_read_names_alone(
    const struct label_page *page, const struct label_body *body, struct label_party *ret)
{
    size_t street = 1;

    while (street < body->n && !label_is_street(body->text[street]))
        street++;
    if (!body->n || (street == body->n && body->n > PARTY_NAMES) ||
        body->text[0].n > PARTY_NAME_ALONE || label_digits(body->text[0]))
        return;
    label_read_names(page, body, label_name_lines(body, street == body->n ? 1 : street), ret);
}

bool label_party_read(const struct label_page *page, const struct label_block *block,
    wharf_str country, struct label_party *ret)
{
    struct label_body body = {.n = 0};
    size_t place, street;

    *ret = (struct label_party){.formatted = {"", 0}};
    label_body_of(page, block, &body, ret);
    place = label_place_line(page, &body);
    if (place == body.n) {
        if (block->role >= 0)
            label_read_names_alone(page, &body, ret);
        return false;
    }
    street = label_street_line(page->env, &body, place);
    if (!label_read_address(page, &body, street, place, country, ret))
        return false;
    label_read_names(page, &body, label_name_lines(&body, street), ret);
    return true;
}
