/* label_parties.c - which block is the recipient and which the sender (docs/spec/06-inference.md
 * section 8.3, rules 4, 5 and 7), and what barcodes know better (8.1). See label_inside.h. */
#include "label_inside.h"

enum { PARTY_BLOCKS_MAX = 24, PARTY_LARGER = 115 /* per 100 */, ZIP = 5 };

struct label_reading {
    const struct label_block *block;
    struct label_party party;
    bool address, coded; /* coded: a barcode has its postal code */
};

/* Writes a postal code in capitals without blanks and dashes. */
static wharf_str label_postal_key(const struct label_env *env, wharf_str s)
{
    char *p = label_new(env, char, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && s.p[i] != '-')
            p[n++] = s.p[i];
    }
    return label_upper(env, (wharf_str){p, n});
}

/* Tells whether two postal codes are one; of ZIP+4 the first five digits count. */
static bool label_same_postal(const struct label_env *env, wharf_str a, wharf_str b)
{
    wharf_str p = label_postal_key(env, a), q = label_postal_key(env, b);

    if (p.n != q.n && p.n >= ZIP && q.n >= ZIP && (p.n == ZIP || q.n == ZIP) &&
        (p.n == ZIP + 4 || q.n == ZIP + 4))
        return !memcmp(p.p, q.p, ZIP);
    return p.n && same(p, q);
}

static bool label_is_coded(
    const struct label_env *env, const struct label_coded *coded, wharf_str postal)
{
    for (size_t i = 0; i < coded->n_postals && postal.n; i++) {
        if (label_same_postal(env, coded->postals[i].value, postal))
            return true;
    }
    return false;
}

/* Tells whether the printed code may be one of a barcode, with a sign misread. */
static bool label_is_nearly_coded(
    const struct label_env *env, const struct label_coded *coded, wharf_str postal)
{
    wharf_str printed = label_postal_key(env, postal);

    for (size_t i = 0; i < coded->n_postals; i++) {
        wharf_str c = label_postal_key(env, coded->postals[i].value);
        size_t n = c.n < printed.n ? c.n : printed.n, wrong = 0;

        for (size_t k = 0; k < n; k++)
            wrong += c.p[k] != printed.p[k];
        if (n >= ZIP && wrong <= 1)
            return true;
    }
    return false;
}

static uint32_t label_letter_height(const struct label_block *b)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < b->n; i++)
        sum += b->lines[i].piece->at.h;
    return b->n ? sum / (uint32_t)b->n : 0;
}

/* Tells whether a is rather the recipient than b: the caption, larger letters, the lower one. */
static bool label_rather(const struct label_reading *a, const struct label_reading *b)
{
    int role_a = a->block->role == LABEL_RECIPIENT ? 2 : a->block->role == LABEL_SENDER ? 0 : 1;
    int role_b = b->block->role == LABEL_RECIPIENT ? 2 : b->block->role == LABEL_SENDER ? 0 : 1;
    uint32_t height_a = label_letter_height(a->block), height_b = label_letter_height(b->block);

    if (a->coded != b->coded)
        return a->coded;
    if (role_a != role_b)
        return role_a > role_b;
    if (a->address != b->address)
        return a->address;
    if (a->block->orientation != b->block->orientation)
        return !a->block->orientation;
    if (height_a * 100 > height_b * PARTY_LARGER)
        return true;
    if (height_b * 100 > height_a * PARTY_LARGER)
        return false;
    return a->block->at.y > b->block->at.y;
}

/* ---- choice ---- */

static size_t label_read_blocks(
    const struct label_page *page, const struct label_coded *coded, struct label_reading *readings)
{
    struct label_block *blocks;
    size_t n = label_blocks(page, &blocks), k = 0;
    wharf_str own = wharf_z(page->env->country);

    for (size_t i = 0; i < n && k < PARTY_BLOCKS_MAX; i++) {
        struct label_reading *r = &readings[k];
        bool hopeful = blocks[i].role >= 0;

        for (size_t m = 0; m < blocks[i].n && !hopeful; m++)
            hopeful = blocks[i].lines[m].place || (blocks[i].lines[m].piece->text.n > 12 &&
                                                      memchr(blocks[i].lines[m].piece->text.p, ',',
                                                          blocks[i].lines[m].piece->text.n));
        if (!blocks[i].n || !hopeful)
            continue;
        *r = (struct label_reading){.block = &blocks[i]};
        r->address = label_party_read(page, &blocks[i], own, &r->party);
        r->coded = r->address && label_is_coded(page->env, coded, r->party.postal_code.value);
        k += r->address ||
             (blocks[i].role >= 0 && (r->party.name.confidence || r->party.business.confidence));
    }
    return k;
}

