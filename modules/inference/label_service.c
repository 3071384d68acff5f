/* label_service.c - service level and tags of a label (docs/spec/06-inference.md section 8.5): by
 * words of the carrier's services, else by the service's code in a number or symbol, else by words
 * that all carriers have. See label_inside.h. */
#include "label_inside.h"

enum { SERVICE_TEXT = 900, SERVICE_CODE = 950, SERVICE_ANY = 800, S10_SIGNS = 13 };

/* Tells whether the code is one of the list, whose members have a blank between. */
static bool label_code_listed(const char *list, wharf_str code)
{
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, " ");

        if (n == code.n && !memcmp(p, code.p, n))
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

static void label_put_service(
    struct label *ret, const struct label_service *s, uint32_t confidence, uint32_t source)
{
    label_set(&ret->service_level_name, wharf_z(s->name), confidence, source);
    label_set(&ret->provider_service_level_id, wharf_z(s->level), confidence, source);
}

/* Finds the service of the provider whose code is known. */
static const struct label_service *label_service_by_code(wharf_str provider, wharf_str code)
{
    for (size_t i = 0; i < label_services_count && code.n; i++) {
        if (is(provider, label_services[i].provider) &&
            label_code_listed(label_services[i].codes, code))
            return &label_services[i];
    }
    return NULL;
}

/* Finds the longest of the provider's services that begins at a token. */
static const struct label_service *label_service_at(
    const struct label_piece *p, uint32_t i, wharf_str provider, uint32_t *ret_n)
{
    for (uint32_t end = i + 6 < p->n_tokens ? i + 6 : p->n_tokens; end > i; end--) {
        const struct label_word *w = label_phrase(
            p->tokens, end, i, LABEL_BIT(LABEL_SERVICE), ret_n);

        for (; w; w = label_next_phrase(w, LABEL_BIT(LABEL_SERVICE))) {
            if (is(provider, label_services[w->ref].provider))
                return &label_services[w->ref];
        }
    }
    return NULL;
}

/* Finds the longest service that is printed. alone: nothing else may stand on its line. */
static const struct label_service *label_service_printed(const struct label_page *page,
    wharf_str provider, bool alone, const struct label_piece **ret_piece, wharf_image_box *ret_box)
{
    const struct label_service *best = NULL;
    size_t most = 0;

    for (size_t k = 0; k < page->n_pieces; k++) {
        const struct label_piece *p = &page->pieces[k];

        for (uint32_t i = 0, n; i < p->n_tokens; i++) {
            const struct label_service *s = label_service_at(p, i, provider, &n);
            wharf_str text;

            if (!s || (alone && n < p->n_tokens))
                continue;
            text = label_text_of(p, i, i + n);
            if (text.n <= most)
                continue;
            most = text.n;
            best = s;
            *ret_piece = p;
            *ret_box = label_box_of(page, p, i, i + n);
        }
    }
    return best;
}

/* Finds the class that the first letter of a number of the posts says (UPU S10): letters and
 * parcels are postal, EMS is express. NULL: it is no such number. */
static const char *label_service_s10(wharf_str number)
{
    wharf_str digits = {number.p + 2, number.n > 4 ? number.n - 4 : 0};

    if (number.n != S10_SIGNS || !label_all_digits(digits) || label_letters(number) != 4)
        return NULL;
    return *number.p == 'E' ? "express" : strchr("CLRUV", *number.p) ? "postal" : NULL;
}

/* Takes what is not the carrier's own: the letter of a number of the posts, then words that stand
 * alone on a line and mean the same to all, "OVERNIGHT" for example. */
static void label_services_of_all(const struct label_page *page, struct label *ret)
{
    const char *s10 = label_service_s10(ret->tracking_number.value);
    const struct label_piece *piece = NULL;
    const struct label_service *s;
    wharf_image_box box;

    if (s10) {
        label_set(&ret->service_level_name, wharf_z(s10), SERVICE_CODE, LABEL_BARCODE);
        ret->service_level_name.source = ret->tracking_number.source;
        return;
    }
    s = label_service_printed(page, wharf_z("any"), true, &piece, &box);
    if (!s)
        return;
    label_set(&ret->service_level_name, wharf_z(s->name), piece->confidence * SERVICE_ANY / 1000,
        LABEL_TEXT);
    ret->service_level_name.box = box;
}

void label_services_read(
    const struct label_page *page, const struct label_coded *coded, struct label *ret)
{
    wharf_str provider = ret->provider_id.value, number = ret->tracking_number.value;
    const struct label_piece *piece = NULL;
    wharf_image_box box;
    const struct label_service *s, *coded_one;

    if (!provider.n)
        return;
    coded_one = label_service_by_code(provider, coded->service.value);
    if (!coded_one && is(provider, "ups") && number.n == 18 && !memcmp(number.p, "1Z", 2))
        coded_one = label_service_by_code(provider, (wharf_str){number.p + 8, 2});
    s = label_service_printed(page, provider, false, &piece, &box);
    /* a code and words of two classes: the code is read by a machine */
    if (s && !(coded_one && strcmp(coded_one->name, s->name) != 0)) {
        uint32_t sure = piece->confidence * SERVICE_TEXT / 1000;

        label_put_service(ret, s, coded_one ? label_both(sure, SERVICE_CODE) : sure, LABEL_TEXT);
        ret->service_level_name.box = ret->provider_service_level_id.box = box;
    } else if (coded_one) {
        label_put_service(ret, coded_one, SERVICE_CODE, LABEL_BARCODE);
    } else if (is(coded->service.value, "FDEG") && is(provider, "fedex")) {
        label_set(&ret->service_level_name, wharf_z("ground"), SERVICE_CODE, LABEL_BARCODE);
    } else {
        label_services_of_all(page, ret);
    }
}

void label_tags(const struct label_page *page, struct label *ret)
{
    for (size_t k = 0; k < page->n_pieces; k++) {
        const struct label_piece *p = &page->pieces[k];

        for (uint32_t i = 0, n; i < p->n_tokens; i++) {
            const struct label_word *w = label_phrase(
                p->tokens, p->n_tokens, i, LABEL_BIT(LABEL_TAG), &n);

            for (; w; w = label_next_phrase(w, LABEL_BIT(LABEL_TAG))) {
                const char *tag = label_names[w->ref];
                size_t at = word_place(wharf_z(tag), ret->tags, ret->n_tags);

                if (at == ret->n_tags && ret->n_tags < LABEL_TAGS_MAX)
                    ret->tags[ret->n_tags++] = tag;
            }
        }
    }
}
