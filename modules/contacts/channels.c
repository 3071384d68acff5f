/* channels.c - see channels.h. */
#include "channels.h"

const char *const channel_names[CHANNELS] = {
    [BY_NAME] = "name",
    [BY_BUSINESS] = "business",
    [BY_ADDRESS] = "address",
    [BY_UNIT] = "unit",
    [BY_PHONE] = "phone",
    [BY_EMAIL] = "email",
    [BY_HISTORY] = "history",
};

const struct marker_kind marker_kinds[MARKERS] = {
    [EMAIL_EXACT] = {"email_exact", 40},
    [PHONE_EXACT] = {"phone_exact", 30},
    [NAME_EXACT] = {"name_exact", 30},
    [ALTERNATE_NAME_EXACT] = {"alternate_name_exact", 28},
    [NAME_SWAPPED] = {"name_swapped", 25},
    [NAME_NICKNAME] = {"name_nickname", 22},
    [NAME_FUZZY] = {"name_fuzzy", 18},
    [NAME_TRUNCATED] = {"name_truncated", 14},
    [NAME_INITIAL] = {"name_initial", 12},
    [NAME_PARTIAL] = {"name_partial", 8},
    [REMEMBERED] = {"remembered", 20},
    [ADDRESS_EXACT] = {"address_exact", 20},
    [UNIT_EXACT] = {"unit_exact", 15},
    [BUSINESS_EXACT] = {"business_exact", 15},
    [BUSINESS_FUZZY] = {"business_fuzzy", 8},
    [POSTAL_CODE] = {"postal_code", 5},
    [STREET_NUMBER] = {"street_number", 4},
    [CITY] = {"city", 2},
    [LOCATION] = {"location", 3},
};

/* section 9.4: what a channel adds beside a name, and what it says by itself. */
static const double boosts[CHANNELS] = {[BY_BUSINESS] = 0.35,
    [BY_ADDRESS] = 0.35,
    [BY_UNIT] = 0.50,
    [BY_PHONE] = 0.90,
    [BY_EMAIL] = 0.90,
    [BY_HISTORY] = 0.40};
static const double alone[CHANNELS] = {
    [BY_BUSINESS] = 0.80, [BY_ADDRESS] = 0.50, [BY_PHONE] = 0.85, [BY_EMAIL] = 0.90};

static const double OTHER_UNIT = 0.97, NAME_OF_BUSINESS = 0.95, WEAK_NAME = 0.5, EXACT_FROM = 0.99,
                    FUZZY_FROM = 0.6, DISAGREES_BELOW = 0.5;

size_t last_digits(wharf_str s, char *out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n && s.p[i] != ';'; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            continue;
        if (n == room - 1) {
            memmove(out, out + 1, n - 1);
            n--;
        }
        out[n++] = s.p[i];
    }
    out[n] = 0;
    return n;
}

bool equal_folded(wharf_str a, wharf_str b)
{
    for (size_t i = 0; a.n == b.n && i < a.n; i++) {
        unsigned char x = (unsigned char)a.p[i], y = (unsigned char)b.p[i];

        x = x >= 'A' && x <= 'Z' ? (unsigned char)(x + 32) : x;
        y = y >= 'A' && y <= 'Z' ? (unsigned char)(y + 32) : y;
        if (x != y)
            return false;
    }
    return a.n == b.n;
}

static wharf_str form(wharf_req *req, wharf_str s)
{
    return contacts_forms->search_form(req, s, "");
}

static wharf_str channels_part(const wharf_json *address, const char *key)
{
    const wharf_json *v = address ? W->json->get(address, key) : NULL;
    wharf_str s = {"", 0};

    if (v)
        W->json->text(v, &s);
    return s;
}

static void channels_found(struct channels *c, enum channel_kind by, double score, wharf_str value)
{
    score = score_round(score); /* as it is shown, so that what is shown adds up */
    c->reported[by] = true;
    if (score <= c->score[by])
        return;
    c->score[by] = score;
    c->value[by] = value;
}