static const struct label_reading *label_recipient_of(const struct label_env *env,
    const struct label_coded *coded, const struct label_reading *r, size_t n)
{
    const struct label_reading *best = NULL;

    for (size_t i = 0; i < n; i++) {
        /* what is marked as the sender is the recipient only where a barcode says so */
        if ((r[i].block->role == LABEL_SENDER && !r[i].coded) ||
            (r[i].block->role < 0 && !r[i].address))
            continue;
        /* nor is one without a caption where a barcode has another postal code */
        if (r[i].block->role < 0 && !r[i].coded && coded->n_postals &&
            !label_is_nearly_coded(env, coded, r[i].party.postal_code.value))
            continue;
        if (!best || label_rather(&r[i], best))
            best = &r[i];
    }
    return best;
}

/* Finds the sender: the block with the caption, else the only other address. */
static const struct label_reading *label_sender_of(
    const struct label_reading *r, size_t n, const struct label_reading *recipient)
{
    const struct label_reading *best = NULL, *only = NULL;
    size_t others = 0;

    for (size_t i = 0; i < n; i++) {
        if (&r[i] == recipient)
            continue;
        if (r[i].block->role == LABEL_SENDER && (!best || (r[i].address && !best->address)))
            best = &r[i];
        if (r[i].block->role < 0 && r[i].address) {
            only = &r[i];
            others++;
        }
    }
    return best ? best : others == 1 && recipient ? only : NULL;
}

/* ---- what barcodes know ---- */

/* Takes the barcode's value; of two that differ in case alone the printed one is nicer. */
static void label_coded_part(
    const struct label_env *env, struct label_fact *f, const struct label_fact *coded)
{
    wharf_str printed = f->value;
    wharf_image_box box = f->box;
    bool same_text;

    if (!coded->confidence)
        return;
    same_text = f->confidence && label_same_key(env, printed, coded->value);
    if (same_text) {
        uint32_t sure = label_both(f->confidence, coded->confidence);

        *f = *coded;
        f->confidence = sure;
        f->value = printed;
        f->box = box;
        return;
    }
    *f = *coded;
}

static void label_coded_party(
    const struct label_page *page, const struct label_coded *coded, struct label_party *ret)
{
    const struct label_party *c = &coded->recipient;
    struct label_fact *to[] = {&ret->name, &ret->business, &ret->phone, &ret->line1, &ret->city,
        &ret->state_code, &ret->country_code};
    const struct label_fact *from[] = {
        &c->name, &c->business, &c->phone, &c->line1, &c->city, &c->state_code, &c->country_code};
    struct label_fact printed = ret->postal_code;

    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
        label_coded_part(page->env, to[i], from[i]);
    if (!ret->line2.confidence)
        label_coded_part(page->env, &ret->line2, &c->line2);
    if (!ret->country_code.confidence || coded->country.confidence > ret->country_code.confidence)
        label_coded_part(page->env, &ret->country_code, &coded->country);
    if (!coded->n_postals)
        return;
    for (size_t i = 0; i < coded->n_postals; i++) {
        const struct label_fact *p = &coded->postals[i];

        if (printed.confidence && label_same_postal(page->env, p->value, printed.value)) {
            ret->postal_code = p->value.n > printed.value.n ? *p : printed;
            ret->postal_code.confidence = label_both(p->confidence, printed.confidence);
            return;
        }
    }
    if (!printed.confidence ||
        (coded->n_postals == 1 && label_is_nearly_coded(page->env, coded, printed.value)))
        ret->postal_code = coded->postals[0];
}

void label_parties(
    const struct label_page *page, const struct label_coded *coded, struct label *ret)
{
    struct label_reading *r = label_new(page->env, struct label_reading, PARTY_BLOCKS_MAX);
    size_t n = label_read_blocks(page, coded, r);
    const struct label_reading *recipient = label_recipient_of(page->env, coded, r, n),
                               *sender = label_sender_of(r, n, recipient);

    /* where the carrier's symbol has another address, nothing of this one is the recipient's */
    if (recipient && coded->recipient.line1.confidence && !recipient->coded &&
        !label_is_nearly_coded(page->env, coded, recipient->party.postal_code.value))
        recipient = NULL;
    if (recipient)
        ret->recipient = recipient->party;
    if (sender)
        ret->sender = sender->party;
    label_coded_party(page, coded, &ret->recipient);
    ret->postal_agrees = ret->recipient.postal_code.confidence &&
                         label_is_coded(page->env, coded, ret->recipient.postal_code.value);
}
