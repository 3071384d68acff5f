/* mail.c - see mail.h. */
#include "mail/mail.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"
#include "wharf_version.h"

bool mail_settings_ok(const struct config *c, struct arena *err, wharf_str *ret_problem)
{
    bool tls = str_starts(str_z(c->mail_url), "smtps://");

    if (!c->mail_url[0])
        return true;
    if (!tls && !str_starts(str_z(c->mail_url), "smtp://"))
        *ret_problem = arena_printf(
            err, "mail.url must begin with smtp:// or smtps://, not \"%s\"", c->mail_url);
    else if (!mail_address_valid(str_z(c->mail_from)))
        *ret_problem = arena_printf(
            err, "mail.from must be a mail address, not \"%s\"", c->mail_from);
    else if (!tls && c->mail_user[0] && strcmp(c->mail_tls, "none") == 0)
        *ret_problem = str_z("mail.password would travel in clear text: set mail.tls to required, "
                             "or leave mail.user out");
    else
        return true;
    return false;
}

struct reading {
    wharf_str text;
    size_t at;
};

static size_t mail_give(char *p, size_t size, size_t n, void *userdata)
{
    struct reading *r = userdata;

    n *= size;
    if (n > r->text.n - r->at)
        n = r->text.n - r->at;
    memcpy(p, r->text.p + r->at, n);
    r->at += n;
    return n;
}

/* Keeps the last line by which the server refused something, without its end. */
static size_t hear(char *p, size_t size, size_t n, void *userdata)
{
    char *words = ((struct mail_result *)userdata)->words;
    size_t all = size * n, most = sizeof(((struct mail_result *)userdata)->words) - 1,
           kept = all < most ? all : most;

    if (!kept || (p[0] != '4' && p[0] != '5'))
        return all;
    while (kept && (p[kept - 1] == '\r' || p[kept - 1] == '\n'))
        kept--;
    memcpy(words, p, kept);
    words[kept] = 0;
    return all;
}

/* Tells whether a refusal is about an address: that of a recipient, or by its words (RFC 3463,
 * X.1.X), since some servers judge it at the end. */
static bool about_address(const struct mail_result *r)
{
    return str_starts(str_z(r->trouble), "RCPT failed") ||
           str_starts(str_z(r->words + (r->words[0] ? 3 : 0)), " 5.1.");
}

static struct curl_slist *mail_recipients(const wharf_str *to, size_t n_to)
{
    struct curl_slist *list = NULL, *longer;
    char address[256];

    for (size_t i = 0; i < n_to; i++) {
        snprintf(address, sizeof(address), "%.*s", STR_ARG(to[i]));
        longer = curl_slist_append(list, address);
        if (!longer)
            abort();
        list = longer;
    }
    return list;
}

#define SET(option, value) (ok = ok && curl_easy_setopt(easy, (option), (value)) == CURLE_OK)

static bool mail_set_up(CURL *easy, const struct config *c, const char *from, struct curl_slist *to,
    struct reading *r, uint32_t total_ms, struct mail_result *result, char *trouble)
{
    bool ok = true;

    SET(CURLOPT_URL, c->mail_url);
    SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USE_SSL,
        (long)(strcmp(c->mail_tls, "required") == 0 ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (strcmp(c->environment, "production") != 0 && c->net_ca_file[0])
        SET(CURLOPT_CAINFO, c->net_ca_file);
    if (c->mail_user[0]) {
        SET(CURLOPT_USERNAME, c->mail_user);
        SET(CURLOPT_PASSWORD, c->mail_password);
    }
    SET(CURLOPT_MAIL_FROM, from);
    SET(CURLOPT_MAIL_RCPT, to);
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_HEADERFUNCTION, hear);
    SET(CURLOPT_HEADERDATA, result);
    SET(CURLOPT_READFUNCTION, mail_give);
    SET(CURLOPT_READDATA, r);
    SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->text.n);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(total_ms < 10000 ? total_ms : 10000));
    SET(CURLOPT_SERVER_RESPONSE_TIMEOUT, 30L);
    SET(CURLOPT_TIMEOUT_MS, (long)total_ms);
    SET(CURLOPT_ERRORBUFFER, trouble);
    return ok;
}

static enum mail_outcome mail_outcome_of(CURLcode code, long answer)
{
    if (code == CURLE_OK)
        return MAIL_SENT;
    /* A refused login is the settings' fault, not the message's. */
    return answer >= 500 && answer < 600 && code != CURLE_LOGIN_DENIED && answer != 530 &&
                   answer != 535
               ? MAIL_REFUSED
               : MAIL_LATER;
}

struct mail_result mail_send_built(const struct config *c, wharf_str sender,
    const wharf_str *addresses, size_t n_to, wharf_str text, uint32_t total_ms)
{
    struct mail_result result = {.outcome = MAIL_LATER};
    struct reading reading = {text, 0};
    struct curl_slist *to = mail_recipients(addresses, n_to);
    char trouble[CURL_ERROR_SIZE] = "", from[256];
    CURL *easy = curl_easy_init();
    CURLcode code = CURLE_FAILED_INIT;
    long answer = 0;

    snprintf(from, sizeof(from), "%.*s", STR_ARG(sender));
    if (easy && mail_set_up(easy, c, from, to, &reading, total_ms, &result, trouble)) {
        code = curl_easy_perform(easy);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer);
    }
    result.outcome = mail_outcome_of(code, answer);
    result.code = (int)answer;
    snprintf(result.trouble, sizeof(result.trouble), "%s",
        trouble[0] ? trouble : curl_easy_strerror(code));
    result.address = result.outcome == MAIL_REFUSED && about_address(&result);
    curl_easy_cleanup(easy);
    curl_slist_free_all(to);
    return result;
}

void mail_complete(const struct config *c, struct mail *m)
{
    if (m->from.n)
        return;
    m->from = str_z(c->mail_from);
    m->from_name = str_z(c->mail_from_name);
}

struct mail_result mail_send(const struct config *c, struct arena *a, const struct mail *given,
    int64_t now_us, uint32_t total_ms)
{
    struct mail_result result = {.outcome = MAIL_OFF};
    struct mail m = *given;
    const char *problem = "";
    struct buf text;

    snprintf(result.trouble, sizeof(result.trouble), "mail.url is not set");
    if (!c->mail_url[0])
        return result;
    mail_complete(c, &m);
    buf_init(&text, MESSAGE_MAX);
    if (message_build(a, &m, now_us, &text, &problem)) {
        result = mail_send_built(c, m.from, m.to, m.n_to, buf_str(&text), total_ms);
    } else {
        result.outcome = MAIL_REFUSED;
        snprintf(result.trouble, sizeof(result.trouble), "%s", problem);
    }
    buf_done(&text);
    return result;
}
