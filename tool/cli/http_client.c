/* http_client.c - see http_client.h. No redirects. */
#include "tool/cli/http_client.h"

#include <curl/curl.h>
#include <stdlib.h>

#include "util/buf.h"

enum {
    ANSWER_MAX = 4 * 1024 * 1024,
    WAIT_S = 10, /* for a server of this machine */
    FAR_WAIT_S = 60 /* for another one */
};

static size_t http_client_take(char *p, size_t size, size_t n, void *arg)
{
    struct buf *to = arg;

    buf_add(to, p, size * n);
    return to->failed ? 0 : size * n;
}

/* Our own listener; a server anywhere; one that is to refuse what it does not know. */
enum trust { HERE, FAR, FAR_STRICT };

static struct curl_slist *http_client_headers_of(struct arena *a, const char *key, enum trust trust)
{
    struct curl_slist *list = curl_slist_append(NULL, arena_printf(a, "SVC-API-KEY: %s", key).p);

    if (trust == FAR_STRICT)
        list = curl_slist_append(list, "Prefer: handling=strict");
    return curl_slist_append(list, "Content-Type: application/json");
}

/* Sets what a request to a server elsewhere needs, or one to our own listener on this machine. */
static void set_trust(CURL *curl, bool far)
{
    const char *authorities = getenv("WHARF_CA_FILE");

    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)(far ? FAR_WAIT_S : WAIT_S));
    if (far && authorities && *authorities) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
    } else if (!far) {
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
        /* our own listener is asked by address: its certificate bears the name that clients use */
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static struct http_reply http_client_ask(struct arena *a, const char *base_url, const char *key,
    const char *method, const char *path, wharf_str body, enum trust trust)
{
    struct http_reply reply = {.failure = "out of memory", .body = {"", 0}};
    struct curl_slist *headers = http_client_headers_of(a, key, trust);
    CURL *curl = curl_easy_init();
    struct buf answer;
    long status = 0;
    CURLcode e;

    buf_init(&answer, ANSWER_MAX);
    if (curl && headers) {
        curl_easy_setopt(curl, CURLOPT_URL, arena_printf(a, "%s%s", base_url, path).p);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        set_trust(curl, trust != HERE);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_take);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
        if (body.n) {
            curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)body.n);
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.p);
        }
        e = curl_easy_perform(curl);
        reply.failure = e == CURLE_OK ? NULL : curl_easy_strerror(e); /* a constant of libcurl */
        if (e == CURLE_OK)
            curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    }
    reply.status = (int)status;
    if (status)
        reply.body = arena_dup_str(a, buf_str(&answer));
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    buf_done(&answer);
    return reply;
}

struct http_reply http_call(struct arena *a, const char *base_url, const char *key,
    const char *method, const char *path, wharf_str body)
{
    return http_client_ask(a, base_url, key, method, path, body, HERE);
}

struct http_reply http_call_far(struct arena *a, const char *base_url, const char *key,
    const char *method, const char *path, wharf_str body)
{
    return http_client_ask(a, base_url, key, method, path, body, FAR);
}

struct http_reply http_call_strict(struct arena *a, const char *base_url, const char *key,
    const char *method, const char *path, wharf_str body)
{
    return http_client_ask(a, base_url, key, method, path, body, FAR_STRICT);
}
