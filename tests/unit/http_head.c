/* http_head.c - head.h: what goes through, in which form, and what is refused; each case cut at
 * every place. The table over real sockets is tests/api/heads.py. */
#include "unit.h"

#include "http/head.h"

enum { BYTES = 128 * 1024 };

struct reported {
    char text[BYTES]; /* canonical, without the stand-in */
    size_t n, largest; /* largest: most bytes that were left over */
    enum head_verdict verdict;
    uint64_t given, refused;
    bool in_body;
};

/* Sends the pieces of `text` that end at the first cut and at each `step` behind it, as
 * head_tap.c does. */
static void run_cut(struct reported *t, const char *text, size_t n, size_t cut, size_t step)
{
    static char kept[BYTES];
    size_t at = 0, left = 0, used, ready, end = cut;
    struct head h;

    *t = (struct reported){.n = 0};
    head_init(&h);
    while (at < n) {
        end = end > n ? n : end;
        memcpy(kept + left, text + at, end - at);
        left += end - at;
        at = end;
        ready = head_filter(&h, kept, left, &used);
        assert_true(ready <= used && used <= left);
        memcpy(t->text + t->n, kept, ready);
        t->n += ready;
        memmove(kept, kept + used, left - used);
        left -= used;
        t->largest = left > t->largest ? left : t->largest;
        end += step;
    }
    t->given = h.given;
    if (h.refusal) {
        t->verdict = h.refusal->verdict;
        t->refused = h.refusal->request;
        t->in_body = h.refusal->in_body;
        assert_true(h.phase == HEAD_OVER && h.n_standin > 0);
    }
    head_done(&h);
}

static void same_however_cut(const char *text, size_t n, const struct reported *whole)
{
    static struct reported t;

    for (size_t cut = 1; cut <= n; cut++) {
        run_cut(&t, text, n, cut, n);
        assert_int_equal(t.verdict, whole->verdict);
        assert_int_equal(t.given, whole->given);
        assert_int_equal(t.n, whole->n);
        assert_memory_equal(t.text, whole->text, t.n);
    }
    for (size_t step = 1; step < 8; step++) {
        run_cut(&t, text, n, step, step);
        assert_int_equal(t.verdict, whole->verdict);
        assert_memory_equal(t.text, whole->text, t.n);
    }
}

static void canonical_forms(void **state)
{
    static const char *const forms[][2] = {
        {"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", NULL},
        {"GET /a?b=?c HTTP/1.1\r\nHost:x\r\n\r\n", "GET /a#b=?c HTTP/1.1\r\nHost:x\r\n\r\n"},
        {"\r\n\r\nGET /a HTTP/1.7\r\nHost: x\r\n\r\n", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a HTTP/1.1\r\nHost: \t x \t\r\nA:\r\nB: \r\nC: 1 2\t\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: x\r\nA:\r\nB: \r\nC: 1 2\r\n\r\n"},
        {"GET http://h.example:8?q HTTP/1.1\r\nA: 1\r\nHost:\r\n\r\n",
            "GET /#q HTTP/1.1\r\nA: 1\r\nHost: h.example:8\r\n\r\n"},
        {"GET http://h/a?b HTTP/1.1\r\nHost: other.example\r\n\r\n",
            "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"},
        {"OPTIONS https://h HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"},
        {"GET /a HTTP/1.1\r\nCookie: a=b\r\nHost: x\r\n\r\n",
            "GET /a HTTP/1.1\r\n\001ookie: a=b\r\nHost: x\r\n\r\n"},
        {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: "
         "x\r\n\r\n",
            NULL},
        {"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: , "
         "Chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0\r\nT: 1\r\n\r\nGET "
         "/b "
         "HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
            "Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /b "
            "HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.0\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n"},
        {"GET /a HTTP/1.1\r\nHost: x\r\nConnection: a, close\r\n\r\nrubbish\n",
            "GET /a HTTP/1.1\r\nHost: x\r\nConnection: a, close\r\n\r\n"},
    };
    static struct reported t;

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const char *want = forms[i][1] ? forms[i][1] : forms[i][0];

        run_cut(&t, forms[i][0], strlen(forms[i][0]), strlen(forms[i][0]), 1);
        assert_int_equal(t.verdict, 0);
        t.text[t.n] = 0;
        assert_string_equal(t.text, want);
        same_however_cut(forms[i][0], strlen(forms[i][0]), &t);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *text;
        enum head_verdict verdict;
        uint64_t request;
        bool in_body;
    } cases[] = {
        {"GET /a HTTP/1.1\r\nHost : x\r\n\r\n", HEAD_MALFORMED, 1, false},
        {"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b\r\n", HEAD_MALFORMED, 2, false},
        {"GET /a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", HEAD_MALFORMED, 1, false},
        {"\x16\x03\x01", HEAD_MALFORMED, 1, false},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HEAD_VERSION, 1, false},
        {"CONNECT x:1 HTTP/1.1\r\n", HEAD_METHOD, 1, false},
        {"GET /a HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n", HEAD_EXPECTATION, 1, false},
        {"GET /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip,chunked\r\n\r\n", HEAD_CODING, 1,
            false},
        {"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999999999999\r\n\r\n",
            HEAD_BODY_LARGE, 1, false},
        {"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", HEAD_MALFORMED,
            1, true},
        {"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
         "chunked\r\n\r\n1\r\na\r\n0\r\nx\r\n\r\n",
            HEAD_MALFORMED, 1, true},
        {"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            HEAD_MALFORMED, 1, true},
    };
    static struct reported t;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run_cut(&t, cases[i].text, strlen(cases[i].text), strlen(cases[i].text), 1);
        assert_int_equal(t.verdict, cases[i].verdict);
        assert_int_equal(t.refused, cases[i].request);
        assert_int_equal(t.given, cases[i].request);
        assert_int_equal(t.in_body, cases[i].in_body);
        same_however_cut(cases[i].text, strlen(cases[i].text), &t);
    }
}

/* The rest that is left over is bounded, whatever comes: head_tap.c makes room for that much. */
static void bounds(void **state)
{
    static const char *const begins[] = {"", "G", "GET /", "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nA: ", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;a=",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: "};
    static char text[BYTES];
    static struct reported t;

    (void)state;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        memset(text, 'f', sizeof(text));
        memcpy(text, begins[i], strlen(begins[i]));
        run_cut(&t, text, 100000, 1000, 1000);
        assert_int_not_equal(t.verdict, 0);
        assert_true(t.largest <= HEAD_KEPT_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_forms), cmocka_unit_test(refusals), cmocka_unit_test(bounds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
