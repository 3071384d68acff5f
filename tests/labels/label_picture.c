/* label_picture.c - see label_picture.h. */
#include "label_picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"

enum { WIDTH = 812, HEIGHT = 1218, MOST_WORDS = WHARF_IMAGE_WORDS_MAX, CONFIDENCE = 95 };

struct drawing {
    struct arena *a;
    wharf_image_word *words;
    wharf_image_line *lines;
    wharf_image_code *codes;
    wharf_image_box *rules;
    wharf_str *given;
    size_t n_given;
    uint32_t confidence;
    wharf_image_read *ret;
};

static wharf_image_box within(wharf_image_box b)
{
    b.x = b.x < WIDTH ? b.x : WIDTH - 1;
    b.y = b.y < HEIGHT ? b.y : HEIGHT - 1;
    b.w = b.w < WIDTH - b.x ? b.w : WIDTH - b.x;
    b.h = b.h < HEIGHT - b.y ? b.h : HEIGHT - b.y;
    return b;
}

/* Turns a box of upright text into the picture's. */
static wharf_image_box turned(wharf_image_box b, uint32_t orientation)
{
    switch (orientation) {
    case 90:
        return (wharf_image_box){WIDTH - b.y - b.h, b.x, b.h, b.w};
    case 180:
        return (wharf_image_box){WIDTH - b.x - b.w, HEIGHT - b.y - b.h, b.w, b.h};
    case 270:
        return (wharf_image_box){b.y, HEIGHT - b.x - b.w, b.h, b.w};
    default:
        return b;
    }
}

static void add_line(struct drawing *d, wharf_image_box at, uint32_t orientation, wharf_str text)
{
    wharf_image_read *r = d->ret;
    wharf_image_line *line = &d->lines[r->n_lines];
    char *joined = arena_alloc(d->a, text.n + 1);
    uint32_t letter = at.h * 6 / 10, column = 0, first = r->n_words;
    size_t used = 0;

    for (size_t i = 0; i < text.n && r->n_words < MOST_WORDS;) {
        size_t from = i;
        uint32_t begin;

        while (i < text.n && text.p[i] == ' ') {
            i++;
            column++;
        }
        from = i;
        begin = column;
        for (; i < text.n && text.p[i] != ' '; i++)
            column += ((unsigned char)text.p[i] & 0xc0) != 0x80;
        if (i == from)
            break;
        if (used)
            joined[used++] = ' ';
        memcpy(joined + used, text.p + from, i - from);
        d->words[r->n_words++] = (wharf_image_word){.text = {joined + used, i - from},
            .box = within(turned(
                (wharf_image_box){at.x + begin * letter, at.y, (column - begin) * letter, at.h},
                orientation)),
            .confidence = d->confidence,
            .line = r->n_lines,
            .orientation = orientation};
        used += i - from;
    }
    if (r->n_words == first)
        return;
    *line = (wharf_image_line){{joined, used}, d->words[first].box, first, r->n_words - first, 0};
    r->n_lines++;
}

static wharf_str unescaped(struct arena *a, wharf_str s)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned byte;
        char hex[3] = {0};

        if (s.p[i] == '\\' && i + 2 < s.n) {
            memcpy(hex, s.p + i + 1, 2);
            if (sscanf(hex, "%2x", &byte) == 1) {
                p[n++] = (char)byte;
                i += 2;
                continue;
            }
        }
        p[n++] = s.p[i];
    }
    return (wharf_str){p, n};
}

static void add_code(struct drawing *d, wharf_str text)
{
    static const char *const kinds[] = {"code128", "gs1_128", "code39", "qr", "pdf417",
        "datamatrix", "maxicode", "ean13", "upca", "itf", "aztec"};
    const char *blank = text.n ? memchr(text.p, ' ', text.n) : NULL;
    wharf_image_code *c = &d->codes[d->ret->n_codes];
    size_t n = blank ? (size_t)(blank - text.p) : text.n;

    if (!blank || d->ret->n_codes == WHARF_IMAGE_CODES_MAX)
        return;
    *c = (wharf_image_code){.symbology = "unknown", .box = {40, 900, 400, 100}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strlen(kinds[i]) == n && !memcmp(kinds[i], text.p, n)) {
            c->symbology = kinds[i];
            c->matrix = i >= 3 && i <= 6;
        }
    }
    c->value = unescaped(d->a, (wharf_str){blank + 1, text.n - n - 1});
    c->checked = true;
    d->ret->n_codes += c->value.n > 0;
}

static void draw(struct drawing *d, wharf_str line)
{
    char text[64] = {0};
    unsigned v[4] = {0};
    const char *bar = line.n ? memchr(line.p, '|', line.n) : NULL;

    memcpy(text, line.p, line.n < sizeof(text) - 1 ? line.n : sizeof(text) - 1);
    if (*text == '!') {
        add_code(d, (wharf_str){line.p + 1, line.n - 1});
    } else if (*text == '?' && d->n_given < 50) {
        d->given[d->n_given++] = unescaped(d->a, (wharf_str){line.p + 1, line.n - 1});
    } else if (*text == '%' && sscanf(text + 1, "%3u", &v[0]) == 1) {
        d->confidence = v[0] > 100 ? 100 : v[0];
    } else if (*text == '=' && d->ret->n_rules < WHARF_IMAGE_RULES_MAX &&
               sscanf(text + 1, "%4u %4u %4u %4u", &v[0], &v[1], &v[2], &v[3]) == 4) {
        d->rules[d->ret->n_rules++] = within((wharf_image_box){v[0], v[1], v[2], v[3]});
    } else if (bar && sscanf(text, "%4u %4u %3u@%3u", &v[0], &v[1], &v[2], &v[3]) >= 3) {
        add_line(d, (wharf_image_box){v[0], v[1], 0, v[2]}, v[3] % 360 / 90 * 90,
            (wharf_str){bar + 1, line.n - (size_t)(bar + 1 - line.p)});
    }
}