/* ---- names ---- */

struct best_name {
    struct name_score score;
    bool other;
};

static void compare_name(const struct label *l, wharf_str text, bool other, struct channels *c,
    struct best_name *best, struct cleaned *room)
{
    wharf_str name = contacts_forms->search_form(l->req, text, ",#/");
    bool titled = l->name.name.n != l->uncleaned.name.n || l->name.name.generation;
    struct name_score s;
    size_t words;

    name_clean(name, l->ignore, l->n_ignore, CLEAN_KEEP_TITLES, room);
    name_compare(&l->uncleaned.name, &room->name, l->fuzziness, &s);
    c->name_v3 = s.score > c->name_v3 ? s.score : c->name_v3;
    words = room->name.n;
    name_clean(name, l->ignore, l->n_ignore, 0, room);
    if (titled || room->name.n != words ||
        room->name.generation) /* else it is the same comparison */
        name_compare(&l->name.name, &room->name, l->fuzziness, &s);
    if (s.score > best->score.score)
        *best = (struct best_name){s, other};
    channels_found(c, BY_NAME, s.score, text);
}

/* Compares with the contact's business: a label without a name, or with one that is nearly
 * nobody's, may name the contact so. */
static void compare_business_name(const struct label *l, wharf_str text, struct channels *c,
    struct best_name *best, struct name *room)
{
    double score;

    business_clean(form(l->req, text), room);
    score = NAME_OF_BUSINESS * business_compare(&l->business, room, l->fuzziness);
    c->name_v3 = score > c->name_v3 ? score : c->name_v3;
    if (score <= c->score[BY_NAME])
        return;
    channels_found(c, BY_NAME, score, text);
    best->score = (struct name_score){
        .kind = score >= NAME_OF_BUSINESS ? MATCH_EXACT : MATCH_PARTIAL};
}

static enum marker name_marker(const struct best_name *best)
{
    static const enum marker of[] = {[MATCH_PARTIAL] = NAME_PARTIAL,
        [MATCH_INITIAL] = NAME_INITIAL,
        [MATCH_TRUNCATED] = NAME_TRUNCATED,
        [MATCH_FUZZY] = NAME_FUZZY,
        [MATCH_NICKNAME] = NAME_NICKNAME,
        [MATCH_SWAPPED] = NAME_SWAPPED,
        [MATCH_EXACT] = NAME_EXACT};

    return best->score.kind == MATCH_EXACT && best->other ? ALTERNATE_NAME_EXACT
                                                          : of[best->score.kind];
}

static void compare_names(const struct label *l, const struct party *p, struct channels *c)
{
    struct cleaned *room = W->mem->alloc(l->req, sizeof(*room));
    struct best_name best = {0};
    bool weak;
    wharf_str s;

    if (l->name.name.n) {
        compare_name(l, p->name, false, c, &best, room);
        for (const wharf_json *m = p->other_names ? W->json->at(p->other_names, 0) : NULL; m;
             m = W->json->next(m)) {
            if (W->json->text(m, &s))
                compare_name(l, s, true, c, &best, room);
        }
    }
    weak = c->score[BY_NAME] < WEAK_NAME && l->business.n;
    if (weak)
        compare_business_name(l, p->name, c, &best, &room->name);
    for (const wharf_json *m = weak && p->other_names ? W->json->at(p->other_names, 0) : NULL; m;
         m = W->json->next(m)) {
        if (W->json->text(m, &s))
            compare_business_name(l, s, c, &best, &room->name);
    }
    c->coverage = best.score.coverage;
    memcpy(c->matched, best.score.matched, sizeof(c->matched));
    if (c->score[BY_NAME] > 0)
        c->marked[name_marker(&best)] = true;
}

