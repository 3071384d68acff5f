/* net_message.c - mail addresses and messages. That other programs read them the same is
 * tests/api/support/test_mail.py's. */
#include "unit.h"

#include "mail/message.h"

static void addresses(void **state)
{
    static const char *const good[] = {
        "a@b", "a.b+c@example.com", "o'neil@example.co.uk", "x_y-z@1.example", "a/b=c@d.e"};
    static const char *const bad[] = {"", "a", "@b", "a@", "a@b@c", "a b@c", "a@b c",
        "a@b\r\nBcc: x@y", "a\n@b", "<a@b>", "a@b>", "a,b@c", "a@b,c@d", "\"a\"@b", "a@[1.2.3.4]",
        ".a@b", "a.@b", "a..b@c", "a@.b", "a@b.", "a@b..c", "\xc3\xa4@b", "a@b\xc3\xa4", "a(b)@c",
        "a:b@c", "a;b@c", "a@b_c"};
    char longest[300];

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(mail_address_valid(str_z(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mail_address_valid(str_z(bad[i])))
            fail_msg("took %s", bad[i]);
    }
    assert_false(mail_address_valid((wharf_str){"a@b\0c", 5}));
    memset(longest, 'a', sizeof(longest));
    longest[64] = '@';
    assert_true(mail_address_valid((wharf_str){longest, 254}));
    assert_false(mail_address_valid((wharf_str){longest, 255}));
    longest[64] = 'a', longest[65] = '@';
    assert_false(mail_address_valid((wharf_str){longest, 200}));
}

static wharf_str build(struct arena *a, const struct mail *m)
{
    const char *why = "";
    struct buf out;
    wharf_str s;

    buf_init(&out, 1 << 20);
    if (!message_build(a, m, 1767605400000000, &out, &why))
        fail_msg("%s", why);
    s = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return s;
}

static void whole(void **state)
{
    wharf_str to[2] = {WHARF_S("a@example.com"), WHARF_S("b@example.com")};
    struct mail m = {.from = WHARF_S("wharf@example.com"),
        .from_name = WHARF_S("The \"Wharf\""),
        .to = to,
        .n_to = 2,
        .reply_to = WHARF_S(""),
        .subject = WHARF_S("Hello"),
        .text = WHARF_S("one\ntwo=\r\n.three \r"),
        .html = WHARF_S(""),
        .message_id = WHARF_S("id@example.com")};

    assert_string_equal(build(*state, &m).p,
        "Date: Mon, 05 Jan 2026 09:30:00 +0000\r\nFrom: \"The \\\"Wharf\\\"\"\r\n "
        "<wharf@example.com>\r\n"
        "To: a@example.com,\r\n b@example.com\r\nSubject: Hello\r\nMessage-ID: <id@example.com>\r\n"
        "MIME-Version: 1.0\r\nAuto-Submitted: auto-generated\r\nContent-Type: text/plain; "
        "charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n\r\none\r\ntwo=3D\r\n.three=20\r\n\r\n");
}

/* Whatever the texts are: no line but those we write begins a header, no line is longer than 78
 * characters, all ends are CRLF. */
static void no_way_out_of_a_header(void **state)
{
    static const char *const evil[] = {"x\r\nBcc: victim@example.com", "x\nBcc: victim@example.com",
        "x\rBcc: v@e", "x\r\n\r\nbody", "x\v\f\x1f y\x7f", "\r\n",
        "=?UTF-8?B?eA==?=", "\xc3\xa4\r\nBcc: v@e", "x\xe2\x80\xa8y \xc2\x85 z",
        "a \"quoted\\ name\" b",
        "a-word-without-any-space-that-is-far-longer-than-what-a-line-of-a-message-should-hold-in-"
        "one-piece-or-two",
        "many words in a row that need more than one line because they are so many that no line "
        "takes them all, and even then there are some left for one more line"};
    wharf_str to[1] = {WHARF_S("a@example.com")};

    for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
        wharf_str e = str_z(evil[i]);
        struct mail_attachment file = {e, WHARF_S(""), e};
        struct mail m = {.from = WHARF_S("w@example.com"),
            .from_name = e,
            .to = to,
            .n_to = 1,
            .reply_to = WHARF_S(""),
            .subject = e,
            .text = e,
            .html = e,
            .message_id = WHARF_S(""),
            .attachments = &file,
            .n_attachments = 1};
        wharf_str s = build(*state, &m);
        size_t line = 0;

        assert_true(!strstr(s.p, "\nBcc:") || strstr(s.p, "\nBcc:") > strstr(s.p, "\r\n\r\n"));
        for (size_t k = 0; k < s.n; k++) {
            if (s.p[k] == '\n')
                assert_int_equal(s.p[k - 1], '\r');
            if (s.p[k] == '\r')
                assert_int_equal(s.p[k + 1], '\n');
            line = s.p[k] == '\n' ? 0 : line + 1;
            if (line > 79)
                fail_msg("a long line: %.*s", 100, s.p + k - line);
            assert_true((unsigned char)s.p[k] < 0x7f);
        }
    }
}

static void refused(void **state)
{
    wharf_str good = WHARF_S("a@example.com"), bad = WHARF_S("a@b\r\nX: y"), many[101];
    struct mail m = {.from = good,
        .to = &good,
        .n_to = 1,
        .reply_to = WHARF_S(""),
        .subject = WHARF_S(""),
        .text = WHARF_S("x"),
        .html = WHARF_S(""),
        .message_id = WHARF_S(""),
        .from_name = WHARF_S("")};
    struct mail_attachment file = {WHARF_S("a"), WHARF_S("text/plain\r\nX: y"), WHARF_S("")};
    struct mail wrong[8];
    struct buf out;

    for (size_t i = 0; i < 101; i++)
        many[i] = good;
    for (size_t i = 0; i < 8; i++)
        wrong[i] = m;
    wrong[0].from = bad;
    wrong[1].to = &bad;
    wrong[2].reply_to = bad;
    wrong[3].message_id = bad;
    wrong[4].text = WHARF_S("");
    wrong[5].attachments = &file, wrong[5].n_attachments = 1;
    wrong[6].n_to = 0;
    wrong[7].to = many, wrong[7].n_to = 101;
    for (size_t i = 0; i < 8; i++) {
        const char *why = NULL;

        buf_init(&out, 1 << 20);
        assert_false(message_build(*state, &wrong[i], 0, &out, &why));
        assert_non_null(why);
        buf_done(&out);
    }
    build(*state, &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(addresses), UNIT(whole), UNIT(no_way_out_of_a_header), UNIT(refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
