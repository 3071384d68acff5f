/* fuzz_label.c - labels of any words and barcodes (modules/inference/label.h), written as
 * tests/labels/label_picture.h says; and the input itself as one barcode, in each of the ways that
 * barcodes are taken apart. The first byte chooses the country. Nothing crashes, and what is found
 * keeps the rules of label.h. */
#include <stdlib.h>
#include <string.h>

#include "label_picture.h"
#include "label_world.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good)
        abort();
}

static void check_fact(const struct label_fact *f)
{
    must(f->confidence <= 1000 && (f->confidence == 0) == (f->value.n == 0));
    must(!f->confidence || utf8_valid(f->value.p, f->value.n));
    must(f->source == LABEL_BARCODE || f->source == LABEL_TEXT || f->source == LABEL_REQUEST);
}

static void check_party(const struct label_party *p)
{
    const struct label_fact *facts[] = {&p->name, &p->business, &p->phone, &p->email, &p->line1,
        &p->line2, &p->city, &p->state_code, &p->postal_code, &p->country_code};

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact(facts[i]);
    must(!p->country_code.confidence || p->country_code.value.n == 2);
    must(utf8_valid(p->formatted.p ? p->formatted.p : "", p->formatted.n));
}

static void check(const struct label *l)
{
    const struct label_fact *facts[] = {&l->tracking_number, &l->provider_id,
        &l->service_level_name, &l->provider_service_level_id, &l->weight.fact, &l->dimensions.fact,
        &l->package.fact, &l->ship_date, &l->delivery_date, &l->purchase_order, &l->order_number,
        &l->invoice_number, &l->rma_number, &l->reference_number, &l->account_id};

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact(facts[i]);
    must(!l->weight.fact.confidence || (l->weight.value > 0 && l->weight.unit));
    must(!l->package.fact.confidence ||
         (l->package.number && l->package.number <= l->package.total));
    must(!l->ship_date.confidence || l->ship_date.value.n == 10);
    check_party(&l->recipient);
    check_party(&l->sender);
    must(l->extraction_score <= 10000 && l->classifier_score <= 10000 && l->classification);
    must(l->n_tags <= LABEL_TAGS_MAX && l->n_references <= LABEL_REFERENCES_MAX);
    must(l->raw_text.n <= LABEL_TEXT_MAX && utf8_valid(l->raw_text.p, l->raw_text.n));
    for (size_t i = 0; i < l->n_codes; i++)
        must(l->codes[i].purpose && l->codes[i].symbology);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const countries[] = {"US", "DE", "GB", "FR", "", "CA", "JP", "NL"};
    static struct label_world *world;
    struct arena *a = arena_new(0);
    wharf_image_read image;
    struct label_given given;
    wharf_image_code code = {.symbology = "gs1_128", .box = {0, 0, 10, 10}};
    struct label_env env;
    struct label l;
    struct item_label item;

    if (!world)
        world = label_world_new();
    if (!size) {
        arena_free(a);
        return 0;
    }
    env = label_world_env(world, a, countries[data[0] % 8], 20524);
    label_picture_make(a, (wharf_str){(const char *)data + 1, size - 1}, &image, &given);
    label_read(&env, &image, &given, &l);
    check(&l);
    item_label_read(&env, &image, &given, &item);
    code.value = (wharf_str){(const char *)data + 1, size - 1};
    image = (wharf_image_read){.width = 100, .height = 100, .codes = &code, .n_codes = size > 1};
    label_read(&env, &image, NULL, &l);
    check(&l);
    item_label_read(&env, &image, NULL, &item);
    code.symbology = "pdf417";
    label_read(&env, &image, &given, &l);
    check(&l);
    arena_free(a);
    return 0;
}