static void compare_business(const struct label *l, const struct party *p, struct channels *c)
{
    struct name *other = W->mem->alloc(l->req, sizeof(*other));
    const wharf_str own[] = {p->business, p->company};
    wharf_str s;

    for (size_t i = 0; l->business.n && i < 2; i++) {
        business_clean(form(l->req, own[i]), other);
        if (own[i].n)
            channels_found(
                c, BY_BUSINESS, business_compare(&l->business, other, l->fuzziness), own[i]);
    }
    for (const wharf_json *m = l->business.n && p->groups ? W->json->at(p->groups, 0) : NULL; m;
         m = W->json->next(m)) {
        if (!W->json->text(m, &s))
            continue;
        business_clean(form(l->req, s), other);
        channels_found(c, BY_BUSINESS, business_compare(&l->business, other, l->fuzziness), s);
    }
    c->marked[BUSINESS_EXACT] = c->score[BY_BUSINESS] >= EXACT_FROM;
    c->marked[BUSINESS_FUZZY] = !c->marked[BUSINESS_EXACT] && c->score[BY_BUSINESS] >= FUZZY_FROM;
}

bool channel_disagrees(const struct channels *c, enum channel_kind channel)
{
    return c->reported[channel] && c->score[channel] < DISAGREES_BELOW;
}

/* ---- addresses ---- */

static bool channels_has_digit(wharf_str w)
{
    for (size_t i = 0; i < w.n; i++) {
        if (w.p[i] >= '0' && w.p[i] <= '9')
            return true;
    }
    return false;
}

/* Takes the next word of a search form. Returns false when there is none. */
static bool channels_next_word(wharf_str *rest, wharf_str *ret)
{
    const char *space = memchr(rest->p, ' ', rest->n);
    size_t n = space ? (size_t)(space - rest->p) : rest->n;

    if (!rest->n)
        return false;
    *ret = (wharf_str){rest->p, n};
    n += space != NULL;
    *rest = (wharf_str){rest->p + n, rest->n - n};
    return true;
}

wharf_str unit_of(wharf_req *req, wharf_str line2)
{
    wharf_str rest = form(req, line2), word, unit = {"", 0};

    while (channels_next_word(&rest, &word))
        unit = channels_has_digit(word) ? word : unit;
    return unit;
}

struct place {
    wharf_str postal, number, city;
    struct name street;
};

/* Reads the place of an address. House numbers stand first or last. */
static void read_place(wharf_req *req, const wharf_json *address, struct place *ret)
{
    wharf_str rest = form(req, channels_part(address, "line1")),
              country = channels_part(address, "country_code"), street = rest, word, last = {"", 0};
    bool first = true;

    ret->number = (wharf_str){"", 0};
    while (channels_next_word(&rest, &word)) {
        if (first && channels_has_digit(word)) {
            ret->number = word;
            street = rest;
        }
        last = word;
        first = false;
    }
    if (!ret->number.n && channels_has_digit(last)) {
        ret->number = last;
        street.n = (size_t)(last.p - street.p);
    }
    business_clean(W->mem->dup(req, street.p, street.n), &ret->street);
    ret->postal = form(req, channels_part(address, "postal_code"));
    if (equal_folded(country, WHARF_S("US")) && ret->postal.n > 5)
        ret->postal.n = 5;
    ret->city = form(req, channels_part(address, "city"));
}

static void compare_address(
    const struct label *l, const struct place *mine, const wharf_json *address, struct channels *c)
{
    static const double weights[] = {0.35, 0.25, 0.25, 0.15};
    struct place *other = W->mem->alloc(l->req, sizeof(*other));
    double likeness[4] = {0}, got = 0, all = 0, score;
    bool both[4];
    size_t parts = 0;

    read_place(l->req, address, other);
    both[0] = mine->postal.n && other->postal.n;
    both[1] = mine->number.n && other->number.n;
    both[2] = mine->street.n && other->street.n;
    both[3] = mine->city.n && other->city.n;
    likeness[0] = both[0] && wharf_same(mine->postal, other->postal);
    likeness[1] = both[1] && wharf_same(mine->number, other->number);
    likeness[2] = both[2] ? business_compare(&mine->street, &other->street, l->fuzziness) : 0;
    likeness[3] = both[3] && wharf_same(mine->city, other->city);
    for (size_t i = 0; i < 4; i++) {
        parts += both[i];
        all += both[i] ? weights[i] : 0;
        got += both[i] ? weights[i] * likeness[i] : 0;
    }
    if (parts < 2)
        return;
    score = got / all;
    if (score <= c->score[BY_ADDRESS] && c->reported[BY_ADDRESS])
        return;
    channels_found(c, BY_ADDRESS, score, channels_part(address, "formatted_address"));
    c->marked[ADDRESS_EXACT] = score >= EXACT_FROM;
    c->marked[POSTAL_CODE] = likeness[0] > 0;
    c->marked[STREET_NUMBER] = likeness[1] > 0;
    c->marked[CITY] = likeness[3] > 0;
}

