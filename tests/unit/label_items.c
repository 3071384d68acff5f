/* label_items.c - labels of items (modules/inference/label.h, docs/spec/06-inference.md section
 * 11): pictures written as text (tests/labels/label_picture.h) and what must come out. */
#include "unit.h"

#include <string.h>

#include "label_picture.h"
#include "label_world.h"
#include "wharf/civil.h"

static void put_fact(struct buf *out, const char *name, const struct label_fact *f)
{
    if (!f->confidence)
        return;
    if (out->n)
        buf_addc(out, ' ');
    buf_addz(out, name);
    buf_addc(out, '=');
    buf_adds(out, f->value);
}

static wharf_str items_shown(struct arena *a, const struct item_label *l)
{
    struct buf out;
    wharf_str s;

    buf_init(&out, 1 << 16);
    put_fact(&out, "name", &l->item_name);
    put_fact(&out, "carton", &l->carton_number);
    put_fact(&out, "lot", &l->lot_number);
    put_fact(&out, "serial", &l->serial_number);
    put_fact(&out, "gtin", &l->gtin);
    put_fact(&out, "sku", &l->sku);
    put_fact(&out, "sscc", &l->sscc);
    put_fact(&out, "qty", &l->quantity);
    for (size_t i = 0; i < l->n_item_numbers; i++)
        put_fact(&out, "item", &l->item_numbers[i]);
    for (size_t i = 0; i < l->n_purchase_orders; i++)
        put_fact(&out, "po", &l->purchase_orders[i]);
    put_fact(&out, "made", &l->production_date);
    put_fact(&out, "exp", &l->expiry_date);
    put_fact(&out, "by", &l->supplier);
    if (l->weight.fact.confidence)
        buf_adds(&out, arena_printf(a, " kg=%lld", (long long)l->weight.value));
    s = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return s;
}

static void items(void **state)
{
    static const struct {
        const char *drawn, *shown;
    } cases[] = {
        {"!gs1_128 01006141411234521727123110A-1\\1d21S77\n",
            "lot=A-1 serial=S77 gtin=00614141123452 exp=2027-12-31"},
        {"!gs1_128 17270200\\1d3712\n", "qty=12 exp=2027-02-28"},
        {"!gs1_128 01006141411234531727123110A\n", ""}, /* its check digit is wrong */
        {"!datamatrix [)>\\1e06\\1dP4711-A\\1d1TL9\\1dQ25\\1dKPO-7\\1dSX1\\1e\\04\n",
            "lot=L9 serial=X1 qty=25 item=4711-A po=PO-7"},
        {"!ean13 4006381333931\n", "gtin=04006381333931"},
        {"!upca 036000291452\n", "gtin=00036000291452"},
        {"!code128 P4711\n10 10 20|PART NO: 4711\n", "item=4711"},
        {"!code128 P4711\n", ""},
        {"!code128 PLATE7\n10 10 20|PLATE7\n", ""},
        {"10 10 20|LOT: A-55\n10 40 20|QTY: 10\n10 70 20|SKU 99-1\n10 100 20|CARTON# 7\n",
            "carton=7 lot=A-55 sku=99-1 qty=10"},
        {"10 10 20|P/N 4711-A\n10 40 20|ITEM: 22\n10 70 20|PO# 5-1\n",
            "item=4711-A item=22 po=5-1"},
        {"10 10 20|EXP: 31/12/2027\n10 40 20|MFG DATE 2025-01-05\n",
            "made=2025-01-05 exp=2027-12-31"},
        {"10 10 20|UPC: 036000291452\n", "gtin=00036000291452"},
        {"10 10 20|UPC: 036000291453\n", ""},
        {"10 10 20|ITEM NAME: Blue widget\n", "name=Blue widget"},
        {"10 10 20|SUPPLIER: ACME SUPPLY COMPANY\n", "by=ACME SUPPLY COMPANY"},
        {"10 10 20|MANUFACTURED BY Nordwind GmbH & Co. KG\n10 40 20|LOT: A-55\n",
            "lot=A-55 by=Nordwind GmbH & Co. KG"},
        {"10 10 20|VENDOR NO 12345\n10 40 20|VENDOR: 12345\n10 70 20|SUPPLIER CODE AB\n", ""},
        {"10 10 20|QTY: 1,000\n", ""},
        {"10 10 20|LOT:\n10 40 20|hello\n", ""},
    };
    struct label_world *world = label_world_new();
    struct label_env env = label_world_env(world, *state, "US", wharf_days_of(2026, 3, 12));
    size_t wrong = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wharf_image_read image;
        struct label_given given;
        struct item_label l;
        wharf_str got;

        label_picture_make(*state, str_z(cases[i].drawn), &image, &given);
        item_label_read(&env, &image, &given, &l);
        got = items_shown(*state, &l);
        assert_int_equal(l.any, got.n > 0);
        if (!str_eq(got, str_z(cases[i].shown))) {
            print_error("%zu: \"%.*s\", not \"%s\"\n", i, (int)got.n, got.p, cases[i].shown);
            wrong++;
        }
    }
    label_world_free(world);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(items)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
