/* once.c - reads pictures of labels in the real image cell and prints what they say
 * (modules/inference/label.h), a line of JSON for each. For tests of labels, and by hand:
 *
 *   label-once [--country US] [--today 2026-03-12] [--text] FOLDER-OF-CELLS FILE...
 *
 * --text: the words of the picture go to standard error as well. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cell/cell.h"
#include "image/host_image.h"
#include "image/image_read.h"
#include "image_once.h"
#include "label_world.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/civil.h"

enum { DAY = 86400 };

static bool show_text;

/* ---- JSON ---- */

static void print_member(const char *name, const struct label_fact *f)
{
    printf("\"%s\":", name);
    if (f->confidence)
        image_once_print_text(f->value);
    else
        printf("null");
}

static void print_party(const char *name, const struct label_party *p)
{
    static const char *const names[] = {
        "line1", "line2", "city", "state_code", "postal_code", "country_code"};
    const struct label_fact *parts[] = {
        &p->line1, &p->line2, &p->city, &p->state_code, &p->postal_code, &p->country_code};
    bool any = p->name.confidence || p->business.confidence || p->postal_code.confidence ||
               p->line1.confidence || p->phone.confidence;

    printf(",\"%s\":", name);
    if (!any) {
        printf("null");
        return;
    }
    putchar('{');
    print_member("name", &p->name);
    putchar(',');
    print_member("business", &p->business);
    putchar(',');
    print_member("phone", &p->phone);
    putchar(',');
    print_member("email", &p->email);
    printf(",\"address\":{");
    for (size_t i = 0; i < 6; i++) {
        printf("%s", i ? "," : "");
        print_member(names[i], parts[i]);
    }
    printf("}}");
}

static void print_thousandths(int64_t v)
{
    printf("%lld.%03lld", (long long)v / 1000, (long long)v % 1000);
}

static void print_measures(const struct label *l)
{
    printf(",\"weight\":");
    if (l->weight.fact.confidence) {
        printf("{\"value\":");
        print_thousandths(l->weight.value);
        printf(",\"unit\":\"%s\"}", l->weight.unit);
    } else {
        printf("null");
    }
    printf(",\"dimensions\":");
    if (l->dimensions.fact.confidence) {
        printf("{\"length\":");
        print_thousandths(l->dimensions.length);
        printf(",\"width\":");
        print_thousandths(l->dimensions.width);
        printf(",\"height\":");
        print_thousandths(l->dimensions.height);
        printf(",\"unit\":\"%s\"}", l->dimensions.unit);
    } else {
        printf("null");
    }
    printf(",\"package\":");
    if (l->package.fact.confidence)
        printf("{\"number\":%u,\"total\":%u}", l->package.number, l->package.total);
    else
        printf("null");
}

static void print_lists(const struct label *l)
{
    printf(",\"references\":[");
    for (size_t i = 0; i < l->n_references; i++) {
        printf("%s{\"type\":\"%s\",\"value\":", i ? "," : "", l->references[i].type);
        image_once_print_text(l->references[i].value);
        putchar('}');
    }
    printf("],\"tags\":[");
    for (size_t i = 0; i < l->n_tags; i++)
        printf("%s\"%s\"", i ? "," : "", l->tags[i]);
    printf("],\"barcodes\":[");
    for (size_t i = 0; i < l->n_codes; i++) {
        const struct label_code *c = &l->codes[i];

        printf("%s{\"symbology\":\"%s\",\"purpose\":\"%s\",\"value\":\"", i ? "," : "",
            c->symbology, c->purpose);
        for (size_t k = 0; k < c->value.n; k++)
            printf("\\u%04x", (unsigned char)c->value.p[k]);
        printf("\"}");
    }
    putchar(']');
}

