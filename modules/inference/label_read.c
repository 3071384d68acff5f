/* label_read.c - reads one picture of a label (docs/spec/06-inference.md section 8): the parts of
 * label_inside.h, one after the other. See label.h. */
#include "label_inside.h"

/* Joins the lines, in reading order, to at most LABEL_TEXT_MAX bytes of whole characters. */
wharf_str label_raw_text(const struct label_env *env, const wharf_image_read *image)
{
    size_t room = 0, n = 0;
    char *p;
    wharf_str text;

    for (uint32_t i = 0; i < image->n_lines; i++)
        room += image->lines[i].text.n + 1;
    p = label_new(env, char, room + 1);
    for (uint32_t i = 0; i < image->n_lines; i++) {
        if (n)
            p[n++] = '\n';
        memcpy(p + n, image->lines[i].text.p, image->lines[i].text.n);
        n += image->lines[i].text.n;
    }
    text = label_utf8(env, (wharf_str){p, n});
    if (text.n > LABEL_TEXT_MAX) {
        text.n = LABEL_TEXT_MAX;
        while (text.n && ((uint8_t)text.p[text.n] & 0xc0) == 0x80)
            text.n--;
    }
    return text;
}

static wharf_str label_squeezed(const struct label_env *env, wharf_str s)
{
    char *p = label_new(env, char, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && s.p[i] != '-')
            p[n++] = (char)(s.p[i] >= 'a' && s.p[i] <= 'z' ? s.p[i] - ('a' - 'A') : s.p[i]);
    }
    return (wharf_str){p, n};
}

/* Marks the codes that are nothing else and whose value is printed as a reference. */
static void label_reference_codes(
    const struct label_env *env, struct label_coded *coded, const struct label *l)
{
    for (size_t i = 0; i < coded->n_codes; i++) {
        struct label_code *c = &coded->codes[i];
        wharf_str value = label_squeezed(env, c->value);

        for (size_t k = 0; k < l->n_references && !strcmp(c->purpose, "unknown"); k++) {
            if (value.n && same(value, label_squeezed(env, l->references[k].value)))
                c->purpose = "reference";
        }
    }
}

void label_read(const struct label_env *env, const wharf_image_read *image,
    const struct label_given *given, struct label *ret)
{
    struct label_coded *coded = label_new(env, struct label_coded, 1);
    struct label_page page;

    memset(ret, 0, sizeof(*ret));
    label_page_make(env, image, LABEL_SHIPPING_CAPTIONS, &page);
    label_coded_read(env, image, given, coded);
    label_numbers(&page, coded, ret);
    label_parties(&page, coded, ret);
    label_services_read(&page, coded, ret);
    label_fields(&page, coded, ret);
    label_tags(&page, ret);
    label_reference_codes(env, coded, ret);
    ret->codes = coded->codes;
    ret->n_codes = coded->n_codes;
    ret->raw_text = label_raw_text(env, image);
    label_class_read(&page, ret);
}

/* Counts the tokens from i that are the caption's; 0: they are not. */
static uint32_t label_custom_at(
    const struct label_piece *p, uint32_t i, const struct label_token *caption, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (i + k >= p->n_tokens || !same(p->tokens[i + k].key, caption[k].key))
            return 0;
    }
    return n;
}

bool label_custom(const struct label_env *env, const wharf_image_read *image, wharf_str caption,
    struct label_fact *ret)
{
    struct label_page page;
    uint32_t n, from;
    const struct label_token *t = label_tokens(env, caption, 0, &n);
    const struct label_piece *piece;

    *ret = (struct label_fact){.confidence = 0};
    label_page_make(env, image, LABEL_SHIPPING_CAPTIONS, &page);
    for (size_t i = 0; n && i < page.n_pieces; i++) {
        struct label_piece *p = &page.pieces[i];

        for (uint32_t k = 0; k < p->n_tokens; k++) {
            struct label_caption next = {LABEL_OTHER, 0, 0, false};
            wharf_image_box box;
            wharf_str value;

            if (!label_custom_at(p, k, t, n))
                continue;
            /* the piece with this caption and the one that comes behind it */
            for (uint32_t m = p->n_captions; m-- > 0;) {
                if (p->captions[m].from >= k + n)
                    next = p->captions[m];
            }
            p->captions[0] = (struct label_caption){LABEL_OTHER, k, k + n, true};
            p->captions[1] = next;
            p->n_captions = next.from ? 2 : 1;
            value = label_value(&page, p, 0, &box, &piece, &from);
            if (!value.n)
                break;
            label_set(
                ret, label_utf8(env, value), piece->confidence ? piece->confidence : 1, LABEL_TEXT);
            ret->box = box;
            return ret->confidence > 0;
        }
    }
    return false;
}
