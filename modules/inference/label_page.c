/* label_page.c - lines of a picture as pieces without wide gaps, their words as tokens, and the
 * captions among them (docs/spec/06-inference.md section 8.3, 8.5). See label_inside.h; leaves to
 * others what a value means. */
#include "label_inside.h"

enum {
    LABEL_PHRASE_WORDS = 6,
    LABEL_PHRASE_BYTES = 64,
    LABEL_STACKED = 8, /* pieces in which the lower half of a caption is looked for */
    LABEL_GAP = 18, /* tenths of the height of a line */
    LABEL_DOUBTED = 50, /* confidence of a word, of 100 */
    LABEL_CLEAR = 80,
    LABEL_HIGHER = 135, /* per 100 */
    LABEL_LOWEST = 6, /* tenths of the same: letters without ascenders */
    LABEL_GAP_BEHIND_CAPTION = 14, /* lines' heights */
};

/* ---- words of the table ---- */

static int label_word_order(const char *key, wharf_str s)
{
    size_t n = strlen(key);
    int order = memcmp(key, s.p, n < s.n ? n : s.n);

    return order ? order : (n > s.n) - (n < s.n);
}

/* Finds the first row with the key. */
static const struct label_word *label_word_of(wharf_str key)
{
    size_t lo = 0, hi = label_words_count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (label_word_order(label_words[mid].key, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < label_words_count && !label_word_order(label_words[lo].key, key) ? &label_words[lo]
                                                                                 : NULL;
}

static const struct label_word *label_of_kinds(
    const struct label_word *w, wharf_str key, uint64_t kinds)
{
    for (; w && w < label_words + label_words_count; w++) {
        if (label_word_order(w->key, key))
            return NULL;
        if (LABEL_BIT(w->kind) & kinds)
            return w;
    }
    return NULL;
}

const struct label_word *label_next_phrase(const struct label_word *w, uint64_t kinds)
{
    return label_of_kinds(w + 1, wharf_z(w->key), kinds);
}

const struct label_word *label_phrase(
    const struct label_token *t, uint32_t n, uint32_t i, uint64_t kinds, uint32_t *ret_n)
{
    char room[LABEL_PHRASE_BYTES];
    size_t used = 0;
    const struct label_word *best = NULL;

    for (uint32_t k = i; k < n && k < i + LABEL_PHRASE_WORDS; k++) {
        wharf_str key = t[k].key;
        const struct label_word *w;

        if (used + key.n + 1 > sizeof(room))
            break;
        if (used)
            room[used++] = ' ';
        memcpy(room + used, key.p, key.n);
        used += key.n;
        w = label_of_kinds(label_word_of((wharf_str){room, used}), (wharf_str){room, used}, kinds);
        if (w) {
            best = w;
            *ret_n = k + 1 - i;
        }
        if (t[k].mark)
            break;
    }
    return best;
}

bool label_has_phrase(const struct label_env *env, wharf_str text, uint64_t kinds)
{
    uint32_t n, length;
    const struct label_token *t = label_tokens(env, text, 0, &n);

    for (uint32_t i = 0; i < n; i++) {
        if (label_phrase(t, n, i, kinds, &length))
            return true;
    }
    return false;
}

/* ---- tokens ---- */

static bool label_is_mark(char c)
{
    return c == ':' || c == '#' || c == '=';
}

static bool label_is_edge(char c)
{
    return c == ' ' || c == '\n' || c == ',' || c == ';' || c == '|' || c == '"' || c == '*';
}

static wharf_str label_without_brackets(wharf_str s)
{
    while (s.n && strchr("()[]!", *s.p)) {
        s.p++;
        s.n--;
    }
    while (s.n && strchr("()[]!", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Tells whether the mark at i is within a number or time ("12:00"), or in front of one ("#5"). */
static bool label_is_inner(wharf_str text, size_t i)
{
    return text.p[i] == ':' && i && i + 1 < text.n && text.p[i - 1] >= '0' &&
           text.p[i - 1] <= '9' && text.p[i + 1] >= '0' && text.p[i + 1] <= '9';
}

struct label_token *label_tokens(
    const struct label_env *env, wharf_str text, uint32_t first_word, uint32_t *ret_n)
{
    struct label_token *t = label_new(env, struct label_token, text.n / 2 + 1);
    uint32_t n = 0, word = first_word;

    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        wharf_str part;

        while (i < text.n && !label_is_edge(text.p[i]) &&
               (!label_is_mark(text.p[i]) || label_is_inner(text, i)))
            i++;
        part = label_without_brackets((wharf_str){text.p + from, i - from});
        if (part.n) {
            wharf_str key = label_key(env, part);

            if (key.n)
                t[n++] = (struct label_token){.key = key,
                    .from = (uint32_t)(part.p - text.p),
                    .to = (uint32_t)(part.p - text.p + part.n),
                    .word = word,
                    .digit = label_digits(part) > 0};
        }
        for (; i < text.n && (label_is_edge(text.p[i]) || label_is_mark(text.p[i])); i++) {
            if (label_is_inner(text, i))
                break;
            if (label_is_mark(text.p[i]) && n)
                t[n - 1].mark = true;
            word += text.p[i] == ' ';
        }
    }
    *ret_n = n;
    return t;
}

/* ---- captions ---- */

static bool label_caption_holds(
    const struct label_piece *p, const struct label_word *w, uint32_t i, uint32_t end, bool mark)
{
    bool first = i == 0, last = end == p->n_tokens;

    if (w->kind == LABEL_NO_CAPTION)
        return true;
    /* a letter alone is none without its mark */
    /* "10:" for "TO:" */
    if (w->needs == LABEL_MARKED && p->tokens[i].digit)
        return first && mark;
    return w->needs == LABEL_MARKED   ? mark || (first && last && p->text.n > 1)
           : w->needs == LABEL_BEGINS ? mark || first
                                      : true;
}

/* Skips what may stand between a caption and its value: "NO.", "NR", "1" before a mark. */
static uint32_t label_skip_fillers(const struct label_piece *p, uint32_t i, bool *mark)
{
    while (!*mark && i < p->n_tokens) {
        uint32_t n = 0;
        const struct label_word *w = label_phrase(
            p->tokens, p->n_tokens, i, LABEL_BIT(LABEL_FILLER), &n);

        if (!w || (p->tokens[i].digit && !p->tokens[i + n - 1].mark))
            break;
        *mark = p->tokens[i + n - 1].mark;
        i += n;
    }
    return i;
}

/* Finds the caption at a token; one that has a meaning before one that has none. */
static const struct label_word *label_caption_at(
    const struct label_piece *p, uint32_t i, uint64_t kinds, uint32_t *ret_n)
{
    uint32_t n = 0, n_other = 0;
    const struct label_word *w = label_phrase(
        p->tokens, p->n_tokens, i, kinds & ~LABEL_BIT(LABEL_OTHER), &n);
    const struct label_word *other = label_phrase(
        p->tokens, p->n_tokens, i, kinds & LABEL_BIT(LABEL_OTHER), &n_other);

    *ret_n = other && n_other > n ? n_other : n;
    return other && n_other > n ? other : w;
}

static void label_find_captions(struct label_piece *p, uint64_t kinds)
{
    for (uint32_t i = 0, n; i < p->n_tokens && p->n_captions < LABEL_CAPTIONS_MAX; i += n) {
        const struct label_word *w = label_caption_at(p, i, kinds, &n);
        uint32_t value;
        bool mark;

        if (!w) {
            n = 1;
            continue;
        }
        mark = p->tokens[i + n - 1].mark;
        value = label_skip_fillers(p, i + n, &mark);
        if (!label_caption_holds(p, w, i, value, mark)) {
            n = 1;
            continue;
        }
        if (w->kind != LABEL_NO_CAPTION)
            p->captions[p->n_captions++] = (struct label_caption){w->kind, i, value, mark};
        n = value - i;
    }
}

/* ---- pieces ---- */

/* Turns a box so that text of this orientation is upright. */
static wharf_image_box label_upright(
    const wharf_image_read *image, wharf_image_box b, uint32_t orientation)
{
    uint32_t right = b.x + b.w < image->width ? image->width - b.x - b.w : 0,
             below = b.y + b.h < image->height ? image->height - b.y - b.h : 0;

    switch (orientation) {
    case 90:
        return (wharf_image_box){b.y, right, b.h, b.w};
    case 180:
        return (wharf_image_box){right, below, b.w, b.h};
    case 270:
        return (wharf_image_box){below, b.x, b.h, b.w};
    default:
        return b;
    }
}

static wharf_image_box label_union(wharf_image_box a, wharf_image_box b)
{
    uint32_t x = a.x < b.x ? a.x : b.x, y = a.y < b.y ? a.y : b.y;
    uint32_t right = a.x + a.w > b.x + b.w ? a.x + a.w : b.x + b.w;
    uint32_t end = a.y + a.h > b.y + b.h ? a.y + a.h : b.y + b.h;

    return (wharf_image_box){x, y, right - x, end - y};
}

/* Makes the piece of n words of the picture. */
static void label_piece_make(const struct label_env *env, const wharf_image_read *image,
    uint32_t first, uint32_t n, uint64_t captions, struct label_piece *ret)
{
    size_t bytes = 0, used = 0;
    uint64_t sure = 0, letters = 0;
    char *text;

    for (uint32_t i = first; i < first + n; i++)
        bytes += image->words[i].text.n + 1;
    text = label_new(env, char, bytes + 1);
    ret->box = image->words[first].box;
    for (uint32_t i = first; i < first + n; i++) {
        const wharf_image_word *w = &image->words[i];

        if (i > first)
            text[used++] = ' ';
        for (size_t k = 0; k < w->text.n; k++) /* one blank between words, so that they count */
            text[used++] = (char)(w->text.p[k] == ' ' || w->text.p[k] == '\n' ? '_' : w->text.p[k]);
        ret->box = label_union(ret->box, w->box);
        sure += w->confidence * (uint64_t)w->text.n * 10;
        letters += w->text.n;
    }
    ret->text = (wharf_str){text, used};
    ret->first_word = first;
    ret->n_words = n;
    ret->orientation = image->words[first].orientation % 360 / 90 * 90;
    ret->confidence = letters ? (uint32_t)(sure / letters) : 0;
    ret->at = label_upright(image, ret->box, ret->orientation);
    ret->tokens = label_tokens(env, ret->text, first, &ret->n_tokens);
    label_find_captions(ret, captions);
}

/* Tells whether a dark rule stands upright between two words. */
static bool label_rule_between(
    const wharf_image_read *image, const wharf_image_box *a, const wharf_image_box *b)
{
    for (uint32_t i = 0; i < image->n_rules; i++) {
        const wharf_image_box *r = &image->rules[i];

        if (r->h > r->w && r->x + r->w > a->x + a->w && r->x < b->x && r->y < a->y + a->h &&
            r->y + r->h > a->y)
            return true;
    }
    return false;
}

/* Tells whether one of two words is no word: OCR is not sure of it, and it is higher than the
 * other, a caption of two lines for example. */
static bool label_is_noise(
    const wharf_image_word *a, const wharf_image_word *b, uint32_t height_a, uint32_t height_b)
{
    uint32_t least = a->confidence < b->confidence ? a->confidence : b->confidence;
    uint32_t low = height_a < height_b ? height_a : height_b,
             high = height_a > height_b ? height_a : height_b;

    return least < LABEL_DOUBTED && a->confidence + b->confidence >= least + LABEL_CLEAR &&
           high * 100 >= low * LABEL_HIGHER;
}

static bool label_wide_gap(const wharf_image_read *image, uint32_t i, uint32_t height)
{
    const wharf_image_word *a = &image->words[i - 1], *b = &image->words[i];
    uint32_t orientation = a->orientation % 360 / 90 * 90;
    wharf_image_box left, right;
    uint32_t gap;

    if (a->orientation != b->orientation)
        return true;
    left = label_upright(image, a->box, orientation);
    right = label_upright(image, b->box, orientation);
    gap = right.x > left.x + left.w ? right.x - left.x - left.w : 0;
    if (label_is_noise(a, b, left.h, right.h))
        return true;
    /* what is much higher is no letter; a dash has no height that counts */
    if (left.h < height && left.h * 10 >= height * LABEL_LOWEST)
        height = left.h;
    if (right.h < height && right.h * 10 >= height * LABEL_LOWEST)
        height = right.h;
    return gap * 10 > height * LABEL_GAP ||
           (!orientation && label_rule_between(image, &left, &right));
}

/* Returns the height of a line: the median would need sorting, the mean is good enough. */
static uint32_t label_line_height(const wharf_image_read *image, const wharf_image_line *l)
{
    uint64_t sum = 0;

    for (uint32_t i = l->first_word; i < l->first_word + l->n_words; i++) {
        const wharf_image_word *w = &image->words[i];

        sum += w->orientation % 180 ? w->box.w : w->box.h;
    }
    return l->n_words ? (uint32_t)(sum / l->n_words) : 0;
}

/* Tells whether a piece is the upper half of a caption: "SHIP". */
static bool label_is_upper_half(const struct label_piece *p)
{
    static const char *const above[] = {"ship", "deliver", "send", "return"};
    bool known = p->n_captions && !p->captions[0].from;

    return p->n_tokens && !p->tokens[0].mark && !(known && p->n_tokens > 1) &&
           word_place(p->tokens[0].key, above, 4) < 4;
}

/* Tells whether a piece is the lower half of it, "TO:", and stands below. */
static bool label_is_lower_half(const struct label_piece *p, const struct label_piece *q)
{
    uint32_t far = q->at.x > p->at.x ? q->at.x - p->at.x : p->at.x - q->at.x;

    return q->n_captions && !q->captions[0].from && q->captions[0].kind == LABEL_RECIPIENT &&
           is(q->tokens[0].key, "to") && far <= p->at.h && q->at.y >= p->at.y + p->at.h / 2 &&
           q->at.y <= p->at.y + 3 * p->at.h;
}

/* Makes the upper half the caption, and the lower one none any more. */
static void label_join_halves(struct label_piece *p, struct label_piece *q)
{
    if (!p->n_captions || p->captions[0].from) {
        memmove(p->captions + 1, p->captions,
            (p->n_captions < LABEL_CAPTIONS_MAX ? p->n_captions : LABEL_CAPTIONS_MAX - 1) *
                sizeof(*p->captions));
        p->n_captions += p->n_captions < LABEL_CAPTIONS_MAX;
    }
    p->captions[0] = (struct label_caption){
        is(p->tokens[0].key, "return") ? LABEL_SENDER : LABEL_RECIPIENT, 0, 1, true};
    q->begin = q->captions[0].value;
    memmove(q->captions, q->captions + 1, (q->n_captions - 1) * sizeof(*q->captions));
    q->n_captions--;
}

/* Joins "SHIP" and "TO:" that stand below each other, with the address to the right of both. */
static void label_join_stacked(struct label_page *page)
{
    for (size_t i = 0; i + 1 < page->n_pieces; i++) {
        struct label_piece *p = &page->pieces[i];

        if (!label_is_upper_half(p))
            continue;
        for (size_t k = i + 1; k < page->n_pieces && k < i + LABEL_STACKED; k++) {
            if (label_is_lower_half(p, &page->pieces[k])) {
                label_join_halves(p, &page->pieces[k]);
                break;
            }
        }
    }
}

void label_page_make(const struct label_env *env, const wharf_image_read *image, uint64_t captions,
    struct label_page *ret)
{
    *ret = (struct label_page){.env = env, .image = image};
    ret->pieces = label_new(env, struct label_piece, image->n_words);
    for (uint32_t k = 0; k < image->n_lines; k++) {
        const wharf_image_line *l = &image->lines[k];
        uint32_t from = l->first_word, end, height;

        if (l->n_words > image->n_words || from > image->n_words - l->n_words)
            continue;
        end = from + l->n_words;
        height = label_line_height(image, l);
        for (uint32_t i = from + 1; i <= end && ret->n_pieces < image->n_words; i++) {
            if (i < end && !label_wide_gap(image, i, height))
                continue;
            label_piece_make(env, image, from, i - from, captions, &ret->pieces[ret->n_pieces]);
            ret->pieces[ret->n_pieces++].line = k;
            from = i;
        }
    }
    label_join_stacked(ret);
}

/* ---- values ---- */

wharf_str label_text_of(const struct label_piece *p, uint32_t from, uint32_t to)
{
    size_t begin, end;

    if (from >= to || to > p->n_tokens)
        return (wharf_str){"", 0};
    begin = p->tokens[from].from;
    if (begin && (p->text.p[begin - 1] == '#' || p->text.p[begin - 1] == '('))
        begin--;
    end = to < p->n_tokens ? p->tokens[to].from : p->text.n;
    return label_trim((wharf_str){p->text.p + begin, end - begin});
}

wharf_image_box label_box_of(
    const struct label_page *page, const struct label_piece *p, uint32_t from, uint32_t to)
{
    wharf_image_box b = {0, 0, 0, 0};

    for (uint32_t i = from; i < to && i < p->n_tokens; i++) {
        uint32_t word = p->tokens[i].word;

        if (word >= page->image->n_words)
            continue;
        b = b.w ? label_union(b, page->image->words[word].box) : page->image->words[word].box;
    }
    return b;
}

/* Finds the piece to the right on the same line of the picture. */
static const struct label_piece *label_right_of(
    const struct label_page *page, const struct label_piece *p)
{
    const struct label_piece *next = p + 1;

    if (next >= page->pieces + page->n_pieces || next->line != p->line ||
        next->orientation != p->orientation || next->at.x < p->at.x ||
        next->at.x - p->at.x > p->at.w + p->at.h * LABEL_GAP_BEHIND_CAPTION)
        return NULL;
    return next;
}

wharf_str label_value(const struct label_page *page, const struct label_piece *p, uint32_t k,
    wharf_image_box *ret_box, const struct label_piece **ret_piece, uint32_t *ret_from)
{
    uint32_t from = p->captions[k].value,
             to = k + 1 < p->n_captions ? p->captions[k + 1].from : p->n_tokens;

    if (from >= to && k + 1 == p->n_captions) {
        p = label_right_of(page, p);
        if (!p || (p->n_captions && !p->captions[0].from))
            return (wharf_str){"", 0};
        from = 0;
        to = p->n_captions ? p->captions[0].from : p->n_tokens;
    }
    *ret_box = label_box_of(page, p, from, to);
    *ret_piece = p;
    *ret_from = from;
    return label_text_of(p, from, to);
}
