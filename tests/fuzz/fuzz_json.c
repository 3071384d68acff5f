/* fuzz_json.c - JSON texts: reading never crashes; what was read is written and read again as
 * the same value.
 *
 * Also checked: the place of an error lies in the text, numbers keep their value in canonical
 * form, hashes of equal values are equal, every member is found. */
#include <stdio.h>
#include <stdlib.h>

#include "util/json.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char seed[16] = {1, 2, 3};

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static void check_number(wharf_str text)
{
    struct buf canonical;
    struct wharf_json v = {.type = JSON_NUMBER, .text = text};
    int64_t i;

    buf_init(&canonical, 1 << 20);
    if (json_number_canonical(text, 1000, &canonical)) {
        wharf_str c = buf_str(&canonical);

        must(json_number_compare(text, c) == 0, "canonical numbers are equal");
        must(!memchr(c.p, 'e', c.n) && !memchr(c.p, 'E', c.n) && !memchr(c.p, '+', c.n),
            "canonical numbers have no exponent");
        must(json_whole(&v) == !memchr(c.p, '.', c.n), "whole numbers have no point");
    }
    buf_clear(&canonical);
    if (json_int(&v, &i)) {
        must(json_whole(&v), "integers are whole");
        buf_addi(&canonical, i);
        must(json_number_compare(text, buf_str(&canonical)) == 0, "integers are equal");
    }
    must(json_number_multiple(text, WHARF_S("1")) == json_whole(&v), "multiples of 1 are whole");
    buf_done(&canonical);
}

static void check_value(struct arena *a, const struct wharf_json *v)
{
    struct json_index index = json_index(a, v);
    uint32_t n = 0;

    must(utf8_valid(v->text.p, v->text.n) && utf8_valid(v->key.p, v->key.n), "texts are UTF-8");
    must(v->text.p[v->text.n] == 0 && v->key.p[v->key.n] == 0, "texts end with NUL");
    must(!memchr(v->text.p, 0, v->text.n) && !memchr(v->key.p, 0, v->key.n), "texts hold no NUL");
    if (v->type == JSON_NUMBER)
        check_number(v->text);
    for (const struct wharf_json *m = v->child; m; m = m->next, n++) {
        if (v->type == JSON_OBJECT)
            must(json_get_n(v, m->key) == m && json_index_get(&index, m->key) == m,
                "members are found");
        check_value(a, m);
    }
    must(n == v->count, "children are counted");
}

/* U+0000 is read as U+FFFD with a mark; written again it is a plain U+FFFD. */
static bool has_nul(const struct wharf_json *v)
{
    bool found = v->has_nul || v->key_nul;

    for (const struct wharf_json *m = v->child; m && !found; m = m->next)
        found = has_nul(m);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new(256 << 20);
    char *text = malloc(size + 1);
    struct json_error error = {0};
    const struct wharf_json *v, *again;
    struct buf out;
    struct jw w;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    v = json_parse(a, (wharf_str){text, size}, &error);
    if (v && size < 1 << 16) {
        check_value(a, v);
        buf_init(&out, 1 << 26);
        jw_init(&w, &out);
        jw_value(&w, NULL, v);
        again = json_parse(a, buf_str(&out), &error);
        /* keys may have become equal */
        must(again != NULL || has_nul(v), "what was written is JSON");
        must(has_nul(v) || (json_equal(v, again) && json_equal(again, v)),
            "written and read is equal");
        must(has_nul(v) || json_hash(v, seed) == json_hash(again, seed), "equal values hash alike");
        buf_done(&out);
    } else if (!v) {
        must(error.message && error.offset <= size, "errors have a place");
    }
    free(text);
    arena_free(a);
    return 0;
}