static void print_label(const struct label *l)
{
    static const char *const names[] = {"tracking_number", "provider_id", "service_level_name",
        "provider_service_level_id", "ship_date", "delivery_date", "purchase_order", "order_number",
        "invoice_number", "rma_number", "reference_number", "account_id"};
    const struct label_fact *facts[] = {&l->tracking_number, &l->provider_id,
        &l->service_level_name, &l->provider_service_level_id, &l->ship_date, &l->delivery_date,
        &l->purchase_order, &l->order_number, &l->invoice_number, &l->rma_number,
        &l->reference_number, &l->account_id};

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        putchar(',');
        print_member(names[i], facts[i]);
    }
    print_party("recipient", &l->recipient);
    print_party("sender", &l->sender);
    print_measures(l);
    print_lists(l);
    printf(",\"document_classification\":\"%s\",\"scores\":{\"extraction\":%.4f,"
           "\"classifier\":%.4f}",
        l->classification, l->extraction_score / 10000.0, l->classifier_score / 10000.0);
}

/* ---- reading ---- */

static void print_words(const wharf_image_read *r)
{
    for (uint32_t i = 0; i < r->n_lines; i++) {
        const wharf_image_line *l = &r->lines[i];

        fprintf(stderr, "%4u,%4u %4ux%-3u %.*s\n", l->box.x, l->box.y, l->box.w, l->box.h,
            (int)l->text.n, l->text.p);
    }
    for (uint32_t i = 0; i < r->n_codes; i++)
        fprintf(stderr, "%s: %.*s\n", r->codes[i].symbology, (int)r->codes[i].value.n,
            r->codes[i].value.p);
}

static void read_file(struct cell_pool *pool, struct label_world *world, const char *path,
    const char *country, int64_t today)
{
    struct image_call wish = {.languages = "eng",
        .wants = WHARF_IMAGE_CODES | WHARF_IMAGE_FIGURES | WHARF_IMAGE_TEXT,
        .budget_ms = WHARF_IMAGE_BUDGET_MS};
    struct arena *arena = arena_new(256 << 20);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    wharf_image_read read = {.head = WHARF_HEAD(wharf_image_read)};
    wharf_str said;
    unsigned last;
    struct cell_run *run = image_once_run(pool, &wish, fd, &said, &last);
    const struct cell_result *end = cell_run_result(run);

    printf("{\"file\":");
    image_once_print_text(str_z(path));
    if (end->status == CELL_OK && image_read_answer(arena, said, &read)) {
        struct label_env env = label_world_env(world, arena, country, today);
        int64_t begun = clock_monotonic_us();
        struct label l;

        label_read(&env, &read, NULL, &l);
        printf(",\"extraction_us\":%lld", (long long)(clock_monotonic_us() - begun));
        print_label(&l);
        if (show_text)
            print_words(&read);
    } else {
        printf(",\"error\":");
        image_once_print_text(str_z(*end->reason ? end->reason : "no answer"));
    }
    printf("}\n");
    arena_free(arena);
    cell_run_end(run);
    close(fd);
}

static int64_t days_of(const char *text)
{
    int year, month, day;

    if (sscanf(text, "%d-%d-%d", &year, &month, &day) != 3) {
        fprintf(stderr, "--today is a date such as 2026-03-12\n");
        exit(2);
    }
    return wharf_days_of(year, month, day);
}

int main(int argc, char **argv)
{
    const char *country = "US";
    int64_t today = time(NULL) / DAY;
    struct cell_kind kind = host_image_kind;
    struct label_world *world;
    struct cell_pool *pool;
    int i = 1;

    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--text"))
            show_text = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--country"))
            country = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--today"))
            today = days_of(argv[++i]);
    }
    if (argc - i < 2) {
        fprintf(
            stderr, "label-once [--country US] [--today DATE] [--text] FOLDER-OF-CELLS FILE...\n");
        return 2;
    }
    kind.nice = 0;
    world = label_world_new();
    pool = cell_pool_new(&kind, argv[i++]);
    for (; i < argc; i++) {
        read_file(pool, world, argv[i], country, today);
        fflush(stdout);
    }
    cell_pool_free(pool);
    label_world_free(world);
    return 0;
}
