/* label_runs.c - printed signs that may be a tracking number (docs/spec/06-inference.md section
 * 8.2): words of one line joined without blanks and dashes, and whether a caption stands before
 * them. See label_numbers.h. */
#include "label_numbers.h"

enum {
    RUN_WORDS = 14,
    RUN_LEAST = 8,
    RUN_MOST = 40,
    RUN_DIGITS = 6,
    RUN_SHORT_LETTERS = 4, /* of words without a digit: "1Z", "RR", "GB" */
    REPAIR_LONG = 15,
    BELOW_HEIGHTS = 25 /* tenths: how far a value stands below its caption */
};

/* Tells whether a token may be part of a number. */
static bool label_run_token(const struct label_piece *p, uint32_t i)
{
    const struct label_token *t = &p->tokens[i];

    if (t->key.n > RUN_MOST || (!t->digit && t->key.n > RUN_SHORT_LETTERS))
        return false;
    for (uint32_t k = t->from; k < t->to; k++) {
        char c = p->text.p[k];

        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '-' ||
                (t->digit && c >= 'a' && c <= 'z')))
            return false;
    }
    return true;
}

/* Joins tokens without blanks and dashes, in capitals. */
static wharf_str label_run_text(
    const struct label_env *env, const struct label_piece *p, uint32_t from, uint32_t to)
{
    char *out = label_new(env, char, RUN_MOST + 1);
    size_t n = 0;

    for (uint32_t i = from; i < to; i++) {
        for (uint32_t k = p->tokens[i].from; k < p->tokens[i].to; k++) {
            char c = p->text.p[k];

            if (c == '-')
                continue;
            if (n == RUN_MOST)
                return (wharf_str){out, 0};
            out[n++] = (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
        }
    }
    return (wharf_str){out, n};
}

/* Tries the tokens as one number. */
static bool label_try_run(struct label_hunt *h, const struct label_piece *p, uint32_t from,
    uint32_t to, enum label_region region, bool only_checked)
{
    wharf_str text = label_run_text(h->page->env, p, from, to), raw = label_text_of(p, from, to);
    struct label_number n;

    if (text.n < RUN_LEAST || label_digits(text) < RUN_DIGITS)
        return false;
    if (region == LABEL_REGION_TEXT && label_is_phone(raw) && text.n < 12)
        return false;
    if (!label_hunt_detect(h, text, &n) || (only_checked && !n.checked))
        return false;
    label_hunt_text(h, &n, region, raw, label_box_of(h->page, p, from, to));
    return true;
}

static bool label_repair_run(struct label_hunt *h, const struct label_piece *p, uint32_t from,
    uint32_t to, enum label_region region)
{
    wharf_str text = label_run_text(h->page->env, p, from, to);
    struct label_number n = {.checked = false};

    if (label_digits(text) < RUN_DIGITS ||
        (region == LABEL_REGION_TEXT && (text.n < REPAIR_LONG || !label_letters(text))))
        return false;
    if (h->asks < RUN_MOST * RUN_MOST)
        return false;
    h->asks -= RUN_MOST;
    if (!label_repair(h->page->env, text, &n))
        return false;
    label_hunt_text(h, &n, region, label_text_of(p, from, to), label_box_of(h->page, p, from, to));
    return true;
}

/* Tries a run of tokens: as a whole, then, behind a caption, its parts, the longest first. */
static void label_run(struct label_hunt *h, const struct label_piece *p, uint32_t from, uint32_t to,
    enum label_region region)
{
    if (label_try_run(h, p, from, to, region, false))
        return;
    if (label_repair_run(h, p, from, to, region))
        return;
    if (region == LABEL_REGION_TEXT)
        return;
    for (uint32_t n = to - from - 1; n > 0; n--) {
        for (uint32_t i = from; i + n <= to; i++) {
            if (label_try_run(h, p, i, i + n, region, true) ||
                (n > 1 && label_repair_run(h, p, i, i + n, region)))
                return;
        }
    }
}

/* Finds the runs among tokens from to to. */
static void label_region_read(struct label_hunt *h, const struct label_piece *p, uint32_t from,
    uint32_t to, enum label_region region)
{
    if (region == LABEL_REGION_OTHER)
        return;
    for (uint32_t i = from; i < to; i++) {
        uint32_t end = i;

        while (end < to && end - i < RUN_WORDS && label_run_token(p, end))
            end++;
        if (end > i) {
            label_run(h, p, i, end, region);
            i = end - 1;
        }
    }
}

static enum label_region label_region_of(uint32_t kind)
{
    switch (kind) {
    case LABEL_TRACKING:
        return LABEL_REGION_TRACKING;
    case LABEL_MASTER:
        return LABEL_REGION_MASTER;
    case LABEL_RECIPIENT:
    case LABEL_SENDER:
    case LABEL_OTHER:
        return LABEL_REGION_TEXT;
    default:
        return LABEL_REGION_OTHER;
    }
}

/* Finds the piece that stands below a caption, nearest first. */
static int label_below(const struct label_page *page, const struct label_piece *p)
{
    int best = -1;

    for (size_t i = 0; i < page->n_pieces; i++) {
        const struct label_piece *q = &page->pieces[i];
        uint32_t end = p->at.y + p->at.h;

        if (q->orientation != p->orientation || q == p || q->at.y + q->at.h / 2 < end ||
            (q->at.y > end && (q->at.y - end) * 10 > p->at.h * BELOW_HEIGHTS) ||
            q->at.x > p->at.x + p->at.w || q->at.x + q->at.w < p->at.x ||
            (q->n_captions && !q->captions[0].from))
            continue;
        if (best < 0 || q->at.y < page->pieces[best].at.y)
            best = (int)i;
    }
    return best;
}

/* Notes where the value of the caption that ends a piece stands. */
static void label_carry(
    const struct label_page *page, const struct label_piece *p, uint8_t *carried)
{
    const struct label_caption *c = &p->captions[p->n_captions - 1];
    enum label_region region = label_region_of(c->kind);
    const struct label_piece *next = p + 1;
    int below;

    if (region == LABEL_REGION_TEXT)
        return;
    if (c->value >= p->n_tokens && next < page->pieces + page->n_pieces && next->line == p->line &&
        !(next->n_captions && !next->captions[0].from)) {
        carried[next - page->pieces] = (uint8_t)region;
        return;
    }
    if (region == LABEL_REGION_OTHER)
        return;
    /* the number below that of all packages is another one */
    if (region == LABEL_REGION_MASTER &&
        label_digits(label_text_of(p, c->value, p->n_tokens)) >= RUN_LEAST)
        return;
    /* behind the caption may stand something else: FedEx has the number of a form there */
    below = label_below(page, p);
    if (below >= 0 && !carried[below])
        carried[below] = (uint8_t)region;
}

void label_hunt_runs(struct label_hunt *h)
{
    const struct label_page *page = h->page;
    uint8_t *carried = label_new(page->env, uint8_t, page->n_pieces);
    uint32_t looks = 0;

    for (size_t i = 0; i < page->n_pieces; i++) {
        if (page->pieces[i].n_captions && looks++ < LABEL_CANDIDATES_MAX * 4)
            label_carry(page, &page->pieces[i], carried);
    }
    /* behind captions first: detection is not asked for ever */
    for (int captioned = 1; captioned >= 0; captioned--) {
        for (size_t i = 0; i < page->n_pieces; i++) {
            const struct label_piece *p = &page->pieces[i];
            uint32_t end = p->n_captions ? p->captions[0].from : p->n_tokens;
            enum label_region region = carried[i];

            if ((region != LABEL_REGION_TEXT) == captioned)
                label_region_read(h, p, 0, end, region);
            for (uint32_t k = 0; k < p->n_captions; k++) {
                region = label_region_of(p->captions[k].kind);
                end = k + 1 < p->n_captions ? p->captions[k + 1].from : p->n_tokens;
                if ((region != LABEL_REGION_TEXT) == captioned)
                    label_region_read(h, p, p->captions[k].value, end, region);
            }
        }
    }
}