static void compare_addresses(const struct label *l, const struct party *p, struct channels *c)
{
    struct place *mine = W->mem->alloc(l->req, sizeof(*mine));

    read_place(l->req, l->address, mine);
    for (const wharf_json *m = p->addresses ? W->json->at(p->addresses, 0) : NULL; m;
         m = W->json->next(m)) {
        wharf_str unit = unit_of(l->req, channels_part(m, "line2"));

        if (l->address)
            compare_address(l, mine, m, c);
        if (l->unit.n && unit.n)
            channels_found(c, BY_UNIT, wharf_same(l->unit, unit), unit);
    }
    c->marked[UNIT_EXACT] = c->score[BY_UNIT] > 0;
}

/* ---- e-mails, phones ---- */

static void compare_phone(const struct label *l, wharf_str phone, struct channels *c)
{
    char tail[PHONE_TAIL + 1];

    if (last_digits(phone, tail, sizeof(tail)))
        channels_found(c, BY_PHONE, !strcmp(tail, l->tail), phone);
}

static void compare_reach(const struct label *l, const struct party *p, struct channels *c)
{
    wharf_str s;

    for (const wharf_json *m = l->email.n && p->emails ? W->json->at(p->emails, 0) : NULL; m;
         m = W->json->next(m)) {
        if (W->json->text(m, &s))
            channels_found(c, BY_EMAIL, equal_folded(s, l->email), s);
    }
    if (l->tail[0])
        compare_phone(l, p->phone, c);
    for (const wharf_json *m = l->tail[0] && p->other_phones ? W->json->at(p->other_phones, 0)
                                                             : NULL;
         m; m = W->json->next(m)) {
        if (W->json->text(m, &s))
            compare_phone(l, s, c);
    }
    c->marked[EMAIL_EXACT] = c->score[BY_EMAIL] > 0;
    c->marked[PHONE_EXACT] = c->score[BY_PHONE] > 0;
}

void label_compare(const struct label *label, const struct party *contact, struct channels *ret)
{
    memset(ret, 0, sizeof(*ret));
    compare_names(label, contact, ret);
    compare_business(label, contact, ret);
    compare_addresses(label, contact, ret);
    compare_reach(label, contact, ret);
    if (contact->remembered)
        channels_found(ret, BY_HISTORY, 1, contact->name);
    ret->marked[REMEMBERED] = contact->remembered;
    ret->marked[LOCATION] = contact->here;
}

double label_relevance(const struct channels *c, bool v3)
{
    double name = v3 ? score_round(c->name_v3) : c->score[BY_NAME], left = 1 - name, whole;

    for (int i = BY_BUSINESS; i < CHANNELS; i++)
        left *= 1 - (name > 0 ? boosts[i] : alone[i]) * c->score[i];
    whole = 1 - left;
    if (c->reported[BY_UNIT] && c->score[BY_UNIT] <= 0)
        whole *= OTHER_UNIT;
    return score_round(whole);
}

int label_points(const struct channels *c)
{
    int points = 0;

    for (int i = 0; i < MARKERS; i++)
        points += c->marked[i] ? marker_kinds[i].points : 0;
    return points;
}
