/* label_blocks.c - lines of a label that belong together (docs/spec/06-inference.md section 8.3,
 * rules 1 and 2): by their left edges, the gaps between them and dark rules; captions of parties
 * begin a block, or name one that stands beside or below. See label_inside.h. */
#include <stdlib.h>

#include "label_inside.h"

enum { /* tenths of the height of a line */
    BLOCK_GAP = 12, /* between lines of a block, in tenths of their height */
    BLOCK_LEFT = 15, /* between left edges of these, in tenths of their height */
    BLOCK_INDENT = 40, /* behind the first line */
    BLOCK_BEHIND_CAPTION = 110, /* to the right of a caption that stands alone */
    BLOCK_BELOW_CAPTION = 30,
    BLOCK_HEIGHTS = 21, /* how much larger letters may be */
    BLOCKS_MAX = 400,
    BLOCK_PLACES_MAX = 200 /* lines that are tried as the end of an address */
};

static uint32_t label_far(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

static int label_piece_order(const void *x, const void *y)
{
    const struct label_piece *a = *(const struct label_piece *const *)x,
                             *b = *(const struct label_piece *const *)y;

    if (a->orientation != b->orientation)
        return a->orientation < b->orientation ? -1 : 1;
    if (a->at.y != b->at.y)
        return a->at.y < b->at.y ? -1 : 1;
    return (a->at.x > b->at.x) - (a->at.x < b->at.x);
}

/* Tells whether a horizontal dark rule stands between two lines. */
static bool label_ruled_apart(
    const struct label_page *page, const struct label_piece *above, const struct label_piece *below)
{
    uint32_t from = above->at.y + above->at.h / 2, to = below->at.y + below->at.h / 2;

    if (above->orientation)
        return false;
    for (uint32_t i = 0; i < page->image->n_rules; i++) {
        const wharf_image_box *r = &page->image->rules[i];

        if (r->w > r->h && r->y >= from && r->y + r->h <= to && r->x < below->at.x + below->at.w &&
            r->x + r->w > below->at.x)
            return true;
    }
    return false;
}

/* ---- lines that may be of a party ---- */

static bool label_is_party_caption(uint32_t kind)
{
    return kind == LABEL_RECIPIENT || kind == LABEL_SENDER;
}

static bool label_is_party_line(uint32_t kind)
{
    return kind == LABEL_PERSON || kind == LABEL_CARE || kind == LABEL_COMPANY ||
           kind == LABEL_PHONE || kind == LABEL_EMAIL;
}

/* Finds the tokens of a piece that may be of a party. Returns false when there are none. *ret_role:
 * the caption in front of them. */
static bool label_line_of(const struct label_piece *p, struct label_line *ret, int *ret_role)
{
    *ret = (struct label_line){p, p->begin, p->n_tokens, LABEL_ENDS_NOTHING};
    *ret_role = -1;
    for (uint32_t i = 0; i < p->n_captions; i++) {
        const struct label_caption *c = &p->captions[i];

        if (c->from == ret->from && *ret_role < 0 && label_is_party_caption(c->kind)) {
            *ret_role = (int)c->kind;
            ret->from = c->value;
        } else if (!label_is_party_line(c->kind)) {
            /* "ORDER" within a name is no caption: only one with a mark ends the line */
            if (c->from > ret->from && !c->mark)
                continue;
            ret->to = c->from;
            break;
        }
    }
    return ret->from < ret->to || *ret_role >= 0;
}

static wharf_str label_line_text(const struct label_line *l)
{
    return label_text_of(l->piece, l->from, l->to);
}

/* ---- which block a line belongs to ---- */

/* Tells whether a line that begins at x goes on with a block: at the left edge of its lines, or of
 * the caption in front of the first one, or more to the right behind the first. */
static bool label_is_aligned(const struct label_block *b, uint32_t x, uint32_t height)
{
    uint32_t indent = !b->n ? BLOCK_BEHIND_CAPTION : b->n == 1 ? BLOCK_INDENT : 0;

    if (label_far(x, b->left) * 10 <= height * BLOCK_LEFT ||
        (x > b->left && (x - b->left) * 10 <= height * indent))
        return true;
    return b->n == 1 && b->lines[0].from && b->caption == b->lines[0].piece &&
           label_far(x, b->caption->at.x) * 10 <= height * BLOCK_LEFT;
}

/* Tells whether a line stands below another at a distance of the same block. most: tenths of its
 * height. */
static bool label_is_below(
    const struct label_piece *p, const struct label_piece *last, uint32_t most)
{
    uint32_t height = last->at.h > p->at.h ? last->at.h : p->at.h, end = last->at.y + last->at.h;
    uint32_t gap = p->at.y > end ? p->at.y - end : 0;

    return p->at.y + p->at.h / 2 >= end && gap * 10 <= height * most;
}

/* Tells whether letters of two lines are about as high, and the second begins below the first. */
static bool label_is_alike(const struct label_piece *p, const struct label_piece *last, uint32_t x)
{
    uint32_t high = last->at.h > p->at.h ? last->at.h : p->at.h;
    uint32_t low = last->at.h < p->at.h ? last->at.h : p->at.h;

    return high * 10 <= BLOCK_HEIGHTS * low && x <= last->at.x + last->at.w + high;
}

/* Tells whether a line may stand behind the end of an address. */
static bool label_may_follow(const struct label_line *line)
{
    wharf_str text = label_line_text(line);

    return line->place || label_is_country(text) || label_is_phone(text) || label_is_email(text);
}

/* Returns the height of letters that tells how far to the right of a caption its party may stand: a
 * logo is large, and far away. */
static uint32_t label_near_caption(const struct label_piece *caption, uint32_t height)
{
    return height > 2 * caption->at.h ? 2 * caption->at.h : height;
}

/* Tells how well a line goes on with a block; the smaller, the better, UINT32_MAX: not at all. */
static uint32_t label_fits_block(const struct label_page *page, const struct label_block *b,
    const struct label_line *line, uint32_t x)
{
    const struct label_piece *p = line->piece, *last;
    bool alone = !b->n;
    /* a line that OCR did not read may be missing before the last one of a party */
    uint32_t most = alone || (b->role >= 0 && line->place && !b->ended) ? BLOCK_BELOW_CAPTION
                                                                        : BLOCK_GAP;
    uint32_t height;

    if (b->orientation != p->orientation || b->n == LABEL_BLOCK_LINES)
        return UINT32_MAX;
    last = alone ? b->caption : b->lines[b->n - 1].piece;
    height = last->at.h > p->at.h ? last->at.h : p->at.h;
    if (alone)
        height = label_near_caption(last, height);
    if (!label_is_below(p, last, most) || (!alone && !label_is_alike(p, last, x)) ||
        !label_is_aligned(b, x, height) || label_ruled_apart(page, last, p) ||
        (b->ended && !label_may_follow(line)))
        return UINT32_MAX;
    return label_far(p->at.y, last->at.y + last->at.h) + label_far(x, b->left);
}

static void label_block_grow(struct label_block *b, const struct label_piece *p)
{
    uint32_t right = b->at.x + b->at.w, end = b->at.y + b->at.h;

    if (!b->at.w) {
        b->at = p->at;
        return;
    }
    right = p->at.x + p->at.w > right ? p->at.x + p->at.w : right;
    end = p->at.y + p->at.h > end ? p->at.y + p->at.h : end;
    b->at.x = p->at.x < b->at.x ? p->at.x : b->at.x;
    b->at.y = p->at.y < b->at.y ? p->at.y : b->at.y;
    b->at.w = right - b->at.x;
    b->at.h = end - b->at.y;
}

static void label_block_add(struct label_block *b, const struct label_line *line, uint32_t x)
{
    if (b->n <= 1)
        b->left = x;
    b->lines[b->n++] = *line;
    b->ended = b->ended || (line->place >= LABEL_ENDS_PLACE && b->n > 1);
    label_block_grow(b, line->piece);
}

/* Returns where the tokens of a line begin, as if it were upright. */
static uint32_t label_line_left(const struct label_page *page, const struct label_line *l)
{
    wharf_image_box box;

    if (!l->from || l->from >= l->piece->n_tokens || l->piece->orientation)
        return l->piece->at.x;
    box = label_box_of(page, l->piece, l->from, l->from + 1);
    return box.w ? box.x : l->piece->at.x;
}

/* ---- captions that stand alone ---- */

/* Tells how near a block stands to a caption, to its right or below; UINT32_MAX: it does not. */
static uint32_t label_beside(
    const struct label_page *page, const struct label_piece *caption, const struct label_block *b)
{
    const wharf_image_box *c = &caption->at;
    const struct label_piece *first = b->lines[0].piece;
    uint32_t height = c->h > first->at.h ? c->h : first->at.h, right = c->x + c->w,
             end = c->y + c->h;

    if (b->orientation != caption->orientation || label_ruled_apart(page, caption, first))
        return UINT32_MAX;
    if (first->at.x + height / 2 >= right && first->at.y + height * 2 >= c->y &&
        first->at.y <= end + height &&
        first->at.x - (first->at.x < right ? first->at.x : right) <=
            label_near_caption(caption, height) * BLOCK_BEHIND_CAPTION / 10)
        return first->at.x > right ? first->at.x - right : 0;
    if (first->at.y + height / 2 >= end &&
        (first->at.y > end ? first->at.y - end : 0) * 10 <= height * BLOCK_BELOW_CAPTION &&
        first->at.x < right + height * 2 && first->at.x + first->at.w > c->x)
        return (first->at.y > end ? first->at.y - end : 0) + height;
    return UINT32_MAX;
}

static void label_give_role(const struct label_page *page, struct label_block *blocks, size_t n,
    const struct label_block *of)
{
    struct label_block *best = NULL;
    uint32_t nearest = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        struct label_block *b = &blocks[i];
        uint32_t far;

        if (!b->n || b->role >= 0)
            continue;
        far = label_beside(page, of->caption, b);
        if (far < nearest) {
            nearest = far;
            best = b;
        }
    }
    if (!best)
        return;
    best->role = of->role;
    best->caption = of->caption;
}

