/* net_curl_mime.c - what libcurl makes of the parts of a mail, and our messages do not do
 * (docs/decisions 480). When one of these fails, libcurl has learned it: then look again at
 * whether services/mail/message.c is still needed. */
#include "unit.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mail/message.h"

struct peer { /* a mail server that takes one message */
    int listens;
    pthread_t id;
    char url[64], message[16384];
    size_t n;
};

static void answer(FILE *to, const char *line)
{
    fprintf(to, "%s\r\n", line);
    fflush(to);
}

static void *serve(void *arg)
{
    struct peer *p = arg;
    int fd = accept(p->listens, NULL, NULL);
    FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
    char line[4096];
    bool data = false;

    answer(out, "220 peer");
    while (fgets(line, sizeof(line), in) && strncmp(line, "QUIT", 4) != 0) {
        if (data && strcmp(line, ".\r\n") != 0) {
            p->n += (size_t)snprintf(p->message + p->n, sizeof(p->message) - p->n, "%s", line);
            continue;
        }
        data = !strncmp(line, "DATA", 4);
        answer(out, data ? "354 go on" : "250 peer");
    }
    answer(out, "221 bye");
    fclose(in);
    fclose(out);
    return NULL;
}

static void peer_start(struct peer *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof(at);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listens, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(p->listens, 1), 0);
    assert_int_equal(getsockname(p->listens, (struct sockaddr *)&at, &size), 0);
    snprintf(p->url, sizeof(p->url), "smtp://127.0.0.1:%u/me", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&p->id, NULL, serve, p), 0);
}

/* Sends a text and an attachment by libcurl's own means. Returns what arrived. */
static const char *sent(struct peer *p, const char *text, const char *name)
{
    CURL *c = curl_easy_init();
    curl_mime *m = curl_mime_init(c);
    curl_mimepart *part = curl_mime_addpart(m);
    struct curl_slist *to = curl_slist_append(NULL, "<a@example.com>");

    peer_start(p);
    curl_mime_data(part, text, CURL_ZERO_TERMINATED);
    curl_mime_type(part, "text/plain; charset=utf-8");
    curl_mime_encoder(part, "quoted-printable");
    part = curl_mime_addpart(m);
    curl_mime_data(part, "data", 4);
    curl_mime_filename(part, name);
    curl_mime_encoder(part, "base64");
    curl_easy_setopt(c, CURLOPT_URL, p->url);
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_MAIL_FROM, "<w@example.com>");
    curl_easy_setopt(c, CURLOPT_MAIL_RCPT, to);
    curl_easy_setopt(c, CURLOPT_MIMEPOST, m);
    assert_int_equal(curl_easy_perform(c), CURLE_OK);
    curl_easy_cleanup(c);
    curl_mime_free(m);
    curl_slist_free_all(to);
    pthread_join(p->id, NULL);
    close(p->listens);
    return p->message;
}

/* The same by our own. */
static const char *built(struct arena *a, const char *text, const char *name)
{
    struct mail_attachment file = {str_z(name), WHARF_S(""), WHARF_S("data")};
    wharf_str to = WHARF_S("a@example.com");
    struct mail m = {.from = WHARF_S("w@example.com"),
        .to = &to,
        .n_to = 1,
        .text = str_z(text),
        .attachments = &file,
        .n_attachments = 1};
    const char *why = "", *s;
    struct buf out;

    buf_init(&out, 1 << 20);
    if (!message_build(a, &m, 0, &out, &why))
        fail_msg("%s", why);
    s = arena_dup_str(a, buf_str(&out)).p;
    buf_done(&out);
    return s;
}

static size_t longest_line(const char *s)
{
    size_t longest = 0;

    while (*s) {
        size_t n = strcspn(s, "\r\n");

        longest = n > longest ? n : longest;
        s += n + strspn(s + n, "\r\n");
    }
    return longest;
}

static bool is_ascii(const char *s)
{
    while (*s && (unsigned char)*s < 0x80)
        s++;
    return !*s;
}

static void name_begins_a_header(void **state)
{
    static const char name[] = "a.pdf\r\nX-Evil: yes";
    struct peer p = {0};

    assert_non_null(strstr(sent(&p, "x", name), "\r\nX-Evil: yes"));
    assert_null(strstr(built(*state, "x", name), "\r\nX-Evil"));
}

/* Without SMTPUTF8 a header is ASCII (RFC 5322; RFC 2231 says how). */
static void name_is_sent_as_it_is(void **state)
{
    static const char name[] = "R\xc3\xa4.pdf";
    struct peer p = {0};

    assert_false(is_ascii(sent(&p, "x", name)));
    assert_true(is_ascii(built(*state, "x", name)));
}

/* RFC 5322 section 2.1.1: at most 998. */
static void name_makes_a_long_line(void **state)
{
    struct peer p = {0};
    char name[1200];

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = 0;
    assert_true(longest_line(sent(&p, "x", name)) > 998);
    assert_true(longest_line(built(*state, "x", name)) <= 78);
}

/* In a text the end of a line is CRLF (RFC 2045 section 6.7 rule 4); =0A is a character. */
static void line_ends_are_characters(void **state)
{
    struct peer p = {0};

    assert_non_null(strstr(sent(&p, "one\ntwo", "a"), "one=0Atwo"));
    assert_non_null(strstr(built(*state, "one\ntwo", "a"), "one\r\ntwo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(name_begins_a_header), UNIT(name_is_sent_as_it_is),
        UNIT(name_makes_a_long_line), UNIT(line_ends_are_characters)};

    return cmocka_run_group_tests_name("net_curl_mime", tests, NULL, NULL);
}