void label_picture_make(
    struct arena *a, wharf_str drawn, wharf_image_read *ret, struct label_given *ret_given)
{
    struct drawing d = {.a = a, .ret = ret, .confidence = CONFIDENCE};
    size_t most = drawn.n / 2 + 2; /* of anything: a word and a blank */

    d.words = arena_alloc(a, most * sizeof(*d.words));
    d.lines = arena_alloc(a, most * sizeof(*d.lines));
    d.codes = arena_alloc(a, most * sizeof(*d.codes));
    d.rules = arena_alloc(a, most * sizeof(*d.rules));
    d.given = arena_alloc(a, 50 * sizeof(*d.given));
    *ret = (wharf_image_read){.head = WHARF_HEAD(wharf_image_read),
        .format = "png",
        .width = WIDTH,
        .height = HEIGHT,
        .whole = true,
        .words = d.words,
        .lines = d.lines,
        .codes = d.codes,
        .rules = d.rules,
        .engine = "test",
        .engine_version = "1"};
    while (drawn.n) {
        const char *end = memchr(drawn.p, '\n', drawn.n);
        size_t n = end ? (size_t)(end - drawn.p) : drawn.n;

        draw(&d, (wharf_str){drawn.p, n});
        drawn = (wharf_str){drawn.p + n + (end ? 1 : 0), drawn.n - n - (end ? 1 : 0)};
    }
    if (ret_given)
        *ret_given = (struct label_given){d.given, d.n_given};
}

/* ---- fields ---- */

static const struct label_fact *fact_of(const struct label *l, const char *name)
{
    const struct {
        const char *name;
        const struct label_fact *fact;
    } facts[] = {{"tracking_number", &l->tracking_number}, {"provider_id", &l->provider_id},
        {"service_level_name", &l->service_level_name},
        {"provider_service_level_id", &l->provider_service_level_id}, {"ship_date", &l->ship_date},
        {"delivery_date", &l->delivery_date}, {"purchase_order", &l->purchase_order},
        {"order_number", &l->order_number}, {"invoice_number", &l->invoice_number},
        {"rma_number", &l->rma_number}, {"reference_number", &l->reference_number},
        {"account_id", &l->account_id}};

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (!strcmp(facts[i].name, name))
            return facts[i].fact;
    }
    return NULL;
}

static const struct label_fact *party_fact(const struct label_party *p, const char *name)
{
    const struct {
        const char *name;
        const struct label_fact *fact;
    } facts[] = {{"name", &p->name}, {"business", &p->business}, {"phone", &p->phone},
        {"email", &p->email}, {"line1", &p->line1}, {"line2", &p->line2}, {"city", &p->city},
        {"state_code", &p->state_code}, {"postal_code", &p->postal_code},
        {"country_code", &p->country_code}};

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (!strcmp(facts[i].name, name))
            return facts[i].fact;
    }
    return NULL;
}

static wharf_str thousandths(struct arena *a, int64_t v)
{
    return arena_printf(a, "%lld.%03lld", (long long)v / 1000, (long long)v % 1000);
}

static wharf_str list_of(struct arena *a, const struct label *l, const char *name)
{
    wharf_str s = str_z("");

    if (!strcmp(name, "tags")) {
        for (size_t i = 0; i < l->n_tags; i++)
            s = arena_printf(a, "%s%s%s", s.p, i ? "," : "", l->tags[i]);
    } else if (!strcmp(name, "references")) {
        for (size_t i = 0; i < l->n_references; i++)
            s = arena_printf(a, "%s%s%s:%.*s", s.p, i ? "," : "", l->references[i].type,
                (int)l->references[i].value.n, l->references[i].value.p);
    } else {
        for (size_t i = 0; i < l->n_codes; i++)
            s = arena_printf(a, "%s%s%s", s.p, i ? "," : "", l->codes[i].purpose);
    }
    return s.n ? s : str_z("-");
}

wharf_str label_picture_field(struct arena *a, const struct label *l, const char *name)
{
    const struct label_fact *f = !strncmp(name, "recipient.", 10)
                                     ? party_fact(&l->recipient, name + 10)
                                 : !strncmp(name, "sender.", 7) ? party_fact(&l->sender, name + 7)
                                                                : fact_of(l, name);

    if (f)
        return f->confidence ? f->value : str_z("-");
    if (!strcmp(name, "weight"))
        return l->weight.fact.confidence
                   ? arena_printf(a, "%s %s", thousandths(a, l->weight.value).p, l->weight.unit)
                   : str_z("-");
    if (!strcmp(name, "dimensions"))
        return l->dimensions.fact.confidence
                   ? arena_printf(a, "%s x %s x %s %s", thousandths(a, l->dimensions.length).p,
                         thousandths(a, l->dimensions.width).p,
                         thousandths(a, l->dimensions.height).p, l->dimensions.unit)
                   : str_z("-");
    if (!strcmp(name, "package"))
        return l->package.fact.confidence
                   ? arena_printf(a, "%u/%u", l->package.number, l->package.total)
                   : str_z("-");
    if (!strcmp(name, "classification"))
        return str_z(l->classification);
    if (!strcmp(name, "score"))
        return arena_printf(a, "%u", l->extraction_score);
    return list_of(a, l, name);
}