/* ---- all of them ---- */

static struct label_block *label_block_for(const struct label_page *page,
    struct label_block *blocks, size_t n, const struct label_line *line, uint32_t x)
{
    struct label_block *best = NULL;
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        uint32_t far = label_fits_block(page, &blocks[i], line, x);

        if (far < least) {
            least = far;
            best = &blocks[i];
        }
    }
    return best;
}

/* Finds the block whose second line or so has the caption in front, to the left of all its lines:
 *            JANE DOE
 *     TO:    77 SUNSET BLVD
 *            MIAMI FL 33101 */
static struct label_block *label_block_beside(const struct label_page *page,
    struct label_block *blocks, size_t n, const struct label_line *line, uint32_t x)
{
    struct label_block *b = line->from < line->to ? label_block_for(page, blocks, n, line, x)
                                                  : NULL;
    uint32_t height = line->piece->at.h;

    if (!b || b->role >= 0 || b->ended || line->piece->at.x + height > b->left ||
        label_far(x, b->left) * 10 > height * BLOCK_LEFT)
        return NULL;
    return b;
}

static size_t label_collect_blocks(const struct label_page *page,
    const struct label_piece *const *order, struct label_block *blocks)
{
    size_t n = 0, places = 0;

    for (size_t i = 0; i < page->n_pieces; i++) {
        struct label_line line;
        struct label_block *b;
        uint32_t x;
        int role;

        if (!label_line_of(order[i], &line, &role))
            continue;
        x = label_line_left(page, &line);
        if (places < BLOCK_PLACES_MAX && label_digits(order[i]->text)) {
            places++;
            line.place = label_ends_place(page->env, label_line_text(&line));
        }
        b = role < 0 ? label_block_for(page, blocks, n, &line, x)
                     : label_block_beside(page, blocks, n, &line, x);
        if (b && role >= 0) {
            b->role = role;
            b->caption = order[i];
        }
        if (!b) {
            if (n == BLOCKS_MAX)
                break;
            b = &blocks[n++];
            b->role = role;
            b->orientation = order[i]->orientation;
            b->caption = role < 0 ? NULL : order[i];
            b->left = x;
        }
        if (line.from < line.to)
            label_block_add(b, &line, x);
    }
    return n;
}

size_t label_blocks(const struct label_page *page, struct label_block **ret)
{
    const struct label_piece **order = label_new(
        page->env, const struct label_piece *, page->n_pieces);
    size_t n, most = page->n_pieces < BLOCKS_MAX ? page->n_pieces : BLOCKS_MAX;

    for (size_t i = 0; i < page->n_pieces; i++)
        order[i] = &page->pieces[i];
    qsort(order, page->n_pieces, sizeof(*order), label_piece_order);
    *ret = label_new(page->env, struct label_block, most);
    n = label_collect_blocks(page, order, *ret);
    for (size_t i = 0; i < n; i++) {
        if (!(*ret)[i].n && (*ret)[i].role >= 0)
            label_give_role(page, *ret, n, &(*ret)[i]);
    }
    return n;
}
